/* Extended attributes: user., trusted. and security. are stored as they come; of system. there
 * are the two ACLs, which acl.c checks and keeps in step with the mode.
 *
 * The kernel has checked what needs no server: permissions, that user. stands on files and
 * directories only, the values' format where it has a say (security.capability).  Whoever is not
 * root neither sees nor touches trusted. ones. */
#include "server/acl.h"
#include "server/ops.h"
#include "server/volume.h"

#include "base/clock.h"

#include <sys/stat.h>
#include <sys/xattr.h>

enum {
	NAMES_BYTES_MAX = 65536, /* all names of an inode: what listxattr(2) can carry */
	SETXATTR_FLAGS = XATTR_CREATE | XATTR_REPLACE,
};

#define CAPS_NAME "security.capability"
#define TRUSTED_PREFIX "trusted."
#define HAS_ANY (INODE_XATTR | INODE_ACL | INODE_DEFACL | INODE_CAPS)

static bool starts_with(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* The inode flag that says an attribute of that name may be there; 0: no such namespace. */
static uint32_t name_flag(const char *name)
{
	static const char *const spaces[] = { "user.", TRUSTED_PREFIX, "security." };

	if (strcmp(name, ACL_ACCESS_NAME) == 0)
		return INODE_ACL;
	if (strcmp(name, ACL_DEFAULT_NAME) == 0)
		return INODE_DEFACL;
	if (strcmp(name, CAPS_NAME) == 0)
		return INODE_CAPS;
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
		if (starts_with(name, spaces[i]))
			return name[strlen(spaces[i])] ? INODE_XATTR : 0;
	return 0;
}

static bool hidden(const struct request *req, const char *name)
{
	return req->in.uid != 0 && starts_with(name, TRUSTED_PREFIX);
}

/* The answer to a question with a buffer of `asked` bytes, 0: how large must it be? */
static int reply_value(struct request *req, uint32_t asked, const void *value, size_t len)
{
	if (asked == 0) {
		request_out(req, getxattr)->size = (uint32_t)len;
		return 0;
	}
	if (len > asked)
		return -KILN_ERANGE;
	req->body = value;
	req->body_len = len;
	return 0;
}

int op_getxattr(struct request *req)
{
	const struct fuse_getxattr_in *arg = req->arg;
	uint32_t flag = name_flag(req->name[0]);
	size_t len = 0, cap = arg->size < XATTR_VALUE_MAX ? arg->size : XATTR_VALUE_MAX;
	struct inode inode;
	int err = inode_get(req->txn, req->in.nodeid, &inode);

	if (err)
		return err;
	if (!flag)
		return -KILN_ENOTSUP;
	if (!(inode.flags & flag) || hidden(req, req->name[0]))
		return -KILN_ENODATA;
	err = xattr_get(req->txn, inode.handle, req->name[0], request_body(req), cap, &len);
	if (err == -KILN_ENODATA) /* or is it the inode that has gone since it was looked at? */
		err = inode_get(req->txn, inode.handle, &inode) == -KILN_ESTALE ? -KILN_ESTALE : err;
	if (err && !(err == -KILN_ERANGE && cap == 0))
		return err;
	return reply_value(req, arg->size, request_body(req), len);
}

/* Takes the names away that the caller may not see; the length of what is left. */
static size_t names_filter(const struct request *req, char *names, size_t len)
{
	size_t kept = 0, step;

	for (size_t at = 0; at < len; at += step) {
		step = strlen(names + at) + 1;
		if (hidden(req, names + at))
			continue;
		memmove(names + kept, names + at, step);
		kept += step;
	}
	return kept;
}

int op_listxattr(struct request *req)
{
	const struct fuse_getxattr_in *arg = req->arg;
	char *names = request_body(req);
	struct inode inode;
	size_t len = 0;
	int err = inode_get(req->txn, req->in.nodeid, &inode);

	if (!err && inode.flags & HAS_ANY)
		err = xattr_list(req->txn, inode.handle, names, REPLY_BYTES_MAX, &len);
	if (err)
		return err == -KILN_ERANGE ? -KILN_ETOOBIG : err;
	return reply_value(req, arg->size, names, names_filter(req, names, len));
}

/* Whether the attribute is there, without its value. */
static int xattr_exists(struct txn *t, uint64_t handle, const char *name, bool *exists)
{
	char none[1];
	size_t len;
	int err = xattr_get(t, handle, name, none, 0, &len);

	*exists = err != -KILN_ENODATA;
	return err == -KILN_ENODATA || err == -KILN_ERANGE ? 0 : err;
}

/* A name more must still fit into one listing. */
static int names_have_room(struct txn *t, uint64_t handle, size_t name_len)
{
	char none[1];
	size_t len = 0;
	int err = xattr_list(t, handle, none, 0, &len);

	if (err && err != -KILN_ERANGE)
		return err;
	return len + name_len + 1 > NAMES_BYTES_MAX ? -KILN_ENOSPC : 0;
}

static int set_plain(struct request *req, struct inode *inode, uint32_t flag)
{
	const struct fuse_setxattr_in *arg = req->arg;
	bool exists;
	int err = xattr_exists(req->txn, inode->handle, req->name[0], &exists);

	if (err)
		return err;
	if (exists && arg->flags & XATTR_CREATE)
		return -KILN_EEXIST;
	if (!exists && arg->flags & XATTR_REPLACE)
		return -KILN_ENODATA;
	if (!exists)
		err = names_have_room(req->txn, inode->handle, req->name_len[0]);
	if (!err)
		err = xattr_put(req->txn, inode->handle, req->name[0], req->data, req->data_len);
	inode->flags |= flag;
	return err;
}

static int set_acl(struct request *req, struct inode *inode, uint32_t flag)
{
	const struct fuse_setxattr_in *arg = req->arg;
	size_t count;
	int err;

	if (S_ISLNK(inode->mode))
		return -KILN_ENOTSUP;
	err = acl_check(req->data, req->data_len, &count);
	if (err)
		return err;
	if (flag == INODE_DEFACL)
		return acl_set_default(req->txn, inode, req->data, count);
	err = acl_set_access(req->txn, inode, req->data, count);
	if (arg->setxattr_flags & FUSE_SETXATTR_ACL_KILL_SGID)
		inode->mode &= ~(uint32_t)S_ISGID;
	return err;
}

/* What both changes begin with: the inode, and which attribute it is about. */
static int change_begin(struct request *req, struct inode *inode, uint32_t *flag)
{
	int err = inode_get(req->txn, req->in.nodeid, inode);

	if (err)
		return err;
	*flag = name_flag(req->name[0]);
	if (!*flag)
		return -KILN_ENOTSUP;
	return hidden(req, req->name[0]) ? -KILN_EPERM : 0;
}

static int change_end(struct request *req, struct inode *inode)
{
	inode->ctime = clock_wall();
	return inode_put(req->txn, inode);
}

int op_setxattr(struct request *req)
{
	const struct fuse_setxattr_in *arg = req->arg;
	struct inode inode;
	uint32_t flag;
	int err = change_begin(req, &inode, &flag);

	if (err)
		return err;
	if (req->data_len > XATTR_VALUE_MAX)
		return -KILN_ETOOBIG;
	if (arg->flags & ~(uint32_t)SETXATTR_FLAGS)
		return -KILN_EINVAL;
	err = flag & (INODE_ACL | INODE_DEFACL) ? set_acl(req, &inode, flag)
						: set_plain(req, &inode, flag);
	return err ? err : change_end(req, &inode);
}

int op_removexattr(struct request *req)
{
	struct inode inode;
	uint32_t flag;
	int err = change_begin(req, &inode, &flag);

	if (err)
		return err;
	if (!(inode.flags & flag))
		return -KILN_ENODATA;
	if (flag == INODE_ACL)
		err = acl_set_access(req->txn, &inode, NULL, 0);
	else if (flag == INODE_DEFACL)
		err = acl_set_default(req->txn, &inode, NULL, 0);
	else
		err = xattr_del(req->txn, inode.handle, req->name[0]);
	if (flag == INODE_CAPS)
		inode.flags &= ~(uint32_t)INODE_CAPS;
	return err ? err : change_end(req, &inode);
}

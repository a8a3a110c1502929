/* Names come to be and are found: lookup, create, mknod, mkdir, symlink, tmpfile, link, readlink.
 *
 * Happy path of everything that makes a name, e.g. op_create: name_vacant reads the parent and
 * sees that the name is free; child_init gives the new inode its handle, owner, mode, times and
 * ACL; name_add puts entry, inode and parent.  Failures leave before the first put or are undone
 * by the group's mark.  Locks: none; changes hold the volume's writer role.
 *
 * One clock_wall() an operation: child's ctime and parent's mtime are equal.
 * Who may do what is the client's kernel's business: see parent.h. */
#include "server/acl.h"
#include "server/file.h"
#include "server/ops.h"
#include "server/parent.h"
#include "server/volume.h"

#include "base/clock.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { LOOKUP_TRIES = 8 };

/* "." and ".." come from clients that export the volume over NFS or open by handle. */
static int lookup_dots(struct request *req)
{
	struct inode inode;
	int err = inode_get(req->txn, req->in.nodeid, &inode);

	if (!err && req->name_len[0] == 2)
		err = S_ISDIR(inode.mode) ? inode_get(req->txn, inode.parent, &inode)
					  : -KILN_ENOTDIR;
	if (err)
		return err;
	reply_entry(req, &inode);
	return 0;
}

/* Not found: only here it matters whether there is a directory at all. */
static int lookup_missing(struct request *req)
{
	struct inode dir;
	int err = dir_get(req->txn, req->in.nodeid, &dir);

	return err ? err : -KILN_ENOENT;
}

/* A reader of the latest state may see the entry before, and the inode after, somebody unlinks or
 * replaces the name: then the name is looked at once more.  ESTALE would be right as well, but
 * the kernel retries it only once. */
int op_lookup(struct request *req)
{
	const char *name = req->name[0];
	size_t len = req->name_len[0];
	struct inode inode;
	uint64_t child;
	uint8_t type;
	int err = name_check(name, len);

	if (err)
		return err;
	if (name_is_dots(name, len))
		return lookup_dots(req);
	for (int i = 0; i < LOOKUP_TRIES; i++) {
		err = dirent_get(req->txn, req->in.nodeid, name, len, &child, &type);
		if (err == -KILN_ENOENT)
			return lookup_missing(req);
		if (!err)
			err = inode_get(req->txn, child, &inode);
		if (err != -KILN_ESTALE)
			break;
	}
	if (err)
		return err;
	reply_entry(req, &inode);
	return 0;
}

/* name_vacant: reads the parent, of which name[0] is still free.  -KILN_EEXIST: *taken is what
 * has the name (0: "." or ".."). */
static int name_vacant(struct request *req, struct inode *dir, uint64_t *taken)
{
	const char *name = req->name[0];
	size_t len = req->name_len[0];
	uint8_t type;
	int err = name_check(name, len);

	*taken = 0;
	if (!err)
		err = parent_get(req->txn, req->in.nodeid, dir);
	if (err)
		return err;
	if (name_is_dots(name, len))
		return -KILN_EEXIST;
	err = dirent_get(req->txn, dir->handle, name, len, taken, &type);
	if (err != -KILN_ENOENT)
		return err ? err : -KILN_EEXIST;
	return volume_read_only(req->volume) ? -KILN_EROFS : 0;
}

int op_foresee_taken(struct request *req)
{
	struct inode dir;
	uint64_t taken;

	return name_vacant(req, &dir, &taken) == -KILN_EEXIST ? -KILN_EEXIST : 0;
}

/* child_init: a new inode below dir, counted, not yet stored; its ACLs are. */
static int child_init(struct request *req, const struct inode *dir, uint32_t mode, uint32_t umask,
		      struct inode *child)
{
	int err;

	*child = (struct inode){ .mode = mode, .nlink = 1, .uid = req->in.uid, .gid = req->in.gid };
	err = volume_take_handle(req->volume, req->txn, &child->handle);
	if (!err)
		err = volume_count(req->volume, 1, 0);
	if (err)
		return err;
	if (dir->mode & S_ISGID)
		child->gid = dir->gid;
	if (S_ISDIR(mode)) {
		child->mode |= dir->mode & S_ISGID;
		child->nlink = 2;
		child->parent = dir->handle;
	}
	child->ctime = clock_wall();
	child->atime = child->mtime = child->btime = child->ctime;
	return S_ISLNK(mode) ? 0 : acl_inherit(req->txn, dir, umask, child);
}

/* name_add: the entry name[0] for child, and dir with it. */
static int name_add(struct request *req, struct inode *dir, const struct inode *child)
{
	int err = dirent_put(req->txn, dir->handle, req->name[0], req->name_len[0], child->handle,
			     (uint8_t)(child->mode >> 12));

	return err ? err : parent_put(req->txn, dir, 1, S_ISDIR(child->mode), child->ctime);
}

/* node_make: what create, mknod and mkdir share; *child is stored. */
static int node_make(struct request *req, struct inode *dir, uint32_t mode, uint32_t umask,
		     uint32_t rdev, struct inode *child)
{
	int err = child_init(req, dir, mode, umask, child);

	if (err)
		return err;
	child->rdev = rdev;
	err = inode_put(req->txn, child);
	return err ? err : name_add(req, dir, child);
}

static void reply_create(struct request *req, const struct inode *inode, bool keep_cache)
{
	const struct fuse_create_in *arg = req->arg;

	entry_fill(req->volume, &request_out(req, create)->entry, inode);
	req->out.create.open.open_flags = file_open_flags(req->volume, arg->flags, keep_cache);
	req->record_handle = inode->handle;
}

static int create_truncate(struct request *req, struct inode *inode)
{
	const struct fuse_create_in *arg = req->arg;
	int err = inode_truncate_nothing(req, inode, arg->open_flags & FUSE_OPEN_KILL_SUIDGID);

	if (err)
		return err;
	volume_note_writer(req->volume, req->session, inode->handle);
	return inode_put(req->txn, inode);
}

/* A kernel that sends CREATE believes that the name is free and has not asked for permission on
 * what in truth has it, nor will it.  So only where the mode alone shows that the caller may is
 * the file opened; others get ESTALE, upon which the kernel walks the path once more, finds the
 * file and checks as for any open. */
static bool create_may_open(const struct request *req, const struct inode *inode, uint32_t flags)
{
	static const uint32_t need[] = { [O_RDONLY] = S_IRUSR, [O_WRONLY] = S_IWUSR,
					 [O_RDWR] = S_IRUSR | S_IWUSR, [O_ACCMODE] = S_IRWXU };
	uint32_t want = need[flags & O_ACCMODE] | (flags & O_TRUNC ? S_IWUSR : 0);

	return req->in.uid == 0 || (req->in.uid == inode->uid && (inode->mode & want) == want);
}

static int create_existing(struct request *req, uint64_t handle)
{
	const struct fuse_create_in *arg = req->arg;
	bool writes = (arg->flags & O_ACCMODE) != O_RDONLY || arg->flags & O_TRUNC;
	struct inode inode;
	int err = handle ? inode_get(req->txn, handle, &inode) : -KILN_EISDIR;

	if (err)
		return err;
	if (S_ISDIR(inode.mode))
		return -KILN_EISDIR;
	if (!S_ISREG(inode.mode) || !create_may_open(req, &inode, arg->flags))
		return -KILN_ESTALE;
	if (writes && volume_read_only(req->volume))
		return -KILN_EROFS;
	err = open_take(req, handle);
	if (!err && arg->flags & O_TRUNC)
		err = create_truncate(req, &inode);
	if (err)
		return err;
	reply_create(req, &inode, volume_keep_cache(req->volume, req->session, &inode));
	return 0;
}

int op_foresee_taken_create(struct request *req)
{
	const struct fuse_create_in *arg = req->arg;

	return arg->flags & O_EXCL ? op_foresee_taken(req) : 0;
}

int op_create(struct request *req)
{
	const struct fuse_create_in *arg = req->arg;
	struct inode dir, child;
	uint64_t taken;
	int err = name_vacant(req, &dir, &taken);

	if (err == -KILN_EEXIST && !(arg->flags & O_EXCL))
		return create_existing(req, taken);
	if (!err)
		err = node_make(req, &dir, S_IFREG | (arg->mode & 07777), arg->umask, 0, &child);
	if (!err)
		err = open_take(req, child.handle);
	if (err)
		return err;
	reply_create(req, &child, true);
	return 0;
}

static bool mknod_type_known(uint32_t mode)
{
	return S_ISREG(mode) || S_ISFIFO(mode) || S_ISSOCK(mode) || S_ISCHR(mode) || S_ISBLK(mode);
}

int op_foresee_taken_mknod(struct request *req)
{
	const struct fuse_mknod_in *arg = req->arg;

	return mknod_type_known(arg->mode) ? op_foresee_taken(req) : 0;
}

int op_mknod(struct request *req)
{
	const struct fuse_mknod_in *arg = req->arg;
	uint32_t mode = arg->mode & (S_IFMT | 07777);
	struct inode dir, child;
	uint64_t taken;
	int err = mknod_type_known(mode) ? name_vacant(req, &dir, &taken) : -KILN_EINVAL;

	if (!err)
		err = node_make(req, &dir, mode, arg->umask,
				S_ISCHR(mode) || S_ISBLK(mode) ? arg->rdev : 0, &child);
	if (err)
		return err;
	reply_entry(req, &child);
	return 0;
}

int op_mkdir(struct request *req)
{
	const struct fuse_mkdir_in *arg = req->arg;
	struct inode dir, child;
	uint64_t taken;
	int err = name_vacant(req, &dir, &taken);

	if (!err)
		err = parent_room(&dir);
	if (!err)
		err = node_make(req, &dir, S_IFDIR | (arg->mode & 01777), arg->umask, 0, &child);
	if (err)
		return err;
	reply_entry(req, &child);
	return 0;
}

int op_symlink(struct request *req)
{
	size_t len = req->name_len[1];
	struct inode dir, child;
	uint64_t taken;
	int err = len > LINK_BYTES_MAX ? -KILN_ENAMETOOLONG : name_vacant(req, &dir, &taken);

	if (!err)
		err = child_init(req, &dir, S_IFLNK | 0777, 0, &child);
	if (err)
		return err;
	child.size = len;
	err = symlink_put(req->txn, &child, req->name[1], len);
	if (!err)
		err = name_add(req, &dir, &child);
	if (err)
		return err;
	reply_entry(req, &child);
	return 0;
}

/* A file without a name is an orphan from birth, so a crash leaves nothing behind that the next
 * start does not remove.  The name in the message is the kernel's filler. */
int op_tmpfile(struct request *req)
{
	const struct fuse_create_in *arg = req->arg;
	struct inode dir, child;
	int err = parent_get(req->txn, req->in.nodeid, &dir);

	if (!err && volume_read_only(req->volume))
		err = -KILN_EROFS;
	if (!err)
		err = child_init(req, &dir, S_IFREG | (arg->mode & 07777), arg->umask, &child);
	if (err)
		return err;
	child.nlink = 0;
	child.flags |= INODE_ORPHAN | (arg->flags & O_EXCL ? 0 : INODE_LINKABLE);
	err = inode_put(req->txn, &child);
	if (!err)
		err = orphan_put(req->txn, child.handle);
	if (!err)
		err = open_take(req, child.handle);
	if (err)
		return err;
	volume_orphan(req->volume, child.handle);
	reply_create(req, &child, true);
	return 0;
}

/* What is to get a further name: not a directory, and one that has none only if it was made by
 * O_TMPFILE without O_EXCL. */
static int link_target(struct request *req, uint64_t handle, struct inode *inode)
{
	int err = inode_get(req->txn, handle, inode);

	if (err)
		return err;
	if (S_ISDIR(inode->mode))
		return -KILN_EPERM;
	if (inode->nlink == 0 && !(inode->flags & INODE_LINKABLE))
		return -KILN_ENOENT;
	return inode->nlink >= LINKS_MAX ? -KILN_EMLINK : 0;
}

static int link_adopt(struct request *req, struct inode *inode)
{
	inode->flags &= ~(uint32_t)(INODE_ORPHAN | INODE_LINKABLE);
	volume_adopt(req->volume, inode->handle);
	return orphan_del(req->txn, inode->handle);
}

int op_link(struct request *req)
{
	const struct fuse_link_in *arg = req->arg;
	struct inode dir, inode;
	uint64_t taken;
	int err = name_vacant(req, &dir, &taken);

	if (!err)
		err = link_target(req, arg->oldnodeid, &inode);
	if (!err && inode.nlink == 0)
		err = link_adopt(req, &inode);
	if (err)
		return err;
	inode.nlink++;
	inode.ctime = clock_wall();
	err = inode_put(req->txn, &inode);
	if (!err)
		err = name_add(req, &dir, &inode);
	if (err)
		return err;
	reply_entry(req, &inode);
	return 0;
}

int op_readlink(struct request *req)
{
	char *target = request_body(req);
	int err = symlink_get(req->txn, req->in.nodeid, target, LINK_BYTES_MAX, &req->body_len);

	if (err)
		return err;
	req->body = target;
	return 0;
}

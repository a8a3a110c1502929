/* kiln://SOCKET/VOLUME: a kiln volume through the client library, without a kernel in between.
 * Each session is a client of its own.  What a kernel would do on behalf of a program is done
 * here too: a path's last name is looked up before it is opened, a close is FLUSH and RELEASE,
 * and every reference that an answer counts is given back. */
#include "bench/target.h"

#include "base/err.h"
#include "base/lock.h"
#include "client/kiln.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WHERE_MAX = 512, LIST_BYTES = 64 << 10 };

struct kt_target {
	struct target base;
	struct lock lock; /* of base.why */
	char address[WHERE_MAX];
};

struct kt_session {
	struct target_session base;
	struct kiln *k;
};

/* One answer of readdir: type, name and NUL of each entry, one behind the other. */
struct kt_list {
	uint64_t node, fh, off;
	size_t used, at;
	char bytes[LIST_BYTES];
};

static struct kiln *of(struct target_session *s)
{
	return ((struct kt_session *)s)->k;
}

static int from(long rc)
{
	return rc < 0 ? err_from_errno((int)-rc) : 0;
}

static void kt_close(struct target *target)
{
	struct kt_target *t = (struct kt_target *)target;

	lock_destroy(&t->lock);
	free(t);
}

/* kiln:///run/kiln.sock/home means the socket /run/kiln.sock; other forms are the library's. */
static int kt_open(const char *where, struct target **out)
{
	const char *rest = where + strlen("kiln://");
	struct kt_target *t = calloc(1, sizeof *t);
	int n;

	if (!t)
		return -KILN_ENOMEM;
	t->base.ops = &target_kiln_ops;
	lock_init(&t->lock, LOCK_RANK_LEAF, "bench target");
	n = snprintf(t->address, sizeof t->address, "%s%s", *rest == '/' ? "unix:" : "",
		     *rest == '/' ? rest : where);
	if (n >= WHERE_MAX) {
		kt_close(&t->base);
		return -KILN_ENAMETOOLONG;
	}
	*out = &t->base;
	return 0;
}

/* attach: a session of its own; null and the reason in *rc if that failed. */
static struct kt_session *attach(struct target *target, int *rc)
{
	struct kt_target *t = (struct kt_target *)target;
	struct kt_session *s = calloc(1, sizeof *s);
	char why[256];

	*rc = -KILN_ENOMEM;
	if (!s)
		return NULL;
	s->base.ops = &target_kiln_ops;
	*rc = from(kiln_connect(&s->k, t->address, NULL, why, sizeof why));
	if (*rc == 0)
		return s;
	lock_guard(&t->lock);
	memcpy(target->why, why, sizeof target->why);
	free(s);
	return NULL;
}

static int kt_attach(struct target *target, struct target_session **out)
{
	int rc;
	struct kt_session *s = attach(target, &rc);

	if (s)
		*out = &s->base;
	return s ? 0 : rc;
}

static void kt_detach(struct target_session *s)
{
	kiln_close(of(s));
	free(s);
}

/* The library caches nothing; the server's caches are not ours to drop. */
static int kt_drop_caches(struct target *t)
{
	return -KILN_ENOTSUP;
}

static int kt_space(struct target *t, struct target_space *out)
{
	struct fuse_kstatfs st;
	int rc;
	struct kt_session *s = attach(t, &rc);

	if (!s)
		return rc;
	rc = from(kiln_statfs(s->k, &st));
	kt_detach(&s->base);
	if (rc < 0)
		return rc;
	out->bytes_free = st.bavail * st.frsize;
	out->bytes_total = st.blocks * st.frsize;
	out->inodes_free = st.files ? st.ffree : UINT64_MAX;
	return 0;
}

static int kt_root(struct target_session *s, struct target_dir *out)
{
	out->h = KILN_ROOT;
	return 0;
}

static void forget(struct target_session *s, uint64_t node)
{
	if (node != KILN_ROOT)
		kiln_forget(of(s), node, 1);
}

static int lookup(struct target_session *s, struct target_dir at, const char *name,
		  struct fuse_entry_out *e)
{
	int rc = kiln_lookup(of(s), at.h, name, e);

	if (rc == 0 && e->nodeid == 0) /* a negative entry that may be cached */
		return -KILN_ENOENT;
	return from(rc);
}

static int kt_dir_open(struct target_session *s, struct target_dir at, const char *name,
		       struct target_dir *out)
{
	struct fuse_entry_out e;
	int rc = lookup(s, at, name, &e);

	if (rc < 0)
		return rc;
	if ((e.attr.mode & S_IFMT) != S_IFDIR) {
		forget(s, e.nodeid);
		return -KILN_ENOTDIR;
	}
	out->h = e.nodeid;
	return 0;
}

static void kt_dir_close(struct target_session *s, struct target_dir dir)
{
	forget(s, dir.h);
}

static int kt_mkdir(struct target_session *s, struct target_dir at, const char *name)
{
	struct fuse_entry_out e;
	int rc = kiln_mkdir(of(s), at.h, name, 0755, &e);

	if (rc == 0)
		forget(s, e.nodeid);
	return from(rc);
}

static int kt_mknod(struct target_session *s, struct target_dir at, const char *name)
{
	struct fuse_entry_out e;
	int rc = kiln_mknod(of(s), at.h, name, S_IFREG | 0644, 0, &e);

	if (rc == 0)
		forget(s, e.nodeid);
	return from(rc);
}

static int kt_rmdir(struct target_session *s, struct target_dir at, const char *name)
{
	return from(kiln_rmdir(of(s), at.h, name));
}

static int kt_create(struct target_session *s, struct target_dir at, const char *name,
		     struct target_file *out)
{
	struct kiln_created c;
	int rc = kiln_create(of(s), at.h, name, 0644, O_RDWR | O_CREAT | O_EXCL, &c);

	if (rc < 0)
		return from(rc);
	out->h = c.open.fh;
	out->node = c.entry.nodeid;
	return 0;
}

static int kt_open_file(struct target_session *s, struct target_dir at, const char *name, int how,
			struct target_file *out)
{
	int flags = how & TARGET_WRITE ? O_RDWR : O_RDONLY;
	struct fuse_entry_out e;
	struct fuse_open_out o;
	int rc = lookup(s, at, name, &e);

	if (rc < 0)
		return rc;
	rc = kiln_open(of(s), e.nodeid, flags | (how & TARGET_TRUNC ? O_TRUNC : 0), &o);
	if (rc < 0) {
		forget(s, e.nodeid);
		return from(rc);
	}
	out->h = o.fh;
	out->node = e.nodeid;
	return 0;
}

/* FLUSH and RELEASE go together, for a kernel does not wait for what becomes of the latter before
 * its close(2) returns. */
static int kt_close_file(struct target_session *s, struct target_file f)
{
	struct kiln_op op;
	struct kiln_result r[2];
	unsigned n, sent = 0;
	int rc = 0;

	kiln_prep_flush(&op, f.node, f.h, 0);
	rc = kiln_submit(of(s), &op, NULL);
	sent += rc == 0;
	kiln_prep_release(&op, f.node, f.h, 0, 0, false);
	op.tag = s;
	if (rc == 0)
		rc = kiln_submit(of(s), &op, NULL);
	sent += rc == 0;
	n = kiln_collect(of(s), r, sent, 2);
	for (unsigned i = 0; i < n; i++)
		if (r[i].error && (r[i].tag || r[i].error != -ENOSYS)) /* no FLUSH wanted */
			rc = r[i].error;
	forget(s, f.node);
	return from(rc);
}

static int kt_read(struct target_session *s, struct target_file f, void *buf, size_t len,
		   uint64_t offset, size_t *got)
{
	size_t most = kiln_max_io(of(s));

	*got = 0;
	while (*got < len) {
		size_t want = len - *got < most ? len - *got : most;
		ssize_t n = kiln_read(of(s), f.node, f.h, (char *)buf + *got, want, offset + *got);

		if (n <= 0)
			return from(n);
		*got += (size_t)n;
	}
	return 0;
}

static int kt_write(struct target_session *s, struct target_file f, const void *buf, size_t len,
		    uint64_t offset)
{
	size_t most = kiln_max_io(of(s)), done = 0;

	while (done < len) {
		size_t want = len - done < most ? len - done : most;
		ssize_t n = kiln_write(of(s), f.node, f.h, (const char *)buf + done, want,
				       offset + done, 0);

		if (n <= 0)
			return n < 0 ? from(n) : -KILN_EIO;
		done += (size_t)n;
	}
	return 0;
}

static int kt_fsync(struct target_session *s, struct target_file f)
{
	return from(kiln_fsync(of(s), f.node, f.h, false));
}

static int kt_lookup(struct target_session *s, struct target_dir at, const char *name,
		     struct target_stat *out)
{
	struct fuse_entry_out e;
	int rc = lookup(s, at, name, &e);

	if (rc < 0)
		return rc;
	*out = (struct target_stat){ e.attr.size, e.attr.mode, e.attr.nlink };
	forget(s, e.nodeid);
	return 0;
}

static int kt_dir_stat(struct target_session *s, struct target_dir dir, struct target_stat *out)
{
	struct fuse_attr_out a;
	int rc = kiln_getattr(of(s), dir.h, &a);

	if (rc < 0)
		return from(rc);
	*out = (struct target_stat){ a.attr.size, a.attr.mode, a.attr.nlink };
	return 0;
}

static int kt_unlink(struct target_session *s, struct target_dir at, const char *name)
{
	return from(kiln_unlink(of(s), at.h, name));
}

static int kt_rename(struct target_session *s, struct target_dir at, const char *name,
		     const char *to)
{
	return from(kiln_rename2(of(s), at.h, name, at.h, to, 0));
}

static int kt_link(struct target_session *s, struct target_dir at, const char *name,
		   const char *second)
{
	struct fuse_entry_out e, made;
	int rc = lookup(s, at, name, &e);

	if (rc < 0)
		return rc;
	rc = kiln_link(of(s), e.nodeid, at.h, second, &made);
	if (rc == 0)
		forget(s, made.nodeid);
	forget(s, e.nodeid);
	return from(rc);
}

static int kt_symlink(struct target_session *s, struct target_dir at, const char *text,
		      const char *name)
{
	struct fuse_entry_out e;
	int rc = kiln_symlink(of(s), at.h, name, text, &e);

	if (rc == 0)
		forget(s, e.nodeid);
	return from(rc);
}

static int set_attributes(struct target_session *s, struct target_dir at, const char *name,
			  const struct fuse_setattr_in *in)
{
	struct fuse_attr_out attr;
	struct fuse_entry_out e;
	int rc = lookup(s, at, name, &e);

	if (rc < 0)
		return rc;
	rc = kiln_setattr(of(s), e.nodeid, in, &attr);
	forget(s, e.nodeid);
	return from(rc);
}

static int kt_chmod(struct target_session *s, struct target_dir at, const char *name, uint32_t mode)
{
	struct fuse_setattr_in in = { .valid = FATTR_MODE, .mode = mode | S_IFREG };

	return set_attributes(s, at, name, &in);
}

static int kt_utimes(struct target_session *s, struct target_dir at, const char *name,
		     uint64_t mtime_ns)
{
	struct fuse_setattr_in in = { .valid = FATTR_MTIME,
				      .mtime = mtime_ns / 1000000000,
				      .mtimensec = (uint32_t)(mtime_ns % 1000000000) };

	return set_attributes(s, at, name, &in);
}

static int kt_setxattr(struct target_session *s, struct target_file f, const char *key,
		       const void *value, size_t len)
{
	return from(kiln_setxattr(of(s), f.node, key, value, len, 0));
}

static int kt_getxattr(struct target_session *s, struct target_file f, const char *key, void *value,
		       size_t cap, size_t *len)
{
	ssize_t n = kiln_getxattr(of(s), f.node, key, value, cap);

	*len = n < 0 ? 0 : (size_t)n;
	return from(n);
}

static int kt_list_open(struct target_session *s, struct target_dir dir, struct target_list **out)
{
	struct kt_list *l = calloc(1, sizeof *l);
	struct fuse_open_out o;
	int rc;

	if (!l)
		return -KILN_ENOMEM;
	rc = kiln_opendir(of(s), dir.h, &o);
	if (rc < 0) {
		free(l);
		return from(rc);
	}
	l->node = dir.h;
	l->fh = o.fh;
	*out = (struct target_list *)l;
	return 0;
}

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* An answer may hold more than the buffer: the rest is asked for again. */
static int keep_entry(void *context, const struct kiln_entry *e)
{
	enum { ENTRY_MAX = 1 + NAME_MAX + 1 };
	struct kt_list *l = context;

	if (is_dot(e->name))
		return 0;
	l->bytes[l->used++] = e->type == DT_DIR ? 'd' : 'f';
	memcpy(l->bytes + l->used, e->name, e->name_len + 1);
	l->used += e->name_len + 1;
	return l->used + ENTRY_MAX > LIST_BYTES;
}

static int kt_list_next(struct target_session *s, struct target_list *list, const char **name,
			bool *is_dir)
{
	struct kt_list *l = (struct kt_list *)list;
	int n = 1;

	*name = NULL;
	*is_dir = false;
	while (l->at == l->used && n > 0) {
		l->at = l->used = 0;
		n = kiln_readdir(of(s), l->node, l->fh, &l->off, keep_entry, l);
	}
	if (n <= 0)
		return from(n);
	*is_dir = l->bytes[l->at] == 'd';
	*name = l->bytes + l->at + 1;
	l->at += 1 + strlen(*name) + 1;
	return 0;
}

static void kt_list_close(struct target_session *s, struct target_list *list)
{
	struct kt_list *l = (struct kt_list *)list;

	kiln_releasedir(of(s), l->node, l->fh);
	free(l);
}

const struct target_ops target_kiln_ops = {
	.kind = "kiln",
	.open = kt_open,
	.close = kt_close,
	.attach = kt_attach,
	.detach = kt_detach,
	.drop_caches = kt_drop_caches,
	.space = kt_space,
	.root = kt_root,
	.dir_open = kt_dir_open,
	.dir_close = kt_dir_close,
	.mkdir = kt_mkdir,
	.rmdir = kt_rmdir,
	.mknod = kt_mknod,
	.create = kt_create,
	.open_file = kt_open_file,
	.close_file = kt_close_file,
	.read = kt_read,
	.write = kt_write,
	.fsync = kt_fsync,
	.lookup = kt_lookup,
	.dir_stat = kt_dir_stat,
	.unlink = kt_unlink,
	.rename = kt_rename,
	.link = kt_link,
	.symlink = kt_symlink,
	.chmod = kt_chmod,
	.utimes = kt_utimes,
	.setxattr = kt_setxattr,
	.getxattr = kt_getxattr,
	.list_open = kt_list_open,
	.list_next = kt_list_next,
	.list_close = kt_list_close,
};

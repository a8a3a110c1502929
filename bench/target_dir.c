/* A directory of any mounted file system: thin wrappers over the *at() calls.  A session is the
 * target itself seen by one thread; a dir handle is a descriptor. */
#include "bench/target.h"

#include "base/err.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

struct dir_target {
	struct target base;
	int fd;
};

struct dir_session {
	struct target_session base;
	int fd; /* the target's, borrowed */
};

static int from_rc(int rc)
{
	return rc < 0 ? err_from_errno(errno) : 0;
}

static int fd_of(uint64_t h)
{
	return (int)h;
}

static int dt_open(const char *where, struct target **out)
{
	struct dir_target *t = calloc(1, sizeof *t);
	int rc;

	if (!t)
		return -KILN_ENOMEM;
	t->base.ops = &target_dir_ops;
	t->fd = open(where, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->fd < 0) {
		rc = err_from_errno(errno);
		free(t);
		return rc;
	}
	*out = &t->base;
	return 0;
}

static void dt_close(struct target *target)
{
	struct dir_target *t = (struct dir_target *)target;

	close(t->fd);
	free(t);
}

static int dt_attach(struct target *target, struct target_session **out)
{
	struct dir_session *s = calloc(1, sizeof *s);

	if (!s)
		return -KILN_ENOMEM;
	s->base.ops = &target_dir_ops;
	s->fd = ((struct dir_target *)target)->fd;
	*out = &s->base;
	return 0;
}

static void dt_detach(struct target_session *s)
{
	free(s);
}

/* The kernel's caches are the machine's, not the mount's: only root may drop them. */
static int dt_drop_caches(struct target *target)
{
	struct dir_target *t = (struct dir_target *)target;
	int fd, rc;

	if (syncfs(t->fd) < 0)
		return err_from_errno(errno);
	fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -KILN_EPERM;
	rc = write(fd, "3", 1) == 1 ? 0 : -KILN_EPERM;
	close(fd);
	return rc;
}

static int dt_space(struct target *target, struct target_space *out)
{
	struct statvfs v;

	if (fstatvfs(((struct dir_target *)target)->fd, &v) < 0)
		return err_from_errno(errno);
	out->bytes_free = (uint64_t)v.f_bavail * v.f_frsize;
	out->bytes_total = (uint64_t)v.f_blocks * v.f_frsize;
	out->inodes_free = v.f_files ? v.f_favail : UINT64_MAX;
	return 0;
}

static int open_at(int at, const char *name, int flags, uint64_t *out)
{
	int fd = openat(at, name, flags | O_CLOEXEC | O_NOFOLLOW, 0644);

	if (fd < 0)
		return err_from_errno(errno);
	*out = (uint64_t)fd;
	return 0;
}

static int dt_root(struct target_session *s, struct target_dir *out)
{
	return open_at(((struct dir_session *)s)->fd, ".", O_RDONLY | O_DIRECTORY, &out->h);
}

static int dt_dir_open(struct target_session *s, struct target_dir at, const char *name,
		       struct target_dir *out)
{
	return open_at(fd_of(at.h), name, O_RDONLY | O_DIRECTORY, &out->h);
}

static void dt_dir_close(struct target_session *s, struct target_dir dir)
{
	close(fd_of(dir.h));
}

static int dt_mkdir(struct target_session *s, struct target_dir at, const char *name)
{
	return from_rc(mkdirat(fd_of(at.h), name, 0755));
}

static int dt_mknod(struct target_session *s, struct target_dir at, const char *name)
{
	return from_rc(mknodat(fd_of(at.h), name, S_IFREG | 0644, 0));
}

static int dt_rmdir(struct target_session *s, struct target_dir at, const char *name)
{
	return from_rc(unlinkat(fd_of(at.h), name, AT_REMOVEDIR));
}

static int dt_create(struct target_session *s, struct target_dir at, const char *name,
		     struct target_file *out)
{
	return open_at(fd_of(at.h), name, O_RDWR | O_CREAT | O_EXCL, &out->h);
}

static int dt_open_file(struct target_session *s, struct target_dir at, const char *name, int how,
			struct target_file *out)
{
	int flags = how & TARGET_WRITE ? O_RDWR : O_RDONLY;

	return open_at(fd_of(at.h), name, flags | (how & TARGET_TRUNC ? O_TRUNC : 0), &out->h);
}

static int dt_close_file(struct target_session *s, struct target_file f)
{
	return from_rc(close(fd_of(f.h)));
}

static int dt_read(struct target_session *s, struct target_file f, void *buf, size_t len,
		   uint64_t offset, size_t *got)
{
	*got = 0;
	while (*got < len) {
		ssize_t n = pread(fd_of(f.h), (char *)buf + *got, len - *got,
				  (off_t)(offset + *got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_from_errno(errno);
		if (n == 0)
			return 0;
		*got += (size_t)n;
	}
	return 0;
}

static int dt_write(struct target_session *s, struct target_file f, const void *buf, size_t len,
		    uint64_t offset)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pwrite(fd_of(f.h), (const char *)buf + done, len - done,
				   (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_from_errno(errno);
		if (n == 0)
			return -KILN_EIO;
		done += (size_t)n;
	}
	return 0;
}

static int dt_fsync(struct target_session *s, struct target_file f)
{
	return from_rc(fsync(fd_of(f.h)));
}

static int dt_lookup(struct target_session *s, struct target_dir at, const char *name,
		     struct target_stat *out)
{
	struct stat st;

	if (fstatat(fd_of(at.h), name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_from_errno(errno);
	out->size = (uint64_t)st.st_size;
	out->mode = st.st_mode;
	out->nlink = (uint32_t)st.st_nlink;
	return 0;
}

static int dt_dir_stat(struct target_session *s, struct target_dir dir, struct target_stat *out)
{
	struct statx sx;

	if (statx(fd_of(dir.h), "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &sx) < 0)
		return err_from_errno(errno);
	*out = (struct target_stat){ sx.stx_size, sx.stx_mode, sx.stx_nlink };
	return 0;
}

static int dt_unlink(struct target_session *s, struct target_dir at, const char *name)
{
	return from_rc(unlinkat(fd_of(at.h), name, 0));
}

static int dt_rename(struct target_session *s, struct target_dir at, const char *from,
		     const char *to)
{
	return from_rc(renameat(fd_of(at.h), from, fd_of(at.h), to));
}

static int dt_link(struct target_session *s, struct target_dir at, const char *from, const char *to)
{
	return from_rc(linkat(fd_of(at.h), from, fd_of(at.h), to, 0));
}

static int dt_symlink(struct target_session *s, struct target_dir at, const char *text,
		      const char *name)
{
	return from_rc(symlinkat(text, fd_of(at.h), name));
}

static int dt_chmod(struct target_session *s, struct target_dir at, const char *name, uint32_t mode)
{
	return from_rc(fchmodat(fd_of(at.h), name, mode, 0));
}

static int dt_utimes(struct target_session *s, struct target_dir at, const char *name,
		     uint64_t mtime_ns)
{
	struct timespec ts[2] = { { .tv_nsec = UTIME_OMIT },
				  { (time_t)(mtime_ns / 1000000000), (long)(mtime_ns % 1000000000) } };

	return from_rc(utimensat(fd_of(at.h), name, ts, AT_SYMLINK_NOFOLLOW));
}

static int dt_setxattr(struct target_session *s, struct target_file f, const char *key,
		       const void *value, size_t len)
{
	return from_rc(fsetxattr(fd_of(f.h), key, value, len, 0));
}

static int dt_getxattr(struct target_session *s, struct target_file f, const char *key, void *value,
		       size_t cap, size_t *len)
{
	ssize_t n = fgetxattr(fd_of(f.h), key, value, cap);

	*len = n < 0 ? 0 : (size_t)n;
	return n < 0 ? err_from_errno(errno) : 0;
}

/* The stream gets a descriptor of its own: dup() would share the offset with the handle's. */
static int dt_list_open(struct target_session *s, struct target_dir dir, struct target_list **out)
{
	int fd = openat(fd_of(dir.h), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d;
	int rc;

	if (fd < 0)
		return err_from_errno(errno);
	d = fdopendir(fd);
	if (!d) {
		rc = err_from_errno(errno);
		close(fd);
		return rc;
	}
	*out = (struct target_list *)d;
	return 0;
}

static bool is_dot(const char *name)
{
	return name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0));
}

static bool entry_is_dir(DIR *d, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_DIR;
	return fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static int dt_list_next(struct target_session *s, struct target_list *l, const char **name,
			bool *is_dir)
{
	DIR *d = (DIR *)l;
	struct dirent *e;

	do {
		errno = 0;
		e = readdir(d);
	} while (e && is_dot(e->d_name));
	*name = e ? e->d_name : NULL;
	*is_dir = e && entry_is_dir(d, e);
	return e || errno == 0 ? 0 : err_from_errno(errno);
}

static void dt_list_close(struct target_session *s, struct target_list *l)
{
	closedir((DIR *)l);
}

const struct target_ops target_dir_ops = {
	.kind = "directory",
	.open = dt_open,
	.close = dt_close,
	.attach = dt_attach,
	.detach = dt_detach,
	.drop_caches = dt_drop_caches,
	.space = dt_space,
	.root = dt_root,
	.dir_open = dt_dir_open,
	.dir_close = dt_dir_close,
	.mkdir = dt_mkdir,
	.rmdir = dt_rmdir,
	.mknod = dt_mknod,
	.create = dt_create,
	.open_file = dt_open_file,
	.close_file = dt_close_file,
	.read = dt_read,
	.write = dt_write,
	.fsync = dt_fsync,
	.lookup = dt_lookup,
	.dir_stat = dt_dir_stat,
	.unlink = dt_unlink,
	.rename = dt_rename,
	.link = dt_link,
	.symlink = dt_symlink,
	.chmod = dt_chmod,
	.utimes = dt_utimes,
	.setxattr = dt_setxattr,
	.getxattr = dt_getxattr,
	.list_open = dt_list_open,
	.list_next = dt_list_next,
	.list_close = dt_list_close,
};

#include "store/disk.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MODE_BITS = 07777, IO_MAX = 1 << 30 };

static int real_open(const struct disk *d, int dirfd, const char *path, int flags, mode_t mode,
		     int *fd)
{
	do {
		*fd = openat(dirfd, path, flags | O_CLOEXEC, mode & MODE_BITS);
	} while (*fd < 0 && errno == EINTR);
	return *fd < 0 ? err_from_errno(errno) : 0;
}

static void real_close(const struct disk *d, int fd)
{
	close(fd);
}

/* With RWF_NOWAIT a file system that cannot promise not to block says EOPNOTSUPP (ext4 for
 * buffered writes): for the caller that is the same answer. */
static int nowait_error(int eno, bool nowait)
{
	if (nowait && (eno == EAGAIN || eno == EOPNOTSUPP))
		return -KILN_EWOULDBLOCK;
	return err_from_errno(eno);
}

static int real_read(const struct disk *d, int fd, void *buf, size_t len, uint64_t offset,
		     bool nowait, size_t *done)
{
	*done = 0;
	while (*done < len) {
		size_t left = len - *done;
		struct iovec iov = { (char *)buf + *done, left > IO_MAX ? IO_MAX : left };
		ssize_t n = preadv2(fd, &iov, 1, (off_t)(offset + *done), nowait ? RWF_NOWAIT : 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return nowait_error(errno, nowait);
		if (n == 0)
			break;
		*done += (size_t)n;
	}
	return 0;
}

static int real_write(const struct disk *d, int fd, const void *buf, size_t len, uint64_t offset,
		      bool nowait, size_t *done)
{
	*done = 0;
	while (*done < len) {
		size_t left = len - *done;
		struct iovec iov = { (char *)(uintptr_t)buf + *done, left > IO_MAX ? IO_MAX : left };
		ssize_t n = pwritev2(fd, &iov, 1, (off_t)(offset + *done), nowait ? RWF_NOWAIT : 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return nowait_error(errno, nowait);
		if (n == 0)
			return -KILN_EIO;
		*done += (size_t)n;
	}
	return 0;
}

static int real_truncate(const struct disk *d, int fd, uint64_t size)
{
	int err;

	do {
		err = ftruncate(fd, (off_t)size);
	} while (err < 0 && errno == EINTR);
	return err < 0 ? err_from_errno(errno) : 0;
}

static int real_allocate(const struct disk *d, int fd, int mode, uint64_t offset, uint64_t len)
{
	int err;

	do {
		err = fallocate(fd, mode, (off_t)offset, (off_t)len);
	} while (err < 0 && errno == EINTR);
	return err < 0 ? err_from_errno(errno) : 0;
}

static int real_seek(const struct disk *d, int fd, uint64_t offset, int whence, uint64_t *found)
{
	off_t at = lseek(fd, (off_t)offset, whence);

	if (at < 0)
		return err_from_errno(errno);
	*found = (uint64_t)at;
	return 0;
}

static int real_copy(const struct disk *d, int from, uint64_t from_off, int to, uint64_t to_off,
		     size_t len, size_t *done)
{
	*done = 0;
	while (*done < len) {
		off_t in = (off_t)(from_off + *done), out = (off_t)(to_off + *done);
		size_t left = len - *done;
		ssize_t n = copy_file_range(from, &in, to, &out, left > IO_MAX ? IO_MAX : left, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_from_errno(errno);
		if (n == 0)
			break;
		*done += (size_t)n;
	}
	return 0;
}

static int real_blocks(const struct disk *d, int fd, uint64_t *count512)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_from_errno(errno);
	*count512 = (uint64_t)st.st_blocks;
	return 0;
}

static int real_start_writeback(const struct disk *d, int fd)
{
	if (sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE) < 0)
		return err_from_errno(errno);
	return 0;
}

/* A directory takes fsync: file systems leave new names out of fdatasync when the directory's
 * size has not changed. */
static int real_sync(const struct disk *d, int fd)
{
	struct stat st;
	int err;

	if (fstat(fd, &st) < 0)
		return err_from_errno(errno);
	do {
		err = S_ISDIR(st.st_mode) ? fsync(fd) : fdatasync(fd);
	} while (err < 0 && errno == EINTR);
	return err < 0 ? err_from_errno(errno) : 0;
}

static int real_unlink(const struct disk *d, int dirfd, const char *path)
{
	if (unlinkat(dirfd, path, 0) == 0)
		return 0;
	if (errno == EISDIR && unlinkat(dirfd, path, AT_REMOVEDIR) == 0)
		return 0;
	return err_from_errno(errno);
}

static int real_mkdir(const struct disk *d, int dirfd, const char *path, mode_t mode)
{
	return mkdirat(dirfd, path, mode & MODE_BITS) < 0 ? err_from_errno(errno) : 0;
}

const struct disk disk_real = {
	.open = real_open,
	.close = real_close,
	.read = real_read,
	.write = real_write,
	.truncate = real_truncate,
	.allocate = real_allocate,
	.seek = real_seek,
	.copy = real_copy,
	.blocks = real_blocks,
	.start_writeback = real_start_writeback,
	.sync = real_sync,
	.unlink = real_unlink,
	.mkdir = real_mkdir,
};

/* Seam two: files.  A vtable, so that tests can put a disk there that fails, is slow, or loses
 * what was not synced.  disk_real is the system's.  All calls return 0 or -KILN_Exxx unless
 * said otherwise; paths are relative to dirfd.  Any thread. */
#ifndef STORE_DISK_H
#define STORE_DISK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct disk {
	int (*open)(const struct disk *d, int dirfd, const char *path, int flags, mode_t mode,
		    int *fd);
	void (*close)(const struct disk *d, int fd);
	/* read, write: whole or error; read stops short only at the end of the file (*done).
	 * nowait: -KILN_EWOULDBLOCK if it would block (RWF_NOWAIT), with *done saying how much
	 * was moved before. */
	int (*read)(const struct disk *d, int fd, void *buf, size_t len, uint64_t offset,
		    bool nowait, size_t *done);
	int (*write)(const struct disk *d, int fd, const void *buf, size_t len, uint64_t offset,
		     bool nowait, size_t *done);
	int (*truncate)(const struct disk *d, int fd, uint64_t size);
	int (*allocate)(const struct disk *d, int fd, int mode, uint64_t offset, uint64_t len);
	int (*seek)(const struct disk *d, int fd, uint64_t offset, int whence, uint64_t *found);
	int (*copy)(const struct disk *d, int from, uint64_t from_off, int to, uint64_t to_off,
		    size_t len, size_t *done);
	int (*blocks)(const struct disk *d, int fd, uint64_t *count512);
	int (*start_writeback)(const struct disk *d, int fd); /* begins, does not wait */
	int (*sync)(const struct disk *d, int fd); /* fdatasync; a directory: fsync */
	int (*unlink)(const struct disk *d, int dirfd, const char *path); /* or an empty directory */
	int (*mkdir)(const struct disk *d, int dirfd, const char *path, mode_t mode);
	void *context; /* a twin's own state */
};

extern const struct disk disk_real;

#endif

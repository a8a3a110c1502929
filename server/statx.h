/* FUSE_STATX, since Linux 6.6 (protocol 7.39), which asks for the time of birth; Debian 12's
 * <linux/fuse.h> does not have it yet, and a newer one has it under the kernel's names. */
#ifndef SERVER_STATX_H
#define SERVER_STATX_H

#include <stdint.h>

enum { WIRE_STATX = 52 };

struct wire_statx_in {
	uint32_t getattr_flags, reserved;
	uint64_t fh;
	uint32_t sx_flags, sx_mask;
};

struct wire_time {
	int64_t sec;
	uint32_t nsec;
	int32_t reserved;
};

struct wire_statx { /* struct statx(2), as far as the kernel takes it from us */
	uint32_t mask, blksize;
	uint64_t attributes;
	uint32_t nlink, uid, gid;
	uint16_t mode, spare0;
	uint64_t ino, size, blocks, attributes_mask;
	struct wire_time atime, btime, ctime, mtime;
	uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
	uint64_t spare2[14];
};

struct wire_statx_out {
	uint64_t attr_valid;      /* seconds the attributes may be cached */
	uint32_t attr_valid_nsec, flags;
	uint64_t spare[2];
	struct wire_statx stat;
};

_Static_assert(sizeof(struct wire_statx_in) == 24, "wire format");
_Static_assert(sizeof(struct wire_statx_out) == 288, "wire format");

#endif

/* What a client must know of an opcode to send it again after the server went away. */
#ifndef CLIENT_OPCODE_H
#define CLIENT_OPCODE_H

#include <linux/fuse.h>
#include <stdbool.h>
#include <stdint.h>

/* Set in the unique of a request that may have been seen before; replies come without it.  The
 * kernel's own name for it (FUSE_UNIQUE_RESEND, Linux 6.9) is not in older headers. */
#define OPCODE_RESENT (1ull << 63)
enum { OPCODE_STATX = 52 }; /* FUSE_STATX, likewise (Linux 6.6) */

/* opcode_answered: the server sends a reply. */
static inline bool opcode_answered(uint32_t opcode)
{
	return opcode != FUSE_FORGET && opcode != FUSE_BATCH_FORGET && opcode != FUSE_INTERRUPT &&
	       opcode != FUSE_NOTIFY_REPLY;
}

/* opcode_repeatable: doing it twice does what doing it once does, so it may be sent again even to
 * a server that has no record of this client. */
static inline bool opcode_repeatable(uint32_t opcode)
{
	switch (opcode) {
	case FUSE_LOOKUP:
	case FUSE_GETATTR:
	case FUSE_READLINK:
	case FUSE_STATFS:
	case FUSE_GETXATTR:
	case FUSE_LISTXATTR:
	case FUSE_ACCESS:
	case FUSE_INIT:
	case FUSE_READ:
	case FUSE_READDIR:
	case FUSE_READDIRPLUS:
	case FUSE_LSEEK:
	case FUSE_GETLK:
	case OPCODE_STATX:
		return true;
	default:
		return false;
	}
}

#endif

#include "client/fusedev.h"

#include "client/opcode.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { NOTIFY_RESEND = 7 }; /* FUSE_NOTIFY_RESEND; not in older headers */

bool fusedev_gone(int dev)
{
	struct pollfd p = { .fd = dev };

	return poll(&p, 1, 0) > 0 && p.revents & (POLLERR | POLLNVAL | POLLHUP);
}

static bool write_header(int dev, uint64_t unique, int32_t error)
{
	struct fuse_out_header h = { .len = sizeof h, .error = error, .unique = unique };

	return write(dev, &h, sizeof h) == sizeof h;
}

bool fusedev_resend(int dev)
{
	return write_header(dev, 0, NOTIFY_RESEND);
}

void fusedev_fail(int dev, uint64_t unique, int eno)
{
	write_header(dev, unique, -eno);
}

static bool any(const struct fuse_in_header *h)
{
	return true;
}

static bool unrepeatable(const struct fuse_in_header *h)
{
	return h->unique & OPCODE_RESENT && !opcode_repeatable(h->opcode);
}

/* Takes the resent mark along: the kernel looks for the whole number. */
static void fail_those(int dev, int eno, void *buf, size_t cap,
		       bool (*wanted)(const struct fuse_in_header *h))
{
	struct fuse_in_header h;
	ssize_t n;

	while ((n = read(dev, buf, cap)) > 0 || (n < 0 && (errno == EINTR || errno == ENOENT))) {
		if (n < (ssize_t)sizeof h)
			continue;
		memcpy(&h, buf, sizeof h);
		if (opcode_answered(h.opcode) && wanted(&h))
			write_header(dev, h.unique, -eno);
	}
}

void fusedev_fail_all(int dev, int eno, void *buf, size_t cap)
{
	fail_those(dev, eno, buf, cap, any);
}

void fusedev_fail_unrepeatable(int dev, int eno, void *buf, size_t cap)
{
	fail_those(dev, eno, buf, cap, unrepeatable);
	fusedev_resend(dev);
}

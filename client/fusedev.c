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
	write_header(dev, unique & ~OPCODE_RESENT, -eno);
}

void fusedev_fail_all(int dev, int eno, void *buf, size_t cap)
{
	struct fuse_in_header h;
	ssize_t n;

	while ((n = read(dev, buf, cap)) > 0 || (n < 0 && (errno == EINTR || errno == ENOENT))) {
		if (n < (ssize_t)sizeof h)
			continue;
		memcpy(&h, buf, sizeof h);
		if (opcode_answered(h.opcode))
			fusedev_fail(dev, h.unique, eno);
	}
}

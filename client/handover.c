/* Happy path: hand over, then sleep until the connection ends.  The server ends it when the file
 * system is unmounted, so the device itself is not watched meanwhile: a poller on it would be
 * woken by every single request.
 *
 * Server away: the kernel is told at once to take back what the server had read.  So a process
 * that waits can be killed (the kernel lets go of what nobody has read), and the next server
 * finds every request in the queue, marked as resent. */
#include "client/handover.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "client/fusedev.h"
#include "client/opcode.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	LOOK_MS = 30000,           /* in case a server forgets to hang up after an unmount */
	REQUEST_MAX = (1 << 20) + 8192,
};

static int send_fd(int conn, int fd)
{
	char byte = 'F';
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof control };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	return sendmsg(conn, &m, MSG_NOSIGNAL) == 1 ? 0 : -KILN_ECLOSED;
}

/* Until the connection ends.  Bytes from the server mean nothing here and are thrown away. */
static void wait_for_end(int conn, int dev)
{
	struct pollfd p = { .fd = conn, .events = POLLIN };
	char waste[256];

	for (;;) {
		int n = poll(&p, 1, LOOK_MS);
		ssize_t got;

		if (n == 0 && fusedev_gone(dev))
			return;
		if (n <= 0)
			continue;
		got = recv(conn, waste, sizeof waste, MSG_DONTWAIT);
		if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
			return;
	}
}

/* Waits, or returns true earlier when the file system is gone. */
static bool pause_ms(int dev, int ms)
{
	struct pollfd p = { .fd = dev };

	return poll(&p, 1, ms) > 0;
}

static void fail_waiting(int dev, void (*fail)(int dev, int eno, void *buf, size_t cap))
{
	void *buf = mmap(NULL, REQUEST_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);

	if (buf == MAP_FAILED)
		return;
	fcntl(dev, F_SETFL, O_NONBLOCK); /* a flag shared with the server that is gone */
	fail(dev, EIO, buf, REQUEST_MAX);
	munmap(buf, REQUEST_MAX);
}

/* The next connection, or -KILN_ECLOSED when the file system is gone. */
static int come_back(struct csession *s, int dev, unsigned soft_seconds)
{
	uint64_t deadline = soft_seconds ? clock_mono() + soft_seconds * NS_PER_S : UINT64_MAX;
	int conn, last = -KILN_ECLOSED;

	for (;;) {
		if (pause_ms(dev, csession_delay_ms(s)))
			return -KILN_ECLOSED;
		conn = csession_connect(s);
		if (conn >= 0)
			return conn;
		if (conn != last)
			log_warn("%s; trying on", s->text);
		last = conn;
		/* a volume that has been deleted does not come back */
		if (conn == -KILN_ENOVOLUME || clock_mono() > deadline)
			fail_waiting(dev, fusedev_fail_all);
	}
}

int handover_run(struct csession *s, int conn, int dev, unsigned soft_seconds)
{
	for (;;) {
		if (send_fd(conn, dev) == 0)
			wait_for_end(conn, dev);
		close(conn);
		if (fusedev_gone(dev))
			break;
		csession_broke(s);
		fusedev_resend(dev);
		log_info("the server went away; waiting for it");
		conn = come_back(s, dev, soft_seconds);
		if (conn < 0)
			break;
		log_info("the server is back%s", s->known ? "" : " and does not know this mount");
		/* Nobody can tell any more what it has carried out. */
		if (!s->known)
			fail_waiting(dev, fusedev_fail_unrepeatable);
	}
	close(dev);
	return 0;
}

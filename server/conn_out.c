/* Replies on their way out.  A handed-over descriptor takes each at once.  On a socket short ones
 * gather while the connection is corked; what the socket does not take waits for its loop, and a
 * client that lets too much wait is not read from meanwhile. */
#include "server/conn_inner.h"

#include "base/log.h"
#include "server/dispatch.h"
#include "server/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum {
	OUT_MAX = 16 << 20, /* unsent bytes after which a client that does not read is read from
	                       no more, until it has half of that */
	CORK_MAX = 16384,   /* larger replies are not gathered */
};

/* A backlog that may go on is seen as soon as the loop looks again. */
void conn_rewatch(struct conn *c)
{
	bool reads = !c->throttled && kind_of(c) != CONN_HELLO;
	uint32_t events = reads ? EPOLLIN : 0;

	if (c->out_len > c->out_sent || (reads && c->backlog))
		events |= EPOLLOUT;
	if (events != c->watched)
		loop_watch(c->loop, c->fd, &c->source, events);
	c->watched = events;
}

static bool out_reserve(struct conn *c, size_t more)
{
	size_t cap = c->out_cap ? c->out_cap : 4096;
	uint8_t *bigger;

	while (cap < c->out_len + more)
		cap *= 2;
	if (cap == c->out_cap)
		return true;
	bigger = realloc(c->out, cap);
	if (!bigger)
		return false;
	c->out = bigger;
	c->out_cap = cap;
	return true;
}

/* Appends what is left of iov after `skip` bytes. */
static bool out_append(struct conn *c, const struct iovec *iov, int count, size_t skip)
{
	for (int i = 0; i < count; i++) {
		size_t len = iov[i].iov_len;

		if (skip >= len) {
			skip -= len;
			continue;
		}
		if (!out_reserve(c, len - skip))
			return false;
		memcpy(c->out + c->out_len, (const uint8_t *)iov[i].iov_base + skip, len - skip);
		c->out_len += len - skip;
		skip = 0;
	}
	return true;
}

/* Sends what has been gathered; false if the connection is broken. */
static bool out_send(struct conn *c)
{
	while (c->out_sent < c->out_len) {
		ssize_t n = send(c->fd, c->out + c->out_sent, c->out_len - c->out_sent,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		c->out_sent += (size_t)n;
	}
	c->out_len = c->out_sent = 0;
	if (c->out_cap > CORK_MAX * 4) {
		free(c->out);
		c->out = NULL;
		c->out_cap = 0;
	}
	return true;
}

static void after_send(struct conn *c)
{
	size_t rest = c->out_len - c->out_sent + c->owed;

	__atomic_store_n(&c->throttled, rest > OUT_MAX || (c->throttled && rest > OUT_MAX / 2),
			 __ATOMIC_RELAXED);
	conn_rewatch(c);
}

bool conn_drain(struct conn *c)
{
	bool ok = out_send(c);

	if (ok)
		after_send(c);
	return ok;
}

/* No system call but send(2) and sendmsg(2), which do not wait. */
bool conn_write(struct conn *c, const struct iovec *iov, int count, size_t total)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)iov,
			      .msg_iovlen = (size_t)count };
	ssize_t n = 0;
	bool ok;

	if (c->corked && total <= CORK_MAX && c->out_len - c->out_sent < CORK_MAX)
		return out_append(c, iov, count, 0);
	ok = out_send(c);
	if (ok && c->out_len == 0) {
		do
			n = sendmsg(c->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
		while (n < 0 && errno == EINTR);
		ok = n >= 0 || errno == EAGAIN;
	}
	if (ok)
		ok = out_append(c, iov, count, n > 0 ? (size_t)n : 0);
	if (ok)
		after_send(c);
	return ok;
}

static void fuse_write(struct conn *c, const struct iovec *iov, int count, size_t total)
{
	ssize_t n = writev(c->fd, iov, count);

	/* ENOENT: the request was interrupted and nobody waits for it any more; ENODEV: unmounted,
	 * which the loop will see by itself. */
	if (n < 0 && errno != ENOENT && errno != ENODEV)
		log_error("reply of %zu bytes refused by the kernel: %s", total,
			  strerrordesc_np(errno));
}

void conn_reply(struct conn *c, struct request *req)
{
	struct fuse_out_header out = { .unique = req->in.unique };
	struct iovec iov[3] = { { &out, sizeof out } };
	int count = 1;
	bool ok = true;

	out.error = -err_errno(req->error);
	out.len = sizeof out;
	if (!out.error && req->out_len) {
		iov[count++] = (struct iovec){ &req->out, req->out_len };
		out.len += (uint32_t)req->out_len;
	}
	if (!out.error && req->body_len) {
		iov[count++] = (struct iovec){ (void *)(uintptr_t)req->body, req->body_len };
		out.len += (uint32_t)req->body_len;
	}
	log_debug(wire, "reply %lu %s error %d len %u", (unsigned long)out.unique, req->op->name,
		  out.error, out.len);
	if (kind_of(c) == CONN_FUSE) {
		/* the kernel looks for the number it sent, mark included */
		if (req->resent)
			out.unique |= WIRE_UNIQUE_RESEND;
		fuse_write(c, iov, count, out.len);
		return;
	}
	lock_take(&c->lock);
	c->owed -= req->owed;
	if (!c->dead)
		ok = conn_write(c, iov, count, out.len);
	lock_give(&c->lock);
	if (!ok)
		conn_kill(c);
}

void conn_forget_attr(struct conn *c, uint64_t handle)
{
	struct {
		struct fuse_out_header header;
		struct fuse_notify_inval_inode_out inode;
	} out = {
		.header = { .len = sizeof out, .error = FUSE_NOTIFY_INVAL_INODE },
		.inode = { .ino = handle, .off = -1 }, /* -1: attributes alone */
	};
	struct iovec iov = { &out, sizeof out };
	bool ok = true;

	if (kind_of(c) == CONN_FUSE) {
		fuse_write(c, &iov, 1, sizeof out);
		return;
	}
	lock_take(&c->lock);
	if (!c->dead)
		ok = conn_write(c, &iov, 1, sizeof out);
	lock_give(&c->lock);
	if (!ok)
		conn_kill(c);
}

void conn_owe(struct conn *c, struct request *req, uint32_t bytes)
{
	if (!c || kind_of(c) != CONN_STREAM || bytes == 0)
		return;
	lock_guard(&c->lock);
	req->owed += bytes;
	c->owed += bytes;
	if (!c->dead)
		after_send(c);
}

void conn_cork(struct conn *c)
{
	lock_guard(&c->lock);
	c->corked++;
}

bool conn_pull_cork(struct conn *c)
{
	return --c->corked > 0 || c->dead || conn_drain(c);
}

void conn_uncork(struct conn *c)
{
	bool ok;

	lock_take(&c->lock);
	ok = conn_pull_cork(c);
	lock_give(&c->lock);
	if (!ok)
		conn_kill(c);
}

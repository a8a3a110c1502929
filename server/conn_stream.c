/* Sockets: a new one says hello, or speaks HTTP and leaves; then stream_ready reads what has come,
 * cuts it into messages and keeps a partial one. */
#include "server/conn_inner.h"

#include "base/hello.h"
#include "server/pool.h"
#include "server/schedule.h"
#include "server/server.h"
#include "server/session.h"
#include "server/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Cuts bytes into messages, as far as they are whole and the client takes its replies; returns
 * how many were used, -1 for nonsense. */
static ssize_t stream_cut(struct conn *c, struct worker *w, uint8_t *bytes, size_t len)
{
	size_t used = 0;

	while (len - used >= WIRE_MESSAGE_MIN && !is_throttled(c)) {
		int64_t need = wire_length(bytes + used);

		if (need < 0)
			return -1;
		if ((size_t)need > len - used)
			break;
		if (!conn_message(c, w, bytes + used, (size_t)need, false))
			return -1;
		used += (size_t)need;
	}
	return (ssize_t)used;
}

/* What is left of a message is kept in memory of just its size; so are whole ones. */
static bool partial_keep(struct conn *c, const uint8_t *bytes, size_t len)
{
	int64_t need = len >= WIRE_MESSAGE_MIN ? wire_length(bytes) : WIRE_MESSAGE_MIN;

	if (need < 0)
		return false;
	c->partial_len = len;
	c->partial_cap = (size_t)need > len ? (size_t)need : len;
	c->partial = malloc(c->partial_cap);
	if (!c->partial)
		return false;
	memcpy(c->partial, bytes, len);
	return true;
}

static bool has_backlog(const struct conn *c)
{
	return c->partial && c->partial_len >= WIRE_MESSAGE_MIN &&
	       wire_length(c->partial) <= (int64_t)c->partial_len;
}

static bool backlog_cut(struct conn *c, struct worker *w)
{
	uint8_t *bytes = c->partial;
	size_t len = c->partial_len;
	ssize_t used;
	bool ok;

	c->partial = NULL;
	used = stream_cut(c, w, bytes, len);
	ok = used >= 0;
	if (ok && (size_t)used < len)
		ok = partial_keep(c, bytes + used, len - (size_t)used);
	free(bytes);
	return ok;
}

static bool partial_grow(struct conn *c)
{
	int64_t need = wire_length(c->partial);
	uint8_t *bigger;

	if (need < 0)
		return false;
	bigger = realloc(c->partial, (size_t)need);
	if (!bigger)
		return false;
	c->partial = bigger;
	c->partial_cap = (size_t)need;
	return true;
}

/* Goes on with the message that has begun; true also if it is still not whole. */
static bool partial_fill(struct conn *c, struct worker *w, bool *drained)
{
	ssize_t n = recv(c->fd, c->partial + c->partial_len, c->partial_cap - c->partial_len,
			 MSG_DONTWAIT);
	uint8_t *whole = c->partial;
	bool ok;

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		*drained = true;
		return true;
	}
	if (n <= 0)
		return false;
	c->partial_len += (size_t)n;
	if (c->partial_len < c->partial_cap)
		return true;
	if (c->partial_cap == WIRE_MESSAGE_MIN && !partial_grow(c))
		return false;
	if (c->partial_len < c->partial_cap)
		return true;
	whole = c->partial;
	c->partial = NULL;
	ok = conn_message(c, w, whole, c->partial_cap, false);
	free(whole);
	return ok;
}

static bool stream_read(struct conn *c, struct worker *w, uint8_t *buffer, bool *drained)
{
	ssize_t n, used;

	if (has_backlog(c))
		return backlog_cut(c, w);
	if (c->partial)
		return partial_fill(c, w, drained);
	n = recv(c->fd, buffer, WIRE_MESSAGE_MAX, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		*drained = true;
		return true;
	}
	if (n <= 0)
		return false;
	*drained = n < WIRE_MESSAGE_MAX / 4; /* it held all there was: asking again is a waste */
	used = stream_cut(c, w, buffer, (size_t)n);
	if (used < 0)
		return false;
	if (used == n)
		return true;
	*drained = false;
	return partial_keep(c, buffer + used, (size_t)(n - used));
}

void stream_ready(struct conn *c, struct worker *w)
{
	uint8_t *buffer = buffer_get();
	bool ok = buffer != NULL, drained = false;

	conn_cork(c);
	for (int i = 0; ok && !drained && !is_throttled(c) && i < BATCH_MAX; i++)
		ok = stream_read(c, w, buffer, &drained);
	buffer_put(buffer);
	lock_take(&c->lock);
	c->backlog = ok && has_backlog(c);
	ok = conn_pull_cork(c) && ok;
	lock_give(&c->lock);
	if (!ok)
		conn_end(c, false);
}

/* --- hello -------------------------------------------------------------------------------------- */

void hello_ready(struct conn *c)
{
	struct request *req;
	uint8_t first;
	ssize_t n;

	if (c->partial_len == 0) {
		n = recv(c->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
		if (n <= 0) {
			if (n == 0 || errno != EAGAIN)
				conn_end(c, false);
			return;
		}
		if (first != (HELLO_MAGIC & 0xff)) {
			/* HTTP's methods begin with other letters */
			int fd = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);

			conn_end(c, false);
			if (fd >= 0)
				admin_accept(c->server->admin, fd, c->peer_uid);
			return;
		}
		c->partial = malloc(sizeof(struct hello));
		if (!c->partial) {
			conn_end(c, false);
			return;
		}
	}
	n = recv(c->fd, c->partial + c->partial_len, sizeof(struct hello) - c->partial_len,
		 MSG_DONTWAIT);
	if (n <= 0) {
		if (n == 0 || errno != EAGAIN)
			conn_end(c, false);
		return;
	}
	c->partial_len += (size_t)n;
	if (c->partial_len < sizeof(struct hello))
		return;
	lock_take(&c->lock);
	kind_set(c, CONN_HELLO); /* silent until the pool has judged it */
	conn_rewatch(c);
	lock_give(&c->lock);
	req = request_new(NULL, NULL, c);
	if (!req) {
		conn_end(c, false);
		return;
	}
	req->buffer = c->partial;
	c->partial = NULL;
	c->partial_len = 0;
	req->run = session_hello;
	pool_submit(c->server->pool, POOL_WRITE, req);
}

void conn_hello_done(struct conn *c, const struct hello_reply *reply, struct session *session,
		     unsigned kind)
{
	struct iovec iov = { (void *)(uintptr_t)reply, sizeof *reply };
	bool ok = session, dead;

	lock_take(&c->lock);
	dead = c->dead;
	if (session && !dead) {
		session_get(session);
		c->session = session;
		kind_set(c, kind == HELLO_FUSE_FD ? CONN_COMPANION : CONN_STREAM);
	}
	if (!dead)
		ok = conn_write(c, &iov, 1, sizeof *reply) && session;
	lock_give(&c->lock);
	if (session && dead)
		session_disconnected(session, c, false); /* conn_end did not know of it */
	else if (!ok)
		conn_kill(c);
}

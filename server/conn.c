/* Life and events of a connection: conn_accept or fuse_attach makes one, conn_ready is called by
 * its loop, conn_message checks and schedules what has come.
 * Failures: nonsense, or the other end gone: conn_end, once, on the loop's thread. */
#include "server/conn_inner.h"

#include "base/clock.h"
#include "base/hello.h"
#include "base/log.h"
#include "server/dispatch.h"
#include "server/schedule.h"
#include "server/server.h"
#include "server/session.h"
#include "server/wire.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	REFS_MAX = 2 * HELLO_SLOTS_MAX, /* each unanswered request holds one */
	HELLO_SECONDS = 10,
};

static struct {
	pthread_mutex_t mutex; /* a leaf that calls nothing */
	struct conn *first;
} conns = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static void conn_ready(struct source *s, struct worker *w, uint32_t events);

/* --- life ----------------------------------------------------------------------------------- */

struct conn *conn_new(struct server *server, struct loop *loop, int fd, uint32_t peer_uid,
		      enum conn_kind kind)
{
	struct conn *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->source.ready = conn_ready;
	c->server = server;
	c->loop = loop;
	c->fd = fd;
	c->refs = 1;
	kind_set(c, kind);
	c->watched = EPOLLIN;
	c->peer_uid = peer_uid;
	c->since_ns = clock_mono();
	lock_init(&c->lock, LOCK_RANK_CONN, "conn");
	pthread_mutex_lock(&conns.mutex);
	c->next = conns.first;
	c->link = &conns.first;
	if (c->next)
		c->next->link = &c->next;
	conns.first = c;
	pthread_mutex_unlock(&conns.mutex);
	return c;
}

void conn_get(struct conn *c)
{
	__atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
}

void conn_put(struct conn *c)
{
	if (__atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	pthread_mutex_lock(&conns.mutex);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	pthread_mutex_unlock(&conns.mutex);
	if (c->session)
		session_put(c->session);
	if (c->companion)
		conn_put(c->companion);
	close(c->fd);
	free(c->partial);
	free(c->out);
	lock_destroy(&c->lock);
	free(c);
}

struct loop *conn_loop(struct conn *c)
{
	return c->loop;
}

uint32_t conn_peer_uid(const struct conn *c)
{
	return c->peer_uid;
}

static bool conn_set_dead(struct conn *c)
{
	bool was;

	lock_guard(&c->lock);
	was = c->dead;
	c->dead = true;
	return was;
}

void conn_end(struct conn *c, bool unmounted)
{
	if (conn_set_dead(c))
		return;
	loop_remove(c->loop, c->fd, &c->source);
	if (kind_of(c) == CONN_STREAM || kind_of(c) == CONN_FUSE)
		session_disconnected(c->session, c, unmounted);
	/* The client waits on its companion alone, for an unmount as for a restart. */
	if (c->companion)
		conn_kill(c->companion);
	conn_put(c);
}

static void run_end(struct worker *w, struct request *req)
{
	(void)w;
	conn_end(req->conn, false);
	request_free(req);
}

void conn_kill(struct conn *c)
{
	struct request *req;
	bool was;

	lock_take(&c->lock);
	was = c->killed || c->dead;
	__atomic_store_n(&c->killed, true, __ATOMIC_RELAXED);
	lock_give(&c->lock);
	if (was)
		return;
	req = request_new(NULL, NULL, c);
	if (req) {
		req->run = run_end;
		loop_post(c->loop, req);
	} else {
		shutdown(c->fd, SHUT_RDWR); /* its loop will see the end of the stream */
	}
}

bool conn_is_over(const struct conn *c)
{
	return kind_of(c) == CONN_STREAM && __atomic_load_n(&c->killed, __ATOMIC_RELAXED);
}

/* --- messages in -------------------------------------------------------------------------------- */

bool conn_message(struct conn *c, struct worker *w, void *message, size_t len, bool may_steal)
{
	struct request *req;
	int err;

	if (conn_is_over(c))
		return false;
	req = request_new(session_volume(c->session), c->session, c);
	if (!req)
		return false;
	req->worker = w;
	req->arrived_ns = clock_mono();
	err = wire_parse(message, len, req);
	log_debug(wire, "request %lu opcode %u node %lu len %zu: %s", (unsigned long)req->in.unique,
		  req->in.opcode, (unsigned long)req->in.nodeid, len, err_name(err));
	if (!err)
		err = session_admit(c->session, req);
	if (__atomic_load_n(&c->refs, __ATOMIC_RELAXED) > REFS_MAX && kind_of(c) == CONN_STREAM)
		err = -KILN_EBADMSG; /* more unanswered than it has slots */
	if (err == -KILN_EBADMSG) {
		log_warn("client %016lx: malformed message (opcode %u, %zu bytes): connection closed",
			 (unsigned long)session_client(c->session), req->in.opcode, len);
		request_free(req);
		return false;
	}
	if (err) {
		request_answer(req, err);
		return true;
	}
	req->message = message;
	req->may_steal = may_steal;
	schedule_request(w, req);
	return true;
}

/* --- events -------------------------------------------------------------------------------------- */

static void out_ready(struct conn *c)
{
	bool ok;

	lock_take(&c->lock);
	ok = c->dead || conn_drain(c);
	lock_give(&c->lock);
	if (!ok)
		conn_end(c, false);
}

static void in_ready(struct conn *c, struct worker *w)
{
	switch (kind_of(c)) {
	case CONN_FUSE:
		fuse_ready(c, w);
		break;
	case CONN_STREAM:
		stream_ready(c, w);
		break;
	case CONN_COMPANION:
		companion_ready(c);
		break;
	case CONN_NEW:
		hello_ready(c);
		break;
	case CONN_HELLO:
		break;
	}
}

static void conn_ready(struct source *s, struct worker *w, uint32_t events)
{
	struct conn *c = (struct conn *)s;
	bool broken = events & (EPOLLERR | EPOLLHUP);

	conn_get(c); /* it may end meanwhile */
	if (server_stopping(c->server)) {
		loop_watch(c->loop, c->fd, s, 0); /* what has not been read stays for the next */
		if (broken)
			conn_end(c, false);
		conn_put(c);
		return;
	}
	if (events & EPOLLOUT)
		out_ready(c);
	if (!c->dead && broken && (kind_of(c) == CONN_HELLO || is_throttled(c)))
		conn_end(c, false);
	else if (!c->dead && (broken || (events & EPOLLIN) || c->backlog))
		in_ready(c, w);
	conn_put(c);
}

int conn_accept(struct server *server, struct loop *loop, int fd, uint32_t peer_uid)
{
	struct conn *c = conn_new(server, loop, fd, peer_uid, CONN_NEW);
	int err;

	if (!c) {
		close(fd);
		return -KILN_ENOMEM;
	}
	err = loop_add(loop, fd, &c->source, EPOLLIN);
	if (err)
		conn_put(c);
	return err;
}

/* A connection whose last reference is going is about to leave the list: leave it alone. */
static bool conn_get_live(struct conn *c)
{
	unsigned refs = __atomic_load_n(&c->refs, __ATOMIC_RELAXED);

	while (refs > 0)
		if (__atomic_compare_exchange_n(&c->refs, &refs, refs + 1, true, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return true;
	return false;
}

/* A reference to each connection that `pick` wants, at most cap. */
static unsigned conns_pick(struct conn **out, unsigned cap, bool (*pick)(const struct conn *c))
{
	unsigned count = 0;

	pthread_mutex_lock(&conns.mutex);
	for (struct conn *c = conns.first; c && count < cap; c = c->next) {
		if (pick(c) && conn_get_live(c))
			out[count++] = c;
	}
	pthread_mutex_unlock(&conns.mutex);
	return count;
}

static bool is_late(const struct conn *c)
{
	return kind_of(c) == CONN_NEW && clock_mono() - c->since_ns > HELLO_SECONDS * NS_PER_S;
}

/* At the end only, when nobody else can end it. */
static bool is_left(const struct conn *c)
{
	return !c->dead;
}

void conn_tick(void)
{
	struct conn *late[64];
	unsigned count = conns_pick(late, 64, is_late);

	for (unsigned i = 0; i < count; i++) {
		conn_kill(late[i]);
		conn_put(late[i]);
	}
}

void conn_close_all(void)
{
	struct conn *some[64];
	unsigned count;

	while ((count = conns_pick(some, 64, is_left)) > 0)
		for (unsigned i = 0; i < count; i++) {
			if (!conn_set_dead(some[i]))
				conn_put(some[i]); /* the registration's: its loop is gone */
			conn_put(some[i]);
		}
}

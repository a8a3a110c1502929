/* A connection's insides, for conn*.c alone: conn.c its life and events, conn_out.c replies,
 * conn_stream.c sockets, conn_fuse.c handed-over descriptors. */
#ifndef SERVER_CONN_INNER_H
#define SERVER_CONN_INNER_H

#include "base/lock.h"
#include "server/conn.h"

#include <sys/uio.h>

enum { BATCH_MAX = 32 }; /* messages of one connection before others get a turn */

enum conn_kind { CONN_NEW, CONN_HELLO, CONN_STREAM, CONN_COMPANION, CONN_FUSE };

struct conn {
	struct source source;
	struct server *server;
	struct loop *loop;
	int fd;
	unsigned refs;             /* atomic; the loop's registration holds one */
	enum conn_kind kind;       /* atomic: kind_of, kind_set */
	uint32_t peer_uid;
	struct session *session;   /* a reference; set before the first message */
	struct conn *companion;    /* of a handed-over descriptor: a reference; never changes */
	uint64_t since_ns;
	struct conn *next, **link; /* [conns.lock] list of all */

	/* loop thread */
	uint8_t *partial;          /* a message not yet whole, or several (backlog) */
	size_t partial_len, partial_cap;
	bool backlog;              /* it holds whole ones, left there while throttled */

	struct lock lock;          /* CONN */
	uint8_t *out;              /* [lock] not yet sent */
	size_t out_len, out_cap, out_sent;
	size_t owed;               /* [lock] bytes of replies that a pool is working at */
	unsigned corked;           /* [lock] replies are gathered until the batch ends */
	bool dead;                 /* [lock] nothing is written any more */
	bool killed;               /* [lock] to be closed; conn_is_over: atomic */
	bool throttled;            /* [lock] not read from until out has drained; loop: atomic */
	uint32_t watched;          /* [lock] events that the loop looks for */
};

static inline enum conn_kind kind_of(const struct conn *c)
{
	return __atomic_load_n(&c->kind, __ATOMIC_ACQUIRE);
}

static inline void kind_set(struct conn *c, enum conn_kind kind)
{
	__atomic_store_n(&c->kind, kind, __ATOMIC_RELEASE);
}

static inline bool is_throttled(const struct conn *c)
{
	return __atomic_load_n(&c->throttled, __ATOMIC_RELAXED);
}

/* conn_new: not watched by its loop yet; NULL without memory (fd stays the caller's). */
struct conn *conn_new(struct server *server, struct loop *loop, int fd, uint32_t peer_uid,
		      enum conn_kind kind);
/* conn_end: once; on the loop's thread.  unmounted: the kernel's side is gone for good. */
void conn_end(struct conn *c, bool unmounted);
/* conn_message: one whole message.  False: nonsense, or too late: the connection must end. */
bool conn_message(struct conn *c, struct worker *w, void *message, size_t len, bool may_steal);

/* conn_out.c, with c->lock held: conn_rewatch says what the loop looks for; conn_write sends or
 * gathers; conn_drain sends what has been gathered; conn_pull_cork is conn_uncork.  False: broken,
 * to be ended. */
void conn_rewatch(struct conn *c);
bool conn_write(struct conn *c, const struct iovec *iov, int count, size_t total);
bool conn_drain(struct conn *c);
bool conn_pull_cork(struct conn *c);

/* What is done when the descriptor is readable, on the loop's thread. */
void stream_ready(struct conn *c, struct worker *w);
void hello_ready(struct conn *c);
void fuse_ready(struct conn *c, struct worker *w);
void companion_ready(struct conn *c);

#endif

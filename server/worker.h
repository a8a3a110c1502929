/* A thread that runs handlers: a loop or one of the pool.  What stands here is its own; nobody
 * else touches it (statistics are read torn, see base/hist.h). */
#ifndef SERVER_WORKER_H
#define SERVER_WORKER_H

#include "base/hist.h"
#include "server/request.h"

struct loop;
struct server;

struct worker_stats {
	uint64_t answered[4]; /* by op_class */
	uint64_t errors;      /* answers that carry an errno */
	uint64_t groups, grouped; /* writer-role groups applied, changes in them */
	uint64_t to_pool;     /* requests that could not be finished here */
	struct hist latency[4]; /* ns from read to answer, by op_class */
};

/* stat_add: a counter with one writer that others read. */
static inline void stat_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

struct worker {
	struct server *server;
	struct loop *loop;      /* NULL: a pool thread */
	bool may_block;         /* true: a pool thread */
	struct txn *reader;
	struct durable_view *view; /* what the reader looks at, while a read of an `op` volume runs */
	void *body;             /* reply buffer, REPLY_BYTES_MAX */
	struct volume *held;    /* whose writer role this thread has */
	uint64_t held_since_ns;
	bool stolen;            /* a request took over the message it was read into */
	struct worker_stats stats;
};

int worker_init(struct worker *w, struct server *server, struct loop *loop);
void worker_destroy(struct worker *w);
/* worker_enter: the calling thread is w from now on; worker_self: that, or NULL on threads that
 * run no handlers (committer, admin). */
void worker_enter(struct worker *w);
struct worker *worker_self(void);

/* Buffers that a whole message fits into (WIRE_MESSAGE_MAX), mapped and reused. */
void *buffer_get(void);
void buffer_put(void *buffer);

#endif

/* Mutexes that know their rank.  A thread may take a lock only if its rank is higher than
 * that of every lock it holds; debug builds (no NDEBUG) abort with both names otherwise.
 * The order, outermost first, is this table; it is the only place that states it. */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define LOCK_RANKS(X) \
	X(ADMIN)    /* administrative commands, one at a time */ \
	X(VOLUMES)  /* the table of volumes */ \
	X(SESSIONS) /* the table of clients */ \
	X(POOL)     /* a pool's queues */ \
	X(VOLUME)   /* one volume: writer role, queues, opens */ \
	X(SESSION)  /* one client: opens, slots */ \
	X(FLOCK)    /* a volume's table of file locks */ \
	X(CONN)     /* a connection's output */ \
	X(LOOP)     /* a loop's mailbox */ \
	X(COMMIT)   /* a store's waiters and sequence numbers */ \
	X(DATA)     /* cache of open data files */ \
	X(MOVE)     /* a store back end's way from its front to its database */ \
	X(STORE)    /* inside a store back end */ \
	X(LEAF)     /* anything that calls nothing */

enum lock_rank {
#define X(name) LOCK_RANK_##name,
	LOCK_RANKS(X)
#undef X
	LOCK_RANK_COUNT
};

struct lock {
	pthread_mutex_t mutex;
	const char *name;
	enum lock_rank rank;
	pthread_t owner;      /* valid while held; debug builds */
	bool held;            /* debug builds */
	uint64_t contended;   /* [mutex] times lock_take had to wait */
};

void lock_init(struct lock *l, enum lock_rank rank, const char *name);
void lock_destroy(struct lock *l);
void lock_take(struct lock *l);
bool lock_try(struct lock *l);
void lock_give(struct lock *l);
/* lock_assert_held: aborts in debug builds if the calling thread does not hold l. */
void lock_assert_held(const struct lock *l);

/* Condition variables on CLOCK_MONOTONIC. */
struct cond {
	pthread_cond_t cond;
};
void cond_init(struct cond *c);
void cond_destroy(struct cond *c);
void cond_wait(struct cond *c, struct lock *l); /* releases l while it waits */
/* cond_wait_until: false when deadline_ns (clock_mono) has passed; releases l while it waits. */
bool cond_wait_until(struct cond *c, struct lock *l, uint64_t deadline_ns);
void cond_signal(struct cond *c);
void cond_broadcast(struct cond *c);

/* lock_guard(l): takes l and gives it back when the enclosing block ends (GNU cleanup). */
static inline void lock_cleanup(struct lock **l)
{
	lock_give(*l);
}
#define LOCK_GUARD_CAT(line) guard_##line
#define LOCK_GUARD_NAME(line) LOCK_GUARD_CAT(line)
#define lock_guard(l) \
	struct lock *LOCK_GUARD_NAME(__LINE__) __attribute__((cleanup(lock_cleanup), unused)) = \
		(lock_take(l), (l))

#endif

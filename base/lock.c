#include "base/lock.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef NDEBUG
static const char *const rank_names[] = {
#define X(name) #name,
	LOCK_RANKS(X)
#undef X
};

enum { HELD_MAX = 16 };
static _Thread_local struct {
	const struct lock *lock[HELD_MAX];
	int count;
} mine;

static void lock_die(const char *what, const struct lock *l, const struct lock *other)
{
	fprintf(stderr, "lock: %s: %s (rank %s), with %s (rank %s)\n", what, l->name,
		rank_names[l->rank], other ? other->name : "none",
		other ? rank_names[other->rank] : "none");
	abort();
}

static void check_order(const struct lock *l)
{
	for (int i = 0; i < mine.count; i++)
		if (mine.lock[i]->rank >= l->rank)
			lock_die("taken out of order", l, mine.lock[i]);
}

static void note_taken(struct lock *l)
{
	if (mine.count == HELD_MAX)
		lock_die("too many held", l, mine.lock[HELD_MAX - 1]);
	mine.lock[mine.count++] = l;
	l->owner = pthread_self();
	l->held = true;
}

static void note_given(struct lock *l)
{
	int i = mine.count - 1;

	while (i >= 0 && mine.lock[i] != l)
		i--;
	if (i < 0)
		lock_die("given but not held", l, NULL);
	for (; i + 1 < mine.count; i++)
		mine.lock[i] = mine.lock[i + 1];
	mine.count--;
	l->held = false;
}
#else
#define check_order(l) ((void)(l))
#define note_taken(l) ((void)(l))
#define note_given(l) ((void)(l))
#endif

void lock_init(struct lock *l, enum lock_rank rank, const char *name)
{
	*l = (struct lock){ .name = name, .rank = rank };
	pthread_mutex_init(&l->mutex, NULL);
}

void lock_destroy(struct lock *l)
{
	pthread_mutex_destroy(&l->mutex);
}

void lock_take(struct lock *l)
{
	check_order(l);
	if (pthread_mutex_trylock(&l->mutex) != 0) {
		pthread_mutex_lock(&l->mutex);
		l->contended++;
	}
	note_taken(l);
}

bool lock_try(struct lock *l)
{
	if (pthread_mutex_trylock(&l->mutex) != 0)
		return false;
	note_taken(l);
	return true;
}

void lock_give(struct lock *l)
{
	note_given(l);
	pthread_mutex_unlock(&l->mutex);
}

void lock_assert_held(const struct lock *l)
{
#ifndef NDEBUG
	for (int i = 0; i < mine.count; i++)
		if (mine.lock[i] == l)
			return;
	lock_die("not held", l, NULL);
#else
	(void)l;
#endif
}

void cond_init(struct cond *c)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->cond, &attr);
	pthread_condattr_destroy(&attr);
}

void cond_destroy(struct cond *c)
{
	pthread_cond_destroy(&c->cond);
}

void cond_wait(struct cond *c, struct lock *l)
{
	note_given(l);
	pthread_cond_wait(&c->cond, &l->mutex);
	note_taken(l);
}

bool cond_wait_until(struct cond *c, struct lock *l, uint64_t deadline_ns)
{
	struct timespec ts = { .tv_sec = (time_t)(deadline_ns / NS_PER_S),
			       .tv_nsec = (long)(deadline_ns % NS_PER_S) };
	int rc;

	note_given(l);
	rc = pthread_cond_timedwait(&c->cond, &l->mutex, &ts);
	note_taken(l);
	return rc != ETIMEDOUT;
}

void cond_signal(struct cond *c)
{
	pthread_cond_signal(&c->cond);
}

void cond_broadcast(struct cond *c)
{
	pthread_cond_broadcast(&c->cond);
}

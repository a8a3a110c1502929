/* Looking before sleeping.  To be woken costs a thread 30 to 50 microseconds where its processor
 * has gone idle, more than most requests take.  So one that waits for messages looks for them again
 * and again for a little while, where waits like this one have been short.
 *
 *	look_begin(&l);
 *	while (nothing is there && look_again(&l))
 *		look;
 *	if (nothing is there)
 *		sleep until there is;
 *	look_end(&l);
 *
 * Which waits will be short is told as a processor tells which branches will be taken: by what
 * followed the last times that the waits before had been as they have been now.  So a client's wait
 * for a sync, each time after three quick answers, is slept through.
 *
 * Where more threads want a processor than there are, nobody looks, as it would be at the others'
 * cost: sched_yield(2) goes between two looks, but since Linux 6.18 who yields pays for it with the
 * rest of a time slice (15 clients on two processors: the p99 of a lookup 1.1 ms instead of 0.4).
 * Belongs to one thread; begins zeroed. */
#ifndef BASE_LOOK_H
#define BASE_LOOK_H

#include <stdbool.h>
#include <stdint.h>

enum { LOOK_PAST = 6 };

struct look {
	uint64_t begun_ns;
	unsigned looks;                 /* in this wait */
	uint64_t census_ns;             /* when to count the runnable threads again */
	bool crowded;                   /* there were too many */
	unsigned past;                  /* the last LOOK_PAST waits, a bit each: it was short */
	uint8_t trust[1u << LOOK_PAST]; /* by past: 0..3, from 2 on it will be short */
};

/* look_begin: where it will be looked, counts the runnable threads now and then (it reads a file). */
void look_begin(struct look *l);
/* look_again: before a look, the first too; false: time to sleep. */
bool look_again(struct look *l);
void look_end(struct look *l);

/* What those three are made of: whether the wait that begins will be short, and how it was. */
bool look_expects(const struct look *l);
void look_learn(struct look *l, bool was_short);

#endif

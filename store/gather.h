/* Who has waited for commits lately, and how long the next one should wait for them: the adaptive
 * wait of ext4's jbd2 (fs/jbd2/transaction.c, "synchronous batching"; ext4(5), min_batch_time and
 * max_batch_time), with writers counted instead of guessed.
 *
 * While one sync runs, half of the writers may park for the next; without a wait the two halves
 * take turns for ever.  So a round waits until as many distinct writers have parked as took part
 * in the last two, but no longer than an average commit takes: whoever is still in step arrives
 * within that time.  A lone writer never waits.
 *
 * Owned by the committer, under its lock. */
#ifndef STORE_GATHER_H
#define STORE_GATHER_H

#include <stdbool.h>
#include <stdint.h>

enum { GATHER_SLOTS = 1024 };

struct gather {
	uint64_t min_ns, max_ns;   /* bounds of the wait; max 0: none */
	uint64_t average_ns;       /* of a commit, moving */
	uint64_t round;            /* number of the round that is being gathered, from 2 */
	unsigned here;             /* distinct writers parked for it */
	unsigned lately;           /* distinct writers of the two rounds before */
	struct {
		uint64_t writer;
		uint64_t round;    /* the last one it took part in */
	} slot[GATHER_SLOTS];      /* direct mapped: a collision counts one writer too few */
};

void gather_init(struct gather *g, uint64_t min_ns, uint64_t max_ns);
/* gather_join: writer (0: nobody in particular) has parked. */
void gather_join(struct gather *g, uint64_t writer);
/* gather_until: how long a round whose first waiter parked at since_ns waits for more: a moment
 * (clock_mono); 0 if it need not wait. */
uint64_t gather_until(const struct gather *g, uint64_t since_ns);
/* gather_close: the round begins; those who park from now on belong to the next. */
void gather_close(struct gather *g);
/* gather_took: a sync took so long. */
void gather_took(struct gather *g, uint64_t ns);

#endif

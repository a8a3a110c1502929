/* The committer: one thread per store that makes sequence numbers durable, many batches per
 * sync.  Nobody else syncs, and nobody who answers others waits: a reply that must be durable
 * is parked here with its number, and its callback runs on the committer's thread once the
 * number is durable (or the store has failed).
 *
 * A round: close the list of waiters; sync the data files they name, in parallel; sync the
 * store; publish the number; call the waiters back.  Applies go on meanwhile and belong to the
 * next round.  A round begins when somebody waits, or commit_interval after the first apply
 * that no round has covered. */
#ifndef STORE_COMMIT_H
#define STORE_COMMIT_H

#include "base/hist.h"
#include "store/data.h"
#include "store/durable.h"
#include "store/kv.h"

#include <stdbool.h>
#include <stdint.h>

struct committer;

struct commit_wait {
	struct commit_wait *next;   /* owned by the committer while parked */
	uint64_t seq;               /* wanted number; set by the caller */
	uint64_t writer;            /* who waits, for counting distinct writers (client id) */
	struct data_id data;        /* file to sync first; handle 0: none */
	bool data_maybe;            /* ... if it is there, which would be news: see data_unsynced */
	bool all_data;              /* sync every data file of the store first (syncfs) */
	bool lazy;                  /* starts no round: the one under way or the next will do */
	unsigned together;          /* set before done: how many the same round calls back */
	/* done: on the committer's thread, or on the caller's inside commit_wait if nothing was
	 * left to do; must not block.  err: 0, or -KILN_EBADSTORE / -KILN_EIO. */
	void (*done)(struct commit_wait *wait, int err);
};

struct commit_options {
	uint64_t interval_ns;  /* default 1 s */
	/* How long a round may wait for others to join, named and meant as in ext4(5). */
	uint64_t min_batch_ns; /* at least so long */
	uint64_t max_batch_ns; /* at most so long; 0: default 15 ms */
	bool no_wait;          /* never (max_batch_time 0) */
	bool sync_each;        /* for comparison: one sync for each waiter */
};

struct commit_stats {
	uint64_t syncs, waits, sync_ns_total, data_files;
	uint64_t applied, durable; /* sequence numbers */
};

struct commit_hists {
	struct hist waiters;   /* called back by one sync */
	struct hist sync_ns;   /* one sync, its data files included */
	struct hist gather_ns; /* waited before it for others to join */
};

int commit_start(struct kv *kv, struct data *data, const struct commit_options *options,
		 struct committer **out);
/* commit_quiesce: commits what is there, calls every waiter back, ends the thread; a later wait
 * is answered at once: 0 if it is durable already, else -KILN_ESHUTDOWN. */
void commit_quiesce(struct committer *c);
/* commit_stop: the same, and frees c.  Every thread that has called into c must have returned from
 * it, not only been called back: commit_applied and commit_wait signal c after they have given its
 * lock back. */
void commit_stop(struct committer *c);

/* commit_applied: the store has given out seq (any thread, after kv_apply). */
void commit_applied(struct committer *c, uint64_t seq);
/* commit_wait: parks wait.  The caller keeps it alive until done is called. */
void commit_wait(struct committer *c, struct commit_wait *wait);
uint64_t commit_durable(const struct committer *c);
uint64_t commit_latest(const struct committer *c);
/* commit_epoch: rises when a round begins; what was written in the current epoch of this
 * process cannot be durable yet.  Never 0, never equal to one of another process. */
uint64_t commit_epoch(const struct committer *c);
void commit_stats(const struct committer *c, struct commit_stats *out);
void commit_hists(const struct committer *c, struct commit_hists *out);
/* commit_view: the durable view that the rounds publish, once it is wanted (durable_want). */
struct durable *commit_view(struct committer *c);

#endif

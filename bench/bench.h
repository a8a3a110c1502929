/* The runner: one side under test (one or more targets), its clients, and the files they have
 * made.  A test runs like this in every rank:
 *   prepare (untimed, bounded) - agree - caches dropped if cold - agree - all clients start -
 *   time over or nothing left - finish - results to rank 0.
 * Everything happens below one directory of the run in each target, removed by bench_close.
 * Rank 0 calls these functions; the other ranks sit in bench_serve and follow. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "bench/profile.h"
#include "bench/ranks.h"
#include "bench/result.h"

#include <stdbool.h>

struct bench;

enum { BENCH_TARGETS = 64, BENCH_PATH = 256 };

struct bench_options {
	unsigned threads;  /* for roles that leave it open, in each rank */
	pid_t server;	   /* whose processor time is counted, or 0 */
	char run_name[64]; /* of the run's directory in each target */
};

/* bench_open: makes the run's directory in each of the n targets.  On failure why (WHY_MAX
 * bytes) says which target and what to do. */
int bench_open(struct ranks *ranks, const struct profile *p, const char *const *where, unsigned n,
	       const struct bench_options *options, struct bench **out, char *why);
/* bench_test: runs test number i of the profile for at most time_ns (preparation not counted,
 * which is bounded by prepare_ns).  0 even if the test failed: out says so.  Negative only
 * when the run cannot go on (a rank is gone, memory). */
int bench_test(struct bench *b, unsigned i, uint64_t prepare_ns, uint64_t time_ns,
	       struct result *out);
/* bench_reset: removes all files made so far, so that the next test starts on an empty
 * directory.  Returns the first error. */
int bench_reset(struct bench *b);
/* bench_close: bench_reset, removes the run's directories, lets the other ranks' side go. */
int bench_close(struct bench *b);
/* bench_serve: the other ranks' loop; returns when rank 0 calls bench_dismiss. */
int bench_serve(struct ranks *ranks, const struct profile *p);
int bench_dismiss(struct ranks *ranks);

/* The interrupt: set from a signal handler, looked at after every operation. */
void bench_interrupt(void);
bool bench_interrupted(void);
/* bench_catch_signals: SIGINT, SIGTERM and SIGHUP interrupt; SIGPIPE is ignored.  A second
 * one ends the process at once; the janitor then cleans up. */
void bench_catch_signals(void);

#endif

/* The processes of one run: forked on this machine, or started by mpirun where the build has
 * MPI.  All ranks take the same steps; rank 0 decides, collects and reports.  Only the main
 * thread of a rank calls these.  A rank that dies makes the others' next call fail with
 * -KILN_ECLOSED (under MPI the launcher ends them all). */
#ifndef BENCH_RANKS_H
#define BENCH_RANKS_H

#include <stddef.h>

struct ranks;

/* ranks_start: call before any thread exists.  procs is how many processes to make; under MPI
 * it must be 1 and the launcher's number counts.  After a failure nothing is left of it. */
int ranks_start(int *argc, char ***argv, unsigned procs, struct ranks **out);
/* ranks_end: rank 0 waits for the others; every rank calls it. */
void ranks_end(struct ranks *r);
unsigned ranks_id(const struct ranks *r);
unsigned ranks_count(const struct ranks *r);

/* ranks_agree: a barrier; returns the least of all rc's (so an error of any rank). */
int ranks_agree(struct ranks *r, int rc);
/* ranks_share: rank 0's bytes to everybody. */
int ranks_share(struct ranks *r, void *buf, size_t len);
/* ranks_collect: on rank 0, take is called once for every other rank with what that one gave. */
typedef int (*ranks_take)(void *ctx, const void *data, size_t len);
int ranks_collect(struct ranks *r, const void *mine, size_t len, ranks_take take, void *ctx);
/* ranks_interrupt: passes an interrupt on to forked ranks. */
void ranks_interrupt(struct ranks *r);

#endif

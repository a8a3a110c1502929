/* One client of the runner: a thread for the length of a test, with sessions and file sets
 * that outlast it.  Private to bench.c and worker.c. */
#ifndef BENCH_WORKER_H
#define BENCH_WORKER_H

#include "base/lock.h"
#include "bench/bench.h"
#include "bench/shape.h"

#include <pthread.h>
#include <stdatomic.h>

/* Clients arrive and wait; the main thread waits for all that started, then opens. */
struct gate {
	struct lock lock;
	struct cond changed;
	unsigned arrived; /* [lock] */
	bool open;	  /* [lock] */
};
void gate_init(struct gate *g);
void gate_destroy(struct gate *g);
void gate_pass(struct gate *g);			   /* a client */
void gate_wait_all(struct gate *g, unsigned clients); /* the main thread */
void gate_open(struct gate *g);

/* What the clients of one side share.  Written before the threads start, but for stop. */
struct side {
	struct target *target[BENCH_TARGETS];
	unsigned n_targets;
	char run_name[64];
	struct gate gate; /* between preparation and start */
	uint64_t prepare_until_ns, time_ns;
	atomic_bool stop; /* the test is over for everybody: an error, or the start called off */
};

struct runner {
	struct worker w;
	struct side *side;
	struct target_session *session[BENCH_TARGETS];
	struct target_dir run_dir[BENCH_TARGETS]; /* valid where session is set */
	struct fileset *sets;
	struct cursor cursor[MIX_MAX];
	struct tally *tally; /* MIX_MAX of them */
	const char *culprit; /* the shape that failed */
	int rc;
	pthread_t thread;
};

int runner_init(struct runner *r, struct side *side, unsigned id, unsigned index);
/* runner_run: the thread's body; arg is the runner, w.test and w.role are set. */
void *runner_run(void *arg);
/* runner_forget: closes what it has open; the files themselves are removed by others. */
void runner_forget(struct runner *r);
void runner_free(struct runner *r);

#endif

/* The pool: threads that may wait for disks.  Two kinds, so that reads never queue behind
 * changes: POOL_READ runs reads that need the disk, POOL_WRITE everything else that would block
 * (data files, stalled stores, hellos, volumes' writer roles handed over).
 *
 * Fair among volumes: each kind has a ring of volumes with something to do and takes one request
 * from each in turn; requests without a volume share one place in the ring. */
#ifndef SERVER_POOL_H
#define SERVER_POOL_H

#include "server/worker.h"

enum pool_kind { POOL_READ, POOL_WRITE, POOL_KINDS };

struct pool;

/* One volume's place in a ring; embedded in the volume.  All fields [POOL]. */
struct pool_queue {
	struct request *head, *tail;
	struct pool_queue *next; /* in the ring; NULL: not in it */
};

int pool_start(struct server *server, unsigned readers, unsigned writers, struct pool **out);
/* pool_stop: runs what is queued, then ends the threads.  pool_sweep: afterwards, on the thread
 * that stops the server, as worker w: runs what has been queued since; says whether anything was. */
void pool_stop(struct pool *p);
bool pool_sweep(struct pool *p, struct worker *w);
void pool_free(struct pool *p);
/* pool_submit: req->run(worker, req) on a thread of that kind.  Any thread; takes POOL. */
void pool_submit(struct pool *p, enum pool_kind kind, struct request *req);
unsigned pool_queued(struct pool *p, enum pool_kind kind);
/* pool_each_worker: for statistics. */
void pool_each_worker(struct pool *p, void (*fn)(void *context, const struct worker *w),
		      void *context);

#endif

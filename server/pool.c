#include "server/pool.h"

#include "base/lock.h"
#include "base/log.h"
#include "server/schedule.h"
#include "server/server.h"
#include "server/volume_inner.h"

#include <pthread.h>
#include <stdlib.h>

enum { POOL_THREADS_MAX = 64 };

struct pool_class {
	struct pool *pool;
	struct lock lock;        /* POOL */
	struct cond cond;        /* something queued, or stop */
	struct pool_queue *last; /* [lock] ring: last->next is served next; NULL: nothing to do */
	struct pool_queue common;/* [lock] of requests without a volume */
	unsigned queued, idle;   /* [lock] */
	bool stop;               /* [lock] */
};

struct thread {
	struct pool_class *class;
	struct worker worker;
	pthread_t thread;
};

struct pool {
	struct pool_class class[POOL_KINDS];
	struct thread threads[POOL_THREADS_MAX];
	unsigned count;
};

static void ring_add(struct pool_class *c, struct pool_queue *q)
{
	if (c->last) {
		q->next = c->last->next;
		c->last->next = q;
	} else {
		q->next = q;
	}
	c->last = q;
}

/* Takes one request of the volume whose turn it is and moves that volume to the ring's end. */
static struct request *ring_take(struct pool_class *c)
{
	struct pool_queue *q = c->last->next;
	struct request *req = q->head;

	q->head = req->next;
	if (q->head) {
		c->last = q;
	} else {
		q->tail = NULL;
		if (c->last == q)
			c->last = NULL;
		else
			c->last->next = q->next;
		q->next = NULL;
	}
	c->queued--;
	return req;
}

static struct request *take(struct pool_class *c)
{
	struct request *req = NULL;

	lock_guard(&c->lock);
	while (!c->last && !c->stop) {
		c->idle++;
		cond_wait(&c->cond, &c->lock);
		c->idle--;
	}
	if (c->last)
		req = ring_take(c);
	return req;
}

static void *thread_main(void *arg)
{
	struct thread *t = arg;
	struct request *req;

	pthread_setname_np(pthread_self(),
			   t->class == &t->class->pool->class[POOL_READ] ? "reader" : "writer");
	worker_enter(&t->worker);
	while ((req = take(t->class)) != NULL) {
		req->run(&t->worker, req);
		schedule_flush(&t->worker);
	}
	return NULL;
}

static int thread_start(struct pool *p, struct server *server, enum pool_kind kind)
{
	struct thread *t = &p->threads[p->count];
	int err = worker_init(&t->worker, server, NULL);

	if (err)
		return err;
	t->class = &p->class[kind];
	if (pthread_create(&t->thread, NULL, thread_main, t) != 0) {
		worker_destroy(&t->worker);
		return -KILN_ENOTHREAD;
	}
	p->count++;
	return 0;
}

int pool_start(struct server *server, unsigned readers, unsigned writers, struct pool **out)
{
	struct pool *p = calloc(1, sizeof *p);
	int err = 0;

	if (!p)
		return -KILN_ENOMEM;
	for (int k = 0; k < POOL_KINDS; k++) {
		p->class[k].pool = p;
		lock_init(&p->class[k].lock, LOCK_RANK_POOL, k == POOL_READ ? "readers" : "writers");
		cond_init(&p->class[k].cond);
	}
	for (unsigned i = 0; i < readers + writers && i < POOL_THREADS_MAX && !err; i++)
		err = thread_start(p, server, i < readers ? POOL_READ : POOL_WRITE);
	if (err) {
		pool_stop(p);
		pool_free(p);
	} else {
		*out = p;
	}
	return err;
}

void pool_stop(struct pool *p)
{
	for (int k = 0; k < POOL_KINDS; k++) {
		lock_take(&p->class[k].lock);
		p->class[k].stop = true;
		cond_broadcast(&p->class[k].cond);
		lock_give(&p->class[k].lock);
	}
	for (unsigned i = 0; i < p->count; i++)
		pthread_join(p->threads[i].thread, NULL);
}

static struct request *take_left(struct pool_class *c)
{
	lock_guard(&c->lock);
	return c->last ? ring_take(c) : NULL;
}

bool pool_sweep(struct pool *p, struct worker *w)
{
	bool any = false;

	for (int k = 0; k < POOL_KINDS; k++) {
		struct request *req;

		while ((req = take_left(&p->class[k])) != NULL) {
			any = true;
			w->may_block = true;
			req->run(w, req);
			schedule_flush(w);
		}
	}
	return any;
}

void pool_free(struct pool *p)
{
	for (unsigned i = 0; i < p->count; i++)
		worker_destroy(&p->threads[i].worker);
	for (int k = 0; k < POOL_KINDS; k++) {
		cond_destroy(&p->class[k].cond);
		lock_destroy(&p->class[k].lock);
	}
	free(p);
}

void pool_submit(struct pool *p, enum pool_kind kind, struct request *req)
{
	struct pool_class *c = &p->class[kind];
	struct pool_queue *q = req->volume ? &req->volume->pool_queue[kind] : &c->common;

	req->next = NULL;
	lock_guard(&c->lock);
	if (q->tail)
		q->tail->next = req;
	else
		q->head = req;
	q->tail = req;
	c->queued++;
	if (!q->next)
		ring_add(c, q);
	if (c->idle)
		cond_signal(&c->cond);
}

unsigned pool_queued(struct pool *p, enum pool_kind kind)
{
	lock_guard(&p->class[kind].lock);
	return p->class[kind].queued;
}

void pool_each_worker(struct pool *p, void (*fn)(void *context, const struct worker *w),
		      void *context)
{
	for (unsigned i = 0; i < p->count; i++)
		fn(context, &p->threads[i].worker);
}

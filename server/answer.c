/* The end of a request: it is answered, or parked until what it tells of is durable. */
#include "server/schedule_inner.h"

#include "base/clock.h"
#include "server/conn.h"
#include "server/dispatch.h"
#include "server/loop.h"
#include "server/session.h"

#include <stdlib.h>
#include <string.h>

enum {
	DIRECT_MAX = 1,        /* answers that the committer gives itself */
	BODY_COPY_MAX = 65536, /* no operation that parks has a longer body */
};

static void count_answer(struct worker_stats *stats, struct request *req)
{
	if (!stats || !req->conn)
		return;
	stat_add(&stats->answered[req->op->class], 1);
	__atomic_add_fetch(req->op->class >= OP_CHANGE ? &req->volume->changes : &req->volume->reads,
			   1, __ATOMIC_RELAXED);
	if (req->error)
		stat_add(&stats->errors, 1);
	hist_add(&stats->latency[req->op->class], clock_mono() - req->arrived_ns);
}

/* stats: the running thread's own; NULL on one that keeps none. */
static void answer_counted(struct worker_stats *stats, struct request *req)
{
	request_answer_all(req->then, req->error);
	if (req->error)
		request_undo_open(req);
	if (!req->no_reply && req->conn)
		conn_reply(req->conn, req);
	if (req->slot != SLOT_NONE && req->session)
		session_slot_give(req->session, req->slot);
	count_answer(stats, req);
	request_free(req);
}

void answer_send(struct worker *w, struct request *req)
{
	answer_counted(w ? &w->stats : NULL, req);
}

void answer_with(struct worker *w, struct request *req, int err)
{
	req->error = err;
	answer_send(w, req);
}

static void run_answer(struct worker *w, struct request *req)
{
	answer_send(w, req);
}

/* On the committer's thread.  It passes the word on, so that answering many does not keep the
 * next round waiting; a wake-up for a single one costs more than its answer. */
static void durable_done(struct commit_wait *wait, int err)
{
	struct request *req = (struct request *)((char *)wait - offsetof(struct request, wait));
	struct worker *w = worker_self();

	if (err)
		req->error = err;
	req->run = run_answer;
	if (req->conn && wait->together > DIRECT_MAX)
		loop_post(conn_loop(req->conn), req);
	else /* what needs no waiting comes back on the thread that asked */
		answer_counted(w ? &w->stats : req->volume->server->committer_stats, req);
}

/* The body lies in a worker's buffer, which the next request will use. */
static int keep_body(struct request *req)
{
	void *copy;

	if (req->body_len == 0)
		return 0;
	if (req->body_len > BODY_COPY_MAX || req->buffer)
		return -KILN_EINVAL; /* no operation parks with such a reply */
	copy = malloc(req->body_len);
	if (!copy)
		return -KILN_ENOMEM;
	memcpy(copy, req->body, req->body_len);
	req->in.len = 0;
	req->buffer = copy;
	req->body = copy;
	return 0;
}

/* Who waits, for the committer's count of writers: one thread of one client. */
static uint64_t writer_of(const struct request *req)
{
	if (!req->session)
		return 0;
	return (req->session->client ^ req->in.pid * 0x9e3779b97f4a7c15ull) | 1;
}

void answer_when_durable(struct request *req, uint64_t seq)
{
	int err = keep_body(req);

	if (err) {
		request_answer(req, err);
		return;
	}
	req->wait = (struct commit_wait){
		.seq = seq,
		.writer = writer_of(req),
		.data = req->sync_data,
		.data_maybe = req->sync_maybe,
		.all_data = req->sync_all,
		.done = durable_done,
	};
	commit_wait(committer_of(req->volume), &req->wait);
}

void request_answer(struct request *req, int error)
{
	answer_with(worker_self(), req, error);
}

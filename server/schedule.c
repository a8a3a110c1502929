/* A request's way (happy path): schedule_request -> by class
 *   OP_LOCAL, OP_READ   read_start -> read_try -> answer_send         (read.c, answer.c)
 *   OP_CHANGE           role_submit -> group_execute -> group_apply   (role.c, group.c)
 *                       -> answer_send, or answer_when_durable
 *   OP_DATA             turn_take -> data_try -> as OP_CHANGE -> turn_give */
#include "server/schedule_inner.h"

#include "base/log.h"
#include "server/admit.h"
#include "server/dispatch.h"
#include "server/session.h"
#include "server/sleep.h"
#include "server/turn.h"

void schedule_to_pool(struct worker *w, struct request *req, enum pool_kind kind,
		    void (*run)(struct worker *w, struct request *req))
{
	int err = request_keep(w, req);

	if (err) {
		role_finish_failed(w, req, err);
		return;
	}
	stat_add(&w->stats.to_pool, 1);
	req->run = run;
	pool_submit(w->server->pool, kind, req);
}

static int prepare(struct request *req)
{
	int err = volume_read_only(req->volume) ? -KILN_EROFS : admit_change(req);

	if (!err)
		err = req->op->prepare(req);
	if (!err)
		admit_took(req);
	return err;
}

/* With the turn held.  -KILN_EWOULDBLOCK (nothing done) or disposes of the request. */
static int data_try(struct worker *w, struct request *req)
{
	int err;

	read_aim(w, req);
	err = group_executed_before(req->txn, req);
	if (err == 0)
		err = prepare(req);
	else if (err > 0)
		err = 0; /* the answer is found again under the role */
	if (err == -KILN_EWOULDBLOCK && !w->may_block)
		return err;
	if (err)
		role_finish_failed(w, req, err);
	else
		role_submit(w, req);
	return 0;
}

void schedule_data_again(struct worker *w, struct request *req)
{
	data_try(w, req);
}

void schedule_data(struct worker *w, struct request *req)
{
	int got = turn_take(req);

	if (got == -KILN_EAGAIN && w->held == req->volume) {
		schedule_flush(w); /* who has the turn may be in the held group, done but for that */
		got = turn_take(req);
	}
	if (got == -KILN_EAGAIN) {
		got = request_keep(w, req);
		if (!got)
			got = turn_take(req);
	}
	if (got < 0)
		answer_with(w, req, got);
	else if (got && data_try(w, req) == -KILN_EWOULDBLOCK)
		schedule_to_pool(w, req, POOL_WRITE, schedule_data_again);
}

static void run_queued(struct worker *w, struct request *req)
{
	struct volume *v = req->volume;
	bool changes = req->op->class >= OP_CHANGE;

	volume_get(v);
	if (!changes)
		read_try(w, req);
	else if (req->op->class == OP_CHANGE)
		role_submit(w, req);
	else
		schedule_data(w, req);
	schedule_flush(w);
	if (changes && volume_durability(v) == DURABILITY_OP &&
	    sleep_durable(volume_store(v), __atomic_load_n(&v->last_seq, __ATOMIC_RELAXED)) != 0)
		log_error("brick %u: a sync failed", volume_brick(v));
	volume_put(v);
}

void schedule_request(struct worker *w, struct request *req)
{
	if (session_dead(req->session)) {
		answer_with(w, req, -KILN_ESTALE);
		return;
	}
	if (w->server->options.one_queue && req->op->class != OP_LOCAL) {
		schedule_to_pool(w, req, POOL_WRITE, run_queued);
		return;
	}
	switch (req->op->class) {
	case OP_LOCAL:
		if ((req->op->flags & OP_COUNTED) && session_counted_before(req->session, req)) {
			answer_with(w, req, 0);
			break;
		}
		read_start(w, req);
		break;
	case OP_READ:
		read_start(w, req);
		break;
	case OP_CHANGE:
		role_submit(w, req);
		break;
	case OP_DATA:
		schedule_data(w, req);
		break;
	}
}

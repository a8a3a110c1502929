/* The writer role of a volume: who has it, what queues for it, when it is let go.
 *
 * A worker that meets a change takes the role if it is free and executes at once into the volume's
 * group (group.c); if it is not, it queues the change and goes on.  The holder keeps the role while
 * there is more to read, from whatever connection (so several changes share one write to the
 * store), but for HOLD_NS at most; schedule_flush applies the group, answers, and drains the queue
 * before it lets go.
 *
 * Where a loop meets something that would block (a read that needs the disk, a stalled store) the
 * role moves to a pool thread, with what is left to do in `handoff`; order is kept. */
#include "server/schedule_inner.h"

#include "base/clock.h"
#include "base/log.h"
#include "server/conn.h"
#include "server/dispatch.h"
#include "server/turn.h"

enum {
	GROUP_MAX = 64,      /* changes in one write to the store */
	LOOP_ROUNDS_MAX = 4, /* groups a loop runs before it leaves the rest to the pool */
	HOLD_NS = 100000,    /* changes in a held group wait no longer for others to join */
};

static void append(struct request **head, struct request **tail, struct request *req)
{
	req->next = NULL;
	if (*head)
		(*tail)->next = req;
	else
		*head = req;
	*tail = req;
}

/* Gives the file's turn to the next request that waits for it. */
static void turn_pass(struct request *req)
{
	struct request *next = req->turn_held ? turn_give(req) : NULL;

	if (!next)
		return;
	next->run = schedule_data_again;
	pool_submit(next->volume->server->pool, POOL_WRITE, next);
}

void role_finish_failed(struct worker *w, struct request *req, int err)
{
	turn_pass(req);
	answer_with(w, req, err);
}

/* Executes req in the held group, or leaves it for the next holder. */
static void change_run(struct worker *w, struct volume *v, struct request *req)
{
	int err = -KILN_EWOULDBLOCK;

	if (!v->must_hand_off)
		err = group_execute(w, v, req);
	if (err == -KILN_EWOULDBLOCK && !w->may_block) {
		v->must_hand_off = true;
		err = request_keep(w, req);
		if (!err) {
			append(&v->handoff, &v->handoff_tail, req);
			return;
		}
	}
	if (err == -KILN_EAGAIN && req->op->class == OP_DATA && request_keep(w, req) != 0)
		err = -KILN_ENOMEM;
	if (err && !req->unsure && req->op->class == OP_CHANGE && !v->done && txn_empty(v->group)) {
		role_finish_failed(w, req, err); /* it has seen nothing that has yet to come to be */
		return;
	}
	req->error = err;
	req->message = NULL; /* what is left to do needs no bytes of it */
	append(&v->done, &v->done_tail, req);
	v->done_count++;
}

/* After the group has been applied (or has failed): one request's part of it. */
static void done_finish(struct worker *w, struct request *req, uint64_t seq, int group_err)
{
	/* what a WRITE changes is promised at fsync and close only, on every volume */
	bool durable = req->durable || (volume_durability(req->volume) == DURABILITY_OP &&
					(req->op->flags & OP_RECORDED) &&
					req->in.opcode != FUSE_WRITE);

	if (req->error == -KILN_EAGAIN && req->op->class == OP_DATA) {
		schedule_to_pool(w, req, POOL_WRITE, schedule_data_again);
		return;
	}
	turn_pass(req);
	if (group_err) /* a failure too may have seen what has not come to be */
		req->error = group_err;
	req->seq = seq;
	if (req->error ? req->unsure && !group_err : durable)
		answer_when_durable(req, seq);
	else
		answer_send(w, req);
}

/* The requests at the head that came over one connection, answered in one write.  The rest. */
static struct request *finish_run(struct worker *w, struct request *req, uint64_t seq,
				  int group_err)
{
	struct request *next = req->next;
	struct conn *c = req->conn;
	bool several = c && next && next->conn == c;

	if (several) {
		conn_get(c);
		conn_cork(c);
	}
	do {
		next = req->next;
		done_finish(w, req, seq, group_err);
		req = next;
	} while (several && req && req->conn == c);
	if (several) {
		conn_uncork(c);
		conn_put(c);
	}
	return req;
}

/* Applies the group and answers what is in it.  -KILN_EWOULDBLOCK: the store would stall and
 * this is a loop; everything is as it was. */
static int group_close(struct worker *w, struct volume *v)
{
	struct request *req;
	uint64_t seq;
	int err;

	if (!v->done)
		return 0;
	err = group_apply(v, &seq);
	if (err == -KILN_EWOULDBLOCK && !w->may_block)
		return err;
	if (err && err != -KILN_ENOSPC) /* of which the store says more, and once */
		log_error("brick %u: changes could not be applied: %s", volume_brick(v),
			  err_text(err));
	stat_add(&w->stats.groups, 1);
	stat_add(&w->stats.grouped, v->done_count);
	group_note_applied(v, seq);
	volume_effects_done(v, seq, !err);
	req = v->done;
	v->done = v->done_tail = NULL;
	v->done_count = 0;
	while (req)
		req = finish_run(w, req, seq, err);
	return 0;
}

static void hand_off(struct worker *w, struct volume *v);

/* Takes what has queued up; an empty queue gives the role back. */
static struct request *queue_take_or_leave(struct worker *w, struct volume *v)
{
	struct request *req;

	lock_guard(&v->lock);
	v->shown = v->counters;
	req = v->queue;
	v->queue = v->queue_tail = NULL;
	if (!req) {
		v->role_held = false;
		w->held = NULL;
	}
	return req;
}

static void run_all(struct worker *w, struct volume *v, struct request *req)
{
	while (req) {
		struct request *next = req->next;

		change_run(w, v, req);
		req = next;
		if (v->done_count >= GROUP_MAX && !v->must_hand_off &&
		    group_close(w, v) == -KILN_EWOULDBLOCK)
			v->must_hand_off = true;
	}
}

void schedule_flush(struct worker *w)
{
	struct volume *v = w->held;

	for (int round = 0; v; round++) {
		struct request *req;

		if (group_close(w, v) != 0 || v->must_hand_off) {
			hand_off(w, v);
			return;
		}
		req = queue_take_or_leave(w, v);
		if (!req)
			return;
		if (!w->may_block && round >= LOOP_ROUNDS_MAX) {
			v->handoff = req;
			while (req->next)
				req = req->next;
			v->handoff_tail = req;
			hand_off(w, v);
			return;
		}
		run_all(w, v, req);
	}
}

void schedule_breathe(struct worker *w)
{
	if (w->held && clock_mono() - w->held_since_ns > HOLD_NS)
		schedule_flush(w);
}

static void role_enter(struct worker *w, struct volume *v)
{
	w->held = v;
	w->held_since_ns = clock_mono();
	txn_may_block(v->group, w->may_block);
}

/* A pool thread goes on where a loop had to stop. */
static void run_takeover(struct worker *w, struct request *ticket)
{
	struct volume *v = ticket->volume;
	struct request *req;

	role_enter(w, v);
	v->must_hand_off = false;
	group_close(w, v);
	req = v->handoff;
	v->handoff = v->handoff_tail = NULL;
	run_all(w, v, req);
	schedule_flush(w);
}

static void hand_off(struct worker *w, struct volume *v)
{
	w->held = NULL;
	v->takeover.volume = v;
	schedule_to_pool(w, &v->takeover, POOL_WRITE, run_takeover);
}

void schedule_adopt(struct worker *w, struct volume *v)
{
	role_enter(w, v);
	schedule_flush(w);
}

/* Queues req; true if the role was free and is the caller's now (req is not queued then). */
static bool role_take_or_queue(struct volume *v, struct request *req)
{
	lock_guard(&v->lock);
	if (v->role_held) {
		append(&v->queue, &v->queue_tail, req);
		return false;
	}
	v->role_held = true;
	return true;
}

static bool role_take(struct volume *v)
{
	lock_guard(&v->lock);
	if (v->role_held)
		return false;
	v->role_held = true;
	return true;
}

/* A change that would have to wait for others, and is bound to fail by what readers may be shown:
 * a failure like a lookup's, answered as fast. */
static bool is_foreseen(struct worker *w, struct request *req)
{
	int err;

	if (req->op->class != OP_CHANGE || !req->op->prepare || req->resent ||
	    volume_read_only(req->volume))
		return false;
	read_aim_shown(w, req);
	err = req->op->prepare(req);
	read_rest(w, req->volume);
	if (!err)
		return false;
	answer_with(w, req, err);
	schedule_breathe(w);
	return true;
}

void role_submit(struct worker *w, struct request *req)
{
	struct volume *v = req->volume;

	req->next = NULL;
	if (w->held == v && v->done && is_foreseen(w, req))
		return;
	if (w->held != v) {
		schedule_flush(w);
		if (!role_take(v)) {
			int err;

			if (is_foreseen(w, req))
				return;
			err = request_keep(w, req);

			if (err) {
				role_finish_failed(w, req, err);
				return;
			}
			if (!role_take_or_queue(v, req))
				return;
		}
		role_enter(w, v);
	}
	run_all(w, v, req);
}

void schedule_internal(struct request *req)
{
	struct worker *w = worker_self();
	struct volume *v = req->volume;

	if (!role_take_or_queue(v, req))
		return;
	if (w && !w->held) { /* its batch ends soon, and with it the group */
		req->next = NULL;
		role_enter(w, v);
		run_all(w, v, req);
		return;
	}
	v->handoff = v->handoff_tail = req;
	req->next = NULL;
	if (w)
		stat_add(&w->stats.to_pool, 1);
	v->takeover.volume = v;
	v->takeover.run = run_takeover;
	pool_submit(v->server->pool, POOL_WRITE, &v->takeover);
}

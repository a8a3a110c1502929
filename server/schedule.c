/* A request's way (happy path): schedule_request -> by class
 *   OP_LOCAL, OP_READ   run_read -> finish
 *   OP_CHANGE           change_submit -> change_run -> group_close -> finish
 *   OP_DATA             turn_take -> data_prepare -> as OP_CHANGE -> turn_give
 *
 * The writer role.  A worker that meets a change takes the volume's role if it is free and
 * executes at once into the volume's group; if it is not, it queues the change and goes on.  The
 * holder keeps the role while there is more to read, from whatever connection (so several changes
 * share one write to the store); once HOLD_NS have passed it lets go before the next read, behind the
 * next sure failure, and between connections.  schedule_flush applies the group, answers, and drains
 * the queue before it lets go.
 *
 * Where a loop meets something that would block (a read that needs the disk, a stalled store) the
 * role moves to a pool thread, with what is left to do in `handoff`; order is kept. */
#include "server/schedule.h"

#include "base/clock.h"
#include "base/log.h"
#include "server/conn.h"
#include "server/dispatch.h"
#include "server/loop.h"
#include "server/ops.h"
#include "server/session.h"
#include "server/sleep.h"
#include "server/turn.h"
#include "server/volume_inner.h"
#include "server/wire.h"

#include <fcntl.h>
#include <stdlib.h>

enum {
	GROUP_MAX = 64,      /* changes in one write to the store */
	LOOP_ROUNDS_MAX = 4, /* groups a loop runs before it leaves the rest to the pool */
	DIRECT_MAX = 1,      /* answers that the committer gives itself */
	COPY_MAX = 65536,    /* larger messages are taken over rather than copied */
	HOLD_NS = 100000,    /* a held group waits no longer for anything but changes that join it */
};

static struct committer *committer_of(struct volume *v)
{
	return store_committer(volume_store(v));
}

/* --- life of a request ------------------------------------------------------------------ */

struct request *request_new(struct volume *v, struct session *s, struct conn *c)
{
	struct request *req = calloc(1, sizeof *req);

	if (!req)
		return NULL;
	req->volume = v;
	req->session = s;
	req->conn = c;
	req->slot = SLOT_NONE;
	if (v)
		volume_get(v);
	if (s)
		session_get(s);
	if (c && s)
		__atomic_add_fetch(&s->server->inflight, 1, __ATOMIC_RELAXED);
	if (c)
		conn_get(c);
	return req;
}

void request_free(struct request *req)
{
	if (req->buffer) {
		if (req->in.len > COPY_MAX)
			buffer_put(req->buffer);
		else
			free(req->buffer);
	}
	if (req->conn && req->session)
		__atomic_sub_fetch(&req->session->server->inflight, 1, __ATOMIC_RELEASE);
	if (req->conn)
		conn_put(req->conn);
	if (req->session)
		session_put(req->session);
	if (req->volume)
		volume_put(req->volume);
	free(req);
}

void *request_body(struct request *req)
{
	return req->worker->body;
}

/* The request is about to outlive its message: keep the bytes it points into. */
static int request_keep(struct worker *w, struct request *req)
{
	void *from = req->message;

	if (!from)
		return 0;
	if (req->in.len > COPY_MAX && req->may_steal) {
		req->buffer = from;
		w->stolen = true;
	} else {
		req->buffer = req->in.len > COPY_MAX ? buffer_get() : malloc(req->in.len);
		if (!req->buffer)
			return -KILN_ENOMEM;
		if (req->in.len > COPY_MAX)
			conn_owe(req->conn, req, req->in.len);
		memcpy(req->buffer, from, req->in.len);
		wire_rebase(req, from, req->buffer);
	}
	req->message = NULL;
	return 0;
}

/* --- the end: answer, or park until durable -------------------------------------------------- */

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

static void open_undo(struct request *req)
{
	if (req->opened)
		open_drop(req->session, req->opened);
	req->opened = 0;
}

/* stats: the running thread's own; NULL on one that keeps none. */
static void answer_counted(struct worker_stats *stats, struct request *req)
{
	request_answer_all(req->then, req->error);
	if (req->error)
		open_undo(req);
	if (!req->no_reply && req->conn)
		conn_reply(req->conn, req);
	if (req->slot != SLOT_NONE && req->session)
		session_slot_give(req->session, req->slot);
	count_answer(stats, req);
	request_free(req);
}

static void answer(struct worker *w, struct request *req)
{
	answer_counted(w ? &w->stats : NULL, req);
}

static void answer_with(struct worker *w, struct request *req, int err)
{
	req->error = err;
	answer(w, req);
}

static void run_answer(struct worker *w, struct request *req)
{
	answer(w, req);
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
	if (req->body_len > COPY_MAX || req->buffer)
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

static void park(struct request *req, uint64_t seq)
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
	req->error = error;
	answer(worker_self(), req);
}

/* --- reads ------------------------------------------------------------------------------------ */

static void to_pool(struct worker *w, struct request *req, enum pool_kind kind,
		    void (*run)(struct worker *w, struct request *req))
{
	int err = request_keep(w, req);

	if (err) {
		request_answer(req, err);
		return;
	}
	stat_add(&w->stats.to_pool, 1);
	req->run = run;
	pool_submit(w->server->pool, kind, req);
}

static void reader_aim(struct worker *w, struct request *req)
{
	req->worker = w;
	req->may_block = w->may_block;
	req->txn = w->reader;
	txn_look(w->reader, volume_brick(req->volume), NULL);
}

/* Readers of an `op` volume see the durable view: no answer shows what a crash could take back,
 * and none waits.  The number is asked for first, so the view is at least as new: bytes written
 * up to it need not be looked for in the latest state. */
static void reader_aim_durable(struct worker *w, struct request *req)
{
	struct volume *v = req->volume;
	bool fresh = volume_bytes_pending(v);

	w->view = durable_take(commit_view(committer_of(v)));
	if (!w->view)
		return; /* the mem back end, or a volume that becomes `op` just now */
	txn_look(w->reader, volume_brick(v), durable_kv_view(w->view));
	txn_fresh(w->reader, fresh);
}

/* reader_aim_shown: at what the volume's clients may be shown; undone by reader_rest. */
static void reader_aim_shown(struct worker *w, struct request *req)
{
	reader_aim(w, req);
	if (__atomic_load_n(&req->volume->durable_reads, __ATOMIC_ACQUIRE))
		reader_aim_durable(w, req);
}

static void reader_rest(struct worker *w, struct volume *v)
{
	if (w->view)
		durable_drop(commit_view(committer_of(v)), w->view);
	w->view = NULL;
}

static void reset_reply(struct request *req)
{
	req->out_len = 0;
	req->body = NULL;
	req->body_len = 0;
}

static void change_submit(struct worker *w, struct request *req);

/* The reader cannot say whether what it opens is gone, nor when that is sure: the writer role can,
 * and answers so that nobody learns of a removal that a crash could take back. */
static void open_decide(struct worker *w, struct request *req)
{
	open_undo(req);
	req->op = req->in.opcode == FUSE_OPENDIR ? &op_row_opendir : &op_row_open;
	change_submit(w, req);
}

/* Returns -KILN_EWOULDBLOCK (nothing done), else has disposed of the request. */
static int read_try(struct worker *w, struct request *req)
{
	struct volume *v = req->volume; /* a parked request may be gone when its handler returns */
	int err;

	if (req->op->class == OP_READ)
		reader_aim_shown(w, req);
	else
		reader_aim(w, req);
	reset_reply(req);
	err = req->op->handler(req);
	reader_rest(w, v);
	if (err == -KILN_EPARKED)
		return 0;
	if (err == -KILN_EDOOMED) {
		open_decide(w, req);
		return 0;
	}
	if (!err && req->opened && session_counted_before(req->session, req))
		open_undo(req); /* sent again: its open has been counted already */
	if (err == -KILN_EWOULDBLOCK && !w->may_block) {
		open_undo(req);
		return err;
	}
	req->error = err;
	if (!err && req->durable)
		park(req, commit_latest(committer_of(v)));
	else
		answer(w, req);
	return 0;
}

static void run_read(struct worker *w, struct request *req)
{
	read_try(w, req);
}

/* --- the writer role ---------------------------------------------------------------------------- */

static void append(struct request **head, struct request **tail, struct request *req)
{
	req->next = NULL;
	if (*head)
		(*tail)->next = req;
	else
		*head = req;
	*tail = req;
}

static void data_start(struct worker *w, struct request *req);

/* Gives the file's turn to the next request that waits for it. */
static void turn_pass(struct request *req)
{
	struct request *next = req->turn_held ? turn_give(req) : NULL;

	if (!next)
		return;
	next->run = data_start;
	pool_submit(next->volume->server->pool, POOL_WRITE, next);
}

/* The reply record goes into the same batch as the change it speaks of. */
static int record_put(struct volume *v, struct request *req)
{
	struct reply_record r = {
		.unique = req->in.unique,
		.opcode = req->in.opcode,
		.handle = req->record_handle,
		.value = req->record_value,
	};

	if (!req->conn || !(req->op->flags & OP_RECORDED))
		return 0;
	if (req->session->kind == HELLO_FUSE_FD)
		req->slot = session_slot_take(req->session, req->in.unique);
	return reply_put(v->group, req->session->client, req->slot, &r);
}

static void change_mark(struct volume *v)
{
	txn_mark(v->group);
	v->counters_mark = v->counters;
	v->effect_mark = v->effect_count;
}

static void change_undo(struct volume *v, struct txn *t)
{
	txn_undo(t);
	v->counters = v->counters_mark;
	volume_effects_undo(v);
}

struct search {
	struct request *req;
	bool found;
};

static int search_record(void *context, uint32_t slot, const struct reply_record *r)
{
	struct search *s = context;

	(void)slot;
	if (r->unique != s->req->in.unique || r->opcode != s->req->in.opcode)
		return 0;
	s->found = true;
	s->req->record_handle = r->handle;
	s->req->record_value = r->value;
	return 0;
}

/* A change sent again: 1 if it was executed before (req->record_* say what came of it), else 0. */
static int executed_before(struct txn *t, struct request *req)
{
	struct search s = { .req = req };
	int err;

	if (!req->resent || !(req->op->flags & OP_RECORDED))
		return 0;
	err = reply_each(t, req->session->client, search_record, &s);
	return err ? err : s.found;
}

static int change_handle(struct volume *v, struct request *req)
{
	int before = executed_before(v->group, req);
	int err;

	if (before < 0)
		return before;
	if (before)
		return op_replay(req); /* also where the volume takes no changes any more */
	if (req->op->flags & OP_RECORDED && volume_read_only(v))
		return -KILN_EROFS;
	err = req->op->handler(req);
	return err ? err : record_put(v, req);
}

/* Runs a change that has failed once more, on the durable view, and takes back whatever it does
 * there: does it fail in the same way? */
static bool probe_agrees(struct volume *v, struct request *req, int err)
{
	struct durable *durable = commit_view(committer_of(v));
	struct durable_view *view = durable_take(durable);
	int there = 0;

	if (!v->probe)
		v->probe = txn_group_new(volume_store(v), volume_brick(v));
	if (view && v->probe) {
		txn_look(v->probe, volume_brick(v), durable_kv_view(view));
		txn_may_block(v->probe, req->may_block);
		txn_mark(v->probe);
		req->txn = v->probe;
		reset_reply(req);
		there = req->op->handler(req);
		change_undo(v, v->probe);
		open_undo(req);
	}
	if (view)
		durable_drop(durable, view);
	return there == err;
}

/* On an `op` volume even a failure must not tell of what a crash could take back. */
static bool is_unsure(struct volume *v, struct request *req, int err)
{
	if (volume_durability(v) != DURABILITY_OP || !req->conn || err == -KILN_EWOULDBLOCK ||
	    err == -KILN_EAGAIN)
		return false;
	if (!v->done && __atomic_load_n(&v->last_seq, __ATOMIC_RELAXED) <=
			commit_durable(committer_of(v)))
		return false;
	return req->op->class != OP_CHANGE || err == -KILN_EDOOMED || !probe_agrees(v, req, err);
}

static int change_execute(struct worker *w, struct volume *v, struct request *req)
{
	int err;

	req->worker = w;
	req->txn = v->group;
	req->may_block = w->may_block;
	reset_reply(req);
	change_mark(v);
	if (req->op->flags & OP_RECORDED && (session_dead(req->session) || conn_is_over(req->conn)))
		return -KILN_ESTALE;
	err = change_handle(v, req);
	if (err) {
		change_undo(v, v->group);
		open_undo(req);
		req->unsure = is_unsure(v, req, err);
	}
	return err;
}

static void finish_failed(struct worker *w, struct request *req, int err)
{
	turn_pass(req);
	answer_with(w, req, err);
}

/* Executes req in the held group, or leaves it for the next holder. */
static void change_run(struct worker *w, struct volume *v, struct request *req)
{
	int err = -KILN_EWOULDBLOCK;

	if (!v->must_hand_off)
		err = change_execute(w, v, req);
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
		finish_failed(w, req, err); /* it has seen nothing that has yet to come to be */
		return;
	}
	req->error = err;
	req->message = NULL; /* what is left to do needs no bytes of it */
	append(&v->done, &v->done_tail, req);
	v->done_count++;
}

static int group_apply(struct volume *v, uint64_t *seq)
{
	int err = 0;

	*seq = commit_latest(committer_of(v));
	if (v->counters_changed) {
		err = counters_put(v->group, &v->counters);
		if (err)
			return err;
		v->counters_changed = false;
	}
	if (!txn_empty(v->group))
		err = txn_apply(v->group, seq);
	return err;
}

/* After the group has been applied (or has failed): one request's part of it. */
static void done_finish(struct worker *w, struct request *req, uint64_t seq, int group_err)
{
	/* what a WRITE changes is promised at fsync and close only, on every volume */
	bool durable = req->durable || (volume_durability(req->volume) == DURABILITY_OP &&
					(req->op->flags & OP_RECORDED) &&
					req->in.opcode != FUSE_WRITE);

	if (req->error == -KILN_EAGAIN && req->op->class == OP_DATA) {
		to_pool(w, req, POOL_WRITE, data_start);
		return;
	}
	turn_pass(req);
	if (group_err) /* a failure too may have seen what has not come to be */
		req->error = group_err;
	req->seq = seq;
	if (req->error ? req->unsure && !group_err : durable)
		park(req, seq);
	else
		answer(w, req);
}

/* The requests at the head that came over one connection, answered in one write; returns the rest. */
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

static bool changes_bytes(const struct request *req)
{
	const struct fuse_setattr_in *set = req->arg;
	const struct fuse_create_in *create = req->arg;

	if (req->op->class == OP_DATA || req->in.opcode == FUSE_OPEN)
		return true;
	return (req->in.opcode == FUSE_SETATTR && (set->valid & FATTR_SIZE)) ||
	       (req->in.opcode == FUSE_CREATE && (create->flags & O_TRUNC));
}

/* Before anybody is answered, so that who has been finds its bytes. */
static void note_applied(struct volume *v, uint64_t seq)
{
	__atomic_store_n(&v->last_seq, seq, __ATOMIC_RELAXED);
	for (const struct request *req = v->done; req; req = req->next)
		if (!req->error && changes_bytes(req)) {
			__atomic_store_n(&v->last_write_seq, seq, __ATOMIC_RELEASE);
			return;
		}
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
	if (err)
		log_error("brick %u: changes could not be applied: %s", volume_brick(v),
			  err_text(err));
	stat_add(&w->stats.groups, 1);
	stat_add(&w->stats.grouped, v->done_count);
	note_applied(v, seq);
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
	to_pool(w, &v->takeover, POOL_WRITE, run_takeover);
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
	reader_aim_shown(w, req);
	err = req->op->prepare(req);
	reader_rest(w, req->volume);
	if (!err)
		return false;
	answer_with(w, req, err);
	schedule_breathe(w);
	return true;
}

static void change_submit(struct worker *w, struct request *req)
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
				finish_failed(w, req, err);
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

struct request *request_internal(struct volume *v, const struct op *op, uint64_t nodeid)
{
	struct request *req = request_new(v, NULL, NULL);

	if (!req)
		return NULL;
	req->op = op;
	req->in.nodeid = nodeid;
	req->no_reply = true;
	return req;
}

/* --- changes of a file's bytes ------------------------------------------------------------------- */

/* With the turn held.  -KILN_EWOULDBLOCK (nothing done) or disposes of the request. */
static int data_try(struct worker *w, struct request *req)
{
	int err;

	reader_aim(w, req);
	err = executed_before(req->txn, req);
	if (err == 0)
		err = volume_read_only(req->volume) ? -KILN_EROFS : req->op->prepare(req);
	else if (err > 0)
		err = 0; /* the answer is found again under the role */
	if (err == -KILN_EWOULDBLOCK && !w->may_block)
		return err;
	if (err)
		finish_failed(w, req, err);
	else
		change_submit(w, req);
	return 0;
}

static void data_start(struct worker *w, struct request *req)
{
	data_try(w, req);
}

/* --- the way in ------------------------------------------------------------------------------------- */

static void start_data(struct worker *w, struct request *req)
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
		to_pool(w, req, POOL_WRITE, data_start);
}

void schedule_data(struct worker *w, struct request *req)
{
	start_data(w, req);
}

/* The most a reply can hold; nothing to speak of but for those that say so themselves. */
static uint32_t reply_bytes(const struct request *req)
{
	const struct fuse_read_in *read = req->arg;

	if (req->in.opcode != FUSE_READ && req->in.opcode != FUSE_READDIR &&
	    req->in.opcode != FUSE_READDIRPLUS)
		return 0;
	return read->size < REPLY_BYTES_MAX ? read->size : REPLY_BYTES_MAX;
}

/* Changes that come together may wait for each other, but not for reads without end. */
static void start_read(struct worker *w, struct request *req)
{
	schedule_breathe(w);
	if (read_try(w, req) != -KILN_EWOULDBLOCK)
		return;
	conn_owe(req->conn, req, reply_bytes(req));
	to_pool(w, req, POOL_READ, run_read);
}

/* --- one queue for everything, for comparison (--one-queue) ------------------------------------- */

static void run_queued(struct worker *w, struct request *req)
{
	struct volume *v = req->volume;
	bool changes = req->op->class >= OP_CHANGE;

	volume_get(v);
	if (!changes)
		read_try(w, req);
	else if (req->op->class == OP_CHANGE)
		change_submit(w, req);
	else
		start_data(w, req);
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
		to_pool(w, req, POOL_WRITE, run_queued);
		return;
	}
	switch (req->op->class) {
	case OP_LOCAL:
		if ((req->op->flags & OP_COUNTED) && session_counted_before(req->session, req)) {
			answer_with(w, req, 0);
			break;
		}
		start_read(w, req);
		break;
	case OP_READ:
		start_read(w, req);
		break;
	case OP_CHANGE:
		change_submit(w, req);
		break;
	case OP_DATA:
		start_data(w, req);
		break;
	}
}

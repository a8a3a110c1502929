/* Changes in a group, by who holds the volume's writer role: each is executed behind a mark and
 * taken back to it if it fails; then all are applied as one batch. */
#include "server/schedule_inner.h"

#include "server/admit.h"
#include "server/conn.h"
#include "server/dispatch.h"
#include "server/ops.h"
#include "server/session.h"

#include <fcntl.h>

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

static void group_mark(struct volume *v)
{
	txn_mark(v->group);
	v->counters_mark = v->counters;
	v->effect_mark = v->effect_count;
}

static void group_undo(struct volume *v, struct txn *t)
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

int group_executed_before(struct txn *t, struct request *req)
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
	int before = group_executed_before(v->group, req);
	int err = 0;

	if (before < 0)
		return before;
	if (before)
		return op_replay(req); /* also where the volume takes no changes any more */
	if (req->op->flags & OP_RECORDED && volume_read_only(v))
		return -KILN_EROFS;
	if (req->op->class == OP_CHANGE) /* of OP_DATA it was asked before prepare */
		err = admit_change(req);
	if (!err)
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
		request_reset_reply(req);
		there = req->op->handler(req);
		group_undo(v, v->probe);
		request_undo_open(req);
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

int group_execute(struct worker *w, struct volume *v, struct request *req)
{
	int err;

	req->worker = w;
	req->txn = v->group;
	req->may_block = w->may_block;
	request_reset_reply(req);
	group_mark(v);
	if (req->op->flags & OP_RECORDED && (session_dead(req->session) || conn_is_over(req->conn)))
		return -KILN_ESTALE;
	err = change_handle(v, req);
	if (err) {
		group_undo(v, v->group);
		request_undo_open(req);
		req->unsure = is_unsure(v, req, err);
	}
	return err;
}

int group_apply(struct volume *v, uint64_t *seq)
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
	if (!err)
		v->counters_applied = v->counters;
	else if (err != -KILN_EWOULDBLOCK)
		v->counters = v->counters_applied;
	return err;
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

void group_note_applied(struct volume *v, uint64_t seq)
{
	__atomic_store_n(&v->last_seq, seq, __ATOMIC_RELAXED);
	for (const struct request *req = v->done; req; req = req->next)
		if (!req->error && changes_bytes(req)) {
			__atomic_store_n(&v->last_write_seq, seq, __ATOMIC_RELEASE);
			return;
		}
}

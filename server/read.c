/* Reads: on their loop against memory, else by a reader of the pool; of what is shown. */
#include "server/schedule_inner.h"

#include "server/conn.h"
#include "server/dispatch.h"
#include "server/ops.h"
#include "server/session.h"

void read_aim(struct worker *w, struct request *req)
{
	req->worker = w;
	req->may_block = w->may_block;
	req->txn = w->reader;
	txn_look(w->reader, volume_brick(req->volume), NULL);
}

/* Readers of an `op` volume see the durable view: no answer shows what a crash could take back,
 * and none waits.  The number is asked for first, so the view is at least as new: bytes written
 * up to it need not be looked for in the latest state. */
static void read_aim_durable(struct worker *w, struct request *req)
{
	struct volume *v = req->volume;
	bool fresh = volume_bytes_pending(v);

	w->view = durable_take(commit_view(committer_of(v)));
	if (!w->view)
		return; /* the mem back end, or a volume that becomes `op` just now */
	txn_look(w->reader, volume_brick(v), durable_kv_view(w->view));
	txn_fresh(w->reader, fresh);
}

void read_aim_shown(struct worker *w, struct request *req)
{
	read_aim(w, req);
	if (__atomic_load_n(&req->volume->durable_reads, __ATOMIC_ACQUIRE))
		read_aim_durable(w, req);
}

void read_rest(struct worker *w, struct volume *v)
{
	if (w->view)
		durable_drop(commit_view(committer_of(v)), w->view);
	w->view = NULL;
}

/* The reader cannot say whether what it opens is gone, nor when that is sure: the writer role can,
 * and answers so that nobody learns of a removal that a crash could take back. */
static void open_decide(struct worker *w, struct request *req)
{
	request_undo_open(req);
	req->op = req->in.opcode == FUSE_OPENDIR ? &op_row_opendir : &op_row_open;
	role_submit(w, req);
}

int read_try(struct worker *w, struct request *req)
{
	struct volume *v = req->volume; /* a parked request may be gone when its handler returns */
	int err;

	if (req->op->class == OP_READ)
		read_aim_shown(w, req);
	else
		read_aim(w, req);
	request_reset_reply(req);
	err = req->op->handler(req);
	read_rest(w, v);
	if (err == -KILN_EPARKED)
		return 0;
	if (err == -KILN_EDOOMED) {
		open_decide(w, req);
		return 0;
	}
	if (!err && req->opened && session_counted_before(req->session, req))
		request_undo_open(req); /* sent again: its open has been counted already */
	if (err == -KILN_EWOULDBLOCK && !w->may_block) {
		request_undo_open(req);
		return err;
	}
	req->error = err;
	if (!err && req->durable)
		answer_when_durable(req, commit_latest(committer_of(v)));
	else
		answer_send(w, req);
	return 0;
}

static void run_read(struct worker *w, struct request *req)
{
	read_try(w, req);
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
void read_start(struct worker *w, struct request *req)
{
	schedule_breathe(w);
	if (read_try(w, req) != -KILN_EWOULDBLOCK)
		return;
	conn_owe(req->conn, req, reply_bytes(req));
	schedule_to_pool(w, req, POOL_READ, run_read);
}

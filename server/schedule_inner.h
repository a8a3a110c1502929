/* Between the files that schedule requests: schedule.c the way in, request.c, read.c, role.c,
 * group.c, answer.c; for them alone.  Unless said, on the thread of w, or of whoever holds the
 * volume's writer role. */
#ifndef SERVER_SCHEDULE_INNER_H
#define SERVER_SCHEDULE_INNER_H

#include "server/schedule.h"
#include "server/volume_inner.h"

static inline struct committer *committer_of(struct volume *v)
{
	return store_committer(volume_store(v));
}

/* request_keep: req is about to outlive its message: keeps the bytes it points into. */
int request_keep(struct worker *w, struct request *req);
/* request_reset_reply: before a handler runs, perhaps again.  request_undo_open: takes back what it
 * has counted as opened. */
void request_reset_reply(struct request *req);
void request_undo_open(struct request *req);

/* answer_send: sends what stands in req and frees it; w NULL: no worker's thread.  answer_with:
 * with err.  answer_when_durable: once number seq is, or the store has failed. */
void answer_send(struct worker *w, struct request *req);
void answer_with(struct worker *w, struct request *req, int err);
void answer_when_durable(struct request *req, uint64_t seq);

/* read_aim: w's reader at the latest state; read_aim_shown: at what the volume's clients may be
 * shown, until read_rest. */
void read_aim(struct worker *w, struct request *req);
void read_aim_shown(struct worker *w, struct request *req);
void read_rest(struct worker *w, struct volume *v);
/* read_try: -KILN_EWOULDBLOCK (nothing done), else has disposed of the request.  read_start: as it,
 * and goes on in the pool. */
int read_try(struct worker *w, struct request *req);
void read_start(struct worker *w, struct request *req);

/* role_submit: a change: executed under the role, now or by its holder.  role_finish_failed:
 * answers one that will not be executed, its turn given on. */
void role_submit(struct worker *w, struct request *req);
void role_finish_failed(struct worker *w, struct request *req, int err);

/* group_execute: req's handler in v's group; undone and judged if it fails.
 * group_executed_before: a change sent again: 1 if it was executed before (req->record_* say what
 * came of it), else 0.  group_apply: *seq is the batch's number.  group_note_applied: before
 * anybody is answered, so that who has been finds its bytes. */
int group_execute(struct worker *w, struct volume *v, struct request *req);
int group_executed_before(struct txn *t, struct request *req);
int group_apply(struct volume *v, uint64_t *seq);
void group_note_applied(struct volume *v, uint64_t seq);

/* schedule_to_pool: run goes on with req on a pool thread; without memory it is answered.
 * schedule_data_again: such a run, for an OP_DATA that has its turn. */
void schedule_to_pool(struct worker *w, struct request *req, enum pool_kind kind,
		      void (*run)(struct worker *w, struct request *req));
void schedule_data_again(struct worker *w, struct request *req);

#endif

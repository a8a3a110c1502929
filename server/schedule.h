/* Where requests run: at once on their loop, under a volume's writer role, or in the pool.
 * ARCHITECTURE.md, "A request's walk". */
#ifndef SERVER_SCHEDULE_H
#define SERVER_SCHEDULE_H

#include "server/worker.h"

/* schedule_request: a checked request; the caller owns it no longer.  What its names and data
 * point into (req->message) must stay valid during the call; if the request has to live on it
 * keeps a copy, or takes the message over if req->may_steal (w->stolen is set then). */
void schedule_request(struct worker *w, struct request *req);
/* schedule_flush: lets go of the writer role this worker holds: applies the group, answers what
 * is in it, and goes on with what has queued up meanwhile.  After every batch of requests. */
void schedule_flush(struct worker *w);
/* schedule_breathe: the same if the role has been held for long; between the parts of a batch. */
void schedule_breathe(struct worker *w);
/* schedule_adopt: w holds no role, v's is taken in its name (volume_load): use it up. */
void schedule_adopt(struct worker *w, struct volume *v);
/* schedule_internal: a change of the server's own (op: one of dispatch.h's internal rows); any
 * thread without locks. */
void schedule_internal(struct request *req);
/* schedule_data: an OP_DATA, of a client or the server's own; w's thread, without locks. */
void schedule_data(struct worker *w, struct request *req);
/* request_new: zeroed, with references to conn and session taken; either may be NULL. */
struct request *request_new(struct volume *v, struct session *s, struct conn *c);
void request_free(struct request *req);
/* request_internal: a new request for schedule_internal; NULL without memory. */
struct request *request_internal(struct volume *v, const struct op *op, uint64_t nodeid);

#endif

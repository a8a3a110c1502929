/* A session: one client's use of one volume, across connections and server restarts.
 * Its opens, locks and reply records belong to it, not to a connection. */
#ifndef SERVER_SESSION_H
#define SERVER_SESSION_H

#include "base/hello.h"
#include "server/worker.h"

void session_get(struct session *s);
void session_put(struct session *s);
struct volume *session_volume(struct session *s);
/* session_client: the client id of a session, the key of its records.  session_dead: it has ended,
 * and what it held has been dropped or is about to be. */
uint64_t session_client(const struct session *s);
bool session_dead(const struct session *s);
bool session_init_done(const struct session *s);

/* session_hello: pool thread; req->buffer is a whole struct hello from req->conn. */
void session_hello(struct worker *w, struct request *req);
/* session_connected, session_disconnected: c is, or is no longer, the session's connection.
 * unmounted: the client's kernel has let go of it; the session ends at once instead of waiting
 * session_timeout for the client to come back. */
void session_connected(struct session *s, struct conn *c);
void session_disconnected(struct session *s, struct conn *c, bool unmounted);
/* session_restore: volume_load: a client of before the restart. */
int session_restore(struct volume *v, const struct client_record *r);
/* session_record: its record, by which the next start knows it, is queued to be written.  Any
 * thread; -KILN_ENOMEM. */
int session_record(struct session *s);
/* session_end: drops what it holds; every later operation gets ESTALE.  Any thread. */
void session_end(struct session *s);
/* session_tick: ends sessions that have been away too long. */
void session_tick(struct server *server);

/* session_admit: a checked message may go on: INIT first, slots in range.  Loop thread. */
int session_admit(struct session *s, struct request *req);
/* session_counted_before: an open or release sent again that has been counted already; else it
 * is noted as counted now.  Loop thread. */
bool session_counted_before(struct session *s, const struct request *req);
/* session_slot_take: a free slot for the reply record of a handed-over kernel's request. */
uint32_t session_slot_take(struct session *s, uint64_t unique);
void session_slot_give(struct session *s, uint32_t slot);

/* ops_session.c */
int op_init(struct request *req);
int op_destroy(struct request *req);
int op_forget(struct request *req);
int op_interrupt(struct request *req);
int op_replay(struct request *req);     /* what a reply record says, in req->record_* */
int op_client_put(struct request *req);
int op_client_end(struct request *req);
int op_locks_put(struct request *req);
int op_trash_del(struct request *req);

#endif

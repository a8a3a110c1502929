/* One connection: whole messages in, replies out.
 *
 * Kinds: a new socket says hello first (or turns out to speak HTTP and leaves for the admin
 * side); then it is a stream of FUSE messages (relay, library) or the silent companion of a
 * handed-over /dev/fuse descriptor, which is a connection of its own.
 *
 * Its loop's thread reads it and is the only one to close it; any thread may reply. */
#ifndef SERVER_CONN_H
#define SERVER_CONN_H

#include "server/loop.h"
#include "server/request.h"

struct conn;

/* conn_accept: a new socket, watched by loop; fd belongs to it from now on, also on failure.
 * peer_uid: UINT32_MAX for TCP. */
int conn_accept(struct server *server, struct loop *loop, int fd, uint32_t peer_uid);
void conn_get(struct conn *c);
void conn_put(struct conn *c);
struct loop *conn_loop(struct conn *c);
uint32_t conn_peer_uid(const struct conn *c);

/* conn_reply: sends req->error or req->out and req->body, in one write where it can. */
void conn_reply(struct conn *c, struct request *req);
/* conn_cork: short replies gather until conn_uncork, which sends them in one write; pairs may nest.
 * Of no effect on a handed-over descriptor, which takes replies one by one. */
void conn_cork(struct conn *c);
void conn_uncork(struct conn *c);
/* conn_forget_attr: tells the client's kernel that what it has cached of an inode's attributes is
 * old: before it reads the file again it asks for them, and drops its pages if the file has
 * changed.  Kernels only take a look at a flag for that, so it cannot wait for anything.  Any
 * thread. */
void conn_forget_attr(struct conn *c, uint64_t handle);
/* conn_owe: a request that waits in a queue holds so many bytes, or will be answered with them: until
 * it is answered they count as unsent, so that no client can have more than its share waiting.
 * c NULL: nothing. */
void conn_owe(struct conn *c, struct request *req, uint32_t bytes);
/* conn_kill: it is closed soon, by its loop.  Any thread. */
void conn_kill(struct conn *c);
/* conn_is_over: a stream that has been killed, perhaps because its client is back over another:
 * what came over it and has not been done yet must not be, for the client sends it again.  Seen
 * under the writer role by the time such a one has been executed. */
bool conn_is_over(const struct conn *c);

/* session.c, on a pool thread: the hello has been judged.  Sends the reply; with reply->error
 * the connection ends; otherwise it goes on as the session's (which takes a reference). */
struct hello_reply;
void conn_hello_done(struct conn *c, const struct hello_reply *reply, struct session *session,
		     unsigned kind);

/* conn_tick: closes connections that have not said hello in time.
 * conn_close_all: at the end, when no loop runs any more. */
void conn_tick(void);
void conn_close_all(void);

#endif

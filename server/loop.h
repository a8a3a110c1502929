/* An event loop: one thread, one epoll descriptor.  It reads connections, runs what cannot block,
 * and sends what others have finished (its mailbox). */
#ifndef SERVER_LOOP_H
#define SERVER_LOOP_H

#include "server/worker.h"

#include <stdint.h>

struct loop;

/* What an epoll event leads to; embedded in its owner.  ready runs on the loop's thread. */
struct source {
	void (*ready)(struct source *s, struct worker *w, uint32_t events);
};

int loop_start(struct server *server, unsigned index, struct loop **out);
/* loop_stop: ends the thread.  loop_sweep: afterwards, on the thread that stops the server: runs
 * what is in the mailbox; says whether anything was. */
void loop_stop(struct loop *l);
bool loop_sweep(struct loop *l);
void loop_free(struct loop *l);

/* Any thread.  loop_watch with events 0 keeps the descriptor registered but silent (EPOLLERR and
 * EPOLLHUP still come). */
int loop_add(struct loop *l, int fd, struct source *s, uint32_t events);
int loop_watch(struct loop *l, int fd, struct source *s, uint32_t events);
/* loop_remove: on the loop's thread; events of s that have been fetched already do not come any
 * more either, so its owner may be freed. */
void loop_remove(struct loop *l, int fd, const struct source *s);
/* loop_post: req->run(worker, req) will be called on the loop's thread; one wake-up for many. */
void loop_post(struct loop *l, struct request *req);
/* loop_tick: fn is called about once a second on this loop's thread. */
void loop_tick(struct loop *l, void (*fn)(struct server *server));
struct worker *loop_worker(struct loop *l);

#endif

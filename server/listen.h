/* Sockets that clients connect to: one thread that accepts and gives each new connection to a
 * loop, in turn. */
#ifndef SERVER_LISTEN_H
#define SERVER_LISTEN_H

#include "server/server.h"

struct listener;

/* listener_start: listens on every address of the options; *why is a malloc'd sentence if one
 * cannot be had (-KILN_ELOCKED: a live server listens there; a dead one's socket is removed). */
int listener_start(struct server *server, struct listener **out, char **why);
/* listener_stop: accepts no more; removes its Unix sockets. */
void listener_stop(struct listener *l);

#endif

/* The carrier for a server elsewhere: one thread moves whole messages between /dev/fuse and a
 * connection, and keeps every request until it is answered. */
#ifndef CLIENT_RELAY_H
#define CLIENT_RELAY_H

#include "client/session.h"

/* relay_run: until the file system is unmounted; 0, or -KILN_ENOMEM at once.  conn: the
 * connection on which the hello (HELLO_RELAY, RELAY_SLOTS) has succeeded.  Closes conn and dev
 * unless it fails.  soft_seconds: after so long without a server requests get EIO; 0: they
 * wait. */
enum { RELAY_SLOTS = 1024 };
int relay_run(struct csession *s, int conn, int dev, unsigned soft_seconds);

#endif

/* Notifications from the server to the kernel.  Writing one may wait for a directory's or a page's
 * lock, which may be held by a request whose answer only the relay can bring; so a thread of its
 * own writes them. */
#ifndef CLIENT_NOTIFY_H
#define CLIENT_NOTIFY_H

#include <stddef.h>

struct notifier;

/* notify_send: queues a copy of a whole message; *n is started when it is NULL.  Without memory, or
 * with too much queued, it is dropped and logged: the kernel's cache then lives until its time
 * is up. */
void notify_send(struct notifier **n, int dev, const void *bytes, size_t len);
/* notify_stop: the file system must be gone, so that no write can wait; dev still open.  NULL is
 * allowed. */
void notify_stop(struct notifier *n);

#endif

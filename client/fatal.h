/* Whether a thread is being killed.  The kernel tells of a signal to a waiting request once, and
 * not whether the signal kills or is merely handled; letting go for the latter would show a
 * program an EINTR that no local file system gives. */
#ifndef CLIENT_FATAL_H
#define CLIENT_FATAL_H

#include <stdbool.h>
#include <stdint.h>

/* fatal_pending: SIGKILL waits for that thread (the kernel turns every signal that ends a process
 * into one), or it no longer exists. */
bool fatal_pending(uint32_t tid);

#endif

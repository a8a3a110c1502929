/* Small things done to a mounted /dev/fuse descriptor (always non-blocking). */
#ifndef CLIENT_FUSEDEV_H
#define CLIENT_FUSEDEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* fusedev_gone: the file system has been unmounted or its connection ended. */
bool fusedev_gone(int dev);
/* fusedev_resend: has the kernel queue again, marked as resent, every request that somebody read
 * and nobody answered.  false: this kernel cannot (before Linux 6.9). */
bool fusedev_resend(int dev);
/* fusedev_fail: answers a request with an error; eno positive.  One that is no longer waited
 * for is none of our business. */
void fusedev_fail(int dev, uint64_t unique, int eno);
/* fusedev_fail_all: reads everything that waits and fails it; buf holds cap bytes, enough for the
 * largest request. */
void fusedev_fail_all(int dev, int eno, void *buf, size_t cap);
/* fusedev_fail_unrepeatable: the same for those marked as resent whose repetition could do harm; the
 * others go back into the kernel's queue. */
void fusedev_fail_unrepeatable(int dev, int eno, void *buf, size_t cap);

#endif

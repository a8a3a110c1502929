/* Attaching a /dev/fuse descriptor to a directory, and taking it away again. */
#ifndef CLIENT_MOUNTPOINT_H
#define CLIENT_MOUNTPOINT_H

#include "client/options.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* A mount as /proc/self/mountinfo shows it. */
struct mountpoint {
	char source[300]; /* "kiln:VOLUME" */
	unsigned major, minor;
	bool kiln;        /* its type is fuse.kiln */
};

/* mountpoint_check: DIR made absolute and checked to be a directory that can be mounted on:
 * -KILN_ENOENT, ENOTDIR, EACCES, EVOLBUSY (a kiln mount is there), with a sentence in why. */
int mountpoint_check(const char *dir, char real[PATH_MAX], char *why, size_t cap);
/* mountpoint_attach: mounts a new FUSE file system; the non-blocking /dev/fuse descriptor, which
 * the caller closes, or a negated code with a sentence in why: EACCES, EVOLBUSY, ESYS ...  Root
 * calls mount(2); others go through fusermount3. */
int mountpoint_attach(const char *real, const char *source, const struct mount_options *o,
		      char *why, size_t cap);
/* mountpoint_find: the topmost mount on an absolute path; false if there is none. */
bool mountpoint_find(const char *real, struct mountpoint *out);

/* mountpoint_readahead: lets the kernel read further ahead than its 128 KiB, once the mount has
 * answered (INIT sets it back); root's mounts only, for others nothing happens. */
void mountpoint_readahead(const char *real);

enum { DETACH_FORCE = 1, DETACH_LAZY = 2 };
/* mountpoint_detach: -KILN_EVOLBUSY if files are open there, EACCES, ENOENT (not a kiln mount),
 * ESYS; with a sentence in why.  Force ends the connection first, so that nothing can hang. */
int mountpoint_detach(const char *dir, unsigned how, char *why, size_t cap);

/* Each mount's process listens, without ever answering, on a socket named after the mount; when
 * the process ends the kernel hangs up on all who connected.
 * mountpoint_beacon: for the process; a descriptor to keep open, or negated code.
 * mountpoint_beacon_watch: for umount, before it detaches; a descriptor or a negated code.
 * mountpoint_beacon_wait: until the process is gone; false after timeout_ms.  Closes fd. */
int mountpoint_beacon(const struct mountpoint *mp);
int mountpoint_beacon_watch(const struct mountpoint *mp);
bool mountpoint_beacon_wait(int fd, int timeout_ms);

#endif

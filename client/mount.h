/* A mount from the command line to its end. */
#ifndef CLIENT_MOUNT_H
#define CLIENT_MOUNT_H

#include "client/options.h"

struct mount_request {
	const char *source;   /* base/address.h */
	const char *dir;
	struct mount_options options;
	bool foreground;      /* serve it in this process, log to standard error */
	bool fake;            /* everything but the mount itself */
	const char *log_file; /* of the background process; NULL: the system's log */
};

/* mount_run: says hello, mounts, serves.  In the background case it returns once the mount
 * answers, in the foreground case once it is unmounted.  0, or a negated code with one sentence
 * in why: from the hello (ENOVOLUME, EVERSION, EACCES, ECLOSED, EVOLBUSY), from the mount point
 * (ENOENT, ENOTDIR, EVOLBUSY, EACCES, ESYS), EINVAL for the source. */
int mount_run(const struct mount_request *request, char *why, size_t cap);

#endif

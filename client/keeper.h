/* The process that keeps a mount, from the hello to the unmount.
 *
 * In the background it is a program of its own, kiln-mount, which links next to nothing: there may
 * be thousands of them, and kiln's libraries would cost each two megabytes of private memory.
 * Where that program is not found, kiln itself goes on as the keeper. */
#ifndef CLIENT_KEEPER_H
#define CLIENT_KEEPER_H

#include "client/session.h"

#include <limits.h>

struct keeper {
	struct csession session;  /* its hello has succeeded on conn */
	char real[PATH_MAX];      /* where it is mounted */
	int conn, dev;
	int log;                  /* -1: the system's log, in the background */
	unsigned soft_seconds;
	bool background;
};

/* keeper_exec: becomes kiln-mount; returns if that cannot be. */
void keeper_exec(const struct keeper *k);
/* keeper_load: in kiln-mount: what keeper_exec left in descriptor fd; -KILN_EVERSION if it was
 * another version. */
int keeper_load(struct keeper *k, int fd);
/* keeper_run: serves until the file system is unmounted.  0 or a negated code.  Closes every
 * descriptor of the process but the standard ones. */
int keeper_run(struct keeper *k);

#endif

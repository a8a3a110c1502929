/* The carrier for a server on the same machine: it is given the /dev/fuse descriptor itself, and
 * this process only keeps a duplicate, to hand it over anew when the server has restarted. */
#ifndef CLIENT_HANDOVER_H
#define CLIENT_HANDOVER_H

#include "client/session.h"

/* handover_run: until the file system is unmounted; 0.  conn: the connection on which the hello
 * has succeeded; it and dev stay the caller's to close only if this fails (-KILN_ESYS, at once).
 * soft_seconds: after so long without a server requests get EIO; 0: they wait. */
int handover_run(struct csession *s, int conn, int dev, unsigned soft_seconds);

#endif

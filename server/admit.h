/* Whether there is room on the store's disk for a change (store/room.h).  Removals go through
 * always, and so does what the server does by itself. */
#ifndef SERVER_ADMIT_H
#define SERVER_ADMIT_H

#include "server/request.h"

/* admit_change: before anything is done for req.  -KILN_ENOSPC; -KILN_EWOULDBLOCK: a thread that
 * may block has to ask. */
int admit_change(const struct request *req);
/* admit_took: req's bytes have gone into a data file. */
void admit_took(const struct request *req);

#endif

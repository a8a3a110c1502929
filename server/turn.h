/* A file's turn: at most one change of its bytes (OP_DATA) is under way at a time; others wait in
 * order of arrival.  Under the volume's lock. */
#ifndef SERVER_TURN_H
#define SERVER_TURN_H

#include "server/request.h"

/* turn_take: 1: req has the turn of its inode; 0: req is queued behind the one that has it;
 * -KILN_EAGAIN: it would be queued, but its message must be kept for that first. */
int turn_take(struct request *req);
/* turn_give: returns the request that has the turn now and is to be started, or NULL. */
struct request *turn_give(struct request *req);

#endif

/* Bytes to a checked request.  The one place that reads a client's bytes before they have been
 * checked; driven by the table in dispatch.c. */
#ifndef SERVER_WIRE_H
#define SERVER_WIRE_H

#include "server/request.h"

#include <stddef.h>

enum {
	WIRE_WRITE_MAX = 1 << 20,
	WIRE_MESSAGE_MAX = WIRE_WRITE_MAX + 4096, /* also the least read buffer for /dev/fuse */
	WIRE_MESSAGE_MIN = sizeof(struct fuse_in_header),
};

/* Since Linux 6.9: a request sent again carries this bit in `unique`. */
#define WIRE_UNIQUE_RESEND (1ull << 63)

/* wire_length: the length of the message that begins with these bytes (at least
 * WIRE_MESSAGE_MIN), or -KILN_EBADMSG if it cannot be one. */
int64_t wire_length(const void *bytes);
/* wire_parse: fills op, in, resent, slot (the header's padding), arg, names, data of a zeroed
 * request from a message of exactly len bytes; names and data point into it.
 *   0                    go on
 *   -KILN_EBADMSG        not a message: close the connection
 *   -KILN_ENAMETOOLONG, -KILN_EINVAL   answer with that; req->op and in are set */
int wire_parse(const void *message, size_t len, struct request *req);
/* wire_keep: the message moves (to an owned copy): points names and data into it. */
void wire_rebase(struct request *req, const void *from, const void *to);

#endif

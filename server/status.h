/* The server's figures: as JSON for `kiln status`, as text for Prometheus. */
#ifndef SERVER_STATUS_H
#define SERVER_STATUS_H

#include <jansson.h>
#include <stddef.h>

struct server;

/* status_fill: a new object, NULL when out of memory.  This is where new figures go: one
 * function per member, one row in its table.  top: volumes and clients listed one by one, the
 * most used first.  Admin thread. */
json_t *status_fill(struct server *s, size_t top);
/* status_metrics: Prometheus text format 0.0.4; malloc'd, NULL when out of memory. */
char *status_metrics(struct server *s);

#endif

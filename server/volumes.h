/* The table of volumes: the one place that creates, renames, changes and deletes them, on the
 * running server, disturbing no other volume.  Records live in brick 0 of the store and are
 * durable before a call returns (except for listing).
 *
 * Lock: VOLUMES guards the table; a volume found is held by a reference until volumes_put. */
#ifndef SERVER_VOLUMES_H
#define SERVER_VOLUMES_H

#include "server/volume.h"

struct volumes;

/* volumes_open: reads the table; deletions that a crash cut short go on in the background. */
int volumes_open(struct server *server, struct volumes **out);
void volumes_close(struct volumes *vs);

/* volumes_create: record->name, durability, quota, read_only, cache are wanted; brick, uuid and
 * created are filled in.  -KILN_EVOLNAME, -KILN_EVOLEXIST.  Admin thread. */
int volumes_create(struct volumes *vs, struct volume_record *record);
/* volumes_set: everything of the record but brick, uuid, created; a new name renames. */
int volumes_set(struct volumes *vs, const char *name, const struct volume_record *record);
/* volumes_delete: gone from the table at once; its keys and files are removed in the background
 * in small steps.  -KILN_ENOVOLUME, -KILN_EVOLBUSY (without force). */
int volumes_delete(struct volumes *vs, const char *name, bool force);

/* volumes_find: -KILN_ENOVOLUME; any thread. */
int volumes_find(struct volumes *vs, const char *name, struct volume **out);
void volumes_put(struct volumes *vs, struct volume *v);
/* volumes_each: in order of name; the table is locked meanwhile. */
void volumes_each(struct volumes *vs, void (*fn)(void *context, struct volume *v), void *context);

#endif

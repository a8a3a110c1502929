/* The table of volumes: the one place that creates, renames, changes and deletes them, on the
 * running server, disturbing no other volume.  Records live in brick 0 of the store and are
 * durable before a call returns (except for listing).
 *
 * Locks: ADMIN lets one change of the table run at a time and is held over its commit; VOLUMES
 * guards the table itself, is held for moments and never over a call of the store, so that a
 * hello never waits for an administrator.  A volume found is held by a reference until
 * volumes_put. */
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
/* volumes_find_id: the volume with that uuid, whatever it is called now. */
int volumes_find_id(struct volumes *vs, const uint8_t uuid[16], struct volume **out);
/* volumes_put: any thread; the last one of a deleted volume lets its removal begin. */
void volumes_put(struct volumes *vs, struct volume *v);
/* volumes_each: in order of name, as the table was at the call; each volume is held by a
 * reference and no lock is held while fn runs.  -KILN_ENOMEM. */
int volumes_each(struct volumes *vs, void (*fn)(void *context, struct volume *v), void *context);
/* volumes_removing: how many deleted volumes still have keys or files to be taken away. */
unsigned volumes_removing(struct volumes *vs);

#endif

/* What clients have open, in memory that outlives a killed server: a file in the store's
 * directory, mapped, so that counting an open costs no system call.  It is not synced and need
 * not be: after a power cut it is worthless (another boot id) and is thrown away, because the
 * clients on this machine have gone with it.
 *
 * A record is (client, brick, inode, count).  A record with inode 0 is a client's *marker*: every
 * open of this client since its first hello is here.  A client without one is not known in full,
 * and what it may hold is kept until it says otherwise (server/opens.c).
 *
 * Adding and freeing: any thread.  The other calls on one record: whoever owns it (its volume's
 * lock). */
#ifndef SERVER_OPENFILE_H
#define SERVER_OPENFILE_H

#include <stdbool.h>
#include <stdint.h>

struct openfile;
enum { OPENFILE_NONE = UINT32_MAX };

/* openfile_start: DIR/opens, made or thrown away if it is not of this boot. */
int openfile_start(const char *dir, struct openfile **out);
void openfile_stop(struct openfile *of); /* the file stays for the next server */

/* openfile_add: count 1; OPENFILE_NONE without room for another record. */
uint32_t openfile_add(struct openfile *of, uint64_t client, uint32_t brick, uint64_t handle,
		      uint64_t unique);
void openfile_free(struct openfile *of, uint32_t record);
/* openfile_count: the new count, on account of the request with this unique (0: of none). */
void openfile_count(struct openfile *of, uint32_t record, uint32_t count, uint64_t unique);
/* openfile_seen: that request has been counted here (the last two are remembered). */
bool openfile_seen(const struct openfile *of, uint32_t record, uint64_t unique);

/* openfile_each: the records that were there at the start and belong to a brick; fn may free
 * them.  While the brick's volume is loaded. */
void openfile_each(struct openfile *of, uint32_t brick,
		   void (*fn)(void *context, uint32_t record, uint64_t client, uint64_t handle,
			      uint32_t count),
		   void *context);

#endif

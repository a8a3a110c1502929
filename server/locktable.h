/* A volume's table of file locks, fcntl(2) and flock(2), of all its clients.  Any thread. */
#ifndef SERVER_LOCKTABLE_H
#define SERVER_LOCKTABLE_H

#include "server/request.h"

struct locktable;

/* locktable_new: waits (atomic, outlives the table) counts, with those of other tables, the requests
 * that are parked here until they get their lock. */
struct locktable *locktable_new(struct volume *v, uint64_t *waits);
void locktable_free(struct locktable *lt);
/* locktable_interrupt: the parked request of this session with that unique is answered with
 * EINTR; false if there is none. */
bool locktable_interrupt(struct locktable *lt, struct session *s, uint64_t unique);
/* locktable_drop_owner: unlock all that owner (flock or fcntl) of session s holds on handle;
 * locktable_drop_session: all of s, parked requests included (those are answered EINTR). */
void locktable_drop_owner(struct locktable *lt, struct session *s, uint64_t handle, uint64_t owner,
			  bool flock);
void locktable_drop_session(struct locktable *lt, struct session *s);
/* locktable_abandon: at the server's end: those who wait, linked by next, for the caller to free:
 * their clients will ask the next server. */
struct request *locktable_abandon(struct locktable *lt);
/* locktable_restore: puts back what a record says was held before a restart (client: its id). */
int locktable_restore(struct locktable *lt, struct session *s, uint64_t handle,
		      const struct lock_record *locks, size_t count);

/* lock_store: keeps the locks that a client holds on an inode in its lock record, so that they
 * survive a restart; called by the lock table after each change, outside its lock; the write
 * goes through the writer role like any change.  answers: requests (linked by `next`), taken
 * over, each answered with its own `error` once the record has been applied, or with what kept
 * it from being applied.  volume.c */
void lock_store(struct volume *v, uint64_t handle, uint64_t client,
		const struct lock_record *locks, size_t count, struct request *answers);

#endif

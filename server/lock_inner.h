/* File locks of a volume, fcntl(2) and flock(2), across all its clients: their insides, for
 * locktable.c, lockrange.c, lockwait.c and ops_lock.c alone.
 *
 * Happy path: op_setlk (ops_lock.c) finds nothing in the way, enters the lock (range_set), puts
 * the client's locks on that file onto the table's list of what is to be stored (lockset_dirty),
 * and locktable_drain stores and answers.  A waiter is kept in its file's queue (lockwait.c);
 * whatever takes locks away goes through the queue from its front and grants what can be granted
 * (wait_go_on), so nobody who could go on is left asleep and the one who came first goes first.
 *
 * An owner is (client, owner id as its kernel made it, fcntl or flock); the two kinds do not see
 * each other, as on Linux.  fcntl waiting looks for cycles first (EDEADLK); flock does not, and a
 * change of an flock's type lets go of the old lock first: both as on Linux.
 *
 * Before a lock is answered, the client is told to ask for the file's attributes again if another
 * has written to it lately; so it does not read under the lock what it had cached before.
 *
 * The table's lock (rank FLOCK) guards everything here and is not held while storing and
 * answering.  One thread at a time drains; others leave their work to it, so that records are
 * stored in the order of the changes.  A request is answered after its lock has been stored.
 * Every function here is called with the table's lock, unless it says otherwise. */
#ifndef SERVER_LOCK_INNER_H
#define SERVER_LOCK_INNER_H

#include "base/lock.h"
#include "server/locktable.h"

enum { LOCK_BUCKETS = 256 };

#define TO_THE_END UINT64_MAX

/* What somebody wants or has. */
struct want {
	uint64_t client, owner, start, end; /* end inclusive */
	uint32_t pid;
	uint16_t type;                      /* F_RDLCK, F_WRLCK, F_UNLCK */
	bool flock;
};

struct held {
	struct held *next;
	struct want is;
};

/* A client's locks on one file: what one lock record holds. */
struct lockset {
	struct lockset *next;          /* in the file */
	struct lockfile *file;
	struct held *held;
	struct lockset *dirty_next;
	bool dirty;                    /* on the table's list */
	struct request *answers;       /* to be answered once this has been stored */
	uint64_t client;
	unsigned users;                /* waiters, and a drain under way */
};

struct waiter {
	struct waiter *next;           /* in the file, who came first is first */
	struct waiter *all_next, **all_link; /* of the table */
	struct waiter *walk_next;      /* during a search for a cycle */
	bool walked;
	struct lockset *set;
	struct request *req;
	struct held *spare[2];
	uint64_t unique;
	struct want want;
};

struct lockfile {
	struct lockfile *next;         /* in the bucket */
	uint64_t handle;
	struct lockset *sets;
	struct waiter *waiters;
};

struct locktable {
	struct volume *volume;
	uint64_t *waits;                   /* atomic: as many as `waiters`, of this and other tables */
	struct lock lock;
	struct lockfile *buckets[LOCK_BUCKETS]; /* [lock], all that follows too */
	struct waiter *waiters;
	struct lockset *dirty, **dirty_tail;
	struct request *answers;           /* that need nothing stored */
	bool draining;
	unsigned files;                    /* also read without the lock, as a hint */
};

/* locktable.c.  lockfile_link: where the file is linked, or would be (then *link is NULL).
 * lockset_make: NULL without memory.  lockset_prune: frees the set, and its file, if nothing is
 * left in it.  lockset_dirty: it has changed: locktable_drain is to store it. */
struct lockfile **lockfile_link(struct locktable *lt, uint64_t handle);
struct lockset *lockset_find(struct lockfile *file, uint64_t client);
struct lockset *lockset_make(struct locktable *lt, uint64_t handle, uint64_t client);
size_t lockset_count(const struct lockset *set);
void lockset_prune(struct locktable *lt, struct lockset *set);
void lockset_dirty(struct locktable *lt, struct lockset *set);
/* lock_answer_later: onto a list that locktable_drain answers. */
void lock_answer_later(struct request **list, struct request *req, int error);
/* locktable_drain: does what is left to do outside the lock, unless another thread is at it and
 * will do this as well.  Called with the lock, gives it back. */
void locktable_drain(struct locktable *lt);

/* lockrange.c */
bool range_same_owner(const struct want *a, const struct want *b);
bool range_in_the_way(const struct want *held, const struct want *want);
/* range_find_in_the_way: the first by offset, or NULL; file NULL: nobody holds anything. */
struct held *range_find_in_the_way(const struct lockfile *file, const struct want *want);
/* range_is_so: whether the owner's locks on the range are just what it asks for already. */
bool range_is_so(const struct lockset *set, const struct want *want);
/* range_set: the owner's locks become what want says.  spare: two free ones; what is used is NULL
 * then. */
void range_set(struct lockset *set, const struct want *want, struct held **spare);

/* lockwait.c.  waiter_new, waiter_free: without the lock too; NULL without memory.  waiter_queue:
 * the waiter is the queue's.  waiter_fail: takes it out of there; err is its answer. */
struct waiter *waiter_new(struct request *req, const struct want *want);
void waiter_free(struct waiter *w);
void waiter_queue(struct locktable *lt, struct lockset *set, struct waiter *w);
struct waiter *waiter_find(struct locktable *lt, uint64_t client, uint64_t unique);
void waiter_fail(struct locktable *lt, struct waiter *w, int err);
/* wait_makes_cycle: whether those who are in want's way wait, by whatever detour, for its owner. */
bool wait_makes_cycle(struct locktable *lt, struct lockfile *file, const struct want *want);
/* wait_go_on: after locks of the file have gone: wait_grant, and then wait_fail_cycles if that
 * granted anything. */
void wait_go_on(struct locktable *lt, struct lockfile *file);
bool wait_grant(struct locktable *lt, struct lockfile *file);
void wait_fail_cycles(struct locktable *lt, struct lockfile *file);
/* wait_drop: whoever of that client waits is answered EINTR. */
void wait_drop(struct locktable *lt, uint64_t client);

#endif

/* Syncing the journal's segments.
 *
 * A commit that finds the journal in its next segment needs two files synced, the one that is
 * full and the one written to, and would wait for the device twice.  So a thread, the syncer,
 * begins with a segment as soon as it is sealed.  journal_sync syncs the one written to first,
 * which is what gives the syncer the time to begin; of the sealed ones it then takes those that
 * nobody has begun with, and waits only for a sync that is under way.
 *
 * Never two syncs of one segment at once, and each failure is kept: Linux reports a failed
 * write-back once per descriptor, so whoever syncs it next, or beside, sees nothing wrong.  The
 * segment stays pinned until the result is noted, with the same hold of the lock.
 *
 * The syncer never says that a number is durable: that needs all segments up to it.  What a
 * power cut between two syncs leaves is journal_recover.c's. */
#include "base/err.h"
#include "store/journal_impl.h"

/* sync_one: with the lock held, free while it syncs.  A segment that was sealed when its sync
 * began has nothing left to sync after it. */
static void sync_one(struct journal *j, struct segment *s)
{
	bool sealed = s->sealed;
	int err;

	lock_assert_held(&j->lock);
	s->pinned = true;
	lock_give(&j->lock);
	err = j->disk->sync(j->disk, s->fd);
	lock_take(&j->lock);
	s->pinned = false;
	if (sealed && !err)
		s->synced = true;
	if (err && !j->sync_failed)
		j->sync_failed = err;
	cond_broadcast(&j->synced);
}

/* find_unsynced: of the sealed segments before that order that a sync is needed of, the oldest that
 * nobody has begun with, else one that is being synced. */
static struct segment *find_unsynced(struct journal *j, uint64_t order)
{
	struct segment *found = NULL;

	lock_assert_held(&j->lock);
	for (struct segment *s = j->used.first; s && s->order < order; s = s->next)
		if (s->sealed && !s->synced && (!found || (found->pinned && !s->pinned)))
			found = s;
	return found;
}

static bool syncer_has_work(struct journal *j)
{
	struct segment *s = j->sync_failed ? NULL : find_unsynced(j, UINT64_MAX);

	return s && !s->pinned;
}

/* A segment whose batches are all durable needs none.  One that is being synced (not all of it:
 * that began before) is left to end_sync. */
void journal_seal(struct journal *j, struct segment *s)
{
	lock_assert_held(&j->lock);
	s->last = j->accepted;
	s->sealed = true;
	s->synced = s->last <= j->durable;
	if (!s->synced && !s->pinned)
		cond_signal(&j->sealed);
}

void *journal_sync_early(void *journal)
{
	struct journal *j = journal;

	pthread_setname_np(pthread_self(), "journal-sync");
	lock_take(&j->lock);
	while (!j->stop)
		if (syncer_has_work(j))
			sync_one(j, find_unsynced(j, UINT64_MAX));
		else
			cond_wait(&j->sealed, &j->lock);
	lock_give(&j->lock);
	return NULL;
}

/* sync_through: all segments with batches up to that number.  Those before the one written to are
 * sealed. */
static void sync_through(struct journal *j, uint64_t through)
{
	uint64_t order = j->current->order;
	struct segment *s;

	if (j->current->first <= through)
		sync_one(j, j->current);
	while (!j->sync_failed && (s = find_unsynced(j, order))) {
		if (s->pinned)
			cond_wait(&j->synced, &j->lock);
		else
			sync_one(j, s);
	}
}

/* end_sync: a segment that was sealed meanwhile begins to be synced only if this has not covered
 * it. */
static void end_sync(struct journal *j, uint64_t through)
{
	__atomic_store_n(&j->syncs, j->syncs + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&j->durable, through, __ATOMIC_RELEASE);
	for (struct segment *s = j->used.first; s; s = s->next)
		if (s->sealed && s->last <= through)
			s->synced = true;
	if (syncer_has_work(j))
		cond_signal(&j->sealed);
}

/* The number is read first: every batch up to it is in segments that are there by then. */
int journal_sync(struct journal *j)
{
	uint64_t through = __atomic_load_n(&j->accepted, __ATOMIC_ACQUIRE);

	lock_guard(&j->lock);
	if (j->sync_failed || through == j->durable)
		return j->sync_failed;
	sync_through(j, through);
	if (!j->sync_failed)
		end_sync(j, through);
	return j->sync_failed;
}

#include "store/journal.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "store/format.h"
#include "store/journal_impl.h"

#include <stdlib.h>
#include <string.h>

enum {
	FIRST = 2,     /* segments to begin with: with a flush in between two are always enough */
	FLUSH_AT = 16, /* segments in use from which on a flush is asked for */
	KEEP_FREE = 8,
};

#define LOOK_NS (5 * NS_PER_S) /* the keeper looks at least that often */

/* Appending. */

/* nudge: the keeper looks whether a segment is ready for the time when this one is full. */
static void nudge(struct journal *j)
{
	lock_guard(&j->lock);
	j->nudged = true;
	cond_signal(&j->work);
}

static struct segment *find_free(struct journal *j, uint64_t bytes)
{
	lock_assert_held(&j->lock);
	for (struct segment *s = j->free.first; s; s = s->next)
		if (s->size - SEGMENT_HEAD >= bytes)
			return s;
	return NULL;
}

/* want: with the lock held: the keeper is told that a record finds no segment. */
static void want(struct journal *j, uint64_t bytes)
{
	lock_assert_held(&j->lock);
	if (j->wanted < bytes)
		j->wanted = bytes;
	cond_signal(&j->work);
}

static int take_segment(struct journal *j, uint64_t bytes)
{
	struct segment *s;

	lock_guard(&j->lock);
	s = find_free(j, bytes);
	if (!s && j->failed)
		return j->failed;
	if (!s) {
		want(j, bytes);
		return -KILN_EWOULDBLOCK;
	}
	if (j->current)
		journal_seal(j, j->current);
	segment_list_remove(&j->free, s);
	segment_list_add(&j->used, s);
	s->order = ++j->order;
	s->first = j->accepted + 1;
	s->before = __atomic_load_n(&j->bytes, __ATOMIC_RELAXED);
	j->current = s;
	j->switches++;
	j->nudged = true;
	cond_signal(&j->work);
	return 0;
}

/* disk_error: -KILN_EWOULDBLOCK is the journal's own: no segment is ready, and nothing is done. */
static int disk_error(int err)
{
	return err == -KILN_EWOULDBLOCK ? -KILN_EIO : err;
}

static int next_segment(struct journal *j, uint64_t bytes)
{
	int err = take_segment(j, bytes);

	if (err)
		return err;
	j->offset = SEGMENT_HEAD;
	j->touched = JOURNAL_PAGE;
	return disk_error(segment_start(j, j->current,
					__atomic_load_n(&j->durable, __ATOMIC_ACQUIRE)));
}

/* write_record: where it reaches into a page that this use has not written to, zeros fill that
 * page, so that the kernel need not read it. */
static int write_record(struct journal *j, struct journal_record *rec)
{
	uint64_t end = j->offset + rec->len, until = end;
	size_t done;

	if (end > j->touched) {
		until = j->touched = round_to_page(end);
		memset(rec->bytes + rec->len, 0, until - end);
	}
	return disk_error(j->disk->write(j->disk, j->current->fd, rec->bytes, until - j->offset,
					 j->offset, false, &done));
}

/* accept: from now on a sync covers it. */
static void accept(struct journal *j, uint64_t bytes)
{
	uint64_t quarter = j->current->size / 4, before = j->offset;

	j->offset += bytes;
	__atomic_store_n(&j->bytes, j->bytes + bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&j->accepted, j->accepted + 1, __ATOMIC_RELEASE);
	if (before < quarter && j->offset >= quarter)
		nudge(j);
}

int journal_append(struct journal *j, struct journal_record *rec, uint64_t *number)
{
	struct record_head h = {
		.number = j->accepted + 1,
		.durable = __atomic_load_n(&j->durable, __ATOMIC_ACQUIRE),
		.hash = rec->hash,
		.len = (uint32_t)(rec->len - RECORD_HEAD),
	};
	int err = 0;

	if (rec->len > j->current->size - j->offset)
		err = next_segment(j, rec->len);
	if (err)
		return err;
	h.generation = j->current->generation;
	record_put_head(rec->bytes, &h);
	err = write_record(j, rec);
	if (err)
		return err;
	*number = h.number;
	accept(j, rec->len);
	return 0;
}

int journal_await_room(struct journal *j, const struct journal_record *rec)
{
	uint64_t refusals;

	lock_guard(&j->lock);
	refusals = j->refusals;
	while (!find_free(j, rec->len) && !j->failed && j->refusals == refusals) {
		want(j, rec->len);
		cond_wait(&j->room, &j->lock);
	}
	if (find_free(j, rec->len))
		return 0;
	return j->failed ? j->failed : -KILN_ENOSPC;
}

/* Keeping. */

/* reclaim: segments whose batches are all persisted are free.  Only from the oldest on, so that
 * those in use are always consecutive. */
static void reclaim(struct journal *j)
{
	uint64_t persisted = j->owner.persisted(j->owner.context);
	struct segment *s;

	lock_guard(&j->lock);
	while ((s = j->used.first)->sealed && !s->pinned && s->last <= persisted &&
	       !segment_generation(s)) {
		segment_list_remove(&j->used, s);
		s->sealed = s->synced = false;
		segment_list_add(&j->free, s);
	}
}

static uint64_t missing_bytes(struct journal *j)
{
	uint64_t bytes;

	lock_guard(&j->lock);
	bytes = round_to_page(j->wanted + SEGMENT_HEAD);
	if (bytes < j->segment_bytes)
		bytes = j->segment_bytes;
	return find_free(j, j->wanted) ? 0 : bytes;
}

static int add_segment(struct journal *j, uint64_t bytes)
{
	struct segment *s;
	int err = segment_make(j, bytes, &s);

	if (err)
		return err;
	lock_guard(&j->lock);
	segment_list_add(&j->free, s);
	return 0;
}

/* note_flushed: bytes is what had been accepted with the batch `accepted`, or less. */
static void note_flushed(struct journal *j, uint64_t accepted, uint64_t bytes)
{
	if (j->owner.persisted(j->owner.context) < accepted)
		return;
	lock_guard(&j->lock);
	j->flushed = bytes;
}

/* flush: a failure is the database's to tell, at the next apply; here it only means that no
 * segment comes free. */
static void flush(struct journal *j)
{
	uint64_t bytes = __atomic_load_n(&j->bytes, __ATOMIC_ACQUIRE);
	uint64_t accepted = __atomic_load_n(&j->accepted, __ATOMIC_ACQUIRE);
	int err = j->owner.flush(j->owner.context);

	if (err)
		log_warn("the database could not be flushed: %s", err_text(err));
	reclaim(j);
	note_flushed(j, accepted, bytes);
}

/* await_oldest: the oldest segment could be given back, but for a sync of it that is under way.
 * Once that has ended nobody syncs it again.  Where it is the only room left, not to wait would be
 * to fail. */
static void await_oldest(struct journal *j)
{
	uint64_t persisted = j->owner.persisted(j->owner.context);
	const struct segment *s;

	lock_guard(&j->lock);
	while ((s = j->used.first)->sealed && s->pinned && s->last <= persisted)
		cond_wait(&j->synced, &j->lock);
}

/* ready_one: a segment is free, of a new file if need be; where there is no room for one, from
 * among those in use. */
static void ready_one(struct journal *j)
{
	uint64_t bytes = missing_bytes(j);
	int err = bytes ? add_segment(j, bytes) : 0;

	if (err) {
		flush(j);
		await_oldest(j);
		reclaim(j);
		if (!missing_bytes(j))
			err = 0;
	}
	lock_guard(&j->lock);
	if (err == -KILN_ENOSPC && j->wanted) {
		j->refusals++;
	} else if (err && j->wanted) {
		log_error("the journal %s cannot grow: %s", j->path, err_text(err));
		j->failed = err;
	}
	j->wanted = 0;
	cond_broadcast(&j->room);
}

static struct segment *surplus(struct journal *j)
{
	struct segment *s;

	lock_guard(&j->lock);
	s = j->free.count > KEEP_FREE ? j->free.first : NULL;
	if (s)
		segment_list_remove(&j->free, s);
	return s;
}

static void trim(struct journal *j)
{
	struct segment *s;
	int err;

	while ((s = surplus(j))) {
		err = segment_delete(j, s);
		if (err)
			log_warn("cannot remove a segment of %s: %s", j->path, err_text(err));
	}
}

static unsigned used_count(struct journal *j)
{
	lock_guard(&j->lock);
	return j->used.count;
}

static bool owner_wants_flush(struct journal *j)
{
	return j->owner.look_after && j->owner.look_after(j->owner.context);
}

static bool take_flush_wanted(struct journal *j)
{
	bool wanted;

	lock_guard(&j->lock);
	wanted = j->flush_wanted;
	j->flush_wanted = false;
	return wanted;
}

static void keep_once(struct journal *j)
{
	reclaim(j);
	ready_one(j);
	trim(j);
	if (owner_wants_flush(j) || used_count(j) >= FLUSH_AT || take_flush_wanted(j))
		flush(j);
}

static void *keep(void *context)
{
	struct journal *j = context;

	pthread_setname_np(pthread_self(), "journal");
	lock_take(&j->lock);
	while (!j->stop) {
		if (!j->nudged && (!j->wanted || j->failed) &&
		    cond_wait_until(&j->work, &j->lock, clock_mono() + LOOK_NS))
			continue;
		j->nudged = false;
		lock_give(&j->lock);
		keep_once(j);
		lock_take(&j->lock);
	}
	lock_give(&j->lock);
	return NULL;
}

/* Beginning and end. */

/* retire: what has been replayed, or lies beyond the gap, can never be read again.  Segments too
 * small, of an earlier setting or of a making cut short, go. */
static int retire(struct journal *j)
{
	struct segment *s;
	struct segment_list old;
	int err = 0;

	segment_list_init(&old);
	while (!err && (s = j->used.first)) {
		err = segment_retire(j, s);
		if (err)
			break;
		segment_list_remove(&j->used, s);
		segment_list_add(&j->free, s);
	}
	while (!err && (s = j->free.first)) {
		segment_list_remove(&j->free, s);
		if (s->size < j->segment_bytes || old.count == KEEP_FREE) {
			err = segment_delete(j, s);
			continue;
		}
		segment_list_add(&old, s);
		err = segment_generation(s);
	}
	while ((s = old.first)) {
		segment_list_remove(&old, s);
		segment_list_add(&j->free, s);
	}
	return err;
}

/* start_threads: one that has begun although the other could not ends with journal_close. */
static int start_threads(struct journal *j)
{
	j->has_syncer = !pthread_create(&j->syncer, NULL, journal_sync_early, j);
	j->has_keeper = j->has_syncer && !pthread_create(&j->keeper, NULL, keep, j);
	return j->has_keeper ? 0 : -KILN_ENOTHREAD;
}

/* stop_threads: a sync or flush that is under way ends first. */
static void stop_threads(struct journal *j)
{
	lock_take(&j->lock);
	j->stop = true;
	cond_signal(&j->work);
	cond_signal(&j->sealed);
	lock_give(&j->lock);
	if (j->has_keeper)
		pthread_join(j->keeper, NULL);
	if (j->has_syncer)
		pthread_join(j->syncer, NULL);
}

int journal_begin(struct journal *j, uint64_t through, const struct journal_owner *owner,
		  char **why)
{
	int err = retire(j);

	j->owner = *owner;
	j->accepted = j->durable = through;
	while (!err && j->free.count < FIRST)
		err = add_segment(j, j->segment_bytes);
	if (err == -KILN_ENOSPC)
		return why_set(why, err, "no space left for the journal %s: it takes %llu KiB; make "
			       "room there", j->path, (unsigned long long)j->segment_bytes * FIRST >> 10);
	if (!err)
		err = next_segment(j, 0);
	if (!err)
		err = start_threads(j);
	return err ? why_set(why, err, "cannot begin the journal %s: %s", j->path, err_text(err))
		   : 0;
}

static void close_list(struct journal *j, struct segment_list *l)
{
	struct segment *s;

	while ((s = l->first)) {
		segment_list_remove(l, s);
		segment_close(j, s);
	}
}

void journal_close(struct journal *j)
{
	if (!j)
		return;
	stop_threads(j);
	close_list(j, &j->used);
	close_list(j, &j->free);
	if (j->dir_fd >= 0)
		j->disk->close(j->disk, j->dir_fd);
	cond_destroy(&j->work);
	cond_destroy(&j->room);
	cond_destroy(&j->sealed);
	cond_destroy(&j->synced);
	lock_destroy(&j->lock);
	free(j->page);
	free(j->path);
	free(j);
}

void journal_relieve(struct journal *j)
{
	lock_guard(&j->lock);
	j->flush_wanted = j->nudged = true;
	cond_signal(&j->work);
}

/* pending_bytes: what the segments in use have taken, as far as no flush has covered it. */
static uint64_t pending_bytes(const struct journal *j)
{
	uint64_t from = j->used.first ? j->used.first->before : 0;

	lock_assert_held(&j->lock);
	if (from < j->flushed)
		from = j->flushed;
	return __atomic_load_n(&j->bytes, __ATOMIC_RELAXED) - from;
}

void journal_stats(struct journal *j, struct journal_stats *out)
{
	lock_guard(&j->lock);
	*out = (struct journal_stats){
		.bytes = __atomic_load_n(&j->bytes, __ATOMIC_RELAXED),
		.batches = __atomic_load_n(&j->accepted, __ATOMIC_RELAXED),
		.syncs = __atomic_load_n(&j->syncs, __ATOMIC_RELAXED),
		.switches = j->switches,
		.segments = j->used.count + j->free.count,
		.free_segments = j->free.count,
		.replayed = j->replayed,
		.pending = pending_bytes(j),
	};
}

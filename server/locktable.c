/* The table itself: which client holds what on which file, and how that is stored.
 *
 * Happy path: lockset_make finds or makes a client's set on a file; once it has been changed
 * lockset_dirty puts it onto the table's list, and locktable_drain stores it, answers who waits for
 * that, and frees what has become empty. */
#include "server/lock_inner.h"

#include "server/conn.h"
#include "server/session.h"
#include "server/volume.h"

#include <fcntl.h>
#include <stdlib.h>

struct locktable *locktable_new(struct volume *v, uint64_t *waits)
{
	struct locktable *lt = calloc(1, sizeof *lt);

	if (!lt)
		return NULL;
	lt->volume = v;
	lt->waits = waits;
	lt->dirty_tail = &lt->dirty;
	lock_init(&lt->lock, LOCK_RANK_FLOCK, "file locks");
	return lt;
}

/* --- files and sets --------------------------------------------------------------------------- */

struct lockfile **lockfile_link(struct locktable *lt, uint64_t handle)
{
	struct lockfile **link = &lt->buckets[(handle * 0x9e3779b97f4a7c15ull) >> 56];

	while (*link && (*link)->handle != handle)
		link = &(*link)->next;
	return link;
}

struct lockset *lockset_find(struct lockfile *file, uint64_t client)
{
	struct lockset *set = file ? file->sets : NULL;

	while (set && set->client != client)
		set = set->next;
	return set;
}

struct lockset *lockset_make(struct locktable *lt, uint64_t handle, uint64_t client)
{
	struct lockfile **link = lockfile_link(lt, handle), *file = *link;
	struct lockset *set = lockset_find(file, client);

	if (set)
		return set;
	set = calloc(1, sizeof *set);
	if (!set)
		return NULL;
	if (!file) {
		file = calloc(1, sizeof *file);
		if (!file) {
			free(set);
			return NULL;
		}
		file->handle = handle;
		*link = file;
		__atomic_store_n(&lt->files, lt->files + 1, __ATOMIC_RELAXED);
	}
	set->file = file;
	set->client = client;
	set->next = file->sets;
	file->sets = set;
	return set;
}

void lockset_prune(struct locktable *lt, struct lockset *set)
{
	struct lockfile *file = set->file, **file_at;
	struct lockset **link = &file->sets;

	if (set->held || set->dirty || set->answers || set->users)
		return;
	while (*link != set)
		link = &(*link)->next;
	*link = set->next;
	free(set);
	if (file->sets || file->waiters)
		return;
	file_at = lockfile_link(lt, file->handle);
	*file_at = file->next;
	free(file);
	__atomic_store_n(&lt->files, lt->files - 1, __ATOMIC_RELAXED);
}

static void set_free(struct lockset *set)
{
	while (set->held) {
		struct held *h = set->held;

		set->held = h->next;
		free(h);
	}
	free(set);
}

void locktable_free(struct locktable *lt)
{
	for (size_t i = 0; i < LOCK_BUCKETS; i++) {
		while (lt->buckets[i]) {
			struct lockfile *file = lt->buckets[i];

			lt->buckets[i] = file->next;
			while (file->sets) {
				struct lockset *set = file->sets;

				file->sets = set->next;
				set_free(set);
			}
			free(file);
		}
	}
	lock_destroy(&lt->lock);
	free(lt);
}

/* --- storing and answering -------------------------------------------------------------------- */

void lockset_dirty(struct locktable *lt, struct lockset *set)
{
	if (set->dirty)
		return;
	set->dirty = true;
	set->dirty_next = NULL;
	*lt->dirty_tail = set;
	lt->dirty_tail = &set->dirty_next;
}

void lock_answer_later(struct request **list, struct request *req, int error)
{
	req->error = error;
	req->next = *list;
	*list = req;
}

/* Who takes a lock means to see what others have done under theirs: his kernel shall ask anew. */
static void forget_attr(const struct request *req)
{
	if (!req->error && req->conn &&
	    volume_others_wrote(req->volume, req->session, req->in.nodeid))
		conn_forget_attr(req->conn, req->in.nodeid);
}

static struct lock_record record_of(const struct want *is)
{
	return (struct lock_record){ .owner = is->owner,
				     .start = is->start,
				     .end = is->end,
				     .pid = is->pid,
				     .type = is->type,
				     .flock = is->flock };
}

size_t lockset_count(const struct lockset *set)
{
	size_t count = 0;

	for (const struct held *h = set->held; h; h = h->next)
		count++;
	return count;
}

/* Stores one set and answers who waits for that.  Gives the lock back meanwhile. */
static void set_store(struct locktable *lt, struct lockset *set)
{
	size_t count = lockset_count(set), i = 0;
	struct lock_record *records = calloc(count + 1, sizeof *records);
	struct request *answers = set->answers;
	uint64_t handle = set->file->handle;

	for (struct held *h = set->held; records && h; h = h->next)
		records[i++] = record_of(&h->is);
	set->answers = NULL;
	set->users++;
	lock_give(&lt->lock);
	for (const struct request *req = answers; req; req = req->next)
		forget_attr(req);
	if (records)
		lock_store(lt->volume, handle, set->client, records, count, answers);
	else
		request_answer_all(answers, -KILN_ENOMEM);
	free(records);
	lock_take(&lt->lock);
	set->users--;
	lockset_prune(lt, set);
}

static struct lockset *dirty_pop(struct locktable *lt)
{
	struct lockset *set = lt->dirty;

	lt->dirty = set->dirty_next;
	if (!lt->dirty)
		lt->dirty_tail = &lt->dirty;
	set->dirty = false;
	return set;
}

void locktable_drain(struct locktable *lt)
{
	bool mine = !lt->draining;

	lt->draining = true;
	while (mine && (lt->dirty || lt->answers)) {
		struct request *answers = lt->answers;

		if (lt->dirty) {
			set_store(lt, dirty_pop(lt));
			continue;
		}
		lt->answers = NULL;
		lock_give(&lt->lock);
		request_answer_all(answers, 0);
		lock_take(&lt->lock);
	}
	if (mine)
		lt->draining = false;
	lock_give(&lt->lock);
}

/* --- closed, gone, come back ------------------------------------------------------------------ */

void locktable_drop_owner(struct locktable *lt, struct session *s, uint64_t handle, uint64_t owner,
			  bool flock)
{
	struct want all = { .client = session_client(s), .owner = owner, .end = TO_THE_END,
			    .type = F_UNLCK, .flock = flock };
	struct held *none[2] = { NULL, NULL };
	struct lockset *set;

	if (__atomic_load_n(&lt->files, __ATOMIC_RELAXED) == 0)
		return;
	lock_take(&lt->lock);
	set = lockset_find(*lockfile_link(lt, handle), all.client);
	if (set && !range_is_so(set, &all)) {
		range_set(set, &all, none);
		lockset_dirty(lt, set);
		wait_go_on(lt, set->file);
	}
	locktable_drain(lt);
}

static void drop_set(struct locktable *lt, struct lockset *set)
{
	while (set->held) {
		struct held *h = set->held;

		set->held = h->next;
		free(h);
	}
	lockset_dirty(lt, set);
}

/* A file whose set is dirty stays where it is, so the list can be walked on. */
static void drop_in_bucket(struct locktable *lt, struct lockfile *file, uint64_t client)
{
	for (; file; file = file->next) {
		struct lockset *set = lockset_find(file, client);

		if (set && set->held)
			drop_set(lt, set);
	}
}

/* All of it goes before anybody is granted anything, and that before cycles are looked for:
 * half-way there may seem to be one. */
void locktable_drop_session(struct locktable *lt, struct session *s)
{
	uint64_t client = session_client(s);

	lock_take(&lt->lock);
	wait_drop(lt, client);
	for (size_t i = 0; i < LOCK_BUCKETS; i++)
		drop_in_bucket(lt, lt->buckets[i], client);
	for (struct lockset *set = lt->dirty; set; set = set->dirty_next)
		wait_grant(lt, set->file);
	for (struct lockset *set = lt->dirty; set; set = set->dirty_next)
		wait_fail_cycles(lt, set->file);
	locktable_drain(lt);
}

static bool record_valid(const struct lock_record *r)
{
	return r->start <= r->end && (r->type == F_RDLCK || r->type == F_WRLCK);
}

int locktable_restore(struct locktable *lt, struct session *s, uint64_t handle,
		      const struct lock_record *locks, size_t count)
{
	struct lockset *set;

	lock_guard(&lt->lock);
	set = lockset_make(lt, handle, session_client(s));
	if (!set)
		return -KILN_ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct held *h = record_valid(&locks[i]) ? calloc(1, sizeof *h) : NULL;

		if (!h)
			return record_valid(&locks[i]) ? -KILN_ENOMEM : -KILN_ECORRUPT;
		h->is = (struct want){ .client = set->client,
				       .owner = locks[i].owner,
				       .start = locks[i].start,
				       .end = locks[i].end,
				       .pid = locks[i].pid,
				       .type = locks[i].type,
				       .flock = locks[i].flock };
		h->next = set->held;
		set->held = h;
	}
	return 0;
}

/* File locks of a volume, fcntl(2) and flock(2), across all its clients.
 *
 * Happy path: op_setlk finds nothing in the way, enters the lock (range_set), puts the client's
 * locks on that file onto the table's list of what is to be stored, and drain stores and answers.
 * A waiter is kept in its file's queue; whatever takes locks away goes through the queue from
 * its front and grants what can be granted (grant_waiters), so nobody who could go on is left
 * asleep and the one who came first goes first.
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
 * stored in the order of the changes.  A request is answered after its lock has been stored. */
#include "server/conn.h"
#include "server/ops.h"
#include "server/volume.h"

#include "base/lock.h"

#include <fcntl.h>
#include <stdlib.h>

enum {
	BUCKETS = 256,
	LOCKS_PER_SET = 65536,
	CYCLE_STEPS = 1024, /* waiters looked at; a longer chain is taken for no cycle */
};

#define TO_THE_END UINT64_MAX
#define OFFSET_MAX ((uint64_t)INT64_MAX) /* what the kernel calls the end */

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
	struct lock lock;
	struct lockfile *buckets[BUCKETS]; /* [lock], all that follows too */
	struct waiter *waiters;
	struct lockset *dirty, **dirty_tail;
	struct request *answers;           /* that need nothing stored */
	bool draining;
	unsigned files;                    /* also read without the lock, as a hint */
};

struct locktable *locktable_new(struct volume *v)
{
	struct locktable *lt = calloc(1, sizeof *lt);

	if (!lt)
		return NULL;
	lt->volume = v;
	lt->dirty_tail = &lt->dirty;
	lock_init(&lt->lock, LOCK_RANK_FLOCK, "file locks");
	return lt;
}

/* --- files and sets --------------------------------------------------------------------- */

static struct lockfile **file_link(struct locktable *lt, uint64_t handle)
{
	struct lockfile **link = &lt->buckets[(handle * 0x9e3779b97f4a7c15ull) >> 56];

	while (*link && (*link)->handle != handle)
		link = &(*link)->next;
	return link;
}

static struct lockset *set_find(struct lockfile *file, uint64_t client)
{
	struct lockset *set = file ? file->sets : NULL;

	while (set && set->client != client)
		set = set->next;
	return set;
}

static struct lockset *set_make(struct locktable *lt, uint64_t handle, uint64_t client)
{
	struct lockfile **link = file_link(lt, handle), *file = *link;
	struct lockset *set = set_find(file, client);

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

/* Frees the set, and its file, if nothing is left in it. */
static void set_prune(struct locktable *lt, struct lockset *set)
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
	file_at = file_link(lt, file->handle);
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
	for (size_t i = 0; i < BUCKETS; i++) {
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

/* --- storing and answering ------------------------------------------------------------------ */

static void set_dirty(struct locktable *lt, struct lockset *set)
{
	if (set->dirty)
		return;
	set->dirty = true;
	set->dirty_next = NULL;
	*lt->dirty_tail = set;
	lt->dirty_tail = &set->dirty_next;
}

static void answer_later(struct request **list, struct request *req, int error)
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

static size_t set_count(const struct lockset *set)
{
	size_t count = 0;

	for (const struct held *h = set->held; h; h = h->next)
		count++;
	return count;
}

/* Stores one set and answers who waits for that.  Gives the lock back meanwhile. */
static void set_store(struct locktable *lt, struct lockset *set)
{
	size_t count = set_count(set), i = 0;
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
	set_prune(lt, set);
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

/* Does what is left to do outside the lock, unless another thread is at it and will do this as
 * well.  Called with the lock, gives it back. */
static void drain(struct locktable *lt)
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

/* --- ranges of one owner ------------------------------------------------------------------------ */

static bool same_owner(const struct want *a, const struct want *b)
{
	return a->client == b->client && a->owner == b->owner && a->flock == b->flock;
}

static bool overlap(const struct want *a, const struct want *b)
{
	return a->start <= b->end && b->start <= a->end;
}

static bool in_the_way(const struct want *held, const struct want *want)
{
	return held->flock == want->flock && !same_owner(held, want) && overlap(held, want) &&
	       (held->type == F_WRLCK || want->type == F_WRLCK);
}

static struct held *find_in_the_way(const struct lockfile *file, const struct want *want)
{
	struct held *first = NULL;

	for (struct lockset *set = file ? file->sets : NULL; set; set = set->next)
		for (struct held *h = set->held; h; h = h->next)
			if (in_the_way(&h->is, want) && (!first || h->is.start < first->is.start))
				first = h;
	return first;
}

/* Whether the owner's locks on the range are just what it asks for already. */
static bool range_is_so(const struct lockset *set, const struct want *want)
{
	bool covered = want->type == F_UNLCK;

	for (const struct held *h = set ? set->held : NULL; h; h = h->next) {
		if (!same_owner(&h->is, want) || !overlap(&h->is, want))
			continue;
		if (h->is.type != want->type)
			return false;
		covered = h->is.start <= want->start && h->is.end >= want->end;
	}
	return covered;
}

/* Takes want's range out of one lock of the same owner; *spare is used if that leaves two. */
static void range_cut(struct held **link, const struct want *want, struct held **spare)
{
	struct held *h = *link, *rest = *spare;
	bool before = h->is.start < want->start, after = h->is.end > want->end;

	if (before && after) {
		*spare = NULL;
		rest->is = h->is;
		rest->is.start = want->end + 1;
		h->is.end = want->start - 1;
		rest->next = h->next;
		h->next = rest;
	} else if (before) {
		h->is.end = want->start - 1;
	} else if (after) {
		h->is.start = want->end + 1;
	} else {
		*link = h->next;
		free(h);
	}
}

/* Joins to `mine` what touches it: same owner, same type. */
static void range_merge(struct lockset *set, struct held *mine)
{
	struct held **link = &set->held;

	while (*link) {
		struct held *h = *link;
		bool touches = (h->is.end != TO_THE_END && h->is.end + 1 == mine->is.start) ||
			       (mine->is.end != TO_THE_END && mine->is.end + 1 == h->is.start);

		if (h == mine || !touches || h->is.type != mine->is.type ||
		    !same_owner(&h->is, &mine->is)) {
			link = &h->next;
			continue;
		}
		if (h->is.start < mine->is.start)
			mine->is.start = h->is.start;
		if (h->is.end > mine->is.end)
			mine->is.end = h->is.end;
		*link = h->next;
		free(h);
	}
}

/* The owner's locks become what want says.  spare: two free ones; what is used is NULL then. */
static void range_set(struct lockset *set, const struct want *want, struct held **spare)
{
	struct held **link = &set->held, *mine = spare[0];

	while (*link) {
		struct held *h = *link;

		if (same_owner(&h->is, want) && overlap(&h->is, want))
			range_cut(link, want, &spare[1]);
		if (*link == h)
			link = &h->next;
	}
	if (want->type == F_UNLCK)
		return;
	spare[0] = NULL;
	mine->is = *want;
	mine->next = set->held;
	set->held = mine;
	range_merge(set, mine);
}

/* --- waiting ------------------------------------------------------------------------------------ */

static void waiter_unlink(struct waiter *w)
{
	struct waiter **link = &w->set->file->waiters;

	while (*link != w)
		link = &(*link)->next;
	*link = w->next;
	*w->all_link = w->all_next;
	if (w->all_next)
		w->all_next->all_link = w->all_link;
	w->set->users--;
}

static void waiter_free(struct waiter *w)
{
	free(w->spare[0]);
	free(w->spare[1]);
	free(w);
}

static void waiter_fail(struct locktable *lt, struct waiter *w, int err)
{
	struct lockset *set = w->set;

	waiter_unlink(w);
	answer_later(&lt->answers, w->req, err);
	waiter_free(w);
	set_prune(lt, set);
}

/* Puts onto the walk who waits (for fcntl locks) and is an owner of what is in want's way. */
static struct waiter *walk_from(struct locktable *lt, struct lockfile *file,
				const struct want *want, struct waiter *walk)
{
	for (struct waiter *w = lt->waiters; w; w = w->all_next) {
		struct lockset *set = set_find(file, w->want.client);

		if (w->walked || w->want.flock || !set)
			continue;
		for (struct held *h = set->held; h && !w->walked; h = h->next)
			w->walked = same_owner(&h->is, &w->want) && in_the_way(&h->is, want);
		if (w->walked) {
			w->walk_next = walk;
			walk = w;
		}
	}
	return walk;
}

static bool owner_in_the_way(struct lockfile *file, const struct want *want,
			     const struct want *owner)
{
	struct lockset *set = set_find(file, owner->client);

	for (struct held *h = set ? set->held : NULL; h; h = h->next)
		if (same_owner(&h->is, owner) && in_the_way(&h->is, want))
			return true;
	return false;
}

/* Whether those who are in want's way wait, by whatever detour, for want's owner. */
static bool makes_cycle(struct locktable *lt, struct lockfile *file, const struct want *want)
{
	struct waiter *walk;
	bool found = false;

	for (struct waiter *w = lt->waiters; w; w = w->all_next)
		w->walked = false;
	walk = walk_from(lt, file, want, NULL);
	for (int step = 0; walk && !found && step < CYCLE_STEPS; step++) {
		struct waiter *w = walk;

		walk = w->walk_next;
		found = owner_in_the_way(w->set->file, &w->want, want);
		if (!found)
			walk = walk_from(lt, w->set->file, &w->want, walk);
	}
	return found;
}

static struct waiter *first_ready(const struct lockfile *file)
{
	struct waiter *w = file->waiters;

	while (w && find_in_the_way(file, &w->want))
		w = w->next;
	return w;
}

/* Everybody who can go on does, in the order of arrival; true if there was one.  From the front
 * each time: who is granted a read lock where he had a write lock may let in one before him. */
static bool grant(struct locktable *lt, struct lockfile *file)
{
	struct waiter *w;
	bool granted = false;

	while ((w = first_ready(file))) {
		range_set(w->set, &w->want, w->spare);
		answer_later(&w->set->answers, w->req, 0);
		set_dirty(lt, w->set);
		waiter_unlink(w);
		waiter_free(w);
		granted = true;
	}
	return granted;
}

/* Those who still wait do so for others than before, which may have made a cycle. */
static void fail_cycles(struct locktable *lt, struct lockfile *file)
{
	struct waiter *next;

	for (struct waiter *w = file->waiters; w; w = next) {
		next = w->next;
		if (!w->want.flock && makes_cycle(lt, file, &w->want))
			waiter_fail(lt, w, -KILN_EDEADLK);
	}
}

/* After locks of the file have gone. */
static void grant_waiters(struct locktable *lt, struct lockfile *file)
{
	if (grant(lt, file))
		fail_cycles(lt, file);
}

/* --- requests -------------------------------------------------------------------------------------- */

static int want_read(const struct request *req, struct want *want)
{
	const struct fuse_lk_in *arg = req->arg;

	*want = (struct want){ .client = session_client(req->session),
			       .owner = arg->owner,
			       .start = arg->lk.start,
			       .end = arg->lk.end,
			       .pid = arg->lk.pid,
			       .type = (uint16_t)arg->lk.type,
			       .flock = arg->lk_flags & FUSE_LK_FLOCK };
	if (arg->lk.type != F_RDLCK && arg->lk.type != F_WRLCK && arg->lk.type != F_UNLCK)
		return -KILN_EINVAL;
	if (want->flock)
		want->start = 0;
	if (want->flock || want->end >= OFFSET_MAX)
		want->end = TO_THE_END;
	return want->start > want->end || want->start > OFFSET_MAX ? -KILN_EINVAL : 0;
}

/* Another client's process id means nothing to the caller: 0. */
static void lk_fill(struct fuse_file_lock *lk, const struct want *is, uint64_t client)
{
	lk->start = is->start;
	lk->end = is->end > OFFSET_MAX ? OFFSET_MAX : is->end;
	lk->type = is->type;
	lk->pid = is->client == client ? is->pid : 0;
}

int op_getlk(struct request *req)
{
	const struct fuse_lk_in *arg = req->arg;
	struct locktable *lt = volume_locks(req->volume);
	struct want want;
	struct held *h;
	int err = want_read(req, &want);

	if (err)
		return err;
	request_out(req, lk)->lk = arg->lk;
	req->out.lk.lk.type = F_UNLCK;
	lock_guard(&lt->lock);
	h = find_in_the_way(*file_link(lt, req->in.nodeid), &want);
	if (h)
		lk_fill(&req->out.lk.lk, &h->is, want.client);
	return 0;
}

static struct waiter *waiter_new(struct request *req, const struct want *want)
{
	struct waiter *w = calloc(1, sizeof *w);

	if (!w)
		return NULL;
	w->req = req;
	w->unique = req->in.unique;
	w->want = *want;
	w->spare[0] = calloc(1, sizeof *w->spare[0]);
	w->spare[1] = calloc(1, sizeof *w->spare[1]);
	if (w->spare[0] && w->spare[1])
		return w;
	waiter_free(w);
	return NULL;
}

static void waiter_queue(struct locktable *lt, struct lockset *set, struct waiter *w)
{
	struct waiter **link = &set->file->waiters;

	while (*link)
		link = &(*link)->next;
	*link = w;
	w->set = set;
	set->users++;
	w->all_next = lt->waiters;
	w->all_link = &lt->waiters;
	if (w->all_next)
		w->all_next->all_link = &w->all_next;
	lt->waiters = w;
}

static struct waiter *waiter_find(struct locktable *lt, uint64_t client, uint64_t unique)
{
	struct waiter *w = lt->waiters;

	while (w && (w->want.client != client || w->unique != unique))
		w = w->all_next;
	return w;
}

/* A lock of another type held by the same flock owner goes first. */
static void flock_let_go(struct locktable *lt, struct lockset *set, const struct want *want)
{
	struct want gone = *want;
	struct held *none[2] = { NULL, NULL };

	gone.type = F_UNLCK;
	if (!want->flock || range_is_so(set, &gone))
		return;
	range_set(set, &gone, none);
	set_dirty(lt, set);
	grant_waiters(lt, set->file);
}

/* Enters the lock.  Something is in the way: -KILN_EAGAIN, or, if it is to wait, -KILN_EPARKED:
 * then the waiter is in the queue and no longer the caller's. */
static int set_lock(struct locktable *lt, struct lockset *set, struct waiter *w, bool wait)
{
	struct lockfile *file = set->file;

	if (range_is_so(set, &w->want))
		return 0;
	if (w->want.type == F_UNLCK || !find_in_the_way(file, &w->want)) {
		range_set(set, &w->want, w->spare);
		set_dirty(lt, set);
		grant_waiters(lt, file); /* unlocked, or no longer for writing */
		return 0;
	}
	flock_let_go(lt, set, &w->want);
	if (!wait)
		return -KILN_EAGAIN;
	if (!find_in_the_way(file, &w->want))
		return set_lock(lt, set, w, wait);
	if (!w->want.flock && makes_cycle(lt, file, &w->want))
		return -KILN_EDEADLK;
	waiter_queue(lt, set, w);
	return -KILN_EPARKED;
}

/* A request sent again, whose first sending still waits: this one waits in its place. */
static void drop_double(struct locktable *lt, const struct want *want, uint64_t unique)
{
	struct waiter *w = waiter_find(lt, want->client, unique);

	if (w)
		waiter_fail(lt, w, -KILN_EINTR);
}

/* With the lock; what has been decided but needs storing first is answered by drain. */
static int setlk_locked(struct locktable *lt, struct request *req, struct waiter *w)
{
	struct lockset *set;
	int err;

	if (session_dead(req->session)) { /* all it had has been dropped, and will not be again */
		waiter_free(w);
		return -KILN_ESTALE;
	}
	drop_double(lt, &w->want, w->unique);
	set = set_make(lt, req->in.nodeid, w->want.client);
	if (!set) {
		waiter_free(w);
		return -KILN_ENOMEM;
	}
	if (w->want.type != F_UNLCK && set_count(set) >= LOCKS_PER_SET)
		err = -KILN_ENOLCK;
	else
		err = set_lock(lt, set, w, req->in.opcode == FUSE_SETLKW);
	if (err == -KILN_EPARKED)
		return err;
	waiter_free(w);
	if (set->dirty) {
		answer_later(&set->answers, req, err);
		return -KILN_EPARKED;
	}
	set_prune(lt, set);
	return err;
}

int op_setlk(struct request *req)
{
	struct locktable *lt = volume_locks(req->volume);
	struct want want;
	struct waiter *w;
	int err = want_read(req, &want);

	if (err)
		return err;
	w = waiter_new(req, &want);
	if (!w)
		return -KILN_ENOMEM;
	lock_take(&lt->lock);
	err = setlk_locked(lt, req, w);
	drain(lt);
	return err;
}

/* --- interrupted, closed, gone, come back ------------------------------------------------------------ */

bool locktable_interrupt(struct locktable *lt, struct session *s, uint64_t unique)
{
	struct waiter *w;

	lock_take(&lt->lock);
	w = waiter_find(lt, session_client(s), unique);
	if (w)
		waiter_fail(lt, w, -KILN_EINTR);
	drain(lt);
	return w != NULL;
}

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
	set = set_find(*file_link(lt, handle), all.client);
	if (set && !range_is_so(set, &all)) {
		range_set(set, &all, none);
		set_dirty(lt, set);
		grant_waiters(lt, set->file);
	}
	drain(lt);
}

static void drop_set(struct locktable *lt, struct lockset *set)
{
	while (set->held) {
		struct held *h = set->held;

		set->held = h->next;
		free(h);
	}
	set_dirty(lt, set);
}

static void drop_waiters(struct locktable *lt, uint64_t client)
{
	struct waiter *next;

	for (struct waiter *w = lt->waiters; w; w = next) {
		next = w->all_next;
		if (w->want.client == client)
			waiter_fail(lt, w, -KILN_EINTR);
	}
}

/* A file whose set is dirty stays where it is, so the list can be walked on. */
static void drop_in_bucket(struct locktable *lt, struct lockfile *file, uint64_t client)
{
	for (; file; file = file->next) {
		struct lockset *set = set_find(file, client);

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
	drop_waiters(lt, client);
	for (size_t i = 0; i < BUCKETS; i++)
		drop_in_bucket(lt, lt->buckets[i], client);
	for (struct lockset *set = lt->dirty; set; set = set->dirty_next)
		grant(lt, set->file);
	for (struct lockset *set = lt->dirty; set; set = set->dirty_next)
		fail_cycles(lt, set->file);
	drain(lt);
}

struct request *locktable_abandon(struct locktable *lt)
{
	struct request *list = NULL;

	lock_guard(&lt->lock);
	while (lt->waiters) {
		struct waiter *w = lt->waiters;
		struct lockset *set = w->set;

		waiter_unlink(w);
		answer_later(&list, w->req, 0);
		waiter_free(w);
		set_prune(lt, set);
	}
	return list;
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
	set = set_make(lt, handle, session_client(s));
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

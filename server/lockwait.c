/* Who waits for a lock: the queue of a file, who may go on when locks of it have gone, and whether
 * waiting would never end because those who are waited for wait themselves (a cycle). */
#include "server/lock_inner.h"

#include "server/session.h"

#include <stdlib.h>

enum {
	CYCLE_STEPS = 1024, /* waiters looked at; a longer chain is taken for no cycle */
};

/* --- the queue -------------------------------------------------------------------------------- */

void waiter_free(struct waiter *w)
{
	free(w->spare[0]);
	free(w->spare[1]);
	free(w);
}

struct waiter *waiter_new(struct request *req, const struct want *want)
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

void waiter_queue(struct locktable *lt, struct lockset *set, struct waiter *w)
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
	__atomic_add_fetch(lt->waits, 1, __ATOMIC_RELAXED);
}

struct waiter *waiter_find(struct locktable *lt, uint64_t client, uint64_t unique)
{
	struct waiter *w = lt->waiters;

	while (w && (w->want.client != client || w->unique != unique))
		w = w->all_next;
	return w;
}

static void waiter_unlink(struct locktable *lt, struct waiter *w)
{
	struct waiter **link = &w->set->file->waiters;

	while (*link != w)
		link = &(*link)->next;
	*link = w->next;
	*w->all_link = w->all_next;
	if (w->all_next)
		w->all_next->all_link = w->all_link;
	w->set->users--;
	__atomic_sub_fetch(lt->waits, 1, __ATOMIC_RELAXED);
}

void waiter_fail(struct locktable *lt, struct waiter *w, int err)
{
	struct lockset *set = w->set;

	waiter_unlink(lt, w);
	lock_answer_later(&lt->answers, w->req, err);
	waiter_free(w);
	lockset_prune(lt, set);
}

/* --- cycles ----------------------------------------------------------------------------------- */

/* Puts onto the walk who waits (for fcntl locks) and is an owner of what is in want's way. */
static struct waiter *walk_from(struct locktable *lt, struct lockfile *file,
				const struct want *want, struct waiter *walk)
{
	for (struct waiter *w = lt->waiters; w; w = w->all_next) {
		struct lockset *set = lockset_find(file, w->want.client);

		if (w->walked || w->want.flock || !set)
			continue;
		for (struct held *h = set->held; h && !w->walked; h = h->next)
			w->walked = range_same_owner(&h->is, &w->want) &&
				    range_in_the_way(&h->is, want);
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
	struct lockset *set = lockset_find(file, owner->client);

	for (struct held *h = set ? set->held : NULL; h; h = h->next)
		if (range_same_owner(&h->is, owner) && range_in_the_way(&h->is, want))
			return true;
	return false;
}

bool wait_makes_cycle(struct locktable *lt, struct lockfile *file, const struct want *want)
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

/* --- going on --------------------------------------------------------------------------------- */

static struct waiter *first_ready(const struct lockfile *file)
{
	struct waiter *w = file->waiters;

	while (w && range_find_in_the_way(file, &w->want))
		w = w->next;
	return w;
}

/* Everybody who can go on does, in the order of arrival; true if there was one.  From the front
 * each time: who is granted a read lock where he had a write lock may let in one before him. */
bool wait_grant(struct locktable *lt, struct lockfile *file)
{
	struct waiter *w;
	bool granted = false;

	while ((w = first_ready(file))) {
		range_set(w->set, &w->want, w->spare);
		lock_answer_later(&w->set->answers, w->req, 0);
		lockset_dirty(lt, w->set);
		waiter_unlink(lt, w);
		waiter_free(w);
		granted = true;
	}
	return granted;
}

/* Those who still wait do so for others than before, which may have made a cycle. */
void wait_fail_cycles(struct locktable *lt, struct lockfile *file)
{
	struct waiter *next;

	for (struct waiter *w = file->waiters; w; w = next) {
		next = w->next;
		if (!w->want.flock && wait_makes_cycle(lt, file, &w->want))
			waiter_fail(lt, w, -KILN_EDEADLK);
	}
}

void wait_go_on(struct locktable *lt, struct lockfile *file)
{
	if (wait_grant(lt, file))
		wait_fail_cycles(lt, file);
}

/* --- waiting no longer ------------------------------------------------------------------------ */

bool locktable_interrupt(struct locktable *lt, struct session *s, uint64_t unique)
{
	struct waiter *w;

	lock_take(&lt->lock);
	w = waiter_find(lt, session_client(s), unique);
	if (w)
		waiter_fail(lt, w, -KILN_EINTR);
	locktable_drain(lt);
	return w != NULL;
}

void wait_drop(struct locktable *lt, uint64_t client)
{
	struct waiter *next;

	for (struct waiter *w = lt->waiters; w; w = next) {
		next = w->all_next;
		if (w->want.client == client)
			waiter_fail(lt, w, -KILN_EINTR);
	}
}

struct request *locktable_abandon(struct locktable *lt)
{
	struct request *list = NULL;

	lock_guard(&lt->lock);
	while (lt->waiters) {
		struct waiter *w = lt->waiters;
		struct lockset *set = w->set;

		waiter_unlink(lt, w);
		lock_answer_later(&list, w->req, 0);
		waiter_free(w);
		lockset_prune(lt, set);
	}
	return list;
}

/* GETLK, SETLK and SETLKW: fcntl(2) and flock(2) locks; lock_inner.h says how they are kept. */
#include "server/lock_inner.h"

#include "server/ops.h"
#include "server/session.h"
#include "server/volume.h"

#include <fcntl.h>

enum {
	LOCKS_PER_SET = 65536,
};

#define OFFSET_MAX ((uint64_t)INT64_MAX) /* what the kernel calls the end */

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
	h = range_find_in_the_way(*lockfile_link(lt, req->in.nodeid), &want);
	if (h)
		lk_fill(&req->out.lk.lk, &h->is, want.client);
	return 0;
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
	lockset_dirty(lt, set);
	wait_go_on(lt, set->file);
}

/* Enters the lock.  Something is in the way: -KILN_EAGAIN, or, if it is to wait, -KILN_EPARKED:
 * then the waiter is in the queue and no longer the caller's. */
static int set_lock(struct locktable *lt, struct lockset *set, struct waiter *w, bool wait)
{
	struct lockfile *file = set->file;

	if (range_is_so(set, &w->want))
		return 0;
	if (w->want.type == F_UNLCK || !range_find_in_the_way(file, &w->want)) {
		range_set(set, &w->want, w->spare);
		lockset_dirty(lt, set);
		wait_go_on(lt, file); /* unlocked, or no longer for writing */
		return 0;
	}
	flock_let_go(lt, set, &w->want);
	if (!wait)
		return -KILN_EAGAIN;
	if (!range_find_in_the_way(file, &w->want))
		return set_lock(lt, set, w, wait);
	if (!w->want.flock && wait_makes_cycle(lt, file, &w->want))
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

/* With the lock; what has been decided but needs storing first is answered by
 * locktable_drain. */
static int setlk_locked(struct locktable *lt, struct request *req, struct waiter *w)
{
	struct lockset *set;
	int err;

	if (session_dead(req->session)) { /* all it had has been dropped, and will not be again */
		waiter_free(w);
		return -KILN_ESTALE;
	}
	drop_double(lt, &w->want, w->unique);
	set = lockset_make(lt, req->in.nodeid, w->want.client);
	if (!set) {
		waiter_free(w);
		return -KILN_ENOMEM;
	}
	if (w->want.type != F_UNLCK && lockset_count(set) >= LOCKS_PER_SET)
		err = -KILN_ENOLCK;
	else
		err = set_lock(lt, set, w, req->in.opcode == FUSE_SETLKW);
	if (err == -KILN_EPARKED)
		return err;
	waiter_free(w);
	if (set->dirty) {
		lock_answer_later(&set->answers, req, err);
		return -KILN_EPARKED;
	}
	lockset_prune(lt, set);
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
	locktable_drain(lt);
	return err;
}

/* From the front into the database. */
#include "store/kv_rocks_impl.h"

#include "base/err.h"

struct filling {
	struct rocks *rocks;
	rocksdb_writebatch_t *batch;
};

static void fill_one(void *context, const struct front_change *c)
{
	struct filling *f = context;

	rocks_put(f->rocks, f->batch, c);
}

/* turn: what has been applied so far is on its way, all of it or nothing of a batch.  Of batches
 * without a change there is the number alone. */
static bool turn(struct rocks *r)
{
	bool some;

	lock_guard(&r->apply_lock);
	some = front_turn(r->front) || r->moving_through != r->applied;
	r->moving_through = r->applied;
	return some;
}

/* move_on: one batch for the database, so that its files hold a prefix of what was applied at every
 * moment, with the number of the last one. */
static int move_on(struct rocks *r)
{
	struct filling f = { r, rocksdb_writebatch_create() };
	int err;

	lock_assert_held(&r->move_lock);
	front_each(r->front, fill_one, &f);
	rocks_put_number(r, f.batch, r->moving_through);
	err = rocks_write(r, f.batch);
	rocksdb_writebatch_destroy(f.batch);
	if (err)
		front_fail(r->front);
	else
		front_moved(r->front);
	return err;
}

int rocks_move(struct rocks *r)
{
	lock_guard(&r->move_lock);
	if (kv_broken(&r->kv)) {
		front_fail(r->front); /* who waits for room need not wait any longer */
		return -KILN_EBADSTORE;
	}
	return turn(r) ? move_on(r) : 0;
}

/* await_work: false: there will be none. */
static bool await_work(struct rocks *r)
{
	lock_guard(&r->mover_lock);
	while (!r->full && !r->stop)
		cond_wait(&r->mover_work, &r->mover_lock);
	r->full = false;
	return !r->stop;
}

static void *keep_moving(void *context)
{
	struct rocks *r = context;

	pthread_setname_np(pthread_self(), "mover");
	while (await_work(r))
		(void)rocks_move(r); /* a failure has broken the store: those who apply are told */
	return NULL;
}

void rocks_move_soon(struct rocks *r)
{
	lock_guard(&r->mover_lock);
	r->full = true;
	cond_signal(&r->mover_work);
}

int rocks_move_begin(struct rocks *r)
{
	if (pthread_create(&r->mover, NULL, keep_moving, r))
		return -KILN_ENOTHREAD;
	r->begun = true;
	return 0;
}

void rocks_move_end(struct rocks *r)
{
	if (!r->begun)
		return;
	lock_take(&r->mover_lock);
	r->stop = true;
	cond_signal(&r->mover_work);
	lock_give(&r->mover_lock);
	pthread_join(r->mover, NULL);
	(void)rocks_move(r);
}

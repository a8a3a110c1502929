#include "server/sleep.h"

#include "base/lock.h"

struct sleeper {
	struct commit_wait wait;
	struct lock lock;
	struct cond woken;
	bool done; /* [lock] */
	int err;   /* [lock] */
};

static void sleeper_done(struct commit_wait *wait, int err)
{
	struct sleeper *s = (struct sleeper *)wait;

	lock_guard(&s->lock);
	s->done = true;
	s->err = err;
	cond_signal(&s->woken);
}

int sleep_durable(struct store *store, uint64_t seq)
{
	struct sleeper s = { .wait = { .seq = seq, .done = sleeper_done } };

	lock_init(&s.lock, LOCK_RANK_LEAF, "sleeper");
	cond_init(&s.woken);
	commit_wait(store_committer(store), &s.wait);
	lock_take(&s.lock);
	while (!s.done)
		cond_wait(&s.woken, &s.lock);
	lock_give(&s.lock);
	cond_destroy(&s.woken);
	lock_destroy(&s.lock);
	return s.err;
}

int sleep_view(struct store *store)
{
	durable_want(commit_view(store_committer(store)));
	return sleep_durable(store, 0); /* nothing counts as durable before there is a view */
}

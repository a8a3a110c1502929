/* store/commit.h: waiters, rounds, failures, epochs; over a key-value twin whose syncs can be
 * held and fail, and a disk twin. */
#include "base/clock.h"
#include "base/err.h"
#include "base/lock.h"
#include "store/commit.h"
#include "tests/fault.h"
#include "tests/unit/tmpdir.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct fixture {
	char *dir;
	struct kv *kv; /* the twin */
	struct fault_disk *disk;
	struct data *data;
	struct committer *c;
};

struct waiter {
	struct commit_wait wait;
	int err, calls;
};

/* Counts called-back waiters; the tests sleep on it. */
static struct lock lock;
static struct cond called;
static int called_count;

static int set_up(void **state)
{
	struct kv_options o = { .backend = "mem", .layout = "single", .create = true };
	struct commit_options commit = { .interval_ns = 3600 * NS_PER_S };
	struct fixture *f = calloc(1, sizeof(*f));

	lock_init(&lock, LOCK_RANK_LEAF, "test");
	cond_init(&called);
	called_count = 0;
	f->dir = tmpdir_make();
	assert_int_equal(kv_open(NULL, &o, &f->kv, NULL), 0);
	f->kv = fault_kv_wrap(f->kv);
	f->disk = fault_disk_new();
	assert_int_equal(data_open(f->dir, fault_disk(f->disk), 8, &f->data), 0);
	assert_int_equal(commit_start(f->kv, f->data, &commit, &f->c), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	fault_kv_go(f->kv);
	commit_stop(f->c);
	data_close(f->data);
	kv_close(f->kv);
	fault_disk_free(f->disk);
	tmpdir_remove(f->dir);
	free(f);
	return 0;
}

static void done(struct commit_wait *wait, int err)
{
	struct waiter *w = (struct waiter *)wait;

	lock_take(&lock);
	w->err = err;
	w->calls++;
	called_count++;
	cond_broadcast(&called);
	lock_give(&lock);
}

static void await_calls(int count)
{
	lock_take(&lock);
	while (called_count < count)
		cond_wait(&called, &lock);
	lock_give(&lock);
}

static uint64_t apply(struct fixture *f)
{
	struct kv_batch *b = kv_batch_new();
	uint64_t seq;

	assert_int_equal(kv_batch_put(b, KV_REST, "k", 1, "v", 1), 0);
	assert_int_equal(kv_apply(f->kv, b, 0, &seq), 0);
	kv_batch_free(b);
	commit_applied(f->c, seq);
	return seq;
}

static void park(struct fixture *f, struct waiter *w, uint64_t seq)
{
	*w = (struct waiter){ .wait = { .seq = seq, .done = done } };
	commit_wait(f->c, &w->wait);
}

static void a_waiter_is_called_when_durable(void **state)
{
	struct fixture *f = *state;
	uint64_t seq = apply(f);
	struct waiter w;

	assert_int_equal(commit_latest(f->c), seq);
	assert_true(commit_durable(f->c) < seq);
	park(f, &w, seq);
	await_calls(1);
	assert_int_equal(w.err, 0);
	assert_int_equal(w.calls, 1);
	assert_int_equal(commit_durable(f->c), seq);
	park(f, &w, seq); /* nothing left to do: at once, here */
	assert_int_equal(w.calls, 1);
	assert_int_equal(fault_kv_syncs(f->kv), 1);
}

static void one_sync_serves_all_who_wait(void **state)
{
	struct fixture *f = *state;
	struct waiter first, rest[20];
	struct commit_stats stats;

	fault_kv_hold(f->kv);
	park(f, &first, apply(f));
	fault_kv_await_sync(f->kv, 1);
	for (int i = 0; i < 20; i++)
		park(f, &rest[i], apply(f));
	assert_int_equal(called_count, 0);
	fault_kv_go(f->kv);
	await_calls(21);
	assert_int_equal(fault_kv_syncs(f->kv), 2);
	commit_stats(f->c, &stats);
	assert_int_equal(stats.syncs, 2);
	assert_int_equal(stats.waits, 21);
	assert_int_equal(stats.applied, stats.durable);
}

/* Applied before the sync began, parked while it ran: that sync is enough. */
static void a_late_waiter_needs_no_second_sync(void **state)
{
	struct fixture *f = *state;
	uint64_t early = apply(f), seq = apply(f);
	struct waiter first, late;

	fault_kv_hold(f->kv);
	park(f, &first, seq);
	fault_kv_await_sync(f->kv, 1);
	park(f, &late, early);
	fault_kv_go(f->kv);
	await_calls(2);
	assert_int_equal(fault_kv_syncs(f->kv), 1);
}

static void a_failed_sync_reaches_every_waiter(void **state)
{
	struct fixture *f = *state;
	struct waiter settled, first, rest[10], later;
	uint64_t old = apply(f), seq;

	park(f, &settled, old);
	await_calls(1);
	fault_kv_hold(f->kv);
	fault_kv_fail_sync(f->kv, 1, -KILN_EIO);
	seq = apply(f);
	park(f, &first, seq);
	fault_kv_await_sync(f->kv, 2);
	for (int i = 0; i < 10; i++)
		park(f, &rest[i], apply(f));
	fault_kv_go(f->kv);
	await_calls(12);
	assert_int_equal(first.err, -KILN_EIO);
	for (int i = 0; i < 10; i++)
		assert_int_equal(rest[i].err, -KILN_EBADSTORE);
	park(f, &later, seq);
	assert_int_equal(later.err, -KILN_EBADSTORE);
	park(f, &settled, old); /* was durable before, and still is */
	assert_int_equal(settled.err, 0);
	assert_int_equal(commit_durable(f->c), old);
	assert_non_null(kv_broken(f->kv));
	assert_int_equal(fault_kv_syncs(f->kv), 2); /* never tried again */
}

static void park_lazy(struct fixture *f, struct waiter *w, uint64_t seq)
{
	*w = (struct waiter){ .wait = { .seq = seq, .lazy = true, .done = done } };
	commit_wait(f->c, &w->wait);
}

/* The store may be idle for ever afterwards: no other round would come. */
static void a_round_serves_lazy_waiters_that_come_late(void **state)
{
	struct fixture *f = *state;
	uint64_t early = apply(f);
	struct waiter first, lazy;

	fault_kv_hold(f->kv);
	park(f, &first, apply(f));
	fault_kv_await_sync(f->kv, 1);
	park_lazy(f, &lazy, early);
	assert_int_equal(lazy.calls, 0);
	fault_kv_go(f->kv);
	await_calls(2);
	assert_int_equal(lazy.err, 0);
	assert_int_equal(fault_kv_syncs(f->kv), 1);
}

static void a_failed_sync_reaches_lazy_waiters(void **state)
{
	struct fixture *f = *state;
	struct waiter first, lazy;

	fault_kv_hold(f->kv);
	fault_kv_fail_sync(f->kv, 1, -KILN_EIO);
	park(f, &first, apply(f));
	fault_kv_await_sync(f->kv, 1);
	park_lazy(f, &lazy, apply(f));
	fault_kv_go(f->kv);
	await_calls(2);
	assert_int_equal(lazy.err, -KILN_EBADSTORE);
}

static void want_view(struct fixture *f)
{
	struct waiter w;

	durable_want(commit_view(f->c));
	park(f, &w, 0); /* nothing is durable before there is a view */
	await_calls(1);
	assert_int_equal(w.err, 0);
}

static void what_was_durable_in_a_view_stays_so(void **state)
{
	struct fixture *f = *state;
	struct waiter old, failed, again;
	uint64_t seq;

	want_view(f);
	seq = apply(f);
	park(f, &old, seq);
	await_calls(2);
	fault_kv_fail_sync(f->kv, 1, -KILN_EIO);
	park(f, &failed, apply(f));
	await_calls(3);
	assert_int_equal(failed.err, -KILN_EIO);
	park(f, &again, seq);
	assert_int_equal(again.calls, 1);
	assert_int_equal(again.err, 0);
}

static void a_view_that_cannot_be_taken_breaks_the_store(void **state)
{
	struct fixture *f = *state;
	struct waiter w;

	want_view(f);
	fault_kv_fail_view(f->kv, 1);
	park(f, &w, apply(f));
	await_calls(2);
	assert_int_equal(w.err, -KILN_ENOMEM);
	assert_non_null(kv_broken(f->kv)); /* takes no change that it will not commit */
}

static void data_files_are_synced_first(void **state)
{
	struct fixture *f = *state;
	struct data_id id = { .handle = 9, .brick = 1 };
	struct waiter w[2];
	struct commit_stats stats;
	unsigned before;

	assert_int_equal(data_write(f->data, id, "abc", 3, 0, false), 0);
	before = fault_disk_count(f->disk, FAULT_SYNC);
	for (int i = 0; i < 2; i++) {
		w[i] = (struct waiter){ .wait = { .seq = 0, .data = id, .done = done } };
		commit_wait(f->c, &w[i].wait);
	}
	await_calls(2);
	assert_int_equal(w[0].err | w[1].err, 0);
	assert_true(fault_disk_count(f->disk, FAULT_SYNC) > before);
	assert_int_equal(fault_kv_syncs(f->kv), 0); /* nothing was applied */
	fault_disk_crash(f->disk);
	char back[3];
	assert_int_equal(data_read(f->data, id, back, 3, 0, false), 0);
	assert_memory_equal(back, "abc", 3);
	commit_stats(f->c, &stats);
	assert_true(stats.data_files >= 1 && stats.data_files <= 2);
}

static void a_failed_data_sync_breaks_the_store(void **state)
{
	struct fixture *f = *state;
	struct data_id id = { .handle = 9, .brick = 1 };
	struct waiter w;

	assert_int_equal(data_write(f->data, id, "abc", 3, 0, false), 0);
	fault_disk_fail(f->disk, FAULT_SYNC, 1, -KILN_EIO);
	w = (struct waiter){ .wait = { .seq = apply(f), .data = id, .done = done } };
	commit_wait(f->c, &w.wait);
	await_calls(1);
	assert_int_equal(w.err, -KILN_EIO);
	assert_non_null(kv_broken(f->kv));
	assert_int_equal(fault_kv_syncs(f->kv), 0);
}

static void what_nobody_waits_for_is_committed_too(void **state)
{
	struct fixture *f = *state;
	struct commit_options commit = { .interval_ns = NS_PER_MS };

	commit_stop(f->c);
	assert_int_equal(commit_start(f->kv, f->data, &commit, &f->c), 0);
	apply(f);
	fault_kv_await_sync(f->kv, 1);
}

/* By then the thread sleeps until it is woken, and nobody waits who would. */
static void what_is_applied_after_a_rest_is_committed_too(void **state)
{
	struct fixture *f = *state;
	struct commit_options commit = { .interval_ns = 1 };
	uint64_t end = clock_mono() + 30 * NS_PER_S, seq;

	commit_stop(f->c);
	assert_int_equal(commit_start(f->kv, f->data, &commit, &f->c), 0);
	for (int i = 0; i < 1000; i++) {
		seq = apply(f);
		while (commit_durable(f->c) < seq) {
			assert_true(clock_mono() < end);
			sched_yield();
		}
	}
}

static void stopping_commits_and_calls_back(void **state)
{
	struct fixture *f = *state;
	struct commit_options commit = { 0 };
	struct waiter w;

	fault_kv_hold(f->kv);
	park(f, &w, apply(f));
	fault_kv_await_sync(f->kv, 1);
	apply(f);
	fault_kv_go(f->kv);
	commit_stop(f->c);
	assert_int_equal(w.calls, 1);
	assert_int_equal(fault_kv_syncs(f->kv), 2);
	assert_int_equal(commit_start(f->kv, f->data, &commit, &f->c), 0);
}

static void an_epoch_ends_when_a_round_begins(void **state)
{
	struct fixture *f = *state;
	uint64_t before = commit_epoch(f->c), other;
	struct commit_options commit = { 0 };
	struct committer *second;
	struct waiter w;

	assert_true(before != 0);
	fault_kv_hold(f->kv);
	park(f, &w, apply(f));
	fault_kv_await_sync(f->kv, 1);
	assert_int_equal(commit_epoch(f->c), before + 1);
	fault_kv_go(f->kv);
	await_calls(1);
	assert_int_equal(commit_start(f->kv, f->data, &commit, &second), 0);
	other = commit_epoch(second);
	assert_true(other > before + 1000 || other < before);
	commit_stop(second);
}

struct client {
	struct fixture *f;
	struct waiter w;
	bool ready;
};

static void done_client(struct commit_wait *wait, int err)
{
	struct client *c = (struct client *)((char *)wait - offsetof(struct client, w));

	lock_take(&lock);
	c->w.err = err;
	c->ready = true;
	cond_broadcast(&called);
	lock_give(&lock);
}

static void *apply_and_wait(void *context)
{
	struct client *c = context;

	for (int i = 0; i < 300; i++) {
		uint64_t seq = apply(c->f);

		c->ready = false;
		c->w.wait = (struct commit_wait){ .seq = seq, .done = done_client };
		commit_wait(c->f->c, &c->w.wait);
		lock_take(&lock);
		while (!c->ready)
			cond_wait(&called, &lock);
		lock_give(&lock);
		assert_int_equal(c->w.err, 0);
		assert_true(commit_durable(c->f->c) >= seq);
	}
	return NULL;
}

/* A lost wake-up would hang here. */
static void many_threads_apply_and_wait(void **state)
{
	struct client clients[8];
	pthread_t threads[8];

	for (int i = 0; i < 8; i++) {
		clients[i] = (struct client){ .f = *state };
		assert_int_equal(pthread_create(&threads[i], NULL, apply_and_wait, &clients[i]), 0);
	}
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_waiter_is_called_when_durable),
		TEST(one_sync_serves_all_who_wait),
		TEST(a_late_waiter_needs_no_second_sync),
		TEST(a_failed_sync_reaches_every_waiter),
		TEST(a_round_serves_lazy_waiters_that_come_late),
		TEST(a_failed_sync_reaches_lazy_waiters),
		TEST(what_was_durable_in_a_view_stays_so),
		TEST(a_view_that_cannot_be_taken_breaks_the_store),
		TEST(data_files_are_synced_first),
		TEST(a_failed_data_sync_breaks_the_store),
		TEST(what_nobody_waits_for_is_committed_too),
		TEST(what_is_applied_after_a_rest_is_committed_too),
		TEST(stopping_commits_and_calls_back),
		TEST(an_epoch_ends_when_a_round_begins),
		TEST(many_threads_apply_and_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

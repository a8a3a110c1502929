/* store/journal_sync.c: who syncs which segment, when, and who is told that it failed. */
#include "tests/unit/journal_fixture.h"

#include <pthread.h>
#include <sched.h>

/* One sync of what one segment took is one fdatasync, and none where nothing is new. */
static void a_sync_is_one_sync(void **state)
{
	struct fixture *f = *state;
	struct fault_disk *disk = fault_disk_new();
	unsigned before;

	end(f);
	f->options.disk = fault_disk(disk);
	begin(f);
	for (uint64_t n = 1; n <= 20; n += 2) {
		append_many(f, n, n + 1);
		before = fault_disk_count(disk, FAULT_SYNC);
		assert_int_equal(journal_sync(f->j), 0);
		assert_int_equal(fault_disk_count(disk, FAULT_SYNC), before + 1);
		assert_int_equal(journal_sync(f->j), 0);
		assert_int_equal(fault_disk_count(disk, FAULT_SYNC), before + 1);
	}
	end(f);
	f->options.disk = NULL;
	fault_disk_free(disk);
}

/* Two segments, of which the first is full and not synced. */
struct two {
	struct fault_disk *disk;
	int full, next; /* descriptors; next: the one that is written to */
	uint64_t synced, last;
};

static void on_faulty_disk(struct fixture *f, struct two *t)
{
	end(f);
	t->disk = fault_disk_new();
	f->options.disk = fault_disk(t->disk);
	begin(f);
	t->full = f->j->current->fd;
	lock_take(&f->j->lock);
	t->next = f->j->free.first->fd;
	lock_give(&f->j->lock);
}

static uint64_t append_over_the_end(struct fixture *f, uint64_t last)
{
	const struct segment *before = f->j->current;

	while (f->j->current == before)
		assert_int_equal(append(f, ++last), 0);
	return last;
}

/* fill_one: some batches are synced; then syncs of the first segment wait. */
static void fill_one(struct fixture *f, struct two *t)
{
	on_faulty_disk(f, t);
	t->synced = 5;
	append_many(f, 1, t->synced);
	assert_int_equal(journal_sync(f->j), 0);
	fault_file_hold(t->disk, t->full);
	t->last = append_over_the_end(f, t->synced);
	assert_int_equal(f->j->current->fd, t->next);
}

static void expect_syncs(const struct two *t, unsigned full, unsigned next)
{
	assert_int_equal(fault_file_syncs(t->disk, t->full), full);
	assert_int_equal(fault_file_syncs(t->disk, t->next), next);
}

static void off_faulty_disk(struct fixture *f, struct two *t)
{
	if (f->j)
		end(f);
	f->options.disk = NULL;
	fault_disk_free(t->disk);
}

struct syncing {
	struct journal *j;
	pthread_t thread;
	int err;
};

static void *sync_there(void *context)
{
	struct syncing *s = context;

	s->err = journal_sync(s->j);
	return NULL;
}

static void sync_begin(struct fixture *f, struct syncing *s)
{
	s->j = f->j;
	assert_int_equal(pthread_create(&s->thread, NULL, sync_there, s), 0);
}

static int sync_end(struct syncing *s)
{
	pthread_join(s->thread, NULL);
	return s->err;
}

static void a_full_segment_is_synced_at_once(void **state)
{
	struct fixture *f = *state;
	struct two t;

	fill_one(f, &t);
	fault_file_await(t.disk, t.full, 1, 0); /* nobody has asked for it */
	fault_file_go(t.disk, t.full);
	fault_file_hold(t.disk, t.next); /* nor is the one that is written to synced */
	fault_file_await(t.disk, t.full, 1, 1);
	assert_int_equal(fault_file_syncs(t.disk, t.next), 0);
	fault_file_go(t.disk, t.next);
	assert_int_equal(journal_sync(f->j), 0);
	expect_syncs(&t, 1, 1);
	off_faulty_disk(f, &t);
}

static void both_segments_are_synced_at_the_same_time(void **state)
{
	struct fixture *f = *state;
	struct syncing s;
	struct two t;

	fill_one(f, &t);
	fault_file_hold(t.disk, t.next);
	sync_begin(f, &s);
	fault_file_await(t.disk, t.full, 1, 0);
	fault_file_await(t.disk, t.next, 1, 0);
	assert_int_equal(__atomic_load_n(&f->j->durable, __ATOMIC_ACQUIRE), t.synced);
	fault_file_go(t.disk, t.next);
	fault_file_await(t.disk, t.next, 1, 1);
	assert_int_equal(__atomic_load_n(&f->j->durable, __ATOMIC_ACQUIRE), t.synced);
	fault_file_go(t.disk, t.full);
	assert_int_equal(sync_end(&s), 0);
	assert_int_equal(f->j->durable, t.last);
	expect_syncs(&t, 1, 1); /* by one of them, not by both */
	off_faulty_disk(f, &t);
}

/* The syncer hangs in one full segment: the other is synced by who needs it. */
static void nobody_waits_for_a_sync_that_has_not_begun(void **state)
{
	struct fixture *f = *state;
	struct syncing s;
	struct two t;

	fill_one(f, &t);
	fault_file_await(t.disk, t.full, 1, 0);
	fault_file_hold(t.disk, t.next); /* only to know it by */
	fault_file_go(t.disk, t.next);
	append_over_the_end(f, t.last);
	sync_begin(f, &s);
	fault_file_await(t.disk, t.next, 1, 1);
	fault_file_go(t.disk, t.full);
	assert_int_equal(sync_end(&s), 0);
	expect_syncs(&t, 1, 1);
	off_faulty_disk(f, &t);
}

/* It is full while it is being synced: what came later needs a second sync, after the first. */
static void a_segment_filled_during_its_sync_is_synced_again(void **state)
{
	struct fixture *f = *state;
	struct syncing s;
	struct two t;

	on_faulty_disk(f, &t);
	append_many(f, 1, 5);
	fault_file_hold(t.disk, t.full);
	sync_begin(f, &s);
	fault_file_await(t.disk, t.full, 1, 0);
	t.last = append_over_the_end(f, 5);
	fault_file_go(t.disk, t.full);
	assert_int_equal(sync_end(&s), 0);
	assert_int_equal(f->j->durable, 5);
	fault_file_await(t.disk, t.full, 2, 2);
	assert_int_equal(journal_sync(f->j), 0);
	assert_int_equal(f->j->durable, t.last);
	assert_int_equal(fault_file_syncs(t.disk, t.full), 2);
	off_faulty_disk(f, &t);
}

static size_t size_of(struct fixture *f, uint64_t number)
{
	struct kv_batch *b = kv_batch_new();

	make_batch(b, number);
	assert_int_equal(journal_encode(&f->record, b), 0);
	kv_batch_free(b);
	return f->record.len;
}

/* append_until_full: the next one goes to the next segment. */
static uint64_t append_until_full(struct fixture *f, uint64_t last)
{
	while (size_of(f, last + 1) <= SEGMENT - f->j->offset)
		assert_int_equal(append(f, ++last), 0);
	return last;
}

static bool is_synced(struct fixture *f, int fd)
{
	lock_guard(&f->j->lock);
	for (const struct segment *s = f->j->used.first; s; s = s->next)
		if (s->fd == fd)
			return s->sealed && s->synced;
	return false;
}

/* The committer syncs a segment that is full by now; the syncer has looked at it since.  The twin
 * aborts if it begins. */
static void a_segment_is_never_synced_by_two(void **state)
{
	struct fixture *f = *state;
	struct syncing s;
	struct two t;

	fill_one(f, &t);
	fault_file_hold(t.disk, t.next);
	sync_begin(f, &s);
	fault_file_await(t.disk, t.full, 1, 0);
	fault_file_await(t.disk, t.next, 1, 0);
	t.last = append_over_the_end(f, t.last);
	fault_file_go(t.disk, t.full);
	fault_file_await(t.disk, t.full, 1, 1);
	for (int i = 0; i < 1000; i++)
		sched_yield();
	fault_file_go(t.disk, t.next);
	assert_int_equal(sync_end(&s), 0);
	fault_file_await(t.disk, t.next, 2, 2);
	assert_int_equal(journal_sync(f->j), 0);
	assert_int_equal(f->j->durable, t.last);
	off_faulty_disk(f, &t);
}

/* All of the segment is durable when it is left, or will be by the sync that is under way. */
static void a_segment_with_nothing_new_is_not_synced_again(void **state)
{
	struct fixture *f = *state;
	struct syncing s;
	struct two t;

	on_faulty_disk(f, &t);
	fault_file_go(t.disk, t.full);
	t.last = append_until_full(f, 0);
	assert_int_equal(journal_sync(f->j), 0);
	assert_int_equal(append(f, ++t.last), 0);
	assert_true(is_synced(f, t.full));
	fault_file_hold(t.disk, t.next);
	t.last = append_until_full(f, t.last);
	sync_begin(f, &s);
	fault_file_await(t.disk, t.next, 1, 0);
	assert_int_equal(append(f, ++t.last), 0);
	assert_false(is_synced(f, t.next));
	fault_file_go(t.disk, t.next);
	assert_int_equal(sync_end(&s), 0);
	assert_true(is_synced(f, t.next));
	assert_int_equal(journal_sync(f->j), 0);
	assert_int_equal(f->j->durable, t.last);
	expect_syncs(&t, 1, 1);
	off_faulty_disk(f, &t);
}

/* The disk says it once, to the syncer; every commit from then on has to know. */
static void a_failed_early_sync_reaches_every_commit(void **state)
{
	struct fixture *f = *state;
	struct two t;

	fill_one(f, &t);
	fault_file_fail(t.disk, t.full, -KILN_EIO);
	fault_file_await(t.disk, t.full, 1, 0);
	fault_file_go(t.disk, t.full);
	fault_file_await(t.disk, t.full, 1, 1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(journal_sync(f->j), -KILN_EIO);
		assert_int_equal(append(f, ++t.last), 0);
	}
	append_over_the_end(f, t.last);
	assert_int_equal(journal_sync(f->j), -KILN_EIO);
	assert_int_equal(f->j->durable, t.synced);
	assert_int_equal(fault_file_syncs(t.disk, t.full), 1); /* and nobody tries again */
	off_faulty_disk(f, &t);
}

static void a_failed_early_sync_reaches_the_commit_that_waits(void **state)
{
	struct fixture *f = *state;
	struct syncing s;
	struct two t;

	fill_one(f, &t);
	fault_file_fail(t.disk, t.full, -KILN_ENOSPC);
	fault_file_await(t.disk, t.full, 1, 0);
	fault_file_hold(t.disk, t.next);
	fault_file_go(t.disk, t.next);
	sync_begin(f, &s);
	fault_file_await(t.disk, t.next, 1, 1); /* its own has gone well */
	fault_file_go(t.disk, t.full);
	assert_int_equal(sync_end(&s), -KILN_ENOSPC);
	assert_int_equal(journal_sync(f->j), -KILN_ENOSPC);
	assert_int_equal(f->j->durable, t.synced);
	off_faulty_disk(f, &t);
}

struct closing {
	struct journal *j;
	bool closed; /* atomic */
};

static void *close_there(void *context)
{
	struct closing *c = context;

	journal_close(c->j);
	__atomic_store_n(&c->closed, true, __ATOMIC_RELEASE);
	return NULL;
}

/* The twin aborts if a file is closed while it is being synced. */
static void closing_waits_for_a_sync(void **state)
{
	struct fixture *f = *state;
	struct closing c = { 0 };
	pthread_t thread;
	struct two t;
	int dup_of_full;

	fill_one(f, &t);
	fault_file_await(t.disk, t.full, 1, 0);
	dup_of_full = dup(t.full);
	c.j = f->j;
	assert_int_equal(pthread_create(&thread, NULL, close_there, &c), 0);
	for (bool stop = false; !stop; sched_yield()) {
		lock_take(&f->j->lock);
		stop = f->j->stop;
		lock_give(&f->j->lock);
	}
	for (int i = 0; i < 1000; i++) {
		assert_false(__atomic_load_n(&c.closed, __ATOMIC_ACQUIRE));
		sched_yield();
	}
	fault_file_go(t.disk, dup_of_full);
	pthread_join(thread, NULL);
	f->j = NULL;
	close(dup_of_full);
	off_faulty_disk(f, &t);
	expect_replay(f, t.last);
}

/* The database has all of it, and the keeper looks at it before it makes each segment. */
static void a_segment_is_not_given_back_while_it_is_synced(void **state)
{
	struct fixture *f = *state;
	const struct segment *full;
	struct two t;

	fill_one(f, &t);
	fault_file_await(t.disk, t.full, 1, 0);
	__atomic_store_n(&f->persisted, t.last, __ATOMIC_RELEASE);
	for (int i = 0; i < 4; i++)
		t.last = append_over_the_end(f, t.last);
	lock_take(&f->j->lock);
	full = f->j->used.first;
	assert_int_equal(full->fd, t.full);
	assert_true(full->pinned && full->sealed && full->order);
	lock_give(&f->j->lock);
	fault_file_go(t.disk, t.full);
	fault_file_await(t.disk, t.full, 1, 1);
	__atomic_store_n(&f->persisted, t.last - 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 4; i++)
		t.last = append_over_the_end(f, t.last);
	lock_take(&f->j->lock);
	assert_int_not_equal(f->j->used.first->fd, t.full);
	lock_give(&f->j->lock);
	off_faulty_disk(f, &t);
}

static void *append_there(void *context)
{
	struct fixture *f = context;

	append_over_the_end(f, f->last);
	return NULL;
}

/* No other file can be made; the segment that could be used again is being synced. */
static void a_full_disk_waits_for_a_sync(void **state)
{
	struct fixture *f = *state;
	bool wanted = false, failed = false;
	pthread_t thread;
	struct two t;

	on_faulty_disk(f, &t);
	fault_disk_fail_all(t.disk, FAULT_OPEN, -KILN_ENOSPC);
	fault_file_hold(t.disk, t.full);
	f->last = append_over_the_end(f, 0);
	fault_file_await(t.disk, t.full, 1, 0);
	__atomic_store_n(&f->flush_to, f->last - 1, __ATOMIC_RELEASE);
	assert_int_equal(pthread_create(&thread, NULL, append_there, f), 0);
	for (int i = 0; i < 1000 && !failed; i += wanted, sched_yield()) {
		lock_take(&f->j->lock);
		wanted |= f->j->wanted != 0;
		failed = f->j->failed;
		lock_give(&f->j->lock);
	}
	assert_false(failed);
	fault_file_go(t.disk, t.full);
	pthread_join(thread, NULL);
	assert_int_equal(f->j->current->fd, t.full);
	off_faulty_disk(f, &t);
}

static uint64_t order_on_disk(const struct fixture *f, uint64_t order)
{
	struct files l;
	uint64_t first = 0;

	files_load(&l, f->dir);
	for (int i = 0; i < l.count; i++)
		if (l.bytes[i][0] && l.bytes[i][8] == order)
			first = l.bytes[i][24] | l.bytes[i][25] << 8;
	files_drop(&l);
	return first;
}

/* The power goes when the next segment is on the disk and the end of the full one is not. */
static void a_later_segment_on_the_disk_does_not_count(void **state)
{
	struct fixture *f = *state;
	struct syncing s;
	struct two t;
	uint64_t first, order;

	fill_one(f, &t);
	append_many(f, t.last + 1, t.last + 3);
	first = f->j->current->first;
	order = f->j->current->order;
	fault_file_hold(t.disk, t.next);
	sync_begin(f, &s);
	fault_file_await(t.disk, t.full, 1, 0);
	fault_file_go(t.disk, t.next);
	fault_file_await(t.disk, t.next, 1, 1);
	fault_disk_fail_syncs(t.disk);
	assert_int_equal(sync_end(&s), -KILN_EIO);
	end(f);
	fault_disk_crash(t.disk);
	assert_int_equal(order_on_disk(f, order), first); /* it is there */
	expect_replay(f, t.synced);
	begin(f);
	append_many(f, t.synced + 1, t.synced + 2);
	assert_int_equal(journal_sync(f->j), 0);
	append_many(f, t.synced + 3, t.synced + 4);
	end(f);
	expect_replay(f, t.synced + 4);
	off_faulty_disk(f, &t);
}

/* put_behind: f->record as batch `number` where the segment being written to ends, as if it had been
 * appended. */
static void put_behind(struct fixture *f, uint64_t number, unsigned name, uint64_t at,
		       uint64_t generation)
{
	struct record_head h = { .number = number, .generation = generation, .hash = f->record.hash,
				 .len = (uint32_t)(f->record.len - RECORD_HEAD) };

	record_put_head(f->record.bytes, &h);
	file_write(f->dir, name, f->record.bytes, f->record.len, at);
}

/* Earlier versions could take a batch back, and give its number to the next one.  Here that one was
 * larger and no longer fitted, and the zeros that took the first one back are lost: what the next
 * segment holds under that number counts. */
static void what_was_taken_back_at_a_switch_does_not_come_back(void **state)
{
	struct fixture *f = *state;
	uint64_t last = 5, at, left, generation;
	unsigned name;

	append_many(f, 1, last);
	do {
		assert_int_equal(append(f, ++last), 0);
		left = SEGMENT - f->j->offset;
	} while (left >= size_of(f, last + 1) || left < size_of(f, 1));
	at = f->j->offset;
	name = f->j->current->name;
	generation = f->j->current->generation;
	append_many(f, last + 1, last + 2);
	assert_int_not_equal(f->j->current->name, name);
	end(f);
	size_of(f, 1);
	put_behind(f, last + 1, name, at, generation);
	expect_replay(f, last + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_sync_is_one_sync),
		TEST(a_full_segment_is_synced_at_once),
		TEST(both_segments_are_synced_at_the_same_time),
		TEST(nobody_waits_for_a_sync_that_has_not_begun),
		TEST(a_segment_filled_during_its_sync_is_synced_again),
		TEST(a_segment_is_never_synced_by_two),
		TEST(a_segment_with_nothing_new_is_not_synced_again),
		TEST(a_failed_early_sync_reaches_every_commit),
		TEST(a_failed_early_sync_reaches_the_commit_that_waits),
		TEST(closing_waits_for_a_sync),
		TEST(a_segment_is_not_given_back_while_it_is_synced),
		TEST(a_full_disk_waits_for_a_sync),
		TEST(a_later_segment_on_the_disk_does_not_count),
		TEST(what_was_taken_back_at_a_switch_does_not_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

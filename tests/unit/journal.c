/* store/journal.h: what is replayed after every kind of end, what is refused, how segments are
 * used again.  Batch n puts the key "n<number>"; every third one is larger. */
#include "store/journal.h"

#include "base/err.h"
#include "tests/fault.h"
#include "tests/unit/segments.h"
#include "tests/unit/tmpdir.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/journal_impl.h" /* for the sizes of heads, and kv_batch's inside */
#include "store/kv_impl.h"

enum { SEGMENT = 16 << 10 };

struct fixture {
	char *dir;
	struct journal_options options;
	struct journal *j;
	uint64_t persisted, flush_to; /* atomic; flush: persisted becomes flush_to */
	uint64_t through, seen;       /* of the last replay: where it ended, how many it gave */
	uint64_t offset;              /* of the last append, in its segment */
	uint64_t last;                /* what append_there goes on from */
	struct journal_record record;
};

static uint64_t persisted(void *context)
{
	return __atomic_load_n(&((struct fixture *)context)->persisted, __ATOMIC_ACQUIRE);
}

static int flush(void *context)
{
	struct fixture *f = context;
	uint64_t to = __atomic_load_n(&f->flush_to, __ATOMIC_ACQUIRE);

	if (to)
		__atomic_store_n(&f->persisted, to, __ATOMIC_RELEASE);
	return to ? 0 : -KILN_EIO;
}

static void make_batch(struct kv_batch *b, uint64_t number)
{
	static char value[3000];
	char key[32];
	int len = snprintf(key, sizeof(key), "n%llu", (unsigned long long)number);

	memset(value, 'v', sizeof(value));
	kv_batch_clear(b);
	assert_int_equal(kv_batch_put(b, KV_INODE, key, (size_t)len, value,
				      number % 3 ? number % 50 : number % sizeof(value)),
			 0);
	if (number % 5 == 0)
		assert_int_equal(kv_batch_del(b, KV_REST, key, (size_t)len), 0);
	if (number % 7 == 0)
		assert_int_equal(kv_batch_del(b, KV_DIRENT, "a", 1), 0);
}

/* replayed: exactly the batch that was appended, and the one that is due. */
static int replayed(void *context, uint64_t number, const struct kv_batch *b)
{
	struct fixture *f = context;
	struct kv_batch *want = kv_batch_new();

	make_batch(want, number);
	assert_int_equal(number, f->persisted + ++f->seen);
	assert_int_equal(b->count, want->count);
	assert_int_equal(b->bytes_used, want->bytes_used);
	assert_memory_equal(b->bytes, want->bytes, want->bytes_used);
	for (size_t i = 0; i < b->count; i++)
		assert_int_equal(b->records[i].kind, want->records[i].kind);
	kv_batch_free(want);
	return 0;
}

static int look(struct fixture *f, char **why)
{
	int err = journal_open(f->dir, &f->options, &f->j, why);

	f->seen = 0;
	return err ? err : journal_replay(f->j, f->persisted, replayed, f, &f->through, why);
}

static void begin(struct fixture *f)
{
	struct journal_owner owner = { .persisted = persisted, .flush = flush, .context = f };
	char *why = NULL;

	if (look(f, &why))
		fail_msg("%s", why);
	f->persisted = f->through;
	assert_int_equal(journal_begin(f->j, f->through, &owner, &why), 0);
}

static void end(struct fixture *f)
{
	journal_close(f->j);
	f->j = NULL;
}

static int append(struct fixture *f, uint64_t number)
{
	struct kv_batch *b = kv_batch_new();
	uint64_t given;
	int err;

	make_batch(b, number);
	assert_int_equal(journal_encode(&f->record, b), 0);
	kv_batch_free(b);
	do
		err = journal_append(f->j, &f->record, &given);
	while (err == -KILN_EWOULDBLOCK && !(err = journal_await_room(f->j, &f->record)));
	if (err)
		return err;
	assert_int_equal(given, number);
	f->offset = f->j->offset - f->record.len;
	return 0;
}

static void append_many(struct fixture *f, uint64_t from, uint64_t to)
{
	for (uint64_t n = from; n <= to; n++)
		assert_int_equal(append(f, n), 0);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->dir = tmpdir_make();
	f->options = (struct journal_options){ .segment_bytes = SEGMENT, .create = true };
	begin(f);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	end(f);
	journal_record_free(&f->record);
	tmpdir_remove(f->dir);
	free(f);
	return 0;
}

static void expect_replay(struct fixture *f, uint64_t through)
{
	char *why = NULL;

	if (look(f, &why))
		fail_msg("%s", why);
	assert_int_equal(f->through, through);
	assert_int_equal(f->seen, through - f->persisted);
	end(f);
}

static void expect_refused(struct fixture *f, const char *says)
{
	char *why = NULL;

	assert_int_equal(look(f, &why), -KILN_ECORRUPT);
	assert_non_null(why);
	if (!strstr(why, says))
		fail_msg("\"%s\" does not say \"%s\"", why, says);
	assert_int_equal(f->seen, 0);
	free(why);
	end(f);
}

static void what_is_appended_is_replayed(void **state)
{
	struct fixture *f = *state;

	append_many(f, 1, 300);
	end(f);
	expect_replay(f, 300);
	f->persisted = 123;
	expect_replay(f, 300);
	f->persisted = 1000; /* files can be ahead of the journal after a power cut */
	expect_replay(f, 1000);
}

static void nothing_is_replayed_twice(void **state)
{
	struct fixture *f = *state;

	append_many(f, 1, 10);
	end(f);
	begin(f);
	assert_int_equal(f->through, 10);
	append_many(f, 11, 20);
	end(f);
	expect_replay(f, 20);
	f->persisted = 0; /* the files that held the first ten are gone */
	expect_refused(f, "lost batch 1,");
}

/* Everything from each byte of the last three records on is zeros, or one bit there is wrong. */
static void a_tail_torn_at_any_byte_ends_the_journal(void **state)
{
	struct fixture *f = *state;
	static unsigned char zeros[SEGMENT];
	uint64_t at[4];
	struct files l;

	append_many(f, 1, 2);
	assert_int_equal(journal_sync(f->j), 0);
	for (uint64_t n = 3; n <= 6; n++) {
		assert_int_equal(append(f, n), 0);
		at[n - 3] = f->offset;
	}
	end(f);
	files_load(&l, f->dir);
	for (uint64_t cut = at[0]; cut < at[3] + RECORD_HEAD; cut++) {
		uint64_t whole = cut < at[1] ? 2 : cut < at[2] ? 3 : cut < at[3] ? 4 : 5;
		int i = l.bytes[0][0] ? 0 : 1;
		unsigned char wrong = l.bytes[i][cut] ^ 0x10;

		file_write(f->dir, l.name[i], &wrong, 1, cut);
		expect_replay(f, whole);
		file_write(f->dir, l.name[i], zeros, SEGMENT - cut, cut);
		expect_replay(f, whole);
		files_restore(&l, f->dir);
	}
	expect_replay(f, 6);
	files_drop(&l);
}

static void what_was_synced_is_not_missed_silently(void **state)
{
	struct fixture *f = *state;
	uint64_t at[4], tail;
	struct files l;
	int i;

	for (uint64_t n = 1; n <= 3; n++) {
		assert_int_equal(append(f, n), 0);
		at[n] = f->offset;
	}
	assert_int_equal(journal_sync(f->j), 0);
	append_many(f, 4, 5); /* these say that three were durable */
	tail = f->offset;
	end(f);
	files_load(&l, f->dir);
	i = l.bytes[0][0] ? 0 : 1;
	for (uint64_t bad = at[2]; bad < at[3] + RECORD_HEAD; bad++) {
		unsigned char wrong = l.bytes[i][bad] ^ 1;
		char *name = path_of("", l.name[i]);

		file_write(f->dir, l.name[i], &wrong, 1, bad);
		expect_refused(f, name);
		f->persisted = 3; /* the database has them, so they are not missed */
		expect_replay(f, bad < at[3] + RECORD_HEAD ? 3 : 5);
		f->persisted = 0;
		files_restore(&l, f->dir);
		free(name);
	}
	{ /* the last that says so is gone as well: nothing can tell that from a torn tail */
		static unsigned char zeros[SEGMENT];

		file_write(f->dir, l.name[i], zeros, SEGMENT - at[3], at[3]);
		expect_replay(f, 2);
		assert_true(tail > at[3]);
	}
	files_drop(&l);
}

static unsigned name_with(const struct files *l, uint64_t order)
{
	for (int i = 0; i < l->count; i++)
		if (l->bytes[i][8] == order && l->bytes[i][0])
			return l->name[i];
	fail_msg("no segment of that order");
	return 0;
}

static void a_lost_segment_is_told(void **state)
{
	struct fixture *f = *state, gone = { .options = { .segment_bytes = SEGMENT } };
	char *path, *aside;
	unsigned second;
	struct files l;

	append_many(f, 1, 600);
	assert_int_equal(journal_sync(f->j), 0);
	append_many(f, 601, 602);
	end(f);
	files_load(&l, f->dir);
	second = name_with(&l, 2);
	path = path_of(f->dir, second);
	assert_true(asprintf(&aside, "%s.aside", f->dir) > 0);
	assert_int_equal(rename(path, aside), 0);
	expect_refused(f, "missing");
	assert_int_equal(rename(aside, path), 0);
	file_spoil(f->dir, second, &l, 20); /* within its head */
	expect_refused(f, strrchr(path, '/'));
	files_restore(&l, f->dir);
	expect_replay(f, 602);
	gone.dir = aside;
	expect_refused(&gone, "missing");
	free(aside);
	free(path);
	files_drop(&l);
}

static void a_short_segment_is_told_unless_it_was_being_made(void **state)
{
	struct fixture *f = *state;
	struct files l;
	char *path;

	append_many(f, 1, 5);
	end(f);
	files_load(&l, f->dir);
	path = path_of(f->dir, name_with(&l, 1));
	assert_int_equal(truncate(path, SEGMENT - 100), 0);
	expect_refused(f, "too short");
	assert_int_equal(truncate(path, SEGMENT / 2), 0);
	expect_refused(f, path);
	assert_int_equal(truncate(path, 10), 0);
	expect_refused(f, "too short");
	assert_int_equal(truncate(path, SEGMENT), 0);
	files_restore(&l, f->dir);
	free(path);
	path = path_of(f->dir, 77);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(truncate(path, 5000), 0);
	expect_replay(f, 5);
	assert_int_equal(access(path, F_OK), -1);
	free(path);
	files_drop(&l);
}

/* What lies beyond a torn record is valid, and of consecutive segments: it must not come back
 * once the numbers have been given anew. */
static void nothing_beyond_a_gap_comes_back(void **state)
{
	struct fixture *f = *state;
	unsigned char zero[RECORD_HEAD] = { 0 };
	uint64_t at40 = 0;
	unsigned name = 0;

	for (uint64_t n = 1; n <= 400; n++) {
		assert_int_equal(append(f, n), 0);
		if (n == 40) {
			at40 = f->offset;
			name = f->j->current->name;
		}
	}
	end(f);
	file_write(f->dir, name, zero, sizeof(zero), at40);
	begin(f);
	assert_int_equal(f->through, 39);
	append_many(f, 40, 41);
	end(f);
	expect_replay(f, 41);
	begin(f);
	append_many(f, 42, 300);
	end(f);
	expect_replay(f, 300);
}

static void a_batch_larger_than_a_segment_gets_one(void **state)
{
	struct fixture *f = *state;
	struct kv_batch *b = kv_batch_new();
	char *value = calloc(1, 1 << 20);
	struct journal_stats stats;
	uint64_t number;
	char *why;

	assert_int_equal(kv_batch_put(b, KV_REST, "large", 5, value, 1 << 20), 0);
	assert_int_equal(journal_encode(&f->record, b), 0);
	append_many(f, 1, 1);
	assert_int_equal(journal_encode(&f->record, b), 0);
	assert_int_equal(journal_append(f->j, &f->record, &number), -KILN_EWOULDBLOCK);
	assert_int_equal(journal_await_room(f->j, &f->record), 0);
	assert_int_equal(journal_append(f->j, &f->record, &number), 0);
	assert_int_equal(number, 2);
	append_many(f, 3, 30);
	journal_stats(f->j, &stats);
	assert_true(stats.bytes > 1 << 20);
	assert_true(stats.segments >= 3);
	end(f);
	f->persisted = 2;
	expect_replay(f, 30);
	f->persisted = 1;
	assert_int_equal(journal_open(f->dir, &f->options, &f->j, &why), 0);
	end(f);
	kv_batch_free(b);
	free(value);
}

static void persisted_segments_are_used_again(void **state)
{
	struct fixture *f = *state;
	struct journal_stats stats;

	for (uint64_t n = 1; n <= 5000; n++) {
		assert_int_equal(append(f, n), 0);
		if (n % 100 == 0)
			__atomic_store_n(&f->persisted, n - 50, __ATOMIC_RELEASE);
		if (n % 500 == 0)
			assert_int_equal(journal_sync(f->j), 0);
	}
	journal_stats(f->j, &stats);
	assert_true(stats.switches > 100);
	assert_true(stats.segments <= 16 + 8 + 2);
	end(f);
	expect_replay(f, 5000);
}

static void a_long_journal_asks_for_a_flush(void **state)
{
	struct fixture *f = *state;
	struct journal_stats stats;

	f->flush_to = 1;
	for (uint64_t n = 1; n <= 5000; n++) {
		__atomic_store_n(&f->flush_to, n, __ATOMIC_RELEASE);
		assert_int_equal(append(f, n), 0);
	}
	journal_stats(f->j, &stats);
	assert_true(stats.segments < stats.switches / 2);
	end(f);
	assert_true(f->persisted > 0);
	expect_replay(f, 5000);
}

static void where_nothing_more_fits_a_flush_makes_room(void **state)
{
	struct fixture *f = *state;
	struct fault_disk *disk = fault_disk_new();
	int err = 0;

	end(f);
	f->options.disk = fault_disk(disk);
	begin(f);
	for (uint64_t n = 1; n <= 1000; n++) {
		if (n % 100 == 0) /* creating fails from now on */
			fault_disk_fail(disk, FAULT_OPEN, 1, -KILN_ENOSPC);
		__atomic_store_n(&f->flush_to, n - 1 ? n - 1 : 1, __ATOMIC_RELEASE);
		assert_int_equal(append(f, n), 0);
	}
	__atomic_store_n(&f->flush_to, 0, __ATOMIC_RELEASE);
	assert_int_equal(journal_sync(f->j), 0);
	for (uint64_t n = 1001; !err && n < 3000; n++) {
		fault_disk_fail(disk, FAULT_OPEN, 1, -KILN_ENOSPC);
		err = append(f, n);
	}
	assert_int_equal(err, -KILN_ENOSPC);
	end(f);
	f->options.disk = NULL;
	fault_disk_free(disk);
}

static void a_full_disk_at_creation_is_told(void **state)
{
	struct fixture *f = *state, g = { .dir = tmpdir_make(), .options = f->options };
	struct fault_disk *disk = fault_disk_new();
	struct journal_owner owner = { .persisted = persisted, .flush = flush, .context = &g };
	struct files l;
	char *why = NULL;

	g.options.disk = fault_disk(disk);
	assert_int_equal(look(&g, &why), 0);
	fault_disk_fail(disk, FAULT_WRITE, 2, -KILN_ENOSPC);
	assert_int_equal(journal_begin(g.j, 0, &owner, &why), -KILN_ENOSPC);
	assert_non_null(strstr(why, "no space left"));
	assert_non_null(strstr(why, g.dir));
	free(why);
	end(&g);
	files_load(&l, g.dir);
	assert_int_equal(l.count, 1); /* the one that failed is gone */
	files_drop(&l);
	begin(&g);
	append_many(&g, 1, 5);
	end(&g);
	expect_replay(&g, 5);
	fault_disk_free(disk);
	journal_record_free(&g.record);
	tmpdir_remove(g.dir);
}

static void a_disk_that_fails_is_told(void **state)
{
	struct fixture *f = *state;
	struct fault_disk *disk = fault_disk_new();
	struct kv_batch *b = kv_batch_new();
	uint64_t number;

	end(f);
	f->options.disk = fault_disk(disk);
	begin(f);
	append_many(f, 1, 2);
	fault_disk_fail(disk, FAULT_SYNC, 1, -KILN_EIO);
	assert_int_equal(journal_sync(f->j), -KILN_EIO);
	make_batch(b, 3);
	assert_int_equal(journal_encode(&f->record, b), 0);
	fault_disk_fail(disk, FAULT_WRITE, 1, -KILN_EIO);
	assert_int_equal(journal_append(f->j, &f->record, &number), -KILN_EIO);
	kv_batch_free(b);
	end(f);
	expect_replay(f, 2);
	f->options.disk = NULL;
	fault_disk_free(disk);
}

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
	assert_int_equal(fault_file_syncs(t.disk, t.full), 1);
	assert_int_equal(fault_file_syncs(t.disk, t.next), 1);
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
	assert_int_equal(fault_file_syncs(t.disk, t.full), 1); /* by one of them, not by both */
	assert_int_equal(fault_file_syncs(t.disk, t.next), 1);
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
	assert_int_equal(fault_file_syncs(t.disk, t.full), 1);
	assert_int_equal(fault_file_syncs(t.disk, t.next), 1);
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
	assert_int_equal(fault_file_syncs(t.disk, t.full), 1);
	assert_int_equal(fault_file_syncs(t.disk, t.next), 1);
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

/* sync_one_file: one of the files, whichever, is on the disk as it is now: segments are synced, and
 * written back, in any order. */
static void sync_one_file(const char *dir, struct files *synced, unsigned *seed)
{
	struct files now;
	int k = rand_r(seed) % synced->count;

	files_load(&now, dir);
	for (int i = 0; i < now.count; i++)
		if (now.name[i] == synced->name[k] && now.size[i] == synced->size[k])
			memcpy(synced->bytes[k], now.bytes[i], now.size[i]);
	files_drop(&now);
}

static void random_power_cuts_leave_a_prefix(void **state)
{
	struct fixture *f = *state;
	struct files synced = { .count = 0 };
	uint64_t last = 0, durable = 0, most = 0;
	unsigned seed = 4711;

	files_load(&synced, f->dir);
	for (int round = 0; round < 150; round++) {
		int steps = rand_r(&seed) % 300;
		bool cut = rand_r(&seed) % 4 != 0;

		for (int i = 0; i < steps; i++) {
			assert_int_equal(append(f, ++last), 0);
			if (rand_r(&seed) % 40 == 0) {
				assert_int_equal(journal_sync(f->j), 0);
				durable = last;
				files_drop(&synced);
				files_load(&synced, f->dir);
			}
			if (rand_r(&seed) % 50 == 0)
				sync_one_file(f->dir, &synced, &seed);
			if (rand_r(&seed) % 60 == 0) /* the files can be ahead of the syncs */
				__atomic_store_n(&f->persisted,
						 f->persisted + rand_r(&seed) % (last - f->persisted + 1),
						 __ATOMIC_RELEASE);
		}
		end(f);
		if (cut)
			power_cut(f->dir, &synced, &seed);
		if (durable < f->persisted)
			durable = f->persisted;
		begin(f); /* replayed() checks every batch and their order */
		assert_true(f->through >= durable);
		assert_true(f->through <= last);
		if (!cut)
			assert_int_equal(f->through, last);
		most += last - f->through;
		last = durable = f->through;
		files_drop(&synced);
		files_load(&synced, f->dir);
	}
	assert_true(most > 500); /* the cuts have cut something */
	files_drop(&synced);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_appended_is_replayed),
		TEST(nothing_is_replayed_twice),
		TEST(a_tail_torn_at_any_byte_ends_the_journal),
		TEST(what_was_synced_is_not_missed_silently),
		TEST(a_lost_segment_is_told),
		TEST(a_short_segment_is_told_unless_it_was_being_made),
		TEST(nothing_beyond_a_gap_comes_back),
		TEST(a_batch_larger_than_a_segment_gets_one),
		TEST(persisted_segments_are_used_again),
		TEST(a_long_journal_asks_for_a_flush),
		TEST(where_nothing_more_fits_a_flush_makes_room),
		TEST(a_full_disk_at_creation_is_told),
		TEST(a_disk_that_fails_is_told),
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
		TEST(random_power_cuts_leave_a_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

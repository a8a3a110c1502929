/* store/journal.h: what is replayed after every kind of end, what is refused, how segments are
 * used again. */
#include "tests/unit/journal_fixture.h"

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
		TEST(random_power_cuts_leave_a_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

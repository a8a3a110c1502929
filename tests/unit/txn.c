/* store/txn.h: groups see their own changes, undo, merged scans, one batch for all. */
#include "base/err.h"
#include "store/kv_impl.h"
#include "store/txn.h"
#include "tests/unit/tmpdir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct fixture {
	char *dir;
	struct store *store;
	struct txn *group, *reader;
};

static int set_up(void **state)
{
	struct store_options o = { .backend = "mem", .layout = "split", .create = true };
	struct fixture *f = calloc(1, sizeof(*f));
	char *why;

	f->dir = tmpdir_make();
	assert_int_equal(store_open(f->dir, &o, &f->store, &why), 0);
	f->group = txn_group_new(f->store, 7);
	f->reader = txn_reader_new(f->store);
	txn_look(f->reader, 7, NULL);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	txn_free(f->group);
	txn_free(f->reader);
	store_close(f->store);
	tmpdir_remove(f->dir);
	free(f);
	return 0;
}

static void put(struct txn *t, const char *key, const char *value)
{
	assert_int_equal(txn_put(t, KV_REST, key, strlen(key), value, strlen(value)), 0);
}

static void del(struct txn *t, const char *key)
{
	assert_int_equal(txn_del(t, KV_REST, key, strlen(key)), 0);
}

static void expect(struct txn *t, const char *key, const char *value)
{
	char buf[64];
	size_t len;
	int err = txn_get(t, KV_REST, key, strlen(key), buf, sizeof(buf), &len);

	assert_int_equal(err, value ? 0 : -KILN_ENOENT);
	if (value) {
		assert_int_equal(len, strlen(value));
		assert_memory_equal(buf, value, len);
	}
}

static void apply(struct txn *t)
{
	uint64_t seq;

	assert_int_equal(txn_apply(t, &seq), 0);
	assert_true(txn_empty(t));
	assert_true(commit_latest(store_committer(txn_store(t))) >= seq);
}

static void only_the_group_sees_its_changes(void **state)
{
	struct fixture *f = *state;

	put(f->group, "a", "1");
	expect(f->group, "a", "1");
	expect(f->reader, "a", NULL);
	apply(f->group);
	expect(f->group, "a", "1");
	expect(f->reader, "a", "1");
	del(f->group, "a");
	expect(f->group, "a", NULL);
	expect(f->reader, "a", "1");
	put(f->group, "a", "");
	expect(f->group, "a", "");
	apply(f->group);
	expect(f->reader, "a", "");
}

static void a_value_too_long_is_cut_and_said(void **state)
{
	struct fixture *f = *state;
	char buf[2];
	size_t len;

	put(f->group, "a", "12345");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(txn_get(f->group, KV_REST, "a", 1, buf, sizeof(buf), &len),
				 -KILN_ERANGE);
		assert_int_equal(len, 5);
		assert_memory_equal(buf, "12", 2);
		apply(f->group);
	}
}

static void a_reader_changes_nothing(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(txn_put(f->reader, KV_REST, "a", 1, "1", 1), -KILN_EINVAL);
	assert_int_equal(txn_del(f->reader, KV_REST, "a", 1), -KILN_EINVAL);
	assert_true(txn_empty(f->reader));
	assert_int_equal(txn_brick(f->reader), 7);
}

static void undo_takes_back_to_the_mark(void **state)
{
	struct fixture *f = *state;

	put(f->group, "stored", "0");
	apply(f->group);

	txn_mark(f->group);
	put(f->group, "a", "1");
	del(f->group, "stored");
	txn_mark(f->group);
	put(f->group, "a", "2");
	put(f->group, "a", "3");
	put(f->group, "b", "1");
	put(f->group, "stored", "1");
	del(f->group, "b");
	txn_undo(f->group);
	expect(f->group, "a", "1");
	expect(f->group, "b", NULL);
	expect(f->group, "stored", NULL);
	txn_undo(f->group);
	expect(f->group, "a", "1");
	apply(f->group);
	expect(f->reader, "a", "1");
	expect(f->reader, "b", NULL);
	expect(f->reader, "stored", NULL);
}

static void undo_of_everything_empties_the_group(void **state)
{
	struct fixture *f = *state;
	uint64_t seq;

	assert_true(txn_empty(f->group));
	txn_undo(f->group);
	txn_mark(f->group);
	put(f->group, "a", "1");
	assert_false(txn_empty(f->group));
	txn_undo(f->group);
	assert_true(txn_empty(f->group));
	assert_int_equal(txn_apply(f->group, &seq), 0);
	expect(f->reader, "a", NULL);
}

/* walk: keys and values of a scan in one string. */
static void walk(struct txn *t, const char *from, const char *to, char *out)
{
	const void *key, *value;
	size_t key_len, value_len;
	struct txn_scan *scan;
	int got;

	*out = 0;
	assert_int_equal(txn_scan_open(t, KV_REST, from, strlen(from), to, strlen(to), &scan), 0);
	while ((got = txn_scan_next(scan, &key, &key_len, &value, &value_len)) == 1) {
		strncat(out, key, key_len);
		strcat(out, "=");
		strncat(out, value, value_len);
		strcat(out, " ");
	}
	assert_int_equal(got, 0);
	txn_scan_close(scan);
}

static void a_scan_merges_the_groups_changes(void **state)
{
	struct fixture *f = *state;
	char seen[200];

	put(f->group, "b", "0");
	put(f->group, "d", "0");
	put(f->group, "f", "0");
	apply(f->group);
	put(f->group, "a", "1");
	put(f->group, "d", "1");
	put(f->group, "e", "1");
	put(f->group, "g", "1");
	del(f->group, "f");
	del(f->group, "never was");
	assert_int_equal(txn_put(f->group, KV_INODE, "c", 1, "other space", 11), 0);
	walk(f->group, "a", "z", seen);
	assert_string_equal(seen, "a=1 b=0 d=1 e=1 g=1 ");
	walk(f->group, "b", "e", seen);
	assert_string_equal(seen, "b=0 d=1 ");
	walk(f->reader, "a", "z", seen);
	assert_string_equal(seen, "b=0 d=0 f=0 ");
	del(f->group, "b");
	del(f->group, "g");
	walk(f->group, "a", "z", seen);
	assert_string_equal(seen, "a=1 d=1 e=1 ");
}

static void changes_during_a_scan_do_not_disturb_it(void **state)
{
	struct fixture *f = *state;
	const void *key, *value;
	size_t key_len, value_len;
	struct txn_scan *scan;
	char name[16], big[1000];
	int count = 0;

	memset(big, 'x', sizeof(big));
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "k%02d", i);
		put(f->group, name, "old");
		if (i == 24)
			apply(f->group);
	}
	assert_int_equal(txn_scan_open(f->group, KV_REST, "k", 1, "l", 1, &scan), 0);
	while (txn_scan_next(scan, &key, &key_len, &value, &value_len) == 1) {
		snprintf(name, sizeof(name), "k%02d", count++);
		assert_memory_equal(key, name, key_len);
		assert_int_equal(value_len, 3);
		assert_memory_equal(value, "old", 3);
		assert_int_equal(txn_put(f->group, KV_REST, "k49", 3, big, sizeof(big)), 0);
		assert_int_equal(txn_del(f->group, KV_REST, name, strlen(name)), 0);
		snprintf(name, sizeof(name), "k%02d-new", count);
		put(f->group, name, "new");
	}
	assert_int_equal(count, 50);
	txn_scan_close(scan);
}

/* Against a plain array: random changes, marks and undos on few keys, then compared. */
static void random_changes_agree_with_a_model(void **state)
{
	enum { KEYS = 40 };
	struct fixture *f = *state;
	int now[KEYS] = { 0 }, marked[KEYS] = { 0 }; /* 0: not there */
	unsigned random = 1;

	for (int step = 1; step < 20000; step++) {
		char key[8], value[16], *shown = NULL;
		unsigned pick = rand_r(&random) % 100;
		int k = rand_r(&random) % KEYS;

		snprintf(key, sizeof(key), "k%d", k);
		if (pick < 45) {
			snprintf(value, sizeof(value), "%d", step);
			put(f->group, key, value);
			now[k] = step;
		} else if (pick < 70) {
			del(f->group, key);
			now[k] = 0;
		} else if (pick < 80) {
			txn_mark(f->group);
			memcpy(marked, now, sizeof(now));
		} else if (pick < 90) {
			txn_undo(f->group);
			memcpy(now, marked, sizeof(now));
		} else if (pick < 93) {
			apply(f->group);
			memcpy(marked, now, sizeof(now));
		}
		k = rand_r(&random) % KEYS;
		snprintf(key, sizeof(key), "k%d", k);
		if (now[k]) {
			snprintf(value, sizeof(value), "%d", now[k]);
			shown = value;
		}
		expect(f->group, key, shown);
	}
}

static void a_group_may_be_large(void **state)
{
	struct fixture *f = *state;
	static char big[65536];
	char key[16];

	for (int i = 0; i < 3000; i++) {
		snprintf(key, sizeof(key), "%d", i);
		put(f->group, key, key);
	}
	txn_mark(f->group);
	for (int i = 0; i < 20; i++)
		assert_int_equal(txn_put(f->group, KV_INODE, &i, sizeof(i), big, sizeof(big)), 0);
	for (int i = 0; i < 3000; i++) {
		snprintf(key, sizeof(key), "%d", i);
		del(f->group, key);
	}
	txn_undo(f->group);
	for (int i = 0; i < 3000; i++) {
		snprintf(key, sizeof(key), "%d", i);
		expect(f->group, key, key);
	}
	apply(f->group);
	expect(f->reader, "2999", "2999");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_the_group_sees_its_changes),
		TEST(a_value_too_long_is_cut_and_said),
		TEST(a_reader_changes_nothing),
		TEST(undo_takes_back_to_the_mark),
		TEST(undo_of_everything_empties_the_group),
		TEST(a_scan_merges_the_groups_changes),
		TEST(changes_during_a_scan_do_not_disturb_it),
		TEST(random_changes_agree_with_a_model),
		TEST(a_group_may_be_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

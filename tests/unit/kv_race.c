/* Reads while changes are applied and move on to where they are kept, on threads of their own: each
 * read finds at least what had been applied before it, a walk misses nothing and shows nothing
 * twice, and a view is one moment.
 *
 * Round n puts n under "a" and under "b", and under EACH keys of many, in turn, and moves a name: one
 * of two is there at every moment. */
#include "tests/unit/kv_fixture.h"

#include "base/clock.h"
#include "base/err.h"

#include <pthread.h>

enum { LEAST = 2000, KEYS = 900, EACH = 3, SLOTS = KEYS / EACH, BUFFER = 1 << 20 };

struct race {
	struct kv *kv;
	uint32_t applied; /* atomic: rounds */
	bool stop;        /* atomic */
};

static uint32_t applied(const struct race *r)
{
	return __atomic_load_n(&r->applied, __ATOMIC_ACQUIRE);
}

static size_t key_of(unsigned i, char key[16])
{
	return (size_t)snprintf(key, 16, "k%05u", i);
}

static void put(struct kv_batch *b, enum kv_space space, const char *key, uint32_t round, size_t len)
{
	static const char padding[200];
	char value[sizeof(round) + sizeof(padding)];

	memcpy(value, &round, sizeof(round));
	memcpy(value + sizeof(round), padding, sizeof(padding));
	assert_int_equal(kv_batch_put(b, space, key, strlen(key), value, len), 0);
}

static void change(struct race *r, struct kv_batch *b, uint32_t round)
{
	uint64_t seq;
	char key[16];

	kv_batch_clear(b);
	put(b, KV_INODE, "a", round, 4);
	for (unsigned i = 0; i < EACH; i++) {
		key_of(round % SLOTS * EACH + i, key);
		put(b, KV_DIRENT, key, round, 4 + round % 190);
	}
	put(b, KV_REST, round % 2 ? "odd" : "even", round, 4);
	assert_int_equal(kv_batch_del(b, KV_REST, round % 2 ? "even" : "odd", round % 2 ? 4 : 3), 0);
	put(b, KV_REST, "b", round, 4);
	assert_int_equal(kv_apply(r->kv, b, 0, &seq), 0);
	__atomic_store_n(&r->applied, round, __ATOMIC_RELEASE);
}

static void *write_all(void *race)
{
	struct kv_batch *b = kv_batch_new();
	uint64_t until = clock_mono() + NS_PER_S;
	struct race *r = race;

	for (uint32_t round = applied(r) + 1; round < LEAST || clock_mono() < until; round++)
		change(r, b, round);
	__atomic_store_n(&r->stop, true, __ATOMIC_RELEASE);
	kv_batch_free(b);
	return NULL;
}

static uint32_t get(struct race *r, const struct kv_view *view, enum kv_space space,
		    const char *key)
{
	uint32_t round = 0;
	size_t len;
	int err = kv_get(r->kv, view, space, key, strlen(key), &round, sizeof(round), &len, 0);

	assert_true(err == 0 || err == -KILN_ERANGE || err == -KILN_ENOENT);
	return err == -KILN_ENOENT ? 0 : round;
}

/* latest_of: the last round up to `round` that changed the key with that number. */
static uint32_t latest_of(unsigned i, uint32_t round)
{
	return round - (round - i / EACH) % SLOTS;
}

static void *get_all(void *race)
{
	struct race *r = race;
	char key[16];

	for (unsigned i = 0; !__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE); i = (i + 7) % KEYS) {
		uint32_t before = applied(r), a = get(r, NULL, KV_INODE, "a");

		assert_true(a >= before);
		assert_true(get(r, NULL, KV_REST, "b") >= a);
		key_of(i, key);
		assert_true(get(r, NULL, KV_DIRENT, key) >= latest_of(i, a));
	}
	return NULL;
}

static void *get_many_all(void *race)
{
	static char keys[KEYS][16], values[KEYS][4];
	struct kv_item items[KEYS];
	struct race *r = race;
	uint32_t round;

	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
		uint32_t before = applied(r);

		for (unsigned i = 0; i < KEYS; i++)
			items[i] = (struct kv_item){ .key = keys[i], .key_len = key_of(i, keys[i]),
						     .buf = values[i], .cap = 4 };
		assert_int_equal(kv_get_many(r->kv, NULL, KV_DIRENT, items, KEYS, 0), 0);
		for (unsigned i = 0; i < KEYS; i++) {
			assert_true(items[i].err == 0 || items[i].err == -KILN_ERANGE);
			memcpy(&round, values[i], sizeof(round));
			assert_true(round >= latest_of(i, before));
		}
	}
	return NULL;
}

/* walk: exact: each key is of the last round up to `round`, else of that or a later one. */
static void walk(struct race *r, const struct kv_view *view, uint32_t round, bool exact)
{
	size_t key_len, value_len;
	const void *key, *value;
	struct kv_scan *scan;
	unsigned i = 0;

	assert_int_equal(kv_scan_open(r->kv, view, KV_DIRENT, "k", 1, "l", 1, 0, &scan), 0);
	for (; kv_scan_next(scan, &key, &key_len, &value, &value_len) == 1; i++) {
		uint32_t found;
		char name[16];

		assert_true(i < KEYS);
		assert_int_equal(key_len, key_of(i, name));
		assert_memory_equal(key, name, key_len);
		memcpy(&found, value, sizeof(found));
		assert_int_equal(value_len, 4 + found % 190);
		assert_true(exact ? found == latest_of(i, round) : found >= latest_of(i, round));
	}
	assert_int_equal(i, KEYS);
	kv_scan_close(scan);
}

static void *walk_all(void *race)
{
	struct race *r = race;

	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE))
		walk(r, NULL, applied(r), false);
	return NULL;
}

static void *view_all(void *race)
{
	struct race *r = race;

	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
		uint32_t before = applied(r), a;
		struct kv_view *view = kv_view_new(r->kv);

		assert_non_null(view);
		a = get(r, view, KV_INODE, "a");
		assert_true(a >= before);
		assert_int_equal(get(r, view, KV_REST, "b"), a);
		assert_int_equal(get(r, view, KV_REST, a % 2 ? "odd" : "even"), a);
		assert_int_equal(get(r, view, KV_REST, a % 2 ? "even" : "odd"), 0);
		walk(r, view, a, true);
		kv_view_free(r->kv, view);
	}
	return NULL;
}

static void reads_keep_up_while_changes_move_on(void **state)
{
	static void *(*const work[])(void *) = { write_all, get_all, get_many_all, walk_all,
						 view_all };
	enum { THREADS = sizeof(work) / sizeof(work[0]) };
	struct fixture *f = *state;
	struct kv_options o = { .backend = f->backend, .layout = f->layout, .create = true,
				.buffer_bytes = BUFFER };
	struct kv_batch *b = kv_batch_new();
	struct race r = { 0 };
	pthread_t threads[THREADS];

	close_kv(f);
	assert_int_equal(kv_open(f->dir, &o, &f->kv, NULL), 0);
	r.kv = f->kv;
	for (uint32_t round = 1; round <= SLOTS; round++)
		change(&r, b, round);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work[i], &r), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	walk(&r, NULL, applied(&r), true);
	kv_batch_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = { ON_ROCKS(reads_keep_up_while_changes_move_on) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

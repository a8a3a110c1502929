/* store/kv.h on RocksDB: values that lie in files of their own, and their space. */
#include "base/clock.h"
#include "base/err.h"
#include "tests/unit/kv_fixture.h"

#include <unistd.h>

enum { LARGE = 4096, LARGE_COUNT = 256 };

static void large_key(unsigned i, char key[16])
{
	snprintf(key, 16, "large%04u", i);
}

/* Bytes that do not compress. */
static void large_value(unsigned i, uint64_t value[LARGE / 8])
{
	uint64_t x = i + 1;

	for (unsigned at = 0; at < LARGE / 8; at++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		value[at] = x;
	}
}

/* put_large: all of them, in files, nothing of them in memory: the next opening replays the journal
 * and writes its files.  (Not by memtables of some KiB, which RocksDB flushes by itself: closed soon
 * after that, 7.8 failed its own assertion on families' references in one of ten runs.) */
static void put_large(struct fixture *f)
{
	struct kv_batch *b = kv_batch_new();
	uint64_t value[LARGE / 8], seq;
	char key[16];

	for (unsigned i = 0; i < LARGE_COUNT; i++) {
		large_key(i, key);
		large_value(i, value);
		kv_batch_clear(b);
		assert_int_equal(kv_batch_put(b, KV_INODE, key, strlen(key), value, LARGE), 0);
		assert_int_equal(kv_apply(f->kv, b, 0, &seq), 0);
	}
	kv_batch_free(b);
	close_kv(f);
	f->kv = open_kv(f, false);
}

static void expect_large(const void *got, size_t len, unsigned i)
{
	uint64_t value[LARGE / 8];

	large_value(i, value);
	assert_int_equal(len, LARGE);
	assert_memory_equal(got, value, LARGE);
}

/* get_large: how many of them are found; the others would have to be read from the disk. */
static unsigned get_large(struct kv *kv, unsigned flags)
{
	uint64_t got[LARGE / 8];
	unsigned found = 0;
	char key[16];
	size_t len;

	for (unsigned i = 0; i < LARGE_COUNT; i++) {
		int err;

		large_key(i, key);
		err = kv_get(kv, NULL, KV_INODE, key, strlen(key), got, LARGE, &len, flags);
		if (err == -KILN_EWOULDBLOCK)
			continue;
		assert_int_equal(err, 0);
		expect_large(got, len, i);
		found++;
	}
	return found;
}

static unsigned get_large_at_once(struct kv *kv, unsigned flags)
{
	static uint64_t got[LARGE_COUNT][LARGE / 8];
	static struct kv_item items[LARGE_COUNT];
	static char keys[LARGE_COUNT][16];
	unsigned found = 0;

	for (unsigned i = 0; i < LARGE_COUNT; i++) {
		large_key(i, keys[i]);
		items[i] = (struct kv_item){ .key = keys[i], .key_len = strlen(keys[i]),
					     .buf = got[i], .cap = LARGE };
	}
	assert_int_equal(kv_get_many(kv, NULL, KV_INODE, items, LARGE_COUNT, flags), 0);
	for (unsigned i = 0; i < LARGE_COUNT; i++) {
		if (items[i].err == -KILN_EWOULDBLOCK)
			continue;
		assert_int_equal(items[i].err, 0);
		expect_large(got[i], items[i].len, i);
		found++;
	}
	return found;
}

/* walk_large: those up to the first that would have to be read from the disk. */
static unsigned walk_large(struct kv *kv, unsigned flags)
{
	const void *key, *value;
	size_t key_len, value_len;
	struct kv_scan *scan;
	unsigned found = 0;
	int got;

	assert_int_equal(kv_scan_open(kv, NULL, KV_INODE, "large", 5, "largf", 5, flags, &scan), 0);
	while ((got = kv_scan_next(scan, &key, &key_len, &value, &value_len)) == 1)
		expect_large(value, value_len, found++);
	assert_int_equal(got, found < LARGE_COUNT ? -KILN_EWOULDBLOCK : 0);
	kv_scan_close(scan);
	return found;
}

/* What has been read is in memory, unless a compaction moves it meanwhile: then once more. */
static void read_until_in_memory(struct kv *kv)
{
	uint64_t end = clock_mono() + 30 * NS_PER_S;

	do {
		assert_true(clock_mono() < end);
		assert_int_equal(get_large(kv, 0), LARGE_COUNT);
	} while (get_large(kv, KV_CACHED) != LARGE_COUNT ||
		 get_large_at_once(kv, KV_CACHED) != LARGE_COUNT ||
		 walk_large(kv, KV_CACHED) != LARGE_COUNT);
}

static void large_values_are_not_waited_for(void **state)
{
	struct fixture *f = *state;

	put_large(f);
	assert_int_equal(get_large(f->kv, KV_CACHED), 0);
	assert_int_equal(get_large_at_once(f->kv, KV_CACHED), 0);
	assert_int_equal(walk_large(f->kv, KV_CACHED), 0);
	read_until_in_memory(f->kv);
	close_kv(f);
	f->kv = open_kv(f, false);
	assert_int_equal(walk_large(f->kv, 0), LARGE_COUNT);
	assert_int_equal(get_large_at_once(f->kv, 0), LARGE_COUNT);
}

static void large_values_count(void **state)
{
	struct fixture *f = *state;
	char *text;

	put_large(f);
	text = kv_property(f->kv, "size_bytes");
	assert_true(strtoull(text, NULL, 10) >= (uint64_t)LARGE * LARGE_COUNT);
	free(text);
}

static uint64_t size_of(struct kv *kv)
{
	char *text = kv_property(kv, "size_bytes");
	uint64_t size = strtoull(text, NULL, 10);

	free(text);
	return size;
}

enum { BLOCK = 8192, BLOCKS = 2048, ROUNDS = 2, KEEP_EVERY = 16 };

static void block_key(unsigned i, unsigned char key[4])
{
	for (unsigned at = 0; at < 4; at++)
		key[at] = (unsigned char)(i >> (24 - 8 * at));
}

/* block_value: others in each round, and none that compresses. */
static void block_value(unsigned i, unsigned round, uint64_t value[BLOCK / 8])
{
	for (unsigned at = 0; at < BLOCK / LARGE; at++)
		large_value(i * 8 + round * 2 + at, value + at * LARGE / 8);
}

static void change_block(struct kv *kv, struct kv_batch *b, unsigned i, const void *value)
{
	unsigned char key[4];
	uint64_t seq;

	block_key(i, key);
	kv_batch_clear(b);
	assert_int_equal(value ? kv_batch_put(b, KV_REST, key, sizeof(key), value, BLOCK)
			       : kv_batch_del(b, KV_REST, key, sizeof(key)), 0);
	assert_int_equal(kv_apply(kv, b, 0, &seq), 0);
}

static void fill_blocks(struct kv *kv, struct kv_batch *b)
{
	uint64_t value[BLOCK / 8];

	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned i = 0; i < BLOCKS; i++) {
			block_value(i, round, value);
			change_block(kv, b, i * 7 % BLOCKS, value);
		}
}

static void expect_blocks(struct kv *kv)
{
	uint64_t value[BLOCK / 8], got[BLOCK / 8];
	unsigned char key[4];
	size_t len;

	for (unsigned i = 0; i < BLOCKS; i++) {
		int err;

		block_key(i * 7 % BLOCKS, key);
		err = kv_get(kv, NULL, KV_REST, key, sizeof(key), got, BLOCK, &len, 0);
		if (i % KEEP_EVERY) {
			assert_int_equal(err, -KILN_ENOENT);
			continue;
		}
		assert_int_equal(err, 0);
		block_value(i, ROUNDS - 1, value);
		assert_memory_equal(got, value, BLOCK);
	}
}

/* reopen_small: with small memtables, so that a little makes many files. */
static void reopen_small(struct fixture *f)
{
	struct kv_options o = { .backend = f->backend, .layout = f->layout,
				.buffer_bytes = 1 << 20 };

	close_kv(f);
	assert_int_equal(kv_open(f->dir, &o, &f->kv, NULL), 0);
}

/* Fifteen of sixteen blocks are deleted, spread over all, and nothing else happens: the space comes
 * back, all but three times what is left. */
static void deleted_space_comes_back(void **state)
{
	struct fixture *f = *state;
	struct kv_batch *b = kv_batch_new();
	const uint64_t left = (uint64_t)BLOCKS / KEEP_EVERY * BLOCK;
	uint64_t end = clock_mono() + 60 * NS_PER_S;

	reopen_small(f);
	fill_blocks(f->kv, b);
	assert_true(size_of(f->kv) >= (uint64_t)BLOCKS * BLOCK);
	for (unsigned i = 0; i < BLOCKS; i++)
		if (i % KEEP_EVERY)
			change_block(f->kv, b, i * 7 % BLOCKS, NULL);
	while (size_of(f->kv) > 3 * left + (4 << 20) && clock_mono() < end)
		usleep(20000);
	assert_in_range(size_of(f->kv), left, 3 * left + (4 << 20));
	expect_blocks(f->kv);
	close_kv(f);
	f->kv = open_kv(f, false);
	expect_blocks(f->kv);
	kv_batch_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_ROCKS(large_values_are_not_waited_for),
		ON_ROCKS(large_values_count),
		ON_ROCKS(deleted_space_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* store/kv.h: what every back end and layout must do alike; what only the durable one does. */
#include "base/clock.h"
#include "base/err.h"
#include "store/kv.h"
#include "tests/fault.h"
#include "tests/unit/kv_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void put(struct kv *kv, enum kv_space space, const char *key, const char *value)
{
	struct kv_batch *b = kv_batch_new();
	uint64_t seq;

	assert_int_equal(kv_batch_put(b, space, key, strlen(key), value, strlen(value)), 0);
	assert_int_equal(kv_apply(kv, b, 0, &seq), 0);
	kv_batch_free(b);
}

static void expect(struct kv *kv, const struct kv_view *view, enum kv_space space,
		   const char *key, const char *value)
{
	char buf[64];
	size_t len;
	int err = kv_get(kv, view, space, key, strlen(key), buf, sizeof(buf), &len, 0);

	if (!value) {
		assert_int_equal(err, -KILN_ENOENT);
		return;
	}
	assert_int_equal(err, 0);
	assert_int_equal(len, strlen(value));
	assert_memory_equal(buf, value, len);
}

static void what_is_put_is_got(void **state)
{
	struct kv *kv = ((struct fixture *)*state)->kv;
	char buf[4];
	size_t len;

	expect(kv, NULL, KV_INODE, "a", NULL);
	put(kv, KV_INODE, "a", "one");
	expect(kv, NULL, KV_INODE, "a", "one");
	put(kv, KV_INODE, "a", "another");
	expect(kv, NULL, KV_INODE, "a", "another");
	put(kv, KV_INODE, "a", "");
	expect(kv, NULL, KV_INODE, "a", "");
	put(kv, KV_INODE, "a", "longer than that");
	assert_int_equal(kv_get(kv, NULL, KV_INODE, "a", 1, buf, sizeof(buf), &len, 0),
			 -KILN_ERANGE);
	assert_int_equal(len, 16);
	assert_memory_equal(buf, "long", 4);
	assert_int_equal(kv_get(kv, NULL, KV_INODE, "a", 1, NULL, 0, &len, KV_CACHED),
			 -KILN_ERANGE);
}

static void spaces_are_apart_with_split(void **state)
{
	struct fixture *f = *state;

	put(f->kv, KV_INODE, "k", "inode");
	put(f->kv, KV_DIRENT, "k", "dirent");
	expect(f->kv, NULL, KV_INODE, "k", strcmp(f->layout, "split") == 0 ? "inode" : "dirent");
}

static void a_batch_is_in_order_and_numbered(void **state)
{
	struct kv *kv = ((struct fixture *)*state)->kv;
	struct kv_batch *b = kv_batch_new();
	uint64_t one, two, through;

	assert_int_equal(kv_batch_put(b, KV_REST, "x", 1, "1", 1), 0);
	assert_int_equal(kv_batch_put(b, KV_REST, "y", 1, "1", 1), 0);
	assert_int_equal(kv_batch_del(b, KV_REST, "x", 1), 0);
	assert_int_equal(kv_batch_put(b, KV_REST, "y", 1, "2", 1), 0);
	assert_int_equal(kv_batch_put(b, KV_REST, "", 0, "2", 1), -KILN_EINVAL);
	assert_int_equal(kv_batch_count(b), 4);
	assert_int_equal(kv_apply(kv, b, KV_NOSTALL, &one), 0);
	expect(kv, NULL, KV_REST, "x", NULL);
	expect(kv, NULL, KV_REST, "y", "2");
	kv_batch_clear(b);
	assert_int_equal(kv_batch_put(b, KV_REST, "x", 1, "3", 1), 0);
	assert_int_equal(kv_apply(kv, b, 0, &two), 0);
	assert_int_equal(kv_apply(kv, b, 0, &two), 0);
	assert_true(one > 0);
	assert_int_equal(two, one + 2);
	assert_int_equal(kv_sync(kv, &through), 0);
	assert_int_equal(through, two);
	kv_batch_free(b);
}

static void numbers_go_on_after_reopening(void **state)
{
	struct fixture *f = *state;
	uint64_t before, after;

	put(f->kv, KV_REST, "x", "1");
	assert_int_equal(kv_sync(f->kv, &before), 0);
	close_kv(f);
	f->kv = open_kv(f, strcmp(f->backend, "mem") == 0);
	put(f->kv, KV_REST, "x", "2");
	assert_int_equal(kv_sync(f->kv, &after), 0);
	assert_true(after > before);
}

/* walk: the keys of a scan, one behind the other with a blank behind each. */
static void walk(struct kv *kv, const struct kv_view *view, const char *from, const char *to,
		 char *out)
{
	const void *key, *value;
	size_t key_len, value_len;
	struct kv_scan *scan;
	int got;

	*out = 0;
	assert_int_equal(kv_scan_open(kv, view, KV_DIRENT, from, strlen(from), to, strlen(to), 0,
				      &scan),
			 0);
	while ((got = kv_scan_next(scan, &key, &key_len, &value, &value_len)) == 1) {
		strncat(out, key, key_len);
		strcat(out, " ");
		assert_int_equal(value_len, 1);
	}
	assert_int_equal(got, 0);
	assert_int_equal(kv_scan_next(scan, &key, &key_len, &value, &value_len), 0);
	kv_scan_close(scan);
}

static void a_scan_is_sorted_and_bounded(void **state)
{
	struct kv *kv = ((struct fixture *)*state)->kv;
	static const char *const keys[] = { "b", "a", "ab", "abc", "aa", "c" };
	char seen[100];

	for (size_t i = 0; i < 6; i++)
		put(kv, KV_DIRENT, keys[i], "v");
	walk(kv, NULL, "a", "z", seen);
	assert_string_equal(seen, "a aa ab abc b c ");
	walk(kv, NULL, "aa", "b", seen);
	assert_string_equal(seen, "aa ab abc ");
	walk(kv, NULL, "d", "z", seen);
	assert_string_equal(seen, "");
	walk(kv, NULL, "b", "b", seen);
	assert_string_equal(seen, "");
}

static void a_long_scan_misses_nothing(void **state)
{
	struct kv *kv = ((struct fixture *)*state)->kv;
	const void *key, *value;
	size_t key_len, value_len;
	struct kv_scan *scan;
	char name[32];
	int count = 0;

	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "key%06d", i * 7919 % 1000);
		put(kv, KV_DIRENT, name, "v");
	}
	assert_int_equal(kv_scan_open(kv, NULL, KV_DIRENT, "key", 3, "kez", 3, KV_CACHED, &scan),
			 0);
	while (kv_scan_next(scan, &key, &key_len, &value, &value_len) == 1) {
		snprintf(name, sizeof(name), "key%06d", count++);
		assert_int_equal(key_len, strlen(name));
		assert_memory_equal(key, name, key_len);
	}
	assert_int_equal(count, 1000);
	kv_scan_close(scan);
}

static void many_are_got_at_once(void **state)
{
	enum { COUNT = 600 };
	struct kv *kv = ((struct fixture *)*state)->kv;
	static char keys[COUNT][16], bufs[COUNT][8];
	static struct kv_item items[COUNT];

	for (int i = 0; i < COUNT; i++) {
		snprintf(keys[i], sizeof(keys[i]), "%d", i * 31 % COUNT);
		if (i % 3)
			put(kv, KV_INODE, keys[i], i % 3 == 1 ? "value" : "too long a value");
		items[i] = (struct kv_item){ .key = keys[i], .key_len = strlen(keys[i]),
					     .buf = bufs[i], .cap = sizeof(bufs[i]) };
	}
	assert_int_equal(kv_get_many(kv, NULL, KV_INODE, items, COUNT, 0), 0);
	for (int i = 0; i < COUNT; i++) {
		static const int want[3] = { -KILN_ENOENT, 0, -KILN_ERANGE };

		assert_int_equal(items[i].err, want[i % 3]);
		if (i % 3 == 1)
			assert_memory_equal(bufs[i], "value", 5);
	}
}

static void a_view_stays_as_it_was(void **state)
{
	struct fixture *f = *state;
	bool keeps = strcmp(f->backend, "mem") != 0;
	struct kv_view *view;
	char seen[100];

	put(f->kv, KV_DIRENT, "a", "1");
	view = kv_view_new(f->kv);
	put(f->kv, KV_DIRENT, "a", "2");
	put(f->kv, KV_DIRENT, "b", "2");
	expect(f->kv, NULL, KV_DIRENT, "a", "2");
	expect(f->kv, view, KV_DIRENT, "a", keeps ? "1" : "2");
	expect(f->kv, view, KV_DIRENT, "b", keeps ? NULL : "2");
	walk(f->kv, view, "a", "z", seen);
	assert_string_equal(seen, keeps ? "a " : "a b ");
	kv_view_free(f->kv, view);
}

/* Not even of batches without a change: what is closed holds all there was. */
static void nothing_is_replayed_after_a_close(void **state)
{
	struct fixture *f = *state;
	struct kv_batch *empty = kv_batch_new();
	uint64_t seq;
	char *stats;

	put(f->kv, KV_INODE, "a", "one");
	kv_view_free(f->kv, kv_view_new(f->kv));
	assert_int_equal(kv_apply(f->kv, empty, 0, &seq), 0);
	kv_batch_free(empty);
	close_kv(f);
	f->kv = open_kv(f, false);
	expect(f->kv, NULL, KV_INODE, "a", "one");
	stats = kv_property(f->kv, "stats");
	assert_non_null(strstr(stats, ", 0 replayed at open"));
	free(stats);
}

static void figures_are_told(void **state)
{
	struct kv *kv = ((struct fixture *)*state)->kv;
	char *text;

	put(kv, KV_DIRENT, "a", "1");
	text = kv_property(kv, "size_bytes");
	assert_non_null(text);
	assert_true(strtoull(text, NULL, 10) > 0);
	free(text);
	assert_null(kv_property(kv, "no such figure"));
}

static void broken_refuses_changes_and_reads_go_on(void **state)
{
	struct kv *kv = ((struct fixture *)*state)->kv;
	struct kv_batch *b = kv_batch_new();
	uint64_t seq;

	put(kv, KV_REST, "a", "1");
	assert_null(kv_broken(kv));
	kv_break(kv, "a test says so");
	kv_break(kv, "a second reason");
	assert_string_equal(kv_broken(kv), "a test says so");
	assert_int_equal(kv_batch_put(b, KV_REST, "a", 1, "2", 1), 0);
	assert_int_equal(kv_apply(kv, b, 0, &seq), -KILN_EBADSTORE);
	assert_int_equal(kv_sync(kv, &seq), -KILN_EBADSTORE);
	expect(kv, NULL, KV_REST, "a", "1");
	kv_batch_free(b);
}

static void a_failed_apply_or_sync_breaks_the_store(void **state)
{
	struct fixture *f = *state;
	struct kv_batch *b = kv_batch_new();
	uint64_t seq;

	assert_int_equal(kv_batch_put(b, KV_REST, "a", 1, "2", 1), 0);
	f->kv = fault_kv_wrap(f->kv);
	fault_kv_fail_apply(f->kv, 1, -KILN_EWOULDBLOCK);
	assert_int_equal(kv_apply(f->kv, b, KV_NOSTALL, &seq), -KILN_EWOULDBLOCK);
	assert_null(kv_broken(f->kv));
	expect(f->kv, NULL, KV_REST, "a", NULL);
	assert_int_equal(kv_apply(f->kv, b, KV_NOSTALL, &seq), 0);
	fault_kv_fail_sync(f->kv, 1, -KILN_EIO);
	assert_int_equal(kv_sync(f->kv, &seq), -KILN_EIO);
	assert_int_equal(kv_apply(f->kv, b, 0, &seq), -KILN_EBADSTORE);
	assert_int_equal(kv_sync(f->kv, &seq), -KILN_EBADSTORE);
	expect(f->kv, NULL, KV_REST, "a", "2");
	kv_batch_free(b);
}

/* The segment that is in use: its head is there. */
static int open_segment(const char *dir)
{
	for (int i = 0; i < 8; i++) {
		char path[256], magic;
		int fd;

		snprintf(path, sizeof(path), "%s/journal/%04d", dir, i);
		fd = open(path, O_RDONLY);
		if (fd >= 0 && pread(fd, &magic, 1, 0) == 1 && magic == 'k')
			return fd;
		if (fd >= 0)
			close(fd);
	}
	fail_msg("no segment is in use");
	return -1;
}

/* Nobody waits for the segment's sync when it fails. */
static void a_failed_early_sync_breaks_the_store(void **state)
{
	struct fixture *f = *state;
	struct fault_disk *disk = fault_disk_new();
	struct kv_options o = { .backend = f->backend, .layout = f->layout,
				.segment_bytes = 16 << 10, .disk = fault_disk(disk) };
	struct kv_batch *b = kv_batch_new();
	uint64_t seq;
	int fd;

	kv_close(f->kv);
	tmpdir_remove(f->dir); /* what the larger segments are in */
	f->dir = tmpdir_make();
	o.create = true;
	assert_int_equal(kv_open(f->dir, &o, &f->kv, NULL), 0);
	fd = open_segment(f->dir);
	fault_file_fail(disk, fd, -KILN_EIO);
	for (int i = 0; i < 400; i++) /* more than one segment, less than two */
		put(f->kv, KV_REST, "a", "1");
	fault_file_await(disk, fd, 1, 1);
	assert_null(kv_broken(f->kv));
	assert_int_equal(kv_sync(f->kv, &seq), -KILN_EIO);
	assert_non_null(kv_broken(f->kv));
	assert_int_equal(kv_batch_put(b, KV_REST, "a", 1, "2", 1), 0);
	assert_int_equal(kv_apply(f->kv, b, 0, &seq), -KILN_EBADSTORE);
	assert_int_equal(kv_sync(f->kv, &seq), -KILN_EBADSTORE);
	expect(f->kv, NULL, KV_REST, "a", "1");
	kv_close(f->kv);
	f->kv = NULL;
	close(fd);
	kv_batch_free(b);
	fault_disk_free(disk);
}

struct writer {
	struct kv *kv;
	int number;
	uint64_t last;
};

static void *write_many(void *context)
{
	struct writer *w = context;
	struct kv_batch *b = kv_batch_new();
	char key[16], value[16];

	for (int i = 0; i < 500; i++) {
		uint64_t seq;

		snprintf(key, sizeof(key), "w%d", w->number);
		snprintf(value, sizeof(value), "%d", i);
		kv_batch_clear(b);
		assert_int_equal(kv_batch_put(b, KV_REST, key, strlen(key), value,
					      strlen(value)),
				 0);
		assert_int_equal(kv_apply(w->kv, b, 0, &seq), 0);
		assert_true(seq > w->last);
		w->last = seq;
	}
	kv_batch_free(b);
	return NULL;
}

static void several_threads_apply_at_once(void **state)
{
	struct kv *kv = ((struct fixture *)*state)->kv;
	struct writer writers[4];
	pthread_t threads[4];
	uint64_t before, after;

	assert_int_equal(kv_sync(kv, &before), 0);
	for (int i = 0; i < 4; i++) {
		writers[i] = (struct writer){ kv, i, 0 };
		assert_int_equal(pthread_create(&threads[i], NULL, write_many, &writers[i]), 0);
	}
	for (int i = 0; i < 50; i++)
		assert_int_equal(kv_sync(kv, &after), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(kv_sync(kv, &after), 0);
	assert_int_equal(after, before + 2000);
	for (int i = 0; i < 4; i++) {
		char key[3] = { 'w', (char)('0' + i), 0 };

		expect(kv, NULL, KV_REST, key, "499");
		assert_true(writers[i].last <= after);
	}
}

static void *write_until_refused(void *writer)
{
	static const char value[20000];
	struct kv_batch *b = kv_batch_new();
	struct writer *w = writer;
	uint64_t seq;
	char key[24];
	int err = 0;

	for (int i = 0; !err; i++) {
		snprintf(key, sizeof(key), "w%d.%06d", w->number, i);
		kv_batch_clear(b);
		assert_int_equal(kv_batch_put(b, KV_REST, key, strlen(key), value, sizeof(value)), 0);
		err = kv_apply(w->kv, b, 0, &seq);
		if (!err)
			__atomic_store_n(&w->last, (uint64_t)i + 1, __ATOMIC_RELEASE);
	}
	assert_int_equal(err, -KILN_EBADSTORE);
	kv_batch_free(b);
	return NULL;
}

/* Those who wait, because changes come faster than they can be moved on, are told; what had been
 * applied is there after the store has been opened anew. */
static void who_waits_in_a_store_that_breaks_is_told(void **state)
{
	struct fixture *f = *state;
	struct kv_options o = { .backend = f->backend, .layout = f->layout,
				.buffer_bytes = 1 << 20, .segment_bytes = 48 << 20 };
	struct kv_batch *b = kv_batch_new();
	struct writer writers[4];
	pthread_t threads[4];
	uint64_t seq;
	size_t len;

	close_kv(f);
	assert_int_equal(kv_open(f->dir, &o, &f->kv, NULL), 0);
	for (int i = 0; i < 4; i++) {
		writers[i] = (struct writer){ f->kv, i, 0 };
		assert_int_equal(pthread_create(&threads[i], NULL, write_until_refused, &writers[i]), 0);
	}
	assert_int_equal(kv_batch_put(b, KV_REST, "b", 1, "b", 1), 0);
	while (kv_apply(f->kv, b, KV_NOSTALL, &seq) != -KILN_EWOULDBLOCK)
		sched_yield();
	kv_break(f->kv, "a test says so");
	kv_batch_free(b);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_null(kv_view_new(f->kv));
	close_kv(f);
	f->kv = open_kv(f, false);
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < (int)writers[i].last; k++) {
			char key[24];
			size_t n = (size_t)snprintf(key, sizeof(key), "w%d.%06d", i, k);

			assert_int_equal(kv_get(f->kv, NULL, KV_REST, key, n, NULL, 0, &len, 0),
					 -KILN_ERANGE);
		}
}

static void the_wrong_layout_is_refused(void **state)
{
	struct fixture *f = *state;
	bool split = strcmp(f->layout, "split") == 0;
	struct kv_options o = { .backend = "rocksdb", .layout = split ? "single" : "split" };
	char *why;

	close_kv(f);
	assert_int_not_equal(kv_open(f->dir, &o, &f->kv, &why), 0);
	assert_non_null(why);
	free(why);
	o.layout = "double";
	assert_int_equal(kv_open(f->dir, &o, &f->kv, &why), -KILN_EINVAL);
	free(why);
	o.layout = "split";
	o.backend = "tape";
	assert_int_equal(kv_open(f->dir, &o, &f->kv, NULL), -KILN_EINVAL);
	f->kv = open_kv(f, false);
}

enum { SMALL_SEGMENT = 64 << 10, SMALL_BUFFER = 128 << 10 };

/* The child's program: applies numbered pairs and says each number once it is answered.  It is
 * executed anew, because RocksDB's threads do not survive a fork. */
static void apply_until_killed(const struct fixture *f, int out)
{
	struct kv_options o = { .backend = f->backend, .layout = f->layout,
				.segment_bytes = SMALL_SEGMENT, .buffer_bytes = SMALL_BUFFER };
	struct kv_batch *b = kv_batch_new();
	uint32_t last = 0;
	struct kv *kv;
	size_t n;

	if (kv_open(f->dir, &o, &kv, NULL))
		_exit(1);
	(void)kv_get(kv, NULL, KV_REST, "last", 4, &last, sizeof(last), &n, 0);
	for (uint32_t i = last + 1;; i++) {
		uint64_t seq;
		char key[16];
		int len = snprintf(key, sizeof(key), "n%08u", i);

		kv_batch_clear(b);
		if (kv_batch_put(b, KV_INODE, key, (size_t)len, &i, sizeof(i)) ||
		    kv_batch_put(b, KV_REST, "last", 4, &i, sizeof(i)) ||
		    kv_apply(kv, b, 0, &seq) || write(out, &i, sizeof(i)) != sizeof(i))
			_exit(1);
	}
}

/* check_prefix: 1..last are there with last's own number beside, and nothing after. */
static uint32_t check_prefix(struct kv *kv)
{
	uint32_t last = 0, value;
	char key[16];
	size_t len;
	int err = kv_get(kv, NULL, KV_REST, "last", 4, &last, sizeof(last), &len, 0);

	assert_true(err == 0 || err == -KILN_ENOENT);
	for (uint32_t i = 1; i <= last + 10; i++) {
		size_t key_len = (size_t)snprintf(key, sizeof(key), "n%08u", i);

		err = kv_get(kv, NULL, KV_INODE, key, key_len, &value, sizeof(value), &len, 0);
		assert_int_equal(err, i <= last ? 0 : -KILN_ENOENT);
		if (!err)
			assert_int_equal(value, i);
	}
	return last;
}

/* kill_one: a child applies that many more than `answered`, or a bit less if that is 0, and is
 * killed: what is there then is at least what it answered, and no more than one more. */
static uint32_t kill_one(struct fixture *f, uint32_t answered, uint32_t more)
{
	uint32_t number, last, until = answered + more;
	int fds[2], status;
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(fds[1], STDOUT_FILENO);
		execl("/proc/self/exe", "kv", f->layout, f->dir, NULL);
		_exit(1);
	}
	close(fds[1]);
	while (answered < until && read(fds[0], &number, sizeof(number)) == sizeof(number))
		answered = number;
	kill(child, SIGKILL);
	while (read(fds[0], &number, sizeof(number)) == sizeof(number))
		answered = number;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	close(fds[0]);
	assert_true(answered >= until);
	f->kv = open_kv(f, false);
	last = check_prefix(f->kv);
	assert_true(last == answered || last == answered + 1);
	return last;
}

static void a_killed_process_loses_nothing(void **state)
{
	struct fixture *f = *state;

	close_kv(f);
	assert_true(kill_one(f, 0, 2000) >= 2000);
}

/* Segments are used again and again, and the database is flushed in between. */
static void many_kills_lose_nothing(void **state)
{
	struct fixture *f = *state;
	unsigned seed = 99;
	uint32_t last = 0;

	for (int i = 0; i < 12; i++) {
		close_kv(f);
		last = kill_one(f, last, 1 + (uint32_t)rand_r(&seed) % 5000);
	}
}

/* Nobody waits: changes come faster than they can be flushed, and each one that is refused has
 * not been made, not even after the process has ended without more ado. */
static void a_stall_refuses_or_waits(void **state)
{
	struct fixture *f = *state;
	struct kv_options o = { .backend = f->backend, .layout = f->layout,
				.segment_bytes = SMALL_SEGMENT, .buffer_bytes = SMALL_BUFFER };
	static char value[4000];
	struct kv_batch *b = kv_batch_new();
	unsigned refused = 0, made = 0;
	char key[16];
	uint64_t seq;
	size_t len;

	close_kv(f);
	assert_int_equal(kv_open(f->dir, &o, &f->kv, NULL), 0);
	for (unsigned i = 0; i < 20000 && refused < 200; i++) {
		int err;

		snprintf(key, sizeof(key), "k%07u", i);
		kv_batch_clear(b);
		assert_int_equal(kv_batch_put(b, KV_INODE, key, 8, value, sizeof(value)), 0);
		err = kv_apply(f->kv, b, KV_NOSTALL, &seq);
		if (err)
			assert_int_equal(err, -KILN_EWOULDBLOCK);
		assert_int_equal(kv_get(f->kv, NULL, KV_INODE, key, 8, NULL, 0, &len, 0),
				 err ? -KILN_ENOENT : -KILN_ERANGE);
		refused += err != 0;
		made += err == 0;
		if (err && refused % 7 == 0) { /* who may wait gets through */
			assert_int_equal(kv_apply(f->kv, b, 0, &seq), 0);
			made++;
		}
	}
	assert_true(refused > 0);
	assert_null(kv_broken(f->kv));
	kv_batch_free(b);
	close_kv(f);
	f->kv = open_kv(f, false);
	{
		const void *k, *v;
		size_t k_len, v_len;
		struct kv_scan *scan;
		unsigned found = 0;

		assert_int_equal(kv_scan_open(f->kv, NULL, KV_INODE, "k", 1, "l", 1, 0, &scan), 0);
		while (kv_scan_next(scan, &k, &k_len, &v, &v_len) == 1)
			found++;
		kv_scan_close(scan);
		assert_int_equal(found, made);
	}
}

static void copy_dir(const char *from, const char *to)
{
	char *command;
	int tries = 0;

	assert_true(asprintf(&command, "rm -rf %s && cp -r %s %s", to, from, to) > 0);
	while (system(command) != 0)
		assert_true(++tries < 5);
	free(command);
}

/* newest_log: path of the journal's segment with data in it. */
static void newest_log(const char *dir, char *path, size_t size)
{
	char *command;
	FILE *f;

	assert_true(asprintf(&command, "grep -l kilnjrn %s/journal/* | head -1", dir) > 0);
	f = popen(command, "r");
	assert_non_null(fgets(path, (int)size, f));
	path[strcspn(path, "\n")] = 0;
	pclose(f);
	free(command);
}

static void a_cut_journal_yields_a_prefix(void **state)
{
	struct fixture *f = *state;
	static const char *const cuts[] = {
		"dd if=/dev/zero of=%s bs=1 seek=30000 count=100 conv=notrunc status=none",
		"dd if=/dev/urandom of=%s bs=1 seek=20000 count=9 conv=notrunc status=none",
		"dd if=/dev/zero of=%s bs=4096 seek=8 count=1 conv=notrunc status=none",
	};
	struct kv_batch *b = kv_batch_new();
	uint64_t seq;

	for (uint32_t i = 1; i <= 2000; i++) {
		char key[16];
		int len = snprintf(key, sizeof(key), "n%08u", i);

		kv_batch_clear(b);
		kv_batch_put(b, KV_INODE, key, (size_t)len, &i, sizeof(i));
		kv_batch_put(b, KV_REST, "last", 4, &i, sizeof(i));
		assert_int_equal(kv_apply(f->kv, b, 0, &seq), 0);
	}
	kv_batch_free(b);
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		struct fixture copy = *f;
		char log[512], *command;
		uint32_t last;

		copy.dir = tmpdir_make();
		rmdir(copy.dir);
		copy_dir(f->dir, copy.dir);
		newest_log(copy.dir, log, sizeof(log));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		assert_true(asprintf(&command, cuts[i], log) > 0);
#pragma GCC diagnostic pop
		assert_int_equal(system(command), 0);
		free(command);
		copy.kv = open_kv(&copy, false);
		last = check_prefix(copy.kv);
		assert_true(last < 2000 && last > 100);
		kv_close(copy.kv);
		tmpdir_remove(copy.dir);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		ON_ALL(what_is_put_is_got),
		ON_ALL(spaces_are_apart_with_split),
		ON_ALL(a_batch_is_in_order_and_numbered),
		ON_ALL(numbers_go_on_after_reopening),
		ON_ALL(a_scan_is_sorted_and_bounded),
		ON_ALL(a_long_scan_misses_nothing),
		ON_ALL(many_are_got_at_once),
		ON_ALL(a_view_stays_as_it_was),
		ON_ALL(figures_are_told),
		ON_ALL(broken_refuses_changes_and_reads_go_on),
		ON_ALL(a_failed_apply_or_sync_breaks_the_store),
		ON_ALL(several_threads_apply_at_once),
		ON_ROCKS(nothing_is_replayed_after_a_close),
		ON_ROCKS(who_waits_in_a_store_that_breaks_is_told),
		ON_ROCKS(the_wrong_layout_is_refused),
		ON_ROCKS(a_failed_early_sync_breaks_the_store),
		ON_ROCKS(a_killed_process_loses_nothing),
		ON_ROCKS(many_kills_lose_nothing),
		ON_ROCKS(a_stall_refuses_or_waits),
		ON_ROCKS(a_cut_journal_yields_a_prefix),
	};

	if (argc == 3) {
		struct fixture f = { .backend = "rocksdb", .layout = argv[1], .dir = argv[2] };

		apply_until_killed(&f, STDOUT_FILENO);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

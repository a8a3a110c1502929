/* store/data.h: data files, over the real disk and a faulty one. */
#include "base/err.h"
#include "store/data.h"
#include "tests/fault.h"
#include "tests/unit/tmpdir.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <cmocka.h>

struct fixture {
	char *dir;
	struct fault_disk *disk;
	struct data *data;
};

enum { MAX_OPEN = 4 };

static const struct data_id one = { .handle = 0x1234, .brick = 1, .gen = 2 };
static const struct data_id two = { .handle = 0x5678, .brick = 1 };

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->dir = tmpdir_make();
	f->disk = fault_disk_new();
	assert_int_equal(data_open(f->dir, fault_disk(f->disk), MAX_OPEN, &f->data), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	data_close(f->data);
	fault_disk_free(f->disk);
	tmpdir_remove(f->dir);
	free(f);
	return 0;
}

static void reopen(struct fixture *f)
{
	data_close(f->data);
	assert_int_equal(data_open(f->dir, fault_disk(f->disk), MAX_OPEN, &f->data), 0);
}

static void expect(struct data *d, struct data_id id, uint64_t offset, const char *text)
{
	char buf[64];
	size_t len = strlen(text);

	assert_int_equal(data_read(d, id, buf, len, offset, false), 0);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(buf[i], text[i] == '.' ? 0 : text[i]);
}

static void write_text(struct data *d, struct data_id id, uint64_t offset, const char *text)
{
	assert_int_equal(data_write(d, id, text, strlen(text), offset, false), 0);
}

static bool exists(const struct fixture *f, const char *path)
{
	struct stat st;
	char *whole;
	int err;

	assert_true(asprintf(&whole, "%s/data/%s", f->dir, path) > 0);
	err = stat(whole, &st);
	free(whole);
	return err == 0;
}

static void what_is_written_is_read(void **state)
{
	struct fixture *f = *state;

	write_text(f->data, one, 3, "hello");
	expect(f->data, one, 0, "...hello..");
	assert_true(exists(f, "1/34/0000000000001234.00000002"));
	reopen(f);
	expect(f->data, one, 4, "ello");
	write_text(f->data, one, 1ull << 33, "far");
	expect(f->data, one, (1ull << 33) - 2, "..far..");
	assert_int_equal(data_write(f->data, one, "x", 1, INT64_MAX, false), -KILN_EFBIG);
}

static void a_missing_file_is_zeros(void **state)
{
	struct fixture *f = *state;
	uint64_t found;

	expect(f->data, one, 100, "......");
	assert_int_equal(data_truncate(f->data, one, 5), 0);
	assert_int_equal(data_sync(f->data, one), 0);
	assert_int_equal(data_remove(f->data, one), 0);
	assert_int_equal(data_blocks(f->data, one, &found), 0);
	assert_int_equal(found, 0);
	assert_int_equal(data_allocate(f->data, one, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
				       10),
			 0);
	assert_false(exists(f, "1"));
}

static void truncation_and_holes(void **state)
{
	struct fixture *f = *state;
	uint64_t blocks;

	write_text(f->data, one, 0, "0123456789");
	assert_int_equal(data_truncate(f->data, one, 4), 0);
	expect(f->data, one, 0, "0123......");
	write_text(f->data, one, 6, "6");
	expect(f->data, one, 0, "0123..6");
	assert_int_equal(data_allocate(f->data, one, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1,
				       2),
			 0);
	expect(f->data, one, 0, "0..3..6");
	assert_int_equal(data_allocate(f->data, two, 0, 0, 100000), 0);
	assert_int_equal(data_blocks(f->data, two, &blocks), 0);
	assert_true(blocks >= 100000 / 512);
}

static void seeking_knows_the_inodes_size(void **state)
{
	struct fixture *f = *state;
	uint64_t found;

	assert_int_equal(data_seek(f->data, one, 10, 3, SEEK_DATA, &found), -KILN_ENXIO);
	assert_int_equal(data_seek(f->data, one, 10, 3, SEEK_HOLE, &found), 0);
	assert_int_equal(found, 3);
	assert_int_equal(data_seek(f->data, one, 10, 10, SEEK_HOLE, &found), -KILN_ENXIO);
	write_text(f->data, one, 1 << 20, "x");
	assert_int_equal(data_seek(f->data, one, 2 << 20, 0, SEEK_DATA, &found), 0);
	assert_true(found > 0 && found <= 1 << 20);
	assert_int_equal(data_seek(f->data, one, 2 << 20, 1 << 20, SEEK_HOLE, &found), 0);
	assert_true(found > 1 << 20 && found < 2 << 20);
	assert_int_equal(data_seek(f->data, one, 2 << 20, 3 << 19, SEEK_HOLE, &found), 0);
	assert_int_equal(found, 3 << 19);
	assert_int_equal(data_seek(f->data, one, 2 << 20, 3 << 19, SEEK_DATA, &found), -KILN_ENXIO);
	assert_int_equal(data_seek(f->data, one, 1000, 0, SEEK_DATA, &found), -KILN_ENXIO);
}

static void copying_brings_zeros_too(void **state)
{
	struct fixture *f = *state;

	write_text(f->data, one, 0, "abc");
	write_text(f->data, two, 0, "0123456789");
	assert_int_equal(data_copy(f->data, one, 1, two, 2, 5), 0);
	expect(f->data, two, 0, "01bc...789");
	assert_int_equal(data_copy(f->data, (struct data_id){ .handle = 99, .brick = 1 }, 0, two, 8,
				   2),
			 0);
	expect(f->data, two, 0, "01bc...7..");
}

/* promises_not_to_wait: whether reads of that directory's file system know RWF_NOWAIT; a RAM file
 * system's do not. */
static bool promises_not_to_wait(const char *dir)
{
	int fd = open(dir, O_TMPFILE | O_RDWR, 0600);
	char byte;
	struct iovec iov = { &byte, 1 };
	ssize_t n;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	n = preadv2(fd, &iov, 1, 0, RWF_NOWAIT);
	assert_true(n == 1 || errno == EOPNOTSUPP);
	close(fd);
	return n == 1;
}

static void nowait_never_opens(void **state)
{
	struct fixture *f = *state;
	char buf[3];
	int err;

	assert_int_equal(data_read(f->data, one, buf, 3, 0, true), -KILN_EWOULDBLOCK);
	assert_int_equal(data_write(f->data, one, "abc", 3, 0, true), -KILN_EWOULDBLOCK);
	assert_false(exists(f, "1"));
	write_text(f->data, one, 0, "abc");
	err = data_read(f->data, one, buf, 3, 0, true);
	assert_int_equal(err, promises_not_to_wait(f->dir) ? 0 : -KILN_EWOULDBLOCK);
	if (!err)
		assert_memory_equal(buf, "abc", 3);
}

static void synced_bytes_survive_a_power_cut(void **state)
{
	struct fixture *f = *state;

	write_text(f->data, one, 0, "synced");
	write_text(f->data, two, 0, "not");
	assert_int_equal(data_sync(f->data, one), 0);
	write_text(f->data, one, 3, "XYZ");
	data_close(f->data);
	fault_disk_crash(f->disk);
	assert_int_equal(data_open(f->dir, fault_disk(f->disk), MAX_OPEN, &f->data), 0);
	expect(f->data, one, 0, "synced");
	expect(f->data, two, 0, "...");
}

static void a_name_is_synced_with_its_file(void **state)
{
	struct fixture *f = *state;
	unsigned before;

	write_text(f->data, one, 0, "a");
	assert_int_equal(data_sync(f->data, one), 0);
	before = fault_disk_count(f->disk, FAULT_SYNC);
	assert_int_equal(before, 5); /* data/ in its parent; file, its directory, brick, root */
	write_text(f->data, one, 0, "b");
	assert_int_equal(data_sync(f->data, one), 0);
	assert_int_equal(fault_disk_count(f->disk, FAULT_SYNC), before + 1);
}

static void many_are_synced_together(void **state)
{
	struct fixture *f = *state;
	struct data_id ids[10];

	for (unsigned i = 0; i < 10; i++) {
		ids[i] = (struct data_id){ .handle = i + 1, .brick = 2 };
		write_text(f->data, ids[i], 0, "text");
	}
	assert_int_equal(data_sync_many(f->data, ids, 10), 0);
	assert_int_equal(data_sync_many(f->data, ids, 0), 0);
	fault_disk_crash(f->disk);
	for (unsigned i = 0; i < 10; i++)
		expect(f->data, ids[i], 0, "text");
	fault_disk_fail(f->disk, FAULT_SYNC, 4, -KILN_EIO);
	assert_int_equal(data_sync_many(f->data, ids, 10), -KILN_EIO);
}

/* More files than descriptors: the ones in the way are synced before they are closed, and a
 * failure there is not forgotten. */
static void closing_to_make_room_syncs_first(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 1; i <= MAX_OPEN + 1; i++)
		write_text(f->data, (struct data_id){ .handle = i, .brick = 1 }, 0, "text");
	assert_int_equal(fault_disk_count(f->disk, FAULT_SYNC), 2);
	fault_disk_fail(f->disk, FAULT_SYNC, 1, -KILN_EIO);
	write_text(f->data, (struct data_id){ .handle = 100, .brick = 1 }, 0, "text");
	assert_int_equal(data_sync(f->data, (struct data_id){ .handle = 100, .brick = 1 }),
			 -KILN_EIO);
	for (unsigned i = 1; i <= MAX_OPEN + 1; i++)
		expect(f->data, (struct data_id){ .handle = i, .brick = 1 }, 0, "text");
}

static void remove_all_but_the_one_in_the_way(struct data *d)
{
	for (unsigned i = 2; i <= MAX_OPEN + 1; i++)
		assert_int_equal(data_remove(d, (struct data_id){ .handle = i, .brick = 1 }), 0);
}

/* Nothing is left open that could tell of it. */
static void what_could_not_be_synced_fails_all(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 1; i <= MAX_OPEN; i++)
		write_text(f->data, (struct data_id){ .handle = i, .brick = 1 }, 0, "text");
	fault_disk_fail(f->disk, FAULT_SYNC, 1, -KILN_EIO);
	write_text(f->data, (struct data_id){ .handle = MAX_OPEN + 1, .brick = 1 }, 0, "text");
	remove_all_but_the_one_in_the_way(f->data);
	assert_int_equal(data_sync_all(f->data), -KILN_EIO);
}

struct other {
	struct fixture *f;
	bool go, early; /* go: atomic */
};

static void *make_room(void *context)
{
	struct other *o = context;

	write_text(o->f->data, (struct data_id){ .handle = MAX_OPEN + 1, .brick = 1 }, 0, "text");
	return NULL;
}

static void *sync_all(void *context)
{
	struct other *o = context;

	assert_int_equal(data_sync_all(o->f->data), 0);
	o->early = !__atomic_load_n(&o->go, __ATOMIC_ACQUIRE);
	return NULL;
}

static void all_includes_what_is_being_closed(void **state)
{
	struct other o = { .f = *state };
	pthread_t closes, syncs;
	unsigned before;

	for (unsigned i = 1; i <= MAX_OPEN; i++)
		write_text(o.f->data, (struct data_id){ .handle = i, .brick = 1 }, 0, "text");
	before = fault_disk_count(o.f->disk, FAULT_SYNC);
	fault_disk_hold(o.f->disk);
	assert_int_equal(pthread_create(&closes, NULL, make_room, &o), 0);
	while (fault_disk_count(o.f->disk, FAULT_SYNC) == before)
		sched_yield();
	remove_all_but_the_one_in_the_way(o.f->data);
	assert_int_equal(pthread_create(&syncs, NULL, sync_all, &o), 0);
	for (int i = 0; i < 100; i++) /* who would not wait has every chance to be early */
		sched_yield();
	poll(NULL, 0, 20);
	__atomic_store_n(&o.go, true, __ATOMIC_RELEASE);
	fault_disk_go(o.f->disk);
	pthread_join(closes, NULL);
	pthread_join(syncs, NULL);
	assert_false(o.early);
}

static void errors_of_the_disk_arrive(void **state)
{
	struct fixture *f = *state;
	char buf[4];

	write_text(f->data, one, 0, "text");
	fault_disk_fail(f->disk, FAULT_READ, 1, -KILN_EIO);
	assert_int_equal(data_read(f->data, one, buf, 4, 0, false), -KILN_EIO);
	fault_disk_fail(f->disk, FAULT_WRITE, 1, -KILN_ENOSPC);
	assert_int_equal(data_write(f->data, one, "b", 1, 0, false), -KILN_ENOSPC);
	fault_disk_fail(f->disk, FAULT_OPEN, 1, -KILN_EACCES);
	assert_int_equal(data_write(f->data, two, "b", 1, 0, false), -KILN_EACCES);
	fault_disk_fail(f->disk, FAULT_UNLINK, 1, -KILN_EIO);
	assert_int_equal(data_remove(f->data, one), -KILN_EIO);
}

static void removed_is_gone(void **state)
{
	struct fixture *f = *state;
	struct data_id other = { .handle = 1, .brick = 2 }, third = { .handle = 1, .brick = 3 };

	write_text(f->data, one, 0, "1");
	write_text(f->data, two, 0, "2");
	write_text(f->data, other, 0, "3");
	write_text(f->data, third, 0, "4");
	assert_int_equal(data_remove(f->data, one), 0);
	expect(f->data, one, 0, ".");
	expect(f->data, two, 0, "2");
	assert_int_equal(data_remove_brick(f->data, 1), 0);
	assert_int_equal(data_remove_brick(f->data, 1), 0);
	assert_false(exists(f, "1"));
	expect(f->data, two, 0, ".");
	expect(f->data, other, 0, "3");
	assert_int_equal(data_remove_all(f->data), 0);
	assert_false(exists(f, "2"));
	assert_false(exists(f, "3"));
	write_text(f->data, two, 0, "again");
	expect(f->data, two, 0, "again");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_written_is_read),
		TEST(a_missing_file_is_zeros),
		TEST(truncation_and_holes),
		TEST(seeking_knows_the_inodes_size),
		TEST(copying_brings_zeros_too),
		TEST(nowait_never_opens),
		TEST(synced_bytes_survive_a_power_cut),
		TEST(a_name_is_synced_with_its_file),
		TEST(many_are_synced_together),
		TEST(closing_to_make_room_syncs_first),
		TEST(what_could_not_be_synced_fails_all),
		TEST(all_includes_what_is_being_closed),
		TEST(errors_of_the_disk_arrive),
		TEST(removed_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

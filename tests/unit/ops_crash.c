/* A file's bytes over a power cut.  The database is as it was applied last, the hardest case for
 * what lies beside it; of the data files only what was synced is left. */
#include "tests/unit/harness.h"

#include "server/file.h"
#include "tests/fault.h"

#include "base/clock.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { LITTLE = 9000, MUCH = 150000 };

static uint8_t pattern[MUCH];

static struct fault_disk *the_disk;

static int setup(void **state)
{
	the_disk = fault_disk_new();
	*state = harness_new_on("rocksdb", fault_disk(the_disk));
	return 0;
}

static int teardown(void **state)
{
	harness_free(*state);
	fault_disk_free(the_disk);
	return 0;
}

static void lose_unsynced(void *context)
{
	fault_disk_crash(context);
}

static void crash(struct harness *h)
{
	harness_restart(h, lose_unsynced, the_disk);
}

static uint64_t new_file(struct harness *h)
{
	uint64_t handle;

	assert_int_equal(h_create(h, ROOT_HANDLE, "f", O_RDWR, 0644, &handle), 0);
	return handle;
}

static void put(struct harness *h, uint64_t handle, size_t from, size_t to, uint32_t flags)
{
	struct fuse_write_in arg = { .offset = from, .size = (uint32_t)(to - from),
				     .flags = flags };

	harness_request(h, handle, &arg, NULL, NULL);
	h->req.data = pattern + from;
	h->req.data_len = to - from;
	assert_int_equal(harness_data(h, op_write_prepare, op_write, false), 0);
}

static void expect_first(struct harness *h, uint64_t handle, size_t len)
{
	struct fuse_read_in arg = { .size = (uint32_t)len };

	harness_request(h, handle, &arg, NULL, NULL);
	assert_int_equal(harness_read(h, op_read), 0);
	assert_int_equal(h->req.body_len, len);
	assert_memory_equal(h->req.body, pattern, len);
}

/* --- waiting as the scheduler does ----------------------------------------------------------- */

struct promise {
	struct commit_wait wait;
	int done; /* atomic */
};

static void promised(struct commit_wait *wait, int err)
{
	assert_int_equal(err, 0);
	__atomic_store_n(&((struct promise *)wait)->done, 1, __ATOMIC_RELEASE);
}

static struct promise promise_of(struct harness *h)
{
	struct committer *c = store_committer(h->volume.store);
	struct promise p = { .wait = { .seq = commit_latest(c), .data = h->req.sync_data,
				       .data_maybe = h->req.sync_maybe, .done = promised } };

	assert_true(h->req.durable);
	return p;
}

static void promise_wait(struct harness *h, struct promise *p)
{
	commit_wait(store_committer(h->volume.store), &p->wait);
	while (!__atomic_load_n(&p->done, __ATOMIC_ACQUIRE))
		sched_yield();
}

static struct promise fsync_begin(struct harness *h, uint64_t handle)
{
	struct fuse_fsync_in arg = { 0 };

	harness_request(h, handle, &arg, NULL, NULL);
	assert_int_equal(harness_read(h, op_fsync), 0);
	return promise_of(h);
}

static void fsync_whole(struct harness *h, uint64_t handle)
{
	struct promise p = fsync_begin(h, handle);

	promise_wait(h, &p);
}

/* --- tests -------------------------------------------------------------------------------------- */

static void test_synced_then_grown(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h);

	put(h, f, 0, LITTLE, 0);
	fsync_whole(h, f);
	put(h, f, LITTLE, MUCH, 0);
	assert_true(harness_inode(h, f).flags & INODE_DATA);
	crash(h);
	expect_first(h, f, LITTLE);
}

/* fsync has looked at the file, but its round begins only after the file has moved. */
static void test_grown_before_the_round(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h);
	struct promise p;

	put(h, f, 0, LITTLE, 0);
	p = fsync_begin(h, f);
	put(h, f, LITTLE, MUCH, 0);
	promise_wait(h, &p);
	crash(h);
	expect_first(h, f, LITTLE);
}

static void test_written_synchronously_then_grown(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h);
	struct promise p;

	put(h, f, 0, LITTLE, O_DSYNC);
	p = promise_of(h);
	put(h, f, LITTLE, MUCH, 0);
	promise_wait(h, &p);
	crash(h);
	expect_first(h, f, LITTLE);
}

static void test_grown_then_synced(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h);

	put(h, f, 0, LITTLE, 0);
	put(h, f, LITTLE, MUCH, 0);
	fsync_whole(h, f);
	crash(h);
	expect_first(h, f, MUCH);
}

/* The truncation itself does not survive: then the file is as it was, to its end. */
static void test_cut_is_lost(void **state)
{
	struct harness *h = *state;
	struct fuse_setattr_in arg = { .valid = FATTR_SIZE, .size = 70000 };
	uint64_t f = new_file(h);
	struct inode before;

	put(h, f, 0, MUCH, 0);
	fsync_whole(h, f);
	before = harness_inode(h, f);
	harness_request(h, f, &arg, NULL, NULL);
	assert_int_equal(harness_data(h, op_setattr_prepare, op_setattr, false), 0);
	expect_first(h, f, 70000);
	crash(h);
	harness_edit(h, &before); /* what the power cut left of the database */
	expect_first(h, f, MUCH);
}

static void test_never_synced(void **state)
{
	struct harness *h = *state;
	struct fuse_read_in arg = { .size = MUCH };
	uint64_t f = new_file(h);

	put(h, f, 0, LITTLE, 0);
	put(h, f, LITTLE, MUCH, 0);
	crash(h);
	harness_request(h, f, &arg, NULL, NULL);
	assert_int_equal(harness_read(h, op_read), 0);
	assert_int_equal(h->req.body_len, MUCH);
	for (size_t i = 0; i < MUCH; i++) /* its own bytes, or zeros */
		assert_true(((const uint8_t *)h->req.body)[i] == 0 ||
			    ((const uint8_t *)h->req.body)[i] == pattern[i]);
}

/* The copy cannot be synced: the file stays where it is, with all it had. */
static void test_sync_of_the_copy_fails(void **state)
{
	struct harness *h = *state;
	struct fuse_write_in arg = { .offset = LITTLE, .size = MUCH - LITTLE };
	uint64_t f = new_file(h);

	put(h, f, 0, LITTLE, 0);
	fsync_whole(h, f);
	fault_disk_fail(the_disk, FAULT_SYNC, 1, -KILN_EIO);
	harness_request(h, f, &arg, NULL, NULL);
	h->req.data = pattern + LITTLE;
	h->req.data_len = MUCH - LITTLE;
	assert_int_equal(harness_data(h, op_write_prepare, op_write, false), -KILN_EIO);
	assert_false(harness_inode(h, f).flags & INODE_DATA);
	assert_int_equal(harness_inode(h, f).size, LITTLE);
	expect_first(h, f, LITTLE);
	put(h, f, LITTLE, MUCH, 0);
	crash(h);
	expect_first(h, f, LITTLE);
}

static void test_disk_full(void **state)
{
	struct harness *h = *state;
	struct fuse_write_in arg = { .offset = LITTLE, .size = MUCH - LITTLE };
	uint64_t f = new_file(h);

	put(h, f, 0, LITTLE, 0);
	for (unsigned nth = 1; nth <= 2; nth++) { /* at the copy's first write, at the second */
		fault_disk_fail(the_disk, FAULT_WRITE, nth, -KILN_ENOSPC);
		harness_request(h, f, &arg, NULL, NULL);
		h->req.data = pattern + LITTLE;
		h->req.data_len = MUCH - LITTLE;
		assert_int_equal(harness_data(h, op_write_prepare, op_write, false), -KILN_ENOSPC);
		assert_int_equal(harness_inode(h, f).size, LITTLE);
		expect_first(h, f, LITTLE);
	}
	put(h, f, LITTLE, MUCH, 0);
	expect_first(h, f, MUCH);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_synced_then_grown),
		TEST(test_grown_before_the_round),
		TEST(test_written_synchronously_then_grown),
		TEST(test_grown_then_synced),
		TEST(test_cut_is_lost),
		TEST(test_never_synced),
		TEST(test_sync_of_the_copy_fails),
		TEST(test_disk_full),
	};

	for (size_t i = 0; i < MUCH; i++)
		pattern[i] = (uint8_t)(i * 31 + i / 251 + 1) | 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

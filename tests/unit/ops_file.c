/* Files' bytes.  First single behaviours; then random writes, truncations, punches, zeroings,
 * copies and seeks over the boundaries of blocks and of small files, against a flat array and a
 * map of what must be a hole or may be one. */
#include "tests/unit/harness.h"

#include "server/file.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MODEL_BYTES = 200000, STEPS = 4000, KEEP = FALLOC_FL_KEEP_SIZE };

/* --- operations on one file --------------------------------------------------------------- */

static uint64_t new_file(struct harness *h, const char *name)
{
	uint64_t handle;

	assert_int_equal(h_create(h, ROOT_HANDLE, name, O_RDWR, 0644, &handle), 0);
	return handle;
}

static bool as_loop; /* requests start where nothing may block */

static int write_flags(struct harness *h, uint64_t handle, const void *buf, size_t len,
		       uint64_t offset, uint32_t open_flags, uint32_t flags)
{
	struct fuse_write_in arg = { .offset = offset, .size = (uint32_t)len, .flags = open_flags,
				     .write_flags = flags };

	harness_request(h, handle, &arg, NULL, NULL);
	h->req.data = buf;
	h->req.data_len = len;
	return harness_data(h, op_write_prepare, op_write, as_loop);
}

static int put(struct harness *h, uint64_t handle, const void *buf, size_t len, uint64_t offset)
{
	int err = write_flags(h, handle, buf, len, offset, 0, 0);

	if (!err)
		assert_int_equal(h->req.out.write.size, len);
	return err;
}

static int get(struct harness *h, uint64_t handle, uint64_t offset, uint32_t len)
{
	struct fuse_read_in arg = { .offset = offset, .size = len };

	harness_request(h, handle, &arg, NULL, NULL);
	return harness_read(h, op_read);
}

static int resize(struct harness *h, uint64_t handle, uint64_t size)
{
	struct fuse_setattr_in arg = { .valid = FATTR_SIZE, .size = size };

	harness_request(h, handle, &arg, NULL, NULL);
	return size ? harness_data(h, op_setattr_prepare, op_setattr, as_loop)
		    : harness_change(h, op_setattr);
}

static int allocate(struct harness *h, uint64_t handle, uint32_t mode, uint64_t offset,
		    uint64_t len)
{
	struct fuse_fallocate_in arg = { .mode = mode, .offset = offset, .length = len };

	harness_request(h, handle, &arg, NULL, NULL);
	return harness_data(h, op_fallocate_prepare, op_fallocate, as_loop);
}

static int copy(struct harness *h, uint64_t from, uint64_t from_off, uint64_t to, uint64_t to_off,
		uint64_t len, uint64_t *done)
{
	struct fuse_copy_file_range_in arg = { .off_in = from_off, .nodeid_out = from,
					       .off_out = to_off, .len = len };
	int err;

	harness_request(h, to, &arg, NULL, NULL);
	err = harness_data(h, op_copy_prepare, op_copy, as_loop);
	*done = h->req.out.write.size;
	return err;
}

static int seek(struct harness *h, uint64_t handle, uint64_t offset, int whence, uint64_t *found)
{
	struct fuse_lseek_in arg = { .offset = offset, .whence = (uint32_t)whence };
	int err;

	harness_request(h, handle, &arg, NULL, NULL);
	err = harness_read(h, op_lseek);
	*found = h->req.out.lseek.offset;
	return err;
}

static void expect_bytes(struct harness *h, uint64_t handle, uint64_t offset, const void *bytes,
			 size_t len)
{
	assert_int_equal(get(h, handle, offset, (uint32_t)len), 0);
	assert_int_equal(h->req.body_len, len);
	assert_memory_equal(h->req.body, bytes, len);
}

static void expect_zeros(struct harness *h, uint64_t handle, uint64_t offset, size_t len)
{
	assert_int_equal(get(h, handle, offset, (uint32_t)len), 0);
	assert_int_equal(h->req.body_len, len);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(((const uint8_t *)h->req.body)[i], 0);
}

static uint8_t pattern[300000];

static void make_pattern(void)
{
	for (size_t i = 0; i < sizeof pattern; i++)
		pattern[i] = (uint8_t)(i * 31 + i / 251 + 1) | 1;
}

static bool in_data_file(struct harness *h, uint64_t handle)
{
	return harness_inode(h, handle).flags & INODE_DATA;
}

/* --- single behaviours --------------------------------------------------------------------- */

static void test_write_and_read(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");

	assert_int_equal(put(h, f, "hello", 5, 0), 0);
	expect_bytes(h, f, 0, "hello", 5);
	expect_bytes(h, f, 1, "ell", 3);
	assert_int_equal(get(h, f, 3, 100), 0);
	assert_int_equal(h->req.body_len, 2);
	assert_int_equal(get(h, f, 5, 100), 0);
	assert_int_equal(h->req.body_len, 0);
	assert_int_equal(h->volume.written, f);
	assert_int_equal(harness_inode(h, f).blocks, 1);
	assert_int_equal(h->volume.state.blocks, 1);
}

static void test_block_sizes(void **state)
{
	struct harness *h = *state;
	static const size_t sizes[] = { 1, 511, 8191, 8192, 8193, 16384, 65535, 65536, 65537,
					200000 };

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		char name[16];
		uint64_t f;

		snprintf(name, sizeof name, "f%zu", i);
		f = new_file(h, name);
		assert_int_equal(put(h, f, pattern, sizes[i], 0), 0);
		expect_bytes(h, f, 0, pattern, sizes[i]);
		assert_int_equal(in_data_file(h, f), sizes[i] > SMALL_FILE_MAX);
	}
}

static void test_hole_at_the_end_is_zero(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");

	put(h, f, pattern, 9000, 0);
	assert_int_equal(resize(h, f, 8500), 0);
	assert_int_equal(resize(h, f, 20000), 0);
	expect_bytes(h, f, 0, pattern, 8500);
	expect_zeros(h, f, 8500, 11500);
	put(h, f, pattern, 200000, 0);
	assert_int_equal(resize(h, f, 70000), 0);
	assert_int_equal(put(h, f, "x", 1, 90000), 0);
	expect_zeros(h, f, 70000, 20000);
}

static int trim(struct harness *h)
{
	uint64_t size = h->volume.state.trim_size;

	harness_request(h, h->volume.state.trim_handle, NULL, NULL, NULL);
	h->req.record_value = size;
	h->volume.state.trim_handle = 0;
	return harness_data(h, op_trim_prepare, op_trim, false);
}

/* What is cut off stays in the data file until the new size is durable. */
static void test_shorter_then_trimmed(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f"), found;
	struct inode before, after;

	put(h, f, pattern, 200000, 0);
	assert_int_equal(resize(h, f, 100000), 0);
	assert_int_equal(h->volume.state.trim_handle, f);
	assert_true(harness_inode(h, f).blocks <= 200);
	assert_int_equal(resize(h, f, 151552), 0);
	expect_bytes(h, f, 0, pattern, 100000);
	expect_zeros(h, f, 100000, 51552);
	before = harness_inode(h, f);
	assert_int_equal(trim(h), 0);
	after = harness_inode(h, f);
	assert_memory_equal(&after.mtime, &before.mtime, sizeof before.mtime);
	expect_bytes(h, f, 0, pattern, 100000);
	expect_zeros(h, f, 100000, 51552);
	assert_int_equal(seek(h, f, 110000, SEEK_DATA, &found), -KILN_ENXIO);
	assert_int_equal(h->volume.state.blocks, after.blocks);
	resize(h, f, 50000);
	resize(h, f, 0);
	assert_int_equal(trim(h), -KILN_ESTALE);
}

static void test_huge_hole(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f"), found;

	assert_int_equal(resize(h, f, 1ull << 50), 0);
	assert_false(in_data_file(h, f));
	expect_zeros(h, f, 1ull << 40, 100000);
	assert_int_equal(put(h, f, "x", 1, 5ull << 30), 0);
	expect_bytes(h, f, 5ull << 30, "x", 1);
	assert_true(harness_inode(h, f).blocks < 64);
	assert_int_equal(seek(h, f, 0, SEEK_DATA, &found), 0);
	assert_in_range(found, (5ull << 30) - 65536, 5ull << 30);
}

static void test_too_large(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");

	assert_int_equal(put(h, f, "xy", 2, INT64_MAX - 1), -KILN_EFBIG);
	assert_int_equal(put(h, f, "xy", 2, UINT64_MAX), -KILN_EFBIG);
	assert_int_equal(resize(h, f, 1ull << 63), -KILN_EFBIG);
	assert_int_equal(allocate(h, f, 0, INT64_MAX, 5), -KILN_EFBIG);
	assert_int_equal(harness_inode(h, f).size, 0);
}

/* A reader of an op volume: the names of a durable view, the bytes of now. */
static void test_durable_view(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");
	struct kv *kv = store_kv(h->volume.store);
	struct kv_view *view = kv_view_new(kv);

	assert_non_null(view);
	put(h, f, pattern, 10000, 0);
	txn_look(h->reader, HARNESS_BRICK, view);
	txn_fresh(h->reader, true);
	expect_bytes(h, f, 0, pattern, 10000);
	txn_look(h->reader, HARNESS_BRICK, NULL);
	put(h, f, pattern, 100000, 0);
	txn_look(h->reader, HARNESS_BRICK, view);
	txn_fresh(h->reader, true);
	expect_bytes(h, f, 0, pattern, 100000);
	txn_look(h->reader, HARNESS_BRICK, NULL);
	kv_view_free(kv, view);
}

static void test_append(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");

	put(h, f, "0123456789", 10, 0);
	assert_int_equal(write_flags(h, f, "ab", 2, 3, O_APPEND, 0), 0);
	expect_bytes(h, f, 0, "0123456789ab", 12);
	assert_int_equal(write_flags(h, f, "cd", 2, 3, O_APPEND, FUSE_WRITE_CACHE), 0);
	expect_bytes(h, f, 0, "012cd56789ab", 12);
}

static void test_sync_flags(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");

	assert_int_equal(write_flags(h, f, "ab", 2, 0, 0, 0), 0);
	assert_false(h->req.durable);
	assert_int_equal(write_flags(h, f, "ab", 2, 0, O_DSYNC, 0), 0);
	assert_true(h->req.durable);
	put(h, f, pattern, 100000, 0);
	assert_int_equal(write_flags(h, f, "ab", 2, 0, O_SYNC, 0), 0);
	assert_true(h->req.durable);
	assert_int_equal(h->req.sync_data.handle, f);
	assert_int_equal(h->req.sync_data.gen, harness_inode(h, f).gen);
}

static void test_truncate_to_nothing(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");
	struct inode before;

	put(h, f, pattern, 100000, 0);
	before = harness_inode(h, f);
	assert_int_equal(resize(h, f, 0), 0);
	assert_int_equal(h->volume.state.trash_handle, f);
	assert_int_equal(h->volume.state.trash_gen, before.gen);
	assert_int_equal(h->volume.state.blocks, 0);
	assert_true(harness_inode(h, f).gen > before.gen);
	assert_int_equal(resize(h, f, 100000), 0);
	expect_zeros(h, f, 0, 100000);
	put(h, f, pattern, 100000, 1);
	expect_bytes(h, f, 1, pattern, 100000);
}

static void test_open_truncates(void **state)
{
	struct harness *h = *state;
	struct fuse_open_in arg = { .flags = O_WRONLY | O_TRUNC };
	uint64_t f = new_file(h, "f");

	put(h, f, pattern, 5000, 0);
	harness_request(h, f, &arg, NULL, NULL);
	assert_int_equal(harness_change(h, op_open_trunc), 0);
	assert_int_equal(h->req.out.open.fh, 0);
	assert_int_equal(harness_inode(h, f).size, 0);
	assert_int_equal(h->volume.state.blocks, 0);
	assert_int_equal(harness_opens(h, f), 2);
}

static void test_open(void **state)
{
	struct harness *h = *state;
	struct fuse_open_in arg = { .flags = O_RDONLY };
	uint64_t f = new_file(h, "f");

	h->volume.keep_cache = true;
	harness_request(h, f, &arg, NULL, NULL);
	assert_int_equal(harness_read(h, op_open), 0);
	assert_int_equal(h->req.out.open.fh, FH_READ_ONLY);
	assert_int_equal(h->req.out.open.open_flags, FOPEN_KEEP_CACHE);
	h->volume.cache_ns = 0;
	harness_request(h, f, &arg, NULL, NULL);
	assert_int_equal(harness_read(h, op_open), 0);
	assert_int_equal(h->req.out.open.open_flags, FOPEN_DIRECT_IO);
	harness_request(h, ROOT_HANDLE, &arg, NULL, NULL);
	assert_int_equal(harness_read(h, op_open), -KILN_EISDIR);
	assert_int_equal(harness_opens(h, ROOT_HANDLE), 0);
	harness_request(h, 4711, &arg, NULL, NULL);
	assert_int_equal(harness_read(h, op_open), -KILN_ESTALE);
	assert_int_equal(harness_opens(h, 4711), 0);
}

static void test_close_is_durable_on_op(void **state)
{
	struct harness *h = *state;
	struct fuse_flush_in arg = { .fh = 0 };
	uint64_t f = new_file(h, "f"), waits = 0;

	h->volume.locks = locktable_new(&h->volume, &waits);
	put(h, f, pattern, 100000, 0);
	harness_request(h, f, &arg, NULL, NULL);
	assert_int_equal(harness_read(h, op_flush), 0);
	assert_false(h->req.durable);
	h->volume.durability = DURABILITY_OP;
	harness_request(h, f, &arg, NULL, NULL);
	assert_int_equal(harness_read(h, op_flush), 0);
	assert_true(h->req.durable);
	assert_int_equal(h->req.sync_data.handle, f);
	arg.fh = FH_READ_ONLY;
	harness_request(h, f, &arg, NULL, NULL);
	assert_int_equal(harness_read(h, op_flush), 0);
	assert_false(h->req.durable);
	locktable_free(h->volume.locks);
}

static void test_quota(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f"), found;

	h->volume.blocks_max = 150;
	assert_int_equal(put(h, f, pattern, 50000, 0), 0);
	assert_int_equal(put(h, f, pattern, 65536, 50000), -KILN_EQUOTA);
	assert_int_equal(put(h, f, pattern, 200000, 0), -KILN_EQUOTA);
	assert_int_equal(allocate(h, f, 0, 0, 200000), -KILN_ENOSPC);
	assert_false(in_data_file(h, f));
	assert_int_equal(harness_inode(h, f).size, 50000);
	expect_bytes(h, f, 0, pattern, 50000);
	h->volume.blocks_max = 300;
	assert_int_equal(put(h, f, pattern, 50000, 50000), 0);
	assert_int_equal(put(h, f, pattern, 200000, 50000), -KILN_EQUOTA);
	assert_int_equal(harness_inode(h, f).size, 100000);
	h->volume.blocks_max = INT64_MAX;
	assert_int_equal(resize(h, f, 300000), 0);
	expect_zeros(h, f, 100000, 200000); /* nothing of what was refused */
	assert_int_equal(seek(h, f, 120000, SEEK_DATA, &found), -KILN_ENXIO);
}

/* Another change of the volume comes between prepare and handler. */
static void test_truncated_in_between(void **state)
{
	struct harness *h = *state;
	struct fuse_write_in arg = { .offset = 60000, .size = 10000, .flags = O_APPEND };
	uint64_t f = new_file(h, "f");
	struct request kept;

	put(h, f, pattern, 60000, 0);
	harness_request(h, f, &arg, NULL, NULL);
	h->req.data = pattern;
	h->req.data_len = 10000;
	h->req.txn = h->reader;
	assert_int_equal(op_write_prepare(&h->req), 0);
	assert_true(h->req.prep.moved);
	kept = h->req;
	assert_int_equal(resize(h, f, 0), 0);
	h->req = kept;
	assert_int_equal(harness_change(h, op_write), -KILN_EAGAIN);
	assert_int_equal(harness_data(h, op_write_prepare, op_write, false), 0);
	assert_int_equal(harness_inode(h, f).size, 10000);
	assert_false(in_data_file(h, f));
	expect_bytes(h, f, 0, pattern, 10000);
}

/* As if a crash had come after prepare. */
static void prepare_only(struct harness *h, uint64_t handle, size_t len, uint64_t offset)
{
	struct fuse_write_in arg = { .offset = offset, .size = (uint32_t)len };

	harness_request(h, handle, &arg, NULL, NULL);
	h->req.data = pattern;
	h->req.data_len = len;
	h->req.txn = h->reader;
	assert_int_equal(op_write_prepare(&h->req), 0);
}

static void test_left_over_bytes(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f"), g = new_file(h, "g");

	put(h, f, pattern, 100000, 0);
	prepare_only(h, f, 100000, 100000);
	assert_int_equal(resize(h, f, 150000), 0);
	expect_zeros(h, f, 100000, 50000);
	assert_int_equal(put(h, f, "x", 1, 190000), 0);
	expect_zeros(h, f, 150000, 40000);
	prepare_only(h, f, 100000, 190001);
	assert_int_equal(allocate(h, f, 0, 250000, 20000), 0);
	expect_zeros(h, f, 190001, 79999);
	put(h, g, "abc", 3, 0);
	prepare_only(h, g, 100000, 0); /* a data file that no inode knows */
	assert_int_equal(put(h, g, "xyz", 3, 100000), 0);
	expect_bytes(h, g, 0, "abc", 3);
	expect_zeros(h, g, 3, 99997);
}

static void test_priv_goes(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");
	struct inode inode = harness_inode(h, f);

	inode.mode |= S_ISUID | S_ISGID | S_IXGRP;
	harness_edit(h, &inode);
	assert_int_equal(write_flags(h, f, "ab", 2, 0, 0, 0), 0);
	assert_int_equal(harness_inode(h, f).mode, inode.mode);
	assert_int_equal(write_flags(h, f, "ab", 2, 0, 0, FUSE_WRITE_KILL_SUIDGID), 0);
	assert_int_equal(harness_inode(h, f).mode, S_IFREG | 0654);
	inode = harness_inode(h, f);
	inode.mode = S_IFREG | S_ISUID | S_ISGID | 0644;
	harness_edit(h, &inode);
	h->uid = 1000;
	assert_int_equal(allocate(h, f, 0, 0, 10), 0);
	h->uid = 0;
	assert_int_equal(harness_inode(h, f).mode, S_IFREG | S_ISGID | 0644);
}

static void test_wrong_arguments(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f"), found, done;

	put(h, f, pattern, 1000, 0);
	assert_int_equal(allocate(h, f, FALLOC_FL_COLLAPSE_RANGE, 0, 8192), -KILN_ENOTSUP);
	assert_int_equal(allocate(h, f, FALLOC_FL_INSERT_RANGE, 0, 8192), -KILN_ENOTSUP);
	assert_int_equal(allocate(h, f, FALLOC_FL_PUNCH_HOLE, 0, 8192), -KILN_ENOTSUP);
	assert_int_equal(allocate(h, f, 0, 0, 0), -KILN_EINVAL);
	assert_int_equal(seek(h, f, 0, SEEK_END, &found), -KILN_EINVAL);
	assert_int_equal(seek(h, f, 1000, SEEK_HOLE, &found), -KILN_ENXIO);
	assert_int_equal(copy(h, f, 0, f, 500, 600, &done), -KILN_EINVAL);
	assert_int_equal(copy(h, f, 0, ROOT_HANDLE, 0, 600, &done), -KILN_EISDIR);
	assert_int_equal(copy(h, f, 0, 4711, 0, 600, &done), -KILN_ESTALE);
	assert_int_equal(copy(h, f, 1000, f, 5000, 600, &done), 0);
	assert_int_equal(done, 0);
	assert_int_equal(put(h, ROOT_HANDLE, "x", 1, 0), -KILN_EISDIR);
	assert_int_equal(resize(h, ROOT_HANDLE, 5), -KILN_EISDIR);
	assert_int_equal(resize(h, ROOT_HANDLE, 0), -KILN_EISDIR);
}

static void test_reserved_space(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");

	assert_int_equal(allocate(h, f, 0, 0, 20000), 0);
	assert_int_equal(harness_inode(h, f).blocks, 40);
	assert_int_equal(harness_inode(h, f).size, 20000);
	expect_zeros(h, f, 0, 20000);
	assert_int_equal(allocate(h, f, KEEP, 0, 1 << 20), 0);
	assert_int_equal(harness_inode(h, f).size, 20000);
	assert_true(harness_inode(h, f).blocks >= (1 << 20) / 512);
	assert_int_equal(resize(h, f, 0), 0);
	assert_int_equal(h->volume.state.blocks, 0);
}

static void test_copy_between(void **state)
{
	struct harness *h = *state;
	uint64_t from = new_file(h, "from"), to = new_file(h, "to"), done;

	put(h, from, pattern, 50000, 0);
	assert_int_equal(copy(h, from, 0, to, 0, 1 << 20, &done), 0);
	assert_int_equal(done, 50000);
	assert_false(in_data_file(h, to));
	expect_bytes(h, to, 0, pattern, 50000);
	assert_int_equal(copy(h, from, 100, to, 60000, 40000, &done), 0);
	assert_true(in_data_file(h, to));
	expect_bytes(h, to, 60000, pattern + 100, 40000);
	expect_zeros(h, to, 50000, 10000);
	assert_int_equal(copy(h, to, 60000, from, 3, 40000, &done), 0);
	expect_bytes(h, from, 3, pattern + 100, 40000);
	expect_bytes(h, from, 40003, pattern + 40003, 9997);
}

/* --- the model -------------------------------------------------------------------------------- */

static struct {
	uint8_t bytes[MODEL_BYTES];
	uint64_t size;
} model[2];

static uint64_t seed;

static uint64_t dice(uint64_t sides)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 20) % sides;
}

/* Often on or beside a boundary, else anywhere. */
static uint64_t place(uint64_t max)
{
	static const uint64_t steps[] = { 512, BLOCK_BYTES, SMALL_FILE_MAX };
	uint64_t at = dice(max);

	if (dice(2)) {
		uint64_t step = steps[dice(3)];

		at = at / step * step;
		if (dice(2) && at > 0)
			at += dice(3) - 1;
	}
	return at < max ? at : max - 1;
}

static void range(uint64_t limit, uint64_t *at, uint64_t *len)
{
	uint64_t end;

	*at = place(limit);
	end = dice(3) ? place(limit) : *at + 1 + dice(3000);
	if (end > limit)
		end = limit;
	if (end <= *at)
		end = *at + 1;
	*len = end - *at;
}

static void step_write(struct harness *h, int i, uint64_t f, uint64_t limit)
{
	uint64_t at, len;

	range(limit, &at, &len);
	assert_int_equal(put(h, f, pattern + dice(1000), len, at), 0);
	memcpy(model[i].bytes + at, h->req.data, len);
	if (at + len > model[i].size)
		model[i].size = at + len;
}

static void step_resize(struct harness *h, int i, uint64_t f, uint64_t limit)
{
	uint64_t size = dice(12) ? place(limit) : 0;

	assert_int_equal(resize(h, f, size), 0);
	if (size < model[i].size)
		memset(model[i].bytes + size, 0, MODEL_BYTES - size);
	model[i].size = size;
}

static void step_allocate(struct harness *h, int i, uint64_t f, uint64_t limit)
{
	static const uint32_t modes[] = { 0, KEEP, KEEP | FALLOC_FL_PUNCH_HOLE,
					  KEEP | FALLOC_FL_ZERO_RANGE, FALLOC_FL_ZERO_RANGE };
	uint32_t mode = modes[dice(5)];
	uint64_t at, len;

	range(limit, &at, &len);
	assert_int_equal(allocate(h, f, mode, at, len), 0);
	if (mode & ~(uint32_t)KEEP)
		memset(model[i].bytes + at, 0, len);
	if (!(mode & KEEP) && at + len > model[i].size)
		model[i].size = at + len;
}

static void step_copy(struct harness *h, int i, const uint64_t *f, uint64_t limit)
{
	int from = (int)dice(2);
	uint64_t at, len, to = place(limit), done, want = 0;
	int err;

	range(limit, &at, &len);
	if (len > limit - to)
		len = limit - to;
	err = copy(h, f[from], at, f[i], to, len, &done);
	if (at < model[from].size)
		want = len < model[from].size - at ? len : model[from].size - at;
	if (from == i && at < to + want && to < at + want) {
		assert_int_equal(err, -KILN_EINVAL);
		return;
	}
	assert_int_equal(err, 0);
	assert_int_equal(done, want);
	memcpy(model[i].bytes + to, model[from].bytes + at, want);
	if (want && to + want > model[i].size)
		model[i].size = to + want;
}

static bool all_zero(int i, uint64_t from, uint64_t to)
{
	for (; from < to; from++)
		if (model[i].bytes[from])
			return false;
	return true;
}

/* What SEEK_DATA skips must be zeros; so must be all from where SEEK_HOLE points to the next
 * data. */
static void step_seek(struct harness *h, int i, uint64_t f)
{
	uint64_t at, found, data;
	int err;

	at = model[i].size ? place(model[i].size) : 0;
	err = seek(h, f, at, SEEK_DATA, &found);
	if (err) {
		assert_int_equal(err, -KILN_ENXIO);
		assert_true(all_zero(i, at, model[i].size));
	} else {
		assert_in_range(found, at, model[i].size - 1);
		assert_true(all_zero(i, at, found));
	}
	err = seek(h, f, at, SEEK_HOLE, &found);
	if (at >= model[i].size) {
		assert_int_equal(err, -KILN_ENXIO);
		return;
	}
	assert_int_equal(err, 0);
	assert_in_range(found, at, model[i].size);
	if (found == model[i].size)
		return;
	if (seek(h, f, found, SEEK_DATA, &data) != 0)
		data = model[i].size;
	assert_true(all_zero(i, found, data));
}

static void step_read(struct harness *h, int i, uint64_t f, uint64_t limit)
{
	uint64_t at, len, want;

	range(limit, &at, &len);
	assert_int_equal(get(h, f, at, (uint32_t)len), 0);
	want = at >= model[i].size ? 0 : model[i].size - at;
	if (want > len)
		want = len;
	assert_int_equal(h->req.body_len, want);
	assert_memory_equal(h->req.body, model[i].bytes + at, want);
}

static void check_whole(struct harness *h, int i, uint64_t f)
{
	struct inode inode = harness_inode(h, f);

	assert_int_equal(inode.size, model[i].size);
	if (!(inode.flags & INODE_DATA))
		assert_true(inode.blocks <= (inode.size + 511) / 512);
	expect_bytes(h, f, 0, model[i].bytes, model[i].size);
}

static void check_blocks(struct harness *h, const uint64_t *f)
{
	uint64_t blocks = harness_inode(h, f[0]).blocks + harness_inode(h, f[1]).blocks;

	assert_int_equal(h->volume.state.blocks, blocks);
}

static void step_trim(struct harness *h, const uint64_t *f)
{
	uint64_t handle = h->volume.state.trim_handle;
	int err;

	if (!handle || dice(3))
		return;
	err = trim(h);
	if (err)
		assert_int_equal(err, -KILN_ESTALE);
	check_whole(h, handle == f[1], handle);
}

static void model_run(struct harness *h, uint64_t with_seed)
{
	uint64_t f[2] = { new_file(h, "a"), new_file(h, "b") };
	uint64_t limit = SMALL_FILE_MAX;

	seed = with_seed;
	memset(model, 0, sizeof model);
	for (int step = 0; step < STEPS; step++) {
		int i = (int)dice(2);

		if (step % 200 == 0)
			limit = dice(2) ? SMALL_FILE_MAX : MODEL_BYTES;
		as_loop = dice(2);
		switch (dice(10)) {
		case 0: case 1: case 2:
			step_write(h, i, f[i], limit);
			break;
		case 3: case 4:
			step_resize(h, i, f[i], limit);
			break;
		case 5: case 6:
			step_allocate(h, i, f[i], limit);
			break;
		case 7:
			step_copy(h, i, f, limit);
			break;
		case 8:
			step_seek(h, i, f[i]);
			break;
		default:
			step_read(h, i, f[i], MODEL_BYTES);
		}
		check_whole(h, i, f[i]);
		step_trim(h, f);
		check_blocks(h, f);
	}
	as_loop = false;
}

static void test_model(void **state)
{
	model_run(*state, 88172645463325252ull);
}

static void test_model_rocks(void **state)
{
	model_run(*state, 1234567891234567ull);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_write_and_read),
		HARNESS_TEST(test_block_sizes),
		HARNESS_TEST(test_hole_at_the_end_is_zero),
		HARNESS_TEST(test_shorter_then_trimmed),
		HARNESS_TEST(test_huge_hole),
		HARNESS_TEST(test_too_large),
		cmocka_unit_test_setup_teardown(test_durable_view, harness_setup_rocks,
						harness_teardown),
		HARNESS_TEST(test_append),
		HARNESS_TEST(test_sync_flags),
		HARNESS_TEST(test_truncate_to_nothing),
		HARNESS_TEST(test_open_truncates),
		HARNESS_TEST(test_open),
		HARNESS_TEST(test_close_is_durable_on_op),
		HARNESS_TEST(test_quota),
		HARNESS_TEST(test_truncated_in_between),
		HARNESS_TEST(test_left_over_bytes),
		HARNESS_TEST(test_priv_goes),
		HARNESS_TEST(test_wrong_arguments),
		HARNESS_TEST(test_reserved_space),
		HARNESS_TEST(test_copy_between),
		HARNESS_TEST(test_model),
		cmocka_unit_test_setup_teardown(test_model_rocks, harness_setup_rocks,
						harness_teardown),
	};

	make_pattern();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* server/ops_unlink.c: unlink, rmdir, reap, and what goes with an inode's last name. */
#include "server/file.h"
#include "tests/unit/harness.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static void unlink_of_the_last_name_removes_all(void **state)
{
	struct harness *h = *state;
	struct inode file;
	uint64_t handle;
	char buf[BLOCK_BYTES];
	size_t len;

	assert_int_equal(h_mknod(h, ROOT_HANDLE, "f", S_IFREG | 0644, 0, &handle), 0);
	file = harness_inode(h, handle);
	file.size = SMALL_FILE_MAX;
	file.blocks = 128;
	file.flags |= INODE_XATTR | INODE_BLOCKS_MASK;
	h->volume.state.blocks = 128;
	txn_mark(h->group);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(block_put(h->group, handle, i, "x", 1), 0);
	assert_int_equal(xattr_put(h->group, handle, "user.a", "1", 1), 0);
	harness_edit(h, &file);

	assert_int_equal(h_unlink(h, ROOT_HANDLE, "f"), 0);
	assert_int_equal(h->req.out_len + h->req.body_len, 0);
	assert_true(harness_gone(h, handle));
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(block_get(h->reader, handle, i, buf, &len), -KILN_ENOENT);
	assert_int_equal(xattr_get(h->reader, handle, "user.a", buf, 8, &len), -KILN_ENODATA);
	assert_int_equal(h->volume.state.inodes, 1);
	assert_int_equal(h->volume.state.blocks, 0);
	assert_int_equal(harness_inode(h, ROOT_HANDLE).entries, 0);
	assert_int_equal(h_lookup(h, ROOT_HANDLE, "f", NULL), -KILN_ENOENT);
	assert_int_equal(h_unlink(h, ROOT_HANDLE, "f"), -KILN_ENOENT);
}

struct trash {
	uint64_t handle;
	uint32_t gen;
	int count;
};

static int trash_note(void *context, uint64_t handle, uint32_t gen)
{
	struct trash *seen = context;

	*seen = (struct trash){ handle, gen, seen->count + 1 };
	return 0;
}

static void a_data_file_goes_to_the_trash(void **state)
{
	struct harness *h = *state;
	struct trash seen = { 0 };
	struct inode file;
	uint64_t handle;

	assert_int_equal(h_mknod(h, ROOT_HANDLE, "f", S_IFREG | 0644, 0, &handle), 0);
	file = harness_inode(h, handle);
	file.size = 1 << 30;
	file.blocks = 4096;
	file.gen = 9;
	file.flags |= INODE_DATA;
	h->volume.state.blocks = 4096;
	harness_edit(h, &file);
	assert_int_equal(h_unlink(h, ROOT_HANDLE, "f"), 0);
	assert_true(harness_gone(h, handle));
	assert_int_equal(trash_each(h->reader, trash_note, &seen), 0);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.handle, handle);
	assert_int_equal(seen.gen, 9);
	assert_int_equal(h->volume.state.trash_handle, handle);
	assert_int_equal(h->volume.state.trash_gen, 9);
	assert_int_equal(h->volume.state.blocks, 0);
}

static void other_names_keep_the_inode(void **state)
{
	struct harness *h = *state;
	uint64_t handle, found;
	struct inode file;

	assert_int_equal(h_mknod(h, ROOT_HANDLE, "f", S_IFREG | 0644, 0, &handle), 0);
	assert_int_equal(h_link(h, handle, ROOT_HANDLE, "g"), 0);
	file = harness_inode(h, handle);
	file.ctime = file.mtime = (struct timespec){ 1000, 1 };
	harness_edit(h, &file);
	assert_int_equal(h_unlink(h, ROOT_HANDLE, "f"), 0);
	file = harness_inode(h, handle);
	assert_int_equal(file.nlink, 1);
	assert_true(file.ctime.tv_sec > 1000);
	assert_int_equal(file.mtime.tv_sec, 1000);
	assert_int_equal(harness_inode(h, ROOT_HANDLE).mtime.tv_sec, file.ctime.tv_sec);
	assert_int_equal(harness_inode(h, ROOT_HANDLE).mtime.tv_nsec, file.ctime.tv_nsec);
	assert_int_equal(h_lookup(h, ROOT_HANDLE, "g", &found), 0);
	assert_int_equal(found, handle);
}

static void open_files_outlive_their_name(void **state)
{
	struct harness *h = *state;
	struct inode file;
	uint64_t handle;

	assert_int_equal(h_create(h, ROOT_HANDLE, "f", O_RDWR, 0644, &handle), 0);
	assert_int_equal(h_create(h, ROOT_HANDLE, "f", O_RDWR, 0644, NULL), 0);
	assert_int_equal(h_unlink(h, ROOT_HANDLE, "f"), 0);
	file = harness_inode(h, handle);
	assert_int_equal(file.nlink, 0);
	assert_true(file.flags & INODE_ORPHAN);
	assert_int_equal(h->volume.state.inodes, 2);
	harness_close(h, handle);
	assert_false(harness_gone(h, handle));

	/* Reaping what is open does nothing, and what is gone neither. */
	harness_request(h, handle, NULL, NULL, NULL);
	assert_int_equal(harness_change(h, op_reap), 0);
	assert_false(harness_gone(h, handle));
	harness_close(h, handle);
	assert_true(harness_gone(h, handle));
	assert_int_equal(h->volume.state.inodes, 1);
	harness_request(h, handle, NULL, NULL, NULL);
	assert_int_equal(harness_change(h, op_reap), 0);
	assert_int_equal(h->volume.state.inodes, 1);
}

/* In one group: the inode is doomed until the group is applied, and cannot be opened. */
static void the_doomed_cannot_be_opened(void **state)
{
	struct harness *h = *state;
	uint64_t handle;

	assert_int_equal(h_mkdir(h, ROOT_HANDLE, "d", 0755, &handle), 0);
	h->lazy = true;
	assert_int_equal(h_rmdir(h, ROOT_HANDLE, "d"), 0);
	harness_request(h, handle, NULL, NULL, NULL);
	h->req.txn = h->reader;
	assert_int_equal(op_opendir(&h->req), -KILN_ESTALE);
	harness_apply(h);
	assert_int_equal(harness_read(h, op_opendir), -KILN_ESTALE);
	assert_int_equal(harness_opens(h, handle), 0);
}

static void unlink_and_rmdir_know_what_is_theirs(void **state)
{
	struct harness *h = *state;
	uint64_t dir, inner;

	assert_int_equal(h_mkdir(h, ROOT_HANDLE, "d", 0755, &dir), 0);
	assert_int_equal(h_mkdir(h, dir, "i", 0755, &inner), 0);
	assert_int_equal(h_mknod(h, ROOT_HANDLE, "f", S_IFIFO | 0644, 0, NULL), 0);
	assert_int_equal(h_unlink(h, ROOT_HANDLE, "d"), -KILN_EISDIR);
	assert_int_equal(h_unlink(h, ROOT_HANDLE, ".."), -KILN_EISDIR);
	assert_int_equal(h_rmdir(h, ROOT_HANDLE, "f"), -KILN_ENOTDIR);
	assert_int_equal(h_rmdir(h, ROOT_HANDLE, "d"), -KILN_ENOTEMPTY);
	assert_int_equal(h_rmdir(h, ROOT_HANDLE, "x"), -KILN_ENOENT);
	assert_int_equal(h_rmdir(h, dir, "."), -KILN_EINVAL);
	assert_int_equal(h_rmdir(h, dir, ".."), -KILN_ENOTEMPTY);
	assert_int_equal(h_rmdir(h, dir, "i"), 0);
	assert_true(harness_gone(h, inner));
	assert_int_equal(harness_inode(h, dir).nlink, 2);
	assert_int_equal(h_rmdir(h, ROOT_HANDLE, "d"), 0);
	assert_int_equal(harness_inode(h, ROOT_HANDLE).nlink, 2);
	assert_int_equal(harness_inode(h, ROOT_HANDLE).entries, 1);
	assert_int_equal(h->volume.state.inodes, 2);
}

static void a_removed_directory_that_is_open(void **state)
{
	struct harness *h = *state;
	struct fuse_read_in arg = { .size = 4096 };
	uint64_t dir, file;

	assert_int_equal(h_mkdir(h, ROOT_HANDLE, "d", 0755, &dir), 0);
	assert_int_equal(h_mknod(h, ROOT_HANDLE, "f", S_IFREG | 0644, 0, &file), 0);
	harness_request(h, dir, NULL, NULL, NULL);
	assert_int_equal(harness_read(h, op_opendir), 0);
	assert_int_equal(h_rmdir(h, ROOT_HANDLE, "d"), 0);
	assert_int_equal(harness_inode(h, dir).nlink, 0);
	assert_int_equal(h_create(h, dir, "x", O_RDWR, 0644, NULL), -KILN_ENOENT);
	assert_int_equal(h_mkdir(h, dir, "x", 0755, NULL), -KILN_ENOENT);
	assert_int_equal(h_symlink(h, dir, "x", "y", NULL), -KILN_ENOENT);
	assert_int_equal(h_link(h, file, dir, "x"), -KILN_ENOENT);
	assert_int_equal(h_tmpfile(h, dir, O_RDWR, NULL), -KILN_ENOENT);
	assert_int_equal(h_rename(h, ROOT_HANDLE, "f", dir, "x", 0), -KILN_ENOENT);
	assert_int_equal(h_lookup(h, dir, "x", NULL), -KILN_ENOENT);
	assert_int_equal(h_unlink(h, dir, "x"), -KILN_ENOENT);
	harness_request(h, dir, &arg, NULL, NULL);
	assert_int_equal(harness_read(h, op_readdirplus), 0);
	assert_int_equal(h->req.body_len, 0);
	harness_request(h, dir, NULL, NULL, NULL);
	op_releasedir(&h->req);
	harness_reap(h);
	assert_true(harness_gone(h, dir));
	assert_int_equal(h_create(h, dir, "x", O_RDWR, 0644, NULL), -KILN_ESTALE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(unlink_of_the_last_name_removes_all),
		HARNESS_TEST(a_data_file_goes_to_the_trash),
		HARNESS_TEST(other_names_keep_the_inode),
		HARNESS_TEST(open_files_outlive_their_name),
		HARNESS_TEST(the_doomed_cannot_be_opened),
		HARNESS_TEST(unlink_and_rmdir_know_what_is_theirs),
		HARNESS_TEST(a_removed_directory_that_is_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* server/ops_rename.c: every combination of kinds, places and flags. */
#include "tests/unit/harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

struct tree {
	uint64_t a, b, ab, file, other; /* /a, /b, /a/b, /a/f, /b/g */
};

static struct tree plant(struct harness *h)
{
	struct tree t;

	assert_int_equal(h_mkdir(h, ROOT_HANDLE, "a", 0755, &t.a), 0);
	assert_int_equal(h_mkdir(h, ROOT_HANDLE, "b", 0755, &t.b), 0);
	assert_int_equal(h_mkdir(h, t.a, "b", 0755, &t.ab), 0);
	assert_int_equal(h_mknod(h, t.a, "f", S_IFREG | 0644, 0, &t.file), 0);
	assert_int_equal(h_mknod(h, t.b, "g", S_IFREG | 0644, 0, &t.other), 0);
	return t;
}

static uint64_t find(struct harness *h, uint64_t dir, const char *name)
{
	uint64_t handle;

	return h_lookup(h, dir, name, &handle) ? 0 : handle;
}

static void expect_dir(struct harness *h, uint64_t dir, uint64_t entries, uint32_t nlink,
		       uint64_t parent)
{
	struct inode inode = harness_inode(h, dir);

	assert_int_equal(inode.entries, entries);
	assert_int_equal(inode.nlink, nlink);
	assert_int_equal(inode.parent, parent);
}

static void age(struct harness *h, uint64_t handle)
{
	struct inode inode = harness_inode(h, handle);

	inode.mtime = inode.ctime = (struct timespec){ 1000, 1 };
	harness_edit(h, &inode);
}

static void a_file_moves_and_all_times_with_it(void **state)
{
	struct harness *h = *state;
	struct tree t = plant(h);
	struct inode file, from, to;

	age(h, t.a);
	age(h, t.b);
	age(h, t.file);
	assert_int_equal(h_rename(h, t.a, "f", t.b, "n", 0), 0);
	assert_int_equal(find(h, t.b, "n"), t.file);
	assert_int_equal(find(h, t.a, "f"), 0);
	expect_dir(h, t.a, 1, 3, ROOT_HANDLE);
	expect_dir(h, t.b, 2, 2, ROOT_HANDLE);
	file = harness_inode(h, t.file);
	from = harness_inode(h, t.a);
	to = harness_inode(h, t.b);
	assert_true(file.ctime.tv_sec > 1000);
	assert_int_equal(file.mtime.tv_sec, 1000);
	assert_memory_equal(&from.mtime, &file.ctime, sizeof file.ctime);
	assert_memory_equal(&from.ctime, &file.ctime, sizeof file.ctime);
	assert_memory_equal(&to.mtime, &file.ctime, sizeof file.ctime);
	assert_memory_equal(&to.ctime, &file.ctime, sizeof file.ctime);
	assert_int_equal(h->volume.state.inodes, 6);
}

static void within_a_directory(void **state)
{
	struct harness *h = *state;
	struct tree t = plant(h);

	assert_int_equal(h_rename(h, t.a, "f", t.a, "n", 0), 0);
	expect_dir(h, t.a, 2, 3, ROOT_HANDLE);
	assert_int_equal(h_rename(h, ROOT_HANDLE, "a", ROOT_HANDLE, "z", 0), 0);
	expect_dir(h, ROOT_HANDLE, 2, 4, ROOT_HANDLE);
	assert_int_equal(h_rmdir(h, t.a, "b"), 0);
	assert_int_equal(h_unlink(h, t.a, "n"), 0);
	assert_int_equal(h_rename(h, ROOT_HANDLE, "b", ROOT_HANDLE, "z", 0), 0);
	expect_dir(h, ROOT_HANDLE, 1, 3, ROOT_HANDLE);
	assert_true(harness_gone(h, t.a));
	assert_int_equal(find(h, ROOT_HANDLE, "z"), t.b);
}

static void a_directory_takes_its_dotdot_along(void **state)
{
	struct harness *h = *state;
	struct tree t = plant(h);

	assert_int_equal(h_rename(h, t.a, "b", t.b, "n", 0), 0);
	expect_dir(h, t.a, 1, 2, ROOT_HANDLE);
	expect_dir(h, t.b, 2, 3, ROOT_HANDLE);
	expect_dir(h, t.ab, 0, 2, t.b);
	assert_int_equal(find(h, t.ab, ".."), t.b);
	/* replacing an empty one */
	assert_int_equal(h_mkdir(h, t.a, "e", 0755, NULL), 0);
	assert_int_equal(h_rename(h, t.b, "n", t.a, "e", 0), 0);
	expect_dir(h, t.a, 2, 3, ROOT_HANDLE);
	expect_dir(h, t.b, 1, 2, ROOT_HANDLE);
	expect_dir(h, t.ab, 0, 2, t.a);
	assert_int_equal(h->volume.state.inodes, 6);
}

static void what_is_replaced_is_gone_or_an_orphan(void **state)
{
	struct harness *h = *state;
	struct tree t = plant(h);
	uint64_t open_one;

	assert_int_equal(h_rename(h, t.a, "f", t.b, "g", 0), 0);
	assert_true(harness_gone(h, t.other));
	assert_int_equal(find(h, t.b, "g"), t.file);
	expect_dir(h, t.b, 1, 2, ROOT_HANDLE);
	assert_int_equal(h->volume.state.inodes, 5);

	assert_int_equal(h_create(h, t.a, "o", O_RDWR, 0644, &open_one), 0);
	assert_int_equal(h_rename(h, t.b, "g", t.a, "o", 0), 0);
	assert_int_equal(harness_inode(h, open_one).nlink, 0);
	assert_true(harness_inode(h, open_one).flags & INODE_ORPHAN);
	harness_close(h, open_one);
	assert_true(harness_gone(h, open_one));
	assert_int_equal(h->volume.state.inodes, 5);
}

static void kinds_must_agree(void **state)
{
	struct harness *h = *state;
	struct tree t = plant(h);

	assert_int_equal(h_rename(h, t.a, "f", ROOT_HANDLE, "b", 0), -KILN_EISDIR);
	assert_int_equal(h_rename(h, t.a, "b", t.b, "g", 0), -KILN_ENOTDIR);
	assert_int_equal(h_rename(h, t.a, "b", ROOT_HANDLE, "b", 0), -KILN_ENOTEMPTY);
	assert_int_equal(h_rename(h, t.a, "f", ROOT_HANDLE, "a", 0), -KILN_EISDIR);
	assert_int_equal(h_rename(h, t.a, "b", ROOT_HANDLE, "a", 0), -KILN_ENOTEMPTY);
	assert_int_equal(h_rename(h, t.a, "x", t.b, "g", 0), -KILN_ENOENT);
	assert_int_equal(h_rename(h, t.file, "x", t.b, "g", 0), -KILN_ENOTDIR);
	assert_int_equal(h_rename(h, t.a, "f", t.file, "g", 0), -KILN_ENOTDIR);
	assert_int_equal(h_rename(h, t.a, "f", 999, "g", 0), -KILN_ESTALE);
	assert_int_equal(h_rename(h, 999, "f", t.a, "g", 0), -KILN_ESTALE);
	assert_int_equal(h_rename(h, t.a, "f", t.a, "..", 0), -KILN_EINVAL);
	assert_int_equal(h_rename(h, t.a, ".", t.b, "x", 0), -KILN_EINVAL);
	expect_dir(h, t.a, 2, 3, ROOT_HANDLE);
	expect_dir(h, t.b, 1, 2, ROOT_HANDLE);
}

static void never_below_itself(void **state)
{
	struct harness *h = *state;
	struct tree t = plant(h);
	uint64_t deep = t.ab;

	for (int i = 0; i < 40; i++)
		assert_int_equal(h_mkdir(h, deep, "d", 0755, &deep), 0);
	assert_int_equal(h_rename(h, ROOT_HANDLE, "a", t.a, "x", 0), -KILN_ELOOP);
	assert_int_equal(h_rename(h, ROOT_HANDLE, "a", deep, "x", 0), -KILN_ELOOP);
	assert_int_equal(h_rename(h, ROOT_HANDLE, "a", t.a, "b", RENAME_EXCHANGE), -KILN_ELOOP);
	assert_int_equal(h_rename(h, t.a, "b", ROOT_HANDLE, "a", RENAME_EXCHANGE), -KILN_ELOOP);
	assert_int_equal(h_rename(h, t.a, "f", ROOT_HANDLE, "a", RENAME_EXCHANGE), -KILN_ELOOP);
	assert_int_equal(h_rename(h, ROOT_HANDLE, "b", deep, "x", 0), 0);
	assert_int_equal(h_rename(h, ROOT_HANDLE, "a", t.b, "x", 0), -KILN_ELOOP);
	expect_dir(h, ROOT_HANDLE, 1, 3, ROOT_HANDLE);
	expect_dir(h, deep, 1, 3, harness_inode(h, deep).parent);
}

static void two_names_of_one_inode_stay(void **state)
{
	struct harness *h = *state;
	struct tree t = plant(h);

	assert_int_equal(h_link(h, t.file, t.b, "f"), 0);
	assert_int_equal(h_rename(h, t.a, "f", t.b, "f", 0), 0);
	assert_int_equal(find(h, t.a, "f"), t.file);
	assert_int_equal(find(h, t.b, "f"), t.file);
	assert_int_equal(harness_inode(h, t.file).nlink, 2);
	assert_int_equal(h_rename(h, t.a, "f", t.a, "f", 0), 0);
	assert_int_equal(h_rename(h, ROOT_HANDLE, "a", ROOT_HANDLE, "a", 0), 0);
	assert_int_equal(h_rename(h, t.a, "f", t.b, "f", RENAME_NOREPLACE), -KILN_EEXIST);
}

static void flags(void **state)
{
	struct harness *h = *state;
	struct tree t = plant(h);

	assert_int_equal(h_rename(h, t.a, "f", t.b, "g", RENAME_NOREPLACE), -KILN_EEXIST);
	assert_int_equal(h_rename(h, t.a, "f", t.b, "x", RENAME_EXCHANGE), -KILN_ENOENT);
	assert_int_equal(h_rename(h, t.a, "f", t.b, "x", RENAME_WHITEOUT), -KILN_EINVAL);
	assert_int_equal(h_rename(h, t.a, "f", t.b, "x", 1 << 7), -KILN_EINVAL);
	assert_int_equal(h_rename(h, t.a, "f", t.b, "g", RENAME_NOREPLACE | RENAME_EXCHANGE),
			 -KILN_EINVAL);
	assert_int_equal(h_rename(h, t.a, "f", t.b, "x", RENAME_NOREPLACE), 0);
	assert_int_equal(find(h, t.b, "x"), t.file);
}

static void exchange_of_all_kinds(void **state)
{
	struct harness *h = *state;
	struct tree t = plant(h);

	age(h, t.file);
	age(h, t.other);
	assert_int_equal(h_rename(h, t.a, "f", t.b, "g", RENAME_EXCHANGE), 0);
	assert_int_equal(find(h, t.a, "f"), t.other);
	assert_int_equal(find(h, t.b, "g"), t.file);
	assert_true(harness_inode(h, t.file).ctime.tv_sec > 1000);
	assert_true(harness_inode(h, t.other).ctime.tv_sec > 1000);
	/* a directory with a file: links move */
	assert_int_equal(h_rename(h, t.a, "b", t.b, "g", RENAME_EXCHANGE), 0);
	expect_dir(h, t.a, 2, 2, ROOT_HANDLE);
	expect_dir(h, t.b, 1, 3, ROOT_HANDLE);
	expect_dir(h, t.ab, 0, 2, t.b);
	/* directories, not empty, at different depths */
	assert_int_equal(h_mkdir(h, t.ab, "x", 0755, NULL), 0);
	assert_int_equal(h_rename(h, ROOT_HANDLE, "a", t.b, "g", RENAME_EXCHANGE), 0);
	expect_dir(h, t.a, 2, 2, t.b);
	expect_dir(h, t.ab, 1, 3, ROOT_HANDLE);
	expect_dir(h, t.b, 1, 3, ROOT_HANDLE);
	expect_dir(h, ROOT_HANDLE, 2, 4, ROOT_HANDLE);
	/* in one directory */
	assert_int_equal(h_rename(h, ROOT_HANDLE, "a", ROOT_HANDLE, "b", RENAME_EXCHANGE), 0);
	assert_int_equal(find(h, ROOT_HANDLE, "a"), t.b);
	assert_int_equal(find(h, ROOT_HANDLE, "b"), t.ab);
	expect_dir(h, ROOT_HANDLE, 2, 4, ROOT_HANDLE);
	assert_int_equal(h->volume.state.inodes, 7);
}

static void a_full_directory_takes_no_further_one(void **state)
{
	struct harness *h = *state;
	struct tree t = plant(h);
	struct inode b = harness_inode(h, t.b);

	b.nlink = 0x7fffffff;
	harness_edit(h, &b);
	assert_int_equal(h_rename(h, t.a, "b", t.b, "x", 0), -KILN_EMLINK);
	assert_int_equal(h_rename(h, t.a, "b", t.b, "g", RENAME_EXCHANGE), -KILN_EMLINK);
	assert_int_equal(h_rename(h, t.b, "g", t.a, "b", RENAME_EXCHANGE), -KILN_EMLINK);
	assert_int_equal(h_rename(h, t.a, "f", t.b, "x", 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(a_file_moves_and_all_times_with_it),
		HARNESS_TEST(within_a_directory),
		HARNESS_TEST(a_directory_takes_its_dotdot_along),
		HARNESS_TEST(what_is_replaced_is_gone_or_an_orphan),
		HARNESS_TEST(kinds_must_agree),
		HARNESS_TEST(never_below_itself),
		HARNESS_TEST(two_names_of_one_inode_stay),
		HARNESS_TEST(flags),
		HARNESS_TEST(exchange_of_all_kinds),
		HARNESS_TEST(a_full_directory_takes_no_further_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

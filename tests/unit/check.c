/* store/check.h: a small tree in order; each kind of damage is found, and said once. */
#include "base/err.h"
#include "store/check.h"
#include "store/schema.h"
#include "tests/unit/tmpdir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { BRICK = 1, DIR_1 = 2, FILE_1 = 3, FILE_2 = 4, ORPHAN = 5, DIR_2 = 6, NEXT = 100 };

struct fixture {
	char *dir;
	struct store *store;
	struct txn *group;
	struct counters counters;
	char told[16][512];
	unsigned count;
};

static struct inode inode_of(uint64_t handle, uint32_t mode, uint32_t nlink)
{
	return (struct inode){ .handle = handle, .mode = mode, .nlink = nlink };
}

static void put_dir(struct fixture *f, uint64_t handle, uint64_t parent, uint32_t nlink,
		    uint64_t entries)
{
	struct inode i = inode_of(handle, S_IFDIR | 0755, nlink);

	i.parent = parent;
	i.entries = entries;
	assert_int_equal(inode_put(f->group, &i), 0);
}

static void put_file(struct fixture *f, uint64_t handle, uint32_t nlink, uint32_t flags)
{
	struct inode i = inode_of(handle, S_IFREG | 0644, nlink);

	i.flags = flags;
	if (flags & INODE_BLOCKS_MASK) {
		i.size = 2 * BLOCK_BYTES;
		i.blocks = 2 * BLOCK_BYTES / 512;
	}
	assert_int_equal(inode_put(f->group, &i), 0);
}

static void put_name(struct fixture *f, uint64_t dir, const char *name, uint64_t child, uint32_t mode)
{
	assert_int_equal(dirent_put(f->group, dir, name, strlen(name), child,
				    (uint8_t)(mode >> 12)), 0);
}

#define TWO_BLOCKS (3u << INODE_BLOCKS_SHIFT)

/* /dir/{file,sub}, /file (the same), /other with two blocks and an attribute; an orphan. */
static void build(struct fixture *f)
{
	put_dir(f, ROOT_HANDLE, ROOT_HANDLE, 3, 3);
	put_dir(f, DIR_1, ROOT_HANDLE, 3, 2);
	put_dir(f, DIR_2, DIR_1, 2, 0);
	put_file(f, FILE_1, 2, 0);
	put_file(f, FILE_2, 1, TWO_BLOCKS | INODE_XATTR);
	put_file(f, ORPHAN, 0, INODE_ORPHAN);
	put_name(f, ROOT_HANDLE, "dir", DIR_1, S_IFDIR);
	put_name(f, ROOT_HANDLE, "file", FILE_1, S_IFREG);
	put_name(f, ROOT_HANDLE, "other", FILE_2, S_IFREG);
	put_name(f, DIR_1, "file", FILE_1, S_IFREG);
	put_name(f, DIR_1, "sub", DIR_2, S_IFDIR);
	assert_int_equal(block_put(f->group, FILE_2, 0, "a", 1), 0);
	assert_int_equal(block_put(f->group, FILE_2, 1, "b", 1), 0);
	assert_int_equal(xattr_put(f->group, FILE_2, "user.a", "v", 1), 0);
	assert_int_equal(orphan_put(f->group, ORPHAN), 0);
	f->counters = (struct counters){ .inodes = 6, .blocks = 2 * BLOCK_BYTES / 512,
					 .next_handle = NEXT };
	assert_int_equal(counters_put(f->group, &f->counters), 0);
}

static int set_up(void **state)
{
	struct store_options o = { .backend = "mem", .create = true };
	struct fixture *f = calloc(1, sizeof(*f));
	char *why;

	f->dir = tmpdir_make();
	assert_int_equal(store_open(f->dir, &o, &f->store, &why), 0);
	f->group = txn_group_new(f->store, BRICK);
	txn_may_block(f->group, true);
	build(f);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	txn_free(f->group);
	store_close(f->store);
	tmpdir_remove(f->dir);
	free(f);
	return 0;
}

static void note(void *context, const char *text)
{
	struct fixture *f = context;

	assert_true(f->count < 16);
	snprintf(f->told[f->count++], sizeof(f->told[0]), "%s", text);
}

static struct check check(struct fixture *f)
{
	struct check c = { .told = note, .context = f };
	struct txn *t = txn_reader_new(f->store);
	uint64_t seq;

	assert_int_equal(txn_apply(f->group, &seq), 0);
	txn_may_block(t, true);
	txn_look(t, BRICK, NULL);
	f->count = 0;
	assert_int_equal(check_brick(t, &c), 0);
	txn_free(t);
	assert_int_equal(c.problems, f->count);
	return c;
}

/* found: these sentences, in any order, and no others. */
static void found(struct fixture *f, unsigned count, ...)
{
	va_list args;

	(void)check(f);
	va_start(args, count);
	for (unsigned n = 0; n < count; n++) {
		const char *want = va_arg(args, const char *);
		unsigned i = 0;

		while (i < f->count && strcmp(f->told[i], want) != 0)
			i++;
		if (i == f->count)
			fail_msg("not told: %s (told first: %s)", want, f->count ? f->told[0] : "nothing");
	}
	va_end(args);
	assert_int_equal(f->count, count);
}

static void what_is_in_order_is_said_to_be(void **state)
{
	struct fixture *f = *state;
	struct check c = check(f);

	assert_int_equal(c.problems, 0);
	assert_int_equal(c.inodes, 6);
	assert_int_equal(c.names, 5);
	assert_int_equal(c.blocks, 32);
}

static void a_volume_never_mounted_is_in_order(void **state)
{
	struct fixture *f = *state;
	struct check c = { .told = note, .context = f };
	struct txn *t = txn_reader_new(f->store);

	txn_may_block(t, true);
	txn_look(t, BRICK + 1, NULL);
	assert_int_equal(check_brick(t, &c), 0);
	assert_int_equal(c.problems, 0);
	txn_free(t);
}

static void names_lead_somewhere(void **state)
{
	struct fixture *f = *state;

	put_dir(f, ROOT_HANDLE, ROOT_HANDLE, 3, 4);
	put_name(f, ROOT_HANDLE, "gone", 50, S_IFREG);
	found(f, 2, "'gone' in directory 1 leads to inode 50, which is not there",
	      "directory 1 counts 4 names and has 3");
	put_name(f, ROOT_HANDLE, "gone", FILE_2, S_IFREG);
	put_file(f, FILE_2, 2, TWO_BLOCKS | INODE_XATTR);
	found(f, 0);
	put_name(f, ROOT_HANDLE, "gone", FILE_2, S_IFLNK);
	found(f, 1, "'gone' in directory 1 has another type than its inode");
}

static void names_are_in_directories(void **state)
{
	struct fixture *f = *state;

	put_name(f, FILE_2, "in", FILE_1, S_IFREG);
	put_file(f, FILE_1, 3, 0);
	found(f, 1, "'in' is in 4, which is no directory");
}

static void counts_are_right(void **state)
{
	struct fixture *f = *state;

	put_file(f, FILE_1, 3, 0);
	put_dir(f, DIR_2, DIR_1, 4, 1);
	found(f, 3, "inode 3 has link count 3, not 2", "inode 6 has link count 4, not 2",
	      "directory 6 counts 1 names and has 0");
}

static void the_counters_are_right(void **state)
{
	struct fixture *f = *state;

	f->counters.inodes = 7;
	f->counters.next_handle = DIR_2;
	assert_int_equal(counters_put(f->group, &f->counters), 0);
	found(f, 2, "the counters say 7 inodes and 32 blocks, there are 6 and 32",
	      "inode 6 is beyond the numbers given out, 6");
}

static void directories_are_in_one_place_and_in_reach(void **state)
{
	struct fixture *f = *state;

	put_dir(f, DIR_2, ROOT_HANDLE, 2, 0);
	found(f, 1, "directory 6 is in 2 and says 1");
	/* a loop: dir is in sub, sub in dir */
	assert_int_equal(dirent_del(f->group, ROOT_HANDLE, "dir", 3), 0);
	put_dir(f, ROOT_HANDLE, ROOT_HANDLE, 2, 2);
	put_dir(f, DIR_1, DIR_2, 3, 2);
	put_dir(f, DIR_2, DIR_1, 3, 1);
	put_name(f, DIR_2, "dir", DIR_1, S_IFDIR);
	found(f, 2, "directory 2 cannot be reached from the root",
	      "directory 6 cannot be reached from the root");
}

static void orphans_are_listed_and_nothing_else_is(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(orphan_del(f->group, ORPHAN), 0);
	assert_int_equal(orphan_put(f->group, 77), 0);
	assert_int_equal(orphan_put(f->group, FILE_1), 0);
	found(f, 3, "inode 77 is on the list of orphans and is not there",
	      "inode 5 has link count 0, is not on the list of orphans, and says that it is",
	      "inode 3 has link count 2, is on the list of orphans, and says that it is not");
}

static void nothing_belongs_to_nobody(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(xattr_put(f->group, FILE_1, "user.b", "v", 1), 0);
	assert_int_equal(xattr_put(f->group, 60, "user.b", "v", 1), 0);
	assert_int_equal(block_put(f->group, FILE_1, 2, "c", 1), 0);
	assert_int_equal(block_put(f->group, 60, 0, "c", 1), 0);
	found(f, 4, "an attribute belongs to inode 3, which does not know",
	      "an attribute belongs to inode 60, which is not there",
	      "block 2 belongs to inode 3, which does not know",
	      "block 0 belongs to inode 60, which is not there");
}

static void blocks_are_where_they_should_be(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(block_del(f->group, FILE_2, 1), 0);
	found(f, 1, "inode 4 has blocks 0x1 and says 0x3 (a bit each)");
}

static void a_file_in_use_is_no_trash(void **state)
{
	struct fixture *f = *state;

	put_file(f, FILE_1, 2, INODE_DATA);
	assert_int_equal(trash_put(f->group, FILE_1, 5), 0);
	found(f, 0);
	assert_int_equal(trash_put(f->group, FILE_1, 0), 0);
	found(f, 1, "the data file of inode 3 is to be removed, and in use");
}

static void what_cannot_be_decoded_is_told(void **state)
{
	struct fixture *f = *state;
	unsigned char key[13] = { 0, 0, 0, BRICK, 'i', 0, 0, 0, 0, 0, 0, 0, FILE_2 };

	assert_int_equal(txn_put(f->group, KV_INODE, key, sizeof(key), "\xff", 1), 0);
	(void)check(f);
	assert_true(f->count > 1);
	assert_string_equal(f->told[0], "inode 4 cannot be decoded");
	assert_string_equal(f->told[1],
			    "'other' in directory 1 leads to inode 4, which is not there");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_in_order_is_said_to_be),
		TEST(a_volume_never_mounted_is_in_order),
		TEST(names_lead_somewhere),
		TEST(names_are_in_directories),
		TEST(counts_are_right),
		TEST(the_counters_are_right),
		TEST(directories_are_in_one_place_and_in_reach),
		TEST(orphans_are_listed_and_nothing_else_is),
		TEST(nothing_belongs_to_nobody),
		TEST(blocks_are_where_they_should_be),
		TEST(a_file_in_use_is_no_trash),
		TEST(what_cannot_be_decoded_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

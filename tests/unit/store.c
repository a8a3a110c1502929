/* store/store.h: making, opening, refusing with a sentence. */
#include "base/err.h"
#include "store/schema.h"
#include "tests/fault.h"
#include "tests/unit/tmpdir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

struct fixture {
	char *dir;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->dir = tmpdir_make();
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	tmpdir_remove(f->dir);
	free(f);
	return 0;
}

static struct store *open_ok(const char *dir, const struct store_options *o)
{
	struct store *s;
	char *why;
	int err = store_open(dir, o, &s, &why);

	if (err)
		fail_msg("%s: %s", err_name(err), why);
	assert_null(why);
	return s;
}

static void refused(const char *dir, const struct store_options *o, int want, const char *says)
{
	struct store *s;
	char *why;

	assert_int_equal(store_open(dir, o, &s, &why), want);
	assert_non_null(why);
	if (!strstr(why, says))
		fail_msg("\"%s\" does not say \"%s\"", why, says);
	assert_non_null(strstr(why, dir));
	free(why);
}

static void write_file(const char *dir, const char *name, const char *text)
{
	char *path;
	FILE *f;

	assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fputs(text, f) < 0, 0);
	fclose(f);
	free(path);
}

static void put_inode(struct store *s)
{
	struct txn *t = txn_group_new(s, 1);
	struct inode n = { .handle = 1, .mode = S_IFDIR };
	uint64_t seq;

	assert_int_equal(inode_put(t, &n), 0);
	assert_int_equal(txn_apply(t, &seq), 0);
	txn_free(t);
}

static int get_inode(struct store *s)
{
	struct txn *t = txn_reader_new(s);
	struct inode n;
	int err;

	txn_look(t, 1, NULL);
	txn_may_block(t, true);
	err = inode_get(t, 1, &n);
	txn_free(t);
	return err;
}

static void made_once_and_opened_again(void **state)
{
	const char *dir = ((struct fixture *)*state)->dir;
	struct store_options create = { .create = true }, plain = { 0 };
	uint64_t total, avail;
	struct store *s = open_ok(dir, &create);

	assert_string_equal(store_backend(s), "rocksdb");
	assert_string_equal(store_layout(s), "split");
	assert_string_equal(store_dir(s), dir);
	assert_int_equal(store_space(s, &total, &avail), 0);
	assert_true(total > 0 && avail <= total);
	put_inode(s);
	store_close(s);
	s = open_ok(dir, &plain);
	assert_int_equal(get_inode(s), 0);
	store_close(s);
	s = open_ok(dir, &create); /* create on what is there opens it */
	assert_int_equal(get_inode(s), 0);
	store_close(s);
}

static void a_mem_store_forgets(void **state)
{
	const char *dir = ((struct fixture *)*state)->dir;
	struct store_options o = { .create = true, .backend = "mem", .layout = "split" };
	struct data_id id = { .handle = 1, .brick = 1 };
	uint64_t blocks;
	struct store *s = open_ok(dir, &o);

	put_inode(s);
	assert_int_equal(get_inode(s), 0);
	assert_int_equal(data_write(store_data(s), id, "x", 1, 0, false), 0);
	store_close(s);
	o = (struct store_options){ 0 };
	s = open_ok(dir, &o);
	assert_int_equal(get_inode(s), -KILN_ESTALE);
	assert_int_equal(data_blocks(store_data(s), id, &blocks), 0);
	assert_int_equal(blocks, 0);
	store_close(s);
}

static void a_second_server_is_refused(void **state)
{
	const char *dir = ((struct fixture *)*state)->dir;
	struct store_options o = { .create = true, .backend = "mem" };
	struct store *s = open_ok(dir, &o);
	char pid[32];

	snprintf(pid, sizeof(pid), "process %d", (int)getpid());
	refused(dir, &o, -KILN_ELOCKED, pid);
	store_close(s);
	store_close(open_ok(dir, &o));
}

static void what_is_no_store_is_refused(void **state)
{
	const char *dir = ((struct fixture *)*state)->dir;
	struct store_options create = { .create = true }, plain = { 0 };
	char *inner;

	refused(dir, &plain, -KILN_ENOTKILN, "holds no kiln store");
	assert_true(asprintf(&inner, "%s/none", dir) > 0);
	refused(inner, &plain, -KILN_ENOTKILN, "there is no directory");
	write_file(dir, "none", "");
	refused(inner, &create, -KILN_ENOTKILN, "not a directory");
	free(inner);
	refused(dir, &create, -KILN_ENOTKILN, "none");
	write_file(dir, "format", "something else\n");
	refused(dir, &plain, -KILN_ENOTKILN, "not that of a kiln store");
}

static void versions_and_damage_are_told_apart(void **state)
{
	const char *dir = ((struct fixture *)*state)->dir;
	struct store_options o = { .create = true, .backend = "mem" };

	store_close(open_ok(dir, &o));
	write_file(dir, "format", "kiln store 3\nsomething new\n");
	refused(dir, &o, -KILN_EVERSION, "store format 3");
	write_file(dir, "format", "kiln store 1\nbackend mem\n");
	refused(dir, &o, -KILN_EVERSION, "older kiln");
	write_file(dir, "format", "kiln store 2\nbackend mem\n");
	refused(dir, &o, -KILN_ECORRUPT, "damaged");
	write_file(dir, "format", "kiln store 0\n");
	refused(dir, &o, -KILN_ECORRUPT, "damaged");
}

static void other_choices_than_at_creation_are_refused(void **state)
{
	const char *dir = ((struct fixture *)*state)->dir;
	struct store_options o = { .create = true, .backend = "mem", .layout = "split" };

	store_close(open_ok(dir, &o));
	o.layout = "single";
	refused(dir, &o, -KILN_EINVAL, "layout split");
	o.layout = NULL;
	o.backend = "rocksdb";
	refused(dir, &o, -KILN_EINVAL, "back end mem");
}

static void unknown_choices_are_refused(void **state)
{
	const char *dir = ((struct fixture *)*state)->dir;
	struct store_options o = { .create = true, .backend = "tape" };

	refused(dir, &o, -KILN_EINVAL, "rocksdb or mem");
	o = (struct store_options){ .create = true, .layout = "double" };
	refused(dir, &o, -KILN_EINVAL, "single or split");
	o.layout = "split"; /* the attempts above have left nothing in the way */
	store_close(open_ok(dir, &o));
}

static void a_lost_or_damaged_database_is_told(void **state)
{
	const char *dir = ((struct fixture *)*state)->dir;
	struct store_options create = { .create = true }, plain = { 0 };
	char *command;

	store_close(open_ok(dir, &create));
	write_file(dir, "db/CURRENT", "MANIFEST-999999\n");
	refused(dir, &plain, -KILN_ECORRUPT, "damaged");
	assert_true(asprintf(&command, "rm -rf %s/db", dir) > 0);
	assert_int_equal(system(command), 0);
	free(command);
	refused(dir, &create, -KILN_ECORRUPT, "damaged");
}

static void a_lost_journal_is_told(void **state)
{
	const char *dir = ((struct fixture *)*state)->dir;
	struct store_options create = { .create = true };
	char *command;

	store_close(open_ok(dir, &create));
	assert_true(asprintf(&command, "rm -rf %s/journal", dir) > 0);
	assert_int_equal(system(command), 0);
	free(command);
	refused(dir, &create, -KILN_ECORRUPT, "journal");
}

static void a_full_disk_for_the_journal_is_told(void **state)
{
	const char *dir = ((struct fixture *)*state)->dir;
	struct fault_disk *f = fault_disk_new();
	struct store_options o = { .create = true, .disk = fault_disk(f) };

	fault_disk_fail(f, FAULT_WRITE, 1, -KILN_ENOSPC);
	refused(dir, &o, -KILN_ENOSPC, "no space left for the journal");
	store_close(open_ok(dir, &o));
	fault_disk_free(f);
}

static void a_disk_that_fails_is_told(void **state)
{
	const char *dir = ((struct fixture *)*state)->dir;
	struct fault_disk *f = fault_disk_new();
	struct store_options o = { .create = true, .backend = "mem", .disk = fault_disk(f) };

	fault_disk_fail(f, FAULT_SYNC, 1, -KILN_EIO);
	refused(dir, &o, -KILN_EIO, "data files");
	store_close(open_ok(dir, &o));
	fault_disk_free(f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(made_once_and_opened_again),
		TEST(a_mem_store_forgets),
		TEST(a_second_server_is_refused),
		TEST(what_is_no_store_is_refused),
		TEST(versions_and_damage_are_told_apart),
		TEST(other_choices_than_at_creation_are_refused),
		TEST(unknown_choices_are_refused),
		TEST(a_lost_or_damaged_database_is_told),
		TEST(a_lost_journal_is_told),
		TEST(a_full_disk_for_the_journal_is_told),
		TEST(a_disk_that_fails_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

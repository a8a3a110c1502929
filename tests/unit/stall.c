/* Who waits for a sync, and who does not; and what everybody is told when one fails.
 *
 * A whole server over a plug (tests/plug.h).  Nothing is timed: a sync is held until those who may
 * not wait for it have been answered, so a call that waits would never return (an alarm ends the
 * test then), and those who must wait are asked for their answers before it goes on. */
#include "tests/embed.h"
#include "tests/pending.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "server/status.h"
#include "server/volumes.h"
#include "store/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { CLIENTS = 8, PATIENCE_S = 60, MUCH = 100000 };

struct fixture {
	struct embed *e;
	struct kiln *op[CLIENTS], *reader, *fsync; /* reader: of the volume `op` too */
	uint64_t old, old_fsync;                   /* a file "old" in each */
	unsigned syncs;
};

static uint64_t make(struct kiln *k, const char *name)
{
	struct kiln_created made;

	assert_int_equal(kiln_create(k, KILN_ROOT, name, 0644, O_RDWR | O_EXCL, &made), 0);
	assert_int_equal(kiln_release(k, made.entry.nodeid, made.open.fh, O_RDWR, 0, false), 0);
	return made.entry.nodeid;
}

static void connect_all(struct fixture *f)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		f->op[i] = embed_connect(f->e, "op", i + 1);
	f->reader = embed_connect(f->e, "op", 100);
	f->fsync = embed_connect(f->e, "fsync", 101);
}

static void close_all(struct fixture *f)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		kiln_close(f->op[i]);
	kiln_close(f->reader);
	kiln_close(f->fsync);
}

static struct embed *begin_store(void)
{
	struct embed *e = embed_new();

	e->commit.interval_ns = 3600 * NS_PER_S; /* no sync that nobody waits for */
	embed_start(e);
	embed_volume(e, "op", DURABILITY_OP);
	embed_volume(e, "fsync", DURABILITY_FSYNC);
	return e;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	alarm(PATIENCE_S);
	f->e = begin_store();
	connect_all(f);
	f->old = make(f->op[0], "old");
	f->old_fsync = make(f->fsync, "old");
	assert_int_equal(kiln_syncfs(f->fsync), 0);
	f->syncs = plug_syncs(f->e->plug);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	plug_go(f->e->plug);
	close_all(f);
	embed_free(f->e);
	free(f);
	alarm(0);
	return 0;
}

/* --- calls on their way ----------------------------------------------------------------------------- */

static void begin_create(struct pending *p, struct kiln *k, const char *name)
{
	kiln_prep_create(&p->op, KILN_ROOT, name, 0644, O_RDWR | O_EXCL, &p->out.created);
	pending_begin(p, k);
}

static void begin_unlink(struct pending *p, struct kiln *k, const char *name)
{
	kiln_prep_unlink(&p->op, KILN_ROOT, name);
	pending_begin(p, k);
}

/* begin_sync: holds syncs, and lets one begin, for a new name "new" on the `op` volume. */
static void begin_sync(struct fixture *f, struct pending *p)
{
	plug_hold(f->e->plug);
	begin_create(p, f->op[0], "new");
	plug_await_sync(f->e->plug, f->syncs + 1);
}

/* --- those who never wait ----------------------------------------------------------------------------- */

static void looking_never_waits(void **state)
{
	struct fixture *f = *state;
	struct fuse_entry_out e;
	struct fuse_attr_out a;
	struct fuse_open_out o;
	struct pending p;

	begin_sync(f, &p);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(kiln_lookup(f->reader, KILN_ROOT, "old", &e), 0);
		assert_int_equal(kiln_lookup(f->reader, KILN_ROOT, "none", &e), -ENOENT);
		assert_int_equal(kiln_lookup(f->fsync, KILN_ROOT, "old", &e), 0);
		assert_int_equal(kiln_lookup(f->fsync, KILN_ROOT, "none", &e), -ENOENT);
	}
	assert_int_equal(kiln_getattr(f->reader, f->old, &a), 0);
	assert_int_equal(kiln_getattr(f->fsync, f->old_fsync, &a), 0);
	assert_int_equal(kiln_open(f->reader, f->old, O_RDONLY, &o), 0);
	assert_int_equal(kiln_opendir(f->reader, KILN_ROOT, &o), 0);
	assert_int_equal(kiln_lookup(f->reader, KILN_ROOT, "new", &e), -ENOENT);
	assert_int_equal(kiln_getattr(f->reader, KILN_ROOT, &a), 0);
	assert_int_equal(a.attr.size, 32); /* of the one name that is durable */
	assert_false(pending_answered(&p));
	plug_go(f->e->plug);
	assert_int_equal(pending_end(&p), 0);
	assert_int_equal(kiln_lookup(f->reader, KILN_ROOT, "new", &e), 0);
}

static void failing_as_it_durably_does_never_waits(void **state)
{
	struct fixture *f = *state;
	struct kiln_created made;
	struct fuse_entry_out e;
	struct pending p;

	begin_sync(f, &p);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(kiln_create(f->reader, KILN_ROOT, "old", 0644, O_RDWR | O_EXCL, &made),
				 -EEXIST);
		assert_int_equal(kiln_unlink(f->reader, KILN_ROOT, "none"), -ENOENT);
		assert_int_equal(kiln_mkdir(f->reader, KILN_ROOT, "old", 0755, &e), -EEXIST);
		assert_int_equal(kiln_rmdir(f->reader, KILN_ROOT, "old"), -ENOTDIR);
	}
	assert_false(pending_answered(&p));
	plug_go(f->e->plug);
	assert_int_equal(pending_end(&p), 0);
}

static void a_volume_of_the_other_kind_never_waits(void **state)
{
	struct fixture *f = *state;
	struct fuse_entry_out e;
	struct pending p;

	begin_sync(f, &p);
	for (int i = 0; i < 50; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		make(f->fsync, name);
		assert_int_equal(kiln_lookup(f->fsync, KILN_ROOT, name, &e), 0);
		assert_int_equal(kiln_unlink(f->fsync, KILN_ROOT, name), 0);
	}
	assert_false(pending_answered(&p));
	plug_go(f->e->plug);
	assert_int_equal(pending_end(&p), 0);
}

/* What a WRITE changes shows at once, to all, and is waited for by fsync and close alone. */
static void writing_shows_at_once(void **state)
{
	struct fixture *f = *state;
	static uint8_t bytes[MUCH], back[MUCH];
	struct pending p, sync;
	struct fuse_attr_out a;
	struct fuse_open_out o;

	memset(bytes, 7, sizeof(bytes));
	assert_int_equal(kiln_open(f->op[1], f->old, O_RDWR, &o), 0);
	begin_sync(f, &p);
	for (size_t size = 1000; size <= MUCH; size *= 10) { /* in blocks, then in a data file */
		assert_int_equal(kiln_write(f->op[1], f->old, o.fh, bytes, size, 0, 0), size);
		assert_int_equal(kiln_getattr(f->op[1], f->old, &a), 0);
		assert_int_equal(a.attr.size, size);
		assert_int_equal(kiln_getattr(f->reader, f->old, &a), 0);
		assert_int_equal(a.attr.size, size);
		assert_int_equal(kiln_read(f->reader, f->old, 0, back, MUCH, 0), size);
		assert_memory_equal(back, bytes, size);
	}
	kiln_prep_fsync(&sync.op, f->old, o.fh, false);
	pending_begin(&sync, f->op[1]);
	assert_int_equal(kiln_getattr(f->reader, f->old, &a), 0);
	assert_false(pending_answered(&sync));
	assert_false(pending_answered(&p));
	plug_go(f->e->plug);
	assert_int_equal(pending_end(&p), 0);
	assert_int_equal(pending_end(&sync), 0);
}

/* --- those who must ------------------------------------------------------------------------------------- */

/* The failure speaks of a name that a crash could take back. */
static void failing_on_what_is_not_durable_waits(void **state)
{
	struct fixture *f = *state;
	struct pending p, exists, gone, missing;
	struct fuse_entry_out e;

	begin_sync(f, &p);
	begin_create(&exists, f->op[1], "new");
	begin_unlink(&gone, f->op[2], "old");
	assert_int_equal(kiln_unlink(f->reader, KILN_ROOT, "none"), -ENOENT);
	begin_unlink(&missing, f->op[3], "old"); /* twice gone: one of the two finds nothing */
	for (int i = 0; i < 20; i++) {
		assert_int_equal(kiln_unlink(f->reader, KILN_ROOT, "none"), -ENOENT);
		assert_int_equal(kiln_lookup(f->reader, KILN_ROOT, "old", &e), 0);
		assert_int_equal(kiln_lookup(f->reader, KILN_ROOT, "new", &e), -ENOENT);
		assert_false(pending_answered(&exists) || pending_answered(&gone) || pending_answered(&missing));
	}
	plug_go(f->e->plug);
	assert_int_equal(pending_end(&p), 0);
	assert_int_equal(pending_end(&exists), -EEXIST);
	assert_int_equal(pending_end(&gone) + pending_end(&missing), -ENOENT);
	assert_int_equal(kiln_lookup(f->reader, KILN_ROOT, "old", &e), -ENOENT);
}

/* The durable view still has the file, but there will be nothing left to read from. */
static void opening_what_is_being_removed_waits(void **state)
{
	struct fixture *f = *state;
	struct fuse_entry_out e;
	struct pending gone, open;

	plug_hold(f->e->plug);
	begin_unlink(&gone, f->op[0], "old");
	plug_await_sync(f->e->plug, f->syncs + 1);
	kiln_prep_open(&open.op, f->old, O_RDONLY, &open.out.open);
	pending_begin(&open, f->op[1]);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(kiln_lookup(f->reader, KILN_ROOT, "old", &e), 0);
		assert_false(pending_answered(&open));
	}
	plug_go(f->e->plug);
	assert_int_equal(pending_end(&gone), 0);
	assert_int_equal(pending_end(&open), -ESTALE);
}

/* In the latest state, durable or not. */
static uint64_t inodes_of(struct fixture *f)
{
	struct volume_info info;
	struct volume *v;

	assert_int_equal(volumes_find(f->e->server->volumes, "op", &v), 0);
	assert_int_equal(volume_info(v, &info), 0);
	volumes_put(f->e->server->volumes, v);
	return info.inodes;
}

static void one_sync_serves_all_who_came_meanwhile(void **state)
{
	struct fixture *f = *state;
	struct pending p, more[CLIENTS];

	begin_sync(f, &p);
	for (int i = 1; i < CLIENTS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		begin_create(&more[i], f->op[i], name);
	}
	while (inodes_of(f) < 2 + CLIENTS) /* until all of them are applied: each call gives way */
		assert_int_equal(kiln_unlink(f->reader, KILN_ROOT, "none"), -ENOENT);
	plug_go(f->e->plug);
	assert_int_equal(pending_end(&p), 0);
	for (int i = 1; i < CLIENTS; i++)
		assert_int_equal(pending_end(&more[i]), 0);
	assert_true(plug_syncs(f->e->plug) <= f->syncs + 3);
}

/* --- failed syncs ------------------------------------------------------------------------------------------- */

static void expect_broken(struct fixture *f, const char *says)
{
	json_t *status = status_fill(f->e->server, 10);
	const char *why = json_string_value(json_object_get(json_object_get(status, "store"), "broken"));

	assert_non_null(why);
	if (!strstr(why, says))
		fail_msg("the status says \"%s\", not \"%s\"", why, says);
	json_decref(status);
}

/* Changes are refused, reads go on. */
static void expect_refusal(struct fixture *f)
{
	struct kiln_created made;
	struct fuse_entry_out e;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(kiln_create(f->op[1], KILN_ROOT, "late", 0644, O_RDWR, &made), -EIO);
		assert_int_equal(kiln_create(f->fsync, KILN_ROOT, "late", 0644, O_RDWR, &made), -EIO);
		assert_int_equal(kiln_unlink(f->op[1], KILN_ROOT, "old"), -EIO);
		assert_int_equal(kiln_syncfs(f->fsync), -EIO);
		assert_int_equal(kiln_lookup(f->reader, KILN_ROOT, "old", &e), 0);
		assert_int_equal(kiln_lookup(f->fsync, KILN_ROOT, "old", &e), 0);
		assert_int_equal(kiln_lookup(f->reader, KILN_ROOT, "late", &e), -ENOENT);
	}
}

static void restart(struct fixture *f)
{
	struct fuse_entry_out e;

	close_all(f);
	embed_stop(f->e);
	embed_cut(f->e, plug_synced(f->e->plug));
	embed_start(f->e);
	connect_all(f);
	assert_int_equal(kiln_lookup(f->reader, KILN_ROOT, "old", &e), 0);
	make(f->op[0], "again");
	make(f->fsync, "again");
	assert_int_equal(kiln_syncfs(f->fsync), 0);
}

static void a_failed_sync_is_told_to_all(void **state)
{
	struct fixture *f = *state;
	struct embed *other = begin_store();
	struct kiln *neighbour = embed_connect(other, "op", 1);
	struct pending p, more[CLIENTS], sync;
	struct fuse_entry_out e;

	begin_sync(f, &p);
	for (int i = 1; i < CLIENTS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		begin_create(&more[i], f->op[i], name);
	}
	kiln_prep_fsync(&sync.op, f->old_fsync, 0, false);
	make(f->fsync, "unsynced");
	pending_begin(&sync, f->fsync);
	plug_fail(f->e->plug);
	assert_int_equal(pending_end(&p), -EIO);
	for (int i = 1; i < CLIENTS; i++)
		assert_int_equal(pending_end(&more[i]), -EIO);
	assert_int_equal(pending_end(&sync), -EIO);
	assert_int_equal(kiln_lookup(f->reader, KILN_ROOT, "new", &e), -ENOENT);
	expect_refusal(f);
	expect_broken(f, "");
	make(neighbour, "fine");
	assert_int_equal(kiln_syncfs(neighbour), 0);
	kiln_close(neighbour);
	embed_free(other);
	restart(f);
	assert_int_equal(kiln_lookup(f->reader, KILN_ROOT, "new", &e), -ENOENT);
}

static void a_failed_sync_of_a_file_is_told_to_all(void **state)
{
	struct fixture *f = *state;
	static uint8_t bytes[MUCH];
	struct fuse_open_out o;

	assert_int_equal(kiln_open(f->op[0], f->old, O_RDWR, &o), 0);
	assert_int_equal(kiln_write(f->op[0], f->old, o.fh, bytes, MUCH, 0, 0), MUCH);
	fault_disk_fail(f->e->disk, FAULT_SYNC, 1, -KILN_EIO);
	assert_int_equal(kiln_fsync(f->op[0], f->old, o.fh, false), -EIO);
	assert_int_equal(kiln_fsync(f->op[0], f->old, o.fh, false), -EIO); /* not believed later */
	expect_refusal(f);
	expect_broken(f, "data file");
	restart(f);
}

static void hush(enum log_level level, const char *text)
{
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(looking_never_waits),
		TEST(failing_as_it_durably_does_never_waits),
		TEST(a_volume_of_the_other_kind_never_waits),
		TEST(writing_shows_at_once),
		TEST(failing_on_what_is_not_durable_waits),
		TEST(opening_what_is_being_removed_waits),
		TEST(one_sync_serves_all_who_came_meanwhile),
		TEST(a_failed_sync_is_told_to_all),
		TEST(a_failed_sync_of_a_file_is_told_to_all),
	};

	log_sink_set(hush);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Changes that meet: they share an apply, whoever sent them; those that cannot but fail do not
 * wait for it; replies to one connection leave together.
 *
 * A whole server over a plug (tests/plug.h).  Nothing is timed: an apply is held, and with it the
 * loop and the writer role of the volume it belongs to, until what is to meet has come. */
#include "tests/embed.h"
#include "tests/pending.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "server/loop.h"
#include "server/status.h"
#include "server/volumes.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { CLIENTS = 8, PATIENCE_S = 20, TRIES = 50, NO_NODE = 99999 };

/* a and b are of different loops if there are two: connections go to them in turn. */
struct fixture {
	struct embed *e;
	const char *volume;
	struct kiln *a, *b, *more[CLIENTS];
	uint64_t file, dir; /* "file", "dir" with a file "in" */
};

static struct fixture *begin_with(unsigned loops, const char *volume, int durability)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct kiln_created made;
	struct fuse_entry_out dir;

	alarm(PATIENCE_S);
	f->e = embed_new();
	f->e->loops = loops;
	f->volume = volume;
	embed_start(f->e);
	embed_volume(f->e, volume, durability);
	f->a = embed_connect(f->e, volume, 1);
	f->b = embed_connect(f->e, volume, 2);
	assert_int_equal(kiln_create(f->a, KILN_ROOT, "file", 0644, O_RDWR, &made), 0);
	f->file = made.entry.nodeid;
	assert_int_equal(kiln_mkdir(f->a, KILN_ROOT, "dir", 0755, &dir), 0);
	f->dir = dir.nodeid;
	assert_int_equal(kiln_create(f->a, f->dir, "in", 0644, O_RDWR, &made), 0);
	assert_int_equal(kiln_syncfs(f->a), 0);
	return f;
}

static int begin_fsync(void **state)
{
	*state = begin_with(2, "fsync", DURABILITY_FSYNC);
	return 0;
}

static int begin_op(void **state)
{
	*state = begin_with(2, "op", DURABILITY_OP);
	return 0;
}

static int begin_one_loop(void **state)
{
	*state = begin_with(1, "fsync", DURABILITY_FSYNC);
	return 0;
}

static int finish(void **state)
{
	struct fixture *f = *state;

	plug_go_apply(f->e->plug);
	plug_go(f->e->plug);
	for (unsigned i = 0; i < CLIENTS; i++)
		kiln_close(f->more[i]);
	kiln_close(f->a);
	kiln_close(f->b);
	embed_free(f->e);
	free(f);
	alarm(0);
	return 0;
}

/* --- calls ---------------------------------------------------------------------------------------- */

/* start: the answer goes into p, wherever the call was prepared for. */
static void start(struct pending *p, struct kiln *k)
{
	p->op.reply = p->out.any;
	p->op.reply_cap = sizeof(p->out.any);
	pending_begin(p, k);
}

static void start_mkdir(struct pending *p, struct kiln *k, const char *name)
{
	static struct fuse_entry_out out;

	kiln_prep_mkdir(&p->op, KILN_ROOT, name, 0755, &out);
	start(p, k);
}

/* settle: each loop has let go of the role before it looks for what has come next. */
static void settle(struct fixture *f)
{
	struct fuse_entry_out e;

	assert_int_equal(kiln_lookup(f->a, KILN_ROOT, "none", &e), -ENOENT);
	assert_int_equal(kiln_lookup(f->b, KILN_ROOT, "none", &e), -ENOENT);
	assert_int_equal(kiln_lookup(f->a, KILN_ROOT, "none", &e), -ENOENT);
}

/* hold: a's loop holds the role, and stays with it, in an apply that makes `name`. */
static void hold(struct fixture *f, struct pending *p, const char *name)
{
	settle(f);
	plug_hold_apply(f->e->plug);
	start_mkdir(p, f->a, name);
	plug_await_apply(f->e->plug);
}

static void let_go(struct fixture *f, struct pending *p)
{
	plug_go_apply(f->e->plug);
	assert_int_equal(pending_end(p), 0);
}

/* --- failures that are foreseen --------------------------------------------------------------------- */

static void sure_failures_do_not_wait(void **state)
{
	struct fixture *f = *state;
	struct kiln_created made;
	struct fuse_entry_out e;
	struct pending p;

	hold(f, &p, "new");
	for (int i = 0; i < 20; i++) {
		assert_int_equal(kiln_mkdir(f->b, KILN_ROOT, "dir", 0755, &e), -EEXIST);
		assert_int_equal(kiln_mkdir(f->b, KILN_ROOT, "file", 0755, &e), -EEXIST);
		assert_int_equal(kiln_mknod(f->b, KILN_ROOT, "file", S_IFREG | 0644, 0, &e), -EEXIST);
		assert_int_equal(kiln_symlink(f->b, KILN_ROOT, "file", "x", &e), -EEXIST);
		assert_int_equal(kiln_link(f->b, f->file, KILN_ROOT, "dir", &e), -EEXIST);
		assert_int_equal(kiln_create(f->b, KILN_ROOT, "file", 0644, O_RDWR | O_EXCL, &made),
				 -EEXIST);
		assert_int_equal(kiln_unlink(f->b, KILN_ROOT, "none"), -ENOENT);
		assert_int_equal(kiln_rmdir(f->b, f->dir, "none"), -ENOENT);
	}
	assert_false(pending_answered(&p));
	let_go(f, &p);
}

/* --- the same answer as without waiting -------------------------------------------------------------- */

enum where { ROOT, FILE_ITSELF, DIR_ITSELF, NOWHERE };

struct call {
	uint32_t opcode;
	enum where where;
	const char *name;
	uint32_t number; /* MKNOD: mode; CREATE: flags; LINK: which node */
	const char *text;
};

static const struct call calls[] = {
	{ FUSE_MKDIR, ROOT, "file", 0, NULL },
	{ FUSE_MKDIR, FILE_ITSELF, "in", 0, NULL },
	{ FUSE_MKDIR, NOWHERE, "file", 0, NULL },
	{ FUSE_MKDIR, ROOT, ".", 0, NULL },
	{ FUSE_MKNOD, ROOT, "file", S_IFIFO, NULL },
	{ FUSE_MKNOD, ROOT, "file", S_IFDIR, NULL },
	{ FUSE_MKNOD, FILE_ITSELF, "file", S_IFREG, NULL },
	{ FUSE_SYMLINK, ROOT, "dir", 0, "target" },
	{ FUSE_SYMLINK, FILE_ITSELF, "dir", 0, "target" },
	{ FUSE_LINK, ROOT, "file", DIR_ITSELF, NULL },
	{ FUSE_LINK, ROOT, "file", NOWHERE, NULL },
	{ FUSE_LINK, ROOT, "none", DIR_ITSELF, NULL },
	{ FUSE_LINK, NOWHERE, "file", FILE_ITSELF, NULL },
	{ FUSE_CREATE, ROOT, "file", O_RDWR | O_EXCL, NULL },
	{ FUSE_CREATE, ROOT, "dir", O_RDWR | O_EXCL, NULL },
	{ FUSE_CREATE, ROOT, "dir", O_RDWR, NULL },
	{ FUSE_CREATE, FILE_ITSELF, "file", O_RDWR | O_EXCL, NULL },
	{ FUSE_UNLINK, ROOT, "none", 0, NULL },
	{ FUSE_UNLINK, ROOT, "dir", 0, NULL },
	{ FUSE_UNLINK, ROOT, "..", 0, NULL },
	{ FUSE_UNLINK, FILE_ITSELF, "none", 0, NULL },
	{ FUSE_UNLINK, NOWHERE, "none", 0, NULL },
	{ FUSE_RMDIR, ROOT, "none", 0, NULL },
	{ FUSE_RMDIR, ROOT, "file", 0, NULL },
	{ FUSE_RMDIR, ROOT, "dir", 0, NULL },
	{ FUSE_RMDIR, ROOT, ".", 0, NULL },
	{ FUSE_RMDIR, FILE_ITSELF, "none", 0, NULL },
};

enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

static uint64_t node_at(struct fixture *f, uint32_t where)
{
	const uint64_t nodes[] = { KILN_ROOT, f->file, f->dir, NO_NODE };

	return nodes[where];
}

static void *argument(struct kiln_op *op, size_t size)
{
	op->arg_len = (uint32_t)size;
	return memset(op->arg, 0, size);
}

static void start_call(struct fixture *f, struct pending *p, const struct call *c)
{
	memset(p, 0, sizeof(*p));
	p->op = (struct kiln_op){ .opcode = c->opcode, .node = node_at(f, c->where),
				  .text = c->name, .text_len = (uint32_t)strlen(c->name) + 1 };
	if (c->text) {
		p->op.text2 = c->text;
		p->op.text2_len = (uint32_t)strlen(c->text) + 1;
	}
	if (c->opcode == FUSE_MKDIR)
		argument(&p->op, sizeof(struct fuse_mkdir_in));
	else if (c->opcode == FUSE_MKNOD)
		((struct fuse_mknod_in *)argument(&p->op, sizeof(struct fuse_mknod_in)))->mode =
			c->number;
	else if (c->opcode == FUSE_LINK)
		((struct fuse_link_in *)argument(&p->op, sizeof(struct fuse_link_in)))->oldnodeid =
			node_at(f, c->number);
	else if (c->opcode == FUSE_CREATE)
		*(struct fuse_create_in *)argument(&p->op, sizeof(struct fuse_create_in)) =
			(struct fuse_create_in){ .flags = c->number, .mode = S_IFREG | 0644 };
	start(p, f->b);
}

static void set_read_only(struct fixture *f, bool read_only)
{
	struct volume_record r;
	struct volume *v;

	assert_int_equal(volumes_find(f->e->server->volumes, f->volume, &v), 0);
	volume_record(v, &r);
	volumes_put(f->e->server->volumes, v);
	r.read_only = read_only;
	assert_int_equal(volumes_set(f->e->server->volumes, f->volume, &r), 0);
}

static void compare_call(struct fixture *f, unsigned i, int alone, bool read_only)
{
	struct pending p, waits;
	char name[16];
	int err;

	snprintf(name, sizeof(name), "%s%u", read_only ? "ro" : "rw", i);
	hold(f, &p, name);
	if (read_only)
		set_read_only(f, true);
	start_call(f, &waits, &calls[i]);
	let_go(f, &p);
	err = pending_end(&waits);
	if (read_only)
		set_read_only(f, false);
	if (err != alone)
		fail_msg("call %u (opcode %u, '%.10s'): %d alone, %d where it met another", i,
			 calls[i].opcode, calls[i].name, alone, err);
}

static int run_alone(struct fixture *f, unsigned i, bool read_only)
{
	struct pending p;
	int err;

	if (read_only)
		set_read_only(f, true);
	start_call(f, &p, &calls[i]);
	err = pending_end(&p);
	if (read_only)
		set_read_only(f, false);
	assert_true(err < 0);
	return err;
}

static void a_failure_is_the_same_as_without_waiting(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < CALLS; i++)
		compare_call(f, i, run_alone(f, i, false), false);
	for (unsigned i = 0; i < CALLS; i++)
		compare_call(f, i, run_alone(f, i, true), true);
}

/* --- messages of the test's own ------------------------------------------------------------------------ */

#define RESENT (1ull << 63)

struct mkdir_message {
	struct fuse_in_header in;
	struct fuse_mkdir_in arg;
	char name[8];
};

struct lookup_message {
	struct fuse_in_header in;
	char name[8];
};

/* Both names are of exactly seven bytes. */
static struct mkdir_message mkdir_message(uint64_t unique, uint16_t slot, const char *name)
{
	struct mkdir_message m = {
		.in = { .len = sizeof(m), .opcode = FUSE_MKDIR, .unique = unique,
			.nodeid = KILN_ROOT, .padding = slot },
		.arg = { .mode = 0755 },
	};

	memcpy(m.name, name, sizeof(m.name));
	return m;
}

static struct lookup_message lookup_message(uint64_t unique, const char *name)
{
	struct lookup_message m = {
		.in = { .len = sizeof(m), .opcode = FUSE_LOOKUP, .unique = unique,
			.nodeid = KILN_ROOT },
	};

	memcpy(m.name, name, sizeof(m.name));
	return m;
}

static struct fuse_out_header hear(struct kiln *k)
{
	char reply[512];
	struct fuse_out_header h;

	assert_true(kiln_raw_recv(k, reply, sizeof(reply)) >= (ssize_t)sizeof(h));
	memcpy(&h, reply, sizeof(h));
	return h;
}

/* await_read: all that was sent on k before has been read. */
static void await_read(struct kiln *k)
{
	struct lookup_message last = lookup_message(RESENT - 2, "missing");
	struct fuse_out_header h;

	assert_int_equal(kiln_raw_send(k, &last, sizeof(last)), 0);
	h = hear(k);
	assert_int_equal(h.unique, last.in.unique);
	assert_int_equal(h.error, -ENOENT);
}

/* --- what is sent again ------------------------------------------------------------------------------------ */

/* The name is there because this very request made it: that is no failure. */
static void what_is_sent_again_is_not_foreseen(void **state)
{
	struct fixture *f = *state;
	struct mkdir_message first = mkdir_message(1000, 3, "sevenby"), again = first;
	struct fuse_out_header h;
	struct pending p;

	assert_int_equal(kiln_raw_send(f->b, &first, sizeof(first)), 0);
	h = hear(f->b);
	assert_int_equal(h.error, 0);
	hold(f, &p, "new");
	again.in.unique |= RESENT;
	assert_int_equal(kiln_raw_send(f->b, &again, sizeof(again)), 0);
	await_read(f->b);
	let_go(f, &p);
	h = hear(f->b);
	assert_int_equal(h.error, 0);
	assert_int_equal(h.unique, 1000);
}

/* ... and what has been done is not refused because the volume takes no changes any more. */
static void what_is_sent_again_is_known_on_a_read_only_volume(void **state)
{
	struct fixture *f = *state;
	struct mkdir_message first = mkdir_message(1000, 3, "sevenby"), again = first,
			     other = mkdir_message(1002, 4, "another");

	assert_int_equal(kiln_raw_send(f->b, &first, sizeof(first)), 0);
	assert_int_equal(hear(f->b).error, 0);
	set_read_only(f, true);
	again.in.unique |= RESENT;
	assert_int_equal(kiln_raw_send(f->b, &again, sizeof(again)), 0);
	assert_int_equal(hear(f->b).error, 0);
	other.in.unique |= RESENT;
	assert_int_equal(kiln_raw_send(f->b, &other, sizeof(other)), 0);
	assert_int_equal(hear(f->b).error, -EROFS);
}

/* The connection breaks before the server has read what came over it, and the same comes once more
 * over the next, which another loop reads: the older one comes too late. */
static void what_is_sent_again_overtakes_the_first(void **state)
{
	struct fixture *f = *state;
	struct pending p, append;
	struct fuse_write_out out;
	struct fuse_attr_out attr;
	struct fuse_entry_out e;

	f->more[0] = embed_connect(f->e, f->volume, 10); /* of a's loop */
	hold(f, &p, "new");
	kiln_prep_write(&append.op, f->file, 0, "bytes", 5, 0, O_WRONLY | O_APPEND, &out);
	start(&append, f->more[0]);
	assert_int_equal(shutdown(kiln_fd(f->more[0]), SHUT_RDWR), 0);
	assert_int_equal(kiln_lookup(f->more[0], KILN_ROOT, "none", &e), -ENOENT);
	let_go(f, &p);
	assert_int_equal(pending_end(&append), 0);
	settle(f);
	assert_int_equal(kiln_getattr(f->a, f->file, &attr), 0);
	assert_int_equal(attr.attr.size, 5);
}

/* --- sharing ------------------------------------------------------------------------------------------------- */

/* groups: how many were applied, with how many changes altogether. */
static void groups(struct fixture *f, unsigned *count, unsigned *changes)
{
	json_t *status = status_fill(f->e->server, 10);
	json_t *g = json_object_get(json_object_get(status, "operations_us"), "groups");

	*count = (unsigned)json_integer_value(json_object_get(g, "count"));
	*changes = (unsigned)(json_real_value(json_object_get(g, "changes_each")) * *count + 0.5);
	json_decref(status);
}

/* Whether those that came while the loop was held shared, of CLIENTS connections. */
static bool try_sharing(struct fixture *f, unsigned round)
{
	unsigned groups_before, changes_before, groups_now, changes_now;
	struct pending p, more[CLIENTS];
	char name[CLIENTS + 1][16];

	settle(f);
	groups(f, &groups_before, &changes_before);
	snprintf(name[CLIENTS], sizeof(name[0]), "first%u", round);
	hold(f, &p, name[CLIENTS]);
	for (unsigned i = 0; i < CLIENTS; i++) {
		snprintf(name[i], sizeof(name[i]), "n%u-%u", round, i);
		start_mkdir(&more[i], f->more[i], name[i]);
	}
	let_go(f, &p);
	for (unsigned i = 0; i < CLIENTS; i++)
		assert_int_equal(pending_end(&more[i]), 0);
	groups(f, &groups_now, &changes_now);
	assert_int_equal(changes_now - changes_before, CLIENTS + 1);
	return groups_now - groups_before < CLIENTS + 1;
}

/* What was readable at once is applied at once, unless that takes long: on a busy machine a round
 * may be cut into pieces. */
static void connections_share_an_apply(void **state)
{
	struct fixture *f = *state;
	bool shared = false;

	for (unsigned i = 0; i < CLIENTS; i++)
		f->more[i] = embed_connect(f->e, f->volume, 10 + i);
	for (unsigned round = 0; round < TRIES && !shared; round++)
		shared = try_sharing(f, round);
	assert_true(shared);
}

/* Writers of one file go one by one, but need no thread of the pool to follow each other. */
static void writers_of_one_file_stay_on_their_loop(void **state)
{
	struct fixture *f = *state;
	const struct worker_stats *stats = &loop_worker(f->e->server->loops[0])->stats;
	uint64_t before = stats->answered[OP_DATA];
	struct pending p, more[CLIENTS];
	struct fuse_write_out out;
	struct fuse_attr_out attr;

	for (unsigned i = 0; i < CLIENTS; i++)
		f->more[i] = embed_connect(f->e, f->volume, 10 + i);
	hold(f, &p, "new");
	for (unsigned i = 0; i < CLIENTS; i++) {
		kiln_prep_write(&more[i].op, f->file, 0, "bytes", 5, 5 * i, 0, &out);
		start(&more[i], f->more[i]);
	}
	let_go(f, &p);
	for (unsigned i = 0; i < CLIENTS; i++)
		assert_int_equal(pending_end(&more[i]), 0);
	settle(f);
	assert_int_equal(kiln_getattr(f->a, f->file, &attr), 0);
	assert_int_equal(attr.attr.size, 5 * CLIENTS);
	assert_int_equal(stats->answered[OP_DATA] - before, CLIENTS);
}

/* --- replies of one connection -------------------------------------------------------------------------------- */

/* What queued up behind the role is applied as one group, and its answers leave in one write. */
static void replies_of_one_connection_leave_together(void **state)
{
	enum { REPLY = sizeof(struct fuse_out_header) + sizeof(struct fuse_entry_out) };
	struct fixture *f = *state;
	char name[8] = "queued0", replies[CLIENTS * REPLY + 1];
	struct pollfd p = { .fd = kiln_fd(f->b), .events = POLLIN };
	struct pending first;

	hold(f, &first, "new");
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct mkdir_message m;

		name[6] = (char)('0' + i);
		m = mkdir_message(1000 + 2 * i, (uint16_t)(1 + i), name);
		assert_int_equal(kiln_raw_send(f->b, &m, sizeof(m)), 0);
	}
	await_read(f->b);
	plug_go_apply(f->e->plug);
	assert_int_equal(poll(&p, 1, -1), 1);
	assert_int_equal(recv(kiln_fd(f->b), replies, sizeof(replies), MSG_DONTWAIT), CLIENTS * REPLY);
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct fuse_out_header h;

		memcpy(&h, replies + (size_t)i * REPLY, sizeof(h));
		assert_int_equal(h.error, 0);
		assert_int_equal(h.unique, 1000 + 2 * i);
	}
	assert_int_equal(pending_end(&first), 0);
}

/* --- how long a change is held ---------------------------------------------------------------------------------- */

enum { LONG = 1000 };

/* place_of_change: a change and what comes with it, as one batch; how many were answered before it. */
static unsigned place_of_change(struct kiln *k, const void *rest, size_t size)
{
	struct mkdir_message change = mkdir_message(1000, 3, "sevenby");
	char *batch = malloc(sizeof(change) + size);
	unsigned at = LONG;

	memcpy(batch, &change, sizeof(change));
	memcpy(batch + sizeof(change), rest, size);
	assert_int_equal(kiln_raw_send(k, batch, sizeof(change) + size), 0);
	free(batch);
	for (unsigned i = 0; i <= LONG; i++)
		if (hear(k).unique == 1000)
			at = i;
	return at;
}

/* Its answer does not wait for all the reads that came with it ... */
static void many_reads_do_not_hold_a_change(void **state)
{
	static struct lookup_message lookups[LONG];
	struct fixture *f = *state;

	for (unsigned i = 0; i < LONG; i++)
		lookups[i] = lookup_message(2000 + 2 * i, "missing");
	assert_true(place_of_change(f->b, lookups, sizeof(lookups)) < LONG);
}

/* ... nor for changes that fail at once. */
static void many_failures_do_not_hold_a_change(void **state)
{
	static struct mkdir_message mkdirs[LONG];
	struct fixture *f = *state;
	struct fuse_entry_out e;

	assert_int_equal(kiln_mkdir(f->a, KILN_ROOT, "present", 0755, &e), 0);
	for (unsigned i = 0; i < LONG; i++)
		mkdirs[i] = mkdir_message(2000 + 2 * i, 4, "present");
	assert_true(place_of_change(f->b, mkdirs, sizeof(mkdirs)) < LONG);
}

#define TEST(name, set_up) { #name " (" #set_up ")", name, set_up, finish, NULL }

static void hush(enum log_level level, const char *text)
{
}

/* An argument: only the tests whose names it matches. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(sure_failures_do_not_wait, begin_fsync),
		TEST(sure_failures_do_not_wait, begin_op),
		TEST(a_failure_is_the_same_as_without_waiting, begin_fsync),
		TEST(a_failure_is_the_same_as_without_waiting, begin_op),
		TEST(what_is_sent_again_is_not_foreseen, begin_fsync),
		TEST(what_is_sent_again_is_not_foreseen, begin_op),
		TEST(what_is_sent_again_is_known_on_a_read_only_volume, begin_fsync),
		TEST(what_is_sent_again_overtakes_the_first, begin_fsync),
		TEST(connections_share_an_apply, begin_one_loop),
		TEST(writers_of_one_file_stay_on_their_loop, begin_one_loop),
		TEST(replies_of_one_connection_leave_together, begin_fsync),
		TEST(many_reads_do_not_hold_a_change, begin_one_loop),
		TEST(many_failures_do_not_hold_a_change, begin_one_loop),
	};

	log_sink_set(hush);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

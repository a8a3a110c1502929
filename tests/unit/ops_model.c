/* Random operations on names, against a model that is as simple as can be: a table of nodes, each
 * directory a table of what its names stand for.  The model says of every operation what it must
 * return; after each hundred the whole tree, link counts, counts of entries, orphans and counters
 * are compared.  Half of the time changes gather in one group, as the scheduler combines them.
 *
 * KILN_TEST_SEED and KILN_TEST_STEPS repeat or prolong a run. */
#include "tests/unit/harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NODES = 400, NAMES = 12, STEPS = 60000, COMPARE_EVERY = 100, NONE = -1, ROOT = 0 };

enum kind { FREE, FILE_NODE, FIFO, SYMLINK, DIR };

struct node {
	enum kind kind;
	bool gone;               /* deleted: its handle must be dead */
	bool linkable;           /* made by tmpfile, may get a name */
	uint64_t handle;
	unsigned nlink, opens, entries;
	int parent, child[NAMES]; /* directories */
};

static struct node nodes[NODES];
static char names[NAMES][NAME_BYTES_MAX + 1];

/* --- chance -------------------------------------------------------------------------------- */

static uint64_t dice;

static unsigned roll(unsigned sides)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (unsigned)(dice >> 11) % sides;
}

static int any_node(bool (*fits)(const struct node *))
{
	for (int tries = 0; tries < 4000; tries++) {
		int i = (int)roll(NODES);

		if (fits(&nodes[i]))
			return i;
	}
	return ROOT;
}

static bool is_used(const struct node *n)
{
	return n->kind != FREE;
}

static bool is_live_dir(const struct node *n)
{
	return n->kind == DIR && !n->gone && n->nlink > 0;
}

static bool is_live_other(const struct node *n)
{
	return n->kind > FREE && n->kind < DIR && !n->gone;
}

static bool is_open(const struct node *n)
{
	return n->opens > 0;
}

static bool is_open_dir(const struct node *n)
{
	return n->opens > 0 && n->kind == DIR;
}

/* Mostly a directory that lives; sometimes one that is open, or anything that ever was. */
static int any_dir(void)
{
	switch (roll(20)) {
	case 0:
		return any_node(is_used);
	case 1:
		return any_node(is_open_dir);
	default:
		return any_node(is_live_dir);
	}
}

/* --- the model ------------------------------------------------------------------------------ */

static int dir_state(int dir, bool for_new_name)
{
	if (nodes[dir].gone)
		return -KILN_ESTALE;
	if (nodes[dir].kind != DIR)
		return -KILN_ENOTDIR;
	return for_new_name && nodes[dir].nlink == 0 ? -KILN_ENOENT : 0;
}

/* Forgets dead nodes when the table runs full. */
static int model_new(enum kind kind)
{
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 1; i < NODES; i++) {
			if (nodes[i].kind != FREE && !(pass && nodes[i].gone))
				continue;
			nodes[i] = (struct node){ .kind = kind, .nlink = kind == DIR ? 2 : 1 };
			for (int c = 0; c < NAMES; c++)
				nodes[i].child[c] = NONE;
			return i;
		}
	}
	return NONE;
}

static void model_put(int dir, int name, int child)
{
	nodes[dir].child[name] = child;
	nodes[dir].entries++;
	if (nodes[child].kind == DIR) {
		nodes[dir].nlink++;
		nodes[child].parent = dir;
	}
}

static void model_take(int dir, int name)
{
	int child = nodes[dir].child[name];

	nodes[dir].child[name] = NONE;
	nodes[dir].entries--;
	nodes[dir].nlink -= nodes[child].kind == DIR;
}

static void model_settle(int node)
{
	if (nodes[node].nlink == 0 && nodes[node].opens == 0)
		nodes[node].gone = true;
}

static void model_lose(int node)
{
	nodes[node].nlink = nodes[node].kind == DIR ? 0 : nodes[node].nlink - 1;
	nodes[node].linkable = false;
	model_settle(node);
}

static bool model_below(int dir, int top)
{
	while (dir != ROOT && dir != top)
		dir = nodes[dir].parent;
	return dir == top;
}

/* --- operations ----------------------------------------------------------------------------- */

static void check(const char *what, int dir, int name, int err, int expected)
{
	if (err != expected)
		fail_msg("%s in node %d, name %d: %s, expected %s", what, dir, name,
			 err_name(err), err_name(expected));
}

static void do_make(struct harness *h)
{
	enum kind kind = FILE_NODE + roll(4);
	int dir = any_dir(), name = (int)roll(NAMES), made;
	int expected = dir_state(dir, true), err;
	uint64_t handle = 0;

	if (!expected && nodes[dir].child[name] != NONE)
		expected = -KILN_EEXIST;
	if (kind == DIR)
		err = h_mkdir(h, nodes[dir].handle, names[name], 0755, &handle);
	else if (kind == SYMLINK)
		err = h_symlink(h, nodes[dir].handle, names[name], "target", &handle);
	else
		err = h_mknod(h, nodes[dir].handle, names[name],
			      kind == FIFO ? S_IFIFO : S_IFREG, 0, &handle);
	check("make", dir, name, err, expected);
	if (err)
		return;
	made = model_new(kind);
	assert_true(made != NONE);
	nodes[made].handle = handle;
	model_put(dir, name, made);
}

static int create_expected(int dir, int name, int flags)
{
	int err = dir_state(dir, true);
	const struct node *n;

	if (err || nodes[dir].child[name] == NONE)
		return err;
	n = &nodes[nodes[dir].child[name]];
	if (flags & O_EXCL)
		return -KILN_EEXIST;
	return n->kind == DIR ? -KILN_EISDIR : n->kind == FILE_NODE ? 0 : -KILN_ESTALE;
}

static void do_create(struct harness *h)
{
	int dir = any_dir(), name = (int)roll(NAMES), flags = O_RDWR | (roll(2) ? O_EXCL : 0);
	int expected = create_expected(dir, name, flags), node;
	uint64_t handle;
	int err = h_create(h, nodes[dir].handle, names[name], flags, 0644, &handle);

	check("create", dir, name, err, expected);
	if (err)
		return;
	node = nodes[dir].child[name];
	if (node == NONE) {
		node = model_new(FILE_NODE);
		assert_true(node != NONE);
		nodes[node].handle = handle;
		model_put(dir, name, node);
	}
	assert_int_equal(nodes[node].handle, handle);
	nodes[node].opens++;
}

static void do_tmpfile(struct harness *h)
{
	int dir = any_dir(), flags = O_RDWR | (roll(2) ? O_EXCL : 0), node;
	uint64_t handle;
	int err = h_tmpfile(h, nodes[dir].handle, flags, &handle);

	check("tmpfile", dir, NONE, err, dir_state(dir, true));
	if (err)
		return;
	node = model_new(FILE_NODE);
	assert_true(node != NONE);
	nodes[node].handle = handle;
	nodes[node].nlink = 0;
	nodes[node].opens = 1;
	nodes[node].linkable = !(flags & O_EXCL);
}

static int link_expected(int dir, int name, int node)
{
	int err = dir_state(dir, true);

	if (err)
		return err;
	if (nodes[dir].child[name] != NONE)
		return -KILN_EEXIST;
	if (nodes[node].gone)
		return -KILN_ESTALE;
	if (nodes[node].kind == DIR)
		return -KILN_EPERM;
	return nodes[node].nlink == 0 && !nodes[node].linkable ? -KILN_ENOENT : 0;
}

static void do_link(struct harness *h)
{
	int dir = any_dir(), name = (int)roll(NAMES);
	int node = any_node(roll(4) ? is_live_other : roll(2) ? is_open : is_used);
	int expected = link_expected(dir, name, node);
	int err = h_link(h, nodes[node].handle, nodes[dir].handle, names[name]);

	check("link", dir, name, err, expected);
	if (err)
		return;
	nodes[node].nlink++;
	nodes[node].linkable = false;
	model_put(dir, name, node);
}

static int remove_expected(int dir, int name, bool rmdir)
{
	int err = dir_state(dir, false);
	const struct node *n;

	if (err)
		return err;
	if (nodes[dir].child[name] == NONE)
		return -KILN_ENOENT;
	n = &nodes[nodes[dir].child[name]];
	if (rmdir)
		return n->kind != DIR ? -KILN_ENOTDIR : n->entries ? -KILN_ENOTEMPTY : 0;
	return n->kind == DIR ? -KILN_EISDIR : 0;
}

static void do_remove(struct harness *h)
{
	int dir = any_dir(), name = (int)roll(NAMES), node;
	bool rmdir = roll(2);
	int expected = remove_expected(dir, name, rmdir);
	int err = rmdir ? h_rmdir(h, nodes[dir].handle, names[name])
			: h_unlink(h, nodes[dir].handle, names[name]);

	check(rmdir ? "rmdir" : "unlink", dir, name, err, expected);
	if (err)
		return;
	node = nodes[dir].child[name];
	model_take(dir, name);
	model_lose(node);
}

struct move {
	int dir, name, newdir, newname, node, target;
	uint32_t flags;
};

static int replace_expected(const struct move *m)
{
	const struct node *from = &nodes[m->node], *to;

	if (m->target == NONE)
		return 0;
	to = &nodes[m->target];
	if (from->kind == DIR && to->kind != DIR)
		return -KILN_ENOTDIR;
	if (from->kind != DIR && to->kind == DIR)
		return -KILN_EISDIR;
	return to->entries ? -KILN_ENOTEMPTY : 0;
}

static int rename_expected(struct move *m)
{
	bool exchange = m->flags & RENAME_EXCHANGE;
	int err = dir_state(m->dir, false);

	if (!err && m->newdir != m->dir)
		err = dir_state(m->newdir, true);
	if (err)
		return err;
	m->node = nodes[m->dir].child[m->name];
	m->target = nodes[m->newdir].child[m->newname];
	if (m->node == NONE)
		return -KILN_ENOENT;
	if (m->target != NONE && m->flags & RENAME_NOREPLACE)
		return -KILN_EEXIST;
	if (m->target == NONE && exchange)
		return -KILN_ENOENT;
	if (m->node == m->target)
		return 0;
	if (nodes[m->node].kind == DIR && model_below(m->newdir, m->node))
		return -KILN_ELOOP;
	if (exchange && nodes[m->target].kind == DIR && model_below(m->dir, m->target))
		return -KILN_ELOOP;
	return exchange ? 0 : replace_expected(m);
}

static void model_move(const struct move *m)
{
	if (m->node == m->target)
		return;
	model_take(m->dir, m->name);
	if (m->target != NONE)
		model_take(m->newdir, m->newname);
	model_put(m->newdir, m->newname, m->node);
	if (m->flags & RENAME_EXCHANGE)
		model_put(m->dir, m->name, m->target);
	else if (m->target != NONE)
		model_lose(m->target);
}

static void do_rename(struct harness *h)
{
	static const uint32_t flags[] = { 0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE };
	struct move m = { .dir = any_dir(), .name = (int)roll(NAMES), .newname = (int)roll(NAMES),
			  .flags = flags[roll(4)] };
	int expected, err;

	m.newdir = roll(3) ? any_dir() : m.dir;
	if (roll(4) == 0) /* upwards, where loops come from */
		m.newdir = nodes[m.dir].parent;
	expected = rename_expected(&m);
	err = h_rename(h, nodes[m.dir].handle, names[m.name], nodes[m.newdir].handle,
		       names[m.newname], m.flags);
	check("rename", m.dir, m.name, err, expected);
	if (!err)
		model_move(&m);
}

static void do_opendir(struct harness *h)
{
	int dir = any_dir(), err;

	harness_request(h, nodes[dir].handle, NULL, NULL, NULL);
	err = harness_read(h, op_opendir);
	check("opendir", dir, NONE, err, dir_state(dir, false));
	nodes[dir].opens += !err;
}

static void do_close(struct harness *h)
{
	int node = any_node(is_open);

	if (nodes[node].opens == 0)
		return;
	nodes[node].opens--;
	harness_close(h, nodes[node].handle);
	model_settle(node);
}

/* --- comparing -------------------------------------------------------------------------------- */

static void compare_names(struct harness *h, int dir)
{
	uint64_t found;

	for (int i = 0; i < NAMES; i++) {
		int child = nodes[dir].child[i];
		int err = h_lookup(h, nodes[dir].handle, names[i], &found);

		check("lookup", dir, i, err, child == NONE ? -KILN_ENOENT : 0);
		if (!err)
			assert_int_equal(found, nodes[child].handle);
	}
}

/* Each listed name is one of the model's; as many as the model has. */
static void compare_listing(struct harness *h, int dir)
{
	struct fuse_read_in arg = { .size = 1 << 16 };
	size_t at = 0, count = 0;

	harness_request(h, nodes[dir].handle, &arg, NULL, NULL);
	assert_int_equal(harness_read(h, op_readdirplus), 0);
	while (at < h->req.body_len) {
		const struct fuse_direntplus *e =
			(const void *)((const uint8_t *)h->req.body + at);

		at += FUSE_DIRENTPLUS_SIZE(e);
		count++;
		if (e->dirent.off > 2)
			assert_int_equal(e->entry_out.nodeid, e->dirent.ino);
	}
	assert_int_equal(count, nodes[dir].nlink ? nodes[dir].entries + 2 : 0);
}

static void compare_node(struct harness *h, int i)
{
	struct inode inode = harness_inode(h, nodes[i].handle);

	assert_int_equal(inode.nlink, nodes[i].nlink);
	assert_int_equal(inode.entries, nodes[i].entries);
	assert_int_equal(!!(inode.flags & INODE_ORPHAN), nodes[i].nlink == 0);
	if (nodes[i].kind != DIR)
		return;
	if (nodes[i].nlink)
		assert_int_equal(inode.parent, nodes[nodes[i].parent].handle);
	compare_names(h, i);
	compare_listing(h, i);
}

static int count_one(void *context, uint64_t handle)
{
	++*(int *)context;
	return 0;
}

static void compare(struct harness *h)
{
	int live = 0, nameless = 0, orphans = 0;

	for (int i = 0; i < NODES; i++) {
		if (nodes[i].kind == FREE)
			continue;
		if (nodes[i].gone) {
			assert_true(harness_gone(h, nodes[i].handle));
			continue;
		}
		live++;
		nameless += nodes[i].nlink == 0;
		compare_node(h, i);
	}
	assert_int_equal(h->volume.state.inodes, live);
	assert_int_equal(h->volume.state.blocks, 0);
	assert_int_equal(orphan_each(h->reader, count_one, &orphans), 0);
	assert_int_equal(orphans, nameless);
}

/* --- the run ------------------------------------------------------------------------------------ */

static void name_names(void)
{
	for (int i = 0; i < NAMES; i++)
		snprintf(names[i], sizeof names[i], "%c", 'a' + i);
	strcpy(names[1], "\x01\xff\n");
	memset(names[2], 0xfe, NAME_BYTES_MAX);
	memset(names[3], 'x', NAME_BYTES_MAX - 1);
}

static unsigned long from_env(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 0) : otherwise;
}

/* Room in the table for what one step can make; else it only takes away. */
static bool has_room(void)
{
	int live = 0;

	for (int i = 0; i < NODES; i++)
		live += nodes[i].kind != FREE && !nodes[i].gone;
	return live < NODES - 1;
}

static void step(struct harness *h)
{
	static void (*const ops[])(struct harness *) = {
		do_make, do_make, do_create, do_tmpfile, do_link, do_link, do_remove, do_remove,
		do_remove, do_rename, do_rename, do_rename, do_rename, do_opendir, do_close, do_close,
	};

	if (roll(50) == 0)
		h->lazy = !h->lazy;
	if (has_room())
		ops[roll(sizeof ops / sizeof *ops)](h);
	else
		(roll(2) ? do_remove : do_close)(h);
}

static void plant_root(void)
{
	memset(nodes, 0, sizeof nodes);
	nodes[ROOT] = (struct node){ .kind = DIR, .nlink = 2, .handle = ROOT_HANDLE };
	for (int c = 0; c < NAMES; c++)
		nodes[ROOT].child[c] = NONE;
}

static void run(struct harness *h, unsigned long steps)
{
	name_names();
	plant_root();
	dice = from_env("KILN_TEST_SEED", 0x9e3779b97f4a7c15);
	for (unsigned long i = 1; i <= steps; i++) {
		step(h);
		if (i % COMPARE_EVERY == 0)
			compare(h);
	}
	compare(h);
}

static void random_operations_on_mem(void **state)
{
	run(*state, from_env("KILN_TEST_STEPS", STEPS));
}

static void random_operations_on_rocksdb(void **state)
{
	run(*state, from_env("KILN_TEST_STEPS", STEPS) / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(random_operations_on_mem),
		cmocka_unit_test_setup_teardown(random_operations_on_rocksdb, harness_setup_rocks,
						harness_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

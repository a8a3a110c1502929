#include "store/check.h"

#include "store/schema_impl.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { BLOCKS = SMALL_FILE_MAX / BLOCK_BYTES };

/* What is known of an inode: what it says, and what was found. */
struct node {
	uint64_t handle, entries, parent;
	uint32_t mode, nlink, flags, gen;
	uint64_t names, subdirs, found, under; /* found: names in it; under: the directory it is in */
	uint8_t blocks;                        /* those that are there, a bit each */
	bool orphan;
};
_Static_assert(BLOCKS == 8, "a bit each in node.blocks");

struct walk {
	struct txn *t;
	struct check *check;
	struct node *nodes; /* by handle, ascending */
	size_t count, room;
};

static void tell(struct walk *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void tell(struct walk *w, const char *format, ...)
{
	char text[NAME_BYTES_MAX + 200];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	w->check->problems++;
	w->check->told(w->check->context, text);
}

static struct node *find(struct walk *w, uint64_t handle)
{
	size_t low = 0, high = w->count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (w->nodes[mid].handle < handle)
			low = mid + 1;
		else
			high = mid;
	}
	return low < w->count && w->nodes[low].handle == handle ? &w->nodes[low] : NULL;
}

static int make_room(struct walk *w)
{
	size_t room = w->room ? 2 * w->room : 64;
	struct node *grown;

	if (w->count < w->room)
		return 0;
	grown = realloc(w->nodes, room * sizeof(*grown));
	if (!grown)
		return -KILN_ENOMEM;
	w->nodes = grown;
	w->room = room;
	return 0;
}

/* is_damage: the value, not the way to it. */
static bool is_damage(int err)
{
	return err == -KILN_ECORRUPT || err == -KILN_ESTALE || err == -KILN_ENOENT ||
	       err == -KILN_EINVAL;
}

static int take_inode(void *context, const unsigned char *tail, size_t tail_len, const void *value,
		      size_t value_len)
{
	struct walk *w = context;
	struct inode i;
	int err = make_room(w);

	if (err)
		return err;
	if (tail_len != 8) {
		tell(w, "an inode's key has %zu bytes behind its letter, not 8", tail_len);
		return 0;
	}
	err = inode_get(w->t, be64_at(tail), &i);
	if (err && is_damage(err))
		tell(w, "inode %" PRIu64 " cannot be decoded", be64_at(tail));
	if (err)
		return is_damage(err) ? 0 : err;
	w->nodes[w->count++] = (struct node){
		.handle = i.handle, .entries = i.entries, .parent = i.parent, .mode = i.mode,
		.nlink = i.nlink, .flags = i.flags, .gen = i.gen,
	};
	w->check->blocks += i.blocks;
	return 0;
}

static void count_name(struct node *d, struct node *n)
{
	d->found++;
	n->names++;
	if (!S_ISDIR(n->mode))
		return;
	d->subdirs++;
	n->under = d->handle;
}

static int take_name(void *context, const unsigned char *tail, size_t tail_len, const void *value,
		     size_t value_len)
{
	int len = (int)tail_len - 16, err;
	struct walk *w = context;
	uint64_t dir, handle;
	const char *name;
	struct node *d, *n;
	uint8_t type;

	if (len < 1 || len > NAME_BYTES_MAX) {
		tell(w, "a name's key has %zu bytes behind its letter", tail_len);
		return 0;
	}
	w->check->names++;
	dir = be64_at(tail);
	name = (const char *)tail + 16;
	d = find(w, dir);
	err = dirent_get(w->t, dir, name, (size_t)len, &handle, &type);
	if (err && !is_damage(err))
		return err;
	n = err ? NULL : find(w, handle);
	if (err)
		tell(w, "'%.*s' in directory %" PRIu64 " cannot be decoded", len, name, dir);
	else if (!d || !S_ISDIR(d->mode))
		tell(w, "'%.*s' is in %" PRIu64 ", which is no directory", len, name, dir);
	else if (!n)
		tell(w, "'%.*s' in directory %" PRIu64 " leads to inode %" PRIu64 ", which is not there",
		     len, name, dir, handle);
	else if (n->mode >> 12 != type)
		tell(w, "'%.*s' in directory %" PRIu64 " has another type than its inode", len, name,
		     dir);
	if (d && n)
		count_name(d, n);
	return 0;
}

static int take_orphan(void *context, uint64_t handle)
{
	struct walk *w = context;
	struct node *n = find(w, handle);

	if (n)
		n->orphan = true;
	else
		tell(w, "inode %" PRIu64 " is on the list of orphans and is not there", handle);
	return 0;
}

static int take_trash(void *context, uint64_t handle, uint32_t gen)
{
	struct walk *w = context;
	struct node *n = find(w, handle);

	if (n && n->flags & INODE_DATA && n->gen == gen)
		tell(w, "the data file of inode %" PRIu64 " is to be removed, and in use", handle);
	return 0;
}

static int take_attribute(void *context, const unsigned char *tail, size_t tail_len,
			  const void *value, size_t value_len)
{
	const uint32_t flags = INODE_XATTR | INODE_ACL | INODE_DEFACL | INODE_CAPS;
	struct walk *w = context;
	struct node *n = tail_len > 8 ? find(w, be64_at(tail)) : NULL;

	if (tail_len <= 8)
		tell(w, "an attribute's key has %zu bytes behind its letter", tail_len);
	else if (!n || !(n->flags & flags))
		tell(w, "an attribute belongs to inode %" PRIu64 ", which %s", be64_at(tail),
		     n ? "does not know" : "is not there");
	return 0;
}

static int take_block(void *context, const unsigned char *tail, size_t tail_len, const void *value,
		      size_t value_len)
{
	struct walk *w = context;
	struct node *n;
	uint32_t index;

	if (tail_len != 12 || value_len > BLOCK_BYTES || be32_at(tail + 8) >= BLOCKS) {
		tell(w, "a block's key or length is wrong");
		return 0;
	}
	index = be32_at(tail + 8);
	n = find(w, be64_at(tail));
	if (!n || !(n->flags & 1u << (INODE_BLOCKS_SHIFT + index)))
		tell(w, "block %u belongs to inode %" PRIu64 ", which %s", index, be64_at(tail),
		     n ? "does not know" : "is not there");
	else
		n->blocks |= (uint8_t)(1u << index);
	return 0;
}

static void check_directory(struct walk *w, const struct node *n)
{
	if (n->entries != n->found)
		tell(w, "directory %" PRIu64 " counts %" PRIu64 " names and has %" PRIu64, n->handle,
		     n->entries, n->found);
	if (n->names > 1)
		tell(w, "directory %" PRIu64 " has %" PRIu64 " names", n->handle, n->names);
	if (n->names && n->parent != n->under)
		tell(w, "directory %" PRIu64 " is in %" PRIu64 " and says %" PRIu64, n->handle, n->under,
		     n->parent);
}

static void check_node(struct walk *w, const struct node *n)
{
	bool dir = S_ISDIR(n->mode), root = n->handle == ROOT_HANDLE;
	uint64_t want = dir ? (n->names || root ? 2 + n->subdirs : 0) : n->names;
	uint8_t blocks = (uint8_t)((n->flags & INODE_BLOCKS_MASK) >> INODE_BLOCKS_SHIFT);

	if (n->nlink != want)
		tell(w, "inode %" PRIu64 " has link count %u, not %" PRIu64, n->handle, n->nlink, want);
	if (n->orphan != (n->nlink == 0) || n->orphan != !!(n->flags & INODE_ORPHAN))
		tell(w, "inode %" PRIu64 " has link count %u, is %son the list of orphans, and says "
		     "%s", n->handle, n->nlink, n->orphan ? "" : "not ",
		     n->flags & INODE_ORPHAN ? "that it is" : "that it is not");
	if (n->blocks != blocks)
		tell(w, "inode %" PRIu64 " has blocks %#x and says %#x (a bit each)", n->handle,
		     n->blocks, blocks);
	if (dir)
		check_directory(w, n);
}

/* check_reach: no directory is on a loop of its own. */
static void check_reach(struct walk *w, const struct node *n)
{
	const struct node *up = n;
	size_t steps = 0;

	while (up && up->handle != ROOT_HANDLE && up->names && steps++ <= w->count)
		up = find(w, up->under);
	if (!up || steps > w->count)
		tell(w, "directory %" PRIu64 " cannot be reached from the root", n->handle);
}

static int check_counters(struct walk *w)
{
	uint64_t last = w->count ? w->nodes[w->count - 1].handle : 0;
	struct counters c = { 0 };
	int err = counters_get(w->t, &c);

	if (err && !is_damage(err))
		return err;
	if (err == -KILN_ENOENT && !w->count)
		return 0; /* never mounted */
	if (err)
		tell(w, "the counters are not there or cannot be decoded");
	else if (c.inodes != w->count || c.blocks != w->check->blocks)
		tell(w, "the counters say %" PRIu64 " inodes and %" PRIu64 " blocks, there are %zu and %"
		     PRIu64, c.inodes, c.blocks, w->count, w->check->blocks);
	if (!err && last >= c.next_handle)
		tell(w, "inode %" PRIu64 " is beyond the numbers given out, %" PRIu64, last,
		     c.next_handle);
	if (w->count && w->nodes[0].handle != ROOT_HANDLE)
		tell(w, "there is no root directory");
	return 0;
}

static int each(struct walk *w, enum kv_space space, char letter, record_fn *fn)
{
	struct key prefix;

	key_start(&prefix, txn_brick(w->t), letter);
	return record_each(w->t, space, &prefix, fn, w);
}

/* read_all: inodes first: the rest is held against them. */
static int read_all(struct walk *w)
{
	int err = each(w, KV_INODE, 'i', take_inode);

	if (!err)
		err = each(w, KV_DIRENT, 'd', take_name);
	if (!err)
		err = orphan_each(w->t, take_orphan, w);
	if (!err)
		err = trash_each(w->t, take_trash, w);
	if (!err)
		err = each(w, KV_REST, 'x', take_attribute);
	return err ? err : each(w, KV_REST, 'b', take_block);
}

int check_brick(struct txn *t, struct check *c)
{
	struct walk w = { .t = t, .check = c };
	int err;

	c->names = c->blocks = c->problems = 0;
	err = read_all(&w);
	c->inodes = w.count;
	for (size_t i = 0; !err && i < w.count; i++) {
		check_node(&w, &w.nodes[i]);
		if (S_ISDIR(w.nodes[i].mode))
			check_reach(&w, &w.nodes[i]);
	}
	if (!err)
		err = check_counters(&w);
	free(w.nodes);
	return err;
}

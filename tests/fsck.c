/* Every name leads to an inode of its type; link counts, directories' counts and the volume's
 * counters are what the names and inodes say; what has no name is on the list of orphans and
 * nothing else is; nothing belongs to an inode that is not there. */
#include "tests/fsck.h"

#include "store/schema_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

struct node {
	struct inode inode;
	uint64_t names, subdirs, entries, parent;
	bool orphan, reached;
};

struct fsck {
	struct txn *t;
	struct node *nodes; /* by handle, ascending */
	size_t count, room;
	uint64_t blocks;
	char *why;
	size_t cap;
};

#define BAD(f, ...) (snprintf((f)->why, (f)->cap, __VA_ARGS__), 1)
#define LU(x) ((unsigned long)(x))

static struct node *find(struct fsck *f, uint64_t handle)
{
	size_t low = 0, high = f->count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (f->nodes[mid].inode.handle < handle)
			low = mid + 1;
		else
			high = mid;
	}
	return low < f->count && f->nodes[low].inode.handle == handle ? &f->nodes[low] : NULL;
}

static int take_inode(void *context, const unsigned char *tail, size_t tail_len, const void *value,
		      size_t value_len)
{
	struct fsck *f = context;
	struct node n = { 0 };
	int err = tail_len == 8 ? inode_get(f->t, be64_at(tail), &n.inode) : -KILN_ECORRUPT;

	if (err)
		return BAD(f, "an inode cannot be read: %s", err_text(err));
	if (f->count == f->room) {
		f->room = f->room ? 2 * f->room : 64;
		f->nodes = realloc(f->nodes, f->room * sizeof(*f->nodes));
		if (!f->nodes)
			abort();
	}
	f->nodes[f->count++] = n;
	f->blocks += n.inode.blocks;
	return 0;
}

static int take_name(void *context, const unsigned char *tail, size_t tail_len, const void *value,
		     size_t value_len)
{
	struct fsck *f = context;
	uint64_t dir = be64_at(tail), handle;
	struct node *d = find(f, dir), *n;
	uint8_t type;
	int len = (int)tail_len - 16;
	const char *name = (const char *)tail + 16;

	if (dirent_get(f->t, dir, name, (size_t)len, &handle, &type))
		return BAD(f, "an entry of directory %lu cannot be read", LU(dir));
	n = find(f, handle);
	if (!d || !S_ISDIR(d->inode.mode))
		return BAD(f, "%.*s is in %lu, which is no directory", len, name, LU(dir));
	if (!n)
		return BAD(f, "%.*s in %lu leads to inode %lu, which is not there", len, name,
			   LU(dir), LU(handle));
	if (n->inode.mode >> 12 != type)
		return BAD(f, "%.*s in %lu has another type than its inode", len, name, LU(dir));
	d->entries++;
	n->names++;
	if (S_ISDIR(n->inode.mode)) {
		d->subdirs++;
		n->parent = dir;
	}
	return 0;
}

static int take_orphan(void *context, uint64_t handle)
{
	struct fsck *f = context;
	struct node *n = find(f, handle);

	if (!n)
		return BAD(f, "orphan %lu is not there", LU(handle));
	n->orphan = true;
	return 0;
}

static int take_trash(void *context, uint64_t handle, uint32_t gen)
{
	struct fsck *f = context;
	struct node *n = find(f, handle);

	if (n && n->inode.flags & INODE_DATA && n->inode.gen == gen)
		return BAD(f, "the data file of inode %lu is to be removed", LU(handle));
	return 0;
}

static int take_attribute(void *context, const unsigned char *tail, size_t tail_len, const void *value,
		     size_t value_len)
{
	struct fsck *f = context;

	const uint32_t flags = INODE_XATTR | INODE_ACL | INODE_DEFACL | INODE_CAPS;
	struct node *n = find(f, be64_at(tail));

	if (!n || !(n->inode.flags & flags))
		return BAD(f, "an attribute belongs to inode %lu, which does not know",
			   LU(be64_at(tail)));
	return 0;
}

static int take_block(void *context, const unsigned char *tail, size_t tail_len, const void *value,
		      size_t value_len)
{
	struct fsck *f = context;
	struct node *n = find(f, be64_at(tail));
	uint32_t flag = 1u << (INODE_BLOCKS_SHIFT + tail[11]);

	if (!n || !(n->inode.flags & flag))
		return BAD(f, "block %u belongs to inode %lu, which does not know", tail[11],
			   LU(be64_at(tail)));
	return 0;
}

static int check_node(struct fsck *f, const struct node *n)
{
	const struct inode *i = &n->inode;
	bool dir = S_ISDIR(i->mode), root = i->handle == ROOT_HANDLE;
	uint64_t want = dir ? (n->names || root ? 2 + n->subdirs : 0) : n->names;

	if (i->nlink != want)
		return BAD(f, "inode %lu has link count %u, not %lu", LU(i->handle), i->nlink,
			   LU(want));
	if (dir && i->entries != n->entries)
		return BAD(f, "directory %lu counts %lu names, has %lu", LU(i->handle),
			   LU(i->entries), LU(n->entries));
	if (dir && n->names > 1)
		return BAD(f, "directory %lu has %lu names", LU(i->handle), LU(n->names));
	if (dir && n->names && i->parent != n->parent)
		return BAD(f, "directory %lu is in %lu and says %lu", LU(i->handle), LU(n->parent),
			   LU(i->parent));
	if (n->orphan != (i->nlink == 0) || n->orphan != !!(i->flags & INODE_ORPHAN))
		return BAD(f, "inode %lu: link count %u, orphan %d, flags %x", LU(i->handle),
			   i->nlink, n->orphan, i->flags);
	return 0;
}

/* reach: no directory is on a loop of its own. */
static int reach(struct fsck *f, struct node *n)
{
	size_t steps = 0;

	for (struct node *up = n; up->inode.handle != ROOT_HANDLE && up->names;) {
		up = find(f, up->parent);
		if (!up || ++steps > f->count)
			return BAD(f, "directory %lu cannot be reached from the root",
				   LU(n->inode.handle));
	}
	return 0;
}

static int check_counters(struct fsck *f)
{
	struct counters c = { 0 };
	int err = counters_get(f->t, &c);

	if (err)
		return err == -KILN_ENOENT && !f->count ? 0 : BAD(f, "there are no counters");
	if (c.inodes != f->count || c.blocks != f->blocks)
		return BAD(f, "counters say %lu inodes and %lu blocks, there are %lu and %lu",
			   LU(c.inodes), LU(c.blocks), LU(f->count), LU(f->blocks));
	if (f->count && f->nodes[f->count - 1].inode.handle >= c.next_handle)
		return BAD(f, "handle %lu is beyond those given out",
			   LU(f->nodes[f->count - 1].inode.handle));
	return 0;
}

static int walk(struct fsck *f, enum kv_space space, char letter, record_fn *fn)
{
	struct key prefix;

	key_start(&prefix, txn_brick(f->t), letter);
	return record_each(f->t, space, &prefix, fn, f);
}

int fsck_brick(struct txn *t, char *why, size_t cap)
{
	struct fsck f = { .t = t, .why = why, .cap = cap };
	int bad = walk(&f, KV_INODE, 'i', take_inode);

	if (!bad)
		bad = walk(&f, KV_DIRENT, 'd', take_name);
	if (!bad)
		bad = orphan_each(t, take_orphan, &f);
	if (!bad)
		bad = trash_each(t, take_trash, &f);
	if (!bad)
		bad = walk(&f, KV_REST, 'x', take_attribute);
	if (!bad)
		bad = walk(&f, KV_REST, 'b', take_block);
	for (size_t i = 0; !bad && i < f.count; i++) {
		bad = check_node(&f, &f.nodes[i]);
		if (!bad && S_ISDIR(f.nodes[i].inode.mode))
			bad = reach(&f, &f.nodes[i]);
	}
	if (!bad)
		bad = check_counters(&f);
	free(f.nodes);
	return bad;
}

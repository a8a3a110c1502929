/* rename: a name goes from one directory to another, or two names change places.
 *
 * Happy path: rename_read collects both directories and what the two names stand for;
 * rename_check applies the rules, in the order in which Linux does; then rename_move or
 * rename_exchange puts the two entries, the inodes that moved and the directories, all in the
 * operation's one batch.  Nothing can be seen in between, so there is no placeholder name and no
 * order to keep.
 *
 * No loop can arise: renames of a volume happen one at a time in the writer role, and whoever
 * moves a directory into another one walks up from there first.
 * Locks: none; the writer role. */
#include "server/ops.h"
#include "server/parent.h"
#include "server/volume.h"

#include "base/clock.h"

#include <stdio.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 1 << 20 }; /* deeper than this only a damaged store is */

struct end {
	struct inode *dir;
	const char *name;
	size_t len;
	struct inode inode;   /* what the name stands for; handle 0: nothing */
	int names, subdirs;   /* what dir gains */
};

struct rename {
	struct end from, to;
	struct inode dirs[2]; /* both ends point to the first if the directory is the same */
	uint32_t flags;
	struct timespec now;
};

static int end_read(struct txn *t, struct end *e)
{
	uint64_t child;
	uint8_t type;
	int err = dirent_get(t, e->dir->handle, e->name, e->len, &child, &type);

	return err ? err : inode_get(t, child, &e->inode);
}

static int dirs_read(struct txn *t, struct rename *r, uint64_t from, uint64_t to)
{
	int err = dir_get(t, from, &r->dirs[0]);

	r->from.dir = r->to.dir = &r->dirs[0];
	if (err || from == to)
		return err;
	r->to.dir = &r->dirs[1];
	return parent_get(t, to, &r->dirs[1]);
}

static int rename_read(struct request *req, struct rename *r, uint64_t newdir)
{
	int err = dirs_read(req->txn, r, req->in.nodeid, newdir);

	if (!err)
		err = end_read(req->txn, &r->from);
	if (err)
		return err;
	err = end_read(req->txn, &r->to);
	return err == -KILN_ENOENT ? 0 : err;
}

/* below: -KILN_ELOOP if `dir` is `top` or lies anywhere below it.  Going up ends at the root, or
 * at `stop`, a directory known not to lie below top. */
static int below(struct txn *t, const struct inode *dir, uint64_t top, uint64_t stop)
{
	struct inode up = *dir;

	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		int err;

		if (up.handle == top)
			return -KILN_ELOOP;
		if (up.handle == stop || up.handle == ROOT_HANDLE)
			return 0;
		err = inode_get(t, up.parent, &up);
		if (err)
			return err;
	}
	return -KILN_ECORRUPT;
}

/* Of a directory that goes from e into another end's directory: it must not end below itself,
 * and its `..` needs room there unless another's makes way. */
static int end_check(struct txn *t, const struct end *e, const struct end *other)
{
	int err;

	if (!S_ISDIR(e->inode.mode) || e->dir == other->dir)
		return 0;
	err = below(t, other->dir, e->inode.handle, e->dir->handle);
	return err || S_ISDIR(other->inode.mode) ? err : parent_room(other->dir);
}

static int replace_check(const struct rename *r)
{
	const struct inode *from = &r->from.inode, *to = &r->to.inode;

	if (!to->handle)
		return 0;
	if (S_ISDIR(from->mode) && !S_ISDIR(to->mode))
		return -KILN_ENOTDIR;
	if (!S_ISDIR(from->mode) && S_ISDIR(to->mode))
		return -KILN_EISDIR;
	return to->entries ? -KILN_ENOTEMPTY : 0;
}

static int rename_check(struct txn *t, const struct rename *r)
{
	bool exchange = r->flags & RENAME_EXCHANGE;
	int err = end_check(t, &r->from, &r->to);

	if (!err && exchange)
		err = end_check(t, &r->to, &r->from);
	return err || exchange ? err : replace_check(r);
}

/* end_settle: the inode that was at `was` now is at `e`; its `..`, its ctime and both counts. */
static int end_settle(struct txn *t, struct end *was, struct end *e, struct timespec now)
{
	struct inode *inode = &was->inode;
	int err = dirent_put(t, e->dir->handle, e->name, e->len, inode->handle,
			     (uint8_t)(inode->mode >> 12));

	inode->ctime = now;
	if (S_ISDIR(inode->mode)) {
		was->subdirs--;
		e->subdirs++;
		inode->parent = e->dir->handle;
	}
	return err ? err : inode_put(t, inode);
}

static int dirs_put(struct txn *t, struct rename *r)
{
	struct end *from = &r->from, *to = &r->to;
	int err;

	if (from->dir == to->dir)
		return parent_put(t, to->dir, from->names + to->names, from->subdirs + to->subdirs,
				  r->now);
	err = parent_put(t, to->dir, to->names, to->subdirs, r->now);
	return err ? err : parent_put(t, from->dir, from->names, from->subdirs, r->now);
}

static int rename_exchange(struct txn *t, struct rename *r)
{
	int err = end_settle(t, &r->from, &r->to, r->now);

	if (!err)
		err = end_settle(t, &r->to, &r->from, r->now);
	return err ? err : dirs_put(t, r);
}

static int rename_replaced(struct request *req, struct rename *r)
{
	struct end *to = &r->to;

	to->names--;
	to->subdirs -= S_ISDIR(to->inode.mode);
	to->inode.ctime = r->now;
	return inode_lose_name(req, &to->inode);
}

static int rename_move(struct request *req, struct rename *r)
{
	struct txn *t = req->txn;
	int err = dirent_del(t, r->from.dir->handle, r->from.name, r->from.len);

	if (!err)
		err = end_settle(t, &r->from, &r->to, r->now);
	r->from.names--;
	r->to.names++;
	if (!err && r->to.inode.handle)
		err = rename_replaced(req, r);
	return err ? err : dirs_put(t, r);
}

static int names_check(const struct request *req)
{
	for (int i = 0; i < 2; i++) {
		int err = name_check(req->name[i], req->name_len[i]);

		if (err)
			return err;
		if (name_is_dots(req->name[i], req->name_len[i]))
			return -KILN_EINVAL;
	}
	return volume_read_only(req->volume) ? -KILN_EROFS : 0;
}

static int rename_flagged(struct request *req, uint64_t newdir, uint32_t flags)
{
	struct rename r = {
		.from = { .name = req->name[0], .len = req->name_len[0] },
		.to = { .name = req->name[1], .len = req->name_len[1] },
		.flags = flags,
	};
	int err = names_check(req);

	if (!err)
		err = rename_read(req, &r, newdir);
	if (err)
		return err;
	if (r.to.inode.handle && flags & RENAME_NOREPLACE)
		return -KILN_EEXIST;
	if (!r.to.inode.handle && flags & RENAME_EXCHANGE)
		return -KILN_ENOENT;
	if (r.from.inode.handle == r.to.inode.handle)
		return 0; /* two names of one inode: POSIX wants both left alone */
	err = rename_check(req->txn, &r);
	if (err)
		return err;
	r.now = clock_wall();
	return flags & RENAME_EXCHANGE ? rename_exchange(req->txn, &r) : rename_move(req, &r);
}

int op_rename(struct request *req)
{
	const struct fuse_rename_in *arg = req->arg;

	return rename_flagged(req, arg->newdir, 0);
}

/* A whiteout is a device node that overlayfs alone understands: refused, as by most. */
int op_rename2(struct request *req)
{
	const struct fuse_rename2_in *arg = req->arg;
	const uint32_t both = RENAME_NOREPLACE | RENAME_EXCHANGE;

	if (arg->flags & ~both || (arg->flags & both) == both)
		return -KILN_EINVAL;
	return rename_flagged(req, arg->newdir, arg->flags);
}

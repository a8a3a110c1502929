/* Names go, and inodes with their last one: unlink, rmdir, reap.
 *
 * Happy path: op_unlink takes the entry away and calls inode_lose_name; with the last name gone,
 * either nobody has the inode open (volume_doom) and inode_remove deletes it in the same batch,
 * or it becomes an orphan and its last close queues op_reap, which removes it then.  After a
 * crash the orphan record is what brings op_reap about.
 *
 * Work in the writer role is bounded: a small file has at most BLOCKS_MAX blocks, a data file is
 * only put into the trash. */
#include "server/file.h"
#include "server/ops.h"
#include "server/parent.h"
#include "server/volume.h"

#include "base/clock.h"

#include <sys/stat.h>

static int blocks_remove(struct txn *t, const struct inode *inode)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < BLOCKS_MAX; i++)
		if (file_has_block(inode, i))
			err = block_del(t, inode->handle, i);
	return err;
}

static int bytes_remove(struct request *req, const struct inode *inode)
{
	int err;

	if (!(inode->flags & INODE_DATA))
		return blocks_remove(req->txn, inode);
	err = trash_put(req->txn, inode->handle, inode->gen);
	if (!err)
		volume_trash(req->volume, inode->handle, inode->gen);
	return err;
}

static int orphan_remove(struct request *req, uint64_t handle)
{
	int err = orphan_del(req->txn, handle);

	if (!err)
		volume_adopt(req->volume, handle);
	return err;
}

int inode_remove(struct request *req, const struct inode *inode)
{
	const uint32_t with_xattrs = INODE_XATTR | INODE_ACL | INODE_DEFACL | INODE_CAPS;
	int err = inode->flags & with_xattrs ? xattr_del_all(req->txn, inode->handle) : 0;

	if (!err && inode->flags & INODE_ORPHAN)
		err = orphan_remove(req, inode->handle);
	if (!err)
		err = bytes_remove(req, inode);
	if (!err)
		err = inode_del(req->txn, inode->handle);
	if (!err)
		err = volume_count(req->volume, -1, -(int64_t)inode->blocks);
	return err;
}

static int inode_orphan(struct request *req, struct inode *inode)
{
	int err;

	inode->flags |= INODE_ORPHAN;
	err = inode_put(req->txn, inode);
	if (!err)
		err = orphan_put(req->txn, inode->handle);
	if (!err)
		volume_orphan(req->volume, inode->handle);
	return err;
}

int inode_lose_name(struct request *req, struct inode *inode)
{
	inode->nlink = S_ISDIR(inode->mode) ? 0 : inode->nlink - 1;
	if (inode->nlink > 0)
		return inode_put(req->txn, inode);
	return volume_doom(req->volume, inode->handle) ? inode_remove(req, inode)
						       : inode_orphan(req, inode);
}

/* The name a request wants gone, what it names, and the directory it is in. */
static int name_find(struct request *req, struct inode *dir, struct inode *inode)
{
	const char *name = req->name[0];
	size_t len = req->name_len[0];
	uint64_t child;
	uint8_t type;
	int err = name_check(name, len);

	if (!err && volume_read_only(req->volume))
		err = -KILN_EROFS;
	if (!err)
		err = dir_get(req->txn, req->in.nodeid, dir);
	if (!err)
		err = dirent_get(req->txn, dir->handle, name, len, &child, &type);
	return err ? err : inode_get(req->txn, child, inode);
}

int op_foresee_missing(struct request *req)
{
	const char *name = req->name[0];
	size_t len = req->name_len[0];
	struct inode dir;
	uint64_t child;
	uint8_t type;

	if (name_is_dots(name, len) || name_check(name, len) != 0 ||
	    dir_get(req->txn, req->in.nodeid, &dir) != 0)
		return 0;
	return dirent_get(req->txn, dir.handle, name, len, &child, &type) == -KILN_ENOENT
		       ? -KILN_ENOENT : 0;
}

static int name_remove(struct request *req, struct inode *dir, struct inode *inode)
{
	int err = dirent_del(req->txn, dir->handle, req->name[0], req->name_len[0]);

	inode->ctime = clock_wall();
	if (!err)
		err = parent_put(req->txn, dir, -1, S_ISDIR(inode->mode) ? -1 : 0, inode->ctime);
	return err ? err : inode_lose_name(req, inode);
}

int op_unlink(struct request *req)
{
	struct inode dir, inode;
	int err;

	if (name_is_dots(req->name[0], req->name_len[0]))
		return -KILN_EISDIR;
	err = name_find(req, &dir, &inode);
	if (err)
		return err;
	if (S_ISDIR(inode.mode))
		return -KILN_EISDIR;
	return name_remove(req, &dir, &inode);
}

int op_rmdir(struct request *req)
{
	struct inode dir, inode;
	int err;

	if (name_is_dots(req->name[0], req->name_len[0]))
		return req->name_len[0] == 1 ? -KILN_EINVAL : -KILN_ENOTEMPTY;
	err = name_find(req, &dir, &inode);
	if (err)
		return err;
	if (!S_ISDIR(inode.mode))
		return -KILN_ENOTDIR;
	if (inode.entries)
		return -KILN_ENOTEMPTY;
	return name_remove(req, &dir, &inode);
}

/* Queued by an orphan's last close, and for every orphan found at a start.  Meanwhile it may have
 * been opened again, have got a name, or be gone: then there is nothing to do. */
int op_reap(struct request *req)
{
	struct inode inode;
	int err = inode_get(req->txn, req->in.nodeid, &inode);

	if (err == -KILN_ESTALE)
		return 0;
	if (err)
		return err;
	if (inode.nlink > 0)
		return 0;
	if (volume_doom(req->volume, inode.handle))
		return inode_remove(req, &inode);
	volume_orphan(req->volume, inode.handle);
	return 0;
}

/* Open files and their bytes: open, read, write, flush, fsync, release.
 *
 * write's happy path: op_write_prepare decides the place (O_APPEND: the size, in the file's
 * turn) and writes the bytes if they belong into a data file; op_write puts blocks if they do
 * not, and the inode.  A whole block is put straight from the message.
 *
 * Reading takes no turn and no lock: op_read looks afterwards whether somebody has moved or cut
 * the file's bytes meanwhile, and then reads once more. */
#include "server/file.h"
#include "server/locktable.h"
#include "server/ops.h"
#include "server/volume.h"

#include <fcntl.h>

enum { READ_TRIES = 8 };

/* --- open and close -------------------------------------------------------------------------- */

static void reply_open(struct request *req, const struct inode *inode, uint32_t flags)
{
	struct fuse_open_out *out = request_out(req, open);

	if ((flags & O_ACCMODE) == O_RDONLY)
		out->fh = FH_READ_ONLY;
	out->open_flags = file_open_flags(req->volume, flags,
					  volume_keep_cache(req->volume, req->session, inode));
	req->record_handle = inode->handle;
}

/* What the durable view still shows may be gone in the latest state, and with it all that an open
 * could lead to: who is told that he has it open must be able to use it. */
static int still_there(struct request *req)
{
	struct inode now;
	int err;

	if (!txn_is_behind(req->txn))
		return 0;
	err = inode_get_latest(req->txn, req->in.nodeid, &now);
	return err == -KILN_ESTALE ? -KILN_EDOOMED : err;
}

int open_begin(struct request *req, struct inode *inode)
{
	int err = open_take(req, req->in.nodeid);

	if (!err)
		err = inode_get(req->txn, req->in.nodeid, inode);
	return err ? err : still_there(req);
}

static int open_file(struct request *req, struct inode *inode)
{
	int err = open_begin(req, inode);

	return err ? err : file_check(inode);
}

int op_open(struct request *req)
{
	const struct fuse_open_in *arg = req->arg;
	struct inode inode;
	int err = open_file(req, &inode);

	if (!err && (arg->flags & O_ACCMODE) != O_RDONLY && volume_read_only(req->volume))
		err = -KILN_EROFS;
	if (!err)
		reply_open(req, &inode, arg->flags);
	return err;
}

int op_open_trunc(struct request *req)
{
	const struct fuse_open_in *arg = req->arg;
	struct inode inode;
	int err = open_file(req, &inode);

	if (!err)
		err = inode_truncate_nothing(req, &inode, arg->open_flags & FUSE_OPEN_KILL_SUIDGID);
	if (!err)
		err = inode_put(req->txn, &inode);
	if (err)
		return err;
	volume_note_writer(req->volume, req->session, inode.handle);
	reply_open(req, &inode, arg->flags);
	return 0;
}

static void drop_owner(struct request *req, uint64_t owner, bool flock)
{
	locktable_drop_owner(volume_locks(req->volume), req->session, req->in.nodeid, owner, flock);
}

int op_release(struct request *req)
{
	const struct fuse_release_in *arg = req->arg;

	if (arg->release_flags & FUSE_RELEASE_FLOCK_UNLOCK)
		drop_owner(req, arg->lock_owner, true);
	open_release(req);
	return 0;
}

/* --- durable ---------------------------------------------------------------------------------- */

static int make_durable(struct request *req)
{
	struct inode inode;
	int err = inode_get(req->txn, req->in.nodeid, &inode);

	if (!err)
		file_want_durable(req, &inode);
	return err;
}

/* On an `op` volume close promises what fsync does, unless this open could not write. */
int op_flush(struct request *req)
{
	const struct fuse_flush_in *arg = req->arg;
	int err = 0;

	if (volume_durability(req->volume) == DURABILITY_OP && arg->fh != FH_READ_ONLY)
		err = make_durable(req);
	/* its names and attributes were durable when they were answered; only bytes may not be */
	if (!err && req->sync_data.handle == 0 && !volume_bytes_pending(req->volume))
		req->durable = false;
	if (!err)
		drop_owner(req, arg->lock_owner, false);
	return err;
}

int op_fsync(struct request *req)
{
	return make_durable(req);
}

int op_fsyncdir(struct request *req)
{
	struct inode inode;

	req->durable = true;
	return inode_get(req->txn, req->in.nodeid, &inode);
}

int op_syncfs(struct request *req)
{
	req->durable = true;
	req->sync_all = true;
	return 0;
}

/* --- read -------------------------------------------------------------------------------------- */

static int read_once(struct request *req, const struct fuse_read_in *arg, bool *stable)
{
	uint64_t seq = commit_latest(store_committer(volume_store(req->volume)));
	struct inode inode;
	size_t len = arg->size;
	int err = inode_get(req->txn, req->in.nodeid, &inode);

	if (!err)
		err = file_check(&inode);
	if (err)
		return err;
	if (arg->offset >= inode.size)
		len = 0;
	else if (len > inode.size - arg->offset)
		len = (size_t)(inode.size - arg->offset);
	req->body = request_body(req);
	req->body_len = len;
	err = len ? file_read(req, &inode, request_body(req), len, arg->offset) : 0;
	return err ? err : file_read_stable(req, &inode, seq, stable);
}

int op_read(struct request *req)
{
	const struct fuse_read_in *arg = req->arg;
	bool stable = false;
	int err = 0;

	if (arg->size > REPLY_BYTES_MAX)
		return -KILN_EINVAL;
	for (int i = 0; !err && !stable && i < READ_TRIES; i++)
		err = read_once(req, arg, &stable);
	return err;
}

/* --- write ------------------------------------------------------------------------------------- */

/* The page cache knows where its bytes belong; everybody else appends at the size as it is now,
 * whatever his kernel believes. */
static uint64_t write_offset(const struct fuse_write_in *arg, const struct inode *inode)
{
	bool append = arg->flags & O_APPEND && !(arg->write_flags & FUSE_WRITE_CACHE);

	return append ? inode->size : arg->offset;
}

static int write_data(struct request *req)
{
	uint64_t offset = req->prep.offset;
	int err = req->prep.data_file ? 0 : file_move(req);

	if (!err)
		err = file_clear(req, req->prep.inode.size, offset);
	if (!err)
		err = data_write(file_data(req), file_prep_id(req), req->data, req->data_len, offset,
				 !req->may_block);
	return err;
}

int op_write_prepare(struct request *req)
{
	uint64_t end;
	int err = file_prepare(req);

	if (err)
		return err;
	req->prep.offset = write_offset(req->arg, &req->prep.inode);
	err = file_end(req->prep.offset, req->data_len, &end);
	if (err || (!req->prep.data_file && end <= SMALL_FILE_MAX))
		return err;
	return file_prepared(req, write_data(req));
}

static void reply_write(struct request *req, const struct inode *inode)
{
	const struct fuse_write_in *arg = req->arg;

	request_out(req, write)->size = (uint32_t)req->data_len;
	req->record_handle = inode->handle;
	req->record_value = req->data_len;
	if (arg->flags & O_DSYNC) /* O_SYNC contains it */
		file_want_durable(req, inode);
}

/* On an `op` volume the mode and security.capability are shown as they are durable, unlike the rest
 * of what a write changes: where they fall, its answer waits as chmod's does. */
static int write_kill_priv(struct request *req, struct inode *inode)
{
	const struct fuse_write_in *arg = req->arg;
	uint32_t mode = inode->mode, flags = inode->flags;
	int err = file_kill_priv(req->txn, inode, arg->write_flags & FUSE_WRITE_KILL_SUIDGID);

	if ((inode->mode != mode || inode->flags != flags) &&
	    volume_durability(req->volume) == DURABILITY_OP)
		req->durable = true;
	return err;
}

int op_write(struct request *req)
{
	uint64_t offset = req->prep.offset, end = offset + req->data_len;
	struct inode inode;
	int err = file_begin(req, &inode);

	if (!err)
		err = write_kill_priv(req, &inode);
	if (!err && !req->prep.data_file)
		err = file_put_bytes(req, &inode, req->data, req->data_len, offset);
	if (!err)
		err = file_end_change(req, &inode, end > inode.size ? end : inode.size);
	if (!err)
		reply_write(req, &inode);
	return file_done(req, err);
}

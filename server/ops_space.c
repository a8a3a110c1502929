/* Where a file has bytes and where holes: fallocate, lseek, copy_file_range.
 *
 * fallocate and copy are changes of bytes as write is (ops_file.c): what concerns a data file
 * happens in prepare, what concerns blocks in the handler.  A copy between two small files stays
 * in the database; otherwise the target gets a data file and the bytes go from file to file. */
#include "server/file.h"
#include "server/ops.h"
#include "server/volume.h"

#include <linux/falloc.h>
#include <unistd.h>

enum {
	MODES_KNOWN = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE,
	COPY_BYTES_MAX = 16 << 20, /* in one request: a file's turn is not held for long */
	COPY_TRIES = 4,
	SECTOR = 512,
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* --- fallocate ------------------------------------------------------------------------------- */

static int fallocate_check(const struct fuse_fallocate_in *arg, uint64_t *end)
{
	if (arg->mode & ~(uint32_t)MODES_KNOWN)
		return -KILN_ENOTSUP;
	if (arg->mode & FALLOC_FL_PUNCH_HOLE &&
	    arg->mode != (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE))
		return -KILN_ENOTSUP;
	if (arg->length == 0)
		return -KILN_EINVAL;
	return file_end(arg->offset, arg->length, end);
}

static uint64_t fallocate_size(const struct fuse_fallocate_in *arg, uint64_t size, uint64_t end)
{
	return arg->mode & FALLOC_FL_KEEP_SIZE || end < size ? size : end;
}

/* Before a data file takes space that the quota would refuse afterwards. */
static int space_check(struct request *req, const struct fuse_fallocate_in *arg)
{
	uint64_t want = arg->length / SECTOR, have = req->prep.inode.blocks;
	struct fuse_kstatfs st = { 0 };

	volume_statfs(req->volume, &st);
	if (st.frsize >= SECTOR && want > have &&
	    (want - have) / (st.frsize / SECTOR) > st.bavail)
		return -KILN_ENOSPC;
	return 0;
}

/* Zeros with space behind them; some file systems have no call for that. */
static int zero_data(struct request *req, uint64_t offset, uint64_t len)
{
	struct data *data = file_data(req);
	struct data_id id = file_prep_id(req);
	int err = data_allocate(data, id, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, offset, len);

	if (err != -KILN_ENOTSUP)
		return err;
	err = data_allocate(data, id, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, len);
	return err ? err : data_allocate(data, id, FALLOC_FL_KEEP_SIZE, offset, len);
}

static int fallocate_data(struct request *req, const struct fuse_fallocate_in *arg, uint64_t end)
{
	uint64_t size = req->prep.inode.size;
	int err = 0;

	if (!req->may_block)
		return -KILN_EWOULDBLOCK;
	if (arg->mode & FALLOC_FL_PUNCH_HOLE)
		return data_allocate(file_data(req), file_prep_id(req), (int)arg->mode, arg->offset,
				     arg->length);
	err = space_check(req, arg);
	if (!err && !req->prep.data_file)
		err = file_move(req);
	if (!err)
		err = file_clear(req, size, fallocate_size(arg, size, end));
	if (err)
		return err;
	if (arg->mode & FALLOC_FL_ZERO_RANGE)
		return zero_data(req, arg->offset, arg->length);
	return data_allocate(file_data(req), file_prep_id(req), FALLOC_FL_KEEP_SIZE, arg->offset,
			     arg->length);
}

int op_fallocate_prepare(struct request *req)
{
	const struct fuse_fallocate_in *arg = req->arg;
	uint64_t end;
	int err = file_prepare(req);

	if (!err)
		err = fallocate_check(arg, &end);
	if (err)
		return err;
	if (!req->prep.data_file && (end <= SMALL_FILE_MAX || arg->mode & FALLOC_FL_PUNCH_HOLE))
		return 0;
	return file_prepared(req, fallocate_data(req, arg, end));
}

static int fallocate_blocks(struct request *req, struct inode *inode,
			    const struct fuse_fallocate_in *arg, uint64_t end, uint64_t size)
{
	uint64_t to = least(least(end, size), SMALL_FILE_MAX);

	if (arg->mode & FALLOC_FL_PUNCH_HOLE)
		return file_put_zeros(req, inode, arg->offset, to, false);
	if (arg->mode & FALLOC_FL_ZERO_RANGE)
		return file_put_zeros(req, inode, arg->offset, to, true);
	return file_reserve(req, inode, arg->offset, to);
}

/* The kernel says nothing here of setuid bits: they go unless root does it. */
int op_fallocate(struct request *req)
{
	const struct fuse_fallocate_in *arg = req->arg;
	uint64_t end = arg->offset + arg->length, size;
	struct inode inode;
	int err = file_begin(req, &inode);

	if (!err)
		err = file_kill_priv(req->txn, &inode, req->in.uid != 0);
	if (err)
		return file_done(req, err);
	size = fallocate_size(arg, inode.size, end);
	if (!req->prep.data_file)
		err = fallocate_blocks(req, &inode, arg, end, size);
	if (!err)
		err = file_end_change(req, &inode, size);
	req->record_handle = inode.handle;
	return file_done(req, err);
}

/* --- lseek ------------------------------------------------------------------------------------- */

/* Beyond the last block that can be there is a hole to the end. */
static uint64_t seek_blocks(const struct inode *inode, uint64_t offset, bool data)
{
	while (offset < inode->size && file_has_block(inode, offset / BLOCK_BYTES) != data) {
		if (offset >= SMALL_FILE_MAX)
			return inode->size;
		offset = (offset / BLOCK_BYTES + 1) * BLOCK_BYTES;
	}
	return least(offset, inode->size);
}

static int seek(struct request *req, const struct inode *inode, uint64_t offset, int whence,
		uint64_t *found)
{
	int err = 0;

	if (offset >= inode->size)
		return -KILN_ENXIO;
	if (!(inode->flags & INODE_DATA))
		*found = seek_blocks(inode, offset, whence == SEEK_DATA);
	else if (!req->may_block)
		err = -KILN_EWOULDBLOCK;
	else
		err = data_seek(file_data(req), file_id(req, inode), inode->size, offset, whence,
				found);
	if (err)
		return err;
	*found = least(*found, inode->size);
	return whence == SEEK_DATA && *found == inode->size ? -KILN_ENXIO : 0;
}

int op_lseek(struct request *req)
{
	const struct fuse_lseek_in *arg = req->arg;
	struct inode inode;
	uint64_t found;
	int err = inode_get(req->txn, req->in.nodeid, &inode);

	if (err)
		return err;
	if (arg->whence != SEEK_DATA && arg->whence != SEEK_HOLE)
		return -KILN_EINVAL;
	err = file_check(&inode);
	if (!err)
		err = seek(req, &inode, arg->offset, (int)arg->whence, &found);
	if (!err)
		request_out(req, lseek)->offset = found;
	return err;
}

/* --- copy_file_range ------------------------------------------------------------------------------ */

/* The wire has swapped the two inodes: the request's is the target, nodeid_out the source. */
static int source_get(struct request *req, struct inode *source)
{
	const struct fuse_copy_file_range_in *arg = req->arg;
	int err = inode_get(req->txn, arg->nodeid_out, source);

	return err ? err : file_check(source);
}

static uint64_t copy_count(const struct fuse_copy_file_range_in *arg, const struct inode *source)
{
	if (arg->off_in >= source->size)
		return 0;
	return least(least(arg->len, COPY_BYTES_MAX), source->size - arg->off_in);
}

static int copy_check(struct request *req, const struct inode *source)
{
	const struct fuse_copy_file_range_in *arg = req->arg;
	uint64_t count = copy_count(arg, source), end;

	if (arg->flags)
		return -KILN_EINVAL;
	if (arg->nodeid_out == req->in.nodeid && arg->off_in < arg->off_out + count &&
	    arg->off_out < arg->off_in + count)
		return -KILN_EINVAL;
	req->prep.done = count;
	return file_end(arg->off_out, count, &end);
}

/* copy_blocks: gives the bytes of a small source to put, a piece of one of its blocks each. */
static int copy_blocks(struct request *req, const struct inode *source, struct inode *target,
		       int (*put)(struct request *req, struct inode *target, const void *buf,
				  size_t len, uint64_t offset))
{
	const struct fuse_copy_file_range_in *arg = req->arg;
	uint8_t piece[BLOCK_BYTES];
	uint64_t done = 0;
	int err = 0;

	while (!err && done < req->prep.done) {
		size_t at = (arg->off_in + done) % BLOCK_BYTES;
		size_t len = (size_t)least(req->prep.done - done, BLOCK_BYTES - at);

		err = file_read(req, source, piece, len, arg->off_in + done);
		if (!err)
			err = put(req, target, piece, len, arg->off_out + done);
		done += len;
	}
	return err;
}

static int put_data(struct request *req, struct inode *target, const void *buf, size_t len,
		    uint64_t offset)
{
	(void)target;
	return data_write(file_data(req), file_prep_id(req), buf, len, offset, false);
}

static int copy_bytes(struct request *req, const struct inode *source)
{
	const struct fuse_copy_file_range_in *arg = req->arg;

	if (!(source->flags & INODE_DATA))
		return copy_blocks(req, source, NULL, put_data);
	return data_copy(file_data(req), file_id(req, source), arg->off_in, file_prep_id(req),
			 arg->off_out, req->prep.done);
}

/* The source's turn is not held: if it has been cut or moved meanwhile, once more. */
static int copy_to_data(struct request *req, struct inode *source)
{
	const struct fuse_copy_file_range_in *arg = req->arg;
	bool stable = false;
	int err = req->prep.data_file ? 0 : file_move(req);

	if (!err)
		err = file_clear(req, req->prep.inode.size, arg->off_out);
	for (int i = 0; !err && !stable && i < COPY_TRIES; i++) {
		uint64_t seq = commit_latest(store_committer(volume_store(req->volume)));

		err = source_get(req, source);
		if (!err)
			req->prep.done = least(req->prep.done, copy_count(arg, source));
		if (!err)
			err = copy_bytes(req, source);
		if (!err)
			err = file_read_stable(req, source, seq, &stable);
	}
	return err;
}

int op_copy_prepare(struct request *req)
{
	const struct fuse_copy_file_range_in *arg = req->arg;
	struct inode source;
	int err = file_prepare(req);

	if (!err)
		err = source_get(req, &source);
	if (!err)
		err = copy_check(req, &source);
	if (err || req->prep.done == 0)
		return err;
	if (!req->prep.data_file && !(source.flags & INODE_DATA) &&
	    arg->off_out + req->prep.done <= SMALL_FILE_MAX)
		return 0;
	if (!req->may_block)
		return -KILN_EWOULDBLOCK;
	return file_prepared(req, copy_to_data(req, &source));
}

static int copy_small(struct request *req, struct inode *target)
{
	const struct fuse_copy_file_range_in *arg = req->arg;
	struct inode source;
	int err = source_get(req, &source);

	if (err)
		return err;
	if (source.flags & INODE_DATA)
		return -KILN_EAGAIN; /* it has grown out of its blocks since prepare */
	req->prep.done = least(req->prep.done, copy_count(arg, &source));
	return copy_blocks(req, &source, target, file_put_bytes);
}

static int copy_finish(struct request *req)
{
	const struct fuse_copy_file_range_in *arg = req->arg;
	struct inode inode;
	uint64_t end;
	int err = file_begin(req, &inode);

	if (!err)
		err = file_kill_priv(req->txn, &inode, req->in.uid != 0);
	if (!err && !req->prep.data_file)
		err = copy_small(req, &inode);
	if (err)
		return err;
	end = arg->off_out + req->prep.done;
	if (req->prep.done == 0 || end < inode.size)
		end = inode.size;
	return file_end_change(req, &inode, end);
}

int op_copy(struct request *req)
{
	int err = req->prep.done ? copy_finish(req) : 0;

	if (!err) {
		request_out(req, write)->size = (uint32_t)req->prep.done;
		req->record_handle = req->in.nodeid;
		req->record_value = req->prep.done;
	}
	return file_done(req, err);
}

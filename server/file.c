/* See file.h.  Happy path of a change: file_prepare, data_xxx, file_prepared | file_begin,
 * file_put_xxx, file_end_change, file_done.
 *
 * Failures: a prepare that has to run again, or whose handler fails, may have left bytes in a
 * data file: a new one is removed, one that was there is cut to its size again. */
#include "server/file.h"

#include "server/volume.h"

#include "base/clock.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECTOR = 512, EPOCHS_YOUNG = 8 };

int file_check(const struct inode *inode)
{
	if (S_ISREG(inode->mode))
		return 0;
	return S_ISDIR(inode->mode) ? -KILN_EISDIR : -KILN_EINVAL;
}

uint32_t file_open_flags(const struct volume *v, uint32_t flags, bool keep_cache)
{
	if (flags & O_APPEND || volume_cache_ns(v) == 0)
		return FOPEN_DIRECT_IO;
	return keep_cache ? FOPEN_KEEP_CACHE : 0;
}

int file_end(uint64_t offset, uint64_t len, uint64_t *end)
{
	if (offset > FILE_SIZE_MAX || len > FILE_SIZE_MAX - offset)
		return -KILN_EFBIG;
	*end = offset + len;
	return 0;
}

struct data *file_data(const struct request *req)
{
	return store_data(volume_store(req->volume));
}

static struct committer *file_committer(const struct request *req)
{
	return store_committer(volume_store(req->volume));
}

struct data_id file_id(const struct request *req, const struct inode *inode)
{
	return (struct data_id){ .handle = inode->handle,
				 .brick = volume_brick(req->volume),
				 .gen = inode->gen };
}

struct data_id file_prep_id(const struct request *req)
{
	struct data_id id = file_id(req, &req->prep.inode);

	id.gen = req->prep.gen;
	return id;
}

/* A file that moves is not synced if its bytes are of the present epoch.  The move may have been
 * decided on a while ago and not be visible yet, so "young" is a few epochs longer than that. */
static bool is_young(const struct request *req, const struct inode *inode)
{
	return inode->flags & INODE_BLOCKS_MASK &&
	       commit_epoch(file_committer(req)) - inode->born < EPOCHS_YOUNG;
}

void file_want_durable(struct request *req, const struct inode *inode)
{
	req->durable = true;
	req->sync_maybe = false;
	if (inode->flags & INODE_DATA) {
		req->sync_data = file_id(req, inode);
	} else if (is_young(req, inode)) {
		req->sync_data = file_id(req, inode);
		req->sync_data.gen++;
		req->sync_maybe = true;
	}
}

int file_kill_priv(struct txn *t, struct inode *inode, bool suidgid)
{
	int err = 0;

	if (suidgid) {
		inode->mode &= ~(uint32_t)S_ISUID;
		if (inode->mode & S_IXGRP)
			inode->mode &= ~(uint32_t)S_ISGID;
	}
	if (inode->flags & INODE_CAPS) {
		err = xattr_del(t, inode->handle, "security.capability");
		inode->flags &= ~(uint32_t)INODE_CAPS;
	}
	return err;
}

/* --- reading ---------------------------------------------------------------------------- */

/* Bytes [at, at + len) of a block into buf; from the block's beginning without a copy between,
 * for which buf must hold a whole one. */
static int block_read(struct txn *t, const struct inode *inode, uint64_t index, size_t at,
		      uint8_t *buf, size_t len)
{
	uint8_t part[BLOCK_BYTES], *to = at ? part : buf;
	size_t got = 0;
	int err = 0;

	if (file_has_block(inode, index))
		err = block_get(t, inode->handle, (uint32_t)index, to, &got);
	if (err == -KILN_ENOENT) /* gone since the inode was read: file_read_stable tells */
		err = 0;
	if (err)
		return err;
	got = got > at ? got - at : 0;
	if (got > len)
		got = len;
	if (at && got)
		memcpy(buf, part + at, got);
	memset(buf + got, 0, len - got);
	return 0;
}

static int blocks_read(struct txn *t, const struct inode *inode, uint8_t *buf, size_t len,
		       uint64_t offset)
{
	int err = 0;

	while (!err && len && offset < SMALL_FILE_MAX) {
		size_t at = offset % BLOCK_BYTES;
		size_t part = len < BLOCK_BYTES - at ? len : BLOCK_BYTES - at;

		err = block_read(t, inode, offset / BLOCK_BYTES, at, buf, part);
		buf += part;
		offset += part;
		len -= part;
	}
	memset(buf, 0, len);
	return err;
}

int file_read(struct request *req, const struct inode *inode, void *buf, size_t len,
	      uint64_t offset)
{
	if (!(inode->flags & INODE_DATA))
		return blocks_read(req->txn, inode, buf, len, offset);
	return data_read(file_data(req), file_id(req, inode), buf, len, offset, !req->may_block);
}

int file_read_stable(struct request *req, const struct inode *inode, uint64_t seq, bool *stable)
{
	const uint32_t where = INODE_DATA | INODE_BLOCKS_MASK;
	struct inode now;
	int err;

	*stable = commit_latest(file_committer(req)) == seq;
	if (*stable)
		return 0;
	err = inode_get(req->txn, inode->handle, &now);
	if (!err)
		*stable = now.gen == inode->gen && now.size >= inode->size &&
			  (now.flags & where & inode->flags) == (inode->flags & where);
	return err;
}

/* --- prepare ----------------------------------------------------------------------------- */

/* An earlier run of this prepare wrote to a data file that has not become the inode's, or is it
 * no more. */
static int prepare_again(struct request *req, const struct inode *inode, int err)
{
	if (!req->prep.data_file || err == -KILN_EWOULDBLOCK)
		return 0;
	if (!err && !req->prep.moved && inode->gen == req->prep.gen)
		return 0;
	return data_remove(file_data(req), file_prep_id(req));
}

int file_prepare(struct request *req)
{
	struct inode inode;
	int err = inode_get(req->txn, req->in.nodeid, &inode);
	int err_again = prepare_again(req, &inode, err);

	if (err || err_again)
		return err ? err : err_again;
	memset(&req->prep, 0, sizeof req->prep);
	req->prep.inode = inode;
	req->prep.gen = inode.gen;
	req->prep.data_file = inode.flags & INODE_DATA;
	return file_check(&inode);
}

static int copy_blocks(struct request *req)
{
	const struct inode *inode = &req->prep.inode;
	uint8_t block[BLOCK_BYTES];
	int err = 0;

	for (uint32_t i = 0; !err && i < BLOCKS_MAX; i++) {
		size_t len = 0;

		if (!file_has_block(inode, i))
			continue;
		err = block_get(req->txn, inode->handle, i, block, &len);
		if (err == -KILN_ENOENT) /* truncated to nothing: file_begin will find out */
			err = 0;
		if (!err && len)
			err = data_write(file_data(req), file_prep_id(req), block, len,
					 (uint64_t)i * BLOCK_BYTES, false);
	}
	return err;
}

int file_move(struct request *req)
{
	struct inode *inode = &req->prep.inode;
	int err;

	if (!req->may_block)
		return -KILN_EWOULDBLOCK;
	req->prep.gen = inode->gen + 1;
	req->prep.data_file = true;
	req->prep.moved = true;
	/* one of that generation can be there only if a crash came between here and the switch */
	err = data_remove(file_data(req), file_prep_id(req));
	if (err || !(inode->flags & INODE_BLOCKS_MASK))
		return err;
	err = copy_blocks(req);
	if (!err && inode->born != commit_epoch(file_committer(req))) {
		err = data_sync(file_data(req), file_prep_id(req));
		req->prep.synced = !err;
	}
	return err;
}

int file_clear(struct request *req, uint64_t from, uint64_t to)
{
	uint64_t found;
	int err;

	if (from >= to || req->prep.moved)
		return 0;
	if (!req->may_block)
		return -KILN_EWOULDBLOCK;
	err = data_seek(file_data(req), file_prep_id(req), to, from, SEEK_DATA, &found);
	if (err)
		return err == -KILN_ENXIO ? 0 : err;
	return data_allocate(file_data(req), file_prep_id(req),
			     FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, to - from);
}

/* Best effort: what stays is beyond the size and costs space until it is overwritten. */
static void take_back(struct request *req)
{
	if (req->prep.moved)
		data_remove(file_data(req), file_prep_id(req));
	else if (req->prep.data_file)
		data_truncate(file_data(req), file_prep_id(req), req->prep.inode.size);
}

int file_prepared(struct request *req, int err)
{
	if (!err && req->prep.data_file)
		err = data_blocks(file_data(req), file_prep_id(req), &req->prep.blocks);
	if (err && err != -KILN_EWOULDBLOCK)
		take_back(req);
	return err;
}

/* --- handler ------------------------------------------------------------------------------- */

int file_begin(struct request *req, struct inode *inode)
{
	const struct inode *seen = &req->prep.inode;
	int err = inode_get(req->txn, req->in.nodeid, inode);

	if (err)
		return err;
	if (inode->gen != seen->gen || (inode->flags ^ seen->flags) & INODE_DATA)
		return -KILN_EAGAIN;
	if (req->prep.moved && !req->prep.synced && inode->flags & INODE_BLOCKS_MASK &&
	    inode->born != commit_epoch(file_committer(req)))
		return -KILN_EAGAIN;
	return 0;
}

static int store_block(struct request *req, struct inode *inode, uint64_t index, const void *buf,
		       size_t len)
{
	if (!(inode->flags & INODE_BLOCKS_MASK))
		inode->born = commit_epoch(file_committer(req));
	inode->flags |= 1u << (INODE_BLOCKS_SHIFT + index);
	return block_put(req->txn, inode->handle, (uint32_t)index, buf, len);
}

static int drop_block(struct request *req, struct inode *inode, uint64_t index)
{
	if (!file_has_block(inode, index))
		return 0;
	inode->flags &= ~(1u << (INODE_BLOCKS_SHIFT + index));
	return block_del(req->txn, inode->handle, (uint32_t)index);
}

/* How many bytes of a block lie below the size: no more than that is stored. */
static size_t block_used(const struct inode *inode, uint64_t index)
{
	uint64_t start = index * BLOCK_BYTES;

	if (inode->size <= start)
		return 0;
	return inode->size - start < BLOCK_BYTES ? (size_t)(inode->size - start) : BLOCK_BYTES;
}

/* buf NULL: zeros.  A block that is overwritten whole needs no reading. */
static int merge_block(struct request *req, struct inode *inode, uint64_t index, size_t at,
		       const void *buf, size_t len)
{
	uint8_t block[BLOCK_BYTES];
	size_t old = 0;
	int err = 0;

	if (at == 0 && buf && len >= block_used(inode, index))
		return store_block(req, inode, index, buf, len);
	if (file_has_block(inode, index))
		err = block_get(req->txn, inode->handle, (uint32_t)index, block, &old);
	if (err)
		return err == -KILN_ENOENT ? -KILN_ECORRUPT : err;
	if (old < at)
		memset(block + old, 0, at - old);
	if (buf)
		memcpy(block + at, buf, len);
	else
		memset(block + at, 0, len);
	return store_block(req, inode, index, block, old > at + len ? old : at + len);
}

int file_put_bytes(struct request *req, struct inode *inode, const void *buf, size_t len,
		   uint64_t offset)
{
	const uint8_t *from = buf;
	int err = 0;

	while (!err && len) {
		size_t at = offset % BLOCK_BYTES;
		size_t part = len < BLOCK_BYTES - at ? len : BLOCK_BYTES - at;

		err = merge_block(req, inode, offset / BLOCK_BYTES, at, from, part);
		from += part;
		offset += part;
		len -= part;
	}
	return err;
}

/* One block's share of file_put_zeros: [at, at + len) of it. */
static int zero_block(struct request *req, struct inode *inode, uint64_t index, size_t at,
		      size_t len, bool keep)
{
	bool whole = at == 0 && len >= block_used(inode, index);

	if (!file_has_block(inode, index))
		return keep ? store_block(req, inode, index, "", 0) : 0;
	if (!whole)
		return merge_block(req, inode, index, at, NULL, len);
	return keep ? store_block(req, inode, index, "", 0) : drop_block(req, inode, index);
}

int file_put_zeros(struct request *req, struct inode *inode, uint64_t from, uint64_t to, bool keep)
{
	int err = 0;

	while (!err && from < to) {
		size_t at = from % BLOCK_BYTES;
		size_t part = to - from < BLOCK_BYTES - at ? (size_t)(to - from) : BLOCK_BYTES - at;

		err = zero_block(req, inode, from / BLOCK_BYTES, at, part, keep);
		from += part;
	}
	return err;
}

int file_reserve(struct request *req, struct inode *inode, uint64_t from, uint64_t to)
{
	int err = 0;

	for (uint64_t i = from / BLOCK_BYTES; !err && from < to && i * BLOCK_BYTES < to; i++)
		if (!file_has_block(inode, i))
			err = store_block(req, inode, i, "", 0);
	return err;
}

/* The block the new end falls into keeps what is before it. */
static int cut_last(struct request *req, struct inode *inode, uint64_t index, size_t keep)
{
	uint8_t block[BLOCK_BYTES];
	size_t len;
	int err;

	if (keep == 0 || !file_has_block(inode, index))
		return drop_block(req, inode, index);
	err = block_get(req->txn, inode->handle, (uint32_t)index, block, &len);
	if (err)
		return err == -KILN_ENOENT ? -KILN_ECORRUPT : err;
	return len > keep ? store_block(req, inode, index, block, keep) : 0;
}

int file_cut(struct request *req, struct inode *inode, uint64_t size)
{
	uint64_t last = size / BLOCK_BYTES;
	int err;

	if (size >= inode->size || last >= BLOCKS_MAX)
		return 0;
	err = cut_last(req, inode, last, size % BLOCK_BYTES);
	for (uint64_t i = last + 1; !err && i < BLOCKS_MAX; i++)
		err = drop_block(req, inode, i);
	return err;
}

static uint64_t blocks_taken(const struct inode *inode)
{
	uint64_t taken = 0;

	for (uint64_t i = 0; i < BLOCKS_MAX; i++)
		if (file_has_block(inode, i))
			taken += (block_used(inode, i) + SECTOR - 1) / SECTOR;
	return taken;
}

static int drop_blocks(struct request *req, struct inode *inode)
{
	int err = 0;

	for (uint64_t i = 0; !err && i < BLOCKS_MAX; i++)
		err = drop_block(req, inode, i);
	return err;
}

static int count_blocks(struct request *req, struct inode *inode, uint64_t blocks)
{
	int err = 0;

	if (blocks != inode->blocks)
		err = volume_count(req->volume, 0, (int64_t)(blocks - inode->blocks));
	inode->blocks = blocks;
	return err;
}

int file_end_change(struct request *req, struct inode *inode, uint64_t size)
{
	int err = 0;

	if (req->prep.moved) {
		err = drop_blocks(req, inode);
		inode->flags |= INODE_DATA;
		inode->gen = req->prep.gen;
	}
	inode->size = size;
	inode->mtime = inode->ctime = clock_wall();
	if (!err)
		err = count_blocks(req, inode,
				   req->prep.data_file ? req->prep.blocks : blocks_taken(inode));
	if (!err)
		err = inode_put(req->txn, inode);
	if (!err)
		volume_note_writer(req->volume, req->session, inode->handle);
	return err;
}

int file_recount(struct request *req, struct inode *inode)
{
	int err = count_blocks(req, inode, req->prep.blocks);

	return err ? err : inode_put(req->txn, inode);
}

int file_done(struct request *req, int err)
{
	if (!err || err == -KILN_EAGAIN || err == -KILN_EWOULDBLOCK || !req->prep.data_file)
		return err;
	if (!req->may_block)
		return -KILN_EWOULDBLOCK; /* to take it back may take a while */
	take_back(req);
	return err;
}

/* --- to nothing --------------------------------------------------------------------------------- */

static int trash(struct request *req, struct inode *inode)
{
	int err = trash_put(req->txn, inode->handle, inode->gen);

	if (!err)
		volume_trash(req->volume, inode->handle, inode->gen);
	inode->flags &= ~(uint32_t)INODE_DATA;
	return err;
}

int inode_truncate_nothing(struct request *req, struct inode *inode, bool kill_priv)
{
	bool had_bytes = inode->size || inode->flags & (INODE_DATA | INODE_BLOCKS_MASK);
	int err = file_kill_priv(req->txn, inode, kill_priv);

	if (!err)
		err = inode->flags & INODE_DATA ? trash(req, inode) : drop_blocks(req, inode);
	if (err)
		return err;
	if (had_bytes)
		inode->gen++; /* who has prepared a change of the old bytes must look again */
	inode->size = 0;
	inode->mtime = inode->ctime = clock_wall();
	return count_blocks(req, inode, 0);
}

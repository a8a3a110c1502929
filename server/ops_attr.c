/* Attributes: getattr, setattr, statfs.
 *
 * setattr's happy path: the inode is read, what `valid` names is changed in it, ACL and ctime
 * follow, it is put.  A size other than 0 makes it an OP_DATA (dispatch.c): then the data file
 * has been dealt with by op_setattr_prepare, and blocks are cut here.
 *
 * Who may change what is checked by the kernel.  setuid and setgid: the kernel says with
 * FATTR_KILL_SUIDGID when they have to go (HANDLE_KILLPRIV_V2: chown, and truncation by
 * somebody without CAP_FSETID); security.capability goes with every chown and truncation.
 *
 * atime is what was set or the time of creation: reading does not touch it, as on a local file
 * system mounted noatime. */
#include "server/acl.h"
#include "server/file.h"
#include "server/ops.h"
#include "server/statx.h"
#include "server/volume.h"

#include "base/clock.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { MODE_CHANGEABLE = S_ISUID | S_ISGID | S_ISVTX | S_IRWXU | S_IRWXG | S_IRWXO };

#define OWNER (FATTR_UID | FATTR_GID)
#define ID_NONE UINT32_MAX /* (uid_t)-1 is nobody's id */

int op_getattr(struct request *req)
{
	struct inode inode;
	int err = inode_get(req->txn, req->in.nodeid, &inode);

	if (!err)
		reply_attr(req, &inode);
	return err;
}

static struct wire_time statx_time(struct timespec t)
{
	return (struct wire_time){ .sec = t.tv_sec, .nsec = (uint32_t)t.tv_nsec };
}

/* The plain attributes are getattr's, so that the two can never differ. */
static void statx_fill(struct wire_statx *sx, const struct inode *inode)
{
	struct fuse_attr attr;

	attr_fill(&attr, inode);
	*sx = (struct wire_statx){
		.mask = STATX_BASIC_STATS | STATX_BTIME,
		.blksize = attr.blksize,
		.nlink = attr.nlink,
		.uid = attr.uid,
		.gid = attr.gid,
		.mode = (uint16_t)attr.mode,
		.ino = attr.ino,
		.size = attr.size,
		.blocks = attr.blocks,
		.atime = statx_time(inode->atime),
		.btime = statx_time(inode->btime),
		.ctime = statx_time(inode->ctime),
		.mtime = statx_time(inode->mtime),
		.rdev_major = major(attr.rdev),
		.rdev_minor = minor(attr.rdev),
	};
}

int op_statx(struct request *req)
{
	struct wire_statx_out *out = request_body(req);
	uint64_t cache_ns = volume_cache_ns(req->volume);
	struct inode inode;
	int err = inode_get(req->txn, req->in.nodeid, &inode);

	if (err)
		return err;
	*out = (struct wire_statx_out){ .attr_valid = cache_ns / NS_PER_S,
					.attr_valid_nsec = (uint32_t)(cache_ns % NS_PER_S) };
	statx_fill(&out->stat, &inode);
	req->body = out;
	req->body_len = sizeof *out;
	return 0;
}

int op_statfs(struct request *req)
{
	volume_statfs(req->volume, &request_out(req, statfs)->st);
	return 0;
}

/* --- setattr -------------------------------------------------------------------------------- */

static bool time_valid(uint32_t valid, uint32_t bit, uint32_t nsec)
{
	return !(valid & bit) || nsec < NS_PER_S;
}

static int setattr_check(const struct fuse_setattr_in *arg, const struct inode *inode)
{
	if (!time_valid(arg->valid, FATTR_ATIME, arg->atimensec) ||
	    !time_valid(arg->valid, FATTR_MTIME, arg->mtimensec) ||
	    !time_valid(arg->valid, FATTR_CTIME, arg->ctimensec))
		return -KILN_EINVAL;
	if ((arg->valid & FATTR_UID && arg->uid == ID_NONE) ||
	    (arg->valid & FATTR_GID && arg->gid == ID_NONE))
		return -KILN_EINVAL;
	return arg->valid & FATTR_SIZE ? file_check(inode) : 0;
}

/* How many blocks a data file of that size has at most, once it has been cut off. */
static uint64_t blocks_within(uint64_t size)
{
	enum { SECTOR = 512, UNIT = 4096 };

	return (size + UNIT - 1) / UNIT * (UNIT / SECTOR);
}

/* What the data file needs before its inode gets another size.  A shorter one needs nothing: what
 * is beyond stays until the new size is durable, or else a power cut could leave the old size
 * with nothing behind it; and who reads meanwhile finds what he expects. */
static int resize_data(struct request *req, uint64_t size)
{
	int err = file_prepared(req, file_clear(req, req->prep.inode.size, size));

	if (!err && req->prep.blocks > blocks_within(size) && size < req->prep.inode.size)
		req->prep.blocks = blocks_within(size);
	return err;
}

int op_setattr_prepare(struct request *req)
{
	const struct fuse_setattr_in *arg = req->arg;
	int err = file_prepare(req);

	if (!err)
		err = setattr_check(arg, &req->prep.inode);
	if (!err && arg->size > FILE_SIZE_MAX)
		err = -KILN_EFBIG;
	if (err || !req->prep.data_file)
		return err;
	return resize_data(req, arg->size);
}

/* The size may have changed since: a smaller one will be followed by a trim of its own. */
int op_trim_prepare(struct request *req)
{
	uint64_t size = req->record_value;
	int err = file_prepare(req);

	if (!err && !req->prep.data_file)
		err = -KILN_ESTALE; /* truncated to nothing: nothing to do */
	if (err)
		return err;
	if (!req->may_block)
		return -KILN_EWOULDBLOCK;
	if (size < req->prep.inode.size)
		size = req->prep.inode.size;
	return file_prepared(req, data_truncate(file_data(req), file_prep_id(req), size));
}

int op_trim(struct request *req)
{
	struct inode inode;
	int err = file_begin(req, &inode);

	return file_done(req, err ? err : file_recount(req, &inode));
}

static int set_size(struct request *req, struct inode *inode, const struct fuse_setattr_in *arg)
{
	int err;

	if (arg->size == 0) {
		err = inode_truncate_nothing(req, inode, arg->valid & FATTR_KILL_SUIDGID);
		if (!err)
			volume_note_writer(req->volume, req->session, inode->handle);
		return err;
	}
	err = file_kill_priv(req->txn, inode, arg->valid & FATTR_KILL_SUIDGID);
	if (!err && !(inode->flags & INODE_DATA))
		err = file_cut(req, inode, arg->size);
	else if (!err && arg->size < inode->size)
		volume_trim(req->volume, inode->handle, arg->size);
	return err ? err : file_end_change(req, inode, arg->size);
}

static int set_owner(struct request *req, struct inode *inode, const struct fuse_setattr_in *arg)
{
	if (arg->valid & FATTR_UID)
		inode->uid = arg->uid;
	if (arg->valid & FATTR_GID)
		inode->gid = arg->gid;
	return file_kill_priv(req->txn, inode, arg->valid & FATTR_KILL_SUIDGID);
}

static int set_mode(struct request *req, struct inode *inode, uint32_t mode)
{
	inode->mode = (inode->mode & S_IFMT) | (mode & MODE_CHANGEABLE);
	return acl_chmod(req->txn, inode);
}

static struct timespec time_of(uint64_t sec, uint32_t nsec)
{
	return (struct timespec){ .tv_sec = (int64_t)sec, .tv_nsec = nsec };
}

static void set_times(struct inode *inode, const struct fuse_setattr_in *arg)
{
	struct timespec now = clock_wall();

	if (arg->valid & FATTR_ATIME_NOW)
		inode->atime = now;
	else if (arg->valid & FATTR_ATIME)
		inode->atime = time_of(arg->atime, arg->atimensec);
	if (arg->valid & FATTR_MTIME_NOW)
		inode->mtime = now;
	else if (arg->valid & FATTR_MTIME)
		inode->mtime = time_of(arg->mtime, arg->mtimensec);
	inode->ctime = arg->valid & FATTR_CTIME ? time_of(arg->ctime, arg->ctimensec) : now;
}

/* Size first, for what follows wins: an explicit time over the truncation's own. */
static int setattr_apply(struct request *req, struct inode *inode,
			 const struct fuse_setattr_in *arg)
{
	int err = arg->valid & FATTR_SIZE ? set_size(req, inode, arg) : 0;

	if (!err && arg->valid & OWNER)
		err = set_owner(req, inode, arg);
	if (!err && arg->valid & FATTR_MODE)
		err = set_mode(req, inode, arg->mode);
	if (err)
		return err;
	set_times(inode, arg);
	return inode_put(req->txn, inode);
}

/* With a size that is not 0 (OP_DATA) prepare has looked at the inode already. */
static bool was_prepared(const struct fuse_setattr_in *arg)
{
	return arg->valid & FATTR_SIZE && arg->size > 0;
}

int op_setattr(struct request *req)
{
	const struct fuse_setattr_in *arg = req->arg;
	struct inode inode;
	int err = was_prepared(arg) ? file_begin(req, &inode)
				    : inode_get(req->txn, req->in.nodeid, &inode);

	if (!err)
		err = setattr_check(arg, &inode);
	if (!err)
		err = setattr_apply(req, &inode, arg);
	if (err)
		return was_prepared(arg) ? file_done(req, err) : err;
	reply_attr(req, &inode);
	req->record_handle = inode.handle;
	return 0;
}

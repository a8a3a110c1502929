/* An inode as the kernel wants it, and the replies that carry one. */
#include "server/request.h"
#include "server/volume.h"

#include "base/clock.h"

#include <sys/stat.h>

enum {
	ATTR_BLKSIZE = 4096,
	DIRENT_BYTES = 32, /* what a name counts for in its directory's st_size */
};

/* A directory shows a size that grows with it, as users expect; nothing else depends on it. */
static uint64_t attr_size(const struct inode *inode)
{
	return S_ISDIR(inode->mode) ? inode->entries * DIRENT_BYTES : inode->size;
}

void attr_fill(struct fuse_attr *attr, const struct inode *inode)
{
	*attr = (struct fuse_attr){
		.ino = inode->handle,
		.size = attr_size(inode),
		.blocks = inode->blocks,
		.atime = (uint64_t)inode->atime.tv_sec,
		.mtime = (uint64_t)inode->mtime.tv_sec,
		.ctime = (uint64_t)inode->ctime.tv_sec,
		.atimensec = (uint32_t)inode->atime.tv_nsec,
		.mtimensec = (uint32_t)inode->mtime.tv_nsec,
		.ctimensec = (uint32_t)inode->ctime.tv_nsec,
		.mode = inode->mode,
		.nlink = inode->nlink,
		.uid = inode->uid,
		.gid = inode->gid,
		.rdev = inode->rdev,
		.blksize = ATTR_BLKSIZE,
	};
}

/* The generation stays 0: handles are never reused, so none is needed to tell two apart. */
void entry_fill(const struct volume *v, struct fuse_entry_out *out, const struct inode *inode)
{
	uint64_t cache_ns = volume_cache_ns(v);

	*out = (struct fuse_entry_out){
		.nodeid = inode->handle,
		.entry_valid = cache_ns / NS_PER_S,
		.attr_valid = cache_ns / NS_PER_S,
		.entry_valid_nsec = (uint32_t)(cache_ns % NS_PER_S),
		.attr_valid_nsec = (uint32_t)(cache_ns % NS_PER_S),
	};
	attr_fill(&out->attr, inode);
}

void reply_entry(struct request *req, const struct inode *inode)
{
	entry_fill(req->volume, request_out(req, entry), inode);
	req->record_handle = inode->handle;
}

void reply_attr(struct request *req, const struct inode *inode)
{
	struct fuse_attr_out *out = request_out(req, attr);
	uint64_t cache_ns = volume_cache_ns(req->volume);

	out->attr_valid = cache_ns / NS_PER_S;
	out->attr_valid_nsec = (uint32_t)(cache_ns % NS_PER_S);
	attr_fill(&out->attr, inode);
}

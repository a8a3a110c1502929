#include "server/admit.h"

#include "server/volume.h"

#include <linux/falloc.h>

/* A size that is set can be less than what there is; more is a hole. */
static enum room_need setattr_need(const struct fuse_setattr_in *set)
{
	return set->valid & FATTR_SIZE && set->size == 0 ? ROOM_NONE : ROOM_LITTLE;
}

static enum room_need need_of(const struct request *req)
{
	const struct fuse_fallocate_in *allocate = req->arg;

	switch (req->in.opcode) {
	case FUSE_SETATTR:
		return setattr_need(req->arg);
	case FUSE_FALLOCATE:
		return allocate->mode & FALLOC_FL_PUNCH_HOLE ? ROOM_LITTLE : ROOM_BYTES;
	case FUSE_RENAME:
	case FUSE_RENAME2:
		return ROOM_LITTLE;
	case FUSE_WRITE:
	case FUSE_COPY_FILE_RANGE:
	case FUSE_CREATE:
	case FUSE_TMPFILE:
	case FUSE_MKDIR:
	case FUSE_MKNOD:
	case FUSE_SYMLINK:
	case FUSE_LINK:
	case FUSE_SETXATTR:
		return ROOM_BYTES;
	default:
		return ROOM_NONE;
	}
}

int admit_change(const struct request *req)
{
	struct room *room = store_room(volume_store(req->volume));

	if (!room || !req->conn)
		return 0;
	return room_admit(room, need_of(req), req->may_block);
}

void admit_took(const struct request *req)
{
	if (req->prep.data_file && req->data_len)
		room_took(store_room(volume_store(req->volume)), req->data_len);
}

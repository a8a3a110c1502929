#include "server/admit.h"

#include "server/dispatch.h"
#include "server/volume.h"

#include <linux/falloc.h>

/* punches: what is allocated is given back. */
static bool punches(const struct request *req)
{
	const struct fuse_fallocate_in *arg = req->arg;

	return req->in.opcode == FUSE_FALLOCATE && arg->mode & FALLOC_FL_PUNCH_HOLE;
}

/* empties: any other size that is set can be less than what there is, or more, which is a hole. */
static bool empties(const struct request *req)
{
	const struct fuse_setattr_in *arg = req->arg;

	return req->in.opcode == FUSE_SETATTR && arg->valid & FATTR_SIZE && arg->size == 0;
}

static enum room_need need_of(const struct request *req)
{
	if (req->op->flags & OP_ADDS)
		return punches(req) ? ROOM_LITTLE : ROOM_BYTES;
	if (req->op->flags & OP_ALTERS)
		return empties(req) ? ROOM_NONE : ROOM_LITTLE;
	return ROOM_NONE;
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

#include "server/turn.h"

#include "server/volume_inner.h"

static struct request **turn_bucket(struct volume *v, uint64_t handle)
{
	return &v->turns[(handle * 0x9e3779b97f4a7c15ull) >> 58];
}

static struct request *turn_holder(struct request *req)
{
	struct request *holder = *turn_bucket(req->volume, req->in.nodeid);

	while (holder && holder->in.nodeid != req->in.nodeid)
		holder = holder->turn_next;
	return holder;
}

int turn_take(struct request *req)
{
	struct request **bucket = turn_bucket(req->volume, req->in.nodeid), *holder;

	lock_guard(&req->volume->lock);
	holder = turn_holder(req);
	if (!holder) {
		req->turn_held = true;
		req->turn_next = *bucket;
		*bucket = req;
		return 1;
	}
	if (req->message)
		return -KILN_EAGAIN;
	while (holder->turn_wait)
		holder = holder->turn_wait;
	holder->turn_wait = req;
	return 0;
}

struct request *turn_give(struct request *req)
{
	struct request **link = turn_bucket(req->volume, req->in.nodeid);
	struct request *next;

	lock_guard(&req->volume->lock);
	while (*link != req)
		link = &(*link)->turn_next;
	next = req->turn_wait;
	if (next) {
		next->turn_held = true;
		next->turn_next = req->turn_next;
		*link = next;
	} else {
		*link = req->turn_next;
	}
	req->turn_held = false;
	req->turn_wait = NULL;
	return next;
}

/* Operations on the session itself, and the server's own small changes. */
#include "server/conn.h"
#include "server/dispatch.h"
#include "server/locktable.h"
#include "server/schedule.h"
#include "server/session.h"
#include "server/volume_inner.h"
#include "server/wire.h"

enum {
	MINOR_LEAST = 31,      /* Linux 5.1: what all carriers here rely on */
	MINOR_NEWEST = 38,     /* of the header this was written against */
	BACKGROUND_MAX = 64,
	PAGES_MAX = WIRE_WRITE_MAX / 4096,
};

/* Debian 12's header lacks these.  Since Linux 6.6: what bypasses the page cache may be mapped
 * all the same (file_open_flags); since 6.9: resending. */
#define INIT_DIRECT_IO_MMAP (1ull << 36)
#define INIT_HAS_RESEND (1ull << 39)

static const uint64_t wanted_flags =
	FUSE_ASYNC_READ | FUSE_POSIX_LOCKS | FUSE_FLOCK_LOCKS | FUSE_ATOMIC_O_TRUNC |
	FUSE_EXPORT_SUPPORT | FUSE_BIG_WRITES | FUSE_DONT_MASK | FUSE_AUTO_INVAL_DATA |
	FUSE_DO_READDIRPLUS | FUSE_READDIRPLUS_AUTO | FUSE_ASYNC_DIO | FUSE_PARALLEL_DIROPS |
	FUSE_HANDLE_KILLPRIV_V2 | FUSE_POSIX_ACL | FUSE_MAX_PAGES | FUSE_CACHE_SYMLINKS |
	FUSE_SETXATTR_EXT | FUSE_INIT_EXT | INIT_DIRECT_IO_MMAP | INIT_HAS_RESEND;

/* What permissions, umask, suid bits and attributes rely on cannot be done without. */
static const uint64_t needed_flags = FUSE_DONT_MASK | FUSE_POSIX_ACL | FUSE_SETXATTR_EXT |
				     FUSE_HANDLE_KILLPRIV_V2 | FUSE_ATOMIC_O_TRUNC;

int op_init(struct request *req)
{
	const struct fuse_init_in *in = req->arg;
	struct session *s = req->session;
	struct fuse_init_out *out;
	uint64_t flags = in->flags;

	if (in->flags & FUSE_INIT_EXT)
		flags |= (uint64_t)in->flags2 << 32;
	if (in->major != FUSE_KERNEL_VERSION || in->minor < MINOR_LEAST ||
	    (flags & needed_flags) != needed_flags)
		return -KILN_EVERSION;
	flags &= wanted_flags;
	s->minor = in->minor < MINOR_NEWEST ? in->minor : MINOR_NEWEST;
	s->init_flags = flags;
	s->max_write = WIRE_WRITE_MAX;
	s->max_readahead = in->max_readahead;
	out = request_out(req, init);
	out->major = FUSE_KERNEL_VERSION;
	out->minor = s->minor;
	out->max_readahead = in->max_readahead;
	out->flags = (uint32_t)flags;
	out->flags2 = (uint32_t)(flags >> 32);
	out->max_background = BACKGROUND_MAX;
	out->congestion_threshold = BACKGROUND_MAX * 3 / 4;
	out->max_write = WIRE_WRITE_MAX;
	out->time_gran = 1;
	out->max_pages = PAGES_MAX;
	__atomic_store_n(&s->init_done, true, __ATOMIC_RELEASE);
	return session_record(s);
}

int op_destroy(struct request *req)
{
	struct session *s = req->session;

	session_get(s);
	request_answer(req, 0); /* frees req */
	session_end(s);
	session_put(s);
	return -KILN_EPARKED;
}

int op_forget(struct request *req)
{
	const struct fuse_forget_one *one = req->data;
	const struct fuse_batch_forget_in *batch = req->arg;

	/* what a client has looked up is not counted; only after a restart does it matter */
	if (__atomic_load_n(&req->volume->orphan_count, __ATOMIC_RELAXED) == 0)
		return 0;
	if (req->in.opcode == FUSE_FORGET) {
		opens_forget(req->session, req->in.nodeid);
		return 0;
	}
	for (uint32_t i = 0; i < batch->count; i++) {
		struct fuse_forget_one forget;

		memcpy(&forget, one + i, sizeof forget);
		opens_forget(req->session, forget.nodeid);
	}
	return 0;
}

/* Whatever else is under way ends by itself; only waiting for a lock does not. */
int op_interrupt(struct request *req)
{
	const struct fuse_interrupt_in *in = req->arg;

	locktable_interrupt(volume_locks(req->volume), req->session,
			    in->unique & ~WIRE_UNIQUE_RESEND);
	return 0;
}

/* --- a change that has been executed before: its answer once more ------------------------------- */

static int replay_entry(struct request *req)
{
	struct inode inode;
	int err = inode_get(req->txn, req->record_handle, &inode);

	if (err)
		return err;
	if (req->in.opcode != FUSE_CREATE && req->in.opcode != FUSE_TMPFILE) {
		reply_entry(req, &inode);
		return 0;
	}
	err = open_take(req, inode.handle);
	if (err)
		return err;
	entry_fill(req->volume, &request_out(req, create)->entry, &inode);
	return 0;
}

int op_replay(struct request *req)
{
	struct inode inode;
	int err;

	switch (req->in.opcode) {
	case FUSE_CREATE:
	case FUSE_TMPFILE:
	case FUSE_MKNOD:
	case FUSE_MKDIR:
	case FUSE_SYMLINK:
	case FUSE_LINK:
		return replay_entry(req);
	case FUSE_SETATTR:
		err = inode_get(req->txn, req->in.nodeid, &inode);
		if (!err)
			reply_attr(req, &inode);
		return err;
	case FUSE_OPEN:
		(void)request_out(req, open);
		return open_take(req, req->in.nodeid);
	case FUSE_WRITE:
	case FUSE_COPY_FILE_RANGE:
		request_out(req, write)->size = (uint32_t)req->record_value;
		return 0;
	default:
		return 0;
	}
}

/* --- the server's own changes --------------------------------------------------------------------- */

int op_client_put(struct request *req)
{
	struct session *s = req->session;
	struct client_record r = {
		.client = s->client,
		.secret = s->secret,
		.kind = s->kind,
		.minor = s->minor,
		.init_flags = s->init_flags,
		.max_write = s->max_write,
		.max_readahead = s->max_readahead,
	};

	if (session_dead(s))
		return 0;
	memcpy(r.host, s->host, sizeof r.host);
	return client_put(req->txn, &r);
}

int op_client_end(struct request *req)
{
	int err = client_del(req->txn, req->session->client);

	return err ? err : reply_del_all(req->txn, req->session->client);
}

int op_locks_put(struct request *req)
{
	return locks_put(req->txn, req->in.nodeid, req->record_value, req->buffer,
			 req->data_len);
}

int op_trash_del(struct request *req)
{
	return trash_del(req->txn, req->in.nodeid, (uint32_t)req->record_value);
}

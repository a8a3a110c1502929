/* One request, from the message's last byte to the reply's.  ARCHITECTURE.md has the walk.
 *
 * Life: a loop reads a message and fills a request (wire_parse), dispatch runs its handler on
 * some thread, the reply is written by that thread, the request is freed.  Exactly one thread
 * owns a request at any time; ownership moves through a queue (pool, volume, commit, lock
 * table) and nowhere else.
 *
 * A handler is `int op_xxx(struct request *req)` and returns
 *   0                  answer with what it put into req->out / req->body
 *   -KILN_EWOULDBLOCK  it met something that must be waited for; it has changed nothing (puts
 *                      are undone), and is run again from the start on a pool thread where
 *                      waiting is allowed
 *   -KILN_EPARKED      it has given the request to somebody else, who answers later; the caller
 *                      must not touch it again
 *   -KILN_Exxx         answer with that error's errno
 *
 * Classes say where a handler runs (dispatch.c has the table):
 *   OP_LOCAL   memory only: on the loop, at once
 *   OP_READ    reads the store through req->txn (a reader): on the loop as long as all is in
 *              memory, else on a reader of the pool
 *   OP_CHANGE  changes the store through req->txn (the volume's group): run by whoever holds the
 *              volume's writer role, one after the other, in order of arrival.  It checks
 *              everything first and writes last; if it fails the group is undone to its mark.
 *   OP_DATA    changes a file's bytes.  Holds the file's turn throughout (no other OP_DATA on
 *              the same inode runs meanwhile); first its `prepare` runs outside the writer role
 *              and does the slow part (data files), reading through req->txn as a reader; then
 *              its handler runs as OP_CHANGE does.  The handler may return -KILN_EAGAIN: what
 *              prepare saw is no longer so (the file was truncated to nothing in between), and
 *              both run again. */
#ifndef SERVER_REQUEST_H
#define SERVER_REQUEST_H

#include "base/err.h"
#include "store/schema.h"

#include <linux/fuse.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct conn;
struct op;
struct session;
struct volume;
struct worker;

enum op_class { OP_LOCAL, OP_READ, OP_CHANGE, OP_DATA };

struct request {
	struct request *next;      /* link in the one queue that owns the request */
	void (*run)(struct worker *w, struct request *req); /* what a pool thread does with it */
	const struct op *op;       /* row of the dispatch table */
	struct conn *conn;         /* where the reply goes; a reference; NULL: internal */
	struct session *session;
	struct volume *volume;
	struct worker *worker;     /* thread running it: its reader, its reply buffer */
	struct txn *txn;           /* what the handler reads and writes through */
	bool may_block;            /* running where waiting for a disk is allowed */
	bool no_reply;             /* FORGET and the like */
	bool resent;               /* this unique may have been executed before */

	/* The message, checked by wire_parse.  Pointers lead into the message's bytes, which live
	 * as long as the handler runs (kept in `buffer` if the request moves to a queue). */
	struct fuse_in_header in;  /* unique without the resend bit; nodeid; uid, gid, pid */
	const void *arg;           /* the opcode's fixed struct, aligned, a copy in arg_space; older,
	                              shorter forms zero-filled.  COPY_FILE_RANGE: wire_parse has
	                              swapped in.nodeid (now the target) and nodeid_out (now the
	                              source) */
	uint64_t arg_space[16];
	const char *name[2];       /* NUL-terminated, 1..255 bytes, no '/'; a symlink's target is
	                              name[1]: up to 4095 bytes, may hold '/' */
	size_t name_len[2];
	const void *data;          /* WRITE, SETXATTR: the bytes behind */
	size_t data_len;
	void *message;             /* the bytes all this points into, while they are the loop's */
	bool may_steal;            /* ... and whether they may be taken over instead of copied */
	void *buffer;              /* the request's own copy, once it has moved to a queue */
	uint32_t slot;             /* for its reply record; SLOT_NONE if it needs none */
	uint64_t arrived_ns;
	uint32_t owed;             /* bytes of the reply that its connection reckons with (conn_owe) */

	/* The reply: out[0..out_len), then body[0..body_len). */
	union {
		uint8_t bytes[256];
		struct fuse_entry_out entry;
		struct fuse_attr_out attr;
		struct fuse_open_out open;
		struct fuse_write_out write;
		struct fuse_statfs_out statfs;
		struct fuse_getxattr_out getxattr;
		struct fuse_lk_out lk;
		struct fuse_lseek_out lseek;
		struct fuse_init_out init;
		struct {
			struct fuse_entry_out entry;
			struct fuse_open_out open;
		} create;
	} out;
	size_t out_len;
	const void *body;          /* see request_body; or lives until the reply is sent */
	size_t body_len;
	int error;                 /* result once the handler has run: 0 or -KILN_Exxx */

	/* Durability, set by the handler (and, on `op` volumes, by the scheduler for changes). */
	bool durable;              /* answer only when this and all before it is durable */
	struct data_id sync_data;  /* and this data file's bytes first; handle 0: none */
	bool sync_maybe;           /* ... if there is one by then (file_want_durable) */
	bool sync_all;             /* syncfs: and every data file of the store */
	struct commit_wait wait;   /* while parked on the committer */

	/* CHANGE and DATA: what its reply record says: the inode the reply describes, a count. */
	uint64_t record_handle, record_value;
	uint64_t opened;           /* open_take's handle, 0: none; dropped if the request fails */

	/* OP_DATA: what prepare leaves for the handler; prepare and handler alone use it. */
	struct {
		struct inode inode;    /* as prepare saw it */
		uint64_t offset;       /* decided place of a WRITE (O_APPEND), of a copy */
		uint64_t done;         /* bytes moved */
		uint64_t blocks;       /* data file's 512-byte blocks afterwards */
		uint32_t gen;          /* generation of the data file the bytes went to */
		bool data_file;        /* the bytes are in a data file now */
		bool moved;            /* ... and were in blocks before: take those away */
		bool synced;           /* ... of which the copy is durable already */
	} prep;
	bool turn_held;            /* OP_DATA: has the turn of in.nodeid */
	struct request *then;      /* answered once this one, an internal change, has been applied */
	struct request *turn_next, *turn_wait; /* [VOLUME] holders in one bucket; who waits for me */
	uint64_t seq;              /* CHANGE and DATA: number of the batch it was applied in */
	bool unsure;               /* failed on account of what is not durable yet (`op` volumes) */
};

enum { SLOT_NONE = UINT32_MAX };

/* request_body: the executing worker's reply buffer, for up to REPLY_BYTES_MAX bytes; valid until
 * the reply has been sent.  For OP_LOCAL and OP_READ. */
enum { REPLY_BYTES_MAX = 1 << 20 };
void *request_body(struct request *req);
/* request_answer: for whoever took a request over with -KILN_EPARKED: sends the reply (error: 0
 * or -KILN_Exxx) and frees the request.  Any thread. */
void request_answer(struct request *req, int error);
/* request_answer_all: each of a list with err, or with its own `error` if err is 0. */
static inline void request_answer_all(struct request *list, int err)
{
	while (list) {
		struct request *next = list->next;

		request_answer(list, err ? err : list->error);
		list = next;
	}
}

/* --- for handlers ------------------------------------------------------------------- */

/* request_out(req, entry)->nodeid = ...: the reply's fixed part is req->out.entry, zeroed. */
#define request_out(req, member) \
	((req)->out_len = sizeof (req)->out.member, \
	 (typeof(&(req)->out.member))memset(&(req)->out.member, 0, sizeof (req)->out.member))

/* attr_fill: an inode as the kernel wants it. */
void attr_fill(struct fuse_attr *attr, const struct inode *inode);
/* entry_fill: with the volume's cache time. */
void entry_fill(const struct volume *v, struct fuse_entry_out *out, const struct inode *inode);
/* reply_entry, reply_attr: the whole reply; reply_entry also sets record_handle. */
void reply_entry(struct request *req, const struct inode *inode);
void reply_attr(struct request *req, const struct inode *inode);

#endif

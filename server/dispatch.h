/* The table of opcodes: one row says everything the wire and the scheduler need to know. */
#ifndef SERVER_DISPATCH_H
#define SERVER_DISPATCH_H

#include "server/request.h"

enum wire_tail {
	TAIL_NONE,    /* fixed struct and names, nothing behind */
	TAIL_WRITE,   /* fuse_write_in.size bytes */
	TAIL_XATTR,   /* fuse_setxattr_in.size bytes behind the name */
	TAIL_FORGETS, /* fuse_batch_forget_in.count structs */
	TAIL_ANY,     /* INIT may grow, an unknown opcode is not looked at */
};

enum {
	OP_RECORDED = 1,   /* a change: executed at most once, by its reply record */
	OP_COUNTED = 2,    /* changes what the session has open or locked: at most once too */
	OP_SILENT = 4,     /* has no reply */
	OP_NAME_ANY = 8,   /* name[0] is not looked at (TMPFILE sends "/") */
	OP_NAME_DOTS = 16, /* name[0] may be . or .. */
	OP_NAME_XATTR = 32,/* name[0] may hold '/' */
	OP_NO_INIT = 64,   /* allowed before INIT */
	OP_ON_DEAD = 128,  /* allowed on a session that has ended */
	OP_ADDS = 256,     /* brings new bytes or names (server/admit.h) */
	OP_ALTERS = 512,   /* takes a little room for what is there */
};

struct op {
	const char *name;
	enum op_class class;
	uint16_t arg_min, arg_full; /* size of the fixed struct: least accepted, newest */
	uint8_t names;
	enum wire_tail tail;
	unsigned flags;
	/* Before the writer role, with a reader.  OP_DATA: does what may wait.  OP_CHANGE, may be
	 * NULL: the code with which the handler is bound to fail by what the reader sees, or 0. */
	int (*prepare)(struct request *req);
	int (*handler)(struct request *req);
};

/* op_find: the row of a FUSE opcode; one that answers ENOSYS for those not known. */
const struct op *op_find(uint32_t opcode);
/* op_choose: the row for this very message, whose class may depend on its flags (OPEN with
 * O_TRUNC, SETATTR with a size); called by wire_parse once the rest is checked. */
const struct op *op_choose(const struct request *req);

/* An open of what is being removed, decided in the writer role. */
extern const struct op op_row_open, op_row_opendir;

/* Changes that no client asked for by name (schedule_internal). */
extern const struct op op_row_reap, op_row_client_put, op_row_client_end, op_row_locks,
	op_row_trash, op_row_trim;

#endif

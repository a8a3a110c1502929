/* Judges what clients were answered against what the disk had.
 *
 * Every call of a client is logged with what was applied and what was synced when it was sent and
 * when it was answered (tests/plug.h).  The rule, for each answer: there is a state that explains
 * it, that
 *   - is synced by the time of the answer (volume `op`), or applied (volume `fsync`);
 *   - is not older than what earlier answers had shown;
 * and a change answered with success has its batch among the synced ones (`op`), and is not older
 * than its request.  So each answer is tried as if the power had gone right after it. */
#ifndef TESTS_JUDGE_H
#define TESTS_JUDGE_H

#include "store/schema.h"
#include "tests/plug.h"

enum call {
	CALL_LOOKUP, CALL_GETATTR, CALL_READDIR, CALL_GETXATTR, CALL_FSYNC, /* look, or wait */
	CALL_CREATE, CALL_MKDIR, CALL_LINK, CALL_UNLINK, CALL_RMDIR, CALL_RENAME, CALL_SETATTR,
	CALL_SETXATTR, CALL_WRITE, CALL_TRUNCATE, /* change */
};

struct seen_name {
	char name[8];
	uint64_t node;
};

struct answer {
	enum call call;
	unsigned client;
	uint64_t dir, dir2, node;   /* as the call needs them; node: what a success showed */
	char name[8], name2[8];
	unsigned flags;             /* of a rename */
	int err;                    /* 0 or a negated errno */
	uint32_t mode, nlink, value;/* what was shown; value: the attribute's */
	struct seen_name *names;    /* a listing, owned */
	size_t name_count;
	uint64_t sent, received;    /* moments, counted */
	uint64_t applied_then, applied_now, synced_now;
	uint64_t index;             /* found: batch of a change, oldest state that explains */
};

struct judge {
	struct plug *plug;
	struct kv *kv;              /* of that plug */
	struct txn *t;
	bool op;                    /* durability of the volume */
	uint32_t brick;
	struct answer *answers;     /* of all clients, in order of sending */
	size_t count;
	unsigned *batch_changes;    /* found: how many changes each batch holds, by index */
	size_t explained, excused;  /* excused: seen inside a batch of several changes */
	size_t combined;            /* batches of several changes */
	char why[400];
};

/* judge_run: 0, or 1 with why set.  The answers must be sorted by `sent`; each client's changes
 * in its own order. */
int judge_run(struct judge *j);
const char *call_name(enum call call);

#endif

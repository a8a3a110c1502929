/* Calls on their way to a server, so that a test can look at what happens meanwhile. */
#ifndef TESTS_PENDING_H
#define TESTS_PENDING_H

#include "client/kiln.h"

struct pending {
	struct kiln *k;
	struct kiln_op op; /* filled in by kiln_prep_xxx */
	union {
		struct fuse_entry_out entry;
		struct kiln_created created;
		struct fuse_open_out open;
		struct fuse_write_out write;
		uint64_t any[64];
	} out;
};

/* pending_begin: sends p->op over k.  pending_answered: whether the answer has come; takes it.
 * pending_end: waits for it; 0 or a negated errno. */
void pending_begin(struct pending *p, struct kiln *k);
bool pending_answered(struct pending *p);
int pending_end(struct pending *p);

#endif

/* Is what a store holds a file system?  Every name leads to an inode of its type; link counts,
 * directories' counts and the volume's counters are what the names and inodes say; no directory is
 * out of reach; what has no name is on the list of orphans and nothing else is; nothing belongs to
 * an inode that is not there; every block that an inode speaks of is there, and no other.
 *
 * All of a brick is read, so what the database's checksums say of its files is found as well.
 * Nothing is changed.  Memory: some 80 bytes an inode.  One thread. */
#ifndef STORE_CHECK_H
#define STORE_CHECK_H

#include "store/txn.h"

struct check {
	/* told: a problem, as a sentence without a full stop; text is the check's. */
	void (*told)(void *context, const char *text);
	void *context;
	uint64_t inodes, names, blocks; /* found; blocks of 512 bytes */
	uint64_t problems;              /* told */
};

/* check_brick: of what t looks at, which may block.  c->told and context are the caller's, the rest
 * is set.  0 if all of it could be read, whatever was found; else why not: -KILN_ECORRUPT,
 * -KILN_EIO, -KILN_ENOMEM. */
int check_brick(struct txn *t, struct check *c);

#endif

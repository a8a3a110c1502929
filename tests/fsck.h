/* Is what a store holds a file system?  For tests: every state that a power cut can leave must
 * pass. */
#ifndef TESTS_FSCK_H
#define TESTS_FSCK_H

#include "store/txn.h"

/* fsck_brick: of what t looks at.  0, or 1 with one sentence in why. */
int fsck_brick(struct txn *t, char *why, size_t cap);

#endif

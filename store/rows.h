/* Private to store/: rows of a range, copied out of a skip list so that its lock need not be held
 * over a walk.  One thread. */
#ifndef STORE_ROWS_H
#define STORE_ROWS_H

#include "store/skiplist.h"

/* {0} to begin with; free(bytes). */
struct rows {
	unsigned char *bytes;
	size_t used, room, at; /* at: of the next to be looked at */
	unsigned count;
	bool more;             /* there were too many: the range ends behind the last one here */
};

struct row {
	const void *key, *value; /* valid until rows_clear; value NULL: deleted */
	size_t key_len, value_len;
};

void rows_clear(struct rows *r);
/* rows_full: more at once would be too many. */
bool rows_full(const struct rows *r);
int rows_add(struct rows *r, struct skip_node *n);
/* rows_look: the row at r->at, without going on; false at the end. */
bool rows_look(const struct rows *r, struct row *row);
void rows_next(struct rows *r);

#endif

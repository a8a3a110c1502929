/* Private to store/: what has been applied and lies in the journal, but not yet in the database.
 *
 * An ordered database takes a microsecond or two for each key.  Here a key takes a fraction of it,
 * and of many changes to one key (a directory's inode, a volume's counters) only the last is left
 * when a thread moves them on, sorted, as one batch.  Reads of the latest state look here first.
 *
 * Two tables: one takes what is applied; when it is full they change places, and the other one is
 * moved to the database while the first takes what comes.  A key found in the first counts, then
 * in the second, then in the database.
 *
 * Threads: front_add_*: one at a time, under the owner's lock.  front_turn, _each, _moved: one
 * thread at a time; front_turn under the owner's lock too.  All others: any thread. */
#ifndef STORE_FRONT_H
#define STORE_FRONT_H

#include "store/kv.h"
#include "store/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct front;

/* front_new: a table is full with `bytes` in it; no more is taken with FRONT_MOST times as many
 * while the other one is on its way.  single: all spaces are one. */
enum { FRONT_MOST = 4 };
struct front *front_new(size_t bytes, bool single); /* NULL: out of memory */
void front_free(struct front *f);                   /* NULL is fine */

/* front_add_ready: 0, and the next front_add of this batch cannot fail; -KILN_EWOULDBLOCK: both
 * tables are full (front_await_room); -KILN_ENOMEM. */
int front_add_ready(struct front *f, const struct kv_batch *b);
/* front_add: visible to all on return.  true: this has made the table full. */
bool front_add(struct front *f, const struct kv_batch *b);
/* front_await_room: until another batch can be added, or front_fail. */
void front_await_room(struct front *f);
/* front_fail: nothing can be moved on any more.  What is here stays readable. */
void front_fail(struct front *f);

/* front_turn: what has been added is what moves on now, if nothing is on its way already.
 * false: there is nothing. */
bool front_turn(struct front *f);
struct front_change {
	const void *key, *value; /* valid until front_moved; value NULL: deleted */
	size_t key_len, value_len;
	enum kv_space space;
};
/* front_each: what is on its way, space by space in the order of the keys. */
void front_each(struct front *f, void (*fn)(void *context, const struct front_change *c),
		void *context);
/* front_moved: it is in the database. */
void front_moved(struct front *f);

/* front_get: as kv_get; 1: not known here. */
int front_get(struct front *f, enum kv_space space, const void *key, size_t key_len, void *buf,
	      size_t cap, size_t *len);

/* front_range: copies the rows of a range, deleted keys too, in order. */
int front_range(struct front *f, enum kv_space space, const void *from, size_t from_len,
		const void *to, size_t to_len, struct rows *rows);

uint64_t front_bytes(struct front *f); /* keys and values here */

#endif

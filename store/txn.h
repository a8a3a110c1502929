/* Reading and changing one brick.
 *
 * A *reader* sees the latest applied state or a view, and changes nothing; each thread has its
 * own.  A *group* additionally collects changes and sees them itself; nobody else does until
 * txn_apply has put all of them into the store as one batch.  A group belongs to whoever holds
 * the volume's writer role.
 *
 * Several operations share a group.  txn_mark begins one; txn_undo takes back what was put or
 * deleted since the mark, so a failing operation leaves no trace. */
#ifndef STORE_TXN_H
#define STORE_TXN_H

#include "store/store.h"

struct txn;

struct txn *txn_reader_new(struct store *s);
struct txn *txn_group_new(struct store *s, uint32_t brick);
void txn_free(struct txn *t);

/* txn_look: what a reader looks at from now on.  view NULL: latest; not owned. */
void txn_look(struct txn *t, uint32_t brick, const struct kv_view *view);
/* txn_fresh: the view is a durable one of an `op` volume, where what a WRITE changes is outside:
 * inode_get takes a regular file's size, blocks, times and data file from the latest state, and
 * block_get the bytes. */
void txn_fresh(struct txn *t, bool fresh);
bool txn_is_fresh(const struct txn *t);
/* txn_is_behind: a reader that looks at a view, and may not see the latest state. */
bool txn_is_behind(const struct txn *t);
/* txn_may_block: false (the default): reads that need the disk, and applies that would stall,
 * return -KILN_EWOULDBLOCK. */
void txn_may_block(struct txn *t, bool may);

uint32_t txn_brick(const struct txn *t);
struct store *txn_store(const struct txn *t);

int txn_get(struct txn *t, enum kv_space space, const void *key, size_t key_len, void *buf,
	    size_t cap, size_t *len);
/* txn_get_latest: whatever the view.  txn_get_many: as kv_get_many.  Readers only. */
int txn_get_latest(struct txn *t, enum kv_space space, const void *key, size_t key_len, void *buf,
		   size_t cap, size_t *len);
int txn_get_many(struct txn *t, enum kv_space space, struct kv_item *items, size_t count);
int txn_put(struct txn *t, enum kv_space space, const void *key, size_t key_len,
	    const void *value, size_t value_len);
int txn_del(struct txn *t, enum kv_space space, const void *key, size_t key_len);
/* txn_scan_*: as kv_scan_*, with the group's own changes merged in as they were at the opening.
 * Putting and deleting while a scan is open is fine; txn_undo and txn_apply are not. */
struct txn_scan;
int txn_scan_open(struct txn *t, enum kv_space space, const void *from, size_t from_len,
		  const void *to, size_t to_len, struct txn_scan **out);
int txn_scan_next(struct txn_scan *scan, const void **key, size_t *key_len, const void **value,
		  size_t *value_len);
void txn_scan_close(struct txn_scan *scan);

void txn_mark(struct txn *t);
void txn_undo(struct txn *t);
bool txn_empty(const struct txn *t);
/* txn_apply: one batch for all since the last apply.  0: *seq is its number (and the committer
 * knows it), the group is empty again.  -KILN_EWOULDBLOCK: nothing happened, the group is as it
 * was; say txn_may_block and call again where blocking is allowed.  Other errors: the changes
 * are dropped, the store is broken. */
int txn_apply(struct txn *t, uint64_t *seq);

#endif

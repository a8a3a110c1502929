/* Private to store/: recently read and written records of inodes and directory entries, as bytes,
 * in front of the key-value store.  A hit costs a hash and a short lock instead of a walk through
 * memtables and blocks; a name that was found missing is remembered too.
 *
 * It holds the latest applied state only.  Who changes something says so before and after the
 * apply; what a reader has fetched meanwhile is not kept, because it may be older. */
#ifndef STORE_CACHE_H
#define STORE_CACHE_H

#include "store/kv.h"

struct cache;

struct cache *cache_new(void);
void cache_free(struct cache *c);

/* cache_get: 0 and the value as of kv_get (-KILN_ERANGE likewise), -KILN_ENOENT if it is known to
 * be missing, or 1: not known here; *ticket is then for cache_fill with what kv_get has answered
 * (err 0 or -KILN_ENOENT). */
int cache_get(struct cache *c, enum kv_space space, const void *key, size_t key_len, void *buf,
	      size_t cap, size_t *len, uint64_t *ticket);
void cache_fill(struct cache *c, enum kv_space space, const void *key, size_t key_len,
		const void *value, size_t value_len, int err, uint64_t ticket);
/* cache_begin, cache_end: around every kv_apply of a batch; applied says whether it was. */
void cache_begin(struct cache *c, const struct kv_batch *batch);
void cache_end(struct cache *c, const struct kv_batch *batch, bool applied);

#endif

/* Private to store/: the changes of one group that are not applied yet.
 *
 * An entry per key, a record per change; the entry names the key's latest record, the record
 * the one before it, so that undo pops records and finds the state at the mark again.  Keys
 * and values lie in one buffer of bytes and are named by their offset.
 *
 * One thread at a time (the holder of the writer role).  Overlays are kept in a pool: a group
 * without changes has none, so that an idle volume costs nothing here. */
#ifndef STORE_OVERLAY_H
#define STORE_OVERLAY_H

#include "store/kv.h"

struct overlay;

/* What is known of a key; pointers are valid until the next change. */
struct overlay_hit {
	const void *key, *value;
	size_t key_len, value_len;
	bool deleted;
};

struct overlay *overlay_take(void); /* an empty one; NULL: out of memory */
void overlay_give(struct overlay *o);

/* overlay_change: value NULL deletes. */
int overlay_change(struct overlay *o, enum kv_space space, const void *key, size_t key_len,
		   const void *value, size_t value_len);
bool overlay_find(const struct overlay *o, enum kv_space space, const void *key, size_t key_len,
		  struct overlay_hit *hit);
void overlay_mark(struct overlay *o);
void overlay_undo(struct overlay *o);
bool overlay_empty(const struct overlay *o);
/* overlay_batch: one record per key, the latest; owned by the overlay. */
int overlay_batch(struct overlay *o, const struct kv_batch **out);

/* overlay_range: the keys in [from, to), sorted, as they are now; later changes do not show,
 * and the list is valid until the overlay is given back.  free() it. */
struct overlay_row {
	size_t key_at, value_at;
	uint32_t value_len;
	uint16_t key_len;
	bool deleted;
};
int overlay_range(const struct overlay *o, enum kv_space space, const void *from, size_t from_len,
		  const void *to, size_t to_len, struct overlay_row **rows, size_t *count);
const void *overlay_bytes(const struct overlay *o, size_t at);

#endif

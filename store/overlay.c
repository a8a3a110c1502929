#include "store/overlay.h"

#include "base/err.h"
#include "base/lock.h"
#include "store/kv_impl.h"

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
enum { BUCKETS_FIRST = 64, ROOM_FIRST = 64, BYTES_FIRST = 8192, BYTES_KEEP = 1 << 18, POOL = 16 };

struct entry {
	uint32_t hash, next;  /* next: in the bucket */
	uint32_t record;      /* latest */
	uint16_t key_len;
	uint8_t space;
	size_t key_at;
};

struct record {
	uint32_t entry, before; /* before: the key's record that this one replaces */
	uint32_t value_len;
	bool deleted;
	size_t value_at;
	size_t bytes_before;    /* fill level of the bytes when it was made */
};

struct overlay {
	struct overlay *next_free;
	struct entry *entries;
	struct record *records;
	uint32_t *buckets;
	uint32_t entry_count, entry_room, record_count, record_room, bucket_count;
	uint32_t mark; /* records below it are from before the mark */
	unsigned char *bytes;
	size_t bytes_used, bytes_room;
	struct kv_batch *batch;
};

/* The pool.  Its lock is a leaf: nothing is called with it held. */
static struct {
	struct lock lock;
	struct overlay *first; /* [lock] */
	unsigned count;        /* [lock] */
} pool = { .lock = { .mutex = PTHREAD_MUTEX_INITIALIZER,
		     .rank = LOCK_RANK_LEAF,
		     .name = "overlay pool" } };

static void overlay_free(struct overlay *o)
{
	kv_batch_free(o->batch);
	free(o->entries);
	free(o->records);
	free(o->buckets);
	free(o->bytes);
	free(o);
}

static void clear_buckets(struct overlay *o)
{
	memset(o->buckets, 0xff, o->bucket_count * sizeof(o->buckets[0]));
}

static struct overlay *overlay_new(void)
{
	struct overlay *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->bucket_count = BUCKETS_FIRST;
	o->entry_room = o->record_room = ROOM_FIRST;
	o->bytes_room = BYTES_FIRST;
	o->buckets = malloc(o->bucket_count * sizeof(o->buckets[0]));
	o->entries = malloc(o->entry_room * sizeof(o->entries[0]));
	o->records = malloc(o->record_room * sizeof(o->records[0]));
	o->bytes = malloc(o->bytes_room);
	o->batch = kv_batch_new();
	if (!o->buckets || !o->entries || !o->records || !o->bytes || !o->batch) {
		overlay_free(o);
		return NULL;
	}
	clear_buckets(o);
	return o;
}

struct overlay *overlay_take(void)
{
	struct overlay *o;

	lock_take(&pool.lock);
	o = pool.first;
	if (o) {
		pool.first = o->next_free;
		pool.count--;
	}
	lock_give(&pool.lock);
	return o ? o : overlay_new();
}

static bool worth_keeping(const struct overlay *o)
{
	return o->bytes_room <= BYTES_KEEP && o->bucket_count <= 64 * BUCKETS_FIRST;
}

void overlay_give(struct overlay *o)
{
	bool kept = worth_keeping(o);

	o->entry_count = o->record_count = o->mark = 0;
	o->bytes_used = 0;
	kv_batch_clear(o->batch);
	if (kept)
		clear_buckets(o);
	lock_take(&pool.lock);
	kept = kept && pool.count < POOL;
	if (kept) {
		o->next_free = pool.first;
		pool.first = o;
		pool.count++;
	}
	lock_give(&pool.lock);
	if (!kept)
		overlay_free(o);
}

static uint32_t hash_of(enum kv_space space, const void *key, size_t key_len)
{
	return (uint32_t)XXH3_64bits_withSeed(key, key_len, space);
}

static uint32_t *bucket_of(const struct overlay *o, uint32_t hash)
{
	return &o->buckets[hash & (o->bucket_count - 1)];
}

static uint32_t find(const struct overlay *o, uint32_t hash, enum kv_space space, const void *key,
		     size_t key_len)
{
	uint32_t at = *bucket_of(o, hash);

	while (at != NONE) {
		const struct entry *e = &o->entries[at];

		if (e->hash == hash && e->space == space && e->key_len == key_len &&
		    memcmp(o->bytes + e->key_at, key, key_len) == 0)
			break;
		at = e->next;
	}
	return at;
}

/* grow: room for one more of an array of `size` bytes each. */
static int grow(void *array, uint32_t count, uint32_t *room, size_t size)
{
	void *old, *grown;

	if (count < *room)
		return 0;
	if (*room >= NONE / 4)
		return -KILN_ENOMEM;
	memcpy(&old, array, sizeof(old));
	grown = realloc(old, 2 * (size_t)*room * size);
	if (!grown)
		return -KILN_ENOMEM;
	memcpy(array, &grown, sizeof(grown));
	*room *= 2;
	return 0;
}

/* Entries go back into the buckets in the order in which they were made: undo relies on the
 * youngest being first in its bucket. */
static int grow_buckets(struct overlay *o)
{
	uint32_t count = 2 * o->bucket_count;
	uint32_t *grown = realloc(o->buckets, count * sizeof(*grown));

	if (!grown)
		return -KILN_ENOMEM;
	o->buckets = grown;
	o->bucket_count = count;
	clear_buckets(o);
	for (uint32_t i = 0; i < o->entry_count; i++) {
		uint32_t *bucket = bucket_of(o, o->entries[i].hash);

		o->entries[i].next = *bucket;
		*bucket = i;
	}
	return 0;
}

static int make_room(struct overlay *o, size_t bytes)
{
	size_t room = o->bytes_room;
	int err = grow(&o->entries, o->entry_count, &o->entry_room, sizeof(o->entries[0]));

	if (!err)
		err = grow(&o->records, o->record_count, &o->record_room, sizeof(o->records[0]));
	if (!err && o->entry_count >= o->bucket_count)
		err = grow_buckets(o);
	if (err || room - o->bytes_used >= bytes)
		return err;
	while (room - o->bytes_used < bytes)
		room *= 2;
	void *grown = realloc(o->bytes, room);
	if (!grown)
		return -KILN_ENOMEM;
	o->bytes = grown;
	o->bytes_room = room;
	return 0;
}

static size_t add_bytes(struct overlay *o, const void *bytes, size_t len)
{
	size_t at = o->bytes_used;

	if (len)
		memcpy(o->bytes + at, bytes, len);
	o->bytes_used += len;
	return at;
}

static uint32_t add_entry(struct overlay *o, uint32_t hash, enum kv_space space, const void *key,
			  size_t key_len)
{
	uint32_t *bucket = bucket_of(o, hash), at = o->entry_count++;

	o->entries[at] = (struct entry){
		.hash = hash,
		.next = *bucket,
		.record = NONE,
		.key_len = (uint16_t)key_len,
		.space = (uint8_t)space,
		.key_at = add_bytes(o, key, key_len),
	};
	*bucket = at;
	return at;
}

/* A key's second change after the mark replaces the first one's value; its bytes stay where
 * they are, for the sake of scans that still show them. */
int overlay_change(struct overlay *o, enum kv_space space, const void *key, size_t key_len,
		   const void *value, size_t value_len)
{
	uint32_t hash = hash_of(space, key, key_len), at = find(o, hash, space, key, key_len);
	size_t bytes_before = o->bytes_used;
	struct record *r;
	int err;

	if (key_len == 0 || key_len > UINT16_MAX || value_len > UINT32_MAX)
		return -KILN_EINVAL;
	err = make_room(o, key_len + value_len);
	if (err)
		return err;
	if (at == NONE)
		at = add_entry(o, hash, space, key, key_len);
	struct entry *e = &o->entries[at];
	if (e->record != NONE && e->record >= o->mark) {
		r = &o->records[e->record];
	} else {
		r = &o->records[o->record_count];
		*r = (struct record){ .entry = at, .before = e->record,
				      .bytes_before = bytes_before };
		e->record = o->record_count++;
	}
	r->deleted = !value;
	r->value_len = (uint32_t)value_len;
	r->value_at = add_bytes(o, value, value_len);
	return 0;
}

static void hit_of(const struct overlay *o, const struct entry *e, struct overlay_hit *hit)
{
	const struct record *r = &o->records[e->record];

	*hit = (struct overlay_hit){
		.key = o->bytes + e->key_at,
		.key_len = e->key_len,
		.value = o->bytes + r->value_at,
		.value_len = r->value_len,
		.deleted = r->deleted,
	};
}

bool overlay_find(const struct overlay *o, enum kv_space space, const void *key, size_t key_len,
		  struct overlay_hit *hit)
{
	uint32_t at = find(o, hash_of(space, key, key_len), space, key, key_len);

	if (at == NONE)
		return false;
	hit_of(o, &o->entries[at], hit);
	return true;
}

void overlay_mark(struct overlay *o)
{
	o->mark = o->record_count;
}

void overlay_undo(struct overlay *o)
{
	while (o->record_count > o->mark) {
		struct record *r = &o->records[--o->record_count];
		struct entry *e = &o->entries[r->entry];

		e->record = r->before;
		o->bytes_used = r->bytes_before;
		if (r->before == NONE) {
			*bucket_of(o, e->hash) = e->next;
			o->entry_count--;
		}
	}
}

bool overlay_empty(const struct overlay *o)
{
	return o->record_count == 0;
}

int overlay_batch(struct overlay *o, const struct kv_batch **out)
{
	struct overlay_hit hit;
	int err = 0;

	kv_batch_clear(o->batch);
	for (uint32_t i = 0; i < o->entry_count && !err; i++) {
		hit_of(o, &o->entries[i], &hit);
		if (hit.deleted)
			err = kv_batch_del(o->batch, o->entries[i].space, hit.key, hit.key_len);
		else
			err = kv_batch_put(o->batch, o->entries[i].space, hit.key, hit.key_len,
					   hit.value, hit.value_len);
	}
	*out = o->batch;
	return err;
}

static int compare_rows(const void *a, const void *b, void *bytes)
{
	const struct overlay_row *x = a, *y = b;
	const unsigned char *base = bytes;

	return kv_key_order(base + x->key_at, x->key_len, base + y->key_at, y->key_len);
}

int overlay_range(const struct overlay *o, enum kv_space space, const void *from, size_t from_len,
		  const void *to, size_t to_len, struct overlay_row **rows, size_t *count)
{
	*rows = NULL;
	*count = 0;
	for (uint32_t i = 0; i < o->entry_count; i++) {
		const struct entry *e = &o->entries[i];
		const struct record *r = &o->records[e->record];
		const unsigned char *key = o->bytes + e->key_at;

		if (e->space != space || kv_key_order(key, e->key_len, from, from_len) < 0 ||
		    kv_key_order(key, e->key_len, to, to_len) >= 0)
			continue;
		if (!*rows) {
			*rows = malloc(o->entry_count * sizeof(**rows));
			if (!*rows)
				return -KILN_ENOMEM;
		}
		(*rows)[(*count)++] = (struct overlay_row){ e->key_at, r->value_at, r->value_len,
							    e->key_len, r->deleted };
	}
	if (*count > 1)
		qsort_r(*rows, *count, sizeof(**rows), compare_rows, o->bytes);
	return 0;
}

const void *overlay_bytes(const struct overlay *o, size_t at)
{
	return o->bytes + at;
}

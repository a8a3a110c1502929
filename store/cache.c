/* Direct mapped: a slot for each value of the hash's lower bits, a lock for each STRIPES slots.
 * A slot's version is odd while a batch that changes it is being applied; a reader keeps what it
 * has fetched only if the version is even and the one it saw before. */
#include "store/cache.h"

#include "base/err.h"
#include "base/lock.h"
#include "store/kv_impl.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
	SLOTS = 8192,
	STRIPES = 64,
	ROOM = 224, /* key and value of what is kept */
};

enum state { EMPTY, VALUE, MISSING };

struct slot {
	uint64_t hash;
	uint64_t version;
	uint32_t applying; /* batches under way that change this slot */
	uint8_t state, key_len, value_len, space;
	uint8_t bytes[ROOM];
};

struct cache {
	struct lock lock[STRIPES]; /* LEAF; of the slots with that remainder */
	struct slot slot[SLOTS];
};

struct place {
	struct slot *slot;
	struct lock *lock;
	uint64_t hash;
};

struct cache *cache_new(void)
{
	struct cache *c = calloc(1, sizeof(*c));

	for (unsigned i = 0; c && i < STRIPES; i++)
		lock_init(&c->lock[i], LOCK_RANK_LEAF, "record cache");
	return c;
}

void cache_free(struct cache *c)
{
	for (unsigned i = 0; c && i < STRIPES; i++)
		lock_destroy(&c->lock[i]);
	free(c);
}

static bool is_kept(enum kv_space space)
{
	return space == KV_INODE || space == KV_DIRENT;
}

static struct place place_of(struct cache *c, enum kv_space space, const void *key, size_t key_len)
{
	uint64_t hash = XXH3_64bits_withSeed(key, key_len, space);

	return (struct place){ &c->slot[hash % SLOTS], &c->lock[hash % STRIPES], hash };
}

static bool is_of(const struct place *p, enum kv_space space, const void *key, size_t key_len)
{
	const struct slot *s = p->slot;

	return s->state != EMPTY && s->hash == p->hash && s->key_len == key_len &&
	       s->space == space && memcmp(s->bytes, key, key_len) == 0;
}

static int copy_out(const struct slot *s, void *buf, size_t cap, size_t *len)
{
	if (s->state == MISSING)
		return -KILN_ENOENT;
	*len = s->value_len;
	memcpy(buf, s->bytes + s->key_len, s->value_len < cap ? s->value_len : cap);
	return s->value_len > cap ? -KILN_ERANGE : 0;
}

static void set(const struct place *p, enum kv_space space, const void *key, size_t key_len,
		const void *value, size_t value_len, enum state state)
{
	struct slot *s = p->slot;

	s->state = EMPTY;
	if (key_len + value_len > ROOM)
		return;
	s->hash = p->hash;
	s->state = (uint8_t)state;
	s->space = (uint8_t)space;
	s->key_len = (uint8_t)key_len;
	s->value_len = (uint8_t)value_len;
	memcpy(s->bytes, key, key_len);
	if (value_len)
		memcpy(s->bytes + key_len, value, value_len);
}

int cache_get(struct cache *c, enum kv_space space, const void *key, size_t key_len, void *buf,
	      size_t cap, size_t *len, uint64_t *ticket)
{
	struct place p;

	*ticket = UINT64_MAX;
	if (!is_kept(space))
		return 1;
	p = place_of(c, space, key, key_len);
	lock_guard(p.lock);
	if (is_of(&p, space, key, key_len))
		return copy_out(p.slot, buf, cap, len);
	if (!p.slot->applying)
		*ticket = p.slot->version;
	return 1;
}

void cache_fill(struct cache *c, enum kv_space space, const void *key, size_t key_len,
		const void *value, size_t value_len, int err, uint64_t ticket)
{
	struct place p;

	if (ticket == UINT64_MAX || (err && err != -KILN_ENOENT))
		return;
	p = place_of(c, space, key, key_len);
	lock_guard(p.lock);
	if (p.slot->applying || p.slot->version != ticket)
		return;
	set(&p, space, key, key_len, value, err ? 0 : value_len, err ? MISSING : VALUE);
}

static void record_begin(struct cache *c, const struct kv_batch *batch, const struct kv_record *r)
{
	const uint8_t *key = batch->bytes + r->at;
	struct place p;

	if (!is_kept(r->space))
		return;
	p = place_of(c, r->space, key, r->key_len);
	lock_guard(p.lock);
	p.slot->state = EMPTY;
	p.slot->applying++;
	p.slot->version++;
}

/* Two batches of different volumes may change keys of one slot at once: the last to end fills it,
 * with what it has applied itself, which is the latest of that key. */
static void record_end(struct cache *c, const struct kv_batch *batch, const struct kv_record *r,
		       bool applied)
{
	const uint8_t *key = batch->bytes + r->at;
	struct place p;

	if (!is_kept(r->space))
		return;
	p = place_of(c, r->space, key, r->key_len);
	lock_guard(p.lock);
	p.slot->version++;
	if (--p.slot->applying > 0 || !applied)
		return;
	set(&p, r->space, key, r->key_len, key + r->key_len, r->kind == KV_PUT ? r->value_len : 0,
	    r->kind == KV_PUT ? VALUE : MISSING);
}

void cache_begin(struct cache *c, const struct kv_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		record_begin(c, batch, &batch->records[i]);
}

void cache_end(struct cache *c, const struct kv_batch *batch, bool applied)
{
	for (size_t i = 0; i < batch->count; i++)
		record_end(c, batch, &batch->records[i], applied);
}

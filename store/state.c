/* A brick's own state: counters, orphans, trash. */
#include "store/schema_impl.h"

enum { COUNTERS_BYTES = 24 };

int counters_get(struct txn *t, struct counters *out)
{
	unsigned char value[COUNTERS_BYTES];
	struct key key;
	struct in i;
	size_t len;
	int err;

	key_start(&key, txn_brick(t), 'c');
	err = txn_get(t, KV_REST, key.bytes, key.len, value, sizeof(value), &len);
	if (err)
		return err == -KILN_ERANGE ? -KILN_ECORRUPT : err;
	i = in_of(value, len);
	out->inodes = in_u64(&i);
	out->blocks = in_u64(&i);
	out->next_handle = in_u64(&i);
	return in_done(&i);
}

int counters_put(struct txn *t, const struct counters *c)
{
	unsigned char value[COUNTERS_BYTES];
	struct out o = { value };
	struct key key;

	key_start(&key, txn_brick(t), 'c');
	out_u64(&o, c->inodes);
	out_u64(&o, c->blocks);
	out_u64(&o, c->next_handle);
	return txn_put(t, KV_REST, key.bytes, key.len, value, sizeof(value));
}

static void orphan_key(struct key *k, struct txn *t, uint64_t handle)
{
	key_start(k, txn_brick(t), 'o');
	key_u64(k, handle);
}

int orphan_put(struct txn *t, uint64_t handle)
{
	struct key key;

	orphan_key(&key, t, handle);
	return txn_put(t, KV_REST, key.bytes, key.len, NULL, 0);
}

int orphan_del(struct txn *t, uint64_t handle)
{
	struct key key;

	orphan_key(&key, t, handle);
	return txn_del(t, KV_REST, key.bytes, key.len);
}

struct orphan_walk {
	int (*fn)(void *context, uint64_t handle);
	void *context;
};

static int orphan_one(void *context, const unsigned char *tail, size_t tail_len, const void *value,
		      size_t value_len)
{
	struct orphan_walk *w = context;

	if (tail_len != 8 || value_len != 0)
		return -KILN_ECORRUPT;
	return w->fn(w->context, be64_at(tail));
}

int orphan_each(struct txn *t, int (*fn)(void *context, uint64_t handle), void *context)
{
	struct orphan_walk w = { fn, context };
	struct key prefix;

	key_start(&prefix, txn_brick(t), 'o');
	return record_each(t, KV_REST, &prefix, orphan_one, &w);
}

static void trash_key(struct key *k, struct txn *t, uint64_t handle, uint32_t gen)
{
	key_start(k, txn_brick(t), 't');
	key_u64(k, handle);
	key_u32(k, gen);
}

int trash_put(struct txn *t, uint64_t handle, uint32_t gen)
{
	struct key key;

	trash_key(&key, t, handle, gen);
	return txn_put(t, KV_REST, key.bytes, key.len, NULL, 0);
}

int trash_del(struct txn *t, uint64_t handle, uint32_t gen)
{
	struct key key;

	trash_key(&key, t, handle, gen);
	return txn_del(t, KV_REST, key.bytes, key.len);
}

struct trash_walk {
	int (*fn)(void *context, uint64_t handle, uint32_t gen);
	void *context;
};

static int trash_one(void *context, const unsigned char *tail, size_t tail_len, const void *value,
		     size_t value_len)
{
	struct trash_walk *w = context;

	if (tail_len != 12 || value_len != 0)
		return -KILN_ECORRUPT;
	return w->fn(w->context, be64_at(tail), be32_at(tail + 8));
}

int trash_each(struct txn *t, int (*fn)(void *context, uint64_t handle, uint32_t gen),
	       void *context)
{
	struct trash_walk w = { fn, context };
	struct key prefix;

	key_start(&prefix, txn_brick(t), 't');
	return record_each(t, KV_REST, &prefix, trash_one, &w);
}

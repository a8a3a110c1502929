/* The table of volumes: brick 0, whatever brick the transaction looks at. */
#include "store/schema_impl.h"

enum { VALUE_VERSION = 1, VALUE_HEAD = 45 };

static void volume_key(struct key *k, uint32_t brick)
{
	key_start(k, 0, 'v');
	key_u32(k, brick);
}

static bool valid(const struct volume_record *r)
{
	return r->brick != 0 && r->name[0] && r->durability <= DURABILITY_OP &&
	       r->cache <= CACHE_NONE && r->read_only <= 1 && r->deleting <= 1;
}

int volume_record_put(struct txn *t, const struct volume_record *r)
{
	unsigned char value[VALUE_HEAD + VOLUME_NAME_MAX];
	struct out o = { value };
	struct key key;

	if (!valid(r))
		return -KILN_EINVAL;
	volume_key(&key, r->brick);
	out_u8(&o, VALUE_VERSION);
	out_u8(&o, r->durability);
	out_u8(&o, r->read_only);
	out_u8(&o, r->deleting);
	out_u8(&o, r->cache);
	out_bytes(&o, r->uuid, sizeof(r->uuid));
	out_u64(&o, r->quota_bytes);
	out_u64(&o, r->quota_inodes);
	out_u64(&o, (uint64_t)r->created);
	out_bytes(&o, r->name, strnlen(r->name, VOLUME_NAME_MAX));
	return txn_put(t, KV_REST, key.bytes, key.len, value, (size_t)(o.at - value));
}

int volume_record_del(struct txn *t, uint32_t brick)
{
	struct key key;

	volume_key(&key, brick);
	return txn_del(t, KV_REST, key.bytes, key.len);
}

static int decode(struct volume_record *r, const void *value, size_t len)
{
	struct in i = in_of(value, len);

	if (in_u8(&i) != VALUE_VERSION)
		return -KILN_ECORRUPT;
	r->durability = in_u8(&i);
	r->read_only = in_u8(&i);
	r->deleting = in_u8(&i);
	r->cache = in_u8(&i);
	in_bytes(&i, r->uuid, sizeof(r->uuid));
	r->quota_bytes = in_u64(&i);
	r->quota_inodes = in_u64(&i);
	r->created = (int64_t)in_u64(&i);
	if (in_left(&i) > VOLUME_NAME_MAX || memchr(i.at, 0, in_left(&i)))
		return -KILN_ECORRUPT;
	in_bytes(&i, r->name, in_left(&i));
	return in_done(&i);
}

struct volume_walk {
	int (*fn)(void *context, const struct volume_record *r);
	void *context;
};

static int volume_one(void *context, const unsigned char *tail, size_t tail_len, const void *value,
		      size_t value_len)
{
	struct volume_walk *w = context;
	struct volume_record r = { 0 };

	if (tail_len != 4)
		return -KILN_ECORRUPT;
	r.brick = be32_at(tail);
	if (decode(&r, value, value_len) || !valid(&r))
		return -KILN_ECORRUPT;
	return w->fn(w->context, &r);
}

int volume_record_each(struct txn *t, int (*fn)(void *context, const struct volume_record *r),
		       void *context)
{
	struct volume_walk w = { fn, context };
	struct key prefix;

	key_start(&prefix, 0, 'v');
	return record_each(t, KV_REST, &prefix, volume_one, &w);
}

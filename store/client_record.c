/* What a volume remembers of its clients over a restart: who they are, what their last changes
 * were answered, the file locks they hold. */
#include "store/schema_impl.h"

#include <stdlib.h>

enum {
	REPLY_BYTES = 32,
	CLIENT_HEAD = 32,
	LOCK_BYTES = 32,
	LOCKS_MAX = 1 << 20, /* of one client on one inode: bounds the value */
};

static void reply_prefix(struct key *k, struct txn *t, uint64_t client)
{
	key_start(k, txn_brick(t), 'r');
	key_u64(k, client);
}

int reply_put(struct txn *t, uint64_t client, uint32_t slot, const struct reply_record *r)
{
	unsigned char value[REPLY_BYTES];
	struct out o = { value };
	struct key key;

	reply_prefix(&key, t, client);
	key_u32(&key, slot);
	out_u64(&o, r->unique);
	out_u32(&o, r->opcode);
	out_u32(&o, (uint32_t)r->error);
	out_u64(&o, r->handle);
	out_u64(&o, r->value);
	return txn_put(t, KV_REST, key.bytes, key.len, value, sizeof(value));
}

struct reply_walk {
	struct txn *txn;
	uint64_t client;
	int (*fn)(void *context, uint32_t slot, const struct reply_record *r);
	void *context;
};

static int reply_one(void *context, const unsigned char *tail, size_t tail_len, const void *value,
		     size_t value_len)
{
	struct reply_walk *w = context;
	struct in i = in_of(value, value_len);
	struct reply_record r;

	r.unique = in_u64(&i);
	r.opcode = in_u32(&i);
	r.error = (int32_t)in_u32(&i);
	r.handle = in_u64(&i);
	r.value = in_u64(&i);
	if (in_done(&i) || tail_len != 4)
		return -KILN_ECORRUPT;
	return w->fn(w->context, be32_at(tail), &r);
}

int reply_each(struct txn *t, uint64_t client,
	       int (*fn)(void *context, uint32_t slot, const struct reply_record *r),
	       void *context)
{
	struct reply_walk w = { .fn = fn, .context = context };
	struct key prefix;

	reply_prefix(&prefix, t, client);
	return record_each(t, KV_REST, &prefix, reply_one, &w);
}

static int reply_delete(void *context, const unsigned char *tail, size_t tail_len,
			const void *value, size_t value_len)
{
	struct reply_walk *w = context;
	struct key key;

	if (tail_len != 4)
		return -KILN_ECORRUPT;
	reply_prefix(&key, w->txn, w->client);
	key_bytes(&key, tail, tail_len);
	return txn_del(w->txn, KV_REST, key.bytes, key.len);
}

int reply_del_all(struct txn *t, uint64_t client)
{
	struct reply_walk w = { .txn = t, .client = client };
	struct key prefix;

	reply_prefix(&prefix, t, client);
	return record_each(t, KV_REST, &prefix, reply_delete, &w);
}

static void client_key(struct key *k, struct txn *t, uint64_t client)
{
	key_start(k, txn_brick(t), 'm');
	key_u64(k, client);
}

int client_put(struct txn *t, const struct client_record *r)
{
	unsigned char value[CLIENT_HEAD + sizeof(r->host)];
	struct out o = { value };
	struct key key;

	client_key(&key, t, r->client);
	out_u64(&o, r->secret);
	out_u32(&o, r->kind);
	out_u32(&o, r->minor);
	out_u64(&o, r->init_flags);
	out_u32(&o, r->max_write);
	out_u32(&o, r->max_readahead);
	out_bytes(&o, r->host, strnlen(r->host, sizeof(r->host) - 1));
	return txn_put(t, KV_REST, key.bytes, key.len, value, (size_t)(o.at - value));
}

int client_del(struct txn *t, uint64_t client)
{
	struct key key;

	client_key(&key, t, client);
	return txn_del(t, KV_REST, key.bytes, key.len);
}

struct client_walk {
	int (*fn)(void *context, const struct client_record *r);
	void *context;
};

static int client_one(void *context, const unsigned char *tail, size_t tail_len, const void *value,
		      size_t value_len)
{
	struct client_walk *w = context;
	struct in i = in_of(value, value_len);
	struct client_record r = { 0 };

	if (tail_len != 8 || value_len < CLIENT_HEAD ||
	    value_len - CLIENT_HEAD >= sizeof(r.host))
		return -KILN_ECORRUPT;
	r.client = be64_at(tail);
	r.secret = in_u64(&i);
	r.kind = in_u32(&i);
	r.minor = in_u32(&i);
	r.init_flags = in_u64(&i);
	r.max_write = in_u32(&i);
	r.max_readahead = in_u32(&i);
	in_bytes(&i, r.host, in_left(&i));
	if (in_done(&i))
		return -KILN_ECORRUPT;
	return w->fn(w->context, &r);
}

int client_each(struct txn *t, int (*fn)(void *context, const struct client_record *r),
		void *context)
{
	struct client_walk w = { fn, context };
	struct key prefix;

	key_start(&prefix, txn_brick(t), 'm');
	return record_each(t, KV_REST, &prefix, client_one, &w);
}

static void encode_locks(unsigned char *value, const struct lock_record *locks, size_t count)
{
	struct out o = { value };

	for (size_t i = 0; i < count; i++) {
		out_u64(&o, locks[i].owner);
		out_u64(&o, locks[i].start);
		out_u64(&o, locks[i].end);
		out_u32(&o, locks[i].pid);
		out_u16(&o, locks[i].type);
		out_u16(&o, locks[i].flock);
	}
}

int locks_put(struct txn *t, uint64_t handle, uint64_t client, const struct lock_record *locks,
	      size_t count)
{
	unsigned char *value;
	struct key key;
	int err;

	key_start(&key, txn_brick(t), 'l');
	key_u64(&key, handle);
	key_u64(&key, client);
	if (count == 0)
		return txn_del(t, KV_REST, key.bytes, key.len);
	if (count > LOCKS_MAX)
		return -KILN_ETOOBIG;
	value = malloc(count * LOCK_BYTES);
	if (!value)
		return -KILN_ENOMEM;
	encode_locks(value, locks, count);
	err = txn_put(t, KV_REST, key.bytes, key.len, value, count * LOCK_BYTES);
	free(value);
	return err;
}

static int decode_lock(struct in *i, struct lock_record *l)
{
	l->owner = in_u64(i);
	l->start = in_u64(i);
	l->end = in_u64(i);
	l->pid = in_u32(i);
	l->type = in_u16(i);
	l->flock = in_u16(i);
	return i->bad || l->start > l->end || l->flock > 1 ? -KILN_ECORRUPT : 0;
}

struct locks_walk {
	int (*fn)(void *context, uint64_t handle, uint64_t client, const struct lock_record *locks,
		  size_t count);
	void *context;
};

static int locks_one(void *context, const unsigned char *tail, size_t tail_len, const void *value,
		     size_t value_len)
{
	struct locks_walk *w = context;
	struct in i = in_of(value, value_len);
	size_t count = value_len / LOCK_BYTES;
	struct lock_record *locks;
	int err = 0;

	if (tail_len != 16 || count == 0 || value_len % LOCK_BYTES)
		return -KILN_ECORRUPT;
	locks = calloc(count, sizeof(*locks));
	if (!locks)
		return -KILN_ENOMEM;
	for (size_t n = 0; n < count && !err; n++)
		err = decode_lock(&i, &locks[n]);
	if (!err)
		err = w->fn(w->context, be64_at(tail), be64_at(tail + 8), locks, count);
	free(locks);
	return err;
}

int locks_each(struct txn *t,
	       int (*fn)(void *context, uint64_t handle, uint64_t client,
			 const struct lock_record *locks, size_t count),
	       void *context)
{
	struct locks_walk w = { fn, context };
	struct key prefix;

	key_start(&prefix, txn_brick(t), 'l');
	return record_each(t, KV_REST, &prefix, locks_one, &w);
}

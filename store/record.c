#include "store/schema_impl.h"

int record_each(struct txn *t, enum kv_space space, const struct key *prefix, record_fn *fn,
		void *context)
{
	const void *key, *value;
	size_t key_len, value_len;
	struct txn_scan *scan;
	struct key to;
	int err;

	key_after(&to, prefix);
	err = txn_scan_open(t, space, prefix->bytes, prefix->len, to.bytes, to.len, &scan);
	if (err)
		return err;
	while ((err = txn_scan_next(scan, &key, &key_len, &value, &value_len)) > 0) {
		err = fn(context, (const unsigned char *)key + prefix->len, key_len - prefix->len,
			 value, value_len);
		if (err)
			break;
	}
	txn_scan_close(scan);
	return err;
}

struct wipe {
	struct txn *txn;
	enum kv_space space;
	const struct key *prefix;
	size_t left;
};

/* Returns 1 to stop when the step has deleted what it may. */
static int wipe_one(void *context, const unsigned char *tail, size_t tail_len, const void *value,
		    size_t value_len)
{
	struct wipe *w = context;
	struct key key = *w->prefix;

	if (w->left == 0)
		return 1;
	if (tail_len > sizeof(key.bytes) - key.len)
		return -KILN_ECORRUPT;
	w->left--;
	key_bytes(&key, tail, tail_len);
	return txn_del(w->txn, w->space, key.bytes, key.len);
}

int brick_wipe_step(struct txn *t, uint32_t brick, size_t limit, bool *more)
{
	static const struct {
		char letter;
		enum kv_space space;
	} kinds[] = {
		{ 'd', KV_DIRENT }, { 'i', KV_INODE }, { 'b', KV_REST }, { 'c', KV_REST },
		{ 'l', KV_REST },   { 'm', KV_REST },  { 'o', KV_REST }, { 'r', KV_REST },
		{ 't', KV_REST },   { 'x', KV_REST },
	};
	struct wipe w = { .txn = t, .left = limit };
	int err = 0;

	if (brick == 0)
		return -KILN_EINVAL;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && err == 0; i++) {
		struct key prefix;

		key_start(&prefix, brick, kinds[i].letter);
		w.space = kinds[i].space;
		w.prefix = &prefix;
		err = record_each(t, w.space, &prefix, wipe_one, &w);
	}
	*more = err == 1;
	return err < 0 ? err : 0;
}

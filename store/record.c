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

static const struct {
	char letter;
	enum kv_space space;
} wipe_kinds[] = {
	{ 'd', KV_DIRENT }, { 'i', KV_INODE }, { 'b', KV_REST }, { 'c', KV_REST }, { 'l', KV_REST },
	{ 'm', KV_REST },   { 'o', KV_REST },  { 'r', KV_REST }, { 't', KV_REST }, { 'x', KV_REST },
};
enum { WIPE_KINDS = sizeof(wipe_kinds) / sizeof(wipe_kinds[0]) };

/* wipe_scan: deletes up to *left keys; stops with 1 at the first key too many, *place being it. */
static int wipe_scan(struct txn *t, struct txn_scan *scan, enum kv_space space, size_t *left,
		     struct wipe_place *place)
{
	const void *key, *value;
	size_t key_len, value_len;
	int err;

	while ((err = txn_scan_next(scan, &key, &key_len, &value, &value_len)) > 0) {
		if (key_len > sizeof(place->key))
			return -KILN_ECORRUPT;
		memcpy(place->key, key, key_len);
		place->key_len = (uint16_t)key_len;
		if (*left == 0)
			return 1;
		--*left;
		err = txn_del(t, space, place->key, place->key_len);
		if (err)
			return err;
	}
	place->key_len = 0;
	return err;
}

static int wipe_kind(struct txn *t, uint32_t brick, size_t *left, struct wipe_place *place)
{
	enum kv_space space = wipe_kinds[place->kind].space;
	struct txn_scan *scan;
	struct key from, to;
	int err;

	key_start(&from, brick, wipe_kinds[place->kind].letter);
	key_after(&to, &from);
	if (place->key_len)
		err = txn_scan_open(t, space, place->key, place->key_len, to.bytes, to.len, &scan);
	else
		err = txn_scan_open(t, space, from.bytes, from.len, to.bytes, to.len, &scan);
	if (err)
		return err;
	err = wipe_scan(t, scan, space, left, place);
	txn_scan_close(scan);
	return err;
}

int brick_wipe_step(struct txn *t, uint32_t brick, size_t limit, struct wipe_place *place,
		    bool *more)
{
	int err = 0;

	if (brick == 0)
		return -KILN_EINVAL;
	while (place->kind < WIPE_KINDS && err == 0) {
		err = wipe_kind(t, brick, &limit, place);
		if (err == 0)
			place->kind++;
	}
	*more = err == 1;
	return err < 0 ? err : 0;
}

_Static_assert(sizeof(((struct wipe_place *)0)->key) >= KEY_MAX, "every key fits");

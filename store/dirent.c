/* Directory entries: key (directory, hash of the name, name), value (child, type).  The hash
 * is the readdir cookie, so listing order is key order. */
#include "store/schema_impl.h"

#define XXH_INLINE_ALL
#include <stdlib.h>
#include <xxhash.h>

enum { COOKIE_MIN = 16, VALUE_BYTES = 9, TYPE_MAX = 15, TAIL_HEAD = 8 };

struct dirent_scan {
	struct txn_scan *scan;
};

uint64_t dirent_cookie(const char *name, size_t len)
{
	uint64_t hash = XXH3_64bits(name, len) >> 1;

	return hash < COOKIE_MIN ? hash + COOKIE_MIN : hash;
}

static void dir_key(struct key *k, uint32_t brick, uint64_t dir)
{
	key_start(k, brick, 'd');
	key_u64(k, dir);
}

static int entry_key(struct key *k, uint32_t brick, uint64_t dir, const char *name, size_t len)
{
	if (len == 0)
		return -KILN_EINVAL;
	if (len > NAME_BYTES_MAX)
		return -KILN_ENAMETOOLONG;
	dir_key(k, brick, dir);
	key_u64(k, dirent_cookie(name, len));
	key_bytes(k, name, len);
	return 0;
}

static int decode(const void *value, size_t len, uint64_t *child, uint8_t *type)
{
	struct in i = in_of(value, len);

	*child = in_u64(&i);
	*type = in_u8(&i);
	if (*child == 0 || *type > TYPE_MAX)
		return -KILN_ECORRUPT;
	return in_done(&i);
}

int dirent_get(struct txn *t, uint64_t dir, const char *name, size_t len, uint64_t *child,
	       uint8_t *type)
{
	unsigned char value[VALUE_BYTES];
	struct key key;
	size_t got;
	int err = entry_key(&key, txn_brick(t), dir, name, len);

	if (err)
		return err;
	err = txn_get(t, KV_DIRENT, key.bytes, key.len, value, sizeof(value), &got);
	if (err)
		return err == -KILN_ERANGE ? -KILN_ECORRUPT : err;
	return decode(value, got, child, type);
}

int dirent_put(struct txn *t, uint64_t dir, const char *name, size_t len, uint64_t child,
	       uint8_t type)
{
	unsigned char value[VALUE_BYTES];
	struct out o = { value };
	struct key key;
	int err = entry_key(&key, txn_brick(t), dir, name, len);

	if (err)
		return err;
	out_u64(&o, child);
	out_u8(&o, type);
	return txn_put(t, KV_DIRENT, key.bytes, key.len, value, sizeof(value));
}

int dirent_del(struct txn *t, uint64_t dir, const char *name, size_t len)
{
	struct key key;
	int err = entry_key(&key, txn_brick(t), dir, name, len);

	return err ? err : txn_del(t, KV_DIRENT, key.bytes, key.len);
}

int dirent_scan_open(struct txn *t, uint64_t dir, uint64_t after, struct dirent_scan **out)
{
	struct dirent_scan *s = malloc(sizeof(*s));
	struct key prefix, from, to;
	int err;

	if (!s)
		return -KILN_ENOMEM;
	dir_key(&prefix, txn_brick(t), dir);
	key_after(&to, &prefix);
	from = prefix;
	key_u64(&from, after == UINT64_MAX ? after : after + 1);
	err = txn_scan_open(t, KV_DIRENT, from.bytes, from.len, to.bytes, to.len, &s->scan);
	if (err) {
		free(s);
		return err;
	}
	*out = s;
	return 0;
}

int dirent_scan_next(struct dirent_scan *s, struct dirent_row *row)
{
	const void *key, *value;
	size_t key_len, value_len;
	int got = txn_scan_next(s->scan, &key, &key_len, &value, &value_len), err;
	const unsigned char *tail;

	if (got <= 0)
		return got;
	if (key_len <= KEY_HEAD + 8 + TAIL_HEAD || key_len > KEY_MAX)
		return -KILN_ECORRUPT;
	tail = (const unsigned char *)key + KEY_HEAD + 8;
	row->cookie = be64_at(tail);
	row->name = (const char *)tail + TAIL_HEAD;
	row->len = key_len - (KEY_HEAD + 8 + TAIL_HEAD);
	err = decode(value, value_len, &row->child, &row->type);
	return err ? err : 1;
}

void dirent_scan_close(struct dirent_scan *s)
{
	if (!s)
		return;
	txn_scan_close(s->scan);
	free(s);
}

#include "store/schema_impl.h"

static void inode_xattrs(struct key *k, struct txn *t, uint64_t handle)
{
	key_start(k, txn_brick(t), 'x');
	key_u64(k, handle);
}

static int xattr_key(struct key *k, struct txn *t, uint64_t handle, const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len > XATTR_NAME_MAX)
		return -KILN_ERANGE;
	inode_xattrs(k, t, handle);
	key_bytes(k, name, len);
	return 0;
}

int xattr_get(struct txn *t, uint64_t handle, const char *name, void *buf, size_t cap,
	      size_t *len)
{
	struct key key;
	int err = xattr_key(&key, t, handle, name);

	if (err)
		return -KILN_ENODATA;
	err = txn_get(t, KV_REST, key.bytes, key.len, buf, cap, len);
	return err == -KILN_ENOENT ? -KILN_ENODATA : err;
}

int xattr_put(struct txn *t, uint64_t handle, const char *name, const void *value, size_t len)
{
	struct key key;
	int err = xattr_key(&key, t, handle, name);

	if (err)
		return err;
	if (len > XATTR_VALUE_MAX)
		return -KILN_ETOOBIG;
	return txn_put(t, KV_REST, key.bytes, key.len, value, len);
}

int xattr_del(struct txn *t, uint64_t handle, const char *name)
{
	struct key key;
	size_t len;
	int err = xattr_get(t, handle, name, NULL, 0, &len);

	if (err && err != -KILN_ERANGE)
		return err;
	err = xattr_key(&key, t, handle, name);
	return err ? err : txn_del(t, KV_REST, key.bytes, key.len);
}

struct xattr_walk {
	struct txn *txn;
	const struct key *prefix;
	char *buf;
	size_t cap, len;
};

static int delete_one(void *context, const unsigned char *name, size_t len, const void *value,
		      size_t value_len)
{
	struct xattr_walk *w = context;
	struct key key = *w->prefix;

	if (len > XATTR_NAME_MAX)
		return -KILN_ECORRUPT;
	key_bytes(&key, name, len);
	return txn_del(w->txn, KV_REST, key.bytes, key.len);
}

int xattr_del_all(struct txn *t, uint64_t handle)
{
	struct key prefix;
	struct xattr_walk w = { .txn = t, .prefix = &prefix };

	inode_xattrs(&prefix, t, handle);
	return record_each(t, KV_REST, &prefix, delete_one, &w);
}

static int list_one(void *context, const unsigned char *name, size_t len, const void *value,
		    size_t value_len)
{
	struct xattr_walk *w = context;

	if (len == 0 || len > XATTR_NAME_MAX || memchr(name, 0, len))
		return -KILN_ECORRUPT;
	if (w->len + len + 1 <= w->cap) {
		memcpy(w->buf + w->len, name, len);
		w->buf[w->len + len] = 0;
	}
	w->len += len + 1;
	return 0;
}

int xattr_list(struct txn *t, uint64_t handle, char *buf, size_t cap, size_t *len)
{
	struct xattr_walk w = { .buf = buf, .cap = cap };
	struct key prefix;
	int err;

	inode_xattrs(&prefix, t, handle);
	err = record_each(t, KV_REST, &prefix, list_one, &w);
	*len = w.len;
	return err ? err : w.len > cap ? -KILN_ERANGE : 0;
}

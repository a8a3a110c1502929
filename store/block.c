#include "store/schema_impl.h"

static void block_key(struct key *k, struct txn *t, uint64_t handle, uint32_t index)
{
	key_start(k, txn_brick(t), 'b');
	key_u64(k, handle);
	key_u32(k, index);
}

/* get_fresh: the latest bytes, unless the file is gone there: then those of the view. */
static int get_fresh(struct txn *t, uint64_t handle, const struct key *key, void *buf, size_t *len)
{
	int err = txn_get_latest(t, KV_REST, key->bytes, key->len, buf, BLOCK_BYTES, len);
	struct inode inode;

	if (err != -KILN_ENOENT)
		return err;
	err = inode_get_latest(t, handle, &inode);
	if (err == -KILN_ESTALE)
		return txn_get(t, KV_REST, key->bytes, key->len, buf, BLOCK_BYTES, len);
	return err ? err : -KILN_ENOENT;
}

int block_get(struct txn *t, uint64_t handle, uint32_t index, void *buf, size_t *len)
{
	struct key key;
	int err;

	block_key(&key, t, handle, index);
	if (txn_is_fresh(t)) {
		err = get_fresh(t, handle, &key, buf, len);
		return err == -KILN_ERANGE ? -KILN_ECORRUPT : err;
	}
	err = txn_get(t, KV_REST, key.bytes, key.len, buf, BLOCK_BYTES, len);
	return err == -KILN_ERANGE ? -KILN_ECORRUPT : err;
}

int block_put(struct txn *t, uint64_t handle, uint32_t index, const void *buf, size_t len)
{
	struct key key;

	if (len > BLOCK_BYTES)
		return -KILN_EINVAL;
	block_key(&key, t, handle, index);
	return txn_put(t, KV_REST, key.bytes, key.len, buf, len);
}

int block_del(struct txn *t, uint64_t handle, uint32_t index)
{
	struct key key;

	block_key(&key, t, handle, index);
	return txn_del(t, KV_REST, key.bytes, key.len);
}

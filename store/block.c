#include "store/schema_impl.h"

static void block_key(struct key *k, struct txn *t, uint64_t handle, uint32_t index)
{
	key_start(k, txn_brick(t), 'b');
	key_u64(k, handle);
	key_u32(k, index);
}

int block_get(struct txn *t, uint64_t handle, uint32_t index, void *buf, size_t *len)
{
	struct key key;
	int err;

	block_key(&key, t, handle, index);
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

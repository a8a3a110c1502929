#include "store/kv_impl.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

enum { RECORDS_FIRST = 16, BYTES_FIRST = 1024, BYTES_KEEP = 1 << 20 };

struct kv_batch *kv_batch_new(void)
{
	struct kv_batch *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->native = calloc(1, sizeof(*b->native));
	if (!b->native) {
		free(b);
		return NULL;
	}
	return b;
}

static void drop_native(struct kv_batch *b)
{
	if (b->native->thing)
		b->native->free_thing(b->native->thing);
	b->native->thing = NULL;
}

void kv_batch_free(struct kv_batch *b)
{
	if (!b)
		return;
	drop_native(b);
	free(b->native);
	free(b->records);
	free(b->bytes);
	free(b);
}

/* What a rare big batch has grown is given back, so that an idle batch is small. */
void kv_batch_clear(struct kv_batch *b)
{
	b->count = 0;
	b->bytes_used = 0;
	if (b->bytes_room <= BYTES_KEEP)
		return;
	drop_native(b);
	free(b->bytes);
	b->bytes = NULL;
	b->bytes_room = 0;
}

size_t kv_batch_bytes(const struct kv_batch *b)
{
	return b->bytes_used;
}

size_t kv_batch_count(const struct kv_batch *b)
{
	return b->count;
}

static int make_room(struct kv_batch *b, size_t bytes)
{
	if (b->count == b->records_room) {
		size_t room = b->records_room ? 2 * b->records_room : RECORDS_FIRST;
		void *grown = realloc(b->records, room * sizeof(*b->records));

		if (!grown)
			return -KILN_ENOMEM;
		b->records = grown;
		b->records_room = room;
	}
	if (b->bytes_room - b->bytes_used < bytes) {
		size_t room = b->bytes_room ? 2 * b->bytes_room : BYTES_FIRST;
		void *grown;

		while (room - b->bytes_used < bytes)
			room *= 2;
		grown = realloc(b->bytes, room);
		if (!grown)
			return -KILN_ENOMEM;
		b->bytes = grown;
		b->bytes_room = room;
	}
	return 0;
}

static int add(struct kv_batch *b, enum kv_kind kind, enum kv_space space, const void *key,
	       size_t key_len, const void *value, size_t value_len)
{
	int err;

	if (key_len == 0 || key_len > UINT16_MAX || value_len > UINT32_MAX)
		return -KILN_EINVAL;
	err = make_room(b, key_len + value_len);
	if (err)
		return err;
	memcpy(b->bytes + b->bytes_used, key, key_len);
	if (value_len)
		memcpy(b->bytes + b->bytes_used + key_len, value, value_len);
	b->records[b->count++] = (struct kv_record){
		.at = b->bytes_used,
		.value_len = (uint32_t)value_len,
		.key_len = (uint16_t)key_len,
		.kind = (uint8_t)kind,
		.space = (uint8_t)space,
	};
	b->bytes_used += key_len + value_len;
	return 0;
}

int kv_batch_put(struct kv_batch *b, enum kv_space space, const void *key, size_t key_len,
		 const void *value, size_t value_len)
{
	return add(b, KV_PUT, space, key, key_len, value, value_len);
}

int kv_batch_del(struct kv_batch *b, enum kv_space space, const void *key, size_t key_len)
{
	return add(b, KV_DEL, space, key, key_len, NULL, 0);
}

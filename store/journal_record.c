/* A batch as bytes.  Only journal_encode and record_decode know the layout of a body, only the
 * two functions of the head that of a head.  Everything is little-endian. */
#include "base/err.h"
#include "store/journal_impl.h"
#include "store/kv_impl.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { RECORD_MAGIC = 0x4a524e4b }; /* "KNRJ" */

static unsigned char *put32(unsigned char *at, uint32_t n)
{
	n = htole32(n);
	memcpy(at, &n, 4);
	return at + 4;
}

static unsigned char *put64(unsigned char *at, uint64_t n)
{
	n = htole64(n);
	memcpy(at, &n, 8);
	return at + 8;
}

static uint32_t get32(const unsigned char *at)
{
	uint32_t n;

	memcpy(&n, at, 4);
	return le32toh(n);
}

static uint64_t get64(const unsigned char *at)
{
	uint64_t n;

	memcpy(&n, at, 8);
	return le64toh(n);
}

void record_put_head(unsigned char *at, const struct record_head *h)
{
	unsigned char *begin = at;

	at = put32(at, RECORD_MAGIC);
	at = put32(at, h->len);
	at = put64(at, h->number);
	at = put64(at, h->generation);
	at = put64(at, h->durable);
	at = put64(at, h->hash);
	put64(at, XXH3_64bits_withSeed(begin, (size_t)(at - begin), h->generation));
}

bool record_get_head(const unsigned char *at, uint64_t generation, struct record_head *h)
{
	if (get32(at) != RECORD_MAGIC || get64(at + 16) != generation ||
	    get64(at + 40) != XXH3_64bits_withSeed(at, 40, generation))
		return false;
	*h = (struct record_head){ .len = get32(at + 4), .number = get64(at + 8),
				   .generation = generation, .durable = get64(at + 24),
				   .hash = get64(at + 32) };
	return true;
}

/* Room for the zeros that fill the last page is part of it. */
static int make_room(struct journal_record *rec, size_t len)
{
	size_t room = rec->room ? rec->room : 1024;
	void *grown;

	len += JOURNAL_PAGE;
	if (len <= rec->room)
		return 0;
	while (room < len)
		room *= 2;
	grown = realloc(rec->bytes, room);
	if (!grown)
		return -KILN_ENOMEM;
	rec->bytes = grown;
	rec->room = room;
	return 0;
}

int journal_encode(struct journal_record *rec, const struct kv_batch *b)
{
	size_t body = BODY_HEAD + b->count * ENTRY_HEAD + b->bytes_used;
	unsigned char *at;
	int err;

	if (body > RECORD_MAX)
		return -KILN_ETOOBIG;
	err = make_room(rec, RECORD_HEAD + body);
	if (err)
		return err;
	at = put32(rec->bytes + RECORD_HEAD, (uint32_t)b->count);
	for (size_t i = 0; i < b->count; i++) {
		const struct kv_record *r = &b->records[i];

		at = put32(at, r->value_len);
		at = put32(at, r->key_len | (uint32_t)r->kind << 16 | (uint32_t)r->space << 24);
	}
	if (b->bytes_used)
		memcpy(at, b->bytes, b->bytes_used);
	rec->len = RECORD_HEAD + body;
	rec->hash = XXH3_64bits(rec->bytes + RECORD_HEAD, body);
	return 0;
}

void journal_record_free(struct journal_record *rec)
{
	free(rec->bytes);
	*rec = (struct journal_record){ 0 };
}

static int decode_one(const unsigned char *entry, const unsigned char **at, size_t *left,
		      struct kv_batch *batch)
{
	uint32_t value_len = get32(entry), rest = get32(entry + 4);
	uint16_t key_len = (uint16_t)rest;
	uint8_t kind = (uint8_t)(rest >> 16), space = (uint8_t)(rest >> 24);
	const unsigned char *key = *at, *value = key + key_len;

	if (space >= KV_SPACES || *left < key_len || *left - key_len < value_len)
		return -KILN_ECORRUPT;
	*at = value + value_len;
	*left -= key_len + (size_t)value_len;
	switch (kind) {
	case KV_PUT:
		return kv_batch_put(batch, space, key, key_len, value, value_len);
	case KV_DEL:
		return value_len ? -KILN_ECORRUPT : kv_batch_del(batch, space, key, key_len);
	default:
		return -KILN_ECORRUPT;
	}
}

int record_decode(const unsigned char *body, size_t len, struct kv_batch *batch)
{
	const unsigned char *at;
	uint32_t count;
	size_t left;
	int err = 0;

	kv_batch_clear(batch);
	if (len < BODY_HEAD)
		return -KILN_ECORRUPT;
	count = get32(body);
	if ((len - BODY_HEAD) / ENTRY_HEAD < count)
		return -KILN_ECORRUPT;
	at = body + BODY_HEAD + (size_t)count * ENTRY_HEAD;
	left = len - BODY_HEAD - (size_t)count * ENTRY_HEAD;
	for (uint32_t i = 0; i < count && !err; i++)
		err = decode_one(body + BODY_HEAD + (size_t)i * ENTRY_HEAD, &at, &left, batch);
	if (err == -KILN_EINVAL || (!err && left))
		err = -KILN_ECORRUPT;
	return err;
}

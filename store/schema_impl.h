/* Private to the schema's files: building keys, writing and reading values.
 *
 * A reader never runs beyond its bytes: it turns bad and yields zeros, and the decoder asks
 * once at its end (in_done). */
#ifndef STORE_SCHEMA_IMPL_H
#define STORE_SCHEMA_IMPL_H

#include "store/schema.h"

#include "base/err.h"

#include <endian.h>
#include <string.h>

enum {
	KEY_HEAD = 5,                     /* brick, letter */
	KEY_MAX = KEY_HEAD + 8 + 8 + 255, /* a directory entry's */
};

struct key {
	size_t len;
	unsigned char bytes[KEY_MAX];
};

static inline void key_u32(struct key *k, uint32_t v)
{
	v = htobe32(v);
	memcpy(k->bytes + k->len, &v, sizeof(v));
	k->len += sizeof(v);
}

static inline void key_u64(struct key *k, uint64_t v)
{
	v = htobe64(v);
	memcpy(k->bytes + k->len, &v, sizeof(v));
	k->len += sizeof(v);
}

static inline void key_start(struct key *k, uint32_t brick, char letter)
{
	k->len = 0;
	key_u32(k, brick);
	k->bytes[k->len++] = (unsigned char)letter;
}

/* key_bytes: at most 255. */
static inline void key_bytes(struct key *k, const void *bytes, size_t len)
{
	memcpy(k->bytes + k->len, bytes, len);
	k->len += len;
}

/* key_after: the smallest key behind all that begin with prefix (which does not consist of
 * 0xff only: it has a letter). */
static inline void key_after(struct key *k, const struct key *prefix)
{
	*k = *prefix;
	while (k->bytes[k->len - 1] == 0xff)
		k->len--;
	k->bytes[k->len - 1]++;
}

/* Writing a value; the caller's buffer is large enough for the largest. */
struct out {
	unsigned char *at;
};

static inline void out_u8(struct out *o, uint8_t v)
{
	*o->at++ = v;
}

static inline void out_u16(struct out *o, uint16_t v)
{
	v = htole16(v);
	memcpy(o->at, &v, sizeof(v));
	o->at += sizeof(v);
}

static inline void out_u32(struct out *o, uint32_t v)
{
	v = htole32(v);
	memcpy(o->at, &v, sizeof(v));
	o->at += sizeof(v);
}

static inline void out_u64(struct out *o, uint64_t v)
{
	v = htole64(v);
	memcpy(o->at, &v, sizeof(v));
	o->at += sizeof(v);
}

static inline void out_bytes(struct out *o, const void *bytes, size_t len)
{
	memcpy(o->at, bytes, len);
	o->at += len;
}

/* Seven bits a byte, least significant first, the top bit says that more follow. */
static inline void out_varint(struct out *o, uint64_t v)
{
	while (v >= 0x80) {
		*o->at++ = (unsigned char)(v | 0x80);
		v >>= 7;
	}
	*o->at++ = (unsigned char)v;
}

struct in {
	const unsigned char *at, *end;
	bool bad;
};

static inline struct in in_of(const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	return (struct in){ at, at + len, false };
}

static inline size_t in_left(const struct in *i)
{
	return (size_t)(i->end - i->at);
}

static inline void in_bytes(struct in *i, void *to, size_t len)
{
	if (in_left(i) < len) {
		memset(to, 0, len);
		i->bad = true;
		i->at = i->end;
		return;
	}
	memcpy(to, i->at, len);
	i->at += len;
}

static inline uint8_t in_u8(struct in *i)
{
	uint8_t v;

	in_bytes(i, &v, sizeof(v));
	return v;
}

static inline uint16_t in_u16(struct in *i)
{
	uint16_t v;

	in_bytes(i, &v, sizeof(v));
	return le16toh(v);
}

static inline uint32_t in_u32(struct in *i)
{
	uint32_t v;

	in_bytes(i, &v, sizeof(v));
	return le32toh(v);
}

static inline uint64_t in_u64(struct in *i)
{
	uint64_t v;

	in_bytes(i, &v, sizeof(v));
	return le64toh(v);
}

static inline uint64_t in_varint(struct in *i)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = in_u8(i);

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			if (shift == 63 && byte > 1)
				i->bad = true;
			return v;
		}
	}
	i->bad = true;
	return v;
}

static inline uint32_t in_varint32(struct in *i)
{
	uint64_t v = in_varint(i);

	if (v > UINT32_MAX)
		i->bad = true;
	return (uint32_t)v;
}

/* in_done: 0 if everything was there and nothing is left. */
static inline int in_done(const struct in *i)
{
	return i->bad || i->at != i->end ? -KILN_ECORRUPT : 0;
}

static inline uint32_t be32_at(const void *bytes)
{
	uint32_t v;

	memcpy(&v, bytes, sizeof(v));
	return be32toh(v);
}

static inline uint64_t be64_at(const void *bytes)
{
	uint64_t v;

	memcpy(&v, bytes, sizeof(v));
	return be64toh(v);
}

/* record_each: calls fn with every record whose key begins with prefix; a result other than 0
 * ends the walk and is returned.  tail: the key's bytes behind the prefix. */
typedef int record_fn(void *context, const unsigned char *tail, size_t tail_len,
		      const void *value, size_t value_len);
int record_each(struct txn *t, enum kv_space space, const struct key *prefix, record_fn *fn,
		void *context);

#endif

#include "bench/content.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

static uint64_t stamp_of(uint64_t id, uint64_t offset)
{
	uint64_t x = id * 0x9e3779b97f4a7c15ull ^ offset / CONTENT_STAMP_EVERY;

	x ^= x >> 29;
	return x * 0xbf58476d1ce4e5b9ull;
}

/* xorshift64*: the bytes need not be random, only incompressible and the same everywhere. */
static void scramble(unsigned char *buf, size_t len)
{
	uint64_t x = 88172645463325252ull;

	for (size_t i = 0; i < len; i += 8) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(buf + i, &x, 8);
	}
}

int content_init(struct content *c, size_t cap)
{
	cap = (cap + CONTENT_STAMP_EVERY - 1) / CONTENT_STAMP_EVERY * CONTENT_STAMP_EVERY;
	if (c->cap >= cap)
		return 0;
	content_free(c);
	c->out = aligned_alloc(CONTENT_STAMP_EVERY, cap);
	c->in = aligned_alloc(CONTENT_STAMP_EVERY, cap);
	if (!c->out || !c->in) {
		content_free(c);
		return -KILN_ENOMEM;
	}
	c->cap = cap;
	scramble(c->out, cap);
	memset(c->in, 0, cap);
	return 0;
}

void content_free(struct content *c)
{
	free(c->out);
	free(c->in);
	*c = (struct content){ 0 };
}

const unsigned char *content_make(struct content *c, uint64_t id, uint64_t offset, size_t len)
{
	for (size_t i = 0; i < len; i += CONTENT_STAMP_EVERY) {
		uint64_t stamp = stamp_of(id, offset + i);

		memcpy(c->out + i, &stamp, 8);
	}
	return c->out;
}

int content_check(const struct content *c, uint64_t id, uint64_t offset, size_t len, bool whole)
{
	for (size_t i = 0; i < len; i += CONTENT_STAMP_EVERY) {
		uint64_t stamp = stamp_of(id, offset + i);
		size_t rest = len - i < CONTENT_STAMP_EVERY ? len - i : CONTENT_STAMP_EVERY;

		if (memcmp(c->in + i, &stamp, rest < 8 ? rest : 8) != 0)
			return -KILN_EVERIFY;
		if (whole && rest > 8 && memcmp(c->in + i + 8, c->out + i + 8, rest - 8) != 0)
			return -KILN_EVERIFY;
	}
	return 0;
}

/* What is written into files, and the check that it comes back: pseudo-random bytes, the same
 * for every file, with a stamp at the start of each 4 KiB that names the file and the offset.
 * A check of the stamps costs next to nothing; a whole check compares all bytes. */
#ifndef BENCH_CONTENT_H
#define BENCH_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CONTENT_STAMP_EVERY = 4096 };

struct content {
	unsigned char *out; /* what is written; cap bytes */
	unsigned char *in;  /* room to read into; cap bytes */
	size_t cap;
};

int content_init(struct content *c, size_t cap);
void content_free(struct content *c);
/* content_make: the len bytes (at most cap) of file id at offset (a multiple of 4 KiB); valid
 * until the next call. */
const unsigned char *content_make(struct content *c, uint64_t id, uint64_t offset, size_t len);
/* content_check: 0 if c->in holds them, else -KILN_EVERIFY. */
int content_check(const struct content *c, uint64_t id, uint64_t offset, size_t len, bool whole);

#endif

/* libFuzzer target on what a journal says at open: an input is a segment's numbers and its bytes
 * behind the head.  Where a record's head would stand, its hashes are made right, which is what
 * gets it past the first check; how long it says it is and which number it has stay as they
 * came. */
#include "base/err.h"
#include "store/journal_impl.h"
#include "store/kv_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum { SEGMENT_BYTES = 2 * JOURNAL_PAGE, BODY_BYTES = SEGMENT_BYTES - SEGMENT_HEAD };

static char dir[] = "/tmp/kiln-fuzz-XXXXXX";
static struct journal *maker;
static struct segment *segment;

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void clean_up(void)
{
	char command[sizeof(dir) + 16];

	segment_close(maker, segment);
	journal_close(maker);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	require(system(command) == 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct journal_options o = { .create = true };
	char *why;

	require(mkdtemp(dir) != NULL);
	require(journal_open(dir, &o, &maker, &why) == 0);
	require(segment_make(maker, SEGMENT_BYTES, &segment) == 0);
	atexit(clean_up);
	return 0;
}

/* hash_records: one after the other, as far as their lengths lead. */
static void hash_records(unsigned char *bytes)
{
	size_t at = 0;

	while (at + RECORD_HEAD <= BODY_BYTES) {
		struct record_head h = { .generation = segment->generation };
		size_t left = BODY_BYTES - at - RECORD_HEAD;

		memcpy(&h.len, bytes + at + 4, 4);
		memcpy(&h.number, bytes + at + 8, 8);
		memcpy(&h.durable, bytes + at + 24, 8);
		if (h.len <= left)
			h.hash = XXH3_64bits(bytes + at + RECORD_HEAD, h.len);
		record_put_head(bytes + at, &h);
		if (h.len > left)
			return;
		at += RECORD_HEAD + h.len;
	}
}

static void write_segment(const uint8_t *bytes, size_t len)
{
	unsigned char body[BODY_BYTES] = { 0 };

	segment->order = 1;
	segment->first = bytes[0];
	memcpy(body, bytes + 2, len - 2 < BODY_BYTES ? len - 2 : BODY_BYTES);
	hash_records(body);
	require(segment_start(maker, segment, bytes[1] & 15) == 0);
	require(pwrite(segment->fd, body, sizeof(body), SEGMENT_HEAD) == sizeof(body));
}

static int take(void *context, uint64_t number, const struct kv_batch *batch)
{
	uint64_t *last = context;

	require(number == *last + 1);
	*last = number;
	for (size_t i = 0; i < batch->count; i++) {
		const struct kv_record *r = &batch->records[i];

		require(r->space < KV_SPACES && r->key_len > 0);
		require(r->at + r->key_len + r->value_len <= batch->bytes_used);
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct journal_options o = { 0 };
	uint64_t persisted, last, through;
	struct journal *j;
	char *why = NULL;
	int err;

	if (len < 2)
		return 0;
	write_segment(bytes, len);
	persisted = last = bytes[1] >> 4;
	require(journal_open(dir, &o, &j, &why) == 0);
	err = journal_replay(j, persisted, take, &last, &through, &why);
	require(err == 0 || err == -KILN_ECORRUPT);
	require(err || through == last);
	journal_close(j);
	free(why);
	return 0;
}

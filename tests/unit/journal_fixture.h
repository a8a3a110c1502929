/* A journal in a directory of its own, and batches for it: batch n puts the key "n<number>"; every
 * third one is larger. */
#ifndef TESTS_UNIT_JOURNAL_FIXTURE_H
#define TESTS_UNIT_JOURNAL_FIXTURE_H

#include "store/journal.h"

#include "base/err.h"
#include "store/journal_impl.h" /* for the sizes of heads, and kv_batch's inside */
#include "store/kv_impl.h"
#include "tests/fault.h"
#include "tests/unit/segments.h"
#include "tests/unit/tmpdir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { SEGMENT = 16 << 10 };

struct fixture {
	char *dir;
	struct journal_options options;
	struct journal *j;
	uint64_t persisted, flush_to; /* atomic; flush: persisted becomes flush_to */
	uint64_t through, seen;       /* of the last replay: where it ended, how many it gave */
	uint64_t offset;              /* of the last append, in its segment */
	uint64_t last;                /* what append_there goes on from */
	struct journal_record record;
};

static inline uint64_t persisted(void *context)
{
	return __atomic_load_n(&((struct fixture *)context)->persisted, __ATOMIC_ACQUIRE);
}

static inline int flush(void *context)
{
	struct fixture *f = context;
	uint64_t to = __atomic_load_n(&f->flush_to, __ATOMIC_ACQUIRE);

	if (to)
		__atomic_store_n(&f->persisted, to, __ATOMIC_RELEASE);
	return to ? 0 : -KILN_EIO;
}

static inline void make_batch(struct kv_batch *b, uint64_t number)
{
	static char value[3000];
	char key[32];
	int len = snprintf(key, sizeof(key), "n%llu", (unsigned long long)number);

	memset(value, 'v', sizeof(value));
	kv_batch_clear(b);
	assert_int_equal(kv_batch_put(b, KV_INODE, key, (size_t)len, value,
				      number % 3 ? number % 50 : number % sizeof(value)),
			 0);
	if (number % 5 == 0)
		assert_int_equal(kv_batch_del(b, KV_REST, key, (size_t)len), 0);
	if (number % 7 == 0)
		assert_int_equal(kv_batch_del(b, KV_DIRENT, "a", 1), 0);
}

/* replayed: exactly the batch that was appended, and the one that is due. */
static inline int replayed(void *context, uint64_t number, const struct kv_batch *b)
{
	struct fixture *f = context;
	struct kv_batch *want = kv_batch_new();

	make_batch(want, number);
	assert_int_equal(number, f->persisted + ++f->seen);
	assert_int_equal(b->count, want->count);
	assert_int_equal(b->bytes_used, want->bytes_used);
	assert_memory_equal(b->bytes, want->bytes, want->bytes_used);
	for (size_t i = 0; i < b->count; i++)
		assert_int_equal(b->records[i].kind, want->records[i].kind);
	kv_batch_free(want);
	return 0;
}

static inline int look(struct fixture *f, char **why)
{
	int err = journal_open(f->dir, &f->options, &f->j, why);

	f->seen = 0;
	return err ? err : journal_replay(f->j, f->persisted, replayed, f, &f->through, why);
}

static inline void begin(struct fixture *f)
{
	struct journal_owner owner = { .persisted = persisted, .flush = flush, .context = f };
	char *why = NULL;

	if (look(f, &why))
		fail_msg("%s", why);
	f->persisted = f->through;
	assert_int_equal(journal_begin(f->j, f->through, &owner, &why), 0);
}

static inline void end(struct fixture *f)
{
	journal_close(f->j);
	f->j = NULL;
}

static inline int append(struct fixture *f, uint64_t number)
{
	struct kv_batch *b = kv_batch_new();
	uint64_t given;
	int err;

	make_batch(b, number);
	assert_int_equal(journal_encode(&f->record, b), 0);
	kv_batch_free(b);
	do
		err = journal_append(f->j, &f->record, &given);
	while (err == -KILN_EWOULDBLOCK && !(err = journal_await_room(f->j, &f->record)));
	if (err)
		return err;
	assert_int_equal(given, number);
	f->offset = f->j->offset - f->record.len;
	return 0;
}

static inline void append_many(struct fixture *f, uint64_t from, uint64_t to)
{
	for (uint64_t n = from; n <= to; n++)
		assert_int_equal(append(f, n), 0);
}

static inline int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->dir = tmpdir_make();
	f->options = (struct journal_options){ .segment_bytes = SEGMENT, .create = true };
	begin(f);
	*state = f;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *f = *state;

	end(f);
	journal_record_free(&f->record);
	tmpdir_remove(f->dir);
	free(f);
	return 0;
}

static inline void expect_replay(struct fixture *f, uint64_t through)
{
	char *why = NULL;

	if (look(f, &why))
		fail_msg("%s", why);
	assert_int_equal(f->through, through);
	assert_int_equal(f->seen, through - f->persisted);
	end(f);
}

static inline void expect_refused(struct fixture *f, const char *says)
{
	char *why = NULL;

	assert_int_equal(look(f, &why), -KILN_ECORRUPT);
	assert_non_null(why);
	if (!strstr(why, says))
		fail_msg("\"%s\" does not say \"%s\"", why, says);
	assert_int_equal(f->seen, 0);
	free(why);
	end(f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif

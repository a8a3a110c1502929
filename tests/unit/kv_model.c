/* store/kv.h against an array: whatever is read, in whatever way, is what was applied. */
#include "base/err.h"
#include "tests/unit/kv_fixture.h"

enum { MODEL_KEYS = 1500, MODEL_ROUNDS = 12000, MODEL_BUFFER = 1 << 20 };

/* A key's value is `length` bytes of the number of the round that put it; 0: it is not there. */
struct cell {
	uint32_t round;
	uint16_t length;
};

struct model {
	struct kv *kv;
	struct kv_batch *batch;
	struct cell cells[MODEL_KEYS];
	uint32_t changed[MODEL_KEYS]; /* round of the last change, deletions too */
	struct kv_view *view;
	struct cell seen[MODEL_KEYS]; /* when the view was taken */
	unsigned seed;
};

static unsigned below(struct model *m, unsigned n)
{
	return (unsigned)rand_r(&m->seed) % n;
}

static size_t model_key(unsigned i, char key[16])
{
	return (size_t)snprintf(key, 16, "m%07u", i);
}

static void model_change(struct model *m, uint32_t round)
{
	uint32_t value[256];
	uint64_t seq;
	char key[16];

	for (size_t i = 0; i < 256; i++)
		value[i] = round;
	kv_batch_clear(m->batch);
	for (unsigned n = 1 + below(m, 5); n > 0; n--) {
		unsigned i = below(m, MODEL_KEYS);
		uint16_t words = below(m, 4) ? (uint16_t)(1 + below(m, below(m, 9) ? 4 : 255)) : 0;
		size_t len = model_key(i, key);

		assert_int_equal(words ? kv_batch_put(m->batch, KV_DIRENT, key, len, value, words * 4u)
				       : kv_batch_del(m->batch, KV_DIRENT, key, len), 0);
		m->cells[i] = (struct cell){ words ? round : 0, (uint16_t)(words * 4) };
		m->changed[i] = round;
	}
	assert_int_equal(kv_apply(m->kv, m->batch, 0, &seq), 0);
}

static void same_cell(const struct cell *c, const void *value, size_t len)
{
	uint32_t word;

	assert_int_equal(len, c->length);
	for (size_t at = 0; at < len; at += 4) {
		memcpy(&word, (const char *)value + at, 4);
		assert_int_equal(word, c->round);
	}
}

static void model_get(struct model *m, const struct kv_view *view, const struct cell *cells)
{
	unsigned i = below(m, MODEL_KEYS);
	char key[16], buf[1024];
	size_t n = model_key(i, key), len;
	int err = kv_get(m->kv, view, KV_DIRENT, key, n, buf, sizeof(buf), &len, 0);

	assert_int_equal(err, cells[i].round ? 0 : -KILN_ENOENT);
	if (!err)
		same_cell(&cells[i], buf, len);
}

static void model_get_many(struct model *m)
{
	static char keys[300][16], bufs[300][1024];
	struct kv_item items[300];
	unsigned first = below(m, MODEL_KEYS - 300);

	for (unsigned i = 0; i < 300; i++)
		items[i] = (struct kv_item){ .key = keys[i], .key_len = model_key(first + i, keys[i]),
					     .buf = bufs[i], .cap = sizeof(bufs[i]) };
	assert_int_equal(kv_get_many(m->kv, NULL, KV_DIRENT, items, 300, 0), 0);
	for (unsigned i = 0; i < 300; i++) {
		assert_int_equal(items[i].err, m->cells[first + i].round ? 0 : -KILN_ENOENT);
		if (!items[i].err)
			same_cell(&m->cells[first + i], bufs[i], items[i].len);
	}
}

/* model_push: a view has everything moved to where it is kept. */
static void model_push(struct model *m)
{
	struct kv_view *view = kv_view_new(m->kv);

	assert_non_null(view);
	kv_view_free(m->kv, view);
}

/* model_walk: what changes while the walk is under way may be there or not; all else must be right,
 * and nothing comes twice.  changes: at every 64th row something does. */
static void model_walk(struct model *m, const struct kv_view *view, const struct cell *cells,
		       uint32_t round, bool changes)
{
	unsigned from = below(m, MODEL_KEYS), to = from + below(m, MODEL_KEYS - from), i = from;
	char first[16], end[16], shown[16];
	const void *key, *value;
	size_t key_len, value_len, rows = 0;
	struct kv_scan *scan;

	model_key(from, first);
	model_key(to, end);
	assert_int_equal(kv_scan_open(m->kv, view, KV_DIRENT, first, 8, end, 8, 0, &scan), 0);
	while (kv_scan_next(scan, &key, &key_len, &value, &value_len) == 1) {
		unsigned at;

		assert_int_equal(key_len, 8);
		memcpy(shown, key, 8);
		shown[8] = 0;
		at = (unsigned)strtoul(shown + 1, NULL, 10);
		assert_in_range(at, i, to - 1);
		for (; i < at; i++)
			assert_true(!cells[i].round || (!view && m->changed[i] > round));
		if (view || m->changed[at] <= round)
			same_cell(&cells[at], value, value_len);
		i = at + 1;
		if (!changes || rows++ % 64 != 63)
			continue;
		model_change(m, round + 1);
		model_push(m);
	}
	for (; i < to; i++)
		assert_true(!cells[i].round || (!view && m->changed[i] > round));
	kv_scan_close(scan);
}

static void model_look_back(struct model *m, bool keeps)
{
	if (m->view && keeps) {
		for (int n = 0; n < 50; n++)
			model_get(m, m->view, m->seen);
		model_walk(m, m->view, m->seen, 0, true);
	}
	kv_view_free(m->kv, m->view);
	m->view = kv_view_new(m->kv);
	assert_non_null(m->view);
	memcpy(m->seen, m->cells, sizeof(m->seen));
}

/* Memory for what was applied is small, so that it moves to where it is kept all the time. */
static void what_is_read_is_what_was_applied(void **state)
{
	struct fixture *f = *state;
	struct model *m = calloc(1, sizeof(*m));
	struct kv_options o = { .backend = f->backend, .layout = f->layout, .create = true,
				.buffer_bytes = MODEL_BUFFER };
	bool durable = strcmp(f->backend, "mem") != 0;

	close_kv(f);
	assert_int_equal(kv_open(f->dir, &o, &f->kv, NULL), 0);
	*m = (struct model){ .kv = f->kv, .batch = kv_batch_new(), .seed = 5 };
	for (uint32_t round = 1; round < MODEL_ROUNDS; round += 2) {
		model_change(m, round);
		model_get(m, NULL, m->cells);
		if (round % 41 == 0)
			model_get_many(m);
		if (round % 37 == 0)
			model_walk(m, NULL, m->cells, round, round % 2);
		if (round % 601 == 0)
			model_look_back(m, durable);
	}
	kv_view_free(m->kv, m->view);
	kv_batch_free(m->batch);
	if (durable) {
		close_kv(f);
		m->kv = f->kv = open_kv(f, false);
	}
	for (int n = 0; n < 2000; n++)
		model_get(m, NULL, m->cells);
	model_walk(m, NULL, m->cells, MODEL_ROUNDS, false);
	free(m);
}

/* copy_dir: of an open store, where RocksDB puts a file with its settings in the place of another
 * a few seconds after the opening: who comes across it copies again. */

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_ALL(what_is_read_is_what_was_applied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

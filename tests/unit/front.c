/* store/front.h: two tables and what is found in both, against a plain array of what was added. */
#include "base/err.h"
#include "store/front.h"
#include "store/kv_impl.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FULL = 4096, KEYS = 700, VALUE_MOST = 300 };

/* What is known of a key: which of the two tables has it, and the value; byte 0 of a value says
 * which change it was. */
struct known {
	bool adding, moving; /* is in it */
	int added, moved;    /* length of its value there; -1: deleted */
	unsigned char added_tag, moved_tag;
};

struct fixture {
	struct front *front;
	struct kv_batch *batch;
	struct known known[KEYS];
	unsigned seed;
};

static void key_of(unsigned i, char key[16])
{
	snprintf(key, 16, "key%05u", i);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->front = front_new(FULL, false);
	f->batch = kv_batch_new();
	f->seed = 7;
	assert_non_null(f->front);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	front_free(f->front);
	kv_batch_free(f->batch);
	free(f);
	return 0;
}

static unsigned below(struct fixture *f, unsigned n)
{
	return (unsigned)rand_r(&f->seed) % n;
}

static void record(struct fixture *f, unsigned i, int len, unsigned char tag)
{
	unsigned char value[VALUE_MOST];
	char key[16];

	key_of(i, key);
	memset(value, tag, sizeof(value));
	assert_int_equal(len < 0 ? kv_batch_del(f->batch, KV_REST, key, 8)
				 : kv_batch_put(f->batch, KV_REST, key, 8, value, (size_t)len), 0);
	f->known[i].adding = true;
	f->known[i].added = len;
	f->known[i].added_tag = tag;
}

static int add(struct fixture *f, bool *full)
{
	int err = front_add_ready(f->front, f->batch);

	if (!err)
		*full = front_add(f->front, f->batch);
	return err;
}

static bool add_some(struct fixture *f, unsigned char tag)
{
	bool full = false;

	kv_batch_clear(f->batch);
	for (unsigned n = 1 + below(f, 6); n > 0; n--)
		record(f, below(f, KEYS), below(f, 5) ? (int)below(f, VALUE_MOST) : -1, tag);
	assert_int_equal(add(f, &full), 0);
	return full;
}

static void same_value(const void *value, size_t len, int want, unsigned char tag)
{
	assert_int_equal(len, want);
	for (size_t at = 0; at < len; at++)
		assert_int_equal(((const unsigned char *)value)[at], tag);
}

static void expect_key(struct fixture *f, unsigned i)
{
	const struct known *k = &f->known[i];
	unsigned char buf[VALUE_MOST];
	int want = k->adding ? k->added : k->moved, err;
	char key[16];
	size_t len;

	key_of(i, key);
	err = front_get(f->front, KV_REST, key, 8, buf, sizeof(buf), &len);
	if (!k->adding && !k->moving) {
		assert_int_equal(err, 1);
		return;
	}
	assert_int_equal(err, want < 0 ? -KILN_ENOENT : 0);
	if (want >= 0)
		same_value(buf, len, want, k->adding ? k->added_tag : k->moved_tag);
	assert_int_equal(front_get(f->front, KV_INODE, key, 8, buf, sizeof(buf), &len), 1);
}

static void expect_row(struct fixture *f, unsigned i, const struct row *row)
{
	const struct known *k = &f->known[i];
	int want = k->adding ? k->added : k->moved;
	char key[16];

	key_of(i, key);
	assert_int_equal(row->key_len, 8);
	assert_memory_equal(row->key, key, 8);
	if (want < 0)
		assert_null(row->value);
	else
		same_value(row->value, row->value_len, want, k->adding ? k->added_tag : k->moved_tag);
}

/* expect_range: asked for again and again behind the last row, as long as there is more. */
static void expect_range(struct fixture *f, unsigned from, unsigned to)
{
	struct rows rows = { 0 };
	struct row row;
	char first[16], end[16];
	unsigned i = from;

	key_of(to, end);
	do {
		key_of(i, first);
		assert_int_equal(front_range(f->front, KV_REST, first, 8, end, 8, &rows), 0);
		while (rows_look(&rows, &row)) {
			while (!f->known[i].adding && !f->known[i].moving)
				assert_true(++i < to);
			expect_row(f, i++, &row);
			rows_next(&rows);
		}
	} while (rows.more);
	while (i < to) {
		assert_false(f->known[i].adding || f->known[i].moving);
		i++;
	}
	free(rows.bytes);
}

struct walk {
	struct fixture *f;
	unsigned i;
};

static void see_moving(void *context, const struct front_change *c)
{
	struct walk *w = context;
	char key[16];

	while (!w->f->known[w->i].moving)
		assert_true(++w->i < KEYS);
	key_of(w->i, key);
	assert_int_equal(c->space, KV_REST);
	assert_memory_equal(c->key, key, 8);
	if (w->f->known[w->i].moved < 0)
		assert_null(c->value);
	else
		same_value(c->value, c->value_len, w->f->known[w->i].moved,
			     w->f->known[w->i].moved_tag);
	w->i++;
}

static void turn(struct fixture *f)
{
	struct walk w = { f, 0 };

	assert_true(front_turn(f->front));
	for (struct known *k = f->known; k < f->known + KEYS; k++) {
		k->moving = k->adding;
		k->moved = k->added;
		k->moved_tag = k->added_tag;
		k->adding = false;
	}
	front_each(f->front, see_moving, &w);
	while (w.i < KEYS)
		assert_false(f->known[w.i++].moving);
}

static void moved(struct fixture *f)
{
	front_moved(f->front);
	for (struct known *k = f->known; k < f->known + KEYS; k++)
		k->moving = false;
}

static void expect_all(struct fixture *f)
{
	unsigned from = below(f, KEYS), to = from + below(f, KEYS - from);

	for (unsigned i = 0; i < KEYS; i++)
		expect_key(f, i);
	expect_range(f, 0, KEYS);
	expect_range(f, from, to);
}

static void the_latest_is_found_wherever_it_is(void **state)
{
	struct fixture *f = *state;

	assert_false(front_turn(f->front));
	for (unsigned round = 1; round < 250; round++) {
		for (unsigned n = 1 + below(f, 60); n > 0 && !add_some(f, (unsigned char)round); n--)
			;
		expect_all(f);
		turn(f);
		expect_all(f);
		if (round % 3) /* some come while it is on its way */
			(void)add_some(f, (unsigned char)(round + 1));
		expect_all(f);
		moved(f);
		expect_all(f);
	}
}

static void count_one(void *context, const struct front_change *c)
{
	++*(unsigned *)context;
}

static unsigned on_its_way(struct fixture *f)
{
	unsigned count = 0;

	front_each(f->front, count_one, &count);
	return count;
}

static void fullness_is_told_once_and_bounded(void **state)
{
	struct fixture *f = *state;
	unsigned told = 0, added = 0, first;
	bool full;
	int err;

	for (;; added++) {
		kv_batch_clear(f->batch);
		record(f, added % KEYS, 100, 1);
		full = false;
		err = add(f, &full);
		if (err)
			break;
		told += full;
		assert_true(added < FRONT_MOST * FULL / 100 + 1);
	}
	assert_int_equal(err, -KILN_EWOULDBLOCK);
	assert_int_equal(told, 1);
	assert_true(added > FULL / 200);
	assert_true(front_turn(f->front));
	first = on_its_way(f);
	assert_int_equal(first, added);
	assert_int_equal(add(f, &full), 0);
	assert_true(front_turn(f->front)); /* still on its way: nothing else takes its place */
	assert_int_equal(on_its_way(f), first);
	front_moved(f->front);
	assert_true(front_bytes(f->front) > 0);
	assert_true(front_turn(f->front));
	front_moved(f->front);
	assert_false(front_turn(f->front));
	assert_int_equal(front_bytes(f->front), 0);
}

static void *wait_for_room(void *front)
{
	front_await_room(front);
	return NULL;
}

static void stuff(struct fixture *f)
{
	bool full;

	do {
		kv_batch_clear(f->batch);
		record(f, 1, 200, 1);
	} while (add(f, &full) == 0);
}

static void who_waits_for_room_is_let_go(void **state)
{
	struct fixture *f = *state;
	pthread_t waiter;

	stuff(f);
	assert_int_equal(pthread_create(&waiter, NULL, wait_for_room, f->front), 0);
	assert_true(front_turn(f->front));
	assert_int_equal(pthread_join(waiter, NULL), 0);
	stuff(f);
	assert_int_equal(pthread_create(&waiter, NULL, wait_for_room, f->front), 0);
	front_fail(f->front);
	assert_int_equal(pthread_join(waiter, NULL), 0);
}

/* A batch larger than any piece of memory, and a value that grows and shrinks. */
static void sizes_do_not_matter(void **state)
{
	static unsigned char large[1 << 20], got[1 << 20];
	static const size_t sizes[] = { 10, 1 << 20, 0, 300000, 7, 1 << 19 };
	struct fixture *f = *state;
	size_t len;
	bool full;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(large, (int)i + 1, sizeof(large));
		kv_batch_clear(f->batch);
		assert_int_equal(kv_batch_put(f->batch, KV_INODE, "k", 1, large, sizes[i]), 0);
		assert_int_equal(add(f, &full), 0);
		assert_int_equal(front_get(f->front, KV_INODE, "k", 1, got, sizeof(got), &len), 0);
		assert_int_equal(len, sizes[i]);
		assert_memory_equal(got, large, len);
		assert_int_equal(front_get(f->front, KV_INODE, "k", 1, got, 5, &len),
				 sizes[i] > 5 ? -KILN_ERANGE : 0);
		if (i % 2) {
			assert_true(front_turn(f->front));
			front_moved(f->front);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_latest_is_found_wherever_it_is, set_up, tear_down),
		cmocka_unit_test_setup_teardown(fullness_is_told_once_and_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_waits_for_room_is_let_go, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sizes_do_not_matter, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

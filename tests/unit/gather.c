/* store/gather.h: the adaptive wait, over a clock of the test's own. */
#include "store/gather.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { WRITERS_MAX = 64, ROUNDS = 60, SYNC_NS = 2000000, THINK_NS = 100000, BOUND_NS = 15000000 };

/* Writers in a closed loop, as store/commit.c would serve them: each asks for a sync, is answered
 * when it returns, and asks again a moment later. */
struct loop {
	struct gather g;
	uint64_t now, asks[WRITERS_MAX]; /* asks: when each asks next */
	unsigned writers;
	unsigned served;                 /* by the last round */
	uint64_t waited;                 /* by the last round, for others to join */
};

static void loop_begin(struct loop *l, unsigned writers, uint64_t max_ns)
{
	*l = (struct loop){ .now = 1, .writers = writers };
	gather_init(&l->g, 0, max_ns);
	for (unsigned i = 0; i < writers; i++) /* half of them come while the first sync runs */
		l->asks[i] = 1 + (i % 2) * SYNC_NS / 2;
}

static uint64_t next_ask(const struct loop *l, uint64_t after)
{
	uint64_t next = UINT64_MAX;

	for (unsigned i = 0; i < l->writers; i++)
		if (l->asks[i] > after && l->asks[i] < next)
			next = l->asks[i];
	return next;
}

static unsigned join_all(struct loop *l, uint64_t from, uint64_t to)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->writers; i++)
		if (l->asks[i] > from && l->asks[i] <= to) {
			gather_join(&l->g, i + 1);
			n++;
		}
	return n;
}

/* One round: from the first who asks (or asked during the last sync) to the sync's return. */
static void loop_round(struct loop *l)
{
	uint64_t first = next_ask(l, 0), begun, until;

	if (first > l->now)
		l->now = first;
	begun = l->now;
	l->served = join_all(l, 0, l->now);
	while ((until = gather_until(&l->g, begun)) > l->now) {
		uint64_t next = next_ask(l, l->now);
		uint64_t to = next < until ? next : until;

		l->served += join_all(l, l->now, to);
		l->now = to;
	}
	l->waited = l->now - begun;
	gather_close(&l->g);
	for (unsigned i = 0; i < l->writers; i++)
		if (l->asks[i] <= l->now)
			l->asks[i] = l->now + SYNC_NS + THINK_NS * (1 + i % 3);
	l->now += SYNC_NS;
	gather_took(&l->g, SYNC_NS);
}

static void a_lone_writer_never_waits(void **state)
{
	struct loop l;

	loop_begin(&l, 1, BOUND_NS);
	for (int i = 0; i < ROUNDS; i++) {
		loop_round(&l);
		assert_int_equal(l.served, 1);
		assert_int_equal(l.waited, 0);
	}
}

static void all_writers_share_each_sync(void **state)
{
	for (unsigned n = 2; n <= WRITERS_MAX; n *= 2) {
		struct loop l;

		loop_begin(&l, n, BOUND_NS);
		for (int i = 0; i < ROUNDS; i++) {
			loop_round(&l);
			if (i > 5)
				assert_int_equal(l.served, n);
			assert_true(l.waited <= SYNC_NS);
		}
		assert_true(l.waited <= 3 * THINK_NS); /* no longer than until the last is there */
	}
}

/* What the wait is for. */
static void without_it_two_halves_take_turns(void **state)
{
	struct loop l;
	unsigned most = 0;

	loop_begin(&l, 8, 0);
	for (int i = 0; i < ROUNDS; i++) {
		loop_round(&l);
		assert_int_equal(l.waited, 0);
		most = l.served > most ? l.served : most;
	}
	assert_true(most < 8);
}

static void a_writer_that_leaves_costs_two_waits(void **state)
{
	for (unsigned n = 2; n <= 8; n++) {
		unsigned waits = 0;
		struct loop l;

		loop_begin(&l, n, BOUND_NS);
		for (int i = 0; i < 20; i++)
			loop_round(&l);
		l.writers--;
		for (int i = 0; i < 20; i++) {
			loop_round(&l);
			waits += l.waited > 3 * THINK_NS;
			assert_true(l.waited <= SYNC_NS);
		}
		assert_true(waits <= 2);
		assert_int_equal(l.served, n - 1);
	}
}

static void many_at_once_by_one_writer_are_one(void **state)
{
	struct gather g;

	gather_init(&g, 0, BOUND_NS);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 10; i++)
			gather_join(&g, 7);
		gather_join(&g, 0); /* nobody in particular */
		assert_int_equal(gather_until(&g, 1), 0);
		gather_close(&g);
		gather_took(&g, SYNC_NS);
	}
}

/* Two writers lately, one is here. */
static void gather_two(struct gather *g, uint64_t min_ns, uint64_t max_ns, uint64_t sync_ns)
{
	gather_init(g, min_ns, max_ns);
	for (int round = 0; round < 3; round++) {
		gather_join(g, 1);
		gather_join(g, 2);
		gather_close(g);
		gather_took(g, sync_ns);
	}
	gather_join(g, 1);
}

static void the_bounds_are_kept(void **state)
{
	struct gather g;

	gather_two(&g, 0, BOUND_NS, SYNC_NS);
	assert_int_equal(gather_until(&g, 100), 100 + SYNC_NS);
	gather_two(&g, 0, BOUND_NS, 10 * BOUND_NS);
	assert_int_equal(gather_until(&g, 100), 100 + BOUND_NS);
	gather_two(&g, 0, 0, SYNC_NS);
	assert_int_equal(gather_until(&g, 100), 0);
	gather_two(&g, 0, BOUND_NS, 1000); /* cheaper than waiting */
	assert_int_equal(gather_until(&g, 100), 0);
	gather_two(&g, 3 * SYNC_NS, BOUND_NS, SYNC_NS);
	assert_int_equal(gather_until(&g, 100), 100 + 3 * SYNC_NS);
	gather_join(&g, 2); /* all are here, and the least wait is waited all the same */
	assert_int_equal(gather_until(&g, 100), 100 + 3 * SYNC_NS);
	gather_init(&g, SYNC_NS, BOUND_NS);
	gather_join(&g, 1);
	assert_int_equal(gather_until(&g, 100), 100 + SYNC_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lone_writer_never_waits),
		cmocka_unit_test(all_writers_share_each_sync),
		cmocka_unit_test(without_it_two_halves_take_turns),
		cmocka_unit_test(a_writer_that_leaves_costs_two_waits),
		cmocka_unit_test(many_at_once_by_one_writer_are_one),
		cmocka_unit_test(the_bounds_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

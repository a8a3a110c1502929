/* base/: error codes, ranked locks, histogram, log lines. */
#include "base/clock.h"
#include "base/err.h"
#include "base/hist.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/look.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void every_code_has_an_errno_and_a_sentence(void **state)
{
	for (int code = 1; code < KILN_ERR_COUNT; code++) {
		assert_true(err_errno(code) > 0);
		assert_int_equal(err_errno(code), err_errno(-code));
		assert_true(strlen(err_text(code)) > 5);
		assert_true(strlen(err_name(code)) > 1);
	}
	assert_int_equal(err_errno(0), 0);
	assert_non_null(err_text(-9999));
}

static void an_errno_survives_both_ways(void **state)
{
	for (int code = 1; code < KILN_ERR_COUNT; code++) {
		int eno = err_errno(code);

		assert_true(err_from_errno(eno) < 0);
		assert_int_equal(err_errno(err_from_errno(eno)), eno);
	}
	assert_int_equal(err_from_errno(ENOANO), -KILN_ESYS);
}

static void locks_exclude_and_signal(void **state)
{
	struct lock l;
	struct cond c;

	lock_init(&l, LOCK_RANK_LEAF, "test");
	cond_init(&c);
	assert_true(lock_try(&l));
	assert_false(cond_wait_until(&c, &l, clock_mono() + NS_PER_MS));
	lock_give(&l);
	{
		lock_guard(&l);
		lock_assert_held(&l);
	}
	assert_true(lock_try(&l));
	lock_give(&l);
	cond_destroy(&c);
	lock_destroy(&l);
}

#ifndef NDEBUG
/* Runs fn in a child whose standard error is closed; the signal that ended it. */
static int signal_of(void (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		close(2);
		fn();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void take_out_of_order(void)
{
	struct lock outer, inner;

	lock_init(&outer, LOCK_RANK_VOLUME, "outer");
	lock_init(&inner, LOCK_RANK_STORE, "inner");
	lock_take(&inner);
	lock_take(&outer);
}

static void take_in_order(void)
{
	struct lock outer, inner;

	lock_init(&outer, LOCK_RANK_VOLUME, "outer");
	lock_init(&inner, LOCK_RANK_STORE, "inner");
	lock_take(&outer);
	lock_take(&inner);
	lock_give(&outer);
	lock_give(&inner);
}

static void assert_held_without(void)
{
	struct lock l;

	lock_init(&l, LOCK_RANK_LEAF, "test");
	lock_assert_held(&l);
}

static void a_wrong_order_of_locks_aborts(void **state)
{
	assert_int_equal(signal_of(take_out_of_order), SIGABRT);
	assert_int_equal(signal_of(assert_held_without), SIGABRT);
	assert_int_equal(signal_of(take_in_order), 0);
}
#endif

static void quantiles_are_within_a_step(void **state)
{
	static struct hist h, other;

	hist_clear(&h);
	hist_clear(&other);
	assert_int_equal(hist_quantile(&h, 0.5), 0);
	for (uint64_t v = 1; v <= 100000; v++)
		hist_add(v % 2 ? &h : &other, v);
	hist_merge(&h, &other);
	assert_int_equal(h.count, 100000);
	assert_int_equal(h.min, 1);
	assert_int_equal(h.max, 100000);
	for (double q = 0.01; q < 1; q += 0.01) {
		double got = (double)hist_quantile(&h, q);

		assert_true(got > 100000 * q * 0.96 && got < 100000 * q * 1.04);
	}
	assert_int_equal(hist_quantile(&h, 1), 100000);
	assert_true(hist_mean(&h) > 49999 && hist_mean(&h) < 50002);
	hist_add(&h, UINT64_MAX); /* beyond the last bucket: counted, not lost */
	assert_int_equal(h.count, 100001);
}

static void a_name_cannot_forge_a_log_line(void **state)
{
	int ends[2], saved = dup(2);
	char line[2048] = "";

	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], 2);
	log_info("name %s", "a\nb\x1b[1m\xff");
	dup2(saved, 2);
	close(saved);
	close(ends[1]);
	assert_true(read(ends[0], line, sizeof(line) - 1) > 0);
	close(ends[0]);
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
	assert_null(strchr(line, '\x1b'));
	assert_null(strchr(line, '\xff'));
}

static void unknown_debug_bits_are_refused(void **state)
{
	unsigned before = log_bits;

	assert_int_equal(log_debug_enable("wire,commit"), 0);
	assert_int_equal(log_bits & (1u << LOG_BIT_wire), 1u << LOG_BIT_wire);
	assert_int_equal(log_debug_enable("nonsense"), -KILN_EINVAL);
	log_bits = before;
}

/* How many of the waits, `short_ones` and a long one in turn, are foreseen, once learnt. */
static unsigned foreseen(unsigned short_ones)
{
	enum { LEARN = 40, ROUNDS = 10 };
	struct look l = { 0 };
	unsigned right = 0;

	for (unsigned round = 0; round < LEARN + ROUNDS; round++)
		for (unsigned i = 0; i <= short_ones; i++) {
			bool was_short = i < short_ones;

			if (round >= LEARN)
				right += look_expects(&l) == was_short;
			look_learn(&l, was_short);
		}
	return right / ROUNDS;
}

static void which_waits_are_short_is_learnt(void **state)
{
	for (unsigned n = 0; n <= LOOK_PAST; n++)
		assert_int_equal(foreseen(n), n + 1);
}

static void a_wait_that_was_never_short_is_slept_through(void **state)
{
	struct look l = { 0 };

	look_begin(&l);
	assert_false(look_again(&l));
	look_end(&l);
}

static void nobody_looks_in_a_crowd(void **state)
{
	struct look l = { 0 };

	for (unsigned i = 0; i < 4 * LOOK_PAST; i++)
		look_learn(&l, true);
	look_begin(&l);
	l.crowded = true;
	assert_false(look_again(&l));
	look_end(&l);
}

static bool crowd_ends; /* atomic */

static void *want_a_processor(void *none)
{
	while (!__atomic_load_n(&crowd_ends, __ATOMIC_RELAXED))
		;
	return none;
}

/* One thread more than there are processors, and this one.  Counted again and again, as they may
 * not have begun yet. */
static void who_wants_to_run_is_counted(void **state)
{
	enum { PROCESSORS_MAX = 64 };
	long count = sysconf(_SC_NPROCESSORS_ONLN) + 1;
	uint64_t end = clock_mono() + 10 * NS_PER_S;
	pthread_t threads[PROCESSORS_MAX + 1];
	struct look l = { 0 };

	if (count > PROCESSORS_MAX)
		skip();
	for (unsigned i = 0; i < 4 * LOOK_PAST; i++)
		look_learn(&l, true);
	for (long i = 0; i < count; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, want_a_processor, NULL), 0);
	while (!l.crowded && clock_mono() < end) {
		look_begin(&l);
		sched_yield();
	}
	__atomic_store_n(&crowd_ends, true, __ATOMIC_RELAXED);
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	assert_true(l.crowded);
}

static void looking_ends(void **state)
{
	struct look l = { 0 };
	uint64_t begun = clock_mono();

	for (unsigned i = 0; i < 4 * LOOK_PAST; i++)
		look_learn(&l, true);
	look_begin(&l);
	l.crowded = false; /* whatever else runs */
	assert_true(look_again(&l));
	while (look_again(&l))
		assert_true(clock_mono() - begun < 10 * NS_PER_S);
	look_end(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_has_an_errno_and_a_sentence),
		cmocka_unit_test(an_errno_survives_both_ways),
		cmocka_unit_test(locks_exclude_and_signal),
		cmocka_unit_test(which_waits_are_short_is_learnt),
		cmocka_unit_test(a_wait_that_was_never_short_is_slept_through),
		cmocka_unit_test(nobody_looks_in_a_crowd),
		cmocka_unit_test(who_wants_to_run_is_counted),
		cmocka_unit_test(looking_ends),
#ifndef NDEBUG
		cmocka_unit_test(a_wrong_order_of_locks_aborts),
#endif
		cmocka_unit_test(quantiles_are_within_a_step),
		cmocka_unit_test(a_name_cannot_forge_a_log_line),
		cmocka_unit_test(unknown_debug_bits_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

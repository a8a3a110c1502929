/* The statistics of kiln-bench: known values, and simulations of whole trials with drift and
 * heavy tails.  The seeds are fixed: a run is the same every time. */
#include "bench/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void near(double got, double want, double by)
{
	if (fabs(got - want) > by)
		fail_msg("got %g, wanted %g +- %g", got, want, by);
}

/* -- known values --------------------------------------------------------------------------- */

static void wilcoxon_known(void **state)
{
	const double up[] = { 1, 2, 3, 4, 5, 6 }, mixed[] = { 1, -2, 3, 4, 5, 6, 7, 8, -9, 10 };
	const double zero[] = { 0, 0, 0, 0 };
	double many[100];

	near(stats_wilcoxon(up, 6), 2.0 / 64, 1e-12);
	near(stats_wilcoxon(mixed, 10), 2 * 54.0 / 1024, 1e-9); /* P(W <= 11) for n = 10 */
	near(stats_wilcoxon(zero, 4), 1, 0.2);
	near(stats_wilcoxon(NULL, 0), 1, 0);
	for (int i = 0; i < 100; i++)
		many[i] = i % 2 ? i : -i - 0.5;
	assert_true(stats_wilcoxon(many, 100) > 0.8); /* balanced: no evidence */
}

static void interval_known(void **state)
{
	const double x[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	double low, high;

	near(stats_hodges_lehmann(x, 10), 5.5, 1e-12);
	stats_wilcoxon_interval(x, 10, 0.05, &low, &high);
	near(low, 3, 1e-12); /* the 9th smallest of the 55 means: critical value 8 of the table */
	near(high, 8, 1e-12);
	stats_wilcoxon_interval(x, 4, 0.05, &low, &high);
	assert_true(isinf(low) && isinf(high)); /* 4 samples cannot say it at 5 % */
}

static void normal_known(void **state)
{
	near(stats_normal_quantile(0.975), 1.959964, 1e-5);
	near(stats_normal_quantile(0.5), 0, 1e-9);
	near(stats_normal_tail(1.644854), 0.05, 1e-6);
}

static void spending_known(void **state)
{
	struct spend s;

	spend_init(&s, 0.05);
	near(spend_look(&s, 1), 0.05, 1e-6); /* one look: all of it */
	spend_init(&s, 0.05);
	near(spend_look(&s, 0.5), 0.0125, 1e-6);
	/* the second look's level lies between what is left and the whole */
	assert_in_range((int)(1e5 * spend_look(&s, 1)), 3750, 5000);
	near(s.spent, 0.05, 1e-9);
	assert_true(spend_look(&s, 1) <= 0); /* nothing new to look at */
}

/* -- simulation ----------------------------------------------------------------------------- */

static uint64_t seed;

static double uniform(void)
{
	return ((double)(stats_random(&seed) >> 11) + 0.5) / 9007199254740992.0;
}

static double gauss(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* Student's t with 2 degrees of freedom: no variance at all. */
static double heavy(void)
{
	double u = uniform();

	return (2 * u - 1) / sqrt(2 * u * (1 - u));
}

/* A machine whose speed wanders, with waves and steps, and now and then stands still. */
struct machine {
	double drift, step;
};

static double log_rate(struct machine *m, double effect, double noise)
{
	m->drift += 0.02 * gauss();
	if (uniform() < 0.01)
		m->step = 0.3 * gauss(); /* a neighbour comes or goes */
	return m->drift + m->step + effect + noise * heavy() - (uniform() < 0.02 ? 1 : 0);
}

/* A sample as the trial takes it: both sides one after the other, the order by lot. */
static double one_sample(struct machine *m, double effect, double noise)
{
	double a, b;

	if (stats_random(&seed) >> 63) {
		a = log_rate(m, 0, noise);
		b = log_rate(m, effect, noise);
	} else {
		b = log_rate(m, effect, noise);
		a = log_rate(m, 0, noise);
	}
	return b - a;
}

enum { FIGURES = 9, BLOCKS = 60, RUNS = 300 };

/* One whole trial with looks every few blocks; effect is that of figure 1.  Returns whether any
 * figure was called changed; *found whether figure 1 was, in the right direction. */
static bool trial(double effect, double noise, bool *found, unsigned *blocks)
{
	static double samples[FIGURES][BLOCKS];
	struct figure f[FIGURES];
	struct decision d;
	struct machine m = { 0, 0 };
	bool any = false;

	memset(f, 0, sizeof f);
	for (int i = 0; i < FIGURES; i++)
		f[i].samples = samples[i];
	assert_int_equal(decision_init(&d, f, FIGURES, 0.05, log1p(0.03)), 0);
	*found = false;
	for (*blocks = 1; *blocks <= BLOCKS && !*found; ++*blocks) {
		for (int i = 0; i < FIGURES; i++)
			samples[i][f[i].n++] = one_sample(&m, i == 1 ? effect : 0, noise);
		if (*blocks < 5 || *blocks % 5)
			continue;
		decision_look(&d, (double)*blocks / BLOCKS);
		for (int i = 0; i < FIGURES; i++)
			any |= f[i].verdict == VERDICT_SLOWER || f[i].verdict == VERDICT_FASTER;
		*found = effect < 0 && f[1].verdict == VERDICT_SLOWER;
	}
	decision_free(&d);
	return any;
}

static void false_alarms_stay_below_alpha(void **state)
{
	unsigned alarms = 0, blocks;
	bool found;

	seed = 12345;
	for (int run = 0; run < RUNS; run++)
		alarms += trial(0, 0.02, &found, &blocks);
	print_message("familywise false alarms, %d trials of %d figures: %.2f %%\n", RUNS, FIGURES,
		      100.0 * alarms / RUNS);
	assert_true(alarms <= RUNS * 5 / 100);
}

static void ten_percent_is_found(void **state)
{
	unsigned hits = 0, blocks, used = 0;
	bool found;

	seed = 777;
	for (int run = 0; run < RUNS; run++) {
		trial(log(0.9), 0.02, &found, &blocks);
		hits += found;
		used += blocks;
	}
	print_message("a 10 %% slow-down of one figure of %d: found in %.1f %%, after %.0f of %d blocks\n",
		      FIGURES, 100.0 * hits / RUNS, (double)used / RUNS, BLOCKS);
	assert_true(hits >= RUNS * 95 / 100);
	assert_true(used < RUNS * BLOCKS * 3 / 4); /* it does stop early */
}

/* The simulation must be able to fail: the naive way, 5 % at every look and no correction, is
 * expected to raise many false alarms on the same samples. */
static void the_naive_way_fails(void **state)
{
	unsigned alarms = 0;

	seed = 12345;
	for (int run = 0; run < 100; run++) {
		struct machine m = { 0, 0 };
		double x[FIGURES][BLOCKS];
		bool alarm = false;

		for (int b = 0; b < BLOCKS; b++)
			for (int i = 0; i < FIGURES; i++) {
				x[i][b] = one_sample(&m, 0, 0.02);
				if (b >= 4 && b % 5 == 4)
					alarm |= stats_wilcoxon(x[i], (size_t)b + 1) < 0.05;
			}
		alarms += alarm;
	}
	assert_true(alarms > 40);
}

/* The share of trials whose interval misses the true effect is what it says, at one look. */
static void intervals_cover(void **state)
{
	unsigned missed = 0;

	seed = 99;
	for (int run = 0; run < 1000; run++) {
		struct machine m = { 0, 0 };
		double x[25], low, high;

		for (int i = 0; i < 25; i++)
			x[i] = one_sample(&m, 0.07, 0.03);
		stats_wilcoxon_interval(x, 25, 0.05, &low, &high);
		missed += low > 0.07 || high < 0.07;
	}
	assert_in_range(missed, 20, 70);
}

static void same_is_called_same(void **state)
{
	static double samples[BLOCKS];
	struct figure f = { .samples = samples };
	struct decision d;
	struct machine m = { 0, 0 };

	seed = 5;
	assert_int_equal(decision_init(&d, &f, 1, 0.05, log1p(0.03)), 0);
	while (f.n < BLOCKS)
		samples[f.n++] = one_sample(&m, 0, 0.005) * 0.2;
	decision_look(&d, 1);
	assert_int_equal(f.verdict, VERDICT_SAME);
	assert_true(decision_more(&d, &f) <= 0);
	for (size_t i = 0; i < f.n; i++)
		samples[i] = samples[i] * 20 + 0.02;
	decision_free(&d);
	assert_int_equal(decision_init(&d, &f, 1, 0.05, log1p(0.03)), 0);
	decision_look(&d, 1);
	assert_int_equal(f.verdict, VERDICT_UNDECIDED);
	assert_true(decision_more(&d, &f) > BLOCKS);
	decision_free(&d);
}

static void change_point_known(void **state)
{
	double x[20], p, shift;

	seed = 3;
	for (int i = 0; i < 20; i++)
		x[i] = 0.01 * gauss() + (i >= 12 ? -0.1 : 0);
	assert_int_equal(stats_change_point(x, 20, &p, &shift), 12);
	assert_true(p < 0.01);
	near(shift, -0.1, 0.02);
	for (int i = 0; i < 20; i++)
		x[i] = 0.01 * gauss();
	stats_change_point(x, 20, &p, &shift);
	assert_true(p > 0.05);
	assert_int_equal(stats_change_point(x, 3, &p, &shift), 0);
}

static void relabelling(void **state)
{
	double x[20], y[20];
	struct figure f[2] = { { .samples = x, .n = 20 }, { .samples = y, .n = 20 } };
	double rate;

	seed = 11;
	for (int i = 0; i < 20; i++) {
		x[i] = 0.1 * gauss();
		y[i] = 0.1 * heavy();
	}
	rate = stats_false_alarms(f, 2, 0.05, 0, 2000, 42);
	assert_true(rate > 0.005 && rate < 0.07);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wilcoxon_known),
		cmocka_unit_test(interval_known),
		cmocka_unit_test(normal_known),
		cmocka_unit_test(spending_known),
		cmocka_unit_test(false_alarms_stay_below_alpha),
		cmocka_unit_test(ten_percent_is_found),
		cmocka_unit_test(the_naive_way_fails),
		cmocka_unit_test(intervals_cover),
		cmocka_unit_test(same_is_called_same),
		cmocka_unit_test(change_point_known),
		cmocka_unit_test(relabelling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

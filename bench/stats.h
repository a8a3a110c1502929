/* Statistics that assume no distribution.  A sample is the natural logarithm of B's rate over
 * A's, measured side by side; the order within each pair is drawn by lot, so that under "no
 * difference" each sample is as likely negative as positive, whatever its distribution: that
 * is all that Wilcoxon's signed-rank test needs. */
#ifndef BENCH_STATS_H
#define BENCH_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* -- one sample ----------------------------------------------------------------------------- */

double stats_median(double *x, size_t n); /* reorders x; 0 if n is 0 */
/* stats_hodges_lehmann: median of the means of all pairs: the estimate that goes with Wilcoxon. */
double stats_hodges_lehmann(const double *x, size_t n);
/* stats_wilcoxon: two-sided p against "symmetric about 0"; exact up to 60 samples, then by the
 * normal distribution.  1 if n is 0. */
double stats_wilcoxon(const double *x, size_t n);
/* stats_wilcoxon_interval: holds the centre with probability 1 - alpha at least; -INFINITY and
 * INFINITY if n is too small for such an alpha. */
void stats_wilcoxon_interval(const double *x, size_t n, double alpha, double *low, double *high);

double stats_normal_tail(double z);	/* P(Z > z) */
double stats_normal_quantile(double p); /* z with P(Z < z) = p */

/* -- looking more than once ----------------------------------------------------------------- */

/* Alpha spending (Lan and DeMets) with the power family alpha t^2: at the share t of the budget
 * so much of alpha may have been used up.  spend_look gives the two-sided level at which the
 * test may be made at this look, allowing for the looks before, which share its data: the
 * statistic is taken for a Brownian motion observed at the t's, and the density of those paths
 * that have not crossed yet is carried forward on a grid. */
enum { SPEND_GRID = 64 };
struct spend {
	double alpha, t, spent;
	unsigned looks;
	double step; /* of the grid, in units of the Brownian motion */
	double density[SPEND_GRID]; /* from 0 upwards; below it is the same mirrored */
};
void spend_init(struct spend *s, double alpha);
double spend_look(struct spend *s, double t); /* t grows from look to look, to 1 at most */

/* -- many tests at once --------------------------------------------------------------------- */

enum verdict { VERDICT_UNDECIDED, VERDICT_SAME, VERDICT_FASTER, VERDICT_SLOWER };

/* One compared figure.  samples is owned by the caller. */
struct figure {
	double *samples;
	size_t n;
	double estimate, low, high;   /* log ratio, interval at this look's level */
	double p, p_adjusted;	      /* at this look; adjusted by Holm */
	bool rejected;		      /* "no difference" is off the table, now and later */
	enum verdict verdict;
};

/* stats_holm: p_adjusted of every figure from its p. */
void stats_holm(struct figure *figure, size_t n);

struct decision {
	double alpha, margin; /* margin as log ratio */
	struct figure *figure;
	size_t n_figures;
	struct spend interval; /* level of the intervals, alpha each */
	struct spend *holm;    /* [i]: level alpha / (i + 1) */
};

int decision_init(struct decision *d, struct figure *figure, size_t n, double alpha, double margin);
void decision_free(struct decision *d);
/* decision_look: judges all figures with the samples they have by now; t as in spend_look.
 *   faster, slower: Holm's correction over all figures rejects "no difference" at a familywise
 *   rate of alpha over all looks together, and the estimate is at least the margin;
 *   same: the whole interval lies within the margin;
 *   undecided: neither. */
void decision_look(struct decision *d, double t);
/* decision_more: how many samples in all the figure would need, if things go on like this; 0 if
 * it is decided, INFINITY if the estimate sits on the margin. */
double decision_more(const struct decision *d, const struct figure *f);

/* -- a series over time --------------------------------------------------------------------- */

/* stats_change_point: the index at which x (n values in order) most likely shifts level, by
 * rank (Pettitt); *p is its significance (by permutation, 0.0002 at least), *shift the difference of the medians after and
 * before.  0 if n < 4. */
size_t stats_change_point(const double *x, size_t n, double *p, double *shift);

/* xorshift64*, for shuffling; state must not be 0. */
uint64_t stats_random(uint64_t *state);
/* stats_false_alarms: the share of so many random reassignments of the labels A and B in which
 * "changed" would have been said, by one look at the end: what these very samples' noise does
 * to the procedure. */
double stats_false_alarms(const struct figure *figure, size_t n, double alpha, double margin,
			  unsigned tries, uint64_t seed);

#endif

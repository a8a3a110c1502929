#include "bench/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXACT = 60 };

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int by_magnitude(const void *a, const void *b)
{
	double x = fabs(*(const double *)a), y = fabs(*(const double *)b);

	return (x > y) - (x < y);
}

double stats_median(double *x, size_t n)
{
	if (!n)
		return 0;
	qsort(x, n, sizeof *x, ascending);
	return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

double stats_normal_tail(double z)
{
	return erfc(z / M_SQRT2) / 2;
}

/* By bisection: it is called a few times a second at most, and needs no table to trust. */
double stats_normal_quantile(double p)
{
	double low = -40, high = 40;

	for (int i = 0; i < 100; i++) {
		double mid = (low + high) / 2;

		if (1 - stats_normal_tail(mid) < p && stats_normal_tail(mid) > 1 - p)
			low = mid;
		else
			high = mid;
	}
	return (low + high) / 2;
}

/* -- Wilcoxon ------------------------------------------------------------------------------- */

/* below[w] = P(W <= w) for the sum of the ranks of n signs drawn by lot, n at most EXACT. */
static void distribution(size_t n, double below[EXACT * (EXACT + 1) / 2 + 1])
{
	size_t top = n * (n + 1) / 2, reach = 0;
	double all = pow(2, (double)n);

	memset(below, 0, (top + 1) * sizeof *below);
	below[0] = 1;
	for (size_t rank = 1; rank <= n; rank++) {
		reach += rank;
		for (size_t sum = reach; sum >= rank; sum--)
			below[sum] += below[sum - rank];
	}
	for (size_t sum = 1; sum <= top; sum++)
		below[sum] += below[sum - 1];
	for (size_t sum = 0; sum <= top; sum++)
		below[sum] /= all;
}

static double lower_normal(double n, double w)
{
	double mean = n * (n + 1) / 4, sd = sqrt(n * (n + 1) * (2 * n + 1) / 24);

	return stats_normal_tail((mean - w - 0.5) / sd);
}

static double lower_tail(size_t n, double w)
{
	double below[EXACT * (EXACT + 1) / 2 + 1];

	if (n > EXACT)
		return lower_normal((double)n, w);
	distribution(n, below);
	return below[(size_t)w];
}

/* The rank sum of the rarer sign; zeros are split evenly, ties share their ranks: both push
 * the sum towards the middle, that is to "no difference". */
static double rank_sum(const double *sorted, size_t n)
{
	double plus = 0;

	for (size_t i = 0, j; i < n; i = j) {
		double rank;

		for (j = i + 1; j < n && fabs(sorted[j]) - fabs(sorted[i]) <= 0; j++)
			;
		rank = (double)(i + 1 + j) / 2;
		for (size_t k = i; k < j; k++)
			plus += sorted[k] > 0 ? rank : sorted[k] < 0 ? 0 : rank / 2;
	}
	return fmin(plus, (double)n * (double)(n + 1) / 2 - plus);
}

double stats_wilcoxon(const double *x, size_t n)
{
	double *sorted = malloc((n ? n : 1) * sizeof *sorted), p;

	if (!n || !sorted) {
		free(sorted);
		return 1;
	}
	memcpy(sorted, x, n * sizeof *x);
	qsort(sorted, n, sizeof *sorted, by_magnitude);
	p = 2 * lower_tail(n, ceil(rank_sum(sorted, n)));
	free(sorted);
	return p < 1 ? p : 1;
}

/* Means of all pairs, sorted; *m of them.  NULL without memory. */
static double *walsh(const double *x, size_t n, size_t *m)
{
	double *w = malloc((n * (n + 1) / 2 + 1) * sizeof *w);

	*m = 0;
	if (!w)
		return NULL;
	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++)
			w[(*m)++] = (x[i] + x[j]) / 2;
	qsort(w, *m, sizeof *w, ascending);
	return w;
}

double stats_hodges_lehmann(const double *x, size_t n)
{
	size_t m;
	double *w = walsh(x, n, &m), mid = 0;

	if (w && m)
		mid = m % 2 ? w[m / 2] : (w[m / 2 - 1] + w[m / 2]) / 2;
	free(w);
	return mid;
}

/* The largest k such that P(W < k) <= alpha / 2: the interval runs from the k-th smallest mean
 * of a pair to the k-th largest.  0 if even k = 1 is too much. */
static size_t critical(size_t n, double alpha)
{
	double below[EXACT * (EXACT + 1) / 2 + 1];
	size_t k = 0, most = n * (n + 1) / 4;

	if (n <= EXACT)
		distribution(n, below);
	while (k < most &&
	       (n <= EXACT ? below[k] : lower_normal((double)n, (double)k)) <= alpha / 2)
		k++;
	return k;
}

void stats_wilcoxon_interval(const double *x, size_t n, double alpha, double *low, double *high)
{
	size_t k = critical(n, alpha), m = 0;
	double *w = k ? walsh(x, n, &m) : NULL;

	*low = -INFINITY;
	*high = INFINITY;
	if (w && k <= m) {
		*low = w[k - 1];
		*high = w[m - k];
	}
	free(w);
}

/* -- alpha spending ------------------------------------------------------------------------- */

void spend_init(struct spend *s, double alpha)
{
	*s = (struct spend){ .alpha = alpha };
}

static double phi(double x)
{
	return exp(-x * x / 2) * 0.3989422804014327;
}

/* The chance that a path not stopped so far is beyond +-bound after a further step of variance
 * dt.  Before the first look all paths are at 0. */
static double crossing(const struct spend *s, double dt, double bound)
{
	double sd = sqrt(dt), p = 0;

	if (!s->looks)
		return 2 * stats_normal_tail(bound / sd);
	for (unsigned i = 0; i < SPEND_GRID; i++) {
		double at = (i + 0.5) * s->step;

		p += 2 * s->density[i] * s->step *
		     (stats_normal_tail((bound - at) / sd) + stats_normal_tail((bound + at) / sd));
	}
	return p;
}

/* The density at `at` after the step: from every old place and from its mirror image. */
static double arriving(const struct spend *s, const double *old, double at, double sd)
{
	double sum = 0;

	if (!s->looks)
		return phi(at / sd) / sd;
	for (unsigned j = 0; j < SPEND_GRID; j++) {
		double was = (j + 0.5) * s->step;

		sum += old[j] * (phi((at - was) / sd) + phi((at + was) / sd));
	}
	return sum * s->step / sd;
}

/* The density of the paths within +-bound after the step. */
static void advance(struct spend *s, double dt, double bound)
{
	double old[SPEND_GRID], step = bound / SPEND_GRID;

	memcpy(old, s->density, sizeof old);
	for (unsigned i = 0; i < SPEND_GRID; i++)
		s->density[i] = arriving(s, old, (i + 0.5) * step, sqrt(dt));
	s->step = step;
}

static double solve_bound(const struct spend *s, double dt, double t, double want)
{
	double low = 0, high = 9 * sqrt(t);

	for (int i = 0; i < 50; i++) {
		double mid = (low + high) / 2;

		if (crossing(s, dt, mid) > want)
			low = mid;
		else
			high = mid;
	}
	return high;
}

double spend_look(struct spend *s, double t)
{
	double dt, may, bound;

	if (t > 1)
		t = 1;
	dt = t - s->t;
	if (dt < 1e-6)
		return 0;
	may = s->alpha * t * t;
	bound = solve_bound(s, dt, t, may - s->spent);
	advance(s, dt, bound);
	s->spent = may;
	s->t = t;
	s->looks++;
	return 2 * stats_normal_tail(bound / sqrt(t));
}

/* -- change point --------------------------------------------------------------------------- */

static double median_of(const double *x, size_t n)
{
	double *copy = malloc((n ? n : 1) * sizeof *copy), m = 0;

	if (copy && n) {
		memcpy(copy, x, n * sizeof *x);
		m = stats_median(copy, n);
	}
	free(copy);
	return m;
}

/* rank[i]: how many are less, plus half of the ties, itself included. */
static void ranks_of(const double *x, size_t n, double *rank)
{
	for (size_t i = 0; i < n; i++) {
		rank[i] = 0.5;
		for (size_t j = 0; j < n; j++)
			rank[i] += x[j] < x[i] ? 1 : x[j] > x[i] ? 0 : 0.5;
	}
}

/* Pettitt's statistic, the largest |2 sum of the first k ranks - k (n + 1)|, and its k. */
static double pettitt(const double *rank, size_t n, size_t *best)
{
	double sum = 0, most = 0;

	*best = 0;
	for (size_t k = 1; k < n; k++) {
		double u;

		sum += rank[k - 1];
		u = fabs(2 * sum - (double)k * (double)(n + 1));
		if (u > most + 1e-9) {
			most = u;
			*best = k;
		}
	}
	return most;
}

static void shuffle(double *x, size_t n, uint64_t *seed)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = stats_random(seed) % i;
		double t = x[i - 1];

		x[i - 1] = x[j];
		x[j] = t;
	}
}

/* By permutation: the usual formula is far too cautious for the dozen results that a series
 * starts with. */
static double pettitt_p(double *rank, size_t n, double observed)
{
	enum { SHUFFLES = 4999 };
	uint64_t seed = 1979;
	size_t k, reached = 0;

	for (int i = 0; i < SHUFFLES; i++) {
		shuffle(rank, n, &seed);
		reached += pettitt(rank, n, &k) >= observed - 1e-9;
	}
	return (double)(reached + 1) / (SHUFFLES + 1);
}

size_t stats_change_point(const double *x, size_t n, double *p, double *shift)
{
	double *rank = n < 4 ? NULL : calloc(n, sizeof *rank), most;
	size_t best;

	*p = 1;
	*shift = 0;
	if (!rank)
		return 0;
	ranks_of(x, n, rank);
	most = pettitt(rank, n, &best);
	if (best) {
		*p = pettitt_p(rank, n, most);
		*shift = median_of(x + best, n - best) - median_of(x, best);
	}
	free(rank);
	return best;
}

uint64_t stats_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

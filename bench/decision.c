/* The three-way verdict over many figures, at every look. */
#include "bench/stats.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>

int decision_init(struct decision *d, struct figure *figure, size_t n, double alpha, double margin)
{
	*d = (struct decision){ .alpha = alpha, .margin = margin, .figure = figure, .n_figures = n };
	d->holm = calloc(n ? n : 1, sizeof *d->holm);
	if (!d->holm)
		return -KILN_ENOMEM;
	spend_init(&d->interval, alpha);
	for (size_t i = 0; i < n; i++)
		spend_init(&d->holm[i], alpha / (double)(i + 1));
	return 0;
}

void decision_free(struct decision *d)
{
	free(d->holm);
	d->holm = NULL;
}

static size_t count_standing(const struct decision *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n_figures; i++)
		n += !d->figure[i].rejected;
	return n;
}

static struct figure *least_p(const struct decision *d)
{
	struct figure *best = NULL;

	for (size_t i = 0; i < d->n_figures; i++)
		if (!d->figure[i].rejected && (!best || d->figure[i].p < best->p))
			best = &d->figure[i];
	return best;
}

/* Holm at one look: the smallest p against alpha over all that stand; what is rejected hands
 * its share of alpha to the rest, at this look and all later ones. */
static void reject(struct decision *d, const double *level)
{
	struct figure *f;

	while ((f = least_p(d)) && f->p <= level[count_standing(d) - 1])
		f->rejected = true;
}

/* The familywise level at which each would just be rejected. */
void stats_holm(struct figure *figure, size_t n)
{
	double floor = 0;

	for (size_t i = 0; i < n; i++)
		figure[i].p_adjusted = -1;
	for (size_t rank = 0; rank < n; rank++) {
		struct figure *least = NULL;

		for (size_t i = 0; i < n; i++)
			if (figure[i].p_adjusted < 0 && (!least || figure[i].p < least->p))
				least = &figure[i];
		floor = fmax(floor, fmin(1, least->p * (double)(n - rank)));
		least->p_adjusted = floor;
	}
}

static void judge(const struct decision *d, struct figure *f)
{
	if (f->low > -d->margin && f->high < d->margin)
		f->verdict = VERDICT_SAME;
	else if (f->rejected && f->estimate >= d->margin)
		f->verdict = VERDICT_FASTER;
	else if (f->rejected && f->estimate <= -d->margin)
		f->verdict = VERDICT_SLOWER;
	else
		f->verdict = VERDICT_UNDECIDED;
}

void decision_look(struct decision *d, double t)
{
	double interval = spend_look(&d->interval, t);
	double *level = calloc(d->n_figures + 1, sizeof *level);

	if (!level)
		return; /* no look, no verdict changes */
	for (size_t i = 0; i < d->n_figures; i++) {
		struct figure *f = &d->figure[i];

		level[i] = spend_look(&d->holm[i], t);
		f->p = stats_wilcoxon(f->samples, f->n);
		f->estimate = stats_hodges_lehmann(f->samples, f->n);
		stats_wilcoxon_interval(f->samples, f->n, interval, &f->low, &f->high);
	}
	reject(d, level);
	stats_holm(d->figure, d->n_figures);
	for (size_t i = 0; i < d->n_figures; i++)
		judge(d, &d->figure[i]);
	free(level);
}

double decision_more(const struct decision *d, const struct figure *f)
{
	double half = (f->high - f->low) / 2, need, distance = fabs(fabs(f->estimate) - d->margin);

	if (f->verdict != VERDICT_UNDECIDED)
		return 0;
	if (!isfinite(half) || f->n < 2)
		return (double)f->n * 2 + 8;
	/* the interval must shrink clear of zero, or into the margin, and it does as 1/sqrt(n) */
	need = fabs(f->estimate) >= d->margin ? fabs(f->estimate) : distance;
	if (need < half * 0.05)
		return INFINITY;
	return ceil((double)f->n * fmax(1.1, half * half / (need * need)));
}

/* One reassignment: every sample keeps its size and gets a random sign, the same for all
 * figures of a block, whose noise may go together. */
static bool alarm_once(const struct figure *figure, size_t n, double alpha, double margin,
		       uint64_t *seed, double *scratch)
{
	size_t most = 0, standing = n;
	bool alarm = false;

	for (size_t i = 0; i < n; i++)
		most = figure[i].n > most ? figure[i].n : most;
	for (size_t k = 0; k < most; k++)
		scratch[k] = stats_random(seed) >> 63 ? 1 : -1;
	for (size_t i = 0; i < n && !alarm; i++) {
		double *x = scratch + most, estimate;

		for (size_t k = 0; k < figure[i].n; k++)
			x[k] = figure[i].samples[k] * scratch[k];
		if (stats_wilcoxon(x, figure[i].n) > alpha / (double)standing)
			continue;
		estimate = stats_hodges_lehmann(x, figure[i].n);
		alarm = fabs(estimate) >= margin;
	}
	return alarm;
}

double stats_false_alarms(const struct figure *figure, size_t n, double alpha, double margin,
			  unsigned tries, uint64_t seed)
{
	size_t most = 0;
	unsigned alarms = 0;
	double *scratch;

	for (size_t i = 0; i < n; i++)
		most = figure[i].n > most ? figure[i].n : most;
	scratch = calloc(2 * most + 1, sizeof *scratch);
	if (!scratch || !tries)
		return 0;
	for (unsigned i = 0; i < tries; i++)
		alarms += alarm_once(figure, n, alpha, margin, &seed, scratch);
	free(scratch);
	return (double)alarms / tries;
}

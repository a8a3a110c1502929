#include "bench/trial.h"

#include "base/clock.h"
#include "base/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_BLOCKS = 5 };
static const double LOOK_EVERY = 0.04; /* of the budget: looking costs power */

static double now_s(void)
{
	return (double)clock_mono() / 1e9;
}

const char *trial_verdict_text(enum verdict v)
{
	static const char *const text[] = { "undecided", "same", "faster", "slower" };

	return text[v];
}

/* -- tracks --------------------------------------------------------------------------------- */

static struct track *find_track(struct trial *t, const char *metric)
{
	for (size_t i = 0; i < t->n_tracks; i++)
		if (strcmp(t->track[i].metric, metric) == 0)
			return &t->track[i];
	return NULL;
}

static struct track *add_track(struct trial *t, const char *metric)
{
	struct track *grown = realloc(t->track, (t->n_tracks + 1) * sizeof *grown), *track;

	if (!grown)
		return NULL;
	t->track = grown;
	track = &grown[t->n_tracks];
	memset(track, 0, sizeof *track);
	snprintf(track->metric, sizeof track->metric, "%s", metric);
	for (int i = 0; i < 2; i++) {
		track->tally[i] = calloc(1, sizeof *track->tally[i]);
		if (!track->tally[i])
			return NULL;
	}
	t->n_tracks++;
	return track;
}

static int add_sample(struct track *track, const struct sample *sample)
{
	struct sample *grown = realloc(track->sample, (track->n + 1) * sizeof *grown);

	if (!grown)
		return -KILN_ENOMEM;
	track->sample = grown;
	grown[track->n++] = *sample;
	return 0;
}

static void add_totals(struct track *track, const struct result r[2], unsigned series)
{
	for (int i = 0; i < 2; i++) {
		if (series >= r[i].n_series)
			continue;
		hist_merge(&track->tally[i]->hist, &r[i].series[series].tally.hist);
		track->tally[i]->bytes += r[i].series[series].tally.bytes;
		if (series == 0)
			counters_add(&track->counters[i], &r[i].counters);
	}
}

/* What one pair of runs of test number test gave, series by series. */
static int take_pair(struct trial *t, unsigned test, const struct result r[2],
		     const double begin_s[2], char order, bool warm_up)
{
	const struct test *tt = &t->s->profile.tests[test];
	char metric[3 * PROFILE_NAME];
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < r[SIDE_A].n_series; i++) {
		struct sample sample = { t->blocks, order, { result_rate(&r[0], i), result_rate(&r[1], i) },
					 { begin_s[0], begin_s[1] } };
		struct track *track;

		doc_metric(tt, r[SIDE_A].series[i].name, metric);
		track = find_track(t, metric);
		if (!track)
			track = add_track(t, metric);
		if (!track)
			return -KILN_ENOMEM;
		track->test = test;
		track->series = i;
		for (int side = 0; side < 2; side++)
			if (r[side].status == RESULT_SKIPPED)
				snprintf(track->note, sizeof track->note, "side %c: %.200s",
					 "AB"[side], r[side].why);
		if (warm_up || !(sample.rate[0] > 0) || !(sample.rate[1] > 0))
			continue;
		rc = add_sample(track, &sample);
		add_totals(track, r, i);
	}
	return rc;
}

/* -- measuring ------------------------------------------------------------------------------ */

static int measure(struct trial *t, int side, unsigned test, struct result *r, double *begin_s)
{
	uint64_t slice = (uint64_t)(t->slice_s * 1e9);
	int rc;

	*begin_s = now_s() - t->begin_s;
	trial_select_side("ab"[side]);
	rc = bench_test(t->side[side].bench, test, slice, slice, r);
	trial_select_side(0);
	if (rc == 0 && bench_interrupted())
		rc = -KILN_EINTR;
	if (rc == 0 && r->status == RESULT_FAILED) {
		session_complain("side %c: %s.%s failed: %s", "AB"[side],
				 t->s->profile.tests[test].suite, t->s->profile.tests[test].name,
				 r->why);
		rc = r->rc;
	}
	return rc;
}

static void progress(struct trial *t)
{
	const struct figure *h = &t->figure[0];
	double left = t->budget_s - (now_s() - t->begin_s);

	if (t->figure && h->n && isfinite(h->low))
		session_progress(t->s, "block %u: %+.1f %% [%+.1f .. %+.1f] %s, at most %.0f s left",
				 t->blocks, 100 * expm1(h->estimate), 100 * expm1(h->low),
				 100 * expm1(h->high), trial_verdict_text(h->verdict), left);
	else
		session_progress(t->s, "block %u, at most %.0f s left", t->blocks, left);
}

static int pair_together(struct trial *t, unsigned test, bool warm_up)
{
	struct result r[2] = { 0 };
	double begin_s[2];
	int first = (int)(stats_random(&t->rng) >> 63), rc;

	rc = measure(t, first, test, &r[first], &begin_s[first]);
	if (rc == 0)
		rc = measure(t, !first, test, &r[!first], &begin_s[!first]);
	if (rc == 0)
		rc = take_pair(t, test, r, begin_s, "ab"[first], warm_up);
	result_free(&r[0]);
	result_free(&r[1]);
	return rc;
}

static int block_together(struct trial *t, bool warm_up)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < t->s->profile.n_tests; i++)
		rc = pair_together(t, i, warm_up);
	for (int side = 0; rc == 0 && side < 2; side++)
		rc = bench_reset(t->side[side].bench);
	return rc;
}

static int open_side(struct trial *t, int side)
{
	struct trial_side *s = &t->side[side];
	const char *where;
	int rc = side_up(t->s, s, "ab"[side]);

	where = s->where ? s->where : s->printed;
	return rc < 0 ? rc : session_open(t->s, &where, 1, &s->bench);
}

static int close_side(struct trial *t, int side)
{
	struct trial_side *s = &t->side[side];
	int rc = 0, down;

	if (s->bench)
		rc = session_close(t->s, s->bench);
	s->bench = NULL;
	down = side_down(t->s, s, "ab"[side]);
	return rc < 0 ? rc : down;
}

static int side_alone(struct trial *t, int side, struct result *r, double *begin_s)
{
	int rc = open_side(t, side), closed;

	for (unsigned i = 0; rc == 0 && i < t->s->profile.n_tests; i++)
		rc = measure(t, side, i, &r[i], &begin_s[i]);
	closed = close_side(t, side);
	if (rc == 0)
		janitor_forget(t->s->janitor);
	return rc < 0 ? rc : closed;
}

/* One side after the other, each set up and taken down: the pairs are a block apart. */
static int block_alone(struct trial *t, bool warm_up)
{
	size_t n = t->s->profile.n_tests;
	struct result *r = calloc(2 * n, sizeof *r);
	double *begin_s = calloc(2 * n, sizeof *begin_s);
	int first = (int)(stats_random(&t->rng) >> 63), rc = -KILN_ENOMEM;

	if (!r || !begin_s)
		goto out;
	rc = side_alone(t, first, r + (size_t)first * n, begin_s + (size_t)first * n);
	if (rc == 0)
		rc = side_alone(t, !first, r + (size_t)!first * n, begin_s + (size_t)!first * n);
	for (unsigned i = 0; rc == 0 && i < n; i++) {
		struct result pair[2] = { r[i], r[n + i] };
		double begin[2] = { begin_s[i], begin_s[n + i] };

		rc = take_pair(t, i, pair, begin, "ab"[first], warm_up);
	}
out:
	for (size_t i = 0; r && i < 2 * n; i++)
		result_free(&r[i]);
	free(r);
	free(begin_s);
	return rc;
}

/* -- looking -------------------------------------------------------------------------------- */

/* Three times the median size of a figure's log ratios: beyond that they are clipped for the
 * headline, in which one slice that another program took the processor from would otherwise
 * outweigh all the rest.  Sizes do not depend on which side was called A, so clipping leaves
 * the symmetry that the test rests on as it is; a real effect moves the median with it. */
static double clip_of(const struct track *track)
{
	double *size = calloc(track->n + 1, sizeof *size), clip = INFINITY;

	for (size_t k = 0; size && k < track->n; k++)
		size[k] = fabs(log(track->sample[k].rate[1] / track->sample[k].rate[0]));
	if (size && track->n)
		clip = 3 * stats_median(size, track->n);
	free(size);
	return clip;
}

/* The headline's sample of a block: the mean over all figures that have one in it, that is the
 * logarithm of the geometric mean of their ratios. */
static int fill_headline(struct trial *t, struct figure *h)
{
	double *sum = calloc(t->blocks + 1, sizeof *sum);
	unsigned *n = calloc(t->blocks + 1, sizeof *n);
	int rc = sum && n ? 0 : -KILN_ENOMEM;

	for (size_t i = 0; rc == 0 && i < t->n_tracks; i++) {
		const struct track *track = &t->track[i];
		double clip = clip_of(track);

		for (size_t k = 0; k < track->n; k++) {
			const struct sample *s = &track->sample[k];

			sum[s->block] += fmax(-clip, fmin(clip, log(s->rate[1] / s->rate[0])));
			n[s->block]++;
		}
	}
	h->n = 0;
	for (unsigned b = 0; rc == 0 && b < t->blocks; b++)
		if (n[b])
			h->samples[h->n++] = sum[b] / n[b];
	free(n);
	free(sum);
	return rc;
}

static int make_figures(struct trial *t)
{
	if (t->figure)
		return 0;
	t->figure = calloc(t->n_tracks + 1, sizeof *t->figure);
	if (!t->figure)
		return -KILN_ENOMEM;
	return decision_init(&t->decision, t->figure, t->n_tracks + 1, t->s->o.alpha / 100,
			     log1p(t->s->o.margin / 100));
}

static int fill_figures(struct trial *t)
{
	int rc = make_figures(t);

	for (size_t i = 0; rc == 0 && i <= t->n_tracks; i++) {
		struct figure *f = &t->figure[i];
		const struct track *track = i ? &t->track[i - 1] : NULL;
		double *grown = realloc(f->samples, (t->blocks + 1) * sizeof *grown);

		if (!grown)
			return -KILN_ENOMEM;
		f->samples = grown;
		if (!track) {
			rc = fill_headline(t, f);
			continue;
		}
		f->n = track->n;
		for (size_t k = 0; k < track->n; k++)
			f->samples[k] = log(track->sample[k].rate[1] / track->sample[k].rate[0]);
	}
	return rc;
}

static void note_look(struct trial *t, double at)
{
	const struct figure *h = &t->figure[0];
	json_t *o = json_pack("{s:i, s:f, s:f, s:s}", "blocks", (int)t->blocks, "t", at, "estimate",
			      h->estimate, "verdict", trial_verdict_text(h->verdict));

	if (isfinite(h->low)) {
		json_object_set_new(o, "low", json_real(h->low));
		json_object_set_new(o, "high", json_real(h->high));
	}
	json_array_append_new(t->looks, o);
}

static int look(struct trial *t, double at)
{
	int rc = fill_figures(t);

	if (rc < 0)
		return rc;
	decision_look(&t->decision, at);
	note_look(t, at);
	return 0;
}

int trial_exit(const struct trial *t)
{
	if (!t->figure)
		return EXIT_UNDECIDED;
	for (size_t i = 0; i <= t->n_tracks; i++)
		if (t->figure[i].verdict == VERDICT_SLOWER)
			return EXIT_WORSE;
	return t->figure[0].verdict == VERDICT_UNDECIDED ? EXIT_UNDECIDED : EXIT_SAME;
}

/* Clear enough to stop: something is slower, or everything that can be is decided. */
static bool settled(const struct trial *t)
{
	if (!t->s->o.all && trial_exit(t) == EXIT_WORSE)
		return true;
	for (size_t i = 0; i <= t->n_tracks; i++)
		if (t->figure[i].verdict == VERDICT_UNDECIDED &&
		    !(i && t->track[i - 1].note[0] && !t->track[i - 1].n))
			return false;
	return true;
}

double trial_seconds_more(const struct trial *t)
{
	double blocks;

	if (!t->figure)
		return INFINITY;
	blocks = decision_more(&t->decision, &t->figure[0]);
	return blocks > 0 ? (blocks - (double)t->figure[0].n) * t->block_s : 0;
}

static int one_block(struct trial *t, bool warm_up)
{
	double begin = now_s();
	int rc = t->together ? block_together(t, warm_up) : block_alone(t, warm_up);

	if (rc == 0 && !warm_up)
		t->blocks++;
	t->block_s = now_s() - begin;
	return rc;
}

/* Blocks until settled or until another would not fit.  The last look is always at t = 1. */
static int all_blocks(struct trial *t)
{
	double last = 0, at = 0;
	bool done = false;
	int rc = one_block(t, true);

	while (rc == 0 && !done) {
		rc = one_block(t, false);
		at = (now_s() - t->begin_s) / t->budget_s;
		done = at + t->block_s / t->budget_s > 0.97;
		if (rc < 0 || (!done && (t->blocks < MIN_BLOCKS || at - last < LOOK_EVERY)))
			continue;
		rc = look(t, done ? 1 : at);
		last = at;
		if (rc == 0 && !t->to_the_end && settled(t))
			done = true;
		if (rc == 0)
			progress(t);
	}
	return rc;
}

int trial_run(struct trial *t)
{
	int rc = 0, closed;

	t->begin_s = now_s();
	t->looks = json_array();
	for (int side = 0; rc == 0 && t->together && side < 2; side++)
		rc = open_side(t, side);
	if (rc == 0)
		rc = all_blocks(t);
	for (int side = 1; side >= 0; side--) {
		closed = close_side(t, side);
		if (rc == 0)
			rc = closed;
	}
	if (rc == 0)
		janitor_forget(t->s->janitor);
	session_progress(t->s, "%s", "");
	return rc;
}

void trial_free(struct trial *t)
{
	for (size_t i = 0; i < t->n_tracks; i++) {
		free(t->track[i].sample);
		free(t->track[i].tally[0]);
		free(t->track[i].tally[1]);
	}
	for (size_t i = 0; t->figure && i <= t->n_tracks; i++)
		free(t->figure[i].samples);
	decision_free(&t->decision);
	free(t->figure);
	free(t->track);
	json_decref(t->looks);
}

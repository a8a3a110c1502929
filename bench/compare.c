#include "bench/compare.h"

#include "base/err.h"
#include "bench/doc.h"
#include "bench/stats.h"
#include "bench/trial.h"

#include <langinfo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 8, SAMPLES_MAX = 1024 };

static const json_t *find_series(const json_t *doc, const char *metric)
{
	const json_t *t, *s;
	size_t i, k;

	json_array_foreach(json_object_get(doc, "tests"), i, t)
		json_array_foreach(json_object_get(t, "series"), k, s)
			if (strcmp(doc_text(s, "metric"), metric) == 0)
				return s;
	return NULL;
}

/* Logarithms of a series' sampled rates; without passes, of the parts of its timeline in which
 * it did anything, scaled so that their mean is the rate. */
static size_t samples_of(const json_t *series, double *x)
{
	const json_t *passes = json_object_get(series, "passes"), *v;
	const json_t *slots = json_object_get(series, "timeline");
	double sum[PARTS] = { 0 }, all = 0, used = 0;
	size_t n = 0, i, per = json_array_size(slots) / PARTS;

	if (json_array_size(passes) >= 4) {
		json_array_foreach(passes, i, v)
			if (json_number_value(v) > 0 && n < SAMPLES_MAX)
				x[n++] = log(json_number_value(v));
		return n;
	}
	json_array_foreach(slots, i, v)
		if (per && i / per < PARTS)
			sum[i / per] += json_number_value(v);
	for (i = 0; i < PARTS; i++) {
		all += sum[i];
		used += sum[i] > 0;
	}
	for (i = 0; i < PARTS; i++)
		if (sum[i] > 0)
			x[n++] = log(sum[i] / all * used * doc_number(series, "rate"));
	return n;
}

static void differences(const double *a, size_t n, const double *b, size_t m, double *d)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < m; k++)
			d[i * m + k] = b[k] - a[i];
}

/* Mann and Whitney's U by the normal distribution, with continuity: fine from 4 and 4 on. */
static double rank_p(const double *d, size_t n, size_t m)
{
	double u = 0, nm = (double)(n * m), sd = sqrt(nm * (double)(n + m + 1) / 12);

	for (size_t i = 0; i < n * m; i++)
		u += (d[i] > 0) + ((d[i] > 0) == (d[i] < 0)) * 0.5;
	return fmin(1, 2 * stats_normal_tail((fabs(u - nm / 2) - 0.5) / sd));
}

/* Estimate and interval from the sorted differences of all pairs (Hodges and Lehmann). */
static void shift_interval(struct figure *f, double *d, size_t n, size_t m, double alpha)
{
	double nm = (double)(n * m), sd = sqrt(nm * (double)(n + m + 1) / 12);
	double k = floor(nm / 2 - stats_normal_quantile(1 - alpha / 2) * sd - 0.5);

	f->estimate = stats_median(d, n * m);
	f->low = k >= 1 ? d[(size_t)k - 1] : -INFINITY;
	f->high = k >= 1 ? d[n * m - (size_t)k] : INFINITY;
}

/* Two independent groups of samples into the figure's test, estimate and interval. */
static int fill_groups(struct figure *f, const double *a, size_t n, const double *b, size_t m,
		       double alpha)
{
	double *d;

	f->n = n < m ? n : m;
	f->p = 1;
	f->low = -INFINITY;
	f->high = INFINITY;
	if (n < 4 || m < 4)
		return 0;
	d = calloc(n * m, sizeof *d);
	if (!d)
		return -KILN_ENOMEM;
	differences(a, n, b, m, d);
	f->p = rank_p(d, n, m);
	shift_interval(f, d, n, m, alpha);
	free(d);
	return 0;
}

/* The headline's samples: the k-th of every figure averaged, so that what moves all figures of
 * a pass together counts once. */
struct sum {
	double x[SAMPLES_MAX];
	unsigned n[SAMPLES_MAX];
};

static void add_to(struct sum *sum, const double *x, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		sum->x[k] += x[k];
		sum->n[k]++;
	}
}

/* Only samples that every figure has: others would average different things. */
static size_t average(struct sum *sum)
{
	size_t n = 0;

	while (n < SAMPLES_MAX && sum->n[n] && sum->n[n] == sum->n[0]) {
		sum->x[n] /= sum->n[n];
		n++;
	}
	return n;
}

static int fill_figure(struct figure *f, const json_t *sa, const json_t *sb, double alpha,
		       struct sum sum[2])
{
	double a[SAMPLES_MAX], b[SAMPLES_MAX];
	size_t n = samples_of(sa, a), m = samples_of(sb, b);

	add_to(&sum[0], a, n);
	add_to(&sum[1], b, m);
	return fill_groups(f, a, n, b, m, alpha);
}

/* One look, so no alpha to spread over time: Holm, then the three ways. */
static void decide(struct figure *f, size_t n, double alpha, double margin)
{
	stats_holm(f, n);
	for (size_t i = 0; i < n; i++) {
		f[i].rejected = f[i].p_adjusted <= alpha;
		if (f[i].low > -margin && f[i].high < margin)
			f[i].verdict = VERDICT_SAME;
		else if (f[i].rejected && fabs(f[i].estimate) >= margin)
			f[i].verdict = f[i].estimate > 0 ? VERDICT_FASTER : VERDICT_SLOWER;
	}
}

static json_t *side_doc(const json_t *series)
{
	json_t *o = json_object();

	json_object_set_new(o, "rate", json_real(doc_number(series, "rate")));
	json_object_set(o, "latency_ns", json_object_get(series, "latency_ns"));
	json_object_set(o, "histogram_ns", json_object_get(series, "histogram_ns"));
	return o;
}

static json_t *figure_doc(const struct figure *f, const char *metric)
{
	json_t *o = json_pack("{s:s, s:I, s:f, s:f, s:f, s:s}", "metric", metric, "n",
			      (json_int_t)f->n, "estimate", f->estimate, "p", f->p, "p_adjusted",
			      f->p_adjusted, "verdict", trial_verdict_text(f->verdict));

	json_object_set_new(o, "low", isfinite(f->low) ? json_real(f->low) : json_null());
	json_object_set_new(o, "high", isfinite(f->high) ? json_real(f->high) : json_null());
	return o;
}

/* The common figures, [0] left free for the headline; names borrowed from a. */
static size_t common(const json_t *a, const json_t *b, const char **metric, size_t cap)
{
	const json_t *t, *s;
	size_t i, k, n = 1;

	json_array_foreach(json_object_get(a, "tests"), i, t)
		json_array_foreach(json_object_get(t, "series"), k, s) {
			const json_t *other = find_series(b, doc_text(s, "metric"));

			if (n < cap && other && doc_number(s, "ops") > 0 && doc_number(other, "ops") > 0)
				metric[n++] = doc_text(s, "metric");
		}
	return n;
}

static int exit_of(const struct figure *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (f[i].verdict == VERDICT_SLOWER)
			return 1;
	return f[0].verdict == VERDICT_UNDECIDED ? 2 : 0;
}

static void write_doc(const json_t *a, const json_t *b, const char *const *metric,
		      const struct figure *f, size_t n, double alpha, double margin, json_t *doc)
{
	json_t *list = json_array(), *warnings = json_array();

	json_object_set(doc, "machine", json_object_get(b, "machine"));
	json_object_set(doc, "targets", json_object_get(b, "targets"));
	json_object_set(doc, "profile", json_object_get(b, "profile"));
	json_object_set_new(doc, "warnings", warnings);
	json_array_append_new(warnings, json_string("stored runs: drift between them is not cancelled "
						    "out; ab measures both sides together"));
	if (!json_equal(json_object_get(json_object_get(a, "machine"), "kernel"),
			json_object_get(json_object_get(b, "machine"), "kernel")) ||
	    !json_equal(json_object_get(json_object_get(a, "machine"), "processor"),
			json_object_get(json_object_get(b, "machine"), "processor")))
		json_array_append_new(warnings, json_string("the two runs are of different machines "
							    "or kernels"));
	for (size_t i = 1; i < n; i++) {
		json_t *o = figure_doc(&f[i], metric[i]);

		json_object_set_new(o, "a", side_doc(find_series(a, metric[i])));
		json_object_set_new(o, "b", side_doc(find_series(b, metric[i])));
		json_array_append_new(list, o);
	}
	json_object_set_new(doc, "figures", list);
	json_object_set_new(doc, "result",
			    json_pack("{s:o, s:f, s:f, s:i, s:i, s:n}", "headline",
				      figure_doc(&f[0], "all tests"), "margin", margin, "alpha", alpha,
				      "exit", exit_of(f, n), "blocks", 0, "more_s"));
	json_object_set_new(doc, "exit", json_integer(exit_of(f, n)));
}

int compare_docs(const json_t *a, const json_t *b, double alpha, double margin, json_t *doc)
{
	const char *metric[SAMPLES_MAX];
	size_t n = common(a, b, metric, SAMPLES_MAX);
	struct figure *f;
	struct sum *sum;
	int rc = 0;

	if (n < 2)
		return -KILN_ENOENT;
	f = calloc(n, sizeof *f);
	sum = calloc(2, sizeof *sum);
	if (!f || !sum)
		rc = -KILN_ENOMEM;
	for (size_t i = 1; rc == 0 && i < n; i++)
		rc = fill_figure(&f[i], find_series(a, metric[i]), find_series(b, metric[i]), alpha,
				 sum);
	if (rc == 0) {
		size_t na = average(&sum[0]), nb = average(&sum[1]);

		rc = fill_groups(&f[0], sum[0].x, na, sum[1].x, nb, alpha);
	}
	if (rc == 0) {
		decide(f, n, alpha, margin);
		write_doc(a, b, metric, f, n, alpha, margin, doc);
		rc = exit_of(f, n);
	}
	free(sum);
	free(f);
	return rc;
}

/* -- history -------------------------------------------------------------------------------- */

struct shift {
	const char *metric;
	double *rate; /* logarithms, one per result that has it */
	size_t *doc;  /* which result */
	size_t n, at; /* at: first after the shift, 0 for none */
	double p, size;
};

static int fill_shift(struct shift *s, const json_t *docs)
{
	size_t all = json_array_size(docs);

	s->rate = calloc(all, sizeof *s->rate);
	s->doc = calloc(all, sizeof *s->doc);
	if (!s->rate || !s->doc)
		return -KILN_ENOMEM;
	for (size_t i = 0; i < all; i++) {
		const json_t *series = find_series(json_array_get(docs, i), s->metric);

		if (!series || doc_number(series, "rate") <= 0)
			continue;
		s->rate[s->n] = log(doc_number(series, "rate"));
		s->doc[s->n++] = i;
	}
	s->at = stats_change_point(s->rate, s->n, &s->p, &s->size);
	return 0;
}

/* Eight heights between the least and the most. */
static void sparkline(const struct shift *s, FILE *out)
{
	static const char *const high[] = { "\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83", "\xe2\x96\x84",
					    "\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88" };
	bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	double least = INFINITY, most = -INFINITY;
	size_t from = s->n > 40 ? s->n - 40 : 0;

	for (size_t i = from; i < s->n; i++) {
		least = fmin(least, s->rate[i]);
		most = fmax(most, s->rate[i]);
	}
	for (size_t i = from; i < s->n; i++) {
		int level = most > least ? (int)((s->rate[i] - least) / (most - least) * 7.99) : 3;

		if (utf8)
			fputs(high[level], out);
		else
			fputc("_.-~=+*#"[level], out);
	}
}

static bool shifted(const struct shift *s, double p_adjusted, double alpha, double margin)
{
	return s->at && p_adjusted <= alpha && fabs(s->size) >= margin;
}

static void shift_row(const struct shift *s, const json_t *docs, bool is_shift, FILE *out)
{
	fprintf(out, "  %-32.32s ", s->metric);
	sparkline(s, out);
	if (is_shift)
		fprintf(out, "  %+.1f %% from '%s' on (result %zu)", 100 * expm1(s->size),
			doc_text(json_array_get(docs, s->doc[s->at]), "label"), s->doc[s->at] + 1);
	fputc('\n', out);
}

int compare_history(const json_t *docs, double alpha, double margin, FILE *out)
{
	const json_t *last = json_array_get(docs, json_array_size(docs) - 1);
	const char *metric[SAMPLES_MAX];
	size_t n = last ? common(last, last, metric, SAMPLES_MAX) : 1;
	struct shift *s = calloc(n, sizeof *s);
	struct figure *f = calloc(n, sizeof *f);
	int code = s && f ? 0 : -KILN_ENOMEM;

	for (size_t i = 1; code == 0 && i < n; i++) {
		s[i - 1].metric = metric[i];
		code = fill_shift(&s[i - 1], docs);
		f[i - 1].p = s[i - 1].p;
	}
	if (code == 0)
		stats_holm(f, n - 1);
	fprintf(out, "%zu results\n", json_array_size(docs));
	for (size_t i = 0; code >= 0 && i + 1 < n; i++) {
		bool is_shift = shifted(&s[i], f[i].p_adjusted, alpha, margin);

		shift_row(&s[i], docs, is_shift, out);
		if (is_shift && s[i].size < 0)
			code = 1;
	}
	for (size_t i = 0; s && i + 1 < n; i++) {
		free(s[i].rate);
		free(s[i].doc);
	}
	free(s);
	free(f);
	return code;
}

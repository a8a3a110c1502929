/* The plots of the report. */
#include "bench/render_parts.h"

#include "bench/doc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A linear map from data to the drawing. */
struct axis {
	double from, to;   /* data */
	double at, length; /* drawing; length is negative for one that goes up */
};

static double on(const struct axis *a, double v)
{
	double share = (v - a->from) / (a->to - a->from);

	return a->at + a->length * fmin(1, fmax(0, share));
}

static void begin(FILE *out, double w, double h, const char *label)
{
	fprintf(out, "<svg viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" role=\"img\" "
		     "aria-label=\"",
		w, h, w, h);
	render_xml_text(out, label);
	fprintf(out, "\">\n");
}

static void line(FILE *out, const char *class, double x1, double y1, double x2, double y2)
{
	fprintf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class,
		x1, y1, x2, y2);
}

static void rect(FILE *out, const char *class, double x, double y, double w, double h)
{
	fprintf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
		class, x, y, fmax(w, 0), fmax(h, 0));
}

static void dot(FILE *out, const char *class, double x, double y, double r)
{
	fprintf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", class, x, y, r);
}

static void text(FILE *out, const char *class, double x, double y, const char *words)
{
	fprintf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, y);
	render_xml_text(out, words);
	fprintf(out, "</text>\n");
}

static double percent(double log_ratio)
{
	return 100 * expm1(log_ratio);
}

/* 1, 2 or 5 times a power of ten, so that about n steps fill the range. */
static double nice_step(double range, double n)
{
	double raw = range / n, unit = pow(10, floor(log10(raw)));

	return raw / unit > 5 ? 10 * unit : raw / unit > 2 ? 5 * unit : raw / unit > 1 ? 2 * unit : unit;
}

/* -- effects with intervals ----------------------------------------------------------------- */

enum { ROW = 24, LABEL = 222, PLOT = 416, WIDE = 900, TOP = 34 };

/* Wide enough for the estimates and the margin, but not for intervals without bound. */
static double effect_limit(const json_t *doc, double margin)
{
	double limit = 3 * margin;
	const json_t *f;
	size_t i;

	json_array_foreach(json_object_get(doc, "figures"), i, f) {
		limit = fmax(limit, fmin(0.7, 1.3 * fabs(doc_number(f, "estimate"))));
		if (json_is_number(json_object_get(f, "high")))
			limit = fmax(limit, fmin(0.4, fmax(doc_number(f, "high"),
							   -doc_number(f, "low"))));
	}
	return limit;
}

static void effect_grid(FILE *out, const struct axis *x, double margin, double bottom)
{
	double limit = percent(x->to), step = nice_step(2 * limit, 14);
	char label[16];

	rect(out, "margin", on(x, -margin), TOP - 6, on(x, margin) - on(x, -margin),
	     bottom - TOP + 12);
	for (double v = -floor(limit / step) * step; v <= limit; v += step) {
		double at = on(x, log1p(v / 100));

		if (v <= -100 || log1p(v / 100) < x->from)
			continue;
		line(out, fabs(v) < step / 2 ? "zero" : "grid", at, TOP - 6, at, bottom + 6);
		snprintf(label, sizeof label, fabs(v) < step / 2 ? "0 %%" : "%+.3g %%", v);
		text(out, "tick mid", at, TOP - 12, label);
	}
}

static void effect_row(FILE *out, const json_t *f, const struct axis *x, double y, bool strong)
{
	const json_t *low = json_object_get(f, "low"), *high = json_object_get(f, "high");
	double a = json_is_number(low) ? json_number_value(low) : -100;
	double b = json_is_number(high) ? json_number_value(high) : 100;
	char class[48], words[96], interval[48];

	snprintf(class, sizeof class, "v-%s%s", doc_text(f, "verdict"), strong ? " strong" : "");
	text(out, strong ? "label strong" : "label", 4, y + 4, doc_text(f, "metric"));
	line(out, class, on(x, a), y, on(x, b), y);
	if (a >= x->from)
		line(out, class, on(x, a), y - 5, on(x, a), y + 5);
	if (b <= x->to)
		line(out, class, on(x, b), y - 5, on(x, b), y + 5);
	dot(out, class, on(x, doc_number(f, "estimate")), y, strong ? 6 : 4.5);
	render_interval(f, interval, sizeof interval);
	snprintf(words, sizeof words, "%+.1f %%  (%s)", percent(doc_number(f, "estimate")), interval);
	text(out, "value", LABEL + PLOT + 16, y + 4, words);
	text(out, class, WIDE - 74, y + 4, doc_text(f, "verdict"));
}

void plot_effects(const json_t *doc, FILE *out)
{
	const json_t *list = json_object_get(doc, "figures"), *r = json_object_get(doc, "result"), *f;
	double margin = doc_number(r, "margin"), limit = effect_limit(doc, margin), y = TOP + 12;
	struct axis x = { -limit, limit, LABEL, PLOT };
	double bottom = TOP + ROW * (double)(json_array_size(list) + 1);
	size_t i;

	begin(out, WIDE, bottom + 12, "Effect of B against A for every test, with its interval");
	effect_grid(out, &x, margin, bottom);
	effect_row(out, json_object_get(r, "headline"), &x, y, true);
	json_array_foreach(list, i, f)
		effect_row(out, f, &x, y += ROW, false);
	fprintf(out, "</svg>\n");
}

/* -- blocks over time ----------------------------------------------------------------------- */

struct block {
	double at, ratio, rate[2]; /* means over the figures, as logarithms */
	unsigned n;
};

/* Each figure's rates relative to its own mean, so that figures of any size average. */
static size_t collect_blocks(const json_t *doc, struct block *block, size_t cap)
{
	size_t i, k, n = 0;
	const json_t *f, *s;

	json_array_foreach(json_object_get(doc, "figures"), i, f) {
		double base = log(doc_number(json_object_get(f, "a"), "rate"));

		json_array_foreach(json_object_get(f, "samples"), k, s) {
			size_t b = (size_t)doc_number(s, "block");
			double la = log(doc_number(s, "a")), lb = log(doc_number(s, "b"));

			if (b >= cap || !isfinite(base))
				continue;
			n = b + 1 > n ? b + 1 : n;
			block[b].n++;
			block[b].ratio += lb - la;
			block[b].rate[0] += la - base;
			block[b].rate[1] += lb - base;
			block[b].at = fmax(block[b].at, doc_number(s, "a_at_s"));
		}
	}
	for (i = 0; i < n; i++) {
		double by = block[i].n ? block[i].n : 1;

		block[i].ratio /= by;
		block[i].rate[0] /= by;
		block[i].rate[1] /= by;
	}
	return n;
}

static double spread(const struct block *b, size_t n, bool rates)
{
	double most = 0.02;

	for (size_t i = 0; i < n; i++)
		most = fmax(most, rates ? fmax(fabs(b[i].rate[0]), fabs(b[i].rate[1])) :
					  fabs(b[i].ratio));
	return fmin(most * 1.1, 1.5);
}

static void time_axis(FILE *out, const struct axis *x, double bottom)
{
	double step = nice_step(x->to, 8);
	char label[16];

	for (double v = 0; v <= x->to; v += step) {
		snprintf(label, sizeof label, "%.4g s", v);
		text(out, "tick mid", on(x, v), bottom + 16, label);
	}
}

static void level(FILE *out, const struct axis *y, double v, double left, double right,
		  const char *label)
{
	line(out, fabs(v) < 1e-9 ? "zero" : "grid", left, on(y, v), right, on(y, v));
	text(out, "tick end", left - 6, on(y, v) + 4, label);
}

/* Per cent while they are small; beyond, factors of two say more than "-75 %, +300 %" do. */
static void ratio_axis(FILE *out, const struct axis *y, double left, double right)
{
	double limit = percent(y->to), step = nice_step(2 * limit, 6);
	char label[16];

	if (y->to > log(2.2)) {
		for (double v = -floor(y->to / M_LN2); v <= y->to / M_LN2; v++) {
			snprintf(label, sizeof label, "x %.3g", exp2(v));
			level(out, y, v * M_LN2, left, right, label);
		}
		return;
	}
	for (double v = -floor(limit / step) * step; v <= limit; v += step) {
		bool zero = fabs(v) < step / 2;

		if (v <= -100 || log1p(v / 100) < y->from)
			continue;
		snprintf(label, sizeof label, zero ? "0 %%" : "%+.3g %%", v);
		level(out, y, zero ? 0 : log1p(v / 100), left, right, label);
	}
}

static void draw_ratio(FILE *out, const json_t *doc, const struct block *b, size_t n, double end)
{
	const json_t *r = json_object_get(doc, "result"), *h = json_object_get(r, "headline");
	double limit = fmax(spread(b, n, false), 2 * doc_number(r, "margin")), m = doc_number(r, "margin");
	struct axis x = { 0, end, 70, 810 }, y = { -limit, limit, 180, -160 };

	begin(out, WIDE, 212, "Ratio of B to A in every block over time");
	rect(out, "margin", 70, on(&y, m), 810, on(&y, -m) - on(&y, m));
	ratio_axis(out, &y, 70, 880);
	if (json_is_number(json_object_get(h, "low")))
		rect(out, "interval", 70, on(&y, doc_number(h, "high")), 810,
		     on(&y, doc_number(h, "low")) - on(&y, doc_number(h, "high")));
	line(out, "estimate", 70, on(&y, doc_number(h, "estimate")), 880,
	     on(&y, doc_number(h, "estimate")));
	for (size_t i = 0; i < n; i++)
		if (b[i].n)
			dot(out, "both", on(&x, b[i].at), on(&y, b[i].ratio), 3);
	time_axis(out, &x, 184);
	fprintf(out, "</svg>\n");
}

static void draw_drift(FILE *out, const struct block *b, size_t n, double end)
{
	static const char *const class[] = { "side-a", "side-b" };
	double limit = spread(b, n, true);
	struct axis x = { 0, end, 70, 810 }, y = { -limit, limit, 180, -160 };

	begin(out, WIDE, 212, "Speed of A and of B in every block over time");
	ratio_axis(out, &y, 70, 880);
	for (int side = 0; side < 2; side++) {
		fprintf(out, "<polyline class=\"%s\" points=\"", class[side]);
		for (size_t i = 0; i < n; i++)
			if (b[i].n)
				fprintf(out, "%.1f,%.1f ", on(&x, b[i].at), on(&y, b[i].rate[side]));
		fprintf(out, "\"/>\n");
	}
	time_axis(out, &x, 184);
	fprintf(out, "</svg>\n");
}

void plot_blocks(const json_t *doc, FILE *out)
{
	enum { CAP = 20000 };
	struct block *b = calloc(CAP, sizeof *b);
	size_t n = b ? collect_blocks(doc, b, CAP) : 0;

	if (n) {
		double end = fmax(b[n - 1].at * 1.02, 1);

		fprintf(out, "<figure><figcaption>B against A, block by block (all tests; band: margin "
			     "and interval)</figcaption>\n");
		draw_ratio(out, doc, b, n, end);
		fprintf(out, "</figure>\n<figure><figcaption>Speed of <span class=\"key-a\">A</span> "
			     "and <span class=\"key-b\">B</span> against A's median: what both share "
			     "is drift of the machine and cancels out</figcaption>\n");
		draw_drift(out, b, n, end);
		fprintf(out, "</figure>\n");
	}
	free(b);
}

/* -- rates and latencies of a run ----------------------------------------------------------- */

static void decade_label(int decade, char out[16])
{
	render_duration(pow(10, decade), out);
}

static void latency_axis(FILE *out, const struct axis *x, double top, double bottom)
{
	char label[16];

	for (int d = (int)ceil(x->from); d <= x->to; d++) {
		line(out, "grid", on(x, d), top, on(x, d), bottom);
		decade_label(d, label);
		text(out, "tick mid", on(x, d), top - 6, label);
	}
}

static double lg(double v)
{
	return log10(fmax(v, 1));
}

static void latency_row(FILE *out, const json_t *s, const struct axis *x, double y)
{
	const json_t *l = json_object_get(s, "latency_ns");
	char rate[16], words[48];

	text(out, "label", 4, y + 4, doc_text(s, "metric"));
	line(out, "range", on(x, lg(doc_number(l, "min"))), y, on(x, lg(doc_number(l, "max"))), y);
	rect(out, "box", on(x, lg(doc_number(l, "p50"))), y - 5,
	     on(x, lg(doc_number(l, "p99"))) - on(x, lg(doc_number(l, "p50"))), 10);
	dot(out, "side-a-dot", on(x, lg(doc_number(l, "p50"))), y, 4.5);
	dot(out, "mean-dot", on(x, lg(doc_number(l, "mean"))), y, 2.5);
	render_rate(doc_number(s, "rate"), rate);
	snprintf(words, sizeof words, "%s/s", rate);
	text(out, "value", LABEL + PLOT + 60, y + 4, words);
}

static size_t count_series(const json_t *doc)
{
	const json_t *t;
	size_t i, n = 0;

	json_array_foreach(json_object_get(doc, "tests"), i, t)
		n += json_array_size(json_object_get(t, "series"));
	return n;
}

void plot_rates(const json_t *doc, FILE *out)
{
	struct axis x = { 2, 9.3, LABEL, PLOT + 40 };
	double y = TOP + 4, bottom = TOP + 20 * (double)count_series(doc);
	const json_t *t, *s;
	size_t i, k;

	begin(out, WIDE, bottom + 10, "Latency of every test: median, mean, 99th percentile, extremes");
	latency_axis(out, &x, TOP - 8, bottom);
	json_array_foreach(json_object_get(doc, "tests"), i, t)
		json_array_foreach(json_object_get(t, "series"), k, s) {
			if (doc_number(s, "ops") > 0)
				latency_row(out, s, &x, y);
			y += 20;
		}
	fprintf(out, "</svg>\n");
}

/* -- distributions -------------------------------------------------------------------------- */

enum { BINS = 270 };
static const double BIN_FROM = 1, BIN_TO = 10; /* 10 ns to 10 s, as powers of ten */

/* Share of all operations in each of BINS equal steps of the logarithm; returns the most. */
static double bin(const json_t *hist, double *bins)
{
	double total = 0, most = 0;
	const json_t *pair;
	size_t i;

	memset(bins, 0, BINS * sizeof *bins);
	json_array_foreach(hist, i, pair) {
		double low = json_number_value(json_array_get(pair, 0));
		double n = json_number_value(json_array_get(pair, 1));
		double at = (lg(low * 1.015) - BIN_FROM) / (BIN_TO - BIN_FROM) * BINS;

		bins[(int)fmin(BINS - 1, fmax(0, at))] += n;
		total += n;
	}
	for (i = 0; i < BINS; i++) {
		bins[i] /= total > 0 ? total : 1;
		most = fmax(most, bins[i]);
	}
	return most;
}

static void range_of(const double *bins, int *first, int *last)
{
	for (int i = 0; i < BINS; i++)
		if (bins[i] > 0.0005) {
			*first = i < *first ? i : *first;
			*last = i > *last ? i : *last;
		}
}

static void outline(FILE *out, const char *class, const double *bins, int first, int last,
		    const struct axis *x, const struct axis *y)
{
	fprintf(out, "<polygon class=\"%s\" points=\"%.1f,%.1f ", class, on(x, first), on(y, 0));
	for (int i = first; i <= last; i++)
		fprintf(out, "%.1f,%.1f %.1f,%.1f ", on(x, i), on(y, bins[i]), on(x, i + 1),
			on(y, bins[i]));
	fprintf(out, "%.1f,%.1f\"/>\n", on(x, last + 1), on(y, 0));
}

void plot_distribution(const json_t *hist_a, const json_t *hist_b, const char *title, FILE *out)
{
	double a[BINS], b[BINS], most = bin(hist_a, a);
	int first = BINS - 1, last = 0;
	struct axis x = { 0, 1, 8, 264 }, y = { 0, 1, 92, -66 };
	char label[16];

	if (hist_b)
		most = fmax(most, bin(hist_b, b));
	range_of(a, &first, &last);
	if (hist_b)
		range_of(b, &first, &last);
	if (most <= 0 || first > last)
		return;
	x.from = first - 4;
	x.to = last + 5;
	y.to = most * 1.05;
	begin(out, 280, 112, title);
	text(out, "label small", 8, 14, title);
	outline(out, "side-a-area", a, first, last, &x, &y);
	if (hist_b)
		outline(out, "side-b-line", b, first, last, &x, &y);
	line(out, "zero", 8, 92, 272, 92);
	for (int d = (int)BIN_FROM; d <= BIN_TO; d++) {
		double at = (d - BIN_FROM) / (BIN_TO - BIN_FROM) * BINS;

		if (at < x.from || at > x.to)
			continue;
		line(out, "grid", on(&x, at), 92, on(&x, at), 96);
		if (on(&x, at) < 28 || on(&x, at) > 252)
			continue; /* the words would be cut off */
		decade_label(d, label);
		text(out, "tick mid", on(&x, at), 107, label);
	}
	fprintf(out, "</svg>\n");
}

void plot_timeline(const json_t *series, double slot_s, FILE *out)
{
	const json_t *slots = json_object_get(series, "timeline"), *v;
	size_t n = json_array_size(slots), i;
	double most = 1;
	struct axis x = { 0, (double)n, 8, 264 }, y = { 0, 1, 60, -40 };
	char label[32];

	json_array_foreach(slots, i, v)
		most = fmax(most, json_number_value(v));
	y.to = most * 1.05;
	begin(out, 280, 80, doc_text(series, "metric"));
	text(out, "label small", 8, 14, doc_text(series, "metric"));
	fprintf(out, "<polyline class=\"side-a\" points=\"");
	json_array_foreach(slots, i, v)
		fprintf(out, "%.1f,%.1f %.1f,%.1f ", on(&x, (double)i), on(&y, json_number_value(v)),
			on(&x, (double)i + 1), on(&y, json_number_value(v)));
	fprintf(out, "\"/>\n");
	line(out, "zero", 8, 60, 272, 60);
	render_duration(slot_s * (double)n * 1e9, label);
	text(out, "tick end", 272, 75, label);
	fprintf(out, "</svg>\n");
}

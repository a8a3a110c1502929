/* CSV, Markdown and JUnit. */
#include "bench/render_parts.h"

#include "bench/doc.h"
#include "bench/session.h"

#include <math.h>
#include <string.h>

static double percent(double log_ratio)
{
	return 100 * expm1(log_ratio);
}

static bool is_trial(const json_t *doc)
{
	return json_object_get(doc, "figures") != NULL;
}

/* -- CSV ------------------------------------------------------------------------------------ */

static void csv_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

/* What is unbounded is an empty field. */
static void csv_bound(FILE *out, const json_t *f, const char *key)
{
	const json_t *v = json_object_get(f, key);

	if (json_is_number(v))
		fprintf(out, ",%.4f", percent(json_number_value(v)));
	else
		fputc(',', out);
}

static void csv_run(const json_t *doc, FILE *out)
{
	static const char *const lat[] = { "min", "mean", "p50", "p90", "p99", "p999", "max" };
	const json_t *test, *s;
	size_t i, k;

	fprintf(out, "metric,status,ops,rate_per_s,bytes_per_s,min_ns,mean_ns,p50_ns,p90_ns,p99_ns,"
		     "p999_ns,max_ns\n");
	json_array_foreach(json_object_get(doc, "tests"), i, test) {
		json_array_foreach(json_object_get(test, "series"), k, s) {
			csv_text(out, doc_text(s, "metric"));
			fprintf(out, ",%s,%.0f,%.3f,%.0f", doc_text(test, "status"),
				doc_number(s, "ops"), doc_number(s, "rate"),
				doc_number(s, "bytes_per_s"));
			for (size_t l = 0; l < sizeof lat / sizeof lat[0]; l++)
				fprintf(out, ",%.0f",
					doc_number(json_object_get(s, "latency_ns"), lat[l]));
			fputc('\n', out);
		}
		if (json_array_size(json_object_get(test, "series")) == 0) {
			fprintf(out, "\"%s.%s\",%s", doc_text(test, "suite"), doc_text(test, "test"),
				doc_text(test, "status"));
			fprintf(out, ",,,,,,,,,,\n");
		}
	}
}

static void csv_figure(FILE *out, const json_t *f)
{
	csv_text(out, doc_text(f, "metric"));
	fprintf(out, ",%s,%.0f,%.3f,%.3f,%.4f", doc_text(f, "verdict"), doc_number(f, "n"),
		doc_number(json_object_get(f, "a"), "rate"),
		doc_number(json_object_get(f, "b"), "rate"), percent(doc_number(f, "estimate")));
	csv_bound(out, f, "low");
	csv_bound(out, f, "high");
	fprintf(out, ",%.6g,%.6g\n", doc_number(f, "p"), doc_number(f, "p_adjusted"));
}

static void csv_trial(const json_t *doc, FILE *out)
{
	const json_t *f;
	size_t i;

	fprintf(out, "metric,verdict,samples,a_per_s,b_per_s,effect_pct,low_pct,high_pct,p,p_holm\n");
	csv_figure(out, json_object_get(json_object_get(doc, "result"), "headline"));
	json_array_foreach(json_object_get(doc, "figures"), i, f)
		csv_figure(out, f);
}

void render_csv(const json_t *doc, FILE *out)
{
	if (is_trial(doc))
		csv_trial(doc, out);
	else
		csv_run(doc, out);
}

/* -- Markdown ------------------------------------------------------------------------------- */

void render_answer(const json_t *doc, char *out, size_t cap)
{
	static const char *const text[] = { "Same or better", "Worse", "Undecided" };
	const json_t *r = json_object_get(doc, "result"), *h = json_object_get(r, "headline");
	unsigned code = (unsigned)doc_number(r, "exit");

	snprintf(out, cap, "%s: B is %.1f %% %s than A%s", code < 3 ? text[code] : "?",
		 fabs(percent(doc_number(h, "estimate"))),
		 doc_number(h, "estimate") < 0 ? "slower" : "faster",
		 strcmp(doc_text(h, "verdict"), "same") == 0 ? ", within the margin" : "");
}

void render_interval(const json_t *f, char *out, size_t cap)
{
	const json_t *low = json_object_get(f, "low"), *high = json_object_get(f, "high");

	if (json_is_number(low) && json_is_number(high))
		snprintf(out, cap, "%+.1f .. %+.1f %%", percent(json_number_value(low)),
			 percent(json_number_value(high)));
	else
		snprintf(out, cap, "too few samples");
}

static void md_figure(FILE *out, const json_t *f, const char *strong)
{
	char rate[2][16] = { "", "" }, interval[48];

	if (json_object_get(f, "a")) {
		render_rate(doc_number(json_object_get(f, "a"), "rate"), rate[0]);
		render_rate(doc_number(json_object_get(f, "b"), "rate"), rate[1]);
	}
	render_interval(f, interval, sizeof interval);
	fprintf(out, "| %s%s%s | %s | %s | %+.1f %% | %s | %.2g | %s%s%s |\n", strong,
		doc_text(f, "metric"), strong, rate[0], rate[1], percent(doc_number(f, "estimate")),
		interval, doc_number(f, "p_adjusted"), strong, doc_text(f, "verdict"), strong);
}

static void md_trial(const json_t *doc, FILE *out)
{
	const json_t *f, *r = json_object_get(doc, "result");
	char answer[160];
	size_t i;

	render_answer(doc, answer, sizeof answer);
	fprintf(out, "**%s** (%.0f blocks in %.0f s, margin %.1f %%)\n\n", answer,
		doc_number(r, "blocks"), doc_number(doc, "took_s"), percent(doc_number(r, "margin")));
	fprintf(out, "| test | A per s | B per s | B vs A | interval | p (Holm) | verdict |\n"
		     "|---|--:|--:|--:|--:|--:|---|\n");
	md_figure(out, json_object_get(r, "headline"), "**");
	json_array_foreach(json_object_get(doc, "figures"), i, f)
		md_figure(out, f, "");
}

static void md_series(FILE *out, const json_t *test, const json_t *s)
{
	const json_t *lat = json_object_get(s, "latency_ns");
	static const char *const keys[] = { "mean", "p50", "p99", "max" };
	char rate[16], t[16];

	render_rate(doc_number(s, "rate"), rate);
	fprintf(out, "| %s | %s |", doc_text(s, "metric"), rate);
	for (int k = 0; k < 4; k++) {
		render_duration(doc_number(lat, keys[k]), t);
		fprintf(out, " %s |", t);
	}
	fprintf(out, " %s |\n", doc_text(test, "why"));
}

static void md_run(const json_t *doc, FILE *out)
{
	const json_t *test, *s;
	size_t i, k;

	fprintf(out, "| test | per s | mean | p50 | p99 | max | note |\n"
		     "|---|--:|--:|--:|--:|--:|---|\n");
	json_array_foreach(json_object_get(doc, "tests"), i, test) {
		json_array_foreach(json_object_get(test, "series"), k, s)
			md_series(out, test, s);
		if (json_array_size(json_object_get(test, "series")) == 0)
			fprintf(out, "| %s.%s | | | | | | %s: %s |\n", doc_text(test, "suite"),
				doc_text(test, "test"), doc_text(test, "status"),
				doc_text(test, "why"));
	}
}

void render_md(const json_t *doc, FILE *out)
{
	const json_t *m = json_object_get(doc, "machine"), *w;
	size_t i;

	if (is_trial(doc))
		md_trial(doc, out);
	else
		md_run(doc, out);
	fprintf(out, "\n%s, %.0f x %s, kiln-bench %s, %s\n", doc_text(m, "kernel"),
		doc_number(m, "processors"), doc_text(m, "processor"), doc_text(doc, "version"),
		doc_text(doc, "date"));
	json_array_foreach(json_object_get(doc, "warnings"), i, w)
		fprintf(out, "\n> warning: %s\n", json_string_value(w));
}

/* -- JUnit ---------------------------------------------------------------------------------- */

void render_xml_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '<')
			fputs("&lt;", out);
		else if (c == '>')
			fputs("&gt;", out);
		else if (c == '&')
			fputs("&amp;", out);
		else if (c == '"')
			fputs("&quot;", out);
		else if (c >= ' ' || c == '\n' || c == '\t')
			fputc(c, out);
	}
}

static void junit_case(FILE *out, const char *name, const char *verdict, const char *text,
		       double seconds)
{
	fprintf(out, "  <testcase classname=\"kiln-bench\" name=\"");
	render_xml_text(out, name);
	fprintf(out, "\" time=\"%.3f\">", seconds);
	if (strcmp(verdict, "slower") == 0 || strcmp(verdict, "failed") == 0)
		fprintf(out, "<failure message=\"");
	else if (strcmp(verdict, "undecided") == 0 || strcmp(verdict, "skipped") == 0)
		fprintf(out, "<skipped message=\"%s: ", verdict);
	else {
		fprintf(out, "</testcase>\n");
		return;
	}
	render_xml_text(out, text);
	fprintf(out, "\"/></testcase>\n");
}

static void junit_figure(FILE *out, const json_t *f)
{
	char interval[48], text[128];

	render_interval(f, interval, sizeof interval);
	snprintf(text, sizeof text, "%+.1f %% (%s)", percent(doc_number(f, "estimate")), interval);
	junit_case(out, doc_text(f, "metric"), doc_text(f, "verdict"), text, 0);
}

static unsigned count_verdict(const json_t *list, const char *key, const char *a, const char *b)
{
	unsigned n = 0;
	const json_t *o;
	size_t i;

	json_array_foreach(list, i, o)
		n += strcmp(doc_text(o, key), a) == 0 || strcmp(doc_text(o, key), b) == 0;
	return n;
}

void render_junit(const json_t *doc, FILE *out)
{
	bool trial = is_trial(doc);
	const json_t *list = json_object_get(doc, trial ? "figures" : "tests"), *o;
	const json_t *h = json_object_get(json_object_get(doc, "result"), "headline");
	const char *key = trial ? "verdict" : "status", *verdict = doc_text(h, "verdict");
	unsigned failed = count_verdict(list, key, "slower", "failed") +
			  (strcmp(verdict, "slower") == 0);
	unsigned skipped = count_verdict(list, key, "undecided", "skipped") +
			   (strcmp(verdict, "undecided") == 0);
	char name[128];
	size_t i;

	fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"kiln-bench\" "
		     "tests=\"%zu\" failures=\"%u\" skipped=\"%u\" time=\"%.3f\">\n",
		json_array_size(list) + (trial ? 1 : 0), failed, skipped, doc_number(doc, "took_s"));
	if (trial)
		junit_figure(out, h);
	json_array_foreach(list, i, o) {
		snprintf(name, sizeof name, "%s.%s", doc_text(o, "suite"), doc_text(o, "test"));
		if (trial)
			junit_figure(out, o);
		else
			junit_case(out, name, doc_text(o, "status"), doc_text(o, "why"),
				   doc_number(o, "elapsed_s"));
	}
	fprintf(out, "</testsuite>\n");
}

#include "bench/render.h"

#include "bench/doc.h"

#include <langinfo.h>
#include <math.h>
#include <string.h>

enum { BAR = 12, WHISKER = 21 };

void render_duration(double ns, char out[16])
{
	static const struct {
		double limit, factor;
		const char *unit;
	} steps[] = { { 1e3, 1, "ns" }, { 1e6, 1e3, "us" }, { 1e9, 1e6, "ms" }, { 1e15, 1e9, "s" } };
	unsigned i = 0;

	while (i < 3 && ns >= steps[i].limit)
		i++;
	ns /= steps[i].factor;
	snprintf(out, 16, ns < 10 && i ? "%.2f %s" : ns < 100 && i ? "%.1f %s" : "%.0f %s", ns,
		 steps[i].unit);
}

void render_rate(double per_s, char out[16])
{
	if (per_s >= 1e6)
		snprintf(out, 16, "%.2f M", per_s / 1e6);
	else if (per_s >= 1e4)
		snprintf(out, 16, "%.1f k", per_s / 1e3);
	else if (per_s >= 100)
		snprintf(out, 16, "%.0f", per_s);
	else
		snprintf(out, 16, "%.2f", per_s);
}

double render_per_op(const json_t *test, const char *counter)
{
	const json_t *value = json_object_get(json_object_get(test, "counters"), counter), *s;
	double ops = 0;
	size_t i;

	json_array_foreach(json_object_get(test, "series"), i, s)
		ops += doc_number(s, "ops");
	return json_is_number(value) && ops > 0 ? json_number_value(value) / ops : -1;
}

static bool utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* Rates span decades, so a bar's length is logarithmic: empty is 10 a second, full 10 million. */
static void bar(double rate, char out[BAR * 3 + 1])
{
	double full = rate > 10 ? log10(rate / 10) / 6 * BAR : 0;
	const char *block = utf8() ? "\xe2\x96\x88" : "#", *half = utf8() ? "\xe2\x96\x8c" : "";
	unsigned n = full > BAR ? BAR : (unsigned)full, used = n;

	out[0] = 0;
	for (unsigned i = 0; i < n; i++)
		strcat(out, block);
	if (full - n >= 0.5 && n < BAR && *half) {
		strcat(out, half);
		used++;
	}
	for (; used < BAR; used++)
		strcat(out, " ");
}

/* Flushes and the server's processor time per operation, where there are any. */
static size_t counters_note(const json_t *test, char *out, size_t cap)
{
	double flushes = render_per_op(test, "device_flushes");
	double server = render_per_op(test, "server_ns");
	char t[16];
	size_t n = 0;

	if (flushes >= 0.05)
		n += (size_t)snprintf(out, cap, " %.2f flushes", flushes);
	if (server > 0) {
		render_duration(server, t);
		n += (size_t)snprintf(out + n, cap - n, " server %s", t);
	}
	return n;
}

static void note(const json_t *test, const json_t *s, double first_rate, char *out, size_t cap)
{
	double bytes = doc_number(s, "bytes_per_s"), trend = doc_number(s, "last_to_first");
	size_t n = 0;

	out[0] = 0;
	if (bytes > 0)
		n += (size_t)snprintf(out, cap, " %.4g MiB/s", bytes / (1 << 20));
	if (trend > 0)
		n += (size_t)snprintf(out + n, cap - n, " last/first %.2f", trend);
	if (json_is_true(json_object_get(test, "scale")) && first_rate > 0)
		n += (size_t)snprintf(out + n, cap - n, " x%.2f", doc_number(s, "rate") / first_rate);
	n += counters_note(test, out + n, cap - n);
	if (*doc_text(test, "why"))
		snprintf(out + n, cap - n, " (%s)", doc_text(test, "why"));
}

static void row(FILE *out, const char *name, double rate, const json_t *lat, double cpu_ns,
		const char *notes)
{
	char bars[BAR * 3 + 1], per_s[16], t[4][16], cpu[16] = "";
	static const char *const keys[] = { "mean", "p50", "p99", "max" };

	bar(rate, bars);
	render_rate(rate, per_s);
	for (unsigned i = 0; i < 4; i++)
		render_duration(doc_number(lat, keys[i]), t[i]);
	if (cpu_ns >= 0)
		render_duration(cpu_ns, cpu);
	fprintf(out, "  %-26.26s %s %8s %8s %8s %8s %8s %8s %s\n", name, bars, per_s, t[0], t[1], t[2],
		t[3], cpu, notes);
}

static void client_rows(FILE *out, const json_t *s)
{
	const json_t *c;
	char t[3][16], per_s[16];
	size_t i;

	json_array_foreach(json_object_get(s, "clients"), i, c) {
		render_rate(doc_number(c, "rate"), per_s);
		render_duration(doc_number(c, "mean_ns"), t[0]);
		render_duration(doc_number(c, "p99_ns"), t[1]);
		render_duration(doc_number(c, "max_ns"), t[2]);
		fprintf(out, "    client %-4.0f %40s %9s %19s %9s\n", doc_number(c, "client"), per_s,
			t[0], t[1], t[2]);
	}
}

static const char *short_name(const json_t *series)
{
	const char *metric = doc_text(series, "metric"), *dot = strchr(metric, '.');

	return dot ? dot + 1 : metric;
}

static void test_rows(FILE *out, const json_t *test, double *first_rate, bool per_client)
{
	const json_t *series = json_object_get(test, "series"), *s;
	char notes[400];
	size_t i;

	if (json_array_size(series) == 0)
		fprintf(out, "  %-26.26s %s: %s\n", doc_text(test, "test"), doc_text(test, "status"),
			doc_text(test, "why"));
	json_array_foreach(series, i, s) {
		if (*first_rate == 0)
			*first_rate = doc_number(s, "rate");
		note(test, s, *first_rate, notes, sizeof notes);
		row(out, short_name(s), doc_number(s, "rate"), json_object_get(s, "latency_ns"),
		    render_per_op(test, "user_ns") + render_per_op(test, "system_ns"), notes);
		if (per_client)
			client_rows(out, s);
	}
}

static void head(const json_t *doc, FILE *out)
{
	const json_t *machine = json_object_get(doc, "machine"), *t;
	char flush[16];
	size_t i;

	fprintf(out, "%s, %.0f x %s\n", doc_text(machine, "kernel"), doc_number(machine, "processors"),
		doc_text(machine, "processor"));
	json_array_foreach(json_object_get(doc, "targets"), i, t) {
		render_duration(doc_number(t, "flush_us_median") * 1000, flush);
		fprintf(out, "%s: %s, flush %s\n", doc_text(t, "where"),
			*doc_text(t, "file_system") ? doc_text(t, "file_system") : doc_text(t, "kind"),
			json_object_get(t, "flush_us_median") ? flush : "unknown");
	}
}

static void warnings(const json_t *doc, FILE *out)
{
	const json_t *w;
	size_t i;

	json_array_foreach(json_object_get(doc, "warnings"), i, w)
		fprintf(out, "warning: %s\n", json_string_value(w));
}

static void run_table(const json_t *doc, FILE *out, bool per_client)
{
	const char *suite = "";
	double first_rate = 0;
	const json_t *test;
	size_t i;

	fprintf(out, "  %-26s %-12s %8s %8s %8s %8s %8s %8s\n", "", "10..10M/s", "per s", "mean", "p50",
		"p99", "max", "cpu/op");
	json_array_foreach(json_object_get(doc, "tests"), i, test) {
		if (strcmp(suite, doc_text(test, "suite")) != 0) {
			suite = doc_text(test, "suite");
			first_rate = 0;
			fprintf(out, "%s\n", suite);
		}
		test_rows(out, test, &first_rate, per_client);
	}
	fprintf(out, "%.1f s\n", doc_number(doc, "took_s"));
}

/* The interval on a line from -limit to +limit: [--+--], the middle of the line at zero. */
static void whisker(double low, double mid, double high, double limit, char out[WHISKER + 1])
{
	int at[3], centre = WHISKER / 2;
	double v[3] = { low, mid, high };

	memset(out, ' ', WHISKER);
	out[WHISKER] = 0;
	for (int i = 0; i < 3; i++) {
		double x = v[i] < -limit ? -limit : v[i] > limit ? limit : v[i];

		at[i] = (int)lround((x + limit) / (2 * limit) * (WHISKER - 1));
	}
	out[centre] = '|';
	for (int i = at[0]; i <= at[2]; i++)
		out[i] = '-';
	out[at[0]] = low < -limit ? '<' : '[';
	out[at[2]] = high > limit ? '>' : ']';
	out[at[1]] = 'o';
}

static double percent(double log_ratio)
{
	return 100 * expm1(log_ratio);
}

static void figure_row(FILE *out, const json_t *f, double limit)
{
	const json_t *low = json_object_get(f, "low"), *high = json_object_get(f, "high");
	double mid = doc_number(f, "estimate");
	char line[WHISKER + 1], interval[40] = "(too few)", rates[2][16] = { "", "" };
	static const char *const sides[] = { "a", "b" };

	for (int i = 0; i < 2; i++)
		if (json_object_get(f, sides[i]))
			render_rate(doc_number(json_object_get(f, sides[i]), "rate"), rates[i]);
	if (*doc_text(f, "note") && doc_number(f, "n") <= 0) {
		fprintf(out, "  %-28.28s skipped: %s\n", doc_text(f, "metric"), doc_text(f, "note"));
		return;
	}
	whisker(json_is_number(low) ? json_number_value(low) : -10 * limit, mid,
		json_is_number(high) ? json_number_value(high) : 10 * limit, limit, line);
	if (json_is_number(low))
		snprintf(interval, sizeof interval, "%+.1f .. %+.1f", percent(json_number_value(low)),
			 percent(json_number_value(high)));
	fprintf(out, "  %-28.28s %9s %9s %+7.1f %% %17s %s %8.2g %s\n", doc_text(f, "metric"),
		rates[0], rates[1], percent(mid), interval, line, doc_number(f, "p_adjusted"),
		doc_text(f, "verdict"));
}

static void answer(const json_t *doc, FILE *out)
{
	const json_t *r = json_object_get(doc, "result"), *h = json_object_get(r, "headline");
	const json_t *more = json_object_get(r, "more_s");
	static const char *const text[] = { "same or better", "worse", "undecided" };
	int code = (int)doc_number(r, "exit");

	fprintf(out, "B against A: %+.1f %%, %s", percent(doc_number(h, "estimate")),
		code >= 0 && code < 3 ? text[code] : "?");
	if (code == 2 && json_is_number(more))
		fprintf(out, "; about %.0f s more would decide it", json_number_value(more));
	else if (code == 2 && strcmp(doc_text(doc, "kind"), "compare") != 0)
		fprintf(out, "; the difference sits on the margin: more time will not decide it");
	if (doc_number(r, "blocks") > 0)
		fprintf(out, "  (%.0f blocks, %.1f s, margin %.1f %%)", doc_number(r, "blocks"),
			doc_number(doc, "took_s"), percent(doc_number(r, "margin")));
	fputc('\n', out);
}

/* What A against A is for. */
static void noise_answer(const json_t *doc, FILE *out)
{
	const json_t *r = json_object_get(doc, "result");

	fprintf(out, "A against itself: %s (%.0f blocks, %.1f s)\n",
		doc_number(doc, "exit") > 0 ? "FALSE ALARM" : "no false alarm",
		doc_number(r, "blocks"), doc_number(doc, "took_s"));
	fprintf(out, "noise floor: %.1f %% for the headline, %.1f %% for the worst test; false alarms "
		     "when these samples' labels are drawn anew: %.1f %%\n",
		percent(doc_number(r, "noise_floor_headline")),
		percent(doc_number(r, "noise_floor_worst")),
		100 * doc_number(r, "false_alarm_rate"));
}

static void trial_table(const json_t *doc, FILE *out)
{
	const json_t *r = json_object_get(doc, "result"), *f;
	double limit = 5 * doc_number(r, "margin");
	size_t i;

	fprintf(out, "  %-28s %9s %9s %9s %17s %-*s %8s\n", "", "A per s", "B per s", "B vs A",
		"interval %", WHISKER, "-15%     0     +15%", "p (Holm)");
	json_array_foreach(json_object_get(doc, "figures"), i, f)
		figure_row(out, f, limit);
	figure_row(out, json_object_get(r, "headline"), limit);
	if (strcmp(doc_text(doc, "kind"), "aa") == 0)
		noise_answer(doc, out);
	else
		answer(doc, out);
}

static bool is_trial(const json_t *doc)
{
	return json_object_get(json_object_get(doc, "result"), "headline") != NULL;
}

void render_screen(const json_t *doc, FILE *out, bool per_client)
{
	head(doc, out);
	if (strcmp(doc_text(doc, "kind"), "run") == 0)
		run_table(doc, out, per_client);
	else if (is_trial(doc))
		trial_table(doc, out);
	warnings(doc, out);
	fflush(out);
}

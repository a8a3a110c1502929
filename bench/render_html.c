/* The report: one page that needs nothing else, readable on a light or dark screen and on
 * paper, and by ear. */
#include "bench/render_parts.h"

#include "bench/doc.h"

#include <math.h>
#include <string.h>

static const char style[] =
	":root{--bg:#fff;--fg:#1b1f24;--soft:#5b6571;--rule:#d8dde3;--card:#f5f7f9;--a:#2468b4;"
	"--b:#c4570a;--good:#1a7f4b;--bad:#b3261e;--open:#5b6571;--band:#dfe6ee;--iv:#c9dbf2}\n"
	"@media(prefers-color-scheme:dark){:root{--bg:#14181d;--fg:#e6e9ec;--soft:#9aa5b1;"
	"--rule:#343c45;--card:#1c2229;--a:#6ea8ee;--b:#f0a05a;--good:#5cc98f;--bad:#ff8a80;"
	"--open:#9aa5b1;--band:#28313b;--iv:#24405f}}\n"
	"body{background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif;margin:0 auto;"
	"max-width:940px;padding:24px 20px}\n"
	"h1{font-size:20px;margin:0 0 4px}h2{font-size:16px;margin:28px 0 8px}\n"
	".answer{font-size:26px;font-weight:650;line-height:1.25;margin:10px 0 4px}\n"
	".sub,figcaption{color:var(--soft);font-size:13px}figure{margin:12px 0}\n"
	".warn{border-left:4px solid var(--b);background:var(--card);padding:6px 12px;margin:6px 0}\n"
	".tablebox{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13px;"
	"font-variant-numeric:tabular-nums}\n"
	"th{text-align:right;color:var(--soft);font-weight:500}th:first-child,td:first-child,"
	"td.l,th.l{text-align:left}\n"
	"td,th{padding:3px 8px;border-bottom:1px solid var(--rule);white-space:nowrap;"
	"text-align:right}\n"
	"td.wrap{white-space:normal;text-align:left}\n"
	".slower,.failed{color:var(--bad);font-weight:600}.faster,.same,.ok{color:var(--good)}"
	".undecided,.skipped{color:var(--open)}\n"
	"svg{max-width:100%;height:auto;display:block}.grid-3{display:grid;gap:10px;"
	"grid-template-columns:repeat(auto-fill,minmax(260px,1fr))}\n"
	"svg text{fill:var(--fg);font:12px system-ui,sans-serif}svg .tick{fill:var(--soft);"
	"font-size:11px}svg .small{font-size:11.5px}svg .mid{text-anchor:middle}"
	"svg .end{text-anchor:end}svg text.strong{font-weight:650}\n"
	"svg .value{font-size:11.5px}svg line.grid{stroke:var(--rule)}svg line.zero{stroke:var(--soft)}\n"
	"svg .margin{fill:var(--band)}svg .interval{fill:var(--iv);opacity:.75}"
	"svg .estimate{stroke:var(--a);stroke-width:2}\n"
	"svg .both{fill:var(--fg);opacity:.65}svg .side-a{fill:none;stroke:var(--a);stroke-width:1.8}"
	"svg .side-b{fill:none;stroke:var(--b);stroke-width:1.8}\n"
	"svg .side-a-area{fill:var(--a);opacity:.35}svg .side-b-line{fill:none;stroke:var(--b);"
	"stroke-width:1.8}svg .side-a-dot{fill:var(--a)}svg .mean-dot{fill:var(--b)}\n"
	"svg .range{stroke:var(--soft)}svg .box{fill:var(--a);opacity:.35}\n"
	"svg line.v-same,svg line.v-faster{stroke:var(--good);stroke-width:2}"
	"svg line.v-slower{stroke:var(--bad);stroke-width:2.4}"
	"svg line.v-undecided{stroke:var(--open);stroke-width:2}\n"
	"svg circle.v-same,svg circle.v-faster,svg text.v-same,svg text.v-faster{fill:var(--good)}"
	"svg circle.v-slower,svg text.v-slower{fill:var(--bad)}"
	"svg circle.v-undecided,svg text.v-undecided{fill:var(--open)}\n"
	"svg text[class^=v-]{font-size:11.5px}.key-a{color:var(--a);font-weight:600}"
	".key-b{color:var(--b);font-weight:600}\n"
	"details{margin:8px 0}summary{cursor:pointer;color:var(--soft)}\n"
	"@media print{:root{--bg:#fff;--fg:#000;--soft:#444;--rule:#bbb;--card:#fff;--a:#1f5fa8;"
	"--b:#a84a06;--good:#10613a;--bad:#8f1812;--open:#444;--band:#e8e8e8;--iv:#d4e2f3}"
	"body{max-width:none;padding:0;font-size:10.5pt}h2{break-after:avoid}"
	"figure,tr,svg{break-inside:avoid}.tablebox{overflow:visible}table{font-size:8pt}"
	"td,th{padding:2px 4px}details>*{display:block}"
	"*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}\n";

static void words(FILE *out, const char *text)
{
	render_xml_text(out, text);
}

static void open_page(const json_t *doc, FILE *out)
{
	fprintf(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
		     "<meta name=\"color-scheme\" content=\"light dark\"><title>kiln-bench %s",
		doc_text(doc, "kind"));
	words(out, *doc_text(doc, "label") ? " - " : "");
	words(out, doc_text(doc, "label"));
	fprintf(out, "</title><style>\n%s</style></head><body>\n", style);
}

static void warnings(const json_t *doc, FILE *out)
{
	const json_t *w;
	size_t i;

	json_array_foreach(json_object_get(doc, "warnings"), i, w) {
		fprintf(out, "<p class=\"warn\">Warning: ");
		words(out, json_string_value(w));
		fprintf(out, "</p>\n");
	}
}

static void cell(FILE *out, const char *class, const char *text)
{
	fprintf(out, "<td class=\"%s\">", class);
	words(out, text);
	fprintf(out, "</td>");
}

static void count_cell(FILE *out, double n)
{
	char text[32] = "";

	if (n >= 0)
		snprintf(text, sizeof text, n < 10 ? "%.2f" : "%.0f", n);
	cell(out, "", text);
}

static void fact(FILE *out, const char *name, const char *text)
{
	if (!*text)
		return;
	fprintf(out, "<tr>");
	cell(out, "l", name);
	cell(out, "wrap", text);
	fprintf(out, "</tr>\n");
}

static void target_facts(FILE *out, const json_t *t)
{
	char text[512], flush[16] = "unknown";

	if (json_object_get(t, "flush_us_median"))
		render_duration(1000 * doc_number(t, "flush_us_median"), flush);
	snprintf(text, sizeof text, "%.100s on %.60s (%.150s), flush %s, %.1f of %.1f GiB free",
		 *doc_text(t, "file_system") ? doc_text(t, "file_system") : doc_text(t, "kind"),
		 doc_text(t, "source"), doc_text(t, "super_options"), flush,
		 doc_number(t, "bytes_free") / (1 << 30), doc_number(t, "bytes_total") / (1 << 30));
	fact(out, doc_text(t, "where"), text);
}

static void environment(const json_t *doc, FILE *out)
{
	const json_t *m = json_object_get(doc, "machine"), *t;
	char text[256];
	size_t i;

	fprintf(out, "<h2>Where it was measured</h2><div class=\"tablebox\"><table>\n");
	snprintf(text, sizeof text, "%.0f x %.120s", doc_number(m, "processors"),
		 doc_text(m, "processor"));
	fact(out, "processors", text);
	fact(out, "kernel", doc_text(m, "kernel"));
	fact(out, "governor", doc_text(m, "governor"));
	fact(out, "clock", doc_text(m, "clock"));
	snprintf(text, sizeof text, "%.2f before the run",
		 json_number_value(json_array_get(json_object_get(m, "load"), 0)));
	fact(out, "load", text);
	json_array_foreach(json_object_get(doc, "targets"), i, t)
		target_facts(out, t);
	fact(out, "date", doc_text(doc, "date"));
	fact(out, "profile", doc_text(json_object_get(doc, "profile"), "name"));
	fprintf(out, "</table></div>\n");
}

/* -- a trial -------------------------------------------------------------------------------- */

static void trial_head(const json_t *doc, FILE *out)
{
	const json_t *r = json_object_get(doc, "result"), *h = json_object_get(r, "headline");
	char answer[160], interval[48];

	render_answer(doc, answer, sizeof answer);
	render_interval(h, interval, sizeof interval);
	fprintf(out, "<p class=\"answer %s\">", doc_text(h, "verdict"));
	words(out, answer);
	fprintf(out, "</p>\n<p class=\"sub\">Interval %s over all tests; %.0f blocks in %.0f s; "
		     "differences below %.1f %% do not matter here; at most %.0f in 100 such "
		     "comparisons of equal things may say &#8220;changed&#8221;.",
		interval, doc_number(r, "blocks"), doc_number(doc, "took_s"),
		100 * expm1(doc_number(r, "margin")), 100 * doc_number(r, "alpha"));
	if (strcmp(doc_text(h, "verdict"), "undecided") == 0)
		fprintf(out, json_is_number(json_object_get(r, "more_s")) ?
				     " About %.0f s more would decide it." :
				     " The difference sits on the margin: more time will not decide it.",
			doc_number(r, "more_s"));
	fprintf(out, "</p>\n");
}

static void trial_row(FILE *out, const json_t *f)
{
	char text[64], interval[48];
	const json_t *side[] = { json_object_get(f, "a"), json_object_get(f, "b") };

	fprintf(out, "<tr>");
	cell(out, "l", doc_text(f, "metric"));
	for (int i = 0; i < 2; i++) {
		text[0] = 0;
		if (side[i])
			render_rate(doc_number(side[i], "rate"), text);
		cell(out, "", text);
	}
	snprintf(text, sizeof text, "%+.1f %%", 100 * expm1(doc_number(f, "estimate")));
	cell(out, "", text);
	render_interval(f, interval, sizeof interval);
	cell(out, "", interval);
	for (int i = 0; i < 2; i++) {
		text[0] = 0;
		if (side[i])
			render_duration(doc_number(json_object_get(side[i], "latency_ns"), "p99"),
					text);
		cell(out, "", text);
	}
	snprintf(text, sizeof text, "%.2g", doc_number(f, "p_adjusted"));
	cell(out, "", text);
	cell(out, doc_text(f, "verdict"), doc_text(f, "verdict"));
	fprintf(out, "</tr>\n");
}

static void trial_table(const json_t *doc, FILE *out)
{
	const json_t *f;
	size_t i;

	fprintf(out, "<h2>All figures</h2><div class=\"tablebox\"><table><tr><th>test</th><th>A per "
		     "s</th><th>B per s</th><th>B vs A</th><th>interval</th><th>A p99</th>"
		     "<th>B p99</th><th>p (Holm)</th><th>verdict</th></tr>\n");
	trial_row(out, json_object_get(json_object_get(doc, "result"), "headline"));
	json_array_foreach(json_object_get(doc, "figures"), i, f)
		trial_row(out, f);
	fprintf(out, "</table></div>\n");
}

/* The counters that the system gave, per operation, A and B side by side. */
static void trial_counters(const json_t *doc, FILE *out)
{
	static const struct {
		const char *key, *title;
	} columns[] = { { "user_ns", "user ns" }, { "system_ns", "system ns" },
			{ "switches", "switches" }, { "server_ns", "server ns" },
			{ "device_bytes", "device bytes" }, { "device_flushes", "flushes" } };
	static const char *const sides[] = { "a", "b" };
	const json_t *f, *v;
	size_t i;

	fprintf(out, "<h2>Counters per operation</h2><div class=\"tablebox\"><table><tr><th>test</th>");
	for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++)
		fprintf(out, "<th>%s A</th><th>B</th>", columns[c].title);
	fprintf(out, "</tr>\n");
	json_array_foreach(json_object_get(doc, "figures"), i, f) {
		fprintf(out, "<tr>");
		cell(out, "l", doc_text(f, "metric"));
		for (size_t c = 0; c < 2 * sizeof columns / sizeof columns[0]; c++) {
			v = json_object_get(json_object_get(json_object_get(f, sides[c % 2]), "per_op"),
					    columns[c / 2].key);
			count_cell(out, json_is_number(v) ? json_number_value(v) : -1);
		}
		fprintf(out, "</tr>\n");
	}
	fprintf(out, "</table></div>\n");
}

static void trial_distributions(const json_t *doc, FILE *out)
{
	const json_t *f;
	size_t i;

	fprintf(out, "<h2>Latency distributions</h2><p class=\"sub\">Share of operations by "
		     "duration, logarithmic: <span class=\"key-a\">A filled</span>, "
		     "<span class=\"key-b\">B outlined</span>.</p><div class=\"grid-3\">\n");
	json_array_foreach(json_object_get(doc, "figures"), i, f)
		plot_distribution(json_object_get(json_object_get(f, "a"), "histogram_ns"),
				  json_object_get(json_object_get(f, "b"), "histogram_ns"),
				  doc_text(f, "metric"), out);
	fprintf(out, "</div>\n");
}

static void trial_page(const json_t *doc, FILE *out)
{
	trial_head(doc, out);
	warnings(doc, out);
	fprintf(out, "<h2>Effect with interval</h2><figure><figcaption>Left of zero B is slower; the "
		     "grey band is the margin.</figcaption>\n");
	plot_effects(doc, out);
	fprintf(out, "</figure><h2>Timeline</h2>\n");
	plot_blocks(doc, out);
	trial_distributions(doc, out);
	trial_table(doc, out);
	trial_counters(doc, out);
}

/* -- a run ---------------------------------------------------------------------------------- */

static void run_row(FILE *out, const json_t *test, const json_t *s)
{
	static const char *const keys[] = { "mean", "p50", "p99", "max" };
	char text[32];

	fprintf(out, "<tr>");
	cell(out, "l", doc_text(s, "metric"));
	render_rate(doc_number(s, "rate"), text);
	cell(out, "", text);
	for (int i = 0; i < 4; i++) {
		render_duration(doc_number(json_object_get(s, "latency_ns"), keys[i]), text);
		cell(out, "", text);
	}
	text[0] = 0;
	if (doc_number(s, "bytes_per_s") > 0)
		snprintf(text, sizeof text, "%.4g", doc_number(s, "bytes_per_s") / (1 << 20));
	cell(out, "", text);
	render_duration(render_per_op(test, "user_ns") + render_per_op(test, "system_ns"), text);
	cell(out, "", text);
	count_cell(out, render_per_op(test, "switches"));
	count_cell(out, render_per_op(test, "device_flushes"));
	cell(out, doc_text(test, "status"), doc_text(test, "status"));
	fprintf(out, "</tr>\n");
}

static void run_table(const json_t *doc, FILE *out)
{
	const json_t *test, *s;
	size_t i, k;

	fprintf(out, "<h2>All tests</h2><div class=\"tablebox\"><table><tr><th>test</th><th>per s</th>"
		     "<th>mean</th><th>p50</th><th>p99</th><th>max</th><th>MiB/s</th><th>cpu/op</th>"
		     "<th>switches/op</th><th>flushes/op</th><th>status</th>"
		     "</tr>\n");
	json_array_foreach(json_object_get(doc, "tests"), i, test) {
		json_array_foreach(json_object_get(test, "series"), k, s)
			run_row(out, test, s);
		if (!*doc_text(test, "why"))
			continue;
		fprintf(out, "<tr>");
		cell(out, "l", doc_text(test, "test"));
		fprintf(out, "<td class=\"wrap\" colspan=\"9\">");
		words(out, doc_text(test, "why"));
		fprintf(out, "</td>");
		cell(out, doc_text(test, "status"), doc_text(test, "status"));
		fprintf(out, "</tr>\n");
	}
	fprintf(out, "</table></div>\n");
}

static void run_plots(const json_t *doc, FILE *out)
{
	const json_t *test, *s;
	size_t i, k;

	fprintf(out, "<h2>Latency distributions</h2><div class=\"grid-3\">\n");
	json_array_foreach(json_object_get(doc, "tests"), i, test)
		json_array_foreach(json_object_get(test, "series"), k, s)
			plot_distribution(json_object_get(s, "histogram_ns"), NULL,
					  doc_text(s, "metric"), out);
	fprintf(out, "</div><h2>Operations over time</h2><div class=\"grid-3\">\n");
	json_array_foreach(json_object_get(doc, "tests"), i, test)
		json_array_foreach(json_object_get(test, "series"), k, s)
			if (doc_number(s, "ops") > 0)
				plot_timeline(s, doc_number(test, "slot_s"), out);
	fprintf(out, "</div>\n");
}

static void run_page(const json_t *doc, FILE *out)
{
	fprintf(out, "<p class=\"answer\">%zu tests in %.0f s</p>\n",
		json_array_size(json_object_get(doc, "tests")), doc_number(doc, "took_s"));
	warnings(doc, out);
	fprintf(out, "<h2>Latency and rate</h2><figure><figcaption>Large dot: median; small dot: mean; "
		     "box: median to 99th percentile; line: extremes. On the right operations a "
		     "second.</figcaption>\n");
	plot_rates(doc, out);
	fprintf(out, "</figure>\n");
	run_table(doc, out);
	run_plots(doc, out);
}

void render_html(const json_t *doc, FILE *out)
{
	bool trial = json_object_get(json_object_get(doc, "result"), "headline") != NULL;

	open_page(doc, out);
	fprintf(out, "<h1>kiln-bench %s ", doc_text(doc, "kind"));
	words(out, doc_text(doc, "label"));
	fprintf(out, "</h1>\n");
	if (trial)
		trial_page(doc, out);
	else
		run_page(doc, out);
	environment(doc, out);
	fprintf(out, "<p class=\"sub\">kiln-bench %s</p></body></html>\n", doc_text(doc, "version"));
}

#include "bench/doc.h"

#include "base/err.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static json_t *text_or(const char *text, const char *otherwise)
{
	json_t *value = text ? json_string(text) : NULL;

	return value ? value : json_string(otherwise);
}

json_t *doc_new(const char *kind, const char *label, int argc, char **argv)
{
	json_t *doc = json_object(), *command = json_array();
	char date[32];
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &tm);
	for (int i = 0; i < argc; i++)
		json_array_append_new(command, text_or(argv[i], "?"));
	json_object_set_new(doc, "format", json_string(DOC_FORMAT));
	json_object_set_new(doc, "kind", json_string(kind));
	json_object_set_new(doc, "version", json_string(KILN_VERSION));
	json_object_set_new(doc, "date", json_string(date));
	json_object_set_new(doc, "label", text_or(label, ""));
	json_object_set_new(doc, "command", command);
	return doc;
}

void doc_set_profile(json_t *doc, const struct profile *p, unsigned threads, unsigned procs,
		     double budget_s)
{
	json_object_set_new(doc, "profile",
			    json_pack("{s:s, s:o, s:o, s:i, s:i, s:f}", "name", p->name, "about",
				      text_or(p->about, ""), "text", text_or(p->text, ""),
				      "threads", (int)threads, "procs", (int)procs, "budget_s",
				      budget_s));
}

void doc_metric(const struct test *t, const char *series, char out[3 * PROFILE_NAME])
{
	if (strcmp(series, t->name) == 0)
		snprintf(out, 3 * PROFILE_NAME, "%s.%s", t->suite, t->name);
	else
		snprintf(out, 3 * PROFILE_NAME, "%s.%s.%s", t->suite, t->name, series);
}

json_t *doc_latency(const struct hist *h)
{
	return json_pack("{s:I, s:I, s:f, s:I, s:I, s:I, s:I}", "min",
			 (json_int_t)(h->count ? h->min : 0), "max", (json_int_t)h->max, "mean",
			 hist_mean(h), "p50", (json_int_t)hist_quantile(h, 0.5), "p90",
			 (json_int_t)hist_quantile(h, 0.9), "p99",
			 (json_int_t)hist_quantile(h, 0.99), "p999",
			 (json_int_t)hist_quantile(h, 0.999));
}

json_t *doc_histogram(const struct hist *h)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		if (h->bucket[i])
			json_array_append_new(list,
					      json_pack("[I,I]", (json_int_t)hist_bucket_low(i),
							(json_int_t)h->bucket[i]));
	return list;
}

static json_t *timeline(const uint32_t *slots)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < SLOTS; i++)
		json_array_append_new(list, json_integer(slots[i]));
	return list;
}

static json_t *clients_of(const struct result *r, unsigned series)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < r->n_clients; i++) {
		const struct client *c = &r->clients[i];

		if (c->series != series)
			continue;
		json_array_append_new(
			list, json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "client",
					(int)c->worker, "ops", (json_int_t)c->ops, "busy_ns",
					(json_int_t)c->busy_ns, "min_ns", (json_int_t)c->min_ns,
					"max_ns", (json_int_t)c->max_ns, "p50_ns",
					(json_int_t)c->p50_ns, "p99_ns", (json_int_t)c->p99_ns,
					"mean_ns", c->ops ? (double)c->busy_ns / (double)c->ops : 0.0,
					"rate",
					c->busy_ns ? (double)c->ops * 1e9 / (double)c->busy_ns : 0.0));
	}
	return list;
}

static json_t *series_doc(const struct test *t, const struct result *r, unsigned i)
{
	const struct series *s = &r->series[i];
	char metric[3 * PROFILE_NAME];
	json_t *o = json_object();
	double seconds = (double)r->elapsed_ns / 1e9;

	doc_metric(t, s->name, metric);
	json_object_set_new(o, "name", json_string(s->name));
	json_object_set_new(o, "metric", json_string(metric));
	json_object_set_new(o, "ops", json_integer((json_int_t)s->tally.hist.count));
	json_object_set_new(o, "bytes", json_integer((json_int_t)s->tally.bytes));
	json_object_set_new(o, "rate", json_real(s->rate));
	json_object_set_new(
		o, "throughput",
		json_real(seconds > 0 ? (double)s->tally.hist.count / seconds : 0));
	json_object_set_new(o, "bytes_per_s",
			    json_real(s->tally.hist.count ? s->rate * (double)s->tally.bytes /
								   (double)s->tally.hist.count :
							   0));
	json_object_set_new(o, "latency_ns", doc_latency(&s->tally.hist));
	if (t->rounds > 1)
		json_object_set_new(o, "last_to_first",
				    json_real(result_trend(r, i, (unsigned)t->rounds)));
	json_object_set_new(o, "histogram_ns", doc_histogram(&s->tally.hist));
	json_object_set_new(o, "timeline", timeline(s->tally.slots));
	json_object_set_new(o, "clients", clients_of(r, i));
	return o;
}

static json_t *counters_doc(const struct result *r)
{
	const struct counters *c = &r->counters;
	json_t *o = json_object();

#define X(field, ...) \
	if ((strncmp(#field, "server", 6) != 0 || c->has_server) && \
	    (strncmp(#field, "device", 6) != 0 || c->has_device)) \
		json_object_set_new(o, #field, json_integer((json_int_t)c->field));
	COUNTERS(X)
#undef X
	return o;
}

json_t *doc_test(const struct test *t, const struct result *r, unsigned procs)
{
	static const char *const status[] = { "ok", "skipped", "failed", "interrupted" };
	json_t *o = json_object(), *series = json_array();

	json_object_set_new(o, "suite", json_string(t->suite));
	json_object_set_new(o, "test", json_string(t->name));
	json_object_set_new(o, "status", json_string(status[r->status]));
	json_object_set_new(o, "why", json_string(r->why));
	json_object_set_new(o, "scale", json_boolean(t->scale));
	json_object_set_new(o, "procs", json_integer(procs));
	json_object_set_new(o, "prepare_s", json_real((double)r->prepare_ns / 1e9));
	json_object_set_new(o, "elapsed_s", json_real((double)r->elapsed_ns / 1e9));
	json_object_set_new(o, "slot_s", json_real((double)r->slot_ns / 1e9));
	for (unsigned i = 0; i < r->n_series && r->status != RESULT_SKIPPED; i++)
		json_array_append_new(series, series_doc(t, r, i));
	json_object_set_new(o, "series", series);
	json_object_set_new(o, "counters", counters_doc(r));
	return o;
}

int doc_save(const json_t *doc, const char *path, char *why)
{
	FILE *f = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
	int rc = 0;

	if (!f || json_dumpf(doc, f, JSON_COMPACT | JSON_REAL_PRECISION(9)) < 0 ||
	    fputc('\n', f) == EOF)
		rc = -KILN_EIO;
	if (f && f != stdout && fclose(f) != 0)
		rc = -KILN_EIO;
	if (rc < 0)
		snprintf(why, WHY_MAX, "cannot write '%.200s': %m", path);
	return rc;
}

int doc_load(const char *path, json_t **doc, char *why)
{
	json_error_t error;

	*doc = json_load_file(path, 0, &error);
	if (!*doc) {
		snprintf(why, WHY_MAX, "%.100s: %.120s", path, error.text);
		return -KILN_EINVAL;
	}
	if (strcmp(doc_text(*doc, "format"), DOC_FORMAT) == 0)
		return 0;
	snprintf(why, WHY_MAX, "%.100s is not a result of kiln-bench (format '%.40s', not '%s')",
		 path, doc_text(*doc, "format"), DOC_FORMAT);
	json_decref(*doc);
	return -KILN_EINVAL;
}

const char *doc_text(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

double doc_number(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

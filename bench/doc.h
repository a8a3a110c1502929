/* Results as a JSON document: the one form that is stored, compared and rendered; the schema
 * is docs/bench-schema.md.  Everything returns new references; NULL only without memory. */
#ifndef BENCH_DOC_H
#define BENCH_DOC_H

#include "bench/profile.h"
#include "bench/result.h"

#include <jansson.h>

#define DOC_FORMAT "kiln-bench/1"

/* doc_new: kind is "run", "ab", "aa" or "compare". */
json_t *doc_new(const char *kind, const char *label, int argc, char **argv);
/* doc_set_profile: name, text and the figures that shaped the run. */
void doc_set_profile(json_t *doc, const struct profile *p, unsigned threads, unsigned procs,
		     double budget_s);
/* doc_test: one test of a run. */
json_t *doc_test(const struct test *t, const struct result *r, unsigned procs);
/* doc_metric: "suite.test" or "suite.test.series": how a series is named everywhere. */
void doc_metric(const struct test *t, const char *series, char out[3 * PROFILE_NAME]);
json_t *doc_histogram(const struct hist *h);
json_t *doc_latency(const struct hist *h);
/* doc_save and doc_load: a file ("-" is standard output).  0 or a negative code; why says. */
int doc_save(const json_t *doc, const char *path, char *why);
int doc_load(const char *path, json_t **doc, char *why);
/* doc_text and doc_number: a member, or "" and 0. */
const char *doc_text(const json_t *o, const char *key);
double doc_number(const json_t *o, const char *key);

#endif

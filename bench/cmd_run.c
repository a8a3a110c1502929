/* kiln-bench run: all tests of a profile within a budget. */
#include "bench/cmd.h"

#include "base/clock.h"
#include "base/err.h"
#include "bench/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shares of the budget.  What is left over pays for removing files between the suites and at
 * the end. */
static const double MEASURE_SHARE = 0.72, PREPARE_SHARE = 0.15, CLEAN_RESERVE = 0.07;

struct plan {
	const struct profile *p;
	uint64_t begin_ns, budget_ns;
	double weight_left, weight_all;
};

static void plan_init(struct plan *plan, const struct profile *p, double budget_s,
		      unsigned passes)
{
	*plan = (struct plan){ .p = p,
			       .begin_ns = clock_mono(),
			       .budget_ns = (uint64_t)(budget_s * 1e9) };
	for (size_t i = 0; i < p->n_tests; i++)
		plan->weight_all += (double)p->tests[i].weight * passes;
	plan->weight_left = plan->weight_all;
}

/* How long test i may run: its share, or less if earlier tests and cleaning took longer than
 * foreseen.  Never nothing: a test that gets hardly any time still says whether it works. */
static void plan_next(struct plan *plan, size_t i, uint64_t *prepare_ns, uint64_t *time_ns)
{
	double weight = (double)plan->p->tests[i].weight, budget = (double)plan->budget_ns;
	double left = budget * (1 - CLEAN_RESERVE) - (double)(clock_mono() - plan->begin_ns);
	double share = budget * weight / plan->weight_all;
	double slot = left * weight / plan->weight_left;

	if (share > slot)
		share = slot > 0 ? slot : 0;
	plan->weight_left -= weight;
	*prepare_ns = (uint64_t)(share * PREPARE_SHARE);
	*time_ns = (uint64_t)(share * MEASURE_SHARE);
	if (*time_ns < 20 * NS_PER_MS)
		*time_ns = 20 * NS_PER_MS;
}

static void show_progress(struct session *s, const struct plan *plan, size_t i)
{
	const struct test *t = &s->profile.tests[i];
	double left = ((double)plan->budget_ns - (double)(clock_mono() - plan->begin_ns)) / 1e9;

	session_progress(s, "[%zu/%zu] %s.%s, %.0f s left", i + 1, s->profile.n_tests, t->suite,
			 t->name, left > 0 ? left : 0);
}

static bool suite_ends(const struct profile *p, size_t i)
{
	return i + 1 == p->n_tests || strcmp(p->tests[i].suite, p->tests[i + 1].suite) != 0;
}

/* What a test gave over all passes. */
struct outcome {
	struct result sum;
	json_t *rates[SERIES_MAX]; /* one rate of each pass */
};

static void note_rates(struct outcome *o, const struct result *r)
{
	for (unsigned i = 0; i < r->n_series; i++) {
		if (!o->rates[i])
			o->rates[i] = json_array();
		json_array_append_new(o->rates[i], json_real(result_rate(r, i)));
	}
}

static int run_one(struct session *s, struct bench *b, struct plan *plan, size_t i, unsigned pass,
		   struct outcome *o)
{
	uint64_t prepare_ns, time_ns;
	struct result r;
	int rc;

	show_progress(s, plan, i);
	plan_next(plan, i, &prepare_ns, &time_ns);
	rc = bench_test(b, (unsigned)i, prepare_ns, time_ns, &r);
	if (rc == 0) {
		note_rates(o, &r);
		result_add_pass(&o->sum, &r, pass);
	}
	result_free(&r);
	return rc;
}

static int run_pass(struct session *s, struct bench *b, struct plan *plan, unsigned pass,
		    struct outcome *outcomes)
{
	bool last = pass == s->o.passes;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->profile.n_tests && !bench_interrupted(); i++) {
		rc = run_one(s, b, plan, i, pass, &outcomes[i]);
		if (rc == 0 && suite_ends(&s->profile, i) && !(last && i + 1 == s->profile.n_tests))
			rc = bench_reset(b);
	}
	return rc;
}

static void add_outcome(struct session *s, size_t i, struct outcome *o, json_t *tests)
{
	json_t *test, *series;
	size_t k;

	if (o->sum.series) {
		test = doc_test(&s->profile.tests[i], &o->sum, ranks_count(s->ranks));
		json_array_foreach(json_object_get(test, "series"), k, series)
			if (s->o.passes > 1)
				json_object_set(series, "passes", o->rates[k]);
		json_array_append_new(tests, test);
	}
	for (k = 0; k < SERIES_MAX; k++)
		json_decref(o->rates[k]);
	result_free(&o->sum);
}

static int run_all(struct session *s, struct bench *b, json_t *tests)
{
	struct outcome *outcomes = calloc(s->profile.n_tests, sizeof *outcomes);
	struct plan plan;
	int rc = outcomes ? 0 : -KILN_ENOMEM;

	plan_init(&plan, &s->profile, s->budget_s, (unsigned)s->o.passes);
	for (unsigned pass = 1; rc == 0 && pass <= s->o.passes && !bench_interrupted(); pass++)
		rc = run_pass(s, b, &plan, pass, outcomes);
	for (size_t i = 0; outcomes && i < s->profile.n_tests; i++)
		add_outcome(s, i, &outcomes[i], tests);
	free(outcomes);
	return rc;
}

static int exit_code(const json_t *tests, int rc)
{
	const json_t *t;
	size_t i;

	if (bench_interrupted())
		return EXIT_INTERRUPTED;
	if (rc < 0)
		return EXIT_FAILED;
	json_array_foreach(tests, i, t)
		if (strcmp(doc_text(t, "status"), "failed") == 0)
			return 1;
	return 0;
}

static int measure(struct session *s, json_t *doc)
{
	json_t *tests = json_array();
	uint64_t begin = clock_mono();
	struct bench *b;
	int rc, code;

	json_object_set_new(doc, "tests", tests);
	rc = session_open(s, s->o.word, s->o.n_words, &b);
	if (rc < 0)
		return EXIT_USAGE;
	rc = run_all(s, b, tests);
	if (rc < 0)
		session_complain("the run was broken off: %s", err_text(rc));
	session_progress(s, "removing the files");
	if (session_close(s, b) < 0 && rc == 0)
		rc = -KILN_EIO;
	session_progress(s, "%s", "");
	json_object_set_new(doc, "took_s", json_real((double)(clock_mono() - begin) / 1e9));
	code = exit_code(tests, rc);
	json_object_set_new(doc, "exit", json_integer(code));
	return code;
}

int cmd_run(int argc, char **argv)
{
	struct session s;
	json_t *doc;
	int code = session_start(&s, argc, argv, CMD_RUN, "standard", 60), shown;

	if (code)
		return code;
	if (!s.o.n_words) {
		session_complain("run needs a directory: kiln-bench run DIR...");
		session_end(&s);
		return EXIT_USAGE;
	}
	doc = doc_new("run", s.o.label, argc, argv);
	doc_set_profile(doc, &s.profile, (unsigned)s.o.threads, ranks_count(s.ranks), s.budget_s);
	session_environment(doc, s.o.word, s.o.n_words);
	code = measure(&s, doc);
	shown = code == EXIT_USAGE ? 0 : session_output(&s.o, doc);
	session_end(&s);
	json_decref(doc);
	return code ? code : shown;
}

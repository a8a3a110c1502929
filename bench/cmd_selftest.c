/* kiln-bench selftest: does the benchmark find what it must find, and nothing else?  Runs itself
 * with libkiln-slow.so below, so that what is injected is known, and measures its own cost
 * against a target that takes no time. */
#include "bench/cmd.h"

#include "base/err.h"
#include "bench/doc.h"
#include "bench/options.h"
#include "bench/session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* One experiment: what is injected on side B, and what must be said. */
struct experiment {
	const char *title, *inject;
	const char *metric; /* that must be slower; NULL: the headline must not be called changed */
	double seconds;	    /* share of the budget */
};

static const struct experiment experiments[] = {
	{ "nothing injected", "", NULL, 1 },
	{ "0.1 ms added to each fsync", "fsync=100us", "selftest.write_sync", 1 },
	{ "every call takes 10 % longer", "all=10%", "all tests", 2 },
	{ "every call takes 5 % longer", "all=5%", "all tests", 3 },
};

enum { N_EXPERIMENTS = sizeof experiments / sizeof experiments[0], PATH = 512 };

struct selftest {
	const struct options *o;
	const char *dir;
	char exe[PATH], library[PATH], out[PATH];
};

static int self_path(struct selftest *st)
{
	ssize_t n = readlink("/proc/self/exe", st->exe, sizeof st->exe - 1);

	if (n <= 0)
		return -KILN_ESYS;
	st->exe[n] = 0;
	return 0;
}

/* Beside the program in a build, below lib/kiln where it is installed. */
static int find_library(struct selftest *st)
{
	static const char *const places[] = { "libkiln-slow.so", "../lib/kiln/libkiln-slow.so",
					      "../lib/x86_64-linux-gnu/kiln/libkiln-slow.so",
					      "../lib/aarch64-linux-gnu/kiln/libkiln-slow.so",
					      "../lib64/kiln/libkiln-slow.so" };
	int dir_len = (int)(strrchr(st->exe, '/') - st->exe);

	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		int n = snprintf(st->library, PATH, "%.*s/%s", dir_len, st->exe, places[i]);

		if (n < PATH && access(st->library, R_OK) == 0)
			return 0;
	}
	session_complain("libkiln-slow.so is not beside %s nor installed", st->exe);
	return -KILN_ENOENT;
}

/* Runs the program itself with the words given; its exit code, or -1. */
static int run_self(struct selftest *st, const char *inject, const char *const *words)
{
	const char *argv[24] = { st->exe };
	int n = 1, status;
	pid_t pid;

	while (*words && n < 23)
		argv[n++] = *words++;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		setenv("KILN_SLOW_B", inject, 1);
		setenv("LD_PRELOAD", st->library, 1);
		execv(st->exe, (char **)(uintptr_t)argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const json_t *find_figure(const json_t *doc, const char *metric)
{
	const json_t *f;
	size_t i;

	if (strcmp(metric, "all tests") == 0)
		return json_object_get(json_object_get(doc, "result"), "headline");
	json_array_foreach(json_object_get(doc, "figures"), i, f)
		if (strcmp(doc_text(f, "metric"), metric) == 0)
			return f;
	return NULL;
}

static bool any_changed(const json_t *doc)
{
	const json_t *f;
	size_t i;

	json_array_foreach(json_object_get(doc, "figures"), i, f)
		if (strcmp(doc_text(f, "verdict"), "slower") == 0 ||
		    strcmp(doc_text(f, "verdict"), "faster") == 0)
			return true;
	return doc_number(doc, "exit") == 1;
}

/* An honest "undecided" where noise is too high is no failure of the benchmark, but it is not
 * a pass either: it is said, and counts as not found. */
static bool judge(const struct experiment *e, const json_t *doc)
{
	const json_t *f = find_figure(doc, e->metric ? e->metric : "all tests");
	bool good = e->metric ? strcmp(doc_text(f, "verdict"), "slower") == 0 : !any_changed(doc);

	printf("%-30s %s: %s %+.1f %% [%+.1f .. %+.1f], %.0f blocks in %.0f s: %s\n", e->title,
	       e->metric ? e->metric : "all tests", doc_text(f, "verdict"),
	       100 * expm1(doc_number(f, "estimate")), 100 * expm1(doc_number(f, "low")),
	       100 * expm1(doc_number(f, "high")),
	       doc_number(json_object_get(doc, "result"), "blocks"), doc_number(doc, "took_s"),
	       good ? "as it should be" : "NOT as it should be");
	return good;
}

static bool one_experiment(struct selftest *st, const struct experiment *e, double seconds)
{
	char budget[32], why[WHY_MAX];
	const char *words[] = { "ab", "--quiet", "--profile", "selftest", "--slice", "0.005",
				"--margin", "2", "--budget", budget, "--json", st->out, st->dir,
				st->dir, NULL };
	json_t *doc;
	bool good;
	int code;

	snprintf(budget, sizeof budget, "%.3f", seconds);
	code = run_self(st, e->inject, words);
	if (code < 0 || code > 2 || doc_load(st->out, &doc, why) < 0) {
		printf("%-30s could not be run (exit %d)\n", e->title, code);
		return false;
	}
	good = judge(e, doc);
	json_decref(doc);
	return good;
}

/* -- own cost ------------------------------------------------------------------------------- */

static json_t *run_standard(struct selftest *st, const char *where)
{
	const char *words[] = { "run", "--quiet", "--threads", "1", "--suite",
				"meta,files,create", "--budget", "8", "--json", st->out, where,
				NULL };
	char why[WHY_MAX];
	json_t *doc = NULL;

	if (run_self(st, "", words) != 0 || doc_load(st->out, &doc, why) < 0)
		return NULL;
	return doc;
}

static double p50_of(const json_t *doc, size_t test, size_t series)
{
	const json_t *t = json_array_get(json_object_get(doc, "tests"), test);
	const json_t *s = json_array_get(json_object_get(t, "series"), series);

	return doc_number(s, "ops") > 0 ? doc_number(json_object_get(s, "latency_ns"), "p50") : 0;
}

/* The median operation against the null target over the median operation here, averaged over
 * all operations measured; every test gets about the same time, so that is the share of the
 * time.  Medians: what preempts a run is not the benchmark's cost. */
static double cost_share(const json_t *null, const json_t *here, double *worst, double *null_ns)
{
	double sum = 0, n = 0, ns = 0;
	const json_t *t;
	size_t i;

	*worst = 0;
	json_array_foreach(json_object_get(here, "tests"), i, t)
		for (size_t k = 0; k < json_array_size(json_object_get(t, "series")); k++) {
			double a = p50_of(null, i, k), b = p50_of(here, i, k);

			if (a <= 0 || b <= 0)
				continue;
			sum += a / b;
			ns += a;
			n++;
			*worst = fmax(*worst, a / b);
		}
	*null_ns = n > 0 ? ns / n : 0;
	return n > 0 ? sum / n : 1;
}

static bool own_cost(struct selftest *st)
{
	json_t *null = run_standard(st, "null:"), *here = run_standard(st, st->dir);
	double worst, ns, share;

	if (!null || !here) {
		printf("own cost                       could not be measured\n");
		json_decref(null);
		json_decref(here);
		return false;
	}
	share = cost_share(null, here, &worst, &ns);
	printf("own cost                       %.0f ns an operation; %.1f %% of the time in %s "
	       "(worst test %.1f %%): %s\n",
	       ns, 100 * share, st->dir, 100 * worst,
	       share <= 0.05 ? "as it should be" : "NOT as it should be");
	json_decref(null);
	json_decref(here);
	return share <= 0.05;
}

static int run_experiments(struct selftest *st, double budget)
{
	double shares = 0;
	bool good = own_cost(st);

	for (unsigned i = 0; i < N_EXPERIMENTS; i++)
		shares += experiments[i].seconds;
	for (unsigned i = 0; i < N_EXPERIMENTS; i++)
		good &= one_experiment(st, &experiments[i],
				       (budget - 16) * experiments[i].seconds / shares);
	return good ? 0 : 1;
}

int cmd_selftest(int argc, char **argv)
{
	struct selftest st = { 0 };
	struct options o;
	char made[] = "/dev/shm/kiln-bench-selftest-XXXXXX";
	int code, fd;

	if (options_parse(&o, argc, argv, 2, CMD_SELFTEST) < 0)
		return EXIT_USAGE;
	st.o = &o;
	if (self_path(&st) < 0 || find_library(&st) < 0)
		return EXIT_USAGE;
	snprintf(st.out, sizeof st.out, "/tmp/kiln-bench-selftest-XXXXXX");
	fd = mkstemp(st.out);
	if (fd < 0 || (!o.n_words && !mkdtemp(made))) {
		session_complain("cannot make temporary files in /tmp and /dev/shm");
		return EXIT_USAGE;
	}
	close(fd);
	st.dir = o.n_words ? o.word[0] : made;
	code = run_experiments(&st, o.budget > 20 ? o.budget : 120);
	unlink(st.out);
	if (!o.n_words)
		rmdir(made);
	return code;
}

/* kiln-bench ab and aa: is B slower than A?  How much of a difference is noise here? */
#include "bench/cmd.h"

#include "base/clock.h"
#include "base/err.h"
#include "bench/session.h"
#include "bench/trial.h"

#include <stdio.h>

/* Two directories: both sides stay up.  Otherwise the commands make one side at a time appear
 * at --dir, or print where it is. */
static int choose_sides(struct trial *t, const struct options *o)
{
	for (int i = 0; i < 2; i++) {
		t->side[i].up = i ? o->b : o->a;
		t->side[i].down = i ? o->b_down : o->a_down;
		t->side[i].where = o->n_words == 2 ? o->word[i] : o->dir;
	}
	t->together = o->n_words == 2;
	if (o->n_words == 2 || (o->n_words == 0 && o->a && o->b))
		return 0;
	session_complain("ab needs two directories, or --a CMD and --b CMD with --dir DIR");
	return -KILN_EINVAL;
}

static int choose_same(struct trial *t, const struct options *o)
{
	if (o->n_words != 1) {
		session_complain("aa needs one directory");
		return -KILN_EINVAL;
	}
	t->side[0].where = t->side[1].where = o->word[0];
	t->together = true;
	t->to_the_end = t->same = true;
	return 0;
}

/* Of A against A anything but "changed" is right. */
static int exit_of_same(const struct trial *t)
{
	for (size_t i = 0; t->figure && i <= t->n_tracks; i++)
		if (t->figure[i].verdict == VERDICT_SLOWER || t->figure[i].verdict == VERDICT_FASTER)
			return EXIT_WORSE;
	return EXIT_SAME;
}

static int exit_of(const struct trial *t, int rc)
{
	if (bench_interrupted())
		return EXIT_INTERRUPTED;
	if (rc < 0)
		return EXIT_FAILED;
	return t->same ? exit_of_same(t) : trial_exit(t);
}

static int measure(struct trial *t, json_t *doc)
{
	uint64_t begin = clock_mono();
	int rc = trial_run(t);

	if (rc < 0 && rc != -KILN_EINTR)
		session_complain("broken off: %s", err_text(rc));
	trial_doc(t, doc);
	json_object_set_new(doc, "took_s", json_real((double)(clock_mono() - begin) / 1e9));
	json_object_set_new(doc, "exit", json_integer(exit_of(t, rc)));
	return exit_of(t, rc);
}

static int run(int argc, char **argv, unsigned command, const char *kind,
	       int (*choose)(struct trial *t, const struct options *o))
{
	struct session s;
	struct trial t = { .s = &s };
	int code = session_start(&s, argc, argv, command, "quick", 180), shown = 0;
	const char *where[2];
	json_t *doc;

	if (code)
		return code;
	if (choose(&t, &s.o) < 0) {
		session_end(&s);
		return EXIT_USAGE;
	}
	t.budget_s = s.budget_s;
	t.slice_s = s.o.slice > 0 ? s.o.slice : t.together ? 0.03 : 0.25;
	t.rng = s.o.seed ? s.o.seed : clock_mono() | 1;
	where[0] = t.side[0].where;
	where[1] = t.side[1].where;
	doc = doc_new(kind, s.o.label, argc, argv);
	doc_set_profile(doc, &s.profile, (unsigned)s.o.threads, ranks_count(s.ranks), s.budget_s);
	session_environment(doc, where, t.together ? 2 : where[0] ? 1 : 0);
	code = measure(&t, doc);
	if (code != EXIT_FAILED)
		shown = session_output(&s.o, doc);
	trial_free(&t);
	session_end(&s);
	json_decref(doc);
	return shown ? shown : code;
}

int cmd_ab(int argc, char **argv)
{
	return run(argc, argv, CMD_AB, "ab", choose_sides);
}

int cmd_aa(int argc, char **argv)
{
	return run(argc, argv, CMD_AA, "aa", choose_same);
}

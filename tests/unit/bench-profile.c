/* kiln-bench: profiles and their errors, content and its check, results over passes and ranks. */
#include "base/err.h"
#include "bench/content.h"
#include "bench/options.h"
#include "bench/profile.h"
#include "bench/result.h"
#include "bench/shape.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void whole_profile(void **state)
{
	static const char text[] = "# a comment\n"
				   "about Two tests.\n"
				   "suite s threads=3 size=2k\n"
				   "test one shape=create:3,unlink \\\n   fsync=yes weight=7\n"
				   "\n"
				   "test two cold=yes\n"
				   "role readers threads=2 shape=read\n"
				   "role writers set=w size=1M shape=create\n";
	struct profile p;
	char why[256];

	assert_int_equal(profile_parse("p", text, &p, why), 0);
	assert_string_equal(p.about, "Two tests.");
	assert_int_equal(p.n_tests, 2);
	assert_int_equal(p.tests[0].n_roles, 1);
	assert_int_equal(p.tests[0].weight, 7);
	assert_int_equal(p.tests[0].roles[0].n_mix, 2);
	assert_int_equal(p.tests[0].roles[0].mix[0].weight, 3);
	assert_int_equal(p.tests[0].roles[0].threads, 3);
	assert_int_equal(p.tests[0].roles[0].size, 2048);
	assert_true(p.tests[0].roles[0].fsync);
	assert_int_equal(p.tests[1].n_roles, 2);
	assert_true(p.tests[1].cold);
	assert_int_equal(p.tests[1].roles[0].threads, 2);
	assert_string_equal(p.tests[1].roles[1].set, "w");
	assert_int_equal(p.tests[1].roles[1].size, 1 << 20);
	assert_string_equal(p.text, text);
	profile_free(&p);
}

static void bad_profiles(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "", "no test" },
		{ "suite s\n", "no test" },
		{ "test t shape=create\n", "before the first suite" },
		{ "suite s\ntest t\n", "no shape" },
		{ "suite s\ntest t\ntest u shape=create\n", "no shape" },
		{ "suite s\ntest t shape=jump\n", "no such shape" },
		{ "suite s\ntest t shape=create:0\n", "1 to 1000" },
		{ "suite s\ntest t shape=,\n", "empty mix" },
		{ "suite s\ntest t shape=create size=-1\n", "not a number" },
		{ "suite s\ntest t shape=create size=1q\n", "not a number" },
		{ "suite s\ntest t shape=create size=99999999999999999999\n", "not a number" },
		{ "suite s\ntest t shape=create threads=5000\n", "out of range" },
		{ "suite s\ntest t shape=create fsync=1\n", "yes or no" },
		{ "suite s\ntest t shape=create colour=red\n", "no such parameter" },
		{ "suite s\ntest t shape\n", "PARAM=VALUE" },
		{ "suite s\ntest a/b shape=create\n", "not a test's name" },
		{ "suite\n", "not a suite's name" },
		{ "suite s\nrole r shape=create\n", "before the first test" },
		{ "suite s\ntest t\nrole a shape=read\nrole b shape=read\nrole c shape=read\n"
		  "role d shape=read\n", "too many roles" },
		{ "walk the dog\n", "a line starts with" },
	};
	struct profile p;
	char why[256];

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_true(profile_parse("p", bad[i].text, &p, why) < 0);
		if (!strstr(why, bad[i].says))
			fail_msg("'%s' gave '%s', not '%s'", bad[i].text, why, bad[i].says);
	}
}

static void selection(void **state)
{
	struct profile p;
	char why[256];

	assert_int_equal(profile_load("standard", &p, why), 0);
	assert_int_equal(profile_select(&p, "meta,files.largefile_*", why), 0);
	assert_int_equal(p.n_tests, 7 + 5);
	assert_int_equal(profile_select(&p, "meta,nothing", why), -KILN_ENOENT);
	assert_non_null(strstr(why, "nothing"));
	profile_free(&p);
}

/* Every built-in profile parses and uses only shapes that exist. */
static void builtins(void **state)
{
	struct profile p;
	char why[256];

	for (const struct profile_builtin *b = profile_builtins; b->name; b++) {
		if (profile_load(b->name, &p, why) < 0)
			fail_msg("%s", why);
		assert_true(p.n_tests > 0 && p.about[0]);
		profile_free(&p);
	}
}

static void content_is_checked(void **state)
{
	struct content c = { 0 };
	const size_t sizes[] = { 1, 7, 8, 4096, 4097, 16384 };

	assert_int_equal(content_init(&c, 16384), 0);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		size_t len = sizes[i];

		memcpy(c.in, content_make(&c, 5, 8192, len), len);
		assert_int_equal(content_check(&c, 5, 8192, len, true), 0);
		assert_int_equal(content_check(&c, 6, 8192, len, false), -KILN_EVERIFY);
		assert_int_equal(content_check(&c, 5, 12288, len, false), -KILN_EVERIFY);
		c.in[len - 1] ^= 1;
		assert_int_equal(content_check(&c, 5, 8192, len, true), -KILN_EVERIFY);
	}
	content_free(&c);
}

static void names_are_distinct(void **state)
{
	char a[NAME_CAP], b[NAME_CAP];

	shape_name(a, 'f', 1, 2);
	assert_string_equal(a, "f0001-00000002");
	shape_name(b, 'f', 2, 1);
	assert_string_not_equal(a, b);
}

static void add_ops(struct result *r, uint64_t ns, unsigned n)
{
	struct tally t = { 0 };

	while (n--)
		hist_add(&t.hist, ns);
	r->n_series = 1;
	assert_int_equal(result_client(r, 0, 3, &t), 0);
}

static void rates_over_clients_and_ranks(void **state)
{
	struct result a, b;
	void *packed;
	size_t len;

	assert_int_equal(result_init(&a), 0);
	assert_int_equal(result_init(&b), 0);
	add_ops(&a, 1000, 10);
	add_ops(&a, 1000, 20); /* two clients at a million a second each */
	assert_true(fabs(result_rate(&a, 0) - 2e6) < 1);
	add_ops(&b, 2000, 10);
	b.status = RESULT_FAILED;
	assert_int_equal(result_pack(&b, &packed, &len), 0);
	assert_int_equal(result_merge(&a, packed, len), 0);
	assert_true(fabs(result_rate(&a, 0) - 2.5e6) < 1);
	assert_int_equal(a.n_clients, 3);
	assert_int_equal(a.status, RESULT_FAILED);
	assert_int_equal(a.series[0].tally.hist.count, 40);
	assert_int_equal(result_merge(&a, packed, len - 1), -KILN_EBADMSG);
	free(packed);
	result_free(&a);
	result_free(&b);
}

static void passes_average(void **state)
{
	struct result sum = { 0 }, pass;

	assert_int_equal(result_init(&pass), 0);
	add_ops(&pass, 1000, 10);
	result_add_pass(&sum, &pass, 1);
	assert_int_equal(result_init(&pass), 0);
	add_ops(&pass, 2000, 10);
	result_add_pass(&sum, &pass, 2);
	assert_true(fabs(result_rate(&sum, 0) - 0.75e6) < 1);
	assert_int_equal(sum.series[0].tally.hist.count, 20);
	result_free(&sum);
}

static int parse(struct options *o, int argc, const char **argv)
{
	return options_parse(o, argc, (char **)(uintptr_t)argv, 2, CMD_RUN);
}

static void options_table(void **state)
{
	const char *good[] = { "kiln-bench", "run", "--budget", "2m", "--threads=7", "/a", "--", "--b" };
	const char *bad[][4] = { { "kiln-bench", "run", "--budget", "x" },
			   { "kiln-bench", "run", "--threads", "1.5" },
			   { "kiln-bench", "run", "--threads", NULL } };
	struct options o;

	assert_int_equal(parse(&o, 8, good), 0);
	assert_true(fabs(o.budget - 120) < 1e-9);
	assert_int_equal(o.threads, 7);
	assert_int_equal(o.n_words, 2);
	assert_string_equal(o.word[1], "--b");
	for (int i = 0; i < 3; i++)
		assert_true(parse(&o, bad[i][3] ? 4 : 3, bad[i]) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_profile),
		cmocka_unit_test(bad_profiles),
		cmocka_unit_test(selection),
		cmocka_unit_test(builtins),
		cmocka_unit_test(content_is_checked),
		cmocka_unit_test(names_are_distinct),
		cmocka_unit_test(rates_over_clients_and_ranks),
		cmocka_unit_test(passes_average),
		cmocka_unit_test(options_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

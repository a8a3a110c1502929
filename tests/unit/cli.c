/* cli/: sizes, counts, times, option tables and what they refuse, exit codes. */
#include "base/clock.h"
#include "base/err.h"
#include "cli/cli.h"
#include "cli/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void sizes_are_powers_of_1024(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 }, { "4096", 4096 }, { "1K", 1024 }, { "1k", 1024 }, { "64KiB", 65536 },
		{ "2MB", 2u << 20 }, { "10G", 10ull << 30 }, { "1TiB", 1ull << 40 },
		{ "3P", 3ull << 50 }, { "7E", 7ull << 60 }, { "12B", 12 },
		{ "9223372036854775807", INT64_MAX },
	};
	uint64_t n;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_int_equal(units_size(good[i].text, &n), 0);
		assert_int_equal(n, good[i].bytes);
	}
}

static void what_is_no_size_is_refused(void **state)
{
	static const char *const bad[] = { "", "K", "-1", "+1", " 1", "1 K", "1.5G", "1X", "1Ki",
					   "1KK", "1KiBs", "0x10", "1e3" };
	uint64_t n;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(units_size(bad[i], &n), -KILN_EINVAL);
	assert_int_equal(units_size("8E", &n), -KILN_ERANGE);
	assert_int_equal(units_size("9223372036854775808", &n), -KILN_ERANGE);
	assert_int_equal(units_size("99999999999999999999999", &n), -KILN_ERANGE);
	assert_int_equal(units_number("12", &n), 0);
	assert_int_equal(units_number("12K", &n), -KILN_EINVAL);
}

static void times_take_fractions(void **state)
{
	uint64_t n;

	assert_int_equal(units_time("1.5", NS_PER_S, &n), 0);
	assert_int_equal(n, 1500 * NS_PER_MS);
	assert_int_equal(units_time("250", NS_PER_MS, &n), 0);
	assert_int_equal(n, 250 * NS_PER_MS);
	assert_int_equal(units_time("0", NS_PER_S, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(units_time("1s", NS_PER_S, &n), -KILN_EINVAL);
	assert_int_equal(units_time("-1", NS_PER_S, &n), -KILN_EINVAL);
	assert_int_equal(units_time("nan", NS_PER_S, &n), -KILN_EINVAL);
	assert_int_equal(units_time("1e30", NS_PER_S, &n), -KILN_ERANGE);
}

static void numbers_are_printed_for_people(void **state)
{
	char buf[UNITS_TEXT];

	assert_string_equal(units_print_size(buf, 0), "0 B");
	assert_string_equal(units_print_size(buf, 1023), "1023 B");
	assert_string_equal(units_print_size(buf, 1536), "1.5 KiB");
	assert_string_equal(units_print_size(buf, (1ull << 20) - 1), "1.0 MiB");
	assert_string_equal(units_print_size(buf, 10ull << 30), "10.0 GiB");
	assert_string_equal(units_print_size(buf, 512ull << 30), "512 GiB");
	assert_string_equal(units_print_size(buf, UINT64_MAX), "16.0 EiB");
	assert_string_equal(units_print_count(buf, 0), "0");
	assert_string_equal(units_print_count(buf, 999), "999");
	assert_string_equal(units_print_count(buf, 1000), "1,000");
	assert_string_equal(units_print_count(buf, UINT64_MAX), "18,446,744,073,709,551,615");
	assert_string_equal(units_print_time(buf, 1500), "1.5 us");
	assert_string_equal(units_print_time(buf, 1200 * NS_PER_US), "1.2 ms");
	assert_string_equal(units_print_time(buf, 5 * NS_PER_S), "5.0 s");
	assert_string_equal(units_print_time(buf, 59 * NS_PER_S), "59 s");
	assert_string_equal(units_print_time(buf, 3700 * NS_PER_S), "1 h 1 min");
	assert_string_equal(units_print_time(buf, 90000ull * 3 * NS_PER_S), "3 d 3 h");
}

/* --- option tables ------------------------------------------------------------------- */

struct values {
	bool flag, other;
	const char *text, *choice;
	struct cli_list list;
	uint64_t size, number, seconds, millis;
};

static const struct cli_option options[] = {
	{ .name = "flag", .letter = 'f', .type = CLI_FLAG, .offset = offsetof(struct values, flag) },
	{ .name = "other", .letter = 'o', .type = CLI_FLAG,
	  .offset = offsetof(struct values, other) },
	{ .name = "text", .letter = 't', .type = CLI_STRING, .unit = "TEXT",
	  .offset = offsetof(struct values, text) },
	{ .name = "choice", .type = CLI_CHOICE, .choices = "fsync|op",
	  .offset = offsetof(struct values, choice) },
	{ .name = "list", .type = CLI_LIST, .unit = "X", .offset = offsetof(struct values, list) },
	{ .name = "size", .type = CLI_SIZE, .unit = "SIZE",
	  .offset = offsetof(struct values, size) },
	{ .name = "number", .letter = 'n', .type = CLI_NUMBER, .unit = "N", .max = 16,
	  .offset = offsetof(struct values, number) },
	{ .name = "seconds", .type = CLI_SECONDS, .unit = "S",
	  .offset = offsetof(struct values, seconds) },
	{ .name = "millis", .type = CLI_MILLIS, .unit = "MS",
	  .offset = offsetof(struct values, millis) },
	{ 0 },
};

static const struct cli_command command = { "try", "A [B]", "Tries it.", NULL, NULL };

enum { WORDS_MAX = 16, WORD_MAX = 64 };

/* split: a line at its spaces into argv; '_' stands for an empty word. */
static int split(const char *line, char words[WORDS_MAX][WORD_MAX], char **argv)
{
	int argc = 0, used = 0;

	while (sscanf(line, "%63s%n", words[argc], &used) == 1) {
		if (!strcmp(words[argc], "_"))
			words[argc][0] = '\0';
		argv[argc] = words[argc];
		argc++;
		line += used;
	}
	argv[argc] = NULL;
	return argc;
}

static char words[WORDS_MAX][WORD_MAX];
static char *argv_made[WORDS_MAX + 1];

static int parse(const char *line, struct values *v)
{
	memset(v, 0, sizeof *v);
	return cli_parse(&command, options, v, split(line, words, argv_made), argv_made, 1, 2);
}

/* refused: the exit code of parsing this line in a process of its own, and what it says. */
static int refused(const char *line, char *said, size_t cap)
{
	int ends[2], status;
	ssize_t n;
	size_t len = 0;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct values v;

		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		parse(line, &v);
		_exit(99);
	}
	close(ends[1]);
	while (len < cap - 1 && (n = read(ends[0], said + len, cap - 1 - len)) > 0)
		len += (size_t)n;
	said[len] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void options_may_stand_anywhere(void **state)
{
	struct values v;

	assert_int_equal(parse("try -f one --text=a=b --size 64K two --choice op", &v), 2);
	assert_string_equal(argv_made[0], "one");
	assert_string_equal(argv_made[1], "two");
	assert_true(v.flag);
	assert_string_equal(v.text, "a=b");
	assert_int_equal(v.size, 65536);
	assert_string_equal(v.choice, "op");
}

static void short_options_may_be_joined(void **state)
{
	struct values v;

	assert_int_equal(parse("try -fon7 x", &v), 1);
	assert_true(v.flag && v.other);
	assert_int_equal(v.number, 7);
	assert_int_equal(parse("try -t word x --millis 1.5 --seconds 2", &v), 1);
	assert_string_equal(v.text, "word");
	assert_int_equal(v.millis, 1500 * NS_PER_US);
	assert_int_equal(v.seconds, 2 * NS_PER_S);
}

static void two_dashes_end_the_options(void **state)
{
	struct values v;

	assert_int_equal(parse("try -- --flag -x", &v), 2);
	assert_false(v.flag);
	assert_string_equal(argv_made[0], "--flag");
	assert_int_equal(parse("try - _", &v), 2);
	assert_string_equal(argv_made[0], "-");
	assert_string_equal(argv_made[1], "");
}

static void a_list_keeps_its_order(void **state)
{
	struct values v;

	assert_int_equal(parse("try a --list 1 --list=2 --list 3", &v), 1);
	assert_int_equal(v.list.count, 3);
	assert_string_equal(v.list.item[1], "2");
	assert_null(v.list.item[3]);
}

static void what_is_wrong_is_said(void **state)
{
	static const struct {
		const char *line, *says;
	} bad[] = {
		{ "try", "too few arguments" },
		{ "try a b c", "one argument too many: 'c'" },
		{ "try a --falg", "did you mean --flag?" },
		{ "try a --xyzzy", "no option --xyzzy" },
		{ "try a -q", "no option -q" },
		{ "try a --flag=yes", "takes no value" },
		{ "try a --text", "--text needs a value: TEXT" },
		{ "try a --choice", "--choice needs a value: fsync|op" },
		{ "try a --choice o", "'o' is not one of fsync|op" },
		{ "try a --choice fsync|op", "is not one of" },
		{ "try a --choice _", "is not one of" },
		{ "try a --size 1.5G", "'1.5G' is not a size" },
		{ "try a --size 99E", "too large" },
		{ "try a --number 17", "17 is too large" },
		{ "try a --number x", "'x' is not a number" },
		{ "try a --seconds 1m", "not a number of seconds" },
		{ "try a --millis _", "not a number of milliseconds" },
	};
	char said[4096];

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(refused(bad[i].line, said, sizeof said), CLI_USAGE);
		assert_non_null(strstr(said, bad[i].says));
		assert_non_null(strstr(said, "See 'kiln try --help'"));
	}
}

static void help_is_made_from_the_table(void **state)
{
	char said[4096];

	assert_int_equal(refused("try --help", said, sizeof said), CLI_OK);
	assert_non_null(strstr(said, "Usage: kiln try A [B]"));
	for (const struct cli_option *o = options; o->name; o++)
		assert_non_null(strstr(said, o->name));
	assert_non_null(strstr(said, "fsync|op"));
	for (const char *line = said; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= 80);
}

static void errors_have_exit_codes(void **state)
{
	static const struct {
		int err;
		enum cli_exit code;
	} pairs[] = {
		{ 0, CLI_OK }, { KILN_ENOVOLUME, CLI_NO_VOLUME }, { KILN_EVOLEXIST, CLI_IN_USE },
		{ KILN_ELOCKED, CLI_IN_USE }, { KILN_EACCES, CLI_NO_PERMISSION },
		{ KILN_EVERSION, CLI_VERSION }, { KILN_ECORRUPT, CLI_DAMAGED },
		{ KILN_EBADSTORE, CLI_DAMAGED }, { KILN_ENOSPC, CLI_NO_SPACE },
		{ KILN_EVOLNAME, CLI_USAGE }, { KILN_ENOTKILN, CLI_FAILED },
		{ KILN_ECLOSED, CLI_NO_SERVER },
	};

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		assert_int_equal(cli_exit_of(pairs[i].err), pairs[i].code);
		assert_int_equal(cli_exit_of(-pairs[i].err), pairs[i].code);
	}
}

static void near_words_are_suggested(void **state)
{
	static const char *const names[] = { "serve", "status", "version" };

	assert_int_equal(cli_suggest("stauts", names, 3), 1);
	assert_int_equal(cli_suggest("serv", names, 3), 0);
	assert_int_equal(cli_suggest("mount", names, 3), -1);
	assert_int_equal(cli_suggest("", names, 3), -1);
	assert_int_equal(cli_suggest("a-word-that-is-longer-than-any-name-there-is", names, 3), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_powers_of_1024),
		cmocka_unit_test(what_is_no_size_is_refused),
		cmocka_unit_test(times_take_fractions),
		cmocka_unit_test(numbers_are_printed_for_people),
		cmocka_unit_test(options_may_stand_anywhere),
		cmocka_unit_test(short_options_may_be_joined),
		cmocka_unit_test(two_dashes_end_the_options),
		cmocka_unit_test(a_list_keeps_its_order),
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(help_is_made_from_the_table),
		cmocka_unit_test(errors_have_exit_codes),
		cmocka_unit_test(near_words_are_suggested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

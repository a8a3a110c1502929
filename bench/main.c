/* kiln-bench: a benchmark for any mounted file system that answers whether a change altered
 * its performance.  See docs/kiln-bench.1 and docs/bench.md. */
#include "bench/cmd.h"
#include "bench/options.h"
#include "bench/profile.h"
#include "bench/session.h"
#include "bench/shape.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

static int cmd_list(int argc, char **argv)
{
	struct profile p;
	char why[WHY_MAX];

	for (const struct profile_builtin *b = profile_builtins; b->name; b++) {
		if (profile_load(b->name, &p, why) < 0) {
			session_complain("%s", why);
			return EXIT_FAILED;
		}
		printf("%s: %s\n", p.name, p.about);
		for (size_t i = 0; i < p.n_tests; i++)
			printf("  %s.%s\n", p.tests[i].suite, p.tests[i].name);
		profile_free(&p);
	}
	printf("Shapes:\n");
	shape_print_all();
	profile_print_params();
	return 0;
}

static int cmd_show(int argc, char **argv)
{
	struct profile p;
	char why[WHY_MAX];

	if (argc != 3) {
		session_complain("show needs a profile's name; 'kiln-bench list' names them");
		return EXIT_USAGE;
	}
	if (profile_load(argv[2], &p, why) < 0) {
		session_complain("%s", why);
		return EXIT_USAGE;
	}
	fputs(p.text, stdout);
	profile_free(&p);
	return 0;
}

static int cmd_version(int argc, char **argv)
{
	printf("kiln-bench %s\n", KILN_VERSION);
	return 0;
}

static int cmd_help(int argc, char **argv);

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	unsigned options;
	const char *args, *about;
} commands[] = {
	{ "run", cmd_run, CMD_RUN, "[options] DIR...", "measure a file system" },
	{ "ab", cmd_ab, CMD_AB, "[options] DIR_A DIR_B | --a CMD --b CMD", "is B slower than A?" },
	{ "aa", cmd_aa, CMD_AA, "[options] DIR", "how much of a difference is noise here?" },
	{ "selftest", cmd_selftest, CMD_SELFTEST, "[options] [DIR]",
	  "are known slow-downs found, and nothing else?" },
	{ "compare", cmd_compare, CMD_COMPARE, "[options] A.json B.json", "two stored runs" },
	{ "baseline", cmd_baseline, CMD_BASELINE, "add STORE R.json | show STORE",
	  "a series of stored runs: when did it change?" },
	{ "report", cmd_report, CMD_REPORT, "[options] RESULT.json", "render a stored result again" },
	{ "list", cmd_list, 0, "", "profiles, shapes and parameters" },
	{ "show", cmd_show, 0, "PROFILE", "print a profile, to start your own from" },
	{ "version", cmd_version, 0, "", "print the version" },
	{ "help", cmd_help, 0, "[COMMAND]", "this, or a command's options" },
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static const struct command *find_command(const char *name)
{
	for (unsigned i = 0; i < N_COMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static int cmd_help(int argc, char **argv)
{
	const struct command *c = argc > 2 ? find_command(argv[2]) : NULL;

	if (c) {
		printf("kiln-bench %s %s\n%s\n", c->name, c->args, c->about);
		options_print(c->options);
		return 0;
	}
	printf("kiln-bench: did this change alter file-system performance?\n\n");
	for (unsigned i = 0; i < N_COMMANDS; i++)
		printf("  kiln-bench %-9s %-40s %s\n", commands[i].name, commands[i].args,
		       commands[i].about);
	printf("\n'kiln-bench help COMMAND' lists a command's options; see also kiln-bench(1).\n");
	return argc > 2 ? EXIT_USAGE : 0;
}

int main(int argc, char **argv)
{
	const struct command *c = argc > 1 ? find_command(argv[1]) : NULL;

	setlocale(LC_CTYPE, "");
	if (argc > 2 && c && strcmp(argv[2], "--help") == 0) {
		char *help[] = { argv[0], argv[2], argv[1] };

		return cmd_help(3, help);
	}
	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return cmd_help(1, argv);
	if (argc > 1 && strcmp(argv[1], "--version") == 0)
		return cmd_version(1, argv);
	if (!c) {
		session_complain("%s '%s'; try 'kiln-bench help'",
				 argc > 1 ? "unknown command" : "no command", argc > 1 ? argv[1] : "");
		return EXIT_USAGE;
	}
	return c->run(argc, argv);
}

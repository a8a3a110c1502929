/* kiln bench: a program of its own, which needs nothing of the server. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* run_beside: where this program was started from, be it installed or in a build directory. */
static void run_beside(char **argv)
{
	static const char *const places[] = { "/kiln-bench", "/bench/kiln-bench" };
	char path[PATH_MAX + 32];
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);
	char *slash;

	if (len < 0)
		return;
	path[len] = '\0';
	slash = strrchr(path, '/');
	for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
		strcpy(slash, places[i]);
		execv(path, argv);
	}
}

int cli_bench(const struct cli_command *command, int argc, char **argv)
{
	static char name[] = "kiln-bench";

	argv[0] = name;
	run_beside(argv);
	execvp(name, argv);
	cli_die(CLI_FAILED, "cannot run kiln-bench: %s; it is looked for beside kiln and in PATH",
		strerror(errno));
}

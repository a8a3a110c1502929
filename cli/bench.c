/* kiln bench: a program of its own, which needs nothing of the server. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* beside: kiln-bench in the directory that this program was started from. */
static void run_beside(char **argv)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof path - sizeof "/kiln-bench");
	char *slash;

	if (len < 0)
		return;
	path[len] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return;
	strcpy(slash, "/kiln-bench");
	execv(path, argv);
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

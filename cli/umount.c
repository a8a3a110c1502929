/* kiln umount: takes a mount away and waits for the process that kept it. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "cli/cli.h"
#include "client/mountpoint.h"

enum { KEEPER_MS = 10000 };

struct values {
	bool force, lazy;
};

static const struct cli_option options[] = {
	{ .name = "force", .letter = 'f', .type = CLI_FLAG,
	  .offset = offsetof(struct values, force),
	  .text = "end the connection first: what waits for the server gets an error" },
	{ .name = "lazy", .letter = 'l', .type = CLI_FLAG, .offset = offsetof(struct values, lazy),
	  .text = "detach now, end when the last open file is closed" },
	{ 0 },
};

/* Connected to the keeper of the mount on dir, or negative. */
static int watch_keeper(const char *dir)
{
	char real[PATH_MAX];
	struct mountpoint mp;

	if (!realpath(dir, real) || !mountpoint_find(real, &mp) || !mp.kiln)
		return -KILN_ENOENT;
	return mountpoint_beacon_watch(&mp);
}

int cli_umount(const struct cli_command *command, int argc, char **argv)
{
	struct values v = { .force = false };
	char why[1024];
	int keeper, err;

	cli_parse(command, options, &v, argc, argv, 1, 1);
	keeper = v.lazy ? -1 : watch_keeper(argv[0]);
	err = mountpoint_detach(argv[0], (v.force ? DETACH_FORCE : 0u) |
				(v.lazy ? DETACH_LAZY : 0u), why, sizeof why);
	if (err)
		cli_die(cli_exit_of(err), "%s", why);
	if (keeper >= 0 && !mountpoint_beacon_wait(keeper, KEEPER_MS))
		cli_warn("%s is unmounted, but the process that kept it has not ended yet; a container "
			 "or another mount name space may still have the mount", argv[0]);
	return CLI_OK;
}

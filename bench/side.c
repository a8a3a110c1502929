#include "bench/trial.h"

#include "base/err.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static void set_side(char name)
{
	char value[2] = { name, 0 };

	setenv("KILN_BENCH_SIDE", value, 1);
}

/* Runs command, shows what it prints on standard error and keeps the last line. */
static int run_command(const char *command, char *last, size_t cap)
{
	char line[1024];
	FILE *out = popen(command, "re");
	int status;

	if (!out)
		return -KILN_EAGAIN;
	while (fgets(line, sizeof line, out)) {
		fputs(line, stderr);
		line[strcspn(line, "\n")] = 0;
		if (line[0])
			snprintf(last, cap, "%.*s", (int)cap - 1, line);
	}
	status = pclose(out);
	if (status == 0)
		return 0;
	session_complain("'%s' failed (%s %d)", command, WIFEXITED(status) ? "exit" : "signal",
			 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	return -KILN_ESYS;
}

int side_up(struct session *s, struct trial_side *side, char name)
{
	int rc = 0;

	set_side(name);
	if (side->down)
		janitor_note_command(s->janitor, side->down);
	side->is_up = true; /* even half up: it is to be taken down */
	if (side->up)
		rc = run_command(side->up, side->printed, sizeof side->printed);
	if (rc == 0 && !side->where && !side->printed[0]) {
		session_complain("side %c has no target: give --dir, or have its command print one",
				 name);
		rc = -KILN_EINVAL;
	}
	return rc;
}

int side_down(struct session *s, struct trial_side *side, char name)
{
	char ignored[2];
	int rc = 0;

	if (!side->is_up)
		return 0;
	set_side(name);
	if (side->down)
		rc = run_command(side->down, ignored, sizeof ignored);
	side->is_up = false;
	return rc;
}

void trial_select_side(char name)
{
	static void (*hook)(char side);
	static bool looked;

	if (!looked) {
		void *symbol = dlsym(RTLD_DEFAULT, "kiln_slow_side");

		memcpy(&hook, &symbol, sizeof hook);
		looked = true;
	}
	if (hook)
		hook(name);
}

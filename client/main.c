/* kiln-mount: what `kiln mount` leaves behind in the background.  Not for people to run. */
#include "base/err.h"
#include "client/keeper.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	static struct keeper k;
	int err = argc == 4 ? keeper_load(&k, atoi(argv[1])) : -KILN_EINVAL;

	if (err) {
		fprintf(stderr,
			"kiln-mount: kiln mount starts this program, and only one of the same "
			"build: %s\n",
			err_text(err));
		return 2;
	}
	return keeper_run(&k) ? 1 : 0;
}

#include "client/fatal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

bool fatal_pending(uint32_t tid)
{
	char path[64], line[256];
	unsigned long long pending = 0, mask;
	FILE *f;

	if (tid == 0)
		return false;
	snprintf(path, sizeof path, "/proc/%u/status", tid);
	f = fopen(path, "re");
	if (!f) /* gone, or hidden from this user (hidepid) */
		return kill((pid_t)tid, 0) != 0 && errno == ESRCH;
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "SigPnd: %llx", &mask) == 1 ||
		    sscanf(line, "ShdPnd: %llx", &mask) == 1)
			pending |= mask;
	fclose(f);
	return pending >> (SIGKILL - 1) & 1;
}

#include "base/look.h"

#include "base/clock.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

/* A wait this long costs more processor time than it saves. */
#define SHORT_NS (100 * NS_PER_US)
#define CENSUS_NS (2 * NS_PER_MS)

enum { TRUSTED = 2, TRUST_MAX = 3 };

/* Asked once: the answer is read from a file each time. */
static long processors(void)
{
	static long count;
	long n = __atomic_load_n(&count, __ATOMIC_RELAXED);

	if (n == 0) {
		n = sysconf(_SC_NPROCESSORS_ONLN);
		__atomic_store_n(&count, n, __ATOMIC_RELAXED);
	}
	return n;
}

/* is_crowded: more threads want a processor than there are: proc(5), the fourth field of loadavg.
 * So too where there is no /proc to ask. */
static bool is_crowded(void)
{
	int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	char text[128];
	long running;
	ssize_t n;

	if (fd < 0)
		return true;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		return true;
	text[n] = '\0';
	return sscanf(text, "%*s %*s %*s %ld", &running) != 1 || running > processors();
}

bool look_expects(const struct look *l)
{
	return l->trust[l->past] >= TRUSTED;
}

void look_learn(struct look *l, bool was_short)
{
	uint8_t *trust = &l->trust[l->past];

	if (was_short && *trust < TRUST_MAX)
		++*trust;
	else if (!was_short && *trust > 0)
		--*trust;
	l->past = (l->past << 1 | was_short) & ((1u << LOOK_PAST) - 1);
}

void look_begin(struct look *l)
{
	l->looks = 0;
	l->begun_ns = clock_mono();
	if (l->begun_ns < l->census_ns || !look_expects(l))
		return;
	l->census_ns = l->begun_ns + CENSUS_NS;
	l->crowded = is_crowded();
}

bool look_again(struct look *l)
{
	if (l->looks++ == 0)
		return look_expects(l) && !l->crowded;
	if (clock_mono() - l->begun_ns >= SHORT_NS)
		return false;
	sched_yield();
	return true;
}

void look_end(struct look *l)
{
	look_learn(l, clock_mono() - l->begun_ns < SHORT_NS);
}

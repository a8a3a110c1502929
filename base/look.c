#include "base/look.h"

#include "base/clock.h"

#include <sched.h>

/* A wait this long costs more processor time than it saves. */
#define SHORT_NS (100 * NS_PER_US)

enum { TRUSTED = 2, TRUST_MAX = 3 };

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
	l->begun_ns = l->now_ns = clock_mono();
}

bool look_again(struct look *l)
{
	if (!look_expects(l) || l->now_ns - l->begun_ns >= SHORT_NS)
		return false;
	sched_yield();
	l->now_ns = clock_mono();
	return true;
}

void look_end(struct look *l)
{
	look_learn(l, clock_mono() - l->begun_ns < SHORT_NS);
}

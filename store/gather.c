#include "store/gather.h"

#include <string.h>

enum {
	WORTH_WAITING_NS = 30000, /* a sync cheaper than a sleep and a wake-up is not waited for */
	AVERAGE_SHARE = 4,        /* each commit counts a quarter */
};

void gather_init(struct gather *g, uint64_t min_ns, uint64_t max_ns)
{
	memset(g, 0, sizeof(*g));
	g->min_ns = min_ns;
	g->max_ns = max_ns;
	g->round = 2;
}

void gather_join(struct gather *g, uint64_t writer)
{
	unsigned i = (unsigned)(writer * 0x9e3779b97f4a7c15 >> 54);

	if (writer == 0 || (g->slot[i].writer == writer && g->slot[i].round == g->round))
		return;
	g->slot[i].writer = writer;
	g->slot[i].round = g->round;
	g->here++;
}

uint64_t gather_until(const struct gather *g, uint64_t since_ns)
{
	uint64_t wait = g->average_ns < g->max_ns ? g->average_ns : g->max_ns;

	if (g->max_ns == 0 || g->lately <= 1 || g->here >= g->lately || wait < WORTH_WAITING_NS)
		wait = 0;
	if (wait < g->min_ns)
		wait = g->min_ns;
	return wait ? since_ns + wait : 0;
}

void gather_close(struct gather *g)
{
	unsigned lately = 0;

	for (unsigned i = 0; i < GATHER_SLOTS; i++)
		if (g->slot[i].round + 1 >= g->round)
			lately++;
	g->lately = lately;
	g->here = 0;
	g->round++;
}

void gather_took(struct gather *g, uint64_t ns)
{
	if (g->average_ns == 0)
		g->average_ns = ns;
	else
		g->average_ns = (g->average_ns * (AVERAGE_SHARE - 1) + ns) / AVERAGE_SHARE;
}

/* Ranges: what is in whose way, and what one owner's locks on a file become. */
#include "server/lock_inner.h"

#include <fcntl.h>
#include <stdlib.h>

bool range_same_owner(const struct want *a, const struct want *b)
{
	return a->client == b->client && a->owner == b->owner && a->flock == b->flock;
}

static bool overlap(const struct want *a, const struct want *b)
{
	return a->start <= b->end && b->start <= a->end;
}

bool range_in_the_way(const struct want *held, const struct want *want)
{
	return held->flock == want->flock && !range_same_owner(held, want) && overlap(held, want) &&
	       (held->type == F_WRLCK || want->type == F_WRLCK);
}

struct held *range_find_in_the_way(const struct lockfile *file, const struct want *want)
{
	struct held *first = NULL;

	for (struct lockset *set = file ? file->sets : NULL; set; set = set->next)
		for (struct held *h = set->held; h; h = h->next)
			if (range_in_the_way(&h->is, want) &&
			    (!first || h->is.start < first->is.start))
				first = h;
	return first;
}

bool range_is_so(const struct lockset *set, const struct want *want)
{
	bool covered = want->type == F_UNLCK;

	for (const struct held *h = set ? set->held : NULL; h; h = h->next) {
		if (!range_same_owner(&h->is, want) || !overlap(&h->is, want))
			continue;
		if (h->is.type != want->type)
			return false;
		covered = h->is.start <= want->start && h->is.end >= want->end;
	}
	return covered;
}

/* Takes want's range out of one lock of the same owner; *spare is used if that leaves two. */
static void range_cut(struct held **link, const struct want *want, struct held **spare)
{
	struct held *h = *link, *rest = *spare;
	bool before = h->is.start < want->start, after = h->is.end > want->end;

	if (before && after) {
		*spare = NULL;
		rest->is = h->is;
		rest->is.start = want->end + 1;
		h->is.end = want->start - 1;
		rest->next = h->next;
		h->next = rest;
	} else if (before) {
		h->is.end = want->start - 1;
	} else if (after) {
		h->is.start = want->end + 1;
	} else {
		*link = h->next;
		free(h);
	}
}

/* Joins to `mine` what touches it: same owner, same type. */
static void range_merge(struct lockset *set, struct held *mine)
{
	struct held **link = &set->held;

	while (*link) {
		struct held *h = *link;
		bool touches = (h->is.end != TO_THE_END && h->is.end + 1 == mine->is.start) ||
			       (mine->is.end != TO_THE_END && mine->is.end + 1 == h->is.start);

		if (h == mine || !touches || h->is.type != mine->is.type ||
		    !range_same_owner(&h->is, &mine->is)) {
			link = &h->next;
			continue;
		}
		if (h->is.start < mine->is.start)
			mine->is.start = h->is.start;
		if (h->is.end > mine->is.end)
			mine->is.end = h->is.end;
		*link = h->next;
		free(h);
	}
}

void range_set(struct lockset *set, const struct want *want, struct held **spare)
{
	struct held **link = &set->held, *mine = spare[0];

	while (*link) {
		struct held *h = *link;

		if (range_same_owner(&h->is, want) && overlap(&h->is, want))
			range_cut(link, want, &spare[1]);
		if (*link == h)
			link = &h->next;
	}
	if (want->type == F_UNLCK)
		return;
	spare[0] = NULL;
	mine->is = *want;
	mine->next = set->held;
	set->held = mine;
	range_merge(set, mine);
}

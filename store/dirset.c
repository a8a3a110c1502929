#include "store/dirset.h"

#include "base/err.h"

#include <stdlib.h>

enum { ROOM_FIRST = 64 };

struct dirset {
	uint64_t *slots; /* open addressing; 0: free */
	uint64_t room, count;
};

struct dirset *dirset_new(void)
{
	struct dirset *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->room = ROOM_FIRST;
	s->slots = calloc(s->room, sizeof(s->slots[0]));
	if (s->slots)
		return s;
	free(s);
	return NULL;
}

void dirset_free(struct dirset *s)
{
	if (!s)
		return;
	free(s->slots);
	free(s);
}

static uint64_t *slot_of(uint64_t *slots, uint64_t room, uint64_t number)
{
	uint64_t at = number * 0x9e3779b97f4a7c15 >> 32;

	while (slots[at & (room - 1)] && slots[at & (room - 1)] != number)
		at++;
	return &slots[at & (room - 1)];
}

bool dirset_has(const struct dirset *s, uint64_t number)
{
	return *slot_of(s->slots, s->room, number) == number;
}

static int grow(struct dirset *s)
{
	uint64_t *slots = calloc(2 * s->room, sizeof(*slots));

	if (!slots)
		return -KILN_ENOMEM;
	for (uint64_t i = 0; i < s->room; i++)
		if (s->slots[i])
			*slot_of(slots, 2 * s->room, s->slots[i]) = s->slots[i];
	free(s->slots);
	s->slots = slots;
	s->room *= 2;
	return 0;
}

int dirset_add(struct dirset *s, uint64_t number)
{
	uint64_t *slot;

	if (2 * s->count >= s->room) {
		int err = grow(s);

		if (err)
			return err;
	}
	slot = slot_of(s->slots, s->room, number);
	s->count += *slot == 0;
	*slot = number;
	return 0;
}

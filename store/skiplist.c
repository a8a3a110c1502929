#include "store/skiplist.h"

#include "store/kv_impl.h"

uint8_t skip_height(uint64_t *state)
{
	uint8_t height = 1;

	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	for (uint64_t bits = *state >> 8; height < SKIP_HEIGHT_MAX && (bits & 3) == 0; bits >>= 2)
		height++;
	return height;
}

struct skip_node *skip_find(struct skip_list *l, const void *key, size_t key_len,
			    struct skip_node ***links)
{
	struct skip_node **at = l->head, *n, *seen = NULL;

	for (int i = SKIP_HEIGHT_MAX - 1; i >= 0; i--) {
		while ((n = at[i]) && n != seen &&
		       kv_key_order(skip_key(n), n->key_len, key, key_len) < 0)
			at = n->next;
		seen = n; /* not below the key: no need to compare it again one level down */
		if (links)
			links[i] = &at[i];
	}
	return at[0];
}

bool skip_is(struct skip_node *n, const void *key, size_t key_len)
{
	return n && kv_key_order(skip_key(n), n->key_len, key, key_len) == 0;
}

struct skip_node *skip_within(struct skip_node *n, const void *to, size_t to_len)
{
	return n && kv_key_order(skip_key(n), n->key_len, to, to_len) < 0 ? n : NULL;
}

void skip_link(struct skip_node *n, struct skip_node ***links)
{
	for (int i = 0; i < n->height; i++) {
		n->next[i] = *links[i];
		*links[i] = n;
	}
}

void skip_unlink(struct skip_node *n, struct skip_node ***links)
{
	for (int i = 0; i < n->height; i++)
		*links[i] = n->next[i];
}

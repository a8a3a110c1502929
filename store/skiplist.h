/* Private to store/: the skip list of what is kept in memory (kv_mem.c, front.c).
 *
 * The caller makes the nodes, with memory from wherever it likes, and holds the lock. */
#ifndef STORE_SKIPLIST_H
#define STORE_SKIPLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SKIP_HEIGHT_MAX = 12 };

/* The key lies behind next[]; where the value lies is its owner's affair. */
struct skip_node {
	unsigned char *value;
	uint32_t value_len, value_room;
	uint16_t key_len;
	uint8_t height;
	bool deleted;
	struct skip_node *next[]; /* height of them */
};

struct skip_list {
	struct skip_node *head[SKIP_HEIGHT_MAX];
};

static inline unsigned char *skip_key(struct skip_node *n)
{
	return (unsigned char *)(n->next + n->height);
}

/* skip_size: of a node, with its key. */
static inline size_t skip_size(uint8_t height, size_t key_len)
{
	return sizeof(struct skip_node) + height * sizeof(struct skip_node *) + key_len;
}

/* skip_height: of a new node; one level up with probability 1/4.  *state: not 0. */
uint8_t skip_height(uint64_t *state);
/* skip_find: the first node with a key >= key; links[i], if wanted (SKIP_HEIGHT_MAX of them), is
 * the pointer in front of it at level i. */
struct skip_node *skip_find(struct skip_list *l, const void *key, size_t key_len,
			    struct skip_node ***links);
/* skip_is: whether n, which can be NULL, has that key.  skip_within: n, or NULL where its key is
 * not below `to`. */
bool skip_is(struct skip_node *n, const void *key, size_t key_len);
struct skip_node *skip_within(struct skip_node *n, const void *to, size_t to_len);
/* skip_link, skip_unlink: links as skip_find has left them for n's key. */
void skip_link(struct skip_node *n, struct skip_node ***links);
void skip_unlink(struct skip_node *n, struct skip_node ***links);

#endif

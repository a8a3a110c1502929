#include "store/rows.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 256, BYTES_MOST = 256 << 10, ROOM_FIRST = 4096 };

struct head {
	uint32_t value_len;
	uint16_t key_len;
	bool deleted;
};

void rows_clear(struct rows *r)
{
	r->used = r->at = r->count = 0;
	r->more = false;
}

bool rows_full(const struct rows *r)
{
	return r->count >= ROWS_MOST || r->used >= BYTES_MOST;
}

static int make_room(struct rows *r, size_t need)
{
	size_t room = need < ROOM_FIRST ? ROOM_FIRST : 2 * need;
	void *grown;

	if (need <= r->room)
		return 0;
	grown = realloc(r->bytes, room);
	if (!grown)
		return -KILN_ENOMEM;
	r->bytes = grown;
	r->room = room;
	return 0;
}

int rows_add(struct rows *r, struct skip_node *n)
{
	struct head head = { n->value_len, n->key_len, n->deleted };
	size_t bytes = sizeof(head) + n->key_len + n->value_len;
	int err = make_room(r, r->used + bytes);
	unsigned char *at;

	if (err)
		return err;
	at = r->bytes + r->used;
	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), skip_key(n), n->key_len);
	if (n->value_len)
		memcpy(at + sizeof(head) + n->key_len, n->value, n->value_len);
	r->used += bytes;
	r->count++;
	return 0;
}

bool rows_look(const struct rows *r, struct row *row)
{
	const unsigned char *at;
	struct head head;

	if (r->at == r->used)
		return false;
	at = r->bytes + r->at;
	memcpy(&head, at, sizeof(head));
	at += sizeof(head);
	*row = (struct row){ .key = at, .key_len = head.key_len, .value_len = head.value_len,
			     .value = head.deleted ? NULL : at + head.key_len };
	return true;
}

void rows_next(struct rows *r)
{
	struct row row;

	if (rows_look(r, &row))
		r->at += sizeof(struct head) + row.key_len + row.value_len;
}

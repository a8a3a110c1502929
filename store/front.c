#include "store/front.h"

#include "base/err.h"
#include "base/lock.h"
#include "store/kv_impl.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 256 << 10 }; /* memory is taken in pieces of this size and kept */

struct chunk {
	struct chunk *next;
	size_t room, used;
	unsigned char bytes[] __attribute__((aligned(8)));
};

/* bytes: what was added, the overwritten too: how full it is. */
struct table {
	struct skip_list lists[KV_SPACES];
	struct chunk *chunks, *current; /* current: the one being filled; those behind it are empty */
	size_t bytes;
};

struct front {
	struct lock lock;       /* LEAF; of both tables, but that the moving one may be read by the
				 * thread that moves it: nobody changes it */
	struct cond room;       /* [lock] */
	struct table *adding;   /* [lock] */
	struct table *moving;   /* [lock]; empty: nothing is on its way */
	size_t full;            /* bytes */
	uint64_t random;        /* [lock] */
	bool failed;            /* [lock] */
	bool single;
};

static size_t rounded(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

/* Memory. */

/* add_chunk: behind the current one. */
static int add_chunk(struct table *t, size_t need)
{
	size_t room = need > CHUNK_BYTES ? need : CHUNK_BYTES;
	struct chunk *c = malloc(sizeof(*c) + room);

	if (!c)
		return -KILN_ENOMEM;
	c->room = room;
	c->used = 0;
	c->next = t->current ? t->current->next : t->chunks;
	if (t->current)
		t->current->next = c;
	else
		t->chunks = c;
	t->current = c;
	return 0;
}

static bool has_room(const struct chunk *c, size_t need)
{
	return c && c->room - c->used >= need;
}

/* ready: the current chunk has room for that many bytes. */
static int ready(struct table *t, size_t need)
{
	struct chunk *next = t->current ? t->current->next : t->chunks;

	if (has_room(t->current, need))
		return 0;
	if (!has_room(next, need))
		return add_chunk(t, need);
	t->current = next;
	return 0;
}

static void *take(struct table *t, size_t bytes)
{
	struct chunk *c = t->current;
	void *memory = c->bytes + c->used;

	c->used += rounded(bytes);
	return memory;
}

/* clear: about as much is kept as it takes to be full, in chunks of the usual size. */
static void clear(struct table *t, size_t keep)
{
	struct chunk **at = &t->chunks, *c;

	while ((c = *at)) {
		c->used = 0;
		if (c->room == CHUNK_BYTES && keep >= CHUNK_BYTES) {
			keep -= CHUNK_BYTES;
			at = &c->next;
			continue;
		}
		*at = c->next;
		free(c);
	}
	t->current = NULL;
	t->bytes = 0;
	memset(t->lists, 0, sizeof(t->lists));
}

static struct table *table_new(void)
{
	return calloc(1, sizeof(struct table));
}

static void table_free(struct table *t)
{
	while (t && t->chunks) {
		struct chunk *next = t->chunks->next;

		free(t->chunks);
		t->chunks = next;
	}
	free(t);
}

struct front *front_new(size_t bytes, bool single)
{
	struct front *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->adding = table_new();
	f->moving = table_new();
	f->full = bytes;
	f->single = single;
	f->random = 0x9e3779b97f4a7c15;
	lock_init(&f->lock, LOCK_RANK_LEAF, "front");
	cond_init(&f->room);
	if (f->adding && f->moving)
		return f;
	front_free(f);
	return NULL;
}

void front_free(struct front *f)
{
	if (!f)
		return;
	table_free(f->adding);
	table_free(f->moving);
	cond_destroy(&f->room);
	lock_destroy(&f->lock);
	free(f);
}

/* Changes. */

static struct skip_list *list_of(const struct front *f, struct table *t, enum kv_space space)
{
	return &t->lists[f->single ? 0 : space];
}

static struct skip_node *find_equal(const struct front *f, struct table *t, enum kv_space space,
				    const void *key, size_t key_len)
{
	struct skip_node *n = skip_find(list_of(f, t, space), key, key_len, NULL);

	return skip_is(n, key, key_len) ? n : NULL;
}

static struct skip_node *add_node(struct front *f, struct table *t, const void *key,
				  uint16_t key_len, struct skip_node ***links)
{
	uint8_t height = skip_height(&f->random);
	struct skip_node *n = take(t, skip_size(height, key_len));

	*n = (struct skip_node){ .key_len = key_len, .height = height };
	memcpy(skip_key(n), key, key_len);
	skip_link(n, links);
	return n;
}

/* A value that fits is overwritten in place. */
static void set_value(struct table *t, struct skip_node *n, const void *value, uint32_t len)
{
	if (len > n->value_room) {
		n->value = take(t, len);
		n->value_room = len;
	}
	if (len)
		memcpy(n->value, value, len);
	n->value_len = len;
}

static void add_record(struct front *f, const struct kv_batch *b, const struct kv_record *r)
{
	const unsigned char *key = b->bytes + r->at;
	struct skip_node **links[SKIP_HEIGHT_MAX];
	struct table *t = f->adding;
	struct skip_node *n = skip_find(list_of(f, t, r->space), key, r->key_len, links);

	if (!skip_is(n, key, r->key_len))
		n = add_node(f, t, key, r->key_len, links);
	n->deleted = r->kind == KV_DEL;
	set_value(t, n, key + r->key_len, r->value_len);
	t->bytes += sizeof(*n) + r->key_len + r->value_len;
}

/* Adding. */

static size_t most_bytes(const struct kv_batch *b)
{
	const size_t node = skip_size(SKIP_HEIGHT_MAX, 0) + 16; /* both are rounded */

	return b->bytes_used + b->count * node;
}

static bool is_stuffed(const struct front *f)
{
	lock_assert_held(&f->lock);
	return f->adding->bytes >= FRONT_MOST * f->full;
}

int front_add_ready(struct front *f, const struct kv_batch *b)
{
	lock_guard(&f->lock);
	return is_stuffed(f) ? -KILN_EWOULDBLOCK : ready(f->adding, most_bytes(b));
}

bool front_add(struct front *f, const struct kv_batch *b)
{
	size_t before;

	lock_guard(&f->lock);
	before = f->adding->bytes;
	for (size_t i = 0; i < b->count; i++)
		add_record(f, b, &b->records[i]);
	return before < f->full && f->adding->bytes >= f->full;
}

void front_await_room(struct front *f)
{
	lock_guard(&f->lock);
	while (is_stuffed(f) && !f->failed)
		cond_wait(&f->room, &f->lock);
}

void front_fail(struct front *f)
{
	lock_guard(&f->lock);
	f->failed = true;
	cond_broadcast(&f->room);
}

/* Moving on. */

bool front_turn(struct front *f)
{
	struct table *full;

	lock_guard(&f->lock);
	if (f->moving->bytes)
		return true;
	full = f->adding;
	if (full->bytes == 0)
		return false;
	f->adding = f->moving;
	f->moving = full;
	cond_broadcast(&f->room);
	return true;
}

void front_each(struct front *f, void (*fn)(void *context, const struct front_change *c),
		void *context)
{
	for (int space = 0; space < KV_SPACES; space++) {
		for (struct skip_node *n = f->moving->lists[space].head[0]; n; n = n->next[0]) {
			struct front_change c = { .key = skip_key(n), .key_len = n->key_len,
						  .value = n->deleted ? NULL : n->value,
						  .value_len = n->value_len, .space = space };

			if (!n->deleted && !c.value)
				c.value = "";
			fn(context, &c);
		}
	}
}

void front_moved(struct front *f)
{
	lock_guard(&f->lock);
	clear(f->moving, f->full + f->full / 2 + CHUNK_BYTES);
}

/* Reading. */

int front_get(struct front *f, enum kv_space space, const void *key, size_t key_len, void *buf,
	      size_t cap, size_t *len)
{
	struct skip_node *n;

	lock_guard(&f->lock);
	n = find_equal(f, f->adding, space, key, key_len);
	if (!n)
		n = find_equal(f, f->moving, space, key, key_len);
	if (!n)
		return 1;
	if (n->deleted)
		return -KILN_ENOENT;
	*len = n->value_len;
	if (cap && n->value_len)
		memcpy(buf, n->value, n->value_len < cap ? n->value_len : cap);
	return n->value_len > cap ? -KILN_ERANGE : 0;
}

int front_range(struct front *f, enum kv_space space, const void *from, size_t from_len,
		const void *to, size_t to_len, struct rows *rows)
{
	struct skip_node *a, *m;
	int err = 0;

	rows_clear(rows);
	lock_guard(&f->lock);
	a = skip_within(skip_find(list_of(f, f->adding, space), from, from_len, NULL), to, to_len);
	m = skip_within(skip_find(list_of(f, f->moving, space), from, from_len, NULL), to, to_len);
	while ((a || m) && !rows_full(rows) && !err) {
		int order = !a ? 1 : !m ? -1 : kv_key_order(skip_key(a), a->key_len,
							    skip_key(m), m->key_len);

		err = rows_add(rows, order <= 0 ? a : m);
		if (order <= 0)
			a = skip_within(a->next[0], to, to_len);
		if (order >= 0)
			m = skip_within(m->next[0], to, to_len);
	}
	rows->more = a || m;
	return err;
}

uint64_t front_bytes(struct front *f)
{
	lock_guard(&f->lock);
	return f->adding->bytes + f->moving->bytes;
}

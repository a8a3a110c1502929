/* The back end that keeps nothing: ordered maps in memory, for tests and as the upper limit of
 * what a back end can reach.  A view is the latest state: nothing here is durable, so there is
 * no older state to show.
 *
 * Each key space is a skip list under one mutex.  A batch is made into nodes first, outside the
 * mutex; linking them in cannot fail, so a batch is all or nothing. */
#include "store/kv_impl.h"

#include "base/err.h"
#include "store/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mem {
	struct kv kv;
	struct lock lock;    /* rank STORE */
	struct skip_list lists[KV_SPACES]; /* [lock] */
	uint64_t random;     /* [lock] */
	uint64_t bytes;      /* [lock] keys and values */
	bool single;
};

/* A scan copies rows out, some at a time, so the mutex is never held between two calls. */
struct mem_scan {
	struct kv_scan scan;
	struct mem *mem;
	struct skip_list *list;
	unsigned char *from, *to;
	size_t from_len, from_room, to_len;
	struct rows rows;
	bool begun;
};

static struct mem *mem_of(struct kv *kv)
{
	return (struct mem *)kv;
}

static struct skip_list *list_of(struct mem *m, enum kv_space space)
{
	return &m->lists[m->single ? 0 : space];
}

static void unlink_node(struct mem *m, struct skip_node *n, struct skip_node ***links)
{
	skip_unlink(n, links);
	m->bytes -= n->key_len + n->value_len;
	free(n);
}

static void erase(struct mem *m, struct skip_list *l, const void *key, size_t key_len)
{
	struct skip_node **links[SKIP_HEIGHT_MAX];
	struct skip_node *n = skip_find(l, key, key_len, links);

	if (skip_is(n, key, key_len))
		unlink_node(m, n, links);
}

static void insert(struct mem *m, struct skip_list *l, struct skip_node *n)
{
	struct skip_node **links[SKIP_HEIGHT_MAX];
	struct skip_node *old = skip_find(l, skip_key(n), n->key_len, links);

	if (skip_is(old, skip_key(n), n->key_len))
		unlink_node(m, old, links);
	skip_link(n, links);
	m->bytes += n->key_len + n->value_len;
}

/* node_new: the value behind the key. */
static struct skip_node *node_new(const struct kv_batch *b, const struct kv_record *r,
				  uint8_t height)
{
	size_t size = skip_size(height, r->key_len);
	struct skip_node *n = malloc(size + r->value_len);

	if (!n)
		return NULL;
	*n = (struct skip_node){ .value = (unsigned char *)n + size, .value_len = r->value_len,
				 .key_len = r->key_len, .height = height };
	memcpy(skip_key(n), b->bytes + r->at, (size_t)r->key_len + r->value_len);
	return n;
}

/* The batch's nodes, chained through next[0]. */
static int make_nodes(struct mem *m, const struct kv_batch *b, struct skip_node **out)
{
	struct skip_node *first = NULL, **tail = &first;
	uint64_t random = __atomic_fetch_add(&m->random, 0x9e3779b97f4a7c15, __ATOMIC_RELAXED) | 1;

	for (size_t i = 0; i < b->count; i++) {
		if (b->records[i].kind != KV_PUT)
			continue;
		*tail = node_new(b, &b->records[i], skip_height(&random));
		if (!*tail)
			goto nomem;
		(*tail)->next[0] = NULL;
		tail = &(*tail)->next[0];
	}
	*out = first;
	return 0;
nomem:
	while (first) {
		struct skip_node *next = first->next[0];

		free(first);
		first = next;
	}
	return -KILN_ENOMEM;
}

static int mem_apply(struct kv *kv, const struct kv_batch *b, unsigned flags)
{
	struct mem *m = mem_of(kv);
	struct skip_node *made;
	int err = make_nodes(m, b, &made);

	if (err)
		return err;
	lock_guard(&m->lock);
	for (size_t i = 0; i < b->count; i++) {
		const struct kv_record *r = &b->records[i];
		const unsigned char *key = b->bytes + r->at;
		struct skip_list *l = list_of(m, r->space);

		if (r->kind == KV_DEL) {
			erase(m, l, key, r->key_len);
		} else {
			struct skip_node *n = made;

			made = n->next[0];
			insert(m, l, n);
		}
	}
	return 0;
}

static int mem_sync(struct kv *kv)
{
	return 0;
}

static int mem_get(struct kv *kv, const struct kv_view *view, enum kv_space space, const void *key,
		   size_t key_len, void *buf, size_t cap, size_t *len, unsigned flags)
{
	struct mem *m = mem_of(kv);
	struct skip_node *n;

	lock_guard(&m->lock);
	n = skip_find(list_of(m, space), key, key_len, NULL);
	if (!skip_is(n, key, key_len))
		return -KILN_ENOENT;
	*len = n->value_len;
	if (cap)
		memcpy(buf, n->value, n->value_len < cap ? n->value_len : cap);
	return n->value_len > cap ? -KILN_ERANGE : 0;
}

static int mem_get_many(struct kv *kv, const struct kv_view *view, enum kv_space space,
			struct kv_item *items, size_t count, unsigned flags)
{
	for (size_t i = 0; i < count; i++)
		items[i].err = mem_get(kv, view, space, items[i].key, items[i].key_len, items[i].buf,
				       items[i].cap, &items[i].len, flags);
	return 0;
}

static void mem_scan_close(struct kv_scan *scan)
{
	struct mem_scan *s = (struct mem_scan *)scan;

	free(s->from);
	free(s->to);
	free(s->rows.bytes);
	free(s);
}

static int mem_scan_open(struct kv *kv, const struct kv_view *view, enum kv_space space,
			 const void *from, size_t from_len, const void *to, size_t to_len,
			 unsigned flags, struct kv_scan **out)
{
	struct mem_scan *s = calloc(1, sizeof(*s));

	if (!s)
		return -KILN_ENOMEM;
	s->scan.ops = kv->ops;
	s->mem = mem_of(kv);
	s->list = list_of(s->mem, space);
	s->from_room = from_len + 1;
	s->from = malloc(s->from_room);
	s->to = malloc(to_len + 1);
	if (!s->from || !s->to) {
		mem_scan_close(&s->scan);
		return -KILN_ENOMEM;
	}
	memcpy(s->from, from, from_len);
	memcpy(s->to, to, to_len);
	s->from_len = from_len;
	s->to_len = to_len;
	*out = &s->scan;
	return 0;
}

/* The next rows begin right behind the last key: that key with a zero byte added. */
static int remember(struct mem_scan *s, struct skip_node *n)
{
	size_t need = (size_t)n->key_len + 1;

	if (need > s->from_room) {
		void *grown = realloc(s->from, need);

		if (!grown)
			return -KILN_ENOMEM;
		s->from = grown;
		s->from_room = need;
	}
	memcpy(s->from, skip_key(n), n->key_len);
	s->from[n->key_len] = 0;
	s->from_len = need;
	return 0;
}

static int fill(struct mem_scan *s)
{
	struct skip_node *n, *last = NULL;
	int err = 0;

	s->begun = true;
	rows_clear(&s->rows);
	lock_guard(&s->mem->lock);
	n = skip_within(skip_find(s->list, s->from, s->from_len, NULL), s->to, s->to_len);
	while (n && !rows_full(&s->rows) && !err) {
		err = rows_add(&s->rows, n);
		last = n;
		n = skip_within(n->next[0], s->to, s->to_len);
	}
	s->rows.more = n;
	return err || !last ? err : remember(s, last);
}

static int mem_scan_next(struct kv_scan *scan, const void **key, size_t *key_len,
			 const void **value, size_t *value_len)
{
	struct mem_scan *s = (struct mem_scan *)scan;
	struct row row;
	int err = 0;

	if (!rows_look(&s->rows, &row) && (s->rows.more || !s->begun))
		err = fill(s);
	if (err || !rows_look(&s->rows, &row))
		return err;
	*key = row.key;
	*key_len = row.key_len;
	*value = row.value;
	*value_len = row.value_len;
	rows_next(&s->rows);
	return 1;
}

static struct kv_view *mem_view_new(struct kv *kv)
{
	struct kv_view *view = malloc(sizeof(*view));

	if (view)
		view->kv = kv;
	return view;
}

static void mem_view_free(struct kv *kv, struct kv_view *view)
{
	free(view);
}

static char *mem_property(struct kv *kv, const char *name)
{
	struct mem *m = mem_of(kv);
	char *text;

	if (strcmp(name, "size_bytes") != 0)
		return NULL;
	lock_guard(&m->lock);
	return asprintf(&text, "%llu", (unsigned long long)m->bytes) < 0 ? NULL : text;
}

static void mem_close(struct kv *kv)
{
	struct mem *m = mem_of(kv);

	for (int i = 0; i < KV_SPACES; i++) {
		struct skip_node *n = m->lists[i].head[0];

		while (n) {
			struct skip_node *next = n->next[0];

			free(n);
			n = next;
		}
	}
	lock_destroy(&m->lock);
	kv_fini(kv);
	free(m);
}

static const struct kv_ops mem_ops = {
	.name = "mem",
	.close = mem_close,
	.get = mem_get,
	.get_many = mem_get_many,
	.scan_open = mem_scan_open,
	.scan_next = mem_scan_next,
	.scan_close = mem_scan_close,
	.apply = mem_apply,
	.sync = mem_sync,
	.view_new = mem_view_new,
	.view_free = mem_view_free,
	.property = mem_property,
};

int kv_mem_open(const struct kv_options *options, struct kv **out)
{
	struct mem *m = calloc(1, sizeof(*m));

	if (!m)
		return -KILN_ENOMEM;
	kv_init(&m->kv, &mem_ops);
	lock_init(&m->lock, LOCK_RANK_STORE, "mem");
	m->single = strcmp(options->layout, "single") == 0;
	*out = &m->kv;
	return 0;
}

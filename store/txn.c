#include "store/txn.h"

#include "base/err.h"
#include "store/cache.h"
#include "store/kv_impl.h"
#include "store/overlay.h"
#include "store/store_impl.h"

#include <stdlib.h>
#include <string.h>

struct txn {
	struct store *store;
	struct kv *kv;
	const struct kv_view *view;
	uint32_t brick;
	bool group, may_block, fresh;
	struct overlay *overlay; /* NULL: no changes */
	struct cache *cache;     /* the store's; NULL: it has none */
};

struct txn_scan {
	struct kv_scan *scan;
	const struct overlay *overlay;
	struct overlay_row *rows;
	size_t row, row_count;
	const void *key, *value; /* the store's next, not given out yet */
	size_t key_len, value_len;
	bool fetched, ended;
};

static struct txn *txn_new(struct store *s, uint32_t brick, bool group)
{
	struct txn *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->store = s;
	t->kv = store_kv(s);
	t->cache = store_cache(s);
	t->brick = brick;
	t->group = group;
	return t;
}

struct txn *txn_reader_new(struct store *s)
{
	return txn_new(s, 0, false);
}

struct txn *txn_group_new(struct store *s, uint32_t brick)
{
	return txn_new(s, brick, true);
}

static void drop_changes(struct txn *t)
{
	if (t->overlay)
		overlay_give(t->overlay);
	t->overlay = NULL;
}

void txn_free(struct txn *t)
{
	if (!t)
		return;
	drop_changes(t);
	free(t);
}

void txn_look(struct txn *t, uint32_t brick, const struct kv_view *view)
{
	t->brick = brick;
	t->view = view;
	t->fresh = false;
}

void txn_fresh(struct txn *t, bool fresh)
{
	t->fresh = fresh && t->view;
}

bool txn_is_fresh(const struct txn *t)
{
	return t->fresh;
}

bool txn_is_behind(const struct txn *t)
{
	return !t->group && t->view;
}

void txn_may_block(struct txn *t, bool may)
{
	t->may_block = may;
}

uint32_t txn_brick(const struct txn *t)
{
	return t->brick;
}

struct store *txn_store(const struct txn *t)
{
	return t->store;
}

static unsigned read_flags(const struct txn *t)
{
	return t->may_block ? 0 : KV_CACHED;
}

static int copy_hit(const struct overlay_hit *hit, void *buf, size_t cap, size_t *len)
{
	if (hit->deleted)
		return -KILN_ENOENT;
	*len = hit->value_len;
	if (cap)
		memcpy(buf, hit->value, hit->value_len < cap ? hit->value_len : cap);
	return hit->value_len > cap ? -KILN_ERANGE : 0;
}

int txn_get(struct txn *t, enum kv_space space, const void *key, size_t key_len, void *buf,
	    size_t cap, size_t *len)
{
	struct overlay_hit hit;

	if (t->overlay && overlay_find(t->overlay, space, key, key_len, &hit))
		return copy_hit(&hit, buf, cap, len);
	if (!t->view)
		return txn_get_latest(t, space, key, key_len, buf, cap, len);
	return kv_get(t->kv, t->view, space, key, key_len, buf, cap, len, read_flags(t));
}

int txn_get_latest(struct txn *t, enum kv_space space, const void *key, size_t key_len, void *buf,
		   size_t cap, size_t *len)
{
	uint64_t ticket;
	int err = t->cache ? cache_get(t->cache, space, key, key_len, buf, cap, len, &ticket) : 1;

	if (err != 1)
		return err;
	err = kv_get(t->kv, NULL, space, key, key_len, buf, cap, len, read_flags(t));
	if (t->cache)
		cache_fill(t->cache, space, key, key_len, buf, *len, err, ticket);
	return err;
}

int txn_get_many(struct txn *t, enum kv_space space, struct kv_item *items, size_t count)
{
	return kv_get_many(t->kv, t->view, space, items, count, read_flags(t));
}

static int change(struct txn *t, enum kv_space space, const void *key, size_t key_len,
		  const void *value, size_t value_len)
{
	if (!t->group)
		return -KILN_EINVAL;
	if (!t->overlay)
		t->overlay = overlay_take();
	if (!t->overlay)
		return -KILN_ENOMEM;
	return overlay_change(t->overlay, space, key, key_len, value, value_len);
}

int txn_put(struct txn *t, enum kv_space space, const void *key, size_t key_len,
	    const void *value, size_t value_len)
{
	return change(t, space, key, key_len, value ? value : "", value_len);
}

int txn_del(struct txn *t, enum kv_space space, const void *key, size_t key_len)
{
	return change(t, space, key, key_len, NULL, 0);
}

void txn_scan_close(struct txn_scan *s)
{
	if (!s)
		return;
	kv_scan_close(s->scan);
	free(s->rows);
	free(s);
}

int txn_scan_open(struct txn *t, enum kv_space space, const void *from, size_t from_len,
		  const void *to, size_t to_len, struct txn_scan **out)
{
	struct txn_scan *s = calloc(1, sizeof(*s));
	int err = 0;

	if (!s)
		return -KILN_ENOMEM;
	s->overlay = t->overlay;
	if (t->overlay)
		err = overlay_range(t->overlay, space, from, from_len, to, to_len, &s->rows,
				    &s->row_count);
	if (!err)
		err = kv_scan_open(t->kv, t->view, space, from, from_len, to, to_len,
				   read_flags(t), &s->scan);
	if (err) {
		txn_scan_close(s);
		return err;
	}
	*out = s;
	return 0;
}

static int fetch(struct txn_scan *s)
{
	int got = 0;

	if (s->fetched || s->ended)
		return 0;
	got = kv_scan_next(s->scan, &s->key, &s->key_len, &s->value, &s->value_len);
	s->fetched = got > 0;
	s->ended = got == 0;
	return got < 0 ? got : 0;
}

/* How the group's next row stands to the store's next key: < 0 in front of it, 0 the same. */
static int order(const struct txn_scan *s)
{
	const struct overlay_row *row = &s->rows[s->row];

	if (s->ended)
		return -1;
	return kv_key_order(overlay_bytes(s->overlay, row->key_at), row->key_len, s->key,
			    s->key_len);
}

int txn_scan_next(struct txn_scan *s, const void **key, size_t *key_len, const void **value,
		  size_t *value_len)
{
	for (;;) {
		int err = fetch(s), way = 1;

		if (err)
			return err;
		if (s->row < s->row_count)
			way = order(s);
		else if (s->ended)
			return 0;
		if (way > 0)
			break;
		const struct overlay_row *row = &s->rows[s->row++];
		if (way == 0)
			s->fetched = false;
		if (row->deleted)
			continue;
		*key = overlay_bytes(s->overlay, row->key_at);
		*key_len = row->key_len;
		*value = overlay_bytes(s->overlay, row->value_at);
		*value_len = row->value_len;
		return 1;
	}
	s->fetched = false;
	*key = s->key;
	*key_len = s->key_len;
	*value = s->value;
	*value_len = s->value_len;
	return 1;
}

void txn_mark(struct txn *t)
{
	if (t->overlay)
		overlay_mark(t->overlay);
}

void txn_undo(struct txn *t)
{
	if (!t->overlay)
		return;
	overlay_undo(t->overlay);
	if (overlay_empty(t->overlay))
		drop_changes(t);
}

bool txn_empty(const struct txn *t)
{
	return !t->overlay;
}

static int apply(struct txn *t, const struct kv_batch *batch, uint64_t *seq)
{
	int err;

	if (t->cache)
		cache_begin(t->cache, batch);
	err = kv_apply(t->kv, batch, t->may_block ? 0 : KV_NOSTALL, seq);
	if (t->cache)
		cache_end(t->cache, batch, !err);
	return err;
}

int txn_apply(struct txn *t, uint64_t *seq)
{
	const struct kv_batch *batch;
	int err;

	if (!t->overlay) {
		*seq = commit_latest(store_committer(t->store));
		return 0;
	}
	err = overlay_batch(t->overlay, &batch);
	if (!err)
		err = apply(t, batch, seq);
	if (err == -KILN_EWOULDBLOCK)
		return err;
	if (!err) {
		room_took(store_room(t->store), kv_batch_bytes(batch));
		commit_applied(store_committer(t->store), *seq);
	}
	drop_changes(t);
	return err;
}

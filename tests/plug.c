#include "tests/plug.h"

#include "base/err.h"
#include "store/kv_impl.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	JITTER_SHARE = 16, BLOCK_SHARE = 24, APPLY_SHARE = 3, /* one in so many */
	NAP_NS = 50000, SYNC_NS = 600000, APPLY_NS = 300000,  /* at most */
	KEY_ROOM = 300,
};

struct version {
	struct version *older;
	uint64_t index;
	bool deleted;
	size_t len;
	unsigned char value[];
};

struct cell {
	struct version *newest;
	size_t key_len;
	unsigned char key[];
};

struct space {
	struct cell **cells; /* in order of their keys */
	size_t count, room;
};

struct plug {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct space spaces[KV_SPACES]; /* [mutex] */
	uint64_t applied, synced;       /* [mutex] */
	unsigned syncs;                 /* [mutex] */
	bool held, failing;             /* [mutex] */
	enum { APPLIES_GO, APPLY_HOLD, APPLY_HELD } apply; /* [mutex] the next, or one already */
	unsigned reads_left;            /* [mutex] until one fails; 0: none will */
	uint64_t random;                /* [mutex] 0: no jitter */
};

struct plug_kv {
	struct kv kv;
	struct plug *plug;
};

struct view {
	struct kv_view view;
	uint64_t index;
};

struct scan {
	struct kv_scan scan;
	struct plug *plug;
	struct space *space;
	uint64_t index;
	unsigned char next[KEY_ROOM], to[KEY_ROOM]; /* next: the smallest key not given out yet */
	size_t next_len, to_len;
	unsigned char *value;
};

static struct plug *plug_of(struct kv *kv)
{
	return ((struct plug_kv *)kv)->plug;
}

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

/* --- jitter ----------------------------------------------------------------------------------- */

static uint64_t draw(struct plug *p)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return p->random;
}

static void nap(uint64_t ns)
{
	struct timespec ts = { .tv_nsec = (long)ns };

	nanosleep(&ts, NULL);
}

/* jitter: true where a call that may say so should say that it would block. */
static bool jitter(struct plug *p)
{
	uint64_t drawn = 0;

	pthread_mutex_lock(&p->mutex);
	if (p->random)
		drawn = draw(p);
	pthread_mutex_unlock(&p->mutex);
	if (!drawn)
		return false;
	if (drawn % JITTER_SHARE == 0)
		nap(drawn >> 8 & 1 ? 0 : (drawn >> 16) % NAP_NS);
	return (drawn >> 32) % BLOCK_SHARE == 0;
}

/* --- cells -------------------------------------------------------------------------------------- */

/* place: of the first cell with a key >= key. */
static size_t place(const struct space *s, const void *key, size_t len)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct cell *c = s->cells[mid];

		if (kv_key_order(c->key, c->key_len, key, len) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct cell *cell_find(const struct space *s, const void *key, size_t len)
{
	size_t at = place(s, key, len);

	if (at == s->count || kv_key_order(s->cells[at]->key, s->cells[at]->key_len, key, len) != 0)
		return NULL;
	return s->cells[at];
}

static struct cell *cell_make(struct space *s, const void *key, size_t len)
{
	struct cell *c = cell_find(s, key, len);
	size_t at;

	if (c)
		return c;
	if (s->count == s->room) {
		s->room = s->room ? 2 * s->room : 256;
		s->cells = must(realloc(s->cells, s->room * sizeof(*s->cells)));
	}
	c = must(malloc(sizeof(*c) + len));
	*c = (struct cell){ .key_len = len };
	memcpy(c->key, key, len);
	at = place(s, key, len);
	memmove(s->cells + at + 1, s->cells + at, (s->count - at) * sizeof(*s->cells));
	s->cells[at] = c;
	s->count++;
	return c;
}

static void version_add(struct cell *c, uint64_t index, bool deleted, const void *value, size_t len)
{
	struct version *v = must(malloc(sizeof(*v) + len));

	*v = (struct version){ .older = c->newest, .index = index, .deleted = deleted, .len = len };
	if (len)
		memcpy(v->value, value, len);
	c->newest = v;
}

/* version_at: what the key is in the state after `index`; NULL: not there. */
static const struct version *version_at(const struct cell *c, uint64_t index)
{
	const struct version *v = c ? c->newest : NULL;

	while (v && v->index > index)
		v = v->older;
	return v && !v->deleted ? v : NULL;
}

/* Drops what is newer than index. */
static void cell_cut(struct cell *c, uint64_t index)
{
	while (c->newest && c->newest->index > index) {
		struct version *v = c->newest;

		c->newest = v->older;
		free(v);
	}
}

static uint64_t index_of(const struct plug *p, const struct kv_view *view)
{
	return view ? ((const struct view *)view)->index : p->applied;
}

/* --- the back end --------------------------------------------------------------------------------- */

static void plug_kv_close(struct kv *kv)
{
	kv_fini(kv);
	free(kv);
}

static int copy_out(const struct version *v, void *buf, size_t cap, size_t *len)
{
	if (!v)
		return -KILN_ENOENT;
	*len = v->len;
	if (cap && v->len)
		memcpy(buf, v->value, v->len < cap ? v->len : cap);
	return v->len > cap ? -KILN_ERANGE : 0;
}

bool plug_fail_read(struct plug *p, unsigned nth)
{
	bool was;

	pthread_mutex_lock(&p->mutex);
	was = !p->reads_left;
	p->reads_left = nth;
	pthread_mutex_unlock(&p->mutex);
	return was;
}

static bool read_fails(struct plug *p)
{
	bool fails;

	pthread_mutex_lock(&p->mutex);
	fails = p->reads_left && --p->reads_left == 0;
	pthread_mutex_unlock(&p->mutex);
	return fails;
}

static int plug_get(struct kv *kv, const struct kv_view *view, enum kv_space space, const void *key,
		    size_t key_len, void *buf, size_t cap, size_t *len, unsigned flags)
{
	struct plug *p = plug_of(kv);
	int err;

	if (jitter(p) && flags & KV_CACHED)
		return -KILN_EWOULDBLOCK;
	if (read_fails(p))
		return -KILN_EIO;
	pthread_mutex_lock(&p->mutex);
	err = copy_out(version_at(cell_find(&p->spaces[space], key, key_len), index_of(p, view)),
		       buf, cap, len);
	pthread_mutex_unlock(&p->mutex);
	return err;
}

static int plug_get_many(struct kv *kv, const struct kv_view *view, enum kv_space space,
			 struct kv_item *items, size_t count, unsigned flags)
{
	for (size_t i = 0; i < count; i++)
		items[i].err = plug_get(kv, view, space, items[i].key, items[i].key_len,
					items[i].buf, items[i].cap, &items[i].len, flags);
	return 0;
}

static int plug_scan_open(struct kv *kv, const struct kv_view *view, enum kv_space space,
			  const void *from, size_t from_len, const void *to, size_t to_len,
			  unsigned flags, struct kv_scan **out)
{
	struct plug *p = plug_of(kv);
	struct scan *s;

	if (jitter(p) && flags & KV_CACHED)
		return -KILN_EWOULDBLOCK;
	if (read_fails(p))
		return -KILN_EIO;
	if (from_len >= KEY_ROOM || to_len > KEY_ROOM)
		return -KILN_EINVAL;
	s = must(calloc(1, sizeof(*s)));
	s->scan.ops = kv->ops;
	s->plug = p;
	s->space = &p->spaces[space];
	memcpy(s->next, from, from_len);
	s->next_len = from_len;
	memcpy(s->to, to, to_len);
	s->to_len = to_len;
	pthread_mutex_lock(&p->mutex);
	s->index = index_of(p, view);
	pthread_mutex_unlock(&p->mutex);
	*out = &s->scan;
	return 0;
}

/* scan_find: the next cell with a value in the scan's state. */
static const struct cell *scan_find(struct scan *s, const struct version **v)
{
	for (size_t i = place(s->space, s->next, s->next_len); i < s->space->count; i++) {
		const struct cell *c = s->space->cells[i];

		if (kv_key_order(c->key, c->key_len, s->to, s->to_len) >= 0)
			return NULL;
		*v = version_at(c, s->index);
		if (*v)
			return c;
	}
	return NULL;
}

/* The next key to give out is this one with a zero byte added, so next holds the key itself. */
static int plug_scan_next(struct kv_scan *scan, const void **key, size_t *key_len,
			  const void **value, size_t *value_len)
{
	struct scan *s = (struct scan *)scan;
	const struct version *v;
	const struct cell *c;

	jitter(s->plug);
	pthread_mutex_lock(&s->plug->mutex);
	c = scan_find(s, &v);
	if (c) {
		memcpy(s->next, c->key, c->key_len);
		s->next[c->key_len] = 0;
		s->next_len = c->key_len + 1;
		s->value = must(realloc(s->value, v->len + 1));
		memcpy(s->value, v->value, v->len);
		*key = s->next;
		*key_len = c->key_len;
		*value = s->value;
		*value_len = v->len;
	}
	pthread_mutex_unlock(&s->plug->mutex);
	return c != NULL;
}

static void plug_scan_close(struct kv_scan *scan)
{
	free(((struct scan *)scan)->value);
	free(scan);
}

static void apply_record(struct plug *p, const struct kv_batch *b, const struct kv_record *r)
{
	const unsigned char *key = b->bytes + r->at, *value = key + r->key_len;
	struct space *s = &p->spaces[r->space];

	if (r->key_len >= KEY_ROOM)
		abort();
	if (r->kind == KV_PUT)
		version_add(cell_make(s, key, r->key_len), p->applied, false, value, r->value_len);
	else if (cell_find(s, key, r->key_len))
		version_add(cell_find(s, key, r->key_len), p->applied, true, NULL, 0);
}

/* With the mutex. */
static void apply_held(struct plug *p)
{
	if (p->apply != APPLY_HOLD)
		return;
	p->apply = APPLY_HELD;
	pthread_cond_broadcast(&p->changed);
	while (p->apply == APPLY_HELD)
		pthread_cond_wait(&p->changed, &p->mutex);
}

static int plug_apply(struct kv *kv, const struct kv_batch *b, unsigned flags)
{
	struct plug *p = plug_of(kv);
	uint64_t drawn;

	if (jitter(p) && flags & KV_NOSTALL)
		return -KILN_EWOULDBLOCK;
	pthread_mutex_lock(&p->mutex);
	drawn = p->random ? draw(p) : 1;
	pthread_mutex_unlock(&p->mutex);
	if (drawn % APPLY_SHARE == 0) /* others queue up behind this one */
		nap((drawn >> 8) % APPLY_NS);
	pthread_mutex_lock(&p->mutex);
	apply_held(p);
	p->applied++;
	for (size_t i = 0; i < b->count; i++)
		apply_record(p, b, &b->records[i]);
	pthread_mutex_unlock(&p->mutex);
	jitter(p);
	return 0;
}

static int plug_sync(struct kv *kv)
{
	struct plug *p = plug_of(kv);
	uint64_t through, drawn;
	bool failed;

	pthread_mutex_lock(&p->mutex);
	through = p->applied;
	drawn = p->random ? draw(p) : 0;
	p->syncs++;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->mutex);
	if (drawn & 3)
		nap((drawn >> 8) % SYNC_NS);
	pthread_mutex_lock(&p->mutex);
	while (p->held && !p->failing)
		pthread_cond_wait(&p->changed, &p->mutex);
	failed = p->failing;
	if (!failed && through > p->synced)
		p->synced = through;
	pthread_mutex_unlock(&p->mutex);
	jitter(p);
	return failed ? -KILN_EIO : 0;
}

static struct kv_view *plug_view_new(struct kv *kv)
{
	return plug_view(kv, plug_applied(plug_of(kv)));
}

static void plug_view_free(struct kv *kv, struct kv_view *view)
{
	free(view);
}

static char *plug_property(struct kv *kv, const char *name)
{
	return NULL;
}

static const struct kv_ops plug_ops = {
	.name = "plug",
	.close = plug_kv_close,
	.get = plug_get,
	.get_many = plug_get_many,
	.scan_open = plug_scan_open,
	.scan_next = plug_scan_next,
	.scan_close = plug_scan_close,
	.apply = plug_apply,
	.sync = plug_sync,
	.view_new = plug_view_new,
	.view_free = plug_view_free,
	.property = plug_property,
};

/* --- the plug --------------------------------------------------------------------------------------- */

struct plug *plug_new(void)
{
	struct plug *p = must(calloc(1, sizeof(*p)));

	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->changed, NULL);
	return p;
}

void plug_free(struct plug *p)
{
	for (int i = 0; i < KV_SPACES; i++) {
		for (size_t n = 0; n < p->spaces[i].count; n++) {
			cell_cut(p->spaces[i].cells[n], 0);
			free(p->spaces[i].cells[n]);
		}
		free(p->spaces[i].cells);
	}
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->mutex);
	free(p);
}

struct kv *plug_kv(struct plug *p)
{
	struct plug_kv *kv = must(calloc(1, sizeof(*kv)));

	kv_init(&kv->kv, &plug_ops);
	kv->plug = p;
	return &kv->kv;
}

void plug_jitter(struct plug *p, uint64_t seed)
{
	pthread_mutex_lock(&p->mutex);
	p->random = seed;
	pthread_mutex_unlock(&p->mutex);
}

static uint64_t read_locked(struct plug *p, const uint64_t *field)
{
	uint64_t value;

	pthread_mutex_lock(&p->mutex);
	value = *field;
	pthread_mutex_unlock(&p->mutex);
	return value;
}

uint64_t plug_applied(struct plug *p)
{
	return read_locked(p, &p->applied);
}

uint64_t plug_synced(struct plug *p)
{
	return read_locked(p, &p->synced);
}

unsigned plug_syncs(struct plug *p)
{
	unsigned value;

	pthread_mutex_lock(&p->mutex);
	value = p->syncs;
	pthread_mutex_unlock(&p->mutex);
	return value;
}

void plug_await_sync(struct plug *p, unsigned count)
{
	pthread_mutex_lock(&p->mutex);
	while (p->syncs < count)
		pthread_cond_wait(&p->changed, &p->mutex);
	pthread_mutex_unlock(&p->mutex);
}

static void set(struct plug *p, bool *flag, bool value)
{
	pthread_mutex_lock(&p->mutex);
	*flag = value;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->mutex);
}

void plug_hold(struct plug *p)
{
	set(p, &p->held, true);
}

void plug_go(struct plug *p)
{
	set(p, &p->held, false);
}

static void set_apply(struct plug *p, int to)
{
	pthread_mutex_lock(&p->mutex);
	p->apply = to;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->mutex);
}

void plug_hold_apply(struct plug *p)
{
	set_apply(p, APPLY_HOLD);
}

void plug_await_apply(struct plug *p)
{
	pthread_mutex_lock(&p->mutex);
	while (p->apply != APPLY_HELD)
		pthread_cond_wait(&p->changed, &p->mutex);
	pthread_mutex_unlock(&p->mutex);
}

void plug_go_apply(struct plug *p)
{
	set_apply(p, APPLIES_GO);
}

void plug_fail(struct plug *p)
{
	set(p, &p->failing, true);
}

void plug_cut(struct plug *p, uint64_t index)
{
	pthread_mutex_lock(&p->mutex);
	if (index < p->synced || index > p->applied)
		abort();
	for (int i = 0; i < KV_SPACES; i++)
		for (size_t n = 0; n < p->spaces[i].count; n++)
			cell_cut(p->spaces[i].cells[n], index);
	p->applied = p->synced = index;
	p->held = p->failing = false;
	pthread_mutex_unlock(&p->mutex);
}

struct kv_view *plug_view(struct kv *kv, uint64_t index)
{
	struct view *v = must(malloc(sizeof(*v)));

	*v = (struct view){ .view.kv = kv, .index = index };
	return &v->view;
}

static void cell_versions(const struct cell *c, const struct version *v,
			  void (*fn)(void *context, const unsigned char *key, size_t key_len,
				     const void *value, size_t value_len, uint64_t index),
			  void *context)
{
	if (!v)
		return;
	cell_versions(c, v->older, fn, context);
	fn(context, c->key, c->key_len, v->deleted ? NULL : v->value, v->len, v->index);
}

void plug_versions(struct plug *p, enum kv_space space, const void *prefix, size_t len,
		   void (*fn)(void *context, const unsigned char *key, size_t key_len,
			      const void *value, size_t value_len, uint64_t index),
		   void *context)
{
	struct space *s = &p->spaces[space];

	pthread_mutex_lock(&p->mutex);
	for (size_t i = place(s, prefix, len); i < s->count; i++) {
		const struct cell *c = s->cells[i];

		if (c->key_len < len || memcmp(c->key, prefix, len) != 0)
			break;
		cell_versions(c, c->newest, fn, context);
	}
	pthread_mutex_unlock(&p->mutex);
}

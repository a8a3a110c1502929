/* Walks over what the front and the database hold together.
 *
 * Rows of the front are copied first, the iterator is made after that: what moves on in between is
 * in both, and the row counts.  The front has more rows than are copied at once: then the walk
 * begins anew behind the last one, with an iterator that sees what has moved on meanwhile. */
#include "store/kv_rocks_impl.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

struct rocks_scan {
	struct kv_scan scan;
	struct rocks *rocks;
	bool latest; /* no view: the front counts */
	enum kv_space space;
	rocksdb_readoptions_t *read;
	rocksdb_iterator_t *it;
	bool shown; /* where the iterator is has been given out, or a row stands for it */
	struct rows rows;
	struct row last; /* that was looked at */
	size_t to_len;
	char to[]; /* the upper bound: RocksDB keeps the pointer */
};

void rocks_scan_close(struct kv_scan *scan)
{
	struct rocks_scan *s = (struct rocks_scan *)scan;

	if (s->it)
		rocksdb_iter_destroy(s->it);
	rocksdb_readoptions_destroy(s->read);
	free(s->rows.bytes);
	free(s);
}

static void seek(struct rocks_scan *s, const void *from, size_t from_len)
{
	if (s->it)
		rocksdb_iter_destroy(s->it);
	s->it = rocksdb_create_iterator_cf(s->rocks->db, s->read, s->rocks->spaces[s->space]);
	rocksdb_iter_seek(s->it, from, from_len);
	s->shown = false;
}

static int begin(struct rocks_scan *s, const void *from, size_t from_len)
{
	int err = 0;

	if (s->latest)
		err = front_range(s->rocks->front, s->space, from, from_len, s->to, s->to_len,
				  &s->rows);
	if (!err)
		seek(s, from, from_len);
	return err;
}

static rocksdb_readoptions_t *options_of(const struct rocks_scan *s, const struct kv_view *view,
					 unsigned flags)
{
	rocksdb_readoptions_t *read = rocksdb_readoptions_create();

	rocksdb_readoptions_set_iterate_upper_bound(read, s->to, s->to_len);
	rocksdb_readoptions_set_background_purge_on_iterator_cleanup(read, 1);
	rocksdb_readoptions_set_read_tier(read, flags & KV_CACHED ? TIER_CACHE : TIER_ALL);
	if (view)
		rocksdb_readoptions_set_snapshot(read, ((const struct rocks_view *)view)->snapshot);
	return read;
}

int rocks_scan_open(struct kv *kv, const struct kv_view *view, enum kv_space space,
		    const void *from, size_t from_len, const void *to, size_t to_len,
		    unsigned flags, struct kv_scan **out)
{
	struct rocks_scan *s = malloc(sizeof(*s) + to_len);
	int err;

	if (!s)
		return -KILN_ENOMEM;
	*s = (struct rocks_scan){ .scan.ops = kv->ops, .rocks = rocks_of(kv), .latest = !view,
				  .space = space, .to_len = to_len };
	memcpy(s->to, to, to_len);
	rocks_quiet();
	s->read = options_of(s, view, flags);
	err = begin(s, from, from_len);
	if (err)
		rocks_scan_close(&s->scan);
	else
		*out = &s->scan;
	return err;
}

/* begin_behind: the last row; its key with a zero byte added is the next one there can be. */
static int begin_behind(struct rocks_scan *s)
{
	const struct row *last = &s->last;
	unsigned char *from = malloc(last->key_len + 1);
	int err;

	if (!from)
		return -KILN_ENOMEM;
	memcpy(from, last->key, last->key_len);
	from[last->key_len] = 0;
	err = begin(s, from, last->key_len + 1);
	free(from);
	return err;
}

/* next_of_db: where the iterator is, past what is done with.  1, 0 at the end, or an error. */
static int next_of_db(struct rocks_scan *s, struct row *c)
{
	char *error = NULL;

	if (s->shown && rocksdb_iter_valid(s->it))
		rocksdb_iter_next(s->it);
	s->shown = false;
	if (rocksdb_iter_valid(s->it)) {
		c->key = rocksdb_iter_key(s->it, &c->key_len);
		c->value = rocksdb_iter_value(s->it, &c->value_len);
		return 1;
	}
	rocksdb_iter_get_error(s->it, &error);
	return rocks_error(error);
}

/* choose: the next of both; value NULL: a key that the front knows to be deleted. */
static int choose(struct rocks_scan *s, struct row *c)
{
	int order, got = next_of_db(s, c);
	struct row row;

	if (got < 0)
		return got;
	if (!rows_look(&s->rows, &row)) {
		s->shown = got;
		return got;
	}
	order = got ? kv_key_order(row.key, row.key_len, c->key, c->key_len) : -1;
	s->shown = order >= 0;
	if (order > 0)
		return 1;
	rows_next(&s->rows);
	s->last = *c = row;
	return 1;
}

int rocks_scan_next(struct kv_scan *scan, const void **key, size_t *key_len, const void **value,
		    size_t *value_len)
{
	struct rocks_scan *s = (struct rocks_scan *)scan;
	struct row c;
	int got;

	do {
		got = s->rows.at == s->rows.used && s->rows.more ? begin_behind(s) : 0;
		if (!got)
			got = choose(s, &c);
	} while (got == 1 && !c.value);
	if (got != 1)
		return got;
	*key = c.key;
	*key_len = c.key_len;
	*value = c.value;
	*value_len = c.value_len;
	return 1;
}

/* RocksDB behind the key-value seam; only the files kv_rocks*.c call it.
 *
 * An apply writes our own journal (store/journal.h: one write(2) into the page cache, so a killed
 * process loses nothing) and then the front (store/front.h), in memory; a sync is one fdatasync of
 * the journal.  A thread moves what is in the front into RocksDB, without RocksDB's journal, many
 * batches as one (kv_rocks_move.c); reads of the latest state look at the front first, and a view
 * is a snapshot of RocksDB once all that has been applied is there.
 *
 * With what is moved goes the number of its last batch, under NUMBER_KEY in a column family of its
 * own; all families are flushed together (atomic_flush), so the number found in the files says
 * exactly which batches the files hold: the rest is replayed at open, and segments of the journal
 * up to there are used again.
 *
 * RocksDB's C interface hands back malloc'd error strings and values; neither leaves these files.
 * Why each setting is as it is: kv_rocks_options.c. */
#include "store/kv_rocks_impl.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "store/format.h"

#include <endian.h>
#include <limits.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GET_MANY_MAX = 256 };

#define CACHE_DEFAULT (32 << 20)
#define BUFFER_DEFAULT (16 << 20)
#define FRONT_SHARE 16 /* a table of the front takes a sixteenth of a memtable */
#define WORTH_MOVING (128 << 10) /* bytes, during a sync */
#define ASK_NS (20 * NS_PER_MS)       /* whether RocksDB goes on after a full disk */
#define IMPATIENT_NS (12 * NS_PER_S)  /* of who opens or closes */

/* The first is always "default"; NUMBER_KEY's family comes behind those of the layout. */
static const char *const split_names[FAMILIES] = { "default", "dirent", "rest", "number" };
static const char *const single_names[] = { "default", "number" };

#define NUMBER_KEY "n"

void rocks_quiet(void)
{
	static _Thread_local bool stopped;

	if (stopped)
		return;
	rocksdb_set_perf_level(rocksdb_disable);
	stopped = true;
}

static bool starts_with(const char *text, const char *head)
{
	return strncmp(text, head, strlen(head)) == 0;
}

/* code_of: RocksDB's status arrives as text only; its head is its code. */
static int code_of(const char *text)
{
	if (starts_with(text, "Result incomplete"))
		return -KILN_EWOULDBLOCK;
	if (strstr(text, "No space left") || strstr(text, "Space limit"))
		return -KILN_ENOSPC;
	if (starts_with(text, "Corruption") || strstr(text, "Corruption:"))
		return -KILN_ECORRUPT;
	if (strstr(text, "Permission denied"))
		return -KILN_EACCES;
	return -KILN_EIO;
}

/* open_code_of: files that are not there mean damage here, kv_open being told to create. */
static int open_code_of(const char *text)
{
	if (strstr(text, "No such file") || strstr(text, "does not exist"))
		return -KILN_ECORRUPT;
	if (starts_with(text, "Invalid argument"))
		return -KILN_EINVAL;
	return code_of(text);
}

int rocks_error(char *text)
{
	int err = text ? code_of(text) : 0;

	rocksdb_free(text);
	return err;
}

static rocksdb_readoptions_t *read_options(const struct rocks *r, const struct kv_view *view,
					   unsigned flags)
{
	int tier = flags & KV_CACHED ? TIER_CACHE : TIER_ALL;

	return view ? ((const struct rocks_view *)view)->read[tier] : r->read[tier];
}

/* take_value: copies what was found and lets go of it. */
static int take_value(rocksdb_pinnableslice_t *slice, void *buf, size_t cap, size_t *len)
{
	const char *value;

	if (!slice)
		return -KILN_ENOENT;
	value = rocksdb_pinnableslice_value(slice, len);
	if (cap)
		memcpy(buf, value, *len < cap ? *len : cap);
	rocksdb_pinnableslice_destroy(slice);
	return *len > cap ? -KILN_ERANGE : 0;
}

static int get_from_db(struct rocks *r, const struct kv_view *view, enum kv_space space,
		       const void *key, size_t key_len, void *buf, size_t cap, size_t *len,
		       unsigned flags)
{
	rocksdb_pinnableslice_t *slice;
	char *error = NULL;

	rocks_quiet();
	slice = rocksdb_get_pinned_cf(r->db, read_options(r, view, flags), r->spaces[space], key,
				      key_len, &error);
	return error ? rocks_error(error) : take_value(slice, buf, cap, len);
}

static int rocks_get(struct kv *kv, const struct kv_view *view, enum kv_space space,
		     const void *key, size_t key_len, void *buf, size_t cap, size_t *len,
		     unsigned flags)
{
	struct rocks *r = rocks_of(kv);
	int err = view ? 1 : front_get(r->front, space, key, key_len, buf, cap, len);

	return err != 1 ? err : get_from_db(r, view, space, key, key_len, buf, cap, len, flags);
}

/* get_some: those that the front does not know. */
static void get_some(struct rocks *r, const struct kv_view *view, enum kv_space space,
		     struct kv_item *items, size_t count, unsigned flags)
{
	struct kv_item *asked[GET_MANY_MAX];
	const char *keys[GET_MANY_MAX];
	size_t lens[GET_MANY_MAX], left = 0;
	rocksdb_pinnableslice_t *slices[GET_MANY_MAX];
	char *errors[GET_MANY_MAX];

	for (struct kv_item *i = items; i < items + count; i++) {
		i->err = view ? 1 : front_get(r->front, space, i->key, i->key_len, i->buf, i->cap,
					      &i->len);
		if (i->err != 1)
			continue;
		keys[left] = i->key;
		lens[left] = i->key_len;
		asked[left++] = i;
	}
	if (left == 0)
		return;
	rocksdb_batched_multi_get_cf(r->db, read_options(r, view, flags), r->spaces[space], left,
				     keys, lens, slices, errors, false);
	for (size_t i = 0; i < left; i++)
		asked[i]->err = errors[i] ? rocks_error(errors[i])
					  : take_value(slices[i], asked[i]->buf, asked[i]->cap,
						       &asked[i]->len);
}

static int rocks_get_many(struct kv *kv, const struct kv_view *view, enum kv_space space,
			  struct kv_item *items, size_t count, unsigned flags)
{
	struct rocks *r = rocks_of(kv);

	rocks_quiet();
	for (size_t at = 0; at < count; at += GET_MANY_MAX)
		get_some(r, view, space, items + at,
			 count - at < GET_MANY_MAX ? count - at : GET_MANY_MAX, flags);
	return 0;
}

void rocks_put(struct rocks *r, rocksdb_writebatch_t *w, const struct front_change *c)
{
	rocksdb_column_family_handle_t *cf = r->spaces[c->space];

	if (c->value)
		rocksdb_writebatch_put_cf(w, cf, c->key, c->key_len, c->value, c->value_len);
	else
		rocksdb_writebatch_delete_cf(w, cf, c->key, c->key_len);
}

void rocks_put_number(struct rocks *r, rocksdb_writebatch_t *w, uint64_t number)
{
	uint64_t le = htole64(number);

	rocksdb_writebatch_put_cf(w, r->number, NUMBER_KEY, 1, (const char *)&le, sizeof(le));
}

static int write_once(struct rocks *r, rocksdb_writebatch_t *w, char **error)
{
	*error = NULL;
	rocks_quiet();
	rocksdb_write(r->db, r->write, w, error);
	return *error ? code_of(*error) : 0;
}

/* await_disk: whether to try again. */
static bool await_disk(struct rocks *r, const char *error, uint64_t *since)
{
	const struct timespec pause = { .tv_nsec = ASK_NS };

	if (!*since)
		*since = clock_mono();
	if (!__atomic_load_n(&r->patient, __ATOMIC_RELAXED) && clock_mono() - *since > IMPATIENT_NS)
		return false;
	if (!__atomic_exchange_n(&r->full_disk, true, __ATOMIC_RELAXED))
		log_warn("the database waits for room on its disk: %s", error);
	nanosleep(&pause, NULL);
	return true;
}

/* RocksDB tells nobody when it goes on, so it is asked. */
int rocks_write(struct rocks *r, rocksdb_writebatch_t *w)
{
	uint64_t since = 0;
	char *error;
	int err;

	while ((err = write_once(r, w, &error)) == -KILN_ENOSPC && await_disk(r, error, &since))
		rocksdb_free(error);
	if (!err) {
		if (since && __atomic_exchange_n(&r->full_disk, false, __ATOMIC_RELAXED))
			log_info("the database %s goes on", r->path);
		return 0;
	}
	kv_break(&r->kv, error);
	rocksdb_free(error);
	return err == -KILN_EWOULDBLOCK ? -KILN_EIO : err;
}

static void free_native(void *thing)
{
	journal_record_free(thing);
	free(thing);
}

/* record_of: the journal's form of it, whose buffer stays with the batch. */
static struct journal_record *record_of(const struct kv_batch *b)
{
	struct journal_record *rec = b->native->thing;

	if (rec)
		return rec;
	rec = calloc(1, sizeof(*rec));
	if (rec)
		*b->native = (struct kv_native){ rec, free_native };
	return rec;
}

/* apply_once: *stuffed: it is the front that is full, not the journal.  The store can have been
 * broken by the one who had the lock before. */
static int apply_once(struct rocks *r, const struct kv_batch *b, struct journal_record *rec,
		      bool *stuffed, bool *full)
{
	uint64_t number;
	int err;

	lock_guard(&r->apply_lock);
	if (kv_broken(&r->kv))
		return -KILN_EBADSTORE;
	err = front_add_ready(r->front, b);
	*stuffed = err == -KILN_EWOULDBLOCK;
	if (err)
		return err;
	err = journal_append(r->journal, rec, &number);
	if (err == -KILN_EWOULDBLOCK)
		return err;
	if (err) {
		kv_break(&r->kv, "the journal could not be written");
		return err;
	}
	*full = front_add(r->front, b);
	r->applied = number;
	return 0;
}

static int rocks_apply(struct kv *kv, const struct kv_batch *b, unsigned flags)
{
	struct journal_record *rec = record_of(b);
	int err = rec ? journal_encode(rec, b) : -KILN_ENOMEM;
	struct rocks *r = rocks_of(kv);
	bool stuffed, full = false;

	while (!err) {
		err = apply_once(r, b, rec, &stuffed, &full);
		if (err != -KILN_EWOULDBLOCK || flags & KV_NOSTALL)
			break;
		err = 0;
		if (stuffed)
			front_await_room(r->front);
		else
			err = journal_await_room(r->journal, rec);
	}
	if (full)
		rocks_move_soon(r);
	return err;
}

/* What has been applied moves on while the device is busy, when processors have least to do. */
static int rocks_sync(struct kv *kv)
{
	struct rocks *r = rocks_of(kv);
	int err;

	if (front_bytes(r->front) > WORTH_MOVING)
		rocks_move_soon(r);
	err = journal_sync(r->journal);
	if (err)
		kv_break(kv, "the journal could not be synced");
	return err;
}

static struct kv_view *rocks_view_new(struct kv *kv)
{
	struct rocks *r = rocks_of(kv);
	struct rocks_view *v = rocks_move(r) ? NULL : malloc(sizeof(*v));

	if (!v)
		return NULL;
	v->view.kv = kv;
	v->snapshot = rocksdb_create_snapshot(r->db);
	for (int i = 0; i < TIERS; i++) {
		v->read[i] = rocksdb_readoptions_create();
		rocksdb_readoptions_set_read_tier(v->read[i], i);
		rocksdb_readoptions_set_snapshot(v->read[i], v->snapshot);
	}
	return &v->view;
}

static void rocks_view_free(struct kv *kv, struct kv_view *view)
{
	struct rocks_view *v = (struct rocks_view *)view;

	for (int i = 0; i < TIERS; i++)
		rocksdb_readoptions_destroy(v->read[i]);
	rocksdb_release_snapshot(rocks_of(kv)->db, v->snapshot);
	free(v);
}

static char *size_text(struct rocks *r)
{
	uint64_t sum = 0;
	char *text;

	for (int i = 0; i < r->handle_count; i++)
		sum += rocks_figure(r->db, r->handles[i], "rocksdb.total-sst-files-size") +
		       rocks_figure(r->db, r->handles[i], "rocksdb.total-blob-file-size") +
		       rocks_figure(r->db, r->handles[i], "rocksdb.cur-size-all-mem-tables");
	sum += front_bytes(r->front);
	return asprintf(&text, "%llu", (unsigned long long)sum) < 0 ? NULL : text;
}

static char *stats_text(struct rocks *r)
{
	char *theirs = rocksdb_property_value_cf(r->db, r->handles[0], "rocksdb.stats"), *text;
	struct journal_stats j;
	int len;

	journal_stats(r->journal, &j);
	len = asprintf(&text,
		       "journal: last batch %llu, %llu bytes, %llu syncs, %u segments (%u free), "
		       "%llu taken, %llu replayed at open\n%s",
		       (unsigned long long)j.batches, (unsigned long long)j.bytes,
		       (unsigned long long)j.syncs, j.segments, j.free_segments,
		       (unsigned long long)j.switches, (unsigned long long)j.replayed,
		       theirs ? theirs : "");
	rocksdb_free(theirs);
	return len < 0 ? NULL : text;
}

static uint64_t rocks_debt(struct kv *kv)
{
	struct journal_stats stats;

	journal_stats(rocks_of(kv)->journal, &stats);
	return stats.pending;
}

static void rocks_relieve(struct kv *kv)
{
	journal_relieve(rocks_of(kv)->journal);
}

static bool rocks_collecting(struct kv *kv)
{
	return rocks_collector_at_work(rocks_of(kv)->collector);
}

static char *rocks_property(struct kv *kv, const char *name)
{
	struct rocks *r = rocks_of(kv);

	if (strcmp(name, "size_bytes") == 0)
		return size_text(r);
	if (strcmp(name, "stats") == 0)
		return stats_text(r);
	return NULL;
}

static void rocks_close(struct kv *kv)
{
	struct rocks *r = rocks_of(kv);

	__atomic_store_n(&r->patient, false, __ATOMIC_RELAXED);
	journal_close(r->journal);
	rocks_collector_free(r->collector);
	rocks_move_end(r);
	for (int i = 0; i < r->handle_count; i++)
		rocksdb_column_family_handle_destroy(r->handles[i]);
	if (r->db)
		rocksdb_close(r->db);
	for (int i = 0; i < TIERS; i++)
		rocksdb_readoptions_destroy(r->read[i]);
	rocksdb_writeoptions_destroy(r->write);
	rocksdb_readoptions_destroy(r->read_persisted);
	rocksdb_compactoptions_destroy(r->flush_options);
	rocksdb_cache_destroy(r->cache);
	front_free(r->front);
	lock_destroy(&r->apply_lock);
	lock_destroy(&r->move_lock);
	lock_destroy(&r->mover_lock);
	cond_destroy(&r->mover_work);
	kv_fini(kv);
	free(r->path);
	free(r);
}

static void make_read_write_options(struct rocks *r)
{
	for (int i = 0; i < TIERS; i++) {
		r->read[i] = rocksdb_readoptions_create();
		rocksdb_readoptions_set_read_tier(r->read[i], i);
	}
	r->read_persisted = rocksdb_readoptions_create();
	rocksdb_readoptions_set_read_tier(r->read_persisted, TIER_PERSISTED);
	r->write = rocksdb_writeoptions_create();
	rocksdb_writeoptions_disable_WAL(r->write, 1);
	r->flush_options = rocksdb_compactoptions_create();
	rocksdb_compactoptions_set_exclusive_manual_compaction(r->flush_options, 0);
}

/* read_number: 0 if there is none yet. */
static int read_number(struct rocks *r, uint64_t *number)
{
	char *error = NULL, *value;
	size_t len = 0;

	*number = 0;
	value = rocksdb_get_cf(r->db, r->read_persisted, r->number, NUMBER_KEY, 1, &len, &error);
	if (error)
		return rocks_error(error);
	if (value && len == sizeof(*number))
		memcpy(number, value, sizeof(*number));
	*number = le64toh(*number);
	rocksdb_free(value);
	return value && len != sizeof(*number) ? -KILN_ECORRUPT : 0;
}

/* persisted: a number that cannot be read frees no segment. */
static uint64_t persisted(void *context)
{
	uint64_t number;

	return read_number(context, &number) ? 0 : number;
}

/* flush: the C interface flushes single families only (tried: with atomic_flush too), which
 * would tear the prefix.  A compaction flushes all of them together first; that of NUMBER_KEY's
 * own family then costs next to nothing.  It has no error to return: the number has.  In a broken
 * store what has been moved before is flushed all the same. */
static int flush(void *context)
{
	struct rocks *r = context;
	int err = rocks_move(r);

	rocksdb_compact_range_cf_opt(r->db, r->number, r->flush_options, NUMBER_KEY, 1, NUMBER_KEY,
				     1);
	return err;
}

/* look_after: whether so much has been deleted that a flush is worth while.  Deletions that are
 * still in the front are counted at the next look. */
static bool look_after(void *context)
{
	struct rocks *r = context;

	if (front_bytes(r->front))
		rocks_move_soon(r);
	return rocks_figure(r->db, r->spaces[KV_REST], "rocksdb.num-deletes-active-mem-table") >=
	       ROCKS_DELETIONS_MANY;
}

/* replay_one: straight into the database: nobody reads yet. */
static int replay_one(void *context, uint64_t number, const struct kv_batch *b)
{
	rocksdb_writebatch_t *w = rocksdb_writebatch_create();
	struct rocks *r = context;
	int err;

	for (size_t i = 0; i < b->count; i++) {
		const struct kv_record *rec = &b->records[i];
		const unsigned char *key = b->bytes + rec->at;
		struct front_change c = { .key = key, .key_len = rec->key_len,
					  .value = rec->kind == KV_PUT ? key + rec->key_len : NULL,
					  .value_len = rec->value_len, .space = rec->space };

		rocks_put(r, w, &c);
	}
	rocks_put_number(r, w, number);
	err = rocks_write(r, w);
	rocksdb_writebatch_destroy(w);
	return err;
}

/* flush_replayed: the journal begins anew, so what it held must be in files before. */
static int flush_replayed(struct rocks *r, uint64_t through, char **why)
{
	uint64_t number;
	int err;

	flush(r);
	err = read_number(r, &number);
	if (!err && number != through)
		err = -KILN_EIO;
	return err ? why_set(why, err, "what was replayed could not be written: %s", err_text(err))
		   : 0;
}

static int open_journal(struct rocks *r, const char *path, const struct kv_options *options,
			char **why)
{
	struct journal_options o = { .disk = options->disk, .create = options->create,
				     .segment_bytes = options->segment_bytes };
	struct journal_owner owner = { .persisted = persisted, .flush = flush,
				       .look_after = look_after, .context = r };
	uint64_t number, through;
	char own[PATH_MAX];
	int err = read_number(r, &number);

	if (err)
		return why_set(why, err, "the number of the last batch cannot be read");
	snprintf(own, sizeof(own), "%s/journal", path);
	err = journal_open(options->journal ? options->journal : own, &o, &r->journal, why);
	if (!err)
		err = journal_replay(r->journal, number, replay_one, r, &through, why);
	if (!err && through != number)
		err = flush_replayed(r, through, why);
	if (err)
		return err;
	r->applied = r->moving_through = through;
	r->collector = rocks_collector_new(r->db, r->spaces[KV_REST], r->path, r->buffer_bytes);
	err = r->collector ? journal_begin(r->journal, through, &owner, why) : -KILN_ENOMEM;
	if (!err)
		err = rocks_move_begin(r);
	__atomic_store_n(&r->patient, !err, __ATOMIC_RELAXED);
	return err;
}

/* open_families: r->db, or what RocksDB says. */
static int open_families(struct rocks *r, const char *path, const struct kv_options *options,
			 char **why)
{
	bool split = strcmp(options->layout, "split") == 0;
	const rocksdb_options_t *family_options[FAMILIES];
	rocksdb_options_t *o = rocks_options_new(options->create, r->buffer_bytes, r->cache);
	rocksdb_options_t *rest = rocks_options_new(options->create, r->buffer_bytes, r->cache);
	int count = split ? FAMILIES : 2;
	char *error = NULL;

	rocks_options_blocks(rest, split);
	for (int i = 0; i < FAMILIES; i++)
		family_options[i] = i == (split ? KV_REST : 0) ? rest : o;
	r->db = rocksdb_open_column_families(o, path, count, split ? split_names : single_names,
					     family_options, r->handles, &error);
	rocksdb_options_destroy(rest);
	rocksdb_options_destroy(o);
	if (!r->db) {
		int err = open_code_of(error);

		*why = strdup(error);
		rocksdb_free(error);
		return err;
	}
	r->handle_count = count;
	for (int i = 0; i < KV_SPACES; i++)
		r->spaces[i] = r->handles[split ? i : 0];
	r->number = r->handles[count - 1];
	return 0;
}

int kv_rocks_open(const char *path, const struct kv_options *options, struct kv **out, char **why)
{
	static const struct kv_ops ops = {
		.name = "rocksdb",
		.close = rocks_close,
		.get = rocks_get,
		.get_many = rocks_get_many,
		.scan_open = rocks_scan_open,
		.scan_next = rocks_scan_next,
		.scan_close = rocks_scan_close,
		.apply = rocks_apply,
		.sync = rocks_sync,
		.view_new = rocks_view_new,
		.view_free = rocks_view_free,
		.property = rocks_property,
		.debt = rocks_debt,
		.relieve = rocks_relieve,
		.collecting = rocks_collecting,
	};
	struct rocks *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -KILN_ENOMEM;
	kv_init(&r->kv, &ops);
	lock_init(&r->move_lock, LOCK_RANK_MOVE, "kv move");
	lock_init(&r->apply_lock, LOCK_RANK_STORE, "kv apply");
	lock_init(&r->mover_lock, LOCK_RANK_LEAF, "kv mover");
	cond_init(&r->mover_work);
	r->buffer_bytes = options->buffer_bytes ? options->buffer_bytes : BUFFER_DEFAULT;
	make_read_write_options(r);
	r->cache = rocks_cache_new(options->cache_bytes ? options->cache_bytes : CACHE_DEFAULT);
	r->path = strdup(path);
	r->front = front_new(r->buffer_bytes / FRONT_SHARE, strcmp(options->layout, "single") == 0);
	err = r->path && r->front ? open_families(r, path, options, why) : -KILN_ENOMEM;
	if (!err)
		err = open_journal(r, path, options, why);
	if (err)
		rocks_close(&r->kv);
	else
		*out = &r->kv;
	return err;
}

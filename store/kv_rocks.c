/* RocksDB behind the key-value seam: the only file that calls it.
 *
 * An apply writes the journal (one write(2) into the page cache, so a killed process loses
 * nothing) and the memtable; a sync is one fdatasync of the journal.  RocksDB's C interface
 * hands back malloc'd error strings and values; neither leaves this file.  Why each setting is
 * as it is: the set_ functions below. */
#include "store/kv_impl.h"

#include "base/err.h"

#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIER_ALL, TIER_CACHE, TIERS };
enum { WRITE_WAIT, WRITE_NOSTALL, WRITES };
enum { GET_MANY_MAX = 256 };

#define MIB (1024 * 1024ull)
#define CACHE_DEFAULT (32 * MIB)
#define BUFFER_DEFAULT (16 * MIB)

static const char *const space_names[KV_SPACES] = { "default", "dirent", "rest" };

struct rocks {
	struct kv kv;
	rocksdb_t *db;
	rocksdb_column_family_handle_t *handles[KV_SPACES]; /* owned; spaces of them are open */
	rocksdb_column_family_handle_t *spaces[KV_SPACES];  /* where a key space lives */
	int handle_count;
	rocksdb_cache_t *cache;
	rocksdb_readoptions_t *read[TIERS];
	rocksdb_writeoptions_t *write[WRITES];
};

struct rocks_view {
	struct kv_view view;
	const rocksdb_snapshot_t *snapshot;
	rocksdb_readoptions_t *read[TIERS];
};

struct rocks_scan {
	struct kv_scan scan;
	rocksdb_readoptions_t *read;
	rocksdb_iterator_t *it;
	bool started;
	char to[]; /* the upper bound: RocksDB keeps the pointer */
};

static struct rocks *rocks_of(struct kv *kv)
{
	return (struct rocks *)kv;
}

/* RocksDB counts every comparison in a thread-local unless told not to, thread by thread: a
 * tenth of a get or an apply. */
static void stop_counting(void)
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

static int take_error(char *text)
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

static int rocks_get(struct kv *kv, const struct kv_view *view, enum kv_space space,
		     const void *key, size_t key_len, void *buf, size_t cap, size_t *len,
		     unsigned flags)
{
	struct rocks *r = rocks_of(kv);
	rocksdb_pinnableslice_t *slice;
	char *error = NULL;

	stop_counting();
	slice = rocksdb_get_pinned_cf(r->db, read_options(r, view, flags), r->spaces[space], key,
				      key_len, &error);

	if (error)
		return take_error(error);
	return take_value(slice, buf, cap, len);
}

static void get_some(struct rocks *r, rocksdb_readoptions_t *read, enum kv_space space,
		     struct kv_item *items, size_t count)
{
	const char *keys[GET_MANY_MAX];
	size_t lens[GET_MANY_MAX];
	rocksdb_pinnableslice_t *slices[GET_MANY_MAX];
	char *errors[GET_MANY_MAX];

	for (size_t i = 0; i < count; i++) {
		keys[i] = items[i].key;
		lens[i] = items[i].key_len;
	}
	rocksdb_batched_multi_get_cf(r->db, read, r->spaces[space], count, keys, lens, slices,
				     errors, false);
	for (size_t i = 0; i < count; i++)
		items[i].err = errors[i] ? take_error(errors[i])
					 : take_value(slices[i], items[i].buf, items[i].cap,
						      &items[i].len);
}

static int rocks_get_many(struct kv *kv, const struct kv_view *view, enum kv_space space,
			  struct kv_item *items, size_t count, unsigned flags)
{
	struct rocks *r = rocks_of(kv);

	stop_counting();
	for (size_t at = 0; at < count; at += GET_MANY_MAX)
		get_some(r, read_options(r, view, flags), space, items + at,
			 count - at < GET_MANY_MAX ? count - at : GET_MANY_MAX);
	return 0;
}

static void rocks_scan_close(struct kv_scan *scan)
{
	struct rocks_scan *s = (struct rocks_scan *)scan;

	if (s->it)
		rocksdb_iter_destroy(s->it);
	rocksdb_readoptions_destroy(s->read);
	free(s);
}

static int rocks_scan_open(struct kv *kv, const struct kv_view *view, enum kv_space space,
			   const void *from, size_t from_len, const void *to, size_t to_len,
			   unsigned flags, struct kv_scan **out)
{
	struct rocks *r = rocks_of(kv);
	struct rocks_scan *s = malloc(sizeof(*s) + to_len);

	if (!s)
		return -KILN_ENOMEM;
	*s = (struct rocks_scan){ .scan.ops = kv->ops };
	stop_counting();
	memcpy(s->to, to, to_len);
	s->read = rocksdb_readoptions_create();
	rocksdb_readoptions_set_iterate_upper_bound(s->read, s->to, to_len);
	rocksdb_readoptions_set_background_purge_on_iterator_cleanup(s->read, 1);
	rocksdb_readoptions_set_read_tier(s->read, flags & KV_CACHED ? 1 : 0);
	if (view)
		rocksdb_readoptions_set_snapshot(s->read,
						 ((const struct rocks_view *)view)->snapshot);
	s->it = rocksdb_create_iterator_cf(r->db, s->read, r->spaces[space]);
	rocksdb_iter_seek(s->it, from, from_len);
	*out = &s->scan;
	return 0;
}

static int rocks_scan_next(struct kv_scan *scan, const void **key, size_t *key_len,
			   const void **value, size_t *value_len)
{
	struct rocks_scan *s = (struct rocks_scan *)scan;
	char *error = NULL;

	if (s->started && rocksdb_iter_valid(s->it))
		rocksdb_iter_next(s->it);
	s->started = true;
	if (rocksdb_iter_valid(s->it)) {
		*key = rocksdb_iter_key(s->it, key_len);
		*value = rocksdb_iter_value(s->it, value_len);
		return 1;
	}
	rocksdb_iter_get_error(s->it, &error);
	return take_error(error);
}

static void free_writebatch(void *thing)
{
	rocksdb_writebatch_destroy(thing);
}

/* fill: the batch in RocksDB's own form.  The object is kept with the batch, so that its
 * buffer is there again for the next one. */
static rocksdb_writebatch_t *fill(struct rocks *r, const struct kv_batch *b)
{
	rocksdb_writebatch_t *w = b->native->thing;

	if (!w) {
		w = rocksdb_writebatch_create();
		*b->native = (struct kv_native){ w, free_writebatch };
	}
	rocksdb_writebatch_clear(w);
	for (size_t i = 0; i < b->count; i++) {
		const struct kv_record *rec = &b->records[i];
		const char *key = (const char *)b->bytes + rec->at, *value = key + rec->key_len;
		rocksdb_column_family_handle_t *cf = r->spaces[rec->space];

		if (rec->kind == KV_PUT)
			rocksdb_writebatch_put_cf(w, cf, key, rec->key_len, value, rec->value_len);
		else if (rec->kind == KV_DEL)
			rocksdb_writebatch_delete_cf(w, cf, key, rec->key_len);
		else
			rocksdb_writebatch_delete_range_cf(w, cf, key, rec->key_len, value,
							   rec->value_len);
	}
	return w;
}

static int rocks_apply(struct kv *kv, const struct kv_batch *b, unsigned flags)
{
	struct rocks *r = rocks_of(kv);
	char *error = NULL;
	int err;

	stop_counting();
	rocksdb_write(r->db, r->write[flags & KV_NOSTALL ? WRITE_NOSTALL : WRITE_WAIT], fill(r, b),
		      &error);
	if (!error)
		return 0;
	err = code_of(error);
	if (err == -KILN_EWOULDBLOCK && !(flags & KV_NOSTALL))
		err = -KILN_EIO;
	if (err != -KILN_EWOULDBLOCK)
		kv_break(kv, error);
	rocksdb_free(error);
	return err;
}

static int rocks_sync(struct kv *kv)
{
	char *error = NULL;

	rocksdb_flush_wal(rocks_of(kv)->db, 1, &error);
	if (error)
		kv_break(kv, error);
	return take_error(error);
}

static struct kv_view *rocks_view_new(struct kv *kv)
{
	struct rocks *r = rocks_of(kv);
	struct rocks_view *v = malloc(sizeof(*v));

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

	for (int i = 0; i < r->handle_count; i++) {
		uint64_t part = 0;

		if (!rocksdb_property_int_cf(r->db, r->handles[i], "rocksdb.total-sst-files-size",
					     &part))
			sum += part;
		if (!rocksdb_property_int_cf(r->db, r->handles[i],
					     "rocksdb.cur-size-all-mem-tables", &part))
			sum += part;
	}
	return asprintf(&text, "%llu", (unsigned long long)sum) < 0 ? NULL : text;
}

static char *rocks_property(struct kv *kv, const char *name)
{
	struct rocks *r = rocks_of(kv);

	if (strcmp(name, "size_bytes") == 0)
		return size_text(r);
	if (strcmp(name, "stats") == 0)
		return rocksdb_property_value_cf(r->db, r->handles[0], "rocksdb.stats");
	return NULL;
}

static void rocks_close(struct kv *kv)
{
	struct rocks *r = rocks_of(kv);

	for (int i = 0; i < r->handle_count; i++)
		rocksdb_column_family_handle_destroy(r->handles[i]);
	if (r->db)
		rocksdb_close(r->db);
	for (int i = 0; i < TIERS; i++)
		rocksdb_readoptions_destroy(r->read[i]);
	for (int i = 0; i < WRITES; i++)
		rocksdb_writeoptions_destroy(r->write[i]);
	rocksdb_cache_destroy(r->cache);
	kv_fini(kv);
	free(r);
}

/* The cache is small and must hold few large things well: two shards, as a block larger than a
 * shard's share is read anew each time.  Index and filter blocks (about 1.5 bytes a key) stay in
 * memory beside it, so that whether a key exists is known without the disk; kept inside a 16 MiB
 * cache they pushed each other out from half a million files on, and a lookup took 300 us. */
static rocksdb_cache_t *make_cache(uint64_t bytes)
{
	rocksdb_lru_cache_options_t *o = rocksdb_lru_cache_options_create();
	rocksdb_cache_t *cache;

	rocksdb_lru_cache_options_set_capacity(o, bytes);
	rocksdb_lru_cache_options_set_num_shard_bits(o, 1);
	cache = rocksdb_cache_create_lru_opts(o);
	rocksdb_lru_cache_options_destroy(o);
	return cache;
}

static void set_table_options(rocksdb_options_t *o, rocksdb_cache_t *cache)
{
	rocksdb_block_based_table_options_t *t = rocksdb_block_based_options_create();

	rocksdb_block_based_options_set_block_cache(t, cache);
	rocksdb_block_based_options_set_cache_index_and_filter_blocks(t, 0);
	rocksdb_block_based_options_set_filter_policy(t, rocksdb_filterpolicy_create_bloom_full(10));
	rocksdb_block_based_options_set_whole_key_filtering(t, 1);
	rocksdb_block_based_options_set_format_version(t, 5);
	rocksdb_block_based_options_set_data_block_index_type(
		t, rocksdb_block_based_table_data_block_index_type_binary_search_and_hash);
	rocksdb_options_set_block_based_table_factory(o, t);
	rocksdb_block_based_options_destroy(t);
}

/* The journal is neither flushed by hand nor recycled: every apply reaches the page cache, and
 * recovery stops at the first damaged record (point in time), which RocksDB grants only for
 * journals that are not recycled.  There is one fdatasync per kv_sync. */
static void set_journal(rocksdb_options_t *o)
{
	rocksdb_options_set_manual_wal_flush(o, 0);
	rocksdb_options_set_recycle_log_file_num(o, 0);
	rocksdb_options_set_wal_recovery_mode(o, rocksdb_point_in_time_recovery);
}

/* Small memtables keep the skip list shallow (16 MiB against 64: a fifth off every put); the
 * bloom filter in front of it answers for the names that are not there.  With `split` there is
 * one per space: together they are bounded, and the slowest to fill does not keep old journals
 * for long.  Applies come from one
 * volume's writer at a time, so the machinery for many threads in one memtable is off. */
static void set_memtable(rocksdb_options_t *o, uint64_t bytes)
{
	rocksdb_options_set_write_buffer_size(o, bytes);
	rocksdb_options_set_max_write_buffer_number(o, 4);
	rocksdb_options_set_db_write_buffer_size(o, 3 * bytes);
	rocksdb_options_set_max_total_wal_size(o, 6 * bytes);
	rocksdb_options_set_memtable_whole_key_filtering(o, 1);
	rocksdb_options_set_memtable_prefix_bloom_size_ratio(o, 0.02);
	rocksdb_options_set_allow_concurrent_memtable_write(o, 0);
	rocksdb_options_set_enable_write_thread_adaptive_yield(o, 0);
}

/* One thread flushes and one compacts, the latter at the lowest priority: on two processors it
 * must not slow those who answer.  So that this does not end in stalls, many more level-0 files
 * are allowed than by default.  lz4: less than two thirds of the space for a microsecond when a
 * block comes into the cache. */
static void set_background(rocksdb_options_t *o)
{
	rocksdb_env_t *env = rocksdb_create_default_env();

	rocksdb_env_lower_thread_pool_cpu_priority(env);
	rocksdb_env_destroy(env); /* only the handle: the environment is the process's */
	rocksdb_options_set_max_background_jobs(o, 2);
	rocksdb_options_set_level0_file_num_compaction_trigger(o, 4);
	rocksdb_options_set_level0_slowdown_writes_trigger(o, 40);
	rocksdb_options_set_level0_stop_writes_trigger(o, 64);
	rocksdb_options_set_level_compaction_dynamic_level_bytes(o, 1);
	rocksdb_options_set_compression(o, rocksdb_lz4_compression);
	rocksdb_options_set_avoid_unnecessary_blocking_io(o, 1);
}

static rocksdb_options_t *set_options(const struct kv_options *options, rocksdb_cache_t *cache)
{
	rocksdb_options_t *o = rocksdb_options_create();

	rocksdb_options_set_create_if_missing(o, options->create);
	rocksdb_options_set_create_missing_column_families(o, options->create);
	rocksdb_options_set_stats_dump_period_sec(o, 0);
	rocksdb_options_set_stats_persist_period_sec(o, 0);
	rocksdb_options_set_max_log_file_size(o, MIB);
	rocksdb_options_set_keep_log_file_num(o, 2);
	set_journal(o);
	set_memtable(o, options->buffer_bytes ? options->buffer_bytes : BUFFER_DEFAULT);
	set_background(o);
	set_table_options(o, cache);
	return o;
}

static void make_read_write_options(struct rocks *r)
{
	for (int i = 0; i < TIERS; i++) {
		r->read[i] = rocksdb_readoptions_create();
		rocksdb_readoptions_set_read_tier(r->read[i], i);
	}
	for (int i = 0; i < WRITES; i++) {
		r->write[i] = rocksdb_writeoptions_create();
		rocksdb_writeoptions_set_no_slowdown(r->write[i], i == WRITE_NOSTALL);
	}
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
	};
	bool split = strcmp(options->layout, "split") == 0;
	const rocksdb_options_t *family_options[KV_SPACES];
	struct rocks *r = calloc(1, sizeof(*r));
	rocksdb_options_t *o;
	char *error = NULL;

	if (!r)
		return -KILN_ENOMEM;
	kv_init(&r->kv, &ops);
	make_read_write_options(r);
	r->cache = make_cache(options->cache_bytes ? options->cache_bytes : CACHE_DEFAULT);
	o = set_options(options, r->cache);
	for (int i = 0; i < KV_SPACES; i++)
		family_options[i] = o;
	r->db = rocksdb_open_column_families(o, path, split ? KV_SPACES : 1, space_names,
					     family_options, r->handles, &error);
	rocksdb_options_destroy(o);
	if (!r->db) {
		int err = open_code_of(error);

		*why = strdup(error);
		rocksdb_free(error);
		rocks_close(&r->kv);
		return err;
	}
	r->handle_count = split ? KV_SPACES : 1;
	for (int i = 0; i < KV_SPACES; i++)
		r->spaces[i] = r->handles[split ? i : 0];
	*out = &r->kv;
	return 0;
}

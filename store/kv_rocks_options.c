/* RocksDB's settings, each with its reason. */
#include "store/kv_rocks_options.h"

#include <stdlib.h>

enum { LOG_HEADER = 5 }; /* RocksDB's HEADER_LEVEL, above FATAL_LEVEL */

#define MIB (1024 * 1024ull)
#define BLOB_MIN 2048
#define BLOB_FILE (16 * MIB)

/* The cache is small and must hold few large things well: two shards, as a block larger than a
 * shard's share is read anew each time.  Index and filter blocks (about 1.5 bytes a key) stay in
 * memory beside it, so that whether a key exists is known without the disk; kept inside a 16 MiB
 * cache they pushed each other out from half a million files on, and a lookup took 300 us. */
rocksdb_cache_t *rocks_cache_new(uint64_t bytes)
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

/* RocksDB's own journal stays empty.  All families are flushed together, at one batch: without a
 * journal below, that is what makes the files hold a prefix of the batches, always. */
static void set_journal(rocksdb_options_t *o)
{
	rocksdb_options_set_atomic_flush(o, 1);
	rocksdb_options_set_recycle_log_file_num(o, 0);
}

/* Small memtables keep the skip list shallow (16 MiB against 64: a fifth off every put); the
 * bloom filter in front of it answers for the names that are not there.  With `split` there is
 * one per space: together they are bounded.  Writes come one at a time (move_lock), so the
 * machinery for many threads in one memtable is off. */
static void set_memtable(rocksdb_options_t *o, uint64_t bytes)
{
	rocksdb_options_set_write_buffer_size(o, bytes);
	rocksdb_options_set_max_write_buffer_number(o, 4);
	rocksdb_options_set_db_write_buffer_size(o, 3 * bytes);
	rocksdb_options_set_memtable_whole_key_filtering(o, 1);
	rocksdb_options_set_memtable_prefix_bloom_size_ratio(o, 0.02);
	rocksdb_options_set_allow_concurrent_memtable_write(o, 0);
	rocksdb_options_set_enable_write_thread_adaptive_yield(o, 0);
}

/* Large values (the bytes of small files) are written once, into files of their own.  Where there
 * is garbage among them (see kv_rocks_collect.c) a compaction moves those that it comes
 * across in the older of these files.  It reads them one by one in the order of their keys: without
 * reading ahead 100 MiB that were not in memory took two minutes. */
static void set_blobs(rocksdb_options_t *o, rocksdb_cache_t *cache)
{
	rocksdb_options_set_enable_blob_files(o, 1);
	rocksdb_options_set_min_blob_size(o, BLOB_MIN);
	rocksdb_options_set_blob_file_size(o, BLOB_FILE);
	rocksdb_options_set_blob_compression_type(o, rocksdb_lz4_compression);
	rocksdb_options_set_enable_blob_gc(o, 1);
	rocksdb_options_set_blob_gc_age_cutoff(o, ROCKS_CUTOFF);
	rocksdb_options_set_blob_gc_force_threshold(o, 0.5);
	rocksdb_options_set_blob_compaction_readahead_size(o, 2 * MIB);
	rocksdb_options_set_blob_cache(o, cache);
}

/* What has been deleted takes its place until a compaction meets the deletion: a file of them is
 * compacted at once, and memory that holds so many is flushed (look_after in kv_rocks.c). */
static void set_deletions(rocksdb_options_t *o)
{
	rocksdb_options_add_compact_on_deletion_collector_factory(o, 2 * ROCKS_DELETIONS_MANY,
								  ROCKS_DELETIONS_MANY);
}

/* Where the keys of blocks have a family of their own, the levels hold some 50 bytes for each 8 KiB
 * of a file.  With levels of the usual size one compaction would go over all there is, and move a
 * quarter of all bytes each time. */
static void set_small_levels(rocksdb_options_t *o)
{
	rocksdb_options_set_max_bytes_for_level_base(o, MIB);
	rocksdb_options_set_target_file_size_base(o, MIB / 4);
}

/* lz4: less than two thirds of the space for a microsecond when a block comes into the cache; but
 * not at level 0, which the flush writes and the next compaction takes away. */
static void set_compression(rocksdb_options_t *o)
{
	static const int levels[] = { rocksdb_no_compression, rocksdb_lz4_compression };

	rocksdb_options_set_compression_per_level(o, levels, 2);
}

/* One thread flushes and one compacts, the latter at the lowest priority: on two processors it
 * must not slow those who answer.  So that this does not end in stalls, many more level-0 files
 * are allowed than by default.  What they write goes to the disk as it is written: a sync of the
 * journal that comes upon one of theirs waited up to 190 ms for the whole file, now 10. */
static void set_background(rocksdb_options_t *o)
{
	rocksdb_env_t *env = rocksdb_create_default_env();

	rocksdb_env_lower_thread_pool_cpu_priority(env);
	rocksdb_env_destroy(env); /* only the handle: the environment is the process's */
	rocksdb_options_set_max_background_jobs(o, 2);
	rocksdb_options_set_level0_file_num_compaction_trigger(o, 8);
	rocksdb_options_set_level0_slowdown_writes_trigger(o, 40);
	rocksdb_options_set_level0_stop_writes_trigger(o, 64);
	rocksdb_options_set_level_compaction_dynamic_level_bytes(o, 1);
	rocksdb_options_set_bytes_per_sync(o, MIB);
	rocksdb_options_set_avoid_unnecessary_blocking_io(o, 1);
}

/* RocksDB's log of its own has its settings, written at each open, and nothing else: 7.8, where its
 * assertions are compiled in as in Debian's package, aborts at the second line that a full disk
 * does not take (EnvLogger::Logv).  What fails it also says in its errors, which we log. */
static void set_log(rocksdb_options_t *o)
{
	rocksdb_options_set_info_log_level(o, LOG_HEADER);
	rocksdb_options_set_keep_log_file_num(o, 2);
}

rocksdb_options_t *rocks_options_new(bool create, uint64_t buffer_bytes, rocksdb_cache_t *cache)
{
	rocksdb_options_t *o = rocksdb_options_create();

	rocksdb_options_set_create_if_missing(o, create);
	rocksdb_options_set_create_missing_column_families(o, create);
	rocksdb_options_set_stats_dump_period_sec(o, 0);
	rocksdb_options_set_stats_persist_period_sec(o, 0);
	set_log(o);
	set_journal(o);
	set_memtable(o, buffer_bytes);
	set_background(o);
	set_compression(o);
	set_blobs(o, cache);
	set_table_options(o, cache);
	return o;
}

void rocks_options_blocks(rocksdb_options_t *o, bool apart)
{
	set_deletions(o);
	if (apart)
		set_small_levels(o);
}

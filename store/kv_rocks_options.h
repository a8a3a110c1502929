/* RocksDB's settings, for kv_rocks.c alone.  Objects that are returned are the caller's to
 * destroy. */
#ifndef STORE_KV_ROCKS_OPTIONS_H
#define STORE_KV_ROCKS_OPTIONS_H

#include <rocksdb/c.h>
#include <stdbool.h>
#include <stdint.h>

/* The share of the blob files, the oldest, of which a compaction moves what it meets: to begin with
 * (kv_rocks_collect.h sets it). */
#define ROCKS_CUTOFF 0.25
/* Deletions in one table that are worth a compaction or a flush. */
#define ROCKS_DELETIONS_MANY 1024

rocksdb_cache_t *rocks_cache_new(uint64_t bytes);
/* rocks_options_new: of every column family. */
rocksdb_options_t *rocks_options_new(bool create, uint64_t buffer_bytes, rocksdb_cache_t *cache);
/* rocks_options_blocks: ... that holds the blocks of small files; apart: and no metadata. */
void rocks_options_blocks(rocksdb_options_t *o, bool apart);

#endif

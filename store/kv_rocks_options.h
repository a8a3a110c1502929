/* RocksDB's settings, for kv_rocks.c alone.  What is returned is the caller's to destroy. */
#ifndef STORE_KV_ROCKS_OPTIONS_H
#define STORE_KV_ROCKS_OPTIONS_H

#include <rocksdb/c.h>
#include <stdbool.h>
#include <stdint.h>

/* The oldest part of the blob files, which a compaction collects while little of them is garbage;
 * deletions in one table that are worth a compaction or a flush. */
#define ROCKS_CUTOFF_USUAL "0.25"
#define ROCKS_DELETIONS_MANY 1024

rocksdb_cache_t *rocks_cache_new(uint64_t bytes);
/* rocks_options_new: of every column family. */
rocksdb_options_t *rocks_options_new(bool create, uint64_t buffer_bytes, rocksdb_cache_t *cache);
/* rocks_options_blocks: ... that holds the blocks of small files; apart: and no metadata. */
void rocks_options_blocks(rocksdb_options_t *o, bool apart);

#endif

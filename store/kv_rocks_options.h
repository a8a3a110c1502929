/* RocksDB's settings, for kv_rocks.c alone.  What is returned is the caller's to destroy. */
#ifndef STORE_KV_ROCKS_OPTIONS_H
#define STORE_KV_ROCKS_OPTIONS_H

#include <rocksdb/c.h>
#include <stdbool.h>
#include <stdint.h>

/* The oldest blob files, as far as a compaction moves what it meets of them; as RocksDB wants it. */
enum rocks_cutoff { ROCKS_CUTOFF_NONE, ROCKS_CUTOFF_OLDEST, ROCKS_CUTOFF_ALL };
const char *rocks_cutoff_text(enum rocks_cutoff cutoff);
/* Deletions in one table that are worth a compaction or a flush. */
#define ROCKS_DELETIONS_MANY 1024

rocksdb_cache_t *rocks_cache_new(uint64_t bytes);
/* rocks_options_new: of every column family. */
rocksdb_options_t *rocks_options_new(bool create, uint64_t buffer_bytes, rocksdb_cache_t *cache);
/* rocks_options_blocks: ... that holds the blocks of small files; apart: and no metadata. */
void rocks_options_blocks(rocksdb_options_t *o, bool apart);

#endif

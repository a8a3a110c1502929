/* Private to kv_rocks*.c: the garbage among large values.
 *
 * RocksDB collects as it compacts: it moves every large value that it meets in the blob files older
 * than a cutoff, which is set here by what garbage and room there are.
 *
 * Where there is little room it writes anew all that the keys of one compaction have in the files
 * chosen, before the first of them can go: on a disk that is nearly full there is no room for that,
 * and the attempt takes the room that a flush needs.  Here one or a few of the oldest files are
 * chosen then, and all keys are compacted once (they are small beside their values): these files are
 * gone, and no more has been written meanwhile than what was worth keeping in them. */
#ifndef STORE_KV_ROCKS_COLLECT_H
#define STORE_KV_ROCKS_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include <rocksdb/c.h>

struct rocks_collector;

/* rocks_collector_new: starts the thread; db, cf and path stay the caller's, until
 * rocks_collector_free (NULL is fine), which waits for the step under way.  buffer_bytes: of a
 * memtable.  NULL: no memory or no thread. */
struct rocks_collector *rocks_collector_new(rocksdb_t *db, rocksdb_column_family_handle_t *cf,
					    const char *path, uint64_t buffer_bytes);
void rocks_collector_free(struct rocks_collector *c);
/* rocks_collector_at_work: more room is about to come, or may be: then it looks now.  Any thread. */
bool rocks_collector_at_work(struct rocks_collector *c);

#endif

/* Private to kv_rocks*.c: what they share. */
#ifndef STORE_KV_ROCKS_IMPL_H
#define STORE_KV_ROCKS_IMPL_H

#include "store/front.h"
#include "store/journal.h"
#include "store/kv_impl.h"
#include "store/kv_rocks_collect.h"
#include "store/kv_rocks_options.h"

#include <pthread.h>
#include <rocksdb/c.h>

enum { TIER_ALL, TIER_CACHE, TIERS };
enum { TIER_PERSISTED = 2 }; /* RocksDB's kPersistedTier: what is in memory only is not seen */
enum { FAMILIES = KV_SPACES + 1 };

struct rocks {
	struct kv kv;
	rocksdb_t *db;
	rocksdb_column_family_handle_t *handles[FAMILIES]; /* owned; handle_count are open */
	rocksdb_column_family_handle_t *spaces[KV_SPACES]; /* where a key space lives */
	rocksdb_column_family_handle_t *number;            /* where NUMBER_KEY lives */
	int handle_count;
	rocksdb_cache_t *cache;
	rocksdb_readoptions_t *read[TIERS], *read_persisted;
	rocksdb_writeoptions_t *write;
	rocksdb_compactoptions_t *flush_options;
	struct journal *journal;
	struct rocks_collector *collector;
	char *path; /* of the database, owned */
	uint64_t buffer_bytes;
	bool full_disk;           /* atomic: RocksDB takes nothing because of one */
	bool patient;             /* atomic: neither opening nor closing: room is waited for */
	struct front *front;
	/* Held over the append to the journal and the change of the front, so that both have
	 * one order; neither waits for anything but the copying of bytes. */
	struct lock apply_lock;
	uint64_t applied; /* [apply_lock] number of the last batch in the front */
	/* Held while what is on its way in the front is written to the database, which can wait
	 * for a flush. */
	struct lock move_lock;
	uint64_t moving_through; /* [move_lock] number of the last batch on its way */
	struct lock mover_lock;
	struct cond mover_work;
	pthread_t mover;
	bool full, stop, begun; /* full, stop: [mover_lock]; begun: the opening thread's */
};

struct rocks_view {
	struct kv_view view;
	const rocksdb_snapshot_t *snapshot;
	rocksdb_readoptions_t *read[TIERS];
};

static inline struct rocks *rocks_of(struct kv *kv)
{
	return (struct rocks *)kv;
}

/* rocks_quiet: RocksDB counts every comparison in a thread-local unless told not to, thread by
 * thread: a tenth of a get or a write.  To be called in front of either. */
void rocks_quiet(void);
/* rocks_error: a code for RocksDB's text, which is freed; NULL: 0. */
int rocks_error(char *text);
/* rocks_figure: RocksDB's property of that name, a number; 0 if it has none. */
static inline uint64_t rocks_figure(rocksdb_t *db, rocksdb_column_family_handle_t *cf,
				    const char *name)
{
	uint64_t value = 0;

	return rocksdb_property_int_cf(db, cf, name, &value) == 0 ? value : 0;
}

/* rocks_write: into the memtables; an error has broken the store.  Where a flush has found no room
 * on the disk RocksDB takes nothing until it has tried again, which it does every five seconds: that
 * is waited for. */
int rocks_write(struct rocks *r, rocksdb_writebatch_t *w);
/* rocks_put, rocks_put_number: into w.  value NULL: deleted. */
void rocks_put(struct rocks *r, rocksdb_writebatch_t *w, const struct front_change *c);
void rocks_put_number(struct rocks *r, rocksdb_writebatch_t *w, uint64_t number);

/* kv_rocks_move.c: from the front into the database. */
int rocks_move_begin(struct rocks *r); /* the thread */
void rocks_move_end(struct rocks *r);  /* all that is there is moved, unless the store is broken */
void rocks_move_soon(struct rocks *r); /* the front is full */
/* rocks_move: what has been applied before the call is in the database on return. */
int rocks_move(struct rocks *r);

/* kv_rocks_scan.c */
int rocks_scan_open(struct kv *kv, const struct kv_view *view, enum kv_space space,
		    const void *from, size_t from_len, const void *to, size_t to_len,
		    unsigned flags, struct kv_scan **out);
int rocks_scan_next(struct kv_scan *scan, const void **key, size_t *key_len, const void **value,
		    size_t *value_len);
void rocks_scan_close(struct kv_scan *scan);

#endif

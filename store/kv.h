/* Seam one: an ordered key-value store with atomic batches.  Small on purpose, so that what
 * stands behind it can be RocksDB in this process, memory, or objects of a cluster, and so
 * that tests can put a faulty twin there.
 *
 * Back ends: kv_rocks.c (default), kv_mem.c (keeps nothing over a restart: the upper limit).
 *
 * Sequence numbers: kv_apply gives each batch the next number, starting above every number
 * this process has seen; kv_sync makes everything up to a number durable.  After an apply or
 * sync has failed (but for room, see kv_apply) the store is *broken*: it refuses applies and syncs
 * with -KILN_EBADSTORE until it is opened anew; reads go on.
 *
 * Threads: get, scan, view, value calls from any thread at once.  apply: any thread, calls are
 * serialised inside.  sync: one thread at a time (the committer).
 * Keys are compared bytewise (memcmp, shorter first). */
#ifndef STORE_KV_H
#define STORE_KV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kv;
struct kv_view; /* the state at one moment; owned by the caller */
struct kv_scan; /* an ordered walk; owned by the caller, used by one thread */
struct kv_batch;
struct disk;

/* Key spaces: with layout `single` all are one, with `split` each is a column family of the
 * same database and cache. */
enum kv_space { KV_INODE, KV_DIRENT, KV_REST, KV_SPACES };

enum {
	KV_CACHED = 1, /* reads: memory only; -KILN_EWOULDBLOCK where a disk read would be needed */
	KV_NOSTALL = 2, /* apply: -KILN_EWOULDBLOCK, nothing applied, where the store would stall */
};

struct kv_options {
	const char *backend;  /* "rocksdb" or "mem" */
	const char *layout;   /* "single" or "split"; must equal what the store was created with */
	uint64_t cache_bytes; /* block cache; 0: default 32 MiB */
	uint64_t buffer_bytes;/* memtable; 0: default 16 MiB */
	const char *journal;  /* directory of the journal; NULL: PATH/journal */
	uint64_t segment_bytes; /* of the journal; 0: default 4 MiB */
	const struct disk *disk; /* what the journal is written through; NULL: disk_real */
	bool create;
};

/* kv_open: path is the database's directory (ignored by mem).  *why, if not NULL, receives a
 * sentence on failure (static or malloc'd by kv and owned by the caller: free() it). */
int kv_open(const char *path, const struct kv_options *options, struct kv **out, char **why);
void kv_close(struct kv *kv);

/* kv_get: copies the value into buf.  *len receives its full length; -KILN_ERANGE if that is
 * more than cap (buf then holds the first cap bytes).  -KILN_ENOENT: no such key.
 * view NULL: the latest state. */
int kv_get(struct kv *kv, const struct kv_view *view, enum kv_space space, const void *key,
	   size_t key_len, void *buf, size_t cap, size_t *len, unsigned flags);

/* Many gets at once, of one space; results as of kv_get each.  For listing with attributes. */
struct kv_item {
	const void *key;
	size_t key_len;
	void *buf;
	size_t cap, len;
	int err;
};
int kv_get_many(struct kv *kv, const struct kv_view *view, enum kv_space space,
		struct kv_item *items, size_t count, unsigned flags);

/* kv_scan_*: ascending from `from` (inclusive) to `to` (exclusive).  kv_scan_next returns 1 and
 * points key and value into the scan (valid until the next call on it), 0 at the end, or an
 * error (-KILN_EWOULDBLOCK with KV_CACHED).  Without a view: of what is applied while the walk is
 * open it may show each change or not, of one batch too; all else it shows, and nothing twice. */
int kv_scan_open(struct kv *kv, const struct kv_view *view, enum kv_space space, const void *from,
		 size_t from_len, const void *to, size_t to_len, unsigned flags,
		 struct kv_scan **out);
int kv_scan_next(struct kv_scan *scan, const void **key, size_t *key_len, const void **value,
		 size_t *value_len);
void kv_scan_close(struct kv_scan *scan);

/* A batch is back-end neutral: an array of records.  Filled by one thread. */
struct kv_batch *kv_batch_new(void);
void kv_batch_free(struct kv_batch *batch);
void kv_batch_clear(struct kv_batch *batch);
size_t kv_batch_count(const struct kv_batch *batch);
size_t kv_batch_bytes(const struct kv_batch *batch); /* of its keys and values */
int kv_batch_put(struct kv_batch *batch, enum kv_space space, const void *key, size_t key_len,
		 const void *value, size_t value_len);
int kv_batch_del(struct kv_batch *batch, enum kv_space space, const void *key, size_t key_len);

/* kv_apply: all or nothing; visible to every later read; survives a killed process; *seq is its
 * number.  The batch is left as it was.  -KILN_ENOSPC: nothing is applied, and the store is whole:
 * the disk has no room, and it has not come in some seconds. */
int kv_apply(struct kv *kv, const struct kv_batch *batch, unsigned flags, uint64_t *seq);
/* kv_sync: on return everything applied before the call is durable; *through is the highest
 * such number.  One device flush where the file system allows. */
int kv_sync(struct kv *kv, uint64_t *through);

/* kv_view_new: a snapshot of the latest applied state.  It can wait where an apply would.  NULL: out
 * of memory, or the store is broken. */
struct kv_view *kv_view_new(struct kv *kv);
void kv_view_free(struct kv *kv, struct kv_view *view);

/* kv_debt: bytes that have been applied and must still be written to files.  kv_relieve: asks for
 * that to be done now; does not wait.  kv_collecting: room that is taken for nothing is being
 * given back.  Any thread. */
uint64_t kv_debt(struct kv *kv);
void kv_relieve(struct kv *kv);
bool kv_collecting(struct kv *kv);

/* kv_property: a back end's own figures as text for `kiln status` and benchmarks, malloc'd;
 * NULL if not known.  Names: "size_bytes" (a number), "stats". */
char *kv_property(struct kv *kv, const char *name);

/* kv_break: the store takes no changes from now on; why is copied, the first one stays.  Used
 * by the committer when a data file could not be synced.  Any thread.
 * kv_broken: why (owned by kv, until kv_close), or NULL while all is well. */
void kv_break(struct kv *kv, const char *why);
const char *kv_broken(const struct kv *kv);

#endif

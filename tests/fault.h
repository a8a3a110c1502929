/* Faulty twins of the store's two seams, for tests.
 *
 * A disk that fails the nth call of a kind, is slow to sync, or loses at fault_disk_crash what
 * was not synced: bytes, and names of new files.  A key-value store that fails its nth apply or
 * sync, would stall, or holds a sync back until it is told to go on. */
#ifndef TESTS_FAULT_H
#define TESTS_FAULT_H

#include "store/disk.h"
#include "store/kv.h"

enum fault_call { FAULT_OPEN, FAULT_READ, FAULT_WRITE, FAULT_SYNC, FAULT_UNLINK, FAULT_CALLS };

struct fault_disk;
struct fault_disk *fault_disk_new(void);
void fault_disk_free(struct fault_disk *f);
const struct disk *fault_disk(struct fault_disk *f);
/* fault_disk_fail: the nth call from now (1: the next) returns err; 0 takes it back. */
void fault_disk_fail(struct fault_disk *f, enum fault_call call, unsigned nth, int err);
/* fault_disk_fail_all: every call from now on; 0 takes it back. */
void fault_disk_fail_all(struct fault_disk *f, enum fault_call call, int err);
void fault_disk_slow(struct fault_disk *f, uint64_t sync_ns);
unsigned fault_disk_count(const struct fault_disk *f, enum fault_call call);
/* fault_disk_hold: syncs wait from now on, and nothing becomes durable; fault_disk_go: let them go
 * on.  fault_disk_fail_syncs: they fail from now on, those held too. */
void fault_disk_hold(struct fault_disk *f);
void fault_disk_go(struct fault_disk *f);
void fault_disk_fail_syncs(struct fault_disk *f);
/* One file, of that open descriptor; known from the first of these calls on.
 * fault_file_hold: its syncs wait; fault_file_go: no more.  fault_file_fail: the next sync of it
 * that ends, ends so; only that one, as Linux reports a failed write-back once.
 * fault_file_await: returns when that many of its syncs have begun, or have ended.
 * Closing it, or another sync, while a sync of it is under way aborts. */
void fault_file_hold(struct fault_disk *f, int fd);
void fault_file_go(struct fault_disk *f, int fd);
void fault_file_fail(struct fault_disk *f, int fd, int err);
void fault_file_await(struct fault_disk *f, int fd, unsigned begun, unsigned ended);
unsigned fault_file_syncs(struct fault_disk *f, int fd); /* begun */
/* fault_disk_crash: the power goes: unsynced bytes become what they were, unsynced names go; it
 * comes back: syncs work again. */
void fault_disk_crash(struct fault_disk *f);

/* fault_kv_wrap: owns inner from now on; kv_close closes both. */
struct kv *fault_kv_wrap(struct kv *inner);
void fault_kv_fail_apply(struct kv *twin, unsigned nth, int err);
void fault_kv_fail_sync(struct kv *twin, unsigned nth, int err);
void fault_kv_fail_view(struct kv *twin, unsigned nth); /* as without memory */
unsigned fault_kv_syncs(const struct kv *twin); /* begun so far */
/* fault_kv_hold: syncs wait from now on; fault_kv_go: let them go on, all. */
void fault_kv_hold(struct kv *twin);
void fault_kv_go(struct kv *twin);
/* fault_kv_await_sync: returns when that many syncs have begun. */
void fault_kv_await_sync(struct kv *twin, unsigned count);

#endif

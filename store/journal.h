/* The journal: what makes an applied batch survive before the database has written it to its own
 * files.  Segments of a fixed size below one directory, written with zeros once and then
 * overwritten in turn, so that a sync finds nothing to change in the file system: one fdatasync,
 * one flush of the device, no commit of the file system's own journal.  docs/format.md has the
 * bytes and says what is replayed and what is refused.
 *
 * Life: journal_open, journal_replay (once), journal_begin, then append and sync, and
 * journal_close.  The owner says through struct journal_owner how far the database has come
 * without the journal ("persisted"); segments whose batches are all persisted are used again.
 *
 * Threads: encode: any.  append: one at a time, under the owner's lock, which also makes the
 * journal's order that of the applies.  sync: one thread at a time.  await_room, stats: any.  Two
 * threads of the journal's own: the keeper makes segments ahead of need, asks for flushes and gives
 * segments back; the syncer begins to sync a segment as soon as it is full. */
#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H

#include "store/disk.h"
#include "store/kv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JOURNAL_SEGMENT_BYTES = 4 << 20, JOURNAL_SEGMENT_MIN = 16 << 10 };

struct journal;

/* One batch in the journal's form; kept from one batch to the next.  {0} to begin with. */
struct journal_record {
	unsigned char *bytes; /* owned; room for the head before the body, and zeros behind */
	size_t room, len;     /* len: head and body */
	uint64_t hash;        /* of the body */
};

struct journal_owner {
	/* persisted: the highest number that, with all before it, survives without the journal. */
	uint64_t (*persisted)(void *context);
	/* flush: makes everything applied so; may take long.  All on the keeper's thread. */
	int (*flush)(void *context);
	void *context;
	/* look_after: called every few seconds or megabytes; whether a flush is wanted.  NULL: no. */
	bool (*look_after)(void *context);
};

struct journal_options {
	const struct disk *disk; /* NULL: disk_real */
	uint64_t segment_bytes;  /* 0: JOURNAL_SEGMENT_BYTES; rounded up to whole pages */
	bool create;             /* make the directory if it is missing */
};

struct journal_stats {
	uint64_t bytes, batches, syncs, switches; /* since journal_begin */
	unsigned segments, free_segments;
	uint64_t replayed;                        /* batches, at open */
	uint64_t pending;                         /* bytes that are not known to be persisted */
};

/* journal_open: finds the segments; changes nothing but files whose making was cut short.
 * On failure *why is a malloc'd sentence; -KILN_ECORRUPT: the directory or a segment's head is
 * damaged. */
int journal_open(const char *path, const struct journal_options *options, struct journal **out,
		 char **why);
/* journal_replay: gives apply every batch above persisted, in order, as far as the journal
 * reaches unbroken.  -KILN_ECORRUPT, before anything is applied, if a batch that had been synced
 * is not there.  *through: the last number (persisted if there was none). */
int journal_replay(struct journal *j, uint64_t persisted,
		   int (*apply)(void *context, uint64_t number, const struct kv_batch *batch),
		   void *context, uint64_t *through, char **why);
/* journal_begin: everything through that number is persisted.  What the segments hold is made
 * unreadable, durably; the next batch is through + 1.  owner is copied. */
int journal_begin(struct journal *j, uint64_t through, const struct journal_owner *owner,
		  char **why);
void journal_close(struct journal *j); /* NULL is fine; the owner can still be called until then */

int journal_encode(struct journal_record *rec, const struct kv_batch *batch);
void journal_record_free(struct journal_record *rec);

/* journal_append: writes rec as batch *number; it survives a killed process on return.
 * -KILN_EWOULDBLOCK: no segment is ready, nothing is done (journal_await_room).  Any other error:
 * the journal must not be written to again.  What is appended cannot be taken back, so all that
 * can refuse the batch is asked before. */
int journal_append(struct journal *j, struct journal_record *rec, uint64_t *number);
/* journal_await_room: until there is a segment for rec, or an error if there will be none;
 * -KILN_ENOSPC: not now. */
int journal_await_room(struct journal *j, const struct journal_record *rec);
/* journal_sync: everything appended before the call is durable on return.  Once a sync of any
 * segment has failed, on whichever thread, this call and all later ones return its error. */
int journal_sync(struct journal *j);

/* journal_relieve: the keeper flushes now; does not wait.  Any thread. */
void journal_relieve(struct journal *j);

void journal_stats(struct journal *j, struct journal_stats *out);

#endif

/* Private to journal*.c: segments, and the layout of their bytes (docs/format.md). */
#ifndef STORE_JOURNAL_IMPL_H
#define STORE_JOURNAL_IMPL_H

#include "store/journal.h"

#include "base/lock.h"

#include <pthread.h>

enum {
	SEGMENT_HEAD = 64,  /* bytes before the first record */
	RECORD_HEAD = 48,
	ENTRY_HEAD = 8,     /* of each change in a body */
	BODY_HEAD = 4,      /* the number of changes */
	JOURNAL_PAGE = 4096,
	RECORD_MAX = 1 << 30,
};

struct segment {
	struct segment *next;
	unsigned name;                /* of the file, in decimal */
	int fd;
	uint64_t size;                /* a multiple of JOURNAL_PAGE */
	uint64_t order;               /* rises with each use; 0: not in use */
	uint64_t generation;          /* random, of this use: old bytes never pass for new ones */
	uint64_t first, last;         /* numbers; last: once sealed */
	uint64_t before;              /* bytes accepted before this use */
	/* [lock].  sealed: nothing more is written to this use.  synced: sealed, and no sync is
	 * needed any more.  pinned: a thread is syncing it, so it stays in use, and open. */
	bool sealed, synced, pinned;
};

struct segment_list {
	struct segment *first, **tail;
	unsigned count;
};

struct journal {
	char *path;
	const struct disk *disk;
	uint64_t segment_bytes;
	int dir_fd;
	struct journal_owner owner;   /* set by journal_begin */
	pthread_t keeper, syncer;
	bool has_keeper, has_syncer;  /* the opener's and closer's: to be joined */
	struct lock lock;             /* rank LEAF; never held over a call of disk or owner */
	struct cond work, room;       /* work: for the keeper; room: a segment is ready */
	struct cond sealed, synced;   /* sealed: for the syncer; synced: a sync has ended */
	struct segment_list used;     /* [lock] oldest first; the last is written to */
	struct segment_list free;     /* [lock] */
	uint64_t wanted;              /* [lock] bytes of a record that found no segment */
	uint64_t order;               /* [lock] of the last one taken */
	unsigned next_name;           /* keeper, or the opener */
	bool stop, nudged;            /* [lock] */
	bool flush_wanted;            /* [lock] */
	uint64_t flushed;             /* [lock] so many of the bytes are persisted */
	uint64_t refusals;            /* [lock] times there was no room for a segment */
	int failed;                   /* [lock] there will be no more segments, and why */
	int sync_failed;              /* [lock] what the first sync that failed returned */
	uint64_t switches;            /* [lock] */
	/* The appender's, under the owner's lock. */
	struct segment *current;      /* changed with [lock] as well, so [lock] is enough to read it */
	uint64_t offset;              /* where the next record goes */
	uint64_t touched;             /* pages below have been written in this use */
	unsigned char *page;
	uint64_t accepted;            /* atomic; highest number appended; written by the appender */
	uint64_t durable;             /* atomic; highest number synced; written with [lock] */
	uint64_t bytes;               /* atomic; written by the appender */
	uint64_t syncs;               /* atomic; written by journal_sync */
	uint64_t replayed;            /* set before journal_begin */
};

struct record_head {
	uint64_t number, generation, durable, hash;
	uint32_t len; /* of the body */
};

static inline uint64_t round_to_page(uint64_t n)
{
	return (n + JOURNAL_PAGE - 1) & ~(uint64_t)(JOURNAL_PAGE - 1);
}

void segment_list_init(struct segment_list *l);
void segment_list_add(struct segment_list *l, struct segment *s);
void segment_list_remove(struct segment_list *l, struct segment *s);

/* segment_make: a new file of zeros, durable.  segment_open: one that is there; *out NULL if its
 * making was cut short (then it is gone).  segment_delete: closes, unlinks, frees. */
int segment_make(struct journal *j, uint64_t size, struct segment **out);
int segment_open(struct journal *j, unsigned name, struct segment **out, char **why);
void segment_close(struct journal *j, struct segment *s);
int segment_delete(struct journal *j, struct segment *s);
/* segment_start: writes the head for the use that is set in s; durable with the next sync.
 * segment_retire: zeros in its place, durable. */
int segment_start(struct journal *j, struct segment *s, uint64_t durable);
int segment_retire(struct journal *j, struct segment *s);
/* segment_read_head: fills in order, generation and first; order 0 for one that is not in use. */
int segment_read_head(struct journal *j, struct segment *s, uint64_t *durable, bool *damaged);
int segment_generation(struct segment *s); /* a new random one */

/* journal_sync.c.  journal_seal: with the lock held, by the appender: s takes no more, and begins
 * to be synced.  journal_sync_early: the syncer's thread. */
void journal_seal(struct journal *j, struct segment *s);
void *journal_sync_early(void *journal);

void record_put_head(unsigned char *at, const struct record_head *h);
/* record_get_head: false if these are not the RECORD_HEAD bytes of a head of that generation. */
bool record_get_head(const unsigned char *at, uint64_t generation, struct record_head *h);
/* record_decode: a body whose hash was right; batch is emptied first. */
int record_decode(const unsigned char *body, size_t len, struct kv_batch *batch);

#endif

/* The inside of volumes and sessions, for volume.c, opens.c, session.c, pool.c and those of
 * schedule_inner.h alone.
 *
 * Lock of a field in brackets: [lock] the volume's, rank VOLUME; [role] whoever holds the writer
 * role; [atomic] relaxed loads and stores. */
#ifndef SERVER_VOLUME_INNER_H
#define SERVER_VOLUME_INNER_H

#include "base/lock.h"
#include "server/pool.h"
#include "server/server.h"
#include "server/volume.h"

enum {
	TURN_BUCKETS = 64,
	ORPHAN_BUCKETS = 128,
	WRITERS_KEPT = 256,
	SESSION_SLOT_WORDS = 16, /* times 64 slots for changes whose answer is on its way */
};

/* One session's opens of one inode. */
struct open_entry {
	struct open_entry *next; /* in the bucket */
	struct session *session;
	uint64_t handle;
	unsigned count;
	uint32_t record; /* server/openfile.h */
};

/* An orphan that may go once nobody has it open.  After a reboot the server does not know what the
 * clients of before still hold, so each of those (recovered sessions) holds every orphan of
 * before until its kernel forgets the inode or the session ends. */
struct orphan {
	struct orphan *next; /* in the bucket */
	uint64_t handle;
	unsigned held, holder_count; /* recovered sessions that may still have it open */
	bool reaping;         /* op_reap is queued */
	struct session *holders[]; /* of those, NULL once released */
};

/* What a change will have done outside the store once it has been applied; undone with it. */
struct effect {
	enum { EFFECT_DOOM, EFFECT_ORPHAN, EFFECT_ADOPT, EFFECT_TRASH, EFFECT_TRIM } kind;
	uint32_t gen;
	uint64_t handle, size;
};

/* Who changed a file's bytes last; a small direct-mapped memory, losing it costs a re-read. */
struct writer_note {
	uint64_t handle, client, when_ns;
};

struct volume {
	struct server *server;
	unsigned refs;                 /* [atomic] the table, sessions and requests */
	struct pool_queue pool_queue[POOL_KINDS]; /* [POOL] */
	struct lock lock;
	struct cond cond;              /* loading has ended */

	struct volume_record record;   /* [lock] */
	uint32_t brick;                /* never changes */
	bool read_only;                /* [atomic] copies for the hot path */
	uint8_t durability, cache;     /* [atomic] */
	uint64_t quota_blocks, quota_inodes; /* [atomic] */
	bool durable_reads;            /* [atomic] readers look at the durable view */
	bool loaded, loading, retired; /* [lock] */
	unsigned hellos;               /* [lock] under way: keep the volume alive */

	/* Writer role and its queues. */
	bool role_held;                      /* [lock] */
	struct request *queue, *queue_tail;  /* [lock] changes that wait for the role */
	struct request *handoff, *handoff_tail; /* [role] to run first by the next holder */
	bool must_hand_off;                  /* [role] something here would block a loop */
	struct request takeover;             /* [role] the pool's ticket for the role */
	struct txn *group;                   /* [role] */
	struct request *done, *done_tail;    /* [role] executed, waiting for the group's apply */
	unsigned done_count;                 /* [role] */
	struct counters counters, counters_mark; /* [role] */
	struct counters counters_applied;    /* [role] as of the last applied group */
	bool counters_changed;               /* [role] */
	uint64_t next_handle;                /* [role] */
	struct effect *effects;              /* [role] */
	unsigned effect_count, effect_cap, effect_mark;
	uint64_t space_checked_ns;           /* [role] when store_space was last asked */
	uint64_t space_left;                 /* [role] blocks that may still be taken then */
	struct counters shown;               /* [lock] as of the last applied group */

	/* Turns: requests that hold one, by inode. */
	struct request **turns;              /* [lock] TURN_BUCKETS, made at load */

	/* Opens. */
	struct open_entry **opens;           /* [lock] open_buckets, a power of two */
	unsigned open_buckets, open_count;   /* [lock] */
	uint64_t *doomed;                    /* [lock] */
	unsigned doomed_count, doomed_cap;   /* [lock] */
	struct orphan **orphans;             /* [lock] ORPHAN_BUCKETS, made at load */
	unsigned orphan_count;               /* [lock] also read without it, as a hint */
	unsigned recovered;                  /* [lock] sessions whose opens are not known */
	uint64_t boot_handle;                /* handles below are from before the load */

	struct session *sessions;            /* [lock] */
	unsigned session_count;              /* [lock] */
	struct locktable *locks;             /* made at load */
	struct writer_note *notes;           /* [lock] WRITERS_KEPT, made at load */
	uint64_t reads, changes;             /* [atomic] answered */
	uint64_t last_seq;                   /* [atomic] of the last applied group */
	uint64_t last_write_seq;             /* [atomic] ... that changed bytes of files */
	struct txn *probe;                   /* [role] asks the durable view; made when needed */
};

struct session {
	struct session *next;       /* [volume lock] in the volume's list */
	struct volume *volume;
	struct server *server;
	unsigned refs;              /* [atomic] connections and requests under way; 0 and dead: freed */
	uint64_t client, secret;
	unsigned kind;              /* HELLO_xxx */
	char host[64];
	struct conn *conn;          /* [volume lock] current connection, no reference */
	uint64_t away_since_ns;     /* [volume lock] when conn went away */
	unsigned opens;             /* [volume lock] all its open_entry counts together */
	bool recovered;             /* [volume lock] from before the load: opens not known */
	uint32_t marker;            /* [volume lock] server/openfile.h: they are all known */
	bool dead;                  /* [atomic] ended: every operation gets ESTALE */
	bool init_done;             /* [atomic] */
	uint32_t minor, max_write, max_readahead; /* negotiated; set before init_done */
	uint64_t init_flags;
	uint64_t slots[SESSION_SLOT_WORDS];    /* [atomic] taken ones; HELLO_FUSE_FD */
	uint64_t reserved[SESSION_SLOT_WORDS]; /* [atomic] with records that may be asked for */
	bool has_reserved;          /* [atomic] */
	unsigned slot_count;        /* streams: slots the client may use */
	uint64_t *counted;          /* [loop] streams: unique last counted in each slot */
};

void volume_get(struct volume *v);
void volume_put(struct volume *v);

/* volume.c: effects */
int volume_effect(struct volume *v, struct effect effect);        /* [role] */
void volume_effects_undo(struct volume *v);                       /* [role] back to effect_mark */
void volume_effects_done(struct volume *v, uint64_t seq, bool applied); /* [role] all of them */
int volume_load(struct volume *v, struct worker *w);  /* pool threads; waits if another loads */

/* opens.c */
void opens_mark(struct session *s);    /* a new session: all its opens will be known */
void opens_restore(struct volume *v);  /* volume_load, after the sessions */
void opens_drop_session(struct session *s);
void opens_forget(struct session *s, uint64_t handle);
bool opens_dooming(struct volume *v, uint64_t handle); /* volume_doom without its effect */
void opens_undoom(struct volume *v, uint64_t handle);
void opens_orphan_add(struct volume *v, uint64_t handle);
void opens_orphan_drop(struct volume *v, uint64_t handle);

#endif

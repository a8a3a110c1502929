/* A volume: its writer role, its turns, its open files, its counters.
 *
 * Writer role.  Changes of a volume are executed one at a time, in order of arrival, by the
 * thread that holds the role (role.c).  Functions marked [role] may only be called by it,
 * that is from OP_CHANGE handlers and the handler half of OP_DATA.
 *
 * Opens.  The server counts who has what open, so that an unlinked inode lives as long as it
 * must.  An inode about to be deleted is *doomed* until the group that deletes it has been
 * applied: opening it fails with -KILN_EDOOMED meanwhile, upon which the scheduler lets the writer
 * role decide: only there it is known whether, and with which batch, the inode goes. */
#ifndef SERVER_VOLUME_H
#define SERVER_VOLUME_H

#include "server/request.h"

struct locktable;

/* --- for handlers ------------------------------------------------------------------- */

/* volume_take_handle [role]: a new handle; never given out before. */
int volume_take_handle(struct volume *v, struct txn *t, uint64_t *handle);
/* volume_count [role]: adjusts the volume's counters by so many inodes and 512-byte blocks as
 * part of this operation (undone with it).  -KILN_EQUOTA, with nothing changed, if it would rise
 * above the quota; -KILN_ENOSPC likewise if the store is nearly full.  Falling never fails. */
int volume_count(struct volume *v, int64_t inodes, int64_t blocks);
void volume_statfs(struct volume *v, struct fuse_kstatfs *out);
bool volume_read_only(const struct volume *v);
uint64_t volume_cache_ns(const struct volume *v); /* entry and attribute validity */
int volume_durability(const struct volume *v);    /* DURABILITY_xxx */
struct store *volume_store(const struct volume *v);
uint32_t volume_brick(const struct volume *v);
struct locktable *volume_locks(struct volume *v);

/* open_take: one more open of handle by the request's session; -KILN_EDOOMED if it is doomed.
 * READ: take it before reading the inode.  At most one a request (req->opened); if the request
 * then fails, for whatever reason, the scheduler drops it again. */
int open_take(struct request *req, uint64_t handle);
/* open_drop: one less.  When it was the last of an orphan, the orphan's removal (op_reap) is
 * queued.  open_release: the same for RELEASE and RELEASEDIR of req's inode, at most once for
 * each request. */
void open_drop(struct session *s, uint64_t handle);
void open_release(struct request *req);
/* volume_doom [role]: true: nobody has handle open, and nobody can open it until this group is
 * applied: delete it now.  false: it is open somewhere: make it an orphan. */
bool volume_doom(struct volume *v, uint64_t handle);
/* volume_orphan [role]: handle lost its last name while open (orphan_put has been called):
 * remember it, so that its last close removes it.  Of an orphan that op_reap finds open again:
 * queue op_reap once more at its next last close. */
void volume_orphan(struct volume *v, uint64_t handle);
/* volume_adopt [role]: handle is no orphan any more: it has got a name (link of an O_TMPFILE), or
 * is removed with this operation. */
void volume_adopt(struct volume *v, uint64_t handle);
/* volume_trash [role]: a data file is to be removed once this operation is durable
 * (trash_put has been called). */
void volume_trash(struct volume *v, uint64_t handle, uint32_t gen);

/* volume_trim [role]: a data file has become shorter: once this operation is durable what lies
 * beyond size is cut off (op_trim). */
void volume_trim(struct volume *v, uint64_t handle, uint64_t size);

/* inode_remove [role] (ops_unlink.c): deletes inode, blocks, attributes; data file into the trash;
 * counters.  For unlink of what nobody has open, and for orphans at their last close. */
int inode_remove(struct request *req, const struct inode *inode);
/* inode_lose_name [role] (ops_unlink.c): what follows when a name of inode has been taken away:
 * nlink down (a directory: gone); at the last one doom-and-remove or orphan; stores the inode.
 * The caller has set its ctime, of the operation's one moment.  Used by unlink, rmdir and a
 * rename that replaces. */
int inode_lose_name(struct request *req, struct inode *inode);
/* inode_truncate_nothing [role] (ops_file.c): size 0: blocks away, or the data file into the
 * trash and the generation up; changes *inode, which the caller puts; counters; drops setuid and
 * capabilities if kill_priv. */
int inode_truncate_nothing(struct request *req, struct inode *inode, bool kill_priv);

/* volume_bytes_pending: bytes of some file of this volume have been changed in a batch that is not
 * durable yet. */
bool volume_bytes_pending(const struct volume *v);
/* volume_note_writer: this session changed handle's bytes now; volume_keep_cache: whether a
 * client that opens the inode may keep what it has cached of it (nobody else changed its bytes
 * within the cache time). */
void volume_note_writer(struct volume *v, struct session *s, uint64_t handle);
bool volume_keep_cache(struct volume *v, struct session *s, const struct inode *inode);
/* volume_others_wrote: somebody else may have changed handle's bytes within the cache time. */
bool volume_others_wrote(struct volume *v, struct session *s, uint64_t handle);

/* --- for the table of volumes (volumes.c), sessions and the scheduler ------------------ */

struct server;

/* volume_new: the running half of a record; its counters, orphans, clients and locks are read at
 * the first hello, so a volume nobody uses costs its record and this struct.  volume_free: only
 * when no session is left (volume_sessions == 0).  Both: admin thread or start-up. */
int volume_new(struct server *server, const struct volume_record *record, struct volume **out);
void volume_free(struct volume *v);
/* volume_update: new name, quota, durability, read-only, cache mode; from the next request on.
 * Waits for a commit if the volume becomes an `op` one: admin thread. */
int volume_update(struct volume *v, const struct volume_record *record);
void volume_record(struct volume *v, struct volume_record *out);
/* volume_retire: refuses further hellos (-KILN_ENOVOLUME); force: also ends the sessions there
 * are (their clients get ESTALE/EIO).  -KILN_EVOLBUSY if sessions remain and not force. */
int volume_retire(struct volume *v, bool force);

/* volume_abandon: at the server's end, when no thread runs any more: who waits for a lock is left
 * without an answer.  For volumes_each. */
void volume_abandon(void *context, struct volume *v);

/* volume_quiet: a retired volume has no session and no request left, so nothing will be put into
 * its brick any more.  Any thread. */
bool volume_quiet(struct volume *v);

struct volume_info {
	uint64_t inodes, blocks;      /* used */
	uint64_t reads, changes;      /* operations answered since start */
	unsigned sessions, opens, orphans;
};
int volume_info(struct volume *v, struct volume_info *out); /* loads the volume if need be */
/* volume_each_session: for `kiln status`. */
struct session_info {
	uint64_t client;
	char host[64];
	unsigned kind;      /* HELLO_xxx */
	bool connected;
	uint64_t away_ns;   /* since it was last connected */
	unsigned opens;
};
void volume_each_session(struct volume *v, void (*fn)(void *context, const struct session_info *),
			 void *context);

#endif

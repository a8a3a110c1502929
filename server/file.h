/* The bytes of one regular file, for ops_attr.c, ops_file.c and ops_space.c.
 *
 * Two ways to lie.  In *blocks*: BLOCK_BYTES each in the database, only the first
 * SMALL_FILE_MAX bytes; which ones are there is in the inode's flags (a bit each from
 * INODE_BLOCKS_SHIFT), so holes cost no read.  Such a file may be larger than SMALL_FILE_MAX; what
 * is beyond is a hole.  In a *data file* (INODE_DATA): all bytes; a byte beyond SMALL_FILE_MAX
 * moves a file there for good, that is until it is truncated to nothing.
 *
 * What is beyond the size:  of blocks nothing is stored there.  In a data file there may be
 * anything (a write that failed or was cut short by a crash leaves its bytes; a truncation those it
 * took away, until it is durable), therefore whoever makes a file longer without writing all of
 * what is new calls file_clear first.
 *
 * Crash order.  The data file's bytes are written before the inode that speaks of them, never
 * into a file that an older inode could mean: a file that moves gets a new generation.  When it
 * moves, what was in blocks may have been promised to be durable; then the copy is synced before
 * the inode switches.  Not if no round of the committer has begun since the first of these blocks
 * was put (inode.born): then nothing has been promised, and who waits for it names the data file
 * to be, should there be one when its round begins (file_want_durable). */
#ifndef SERVER_FILE_H
#define SERVER_FILE_H

#include "server/request.h"

enum { BLOCKS_MAX = SMALL_FILE_MAX / BLOCK_BYTES };
#define FILE_SIZE_MAX ((uint64_t)INT64_MAX)

static inline bool file_has_block(const struct inode *inode, uint64_t index)
{
	return index < BLOCKS_MAX && inode->flags >> (INODE_BLOCKS_SHIFT + index) & 1;
}

/* file_check: 0 for a regular file, -KILN_EISDIR, -KILN_EINVAL. */
int file_check(const struct inode *inode);
/* file_end: *end = offset + len, or -KILN_EFBIG. */
int file_end(uint64_t offset, uint64_t len, uint64_t *end);
struct data *file_data(const struct request *req);
struct data_id file_id(const struct request *req, const struct inode *inode);
/* file_open_flags: FOPEN_xxx for an open with these O_xxx.  With O_APPEND the server decides where
 * a write goes, so a write must come whole: a kernel that goes through its page cache cuts it at
 * pages that it does not have.  Therefore such a descriptor bypasses the cache.  (O_APPEND set
 * later with fcntl appends too, but another client may come in between the pieces.)  So do all
 * on a volume that wants no caching: to ask for the attributes before every read, as the kernel
 * does with a validity of 0, is not enough when two clients write to one page at a time. */
uint32_t file_open_flags(const struct volume *v, uint32_t flags, bool keep_cache);
/* file_want_durable: the request is answered when the inode and its bytes are durable. */
void file_want_durable(struct request *req, const struct inode *inode);
/* file_kill_priv: takes security.capability away, with suidgid also the setuid bit, and the
 * setgid bit if the group may execute.  For groups. */
int file_kill_priv(struct txn *t, struct inode *inode, bool suidgid);

/* --- reading ---------------------------------------------------------------------------- */

/* file_read: len bytes at offset, all below the inode's size, into buf, which has room for them
 * and, for a file in blocks, for whole blocks: buf must have room for len rounded up to
 * BLOCK_BYTES.  Through req->txn; -KILN_EWOULDBLOCK as everywhere. */
int file_read(struct request *req, const struct inode *inode, void *buf, size_t len,
	      uint64_t offset);
/* file_read_stable: whether what was read since `seq` (commit_latest before *inode was read) can
 * be believed: nobody has cut or moved the file's bytes meanwhile.  *stable. */
int file_read_stable(struct request *req, const struct inode *inode, uint64_t seq, bool *stable);

/* --- OP_DATA, first half: prepare ----------------------------------------------------------- */

/* file_prepare: begins: req->prep.inode read and checked.  First call of every prepare. */
int file_prepare(struct request *req);
/* file_move: from blocks into a data file.  -KILN_EWOULDBLOCK unless waiting is allowed. */
int file_move(struct request *req);
/* file_clear: [from, to), all of it beyond the size, reads as zeros in the data file. */
int file_clear(struct request *req, uint64_t from, uint64_t to);
/* file_prep_id: the data file that req->prep is about. */
struct data_id file_prep_id(const struct request *req);
/* file_prepared: what every prepare returns through: err, cleaned up after; 0: measures. */
int file_prepared(struct request *req, int err);

/* --- OP_DATA, second half: the handler [role] -------------------------------------------------- */

/* file_begin: the inode; -KILN_EAGAIN if what prepare saw of it is no longer so. */
int file_begin(struct request *req, struct inode *inode);
/* In blocks; all below SMALL_FILE_MAX; they update inode->flags; size is not touched.
 * file_put_bytes: bytes.  file_put_zeros: [from, to) reads as zeros; keep: the blocks are there
 * afterwards (space is taken), else those wholly inside are gone. */
int file_put_bytes(struct request *req, struct inode *inode, const void *buf, size_t len,
		   uint64_t offset);
int file_put_zeros(struct request *req, struct inode *inode, uint64_t from, uint64_t to,
		   bool keep);
/* file_reserve: the blocks of [from, to) are there afterwards, their bytes as before. */
int file_reserve(struct request *req, struct inode *inode, uint64_t from, uint64_t to);
/* file_cut: takes away what blocks hold beyond size. */
int file_cut(struct request *req, struct inode *inode, uint64_t size);
/* file_end_change: the new size and blocks, mtime and ctime, counters, quota; puts the inode. */
int file_end_change(struct request *req, struct inode *inode, uint64_t size);
/* file_recount: the blocks alone; puts the inode. */
int file_recount(struct request *req, struct inode *inode);
/* file_done: what the handler of every OP_DATA returns through: err, cleaned up after. */
int file_done(struct request *req, int err);

#endif

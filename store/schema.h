/* What is stored, and how: keys and values as bytes.  docs/format.md has the tables.
 * Integers in keys are big-endian (they sort), in values little-endian.  A value that does not
 * decode is -KILN_ECORRUPT.  Every function takes the transaction it reads or writes through
 * and returns its errors too (-KILN_EWOULDBLOCK above all).
 *
 * Calls that write are for groups only. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include "store/txn.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

enum {
	ROOT_HANDLE = 1,
	NAME_BYTES_MAX = 255,
	LINK_BYTES_MAX = 4095,
	XATTR_NAME_MAX = 255,
	XATTR_VALUE_MAX = 65536,
	BLOCK_BYTES = 8192,        /* a small file's bytes lie in blocks of this size */
	SMALL_FILE_MAX = 65536,    /* larger files have a data file */
};

/* Inode flags. */
enum {
	INODE_DATA = 1,    /* bytes are in a data file (data_id: handle, gen), not in blocks */
	INODE_XATTR = 2,   /* may have extended attributes other than the two ACLs */
	INODE_ACL = 4,     /* has system.posix_acl_access */
	INODE_DEFACL = 8,  /* has system.posix_acl_default */
	INODE_CAPS = 16,   /* has security.capability */
	INODE_ORPHAN = 32, /* no name left; still open somewhere (orphan record exists) */
	INODE_LINKABLE = 64, /* an orphan that never had a name and may get one (O_TMPFILE) */
};

/* Which blocks of a small file are stored is in its flags too: block i, bit INODE_BLOCKS_SHIFT + i. */
enum { INODE_BLOCKS_SHIFT = 24 };
#define INODE_BLOCKS_MASK (((1u << (SMALL_FILE_MAX / BLOCK_BYTES)) - 1) << INODE_BLOCKS_SHIFT)

struct inode {
	uint64_t handle;
	uint32_t mode, uid, gid, nlink, rdev;
	uint32_t flags;
	uint32_t gen;          /* generation of the data file; rises at truncation to nothing */
	uint64_t size, blocks; /* blocks: 512-byte units */
	struct timespec atime, mtime, ctime, btime; /* signed 64 bit seconds */
	uint64_t entries;      /* directory: names in it without . and .. */
	uint64_t parent;       /* directory: the one it is in; root: itself */
	uint64_t born;         /* commit_epoch when its first bytes came; see server/ops_file.c */
};

/* inode_get: -KILN_ESTALE if there is none. */
int inode_get(struct txn *t, uint64_t handle, struct inode *out);
/* inode_get_latest: whatever the reader's view. */
int inode_get_latest(struct txn *t, uint64_t handle, struct inode *out);
int inode_put(struct txn *t, const struct inode *inode);
int inode_del(struct txn *t, uint64_t handle);
/* inode_get_many: errs[i] per inode; for readdirplus.  Readers only. */
int inode_get_many(struct txn *t, const uint64_t *handles, size_t count, struct inode *out,
		   int *errs);

/* Symbolic links: the target is stored behind the inode, in one value. */
int symlink_put(struct txn *t, const struct inode *inode, const char *target, size_t len);
/* symlink_get: copies at most cap bytes, no NUL; -KILN_EINVAL if it is not a link. */
int symlink_get(struct txn *t, uint64_t handle, char *buf, size_t cap, size_t *len);

/* Directory entries.  type is the S_IFMT part of the mode shifted down 12 (DT_xxx). */
int dirent_get(struct txn *t, uint64_t dir, const char *name, size_t len, uint64_t *child,
	       uint8_t *type); /* -KILN_ENOENT */
int dirent_put(struct txn *t, uint64_t dir, const char *name, size_t len, uint64_t child,
	       uint8_t type);
int dirent_del(struct txn *t, uint64_t dir, const char *name, size_t len);
/* dirent_cookie: the readdir position behind a name: its hash, 63 bit, at least 16 (smaller
 * ones are for . and ..).  Stable whatever else happens in the directory. */
uint64_t dirent_cookie(const char *name, size_t len);
struct dirent_row {
	uint64_t cookie, child;
	const char *name; /* valid until the next call on the scan; no NUL */
	size_t len;
	uint8_t type;
};
/* dirent_scan_*: entries with a cookie above `after`, in cookie order.  next: 1, 0 at the end. */
struct dirent_scan;
int dirent_scan_open(struct txn *t, uint64_t dir, uint64_t after, struct dirent_scan **out);
int dirent_scan_next(struct dirent_scan *s, struct dirent_row *row);
void dirent_scan_close(struct dirent_scan *s);

/* Extended attributes, any namespace; ACLs lie here too under their system. names. */
int xattr_get(struct txn *t, uint64_t handle, const char *name, void *buf, size_t cap,
	      size_t *len); /* -KILN_ENODATA; -KILN_ERANGE with *len set if cap is too small */
int xattr_put(struct txn *t, uint64_t handle, const char *name, const void *value, size_t len);
int xattr_del(struct txn *t, uint64_t handle, const char *name); /* -KILN_ENODATA */
int xattr_del_all(struct txn *t, uint64_t handle);
/* xattr_list: names, each NUL-terminated, one behind the other; -KILN_ERANGE with *len set. */
int xattr_list(struct txn *t, uint64_t handle, char *buf, size_t cap, size_t *len);

/* Blocks of a small file.  A stored block may be shorter than BLOCK_BYTES; the rest, and a
 * block that is not there, reads as zeros.  block_get: *len bytes; -KILN_ENOENT for a hole. */
int block_get(struct txn *t, uint64_t handle, uint32_t index, void *buf, size_t *len);
int block_put(struct txn *t, uint64_t handle, uint32_t index, const void *buf, size_t len);
int block_del(struct txn *t, uint64_t handle, uint32_t index);

/* Orphans: inodes without a name that are still open somewhere. */
int orphan_put(struct txn *t, uint64_t handle);
int orphan_del(struct txn *t, uint64_t handle);
int orphan_each(struct txn *t, int (*fn)(void *context, uint64_t handle), void *context);

/* Trash: data files whose inode is gone or has another generation; removed once the batch that
 * put the record is durable (store_reap in server/volume.c), and again after a restart. */
int trash_put(struct txn *t, uint64_t handle, uint32_t gen);
int trash_del(struct txn *t, uint64_t handle, uint32_t gen);
int trash_each(struct txn *t, int (*fn)(void *context, uint64_t handle, uint32_t gen),
	       void *context);

/* A volume's counters, in the brick that holds its name space. */
struct counters {
	uint64_t inodes, blocks; /* used; blocks in 512 bytes */
	uint64_t next_handle;    /* handles below may have been given out; raised in ranges */
};
int counters_get(struct txn *t, struct counters *out); /* -KILN_ENOENT: a new brick */
int counters_put(struct txn *t, const struct counters *c);

/* Reply records: what a client's change was answered, by slot; overwritten by the next change
 * in that slot. */
struct reply_record {
	uint64_t unique;  /* the request's, without the resend bit */
	uint32_t opcode;
	int32_t error;    /* negative errno, or 0 */
	uint64_t handle;  /* inode the reply describes, or 0 */
	uint64_t value;   /* e.g. bytes written */
};
int reply_put(struct txn *t, uint64_t client, uint32_t slot, const struct reply_record *r);
int reply_each(struct txn *t, uint64_t client,
	       int (*fn)(void *context, uint32_t slot, const struct reply_record *r),
	       void *context);
int reply_del_all(struct txn *t, uint64_t client);

/* Clients that have the volume mounted, so that they can go on after a restart. */
struct client_record {
	uint64_t client, secret;
	uint32_t kind;                /* HELLO_xxx, base/hello.h */
	uint32_t minor;               /* negotiated FUSE minor version */
	uint64_t init_flags;          /* negotiated FUSE_xxx flags, both words */
	uint32_t max_write, max_readahead;
	char host[64];                /* what `kiln status` shows; NUL-terminated */
};
int client_put(struct txn *t, const struct client_record *r);
int client_del(struct txn *t, uint64_t client);
int client_each(struct txn *t, int (*fn)(void *context, const struct client_record *r),
		void *context);

/* File locks held, all of one client on one inode in one record. */
struct lock_record {
	uint64_t owner, start, end; /* end inclusive, UINT64_MAX: to the end of the file */
	uint32_t pid;
	uint16_t type;  /* F_RDLCK, F_WRLCK */
	uint16_t flock; /* 1: flock(2), 0: fcntl(2) */
};
int locks_put(struct txn *t, uint64_t handle, uint64_t client, const struct lock_record *locks,
	      size_t count); /* count 0 deletes the record */
int locks_each(struct txn *t,
	       int (*fn)(void *context, uint64_t handle, uint64_t client,
			 const struct lock_record *locks, size_t count),
	       void *context);

/* The table of volumes, in brick 0. */
enum { VOLUME_NAME_MAX = 64 };
struct volume_record {
	char name[VOLUME_NAME_MAX + 1];
	uint32_t brick;          /* from 1, never reused */
	uint8_t uuid[16];
	uint8_t durability;      /* DURABILITY_xxx */
	uint8_t read_only, deleting;
	uint8_t cache;           /* CACHE_xxx */
	uint64_t quota_bytes, quota_inodes; /* 0: none */
	int64_t created;         /* seconds */
};
enum { DURABILITY_FSYNC, DURABILITY_OP };
enum { CACHE_TTL, CACHE_NONE };
int volume_record_put(struct txn *t, const struct volume_record *r);
int volume_record_del(struct txn *t, uint32_t brick);
int volume_record_each(struct txn *t, int (*fn)(void *context, const struct volume_record *r),
		       void *context);
/* brick_wipe_step: deletes up to `limit` keys of a brick; *more says whether any are left.  *place
 * is zeroed before the first step and says where the next goes on: a step that began anew would
 * walk over the remains of every key deleted before it. */
struct wipe_place {
	uint16_t kind, key_len;
	unsigned char key[300];
};
int brick_wipe_step(struct txn *t, uint32_t brick, size_t limit, struct wipe_place *place,
		    bool *more);

#endif

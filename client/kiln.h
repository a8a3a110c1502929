/* libkilnclient: a kiln volume without a kernel.
 *
 * A handle is one session with one volume: the same messages that a mount would send
 * (<linux/fuse.h>; docs/protocol.md), over the server's socket.  Nodes are FUSE node ids, 1 is the
 * root.  Paths are the caller's business: walk them with kiln_lookup.
 *
 *   struct kiln *k;
 *   char why[256];
 *   struct fuse_entry_out e;
 *
 *   if (kiln_connect(&k, "unix:/run/kiln/kiln.sock/home", NULL, why, sizeof why))
 *           errx(1, "%s", why);
 *   if (kiln_mkdir(k, KILN_ROOT, "new", 0755, &e) == 0)
 *           ...
 *   kiln_close(k);
 *
 * Results.  Calls return 0 or a byte count, or a negated errno.  -EIO also stands for "the server
 * stayed away longer than soft_seconds" and for "the server no longer knows this client".
 *
 * Server restarts.  A call that meets a broken connection reconnects, sends everything unanswered
 * again, and goes on; the server's reply records see to it that each takes effect once.
 *
 * Threads.  A handle is used by one thread at a time; it has no lock.  Threads that want to work
 * in parallel take a handle each.
 *
 * Cost.  A synchronous call is one send and one receive and allocates nothing. */
#ifndef CLIENT_KILN_H
#define CLIENT_KILN_H

#include <linux/fuse.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct kiln;

enum { KILN_ROOT = 1, KILN_SLOTS_MAX = 1024, KILN_SLOTS = 64 };

struct kiln_options {
	uint32_t uid, gid, pid;  /* who acts, until kiln_act_as */
	unsigned slots;          /* most calls in flight; 0: KILN_SLOTS */
	unsigned soft_seconds;   /* give up after so long without a server; 0: never */
};

/* kiln_connect: target is VOLUME, unix:PATH/VOLUME, tcp:HOST:PORT/VOLUME ... (base/address.h).
 * options NULL: this process's uid, gid and pid, KILN_SLOTS, wait for ever.  Fails at once, with
 * one sentence in why, if the server is not there or refuses: -ECONNRESET, -ENOENT (no such
 * volume), -EACCES, -EPROTO (version), -EINVAL (target). */
int kiln_connect(struct kiln **out, const char *target, const struct kiln_options *options,
		 char *why, size_t cap);
/* kiln_close: drops the connection; what is in flight is neither waited for nor undone.  The
 * server keeps the session (opens, locks) until its timeout unless it was told to destroy it,
 * which this does.  NULL is allowed. */
void kiln_close(struct kiln *k);
void kiln_act_as(struct kiln *k, uint32_t uid, uint32_t gid, uint32_t pid);
size_t kiln_max_io(const struct kiln *k); /* most bytes of one read or write */
bool kiln_read_only(const struct kiln *k);
const struct fuse_init_out *kiln_init(const struct kiln *k); /* what INIT agreed on */

/* ---- synchronous calls --------------------------------------------------------------------
 * Names are NUL-terminated.  Out pointers may not be NULL.  Modes are taken as they are (there is
 * no umask).  Each node that a call returns in a fuse_entry_out counts one reference, to be given
 * back with kiln_forget. */
int kiln_lookup(struct kiln *k, uint64_t parent, const char *name, struct fuse_entry_out *out);
int kiln_getattr(struct kiln *k, uint64_t node, struct fuse_attr_out *out);
int kiln_setattr(struct kiln *k, uint64_t node, const struct fuse_setattr_in *in,
		 struct fuse_attr_out *out);
struct kiln_created {
	struct fuse_entry_out entry;
	struct fuse_open_out open;
};
int kiln_create(struct kiln *k, uint64_t parent, const char *name, uint32_t mode, int flags,
		struct kiln_created *out);
int kiln_tmpfile(struct kiln *k, uint64_t parent, uint32_t mode, int flags,
		 struct kiln_created *out);
int kiln_mkdir(struct kiln *k, uint64_t parent, const char *name, uint32_t mode,
	       struct fuse_entry_out *out);
int kiln_mknod(struct kiln *k, uint64_t parent, const char *name, uint32_t mode, uint32_t rdev,
	       struct fuse_entry_out *out);
int kiln_symlink(struct kiln *k, uint64_t parent, const char *name, const char *text,
		 struct fuse_entry_out *out);
/* kiln_readlink: the target's length; not NUL-terminated; cut at cap. */
ssize_t kiln_readlink(struct kiln *k, uint64_t node, char *out, size_t cap);
int kiln_link(struct kiln *k, uint64_t node, uint64_t parent, const char *name,
	      struct fuse_entry_out *out);
int kiln_unlink(struct kiln *k, uint64_t parent, const char *name);
int kiln_rmdir(struct kiln *k, uint64_t parent, const char *name);
int kiln_rename2(struct kiln *k, uint64_t from, const char *name, uint64_t to,
		 const char *new_name, unsigned flags);
int kiln_open(struct kiln *k, uint64_t node, int flags, struct fuse_open_out *out);
/* kiln_read, kiln_write: at most kiln_max_io bytes of it in one call; the count done. */
ssize_t kiln_read(struct kiln *k, uint64_t node, uint64_t fh, void *out, size_t n, uint64_t off);
ssize_t kiln_write(struct kiln *k, uint64_t node, uint64_t fh, const void *data, size_t n,
		   uint64_t off, int flags);
int kiln_flush(struct kiln *k, uint64_t node, uint64_t fh, uint64_t owner);
int kiln_fsync(struct kiln *k, uint64_t node, uint64_t fh, bool data_only);
int kiln_release(struct kiln *k, uint64_t node, uint64_t fh, int flags, uint64_t owner,
		 bool flock_unlock);
int kiln_opendir(struct kiln *k, uint64_t node, struct fuse_open_out *out);
int kiln_fsyncdir(struct kiln *k, uint64_t node, uint64_t fh, bool data_only);
int kiln_releasedir(struct kiln *k, uint64_t node, uint64_t fh);
int kiln_syncfs(struct kiln *k);
int kiln_statfs(struct kiln *k, struct fuse_kstatfs *out);
int kiln_access(struct kiln *k, uint64_t node, uint32_t mask);

struct kiln_entry {
	const char *name;                   /* name_len bytes and a NUL; valid in the callback */
	size_t name_len;
	uint64_t ino, off;                  /* off: where a later call goes on after this entry */
	uint32_t type;                      /* DT_xxx */
	const struct fuse_entry_out *entry; /* readdirplus; NULL from readdir */
};
/* The callback may not call into the same handle.  Not 0: stop, and return that (give a positive
 * number, or a negated errno). */
typedef int kiln_entry_fn(void *context, const struct kiln_entry *entry);
/* kiln_readdir, kiln_readdirplus: one request; *off is where it starts (0: the beginning) and is
 * moved to where the next goes on.  The number of entries seen, 0 at the end. */
int kiln_readdir(struct kiln *k, uint64_t node, uint64_t fh, uint64_t *off, kiln_entry_fn *fn,
		 void *context);
int kiln_readdirplus(struct kiln *k, uint64_t node, uint64_t fh, uint64_t *off, kiln_entry_fn *fn,
		     void *context);

int kiln_setxattr(struct kiln *k, uint64_t node, const char *name, const void *value, size_t n,
		  int flags);
/* kiln_getxattr, kiln_listxattr: cap 0 asks for the size alone. */
ssize_t kiln_getxattr(struct kiln *k, uint64_t node, const char *name, void *out, size_t cap);
ssize_t kiln_listxattr(struct kiln *k, uint64_t node, char *out, size_t cap);
int kiln_removexattr(struct kiln *k, uint64_t node, const char *name);

int kiln_fallocate(struct kiln *k, uint64_t node, uint64_t fh, uint32_t mode, uint64_t off,
		   uint64_t n);
int kiln_lseek(struct kiln *k, uint64_t node, uint64_t fh, uint64_t off, int whence,
	       uint64_t *out);
ssize_t kiln_copy_file_range(struct kiln *k, uint64_t node_in, uint64_t fh_in, uint64_t off_in,
			     uint64_t node_out, uint64_t fh_out, uint64_t off_out, size_t n);

/* Locks.  lock->type F_RDLCK, F_WRLCK or F_UNLCK; start and end inclusive; owner is any number
 * that means one owner within this session.  flock: a BSD lock, else a POSIX one. */
int kiln_getlk(struct kiln *k, uint64_t node, uint64_t fh, uint64_t owner,
	       struct fuse_file_lock *lock);
int kiln_setlk(struct kiln *k, uint64_t node, uint64_t fh, uint64_t owner,
	       const struct fuse_file_lock *lock, bool flock, bool wait);

/* kiln_forget: gives back n references; sent along with the next call. */
void kiln_forget(struct kiln *k, uint64_t node, uint64_t n);

/* ---- many at once -------------------------------------------------------------------------
 * Fill a struct kiln_op (by hand, or with a kiln_prep_xxx), submit it, and collect.  Submitting
 * only queues; kiln_collect sends everything queued in one write and receives.  Answers may come
 * in any order.  The op itself may be reused at once; `data` and `reply` stay the library's until
 * the op has been collected. */
enum { KILN_ARG_MAX = 128 };
struct kiln_op {
	uint32_t opcode;
	uint64_t node;
	uint32_t arg_len;            /* the opcode's fixed struct */
	uint32_t text_len;           /* names, with their NULs; copied */
	const void *text;
	const void *data;            /* bytes behind; NOT copied */
	size_t data_len;
	const void *text2;           /* a second name (rename), with its NUL; copied */
	uint32_t text2_len;
	void *reply;                 /* where the reply's bytes after its header go */
	size_t reply_cap;
	size_t reply_min;            /* a shorter successful reply is refused as malformed */
	void *tag;                   /* comes back in the result */
	_Alignas(8) uint8_t arg[KILN_ARG_MAX];
};
struct kiln_result {
	void *tag;
	int error;                   /* 0, or a negated errno */
	uint32_t len;                /* bytes put into reply */
	uint64_t unique;             /* what kiln_submit said */
};
/* kiln_submit: 0, with the message's unique in *unique if that is not NULL; -EAGAIN if all slots
 * are taken (collect first), -E2BIG if it is too large. */
int kiln_submit(struct kiln *k, const struct kiln_op *op, uint64_t *unique);
/* kiln_collect: waits for at least `min` results (at most as many as are in flight), returns up
 * to `max` of them, all that have arrived.  The number; never an error: those are in the
 * results. */
unsigned kiln_collect(struct kiln *k, struct kiln_result *out, unsigned min, unsigned max);
unsigned kiln_in_flight(const struct kiln *k); /* submitted and not yet collected */
/* kiln_run: submit, and wait for this one: the reply's length or a negated errno.  Results of
 * others that arrive meanwhile wait for kiln_collect. */
ssize_t kiln_run(struct kiln *k, const struct kiln_op *op);
/* kiln_interrupt: asks the server to let go of the call of that unique. */
int kiln_interrupt(struct kiln *k, uint64_t unique);

void kiln_prep_lookup(struct kiln_op *op, uint64_t parent, const char *name,
		      struct fuse_entry_out *out);
void kiln_prep_getattr(struct kiln_op *op, uint64_t node, struct fuse_attr_out *out);
void kiln_prep_create(struct kiln_op *op, uint64_t parent, const char *name, uint32_t mode,
		      int flags, struct kiln_created *out);
void kiln_prep_mkdir(struct kiln_op *op, uint64_t parent, const char *name, uint32_t mode,
		     struct fuse_entry_out *out);
void kiln_prep_mknod(struct kiln_op *op, uint64_t parent, const char *name, uint32_t mode,
		     uint32_t rdev, struct fuse_entry_out *out);
void kiln_prep_unlink(struct kiln_op *op, uint64_t parent, const char *name);
void kiln_prep_rmdir(struct kiln_op *op, uint64_t parent, const char *name);
void kiln_prep_open(struct kiln_op *op, uint64_t node, int flags, struct fuse_open_out *out);
void kiln_prep_release(struct kiln_op *op, uint64_t node, uint64_t fh, int flags, uint64_t owner,
		       bool flock_unlock);
void kiln_prep_read(struct kiln_op *op, uint64_t node, uint64_t fh, void *out, size_t n,
		    uint64_t off);
/* out: any struct fuse_write_out. */
void kiln_prep_write(struct kiln_op *op, uint64_t node, uint64_t fh, const void *data, size_t n,
		     uint64_t off, int flags, struct fuse_write_out *out);
void kiln_prep_fsync(struct kiln_op *op, uint64_t node, uint64_t fh, bool data_only);
void kiln_prep_flush(struct kiln_op *op, uint64_t node, uint64_t fh, uint64_t owner);

/* kiln_scratch: the handle's own 8-aligned buffer for listings, *cap bytes; NULL without memory. */
void *kiln_scratch(struct kiln *k, size_t *cap);

/* ---- raw bytes, for tests ----------------------------------------------------------------- */
int kiln_fd(const struct kiln *k);
/* kiln_raw_send: these bytes as they are, at once.  kiln_raw_recv: one whole message, its length
 * (cut at cap), or -ECONNRESET.  A connection used so is not repaired. */
int kiln_raw_send(struct kiln *k, const void *bytes, size_t n);
ssize_t kiln_raw_recv(struct kiln *k, void *out, size_t cap);

#endif

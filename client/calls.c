/* Every operation as a message: kiln_prep_xxx fills an op, kiln_xxx runs it. */
#include "client/kiln.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static void op_begin(struct kiln_op *op, uint32_t opcode, uint64_t node)
{
	memset(op, 0, offsetof(struct kiln_op, arg));
	op->opcode = opcode;
	op->node = node;
}

#define op_arg(op, type) ((type *)op_arg_zero((op), sizeof(type)))

static void *op_arg_zero(struct kiln_op *op, size_t n)
{
	op->arg_len = (uint32_t)n;
	return memset(op->arg, 0, n);
}

static void op_name(struct kiln_op *op, const char *name)
{
	op->text = name;
	op->text_len = (uint32_t)strlen(name) + 1;
}

/* Exactly these n bytes are wanted. */
static void op_reply(struct kiln_op *op, void *reply, size_t n)
{
	op->reply = reply;
	op->reply_cap = op->reply_min = n;
}

static int run(struct kiln *k, const struct kiln_op *op)
{
	ssize_t n = kiln_run(k, op);

	return n < 0 ? (int)n : 0;
}

/* A name longer than any is refused here; the server would say the same. */
static int run_named(struct kiln *k, const struct kiln_op *op)
{
	return op->text_len > 256 || op->text2_len > 256 ? -ENAMETOOLONG : run(k, op);
}

/* ---- names ---- */

void kiln_prep_lookup(struct kiln_op *op, uint64_t parent, const char *name,
		      struct fuse_entry_out *out)
{
	op_begin(op, FUSE_LOOKUP, parent);
	op_name(op, name);
	op_reply(op, out, sizeof *out);
}

int kiln_lookup(struct kiln *k, uint64_t parent, const char *name, struct fuse_entry_out *out)
{
	struct kiln_op op;

	kiln_prep_lookup(&op, parent, name, out);
	return run_named(k, &op);
}

void kiln_prep_create(struct kiln_op *op, uint64_t parent, const char *name, uint32_t mode,
		      int flags, struct kiln_created *out)
{
	struct fuse_create_in *in;

	op_begin(op, FUSE_CREATE, parent);
	in = op_arg(op, struct fuse_create_in);
	in->flags = (uint32_t)flags | O_CREAT;
	in->mode = (mode & 07777) | 0100000;
	op_name(op, name);
	op_reply(op, out, sizeof *out);
}

int kiln_create(struct kiln *k, uint64_t parent, const char *name, uint32_t mode, int flags,
		struct kiln_created *out)
{
	struct kiln_op op;

	kiln_prep_create(&op, parent, name, mode, flags, out);
	return run_named(k, &op);
}

int kiln_tmpfile(struct kiln *k, uint64_t parent, uint32_t mode, int flags,
		 struct kiln_created *out)
{
	struct kiln_op op;
	struct fuse_create_in *in;

	op_begin(&op, FUSE_TMPFILE, parent);
	in = op_arg(&op, struct fuse_create_in);
	in->flags = (uint32_t)flags;
	in->mode = (mode & 07777) | 0100000;
	op_name(&op, "#tmpfile"); /* the kernel puts a name there too; it means nothing */
	op_reply(&op, out, sizeof *out);
	return run(k, &op);
}

void kiln_prep_mkdir(struct kiln_op *op, uint64_t parent, const char *name, uint32_t mode,
		     struct fuse_entry_out *out)
{
	op_begin(op, FUSE_MKDIR, parent);
	op_arg(op, struct fuse_mkdir_in)->mode = mode;
	op_name(op, name);
	op_reply(op, out, sizeof *out);
}

int kiln_mkdir(struct kiln *k, uint64_t parent, const char *name, uint32_t mode,
	       struct fuse_entry_out *out)
{
	struct kiln_op op;

	kiln_prep_mkdir(&op, parent, name, mode, out);
	return run_named(k, &op);
}

void kiln_prep_mknod(struct kiln_op *op, uint64_t parent, const char *name, uint32_t mode,
		     uint32_t rdev, struct fuse_entry_out *out)
{
	struct fuse_mknod_in *in;

	op_begin(op, FUSE_MKNOD, parent);
	in = op_arg(op, struct fuse_mknod_in);
	in->mode = mode;
	in->rdev = rdev;
	op_name(op, name);
	op_reply(op, out, sizeof *out);
}

int kiln_mknod(struct kiln *k, uint64_t parent, const char *name, uint32_t mode, uint32_t rdev,
	       struct fuse_entry_out *out)
{
	struct kiln_op op;

	kiln_prep_mknod(&op, parent, name, mode, rdev, out);
	return run_named(k, &op);
}

int kiln_symlink(struct kiln *k, uint64_t parent, const char *name, const char *text,
		 struct fuse_entry_out *out)
{
	struct kiln_op op;

	op_begin(&op, FUSE_SYMLINK, parent);
	op_name(&op, name);
	op.data = text;
	op.data_len = strlen(text) + 1;
	op_reply(&op, out, sizeof *out);
	return run_named(k, &op);
}

ssize_t kiln_readlink(struct kiln *k, uint64_t node, char *out, size_t cap)
{
	struct kiln_op op;
	char text[4096];
	ssize_t n;

	op_begin(&op, FUSE_READLINK, node);
	op.reply = text;
	op.reply_cap = sizeof text;
	n = kiln_run(k, &op);
	if (n > (ssize_t)cap)
		n = (ssize_t)cap;
	if (n > 0)
		memcpy(out, text, (size_t)n);
	return n;
}

int kiln_link(struct kiln *k, uint64_t node, uint64_t parent, const char *name,
	      struct fuse_entry_out *out)
{
	struct kiln_op op;

	op_begin(&op, FUSE_LINK, parent);
	op_arg(&op, struct fuse_link_in)->oldnodeid = node;
	op_name(&op, name);
	op_reply(&op, out, sizeof *out);
	return run_named(k, &op);
}

void kiln_prep_unlink(struct kiln_op *op, uint64_t parent, const char *name)
{
	op_begin(op, FUSE_UNLINK, parent);
	op_name(op, name);
}

int kiln_unlink(struct kiln *k, uint64_t parent, const char *name)
{
	struct kiln_op op;

	kiln_prep_unlink(&op, parent, name);
	return run_named(k, &op);
}

void kiln_prep_rmdir(struct kiln_op *op, uint64_t parent, const char *name)
{
	op_begin(op, FUSE_RMDIR, parent);
	op_name(op, name);
}

int kiln_rmdir(struct kiln *k, uint64_t parent, const char *name)
{
	struct kiln_op op;

	kiln_prep_rmdir(&op, parent, name);
	return run_named(k, &op);
}

int kiln_rename2(struct kiln *k, uint64_t from, const char *name, uint64_t to,
		 const char *new_name, unsigned flags)
{
	struct kiln_op op;
	struct fuse_rename2_in *in;

	op_begin(&op, FUSE_RENAME2, from);
	in = op_arg(&op, struct fuse_rename2_in);
	in->newdir = to;
	in->flags = flags;
	op_name(&op, name);
	op.text2 = new_name;
	op.text2_len = (uint32_t)strlen(new_name) + 1;
	return run_named(k, &op);
}

/* ---- attributes ---- */

void kiln_prep_getattr(struct kiln_op *op, uint64_t node, struct fuse_attr_out *out)
{
	op_begin(op, FUSE_GETATTR, node);
	(void)op_arg(op, struct fuse_getattr_in);
	op_reply(op, out, sizeof *out);
}

int kiln_getattr(struct kiln *k, uint64_t node, struct fuse_attr_out *out)
{
	struct kiln_op op;

	kiln_prep_getattr(&op, node, out);
	return run(k, &op);
}

int kiln_setattr(struct kiln *k, uint64_t node, const struct fuse_setattr_in *in,
		 struct fuse_attr_out *out)
{
	struct kiln_op op;

	op_begin(&op, FUSE_SETATTR, node);
	*op_arg(&op, struct fuse_setattr_in) = *in;
	op_reply(&op, out, sizeof *out);
	return run(k, &op);
}

int kiln_statfs(struct kiln *k, struct fuse_kstatfs *out)
{
	struct kiln_op op;

	op_begin(&op, FUSE_STATFS, KILN_ROOT);
	op_reply(&op, out, sizeof *out);
	return run(k, &op);
}

int kiln_access(struct kiln *k, uint64_t node, uint32_t mask)
{
	struct kiln_op op;

	op_begin(&op, FUSE_ACCESS, node);
	op_arg(&op, struct fuse_access_in)->mask = mask;
	return run(k, &op);
}

int kiln_setxattr(struct kiln *k, uint64_t node, const char *name, const void *value, size_t n,
		  int flags)
{
	struct kiln_op op;
	struct fuse_setxattr_in *in;

	op_begin(&op, FUSE_SETXATTR, node);
	in = op_arg(&op, struct fuse_setxattr_in);
	in->size = (uint32_t)n;
	in->flags = (uint32_t)flags;
	if (!(kiln_init(k)->flags & FUSE_SETXATTR_EXT))
		op.arg_len = FUSE_COMPAT_SETXATTR_IN_SIZE;
	op_name(&op, name);
	op.data = value;
	op.data_len = n;
	return run_named(k, &op);
}

/* getxattr and listxattr: with cap 0 the answer is a number, else the bytes. */
static ssize_t run_sized(struct kiln *k, struct kiln_op *op, void *out, size_t cap)
{
	struct fuse_getxattr_out size;
	int err;

	op_arg(op, struct fuse_getxattr_in)->size = (uint32_t)cap;
	if (cap == 0) {
		op_reply(op, &size, sizeof size);
		err = run_named(k, op);
		return err ? err : (ssize_t)size.size;
	}
	op->reply = out;
	op->reply_cap = cap;
	return op->text_len > 256 ? -ENAMETOOLONG : kiln_run(k, op);
}

ssize_t kiln_getxattr(struct kiln *k, uint64_t node, const char *name, void *out, size_t cap)
{
	struct kiln_op op;

	op_begin(&op, FUSE_GETXATTR, node);
	op_name(&op, name);
	return run_sized(k, &op, out, cap);
}

ssize_t kiln_listxattr(struct kiln *k, uint64_t node, char *out, size_t cap)
{
	struct kiln_op op;

	op_begin(&op, FUSE_LISTXATTR, node);
	return run_sized(k, &op, out, cap);
}

int kiln_removexattr(struct kiln *k, uint64_t node, const char *name)
{
	struct kiln_op op;

	op_begin(&op, FUSE_REMOVEXATTR, node);
	op_name(&op, name);
	return run_named(k, &op);
}

/* ---- files ---- */

static void prep_open(struct kiln_op *op, uint32_t opcode, uint64_t node, int flags,
		      struct fuse_open_out *out)
{
	op_begin(op, opcode, node);
	op_arg(op, struct fuse_open_in)->flags = (uint32_t)flags;
	op_reply(op, out, sizeof *out);
}

void kiln_prep_open(struct kiln_op *op, uint64_t node, int flags, struct fuse_open_out *out)
{
	prep_open(op, FUSE_OPEN, node, flags, out);
}

int kiln_open(struct kiln *k, uint64_t node, int flags, struct fuse_open_out *out)
{
	struct kiln_op op;

	kiln_prep_open(&op, node, flags, out);
	return run(k, &op);
}

int kiln_opendir(struct kiln *k, uint64_t node, struct fuse_open_out *out)
{
	struct kiln_op op;

	prep_open(&op, FUSE_OPENDIR, node, O_DIRECTORY, out);
	return run(k, &op);
}

static void prep_read(struct kiln_op *op, uint32_t opcode, uint64_t node, uint64_t fh, void *out,
		      size_t n, uint64_t off)
{
	struct fuse_read_in *in;

	op_begin(op, opcode, node);
	in = op_arg(op, struct fuse_read_in);
	in->fh = fh;
	in->offset = off;
	in->size = (uint32_t)n;
	op->reply = out;
	op->reply_cap = n;
}

void kiln_prep_read(struct kiln_op *op, uint64_t node, uint64_t fh, void *out, size_t n,
		    uint64_t off)
{
	prep_read(op, FUSE_READ, node, fh, out, n, off);
}

static size_t capped(const struct kiln *k, size_t n)
{
	return n < kiln_max_io(k) ? n : kiln_max_io(k);
}

ssize_t kiln_read(struct kiln *k, uint64_t node, uint64_t fh, void *out, size_t n, uint64_t off)
{
	struct kiln_op op;

	kiln_prep_read(&op, node, fh, out, capped(k, n), off);
	return kiln_run(k, &op);
}

void kiln_prep_write(struct kiln_op *op, uint64_t node, uint64_t fh, const void *data, size_t n,
		     uint64_t off, int flags, struct fuse_write_out *out)
{
	struct fuse_write_in *in;

	op_begin(op, FUSE_WRITE, node);
	in = op_arg(op, struct fuse_write_in);
	in->fh = fh;
	in->offset = off;
	in->size = (uint32_t)n;
	in->flags = (uint32_t)flags;
	op->data = data;
	op->data_len = n;
	op_reply(op, out, sizeof *out);
}

ssize_t kiln_write(struct kiln *k, uint64_t node, uint64_t fh, const void *data, size_t n,
		   uint64_t off, int flags)
{
	struct kiln_op op;
	struct fuse_write_out out;
	int err;

	n = capped(k, n);
	kiln_prep_write(&op, node, fh, data, n, off, flags, &out);
	err = run(k, &op);
	if (err)
		return err;
	return out.size <= n ? (ssize_t)out.size : -EIO;
}

void kiln_prep_flush(struct kiln_op *op, uint64_t node, uint64_t fh, uint64_t owner)
{
	struct fuse_flush_in *in;

	op_begin(op, FUSE_FLUSH, node);
	in = op_arg(op, struct fuse_flush_in);
	in->fh = fh;
	in->lock_owner = owner;
}

int kiln_flush(struct kiln *k, uint64_t node, uint64_t fh, uint64_t owner)
{
	struct kiln_op op;

	kiln_prep_flush(&op, node, fh, owner);
	return run(k, &op);
}

static void prep_fsync(struct kiln_op *op, uint32_t opcode, uint64_t node, uint64_t fh, bool data)
{
	struct fuse_fsync_in *in;

	op_begin(op, opcode, node);
	in = op_arg(op, struct fuse_fsync_in);
	in->fh = fh;
	in->fsync_flags = data ? FUSE_FSYNC_FDATASYNC : 0;
}

void kiln_prep_fsync(struct kiln_op *op, uint64_t node, uint64_t fh, bool data_only)
{
	prep_fsync(op, FUSE_FSYNC, node, fh, data_only);
}

int kiln_fsync(struct kiln *k, uint64_t node, uint64_t fh, bool data_only)
{
	struct kiln_op op;

	kiln_prep_fsync(&op, node, fh, data_only);
	return run(k, &op);
}

int kiln_fsyncdir(struct kiln *k, uint64_t node, uint64_t fh, bool data_only)
{
	struct kiln_op op;

	prep_fsync(&op, FUSE_FSYNCDIR, node, fh, data_only);
	return run(k, &op);
}

int kiln_syncfs(struct kiln *k)
{
	struct kiln_op op;

	op_begin(&op, FUSE_SYNCFS, KILN_ROOT);
	(void)op_arg(&op, struct fuse_syncfs_in);
	return run(k, &op);
}

static void prep_release(struct kiln_op *op, uint32_t opcode, uint64_t node, uint64_t fh,
			 int flags)
{
	struct fuse_release_in *in;

	op_begin(op, opcode, node);
	in = op_arg(op, struct fuse_release_in);
	in->fh = fh;
	in->flags = (uint32_t)flags;
}

void kiln_prep_release(struct kiln_op *op, uint64_t node, uint64_t fh, int flags, uint64_t owner,
		       bool flock_unlock)
{
	struct fuse_release_in *in = (void *)op->arg;

	prep_release(op, FUSE_RELEASE, node, fh, flags);
	in->lock_owner = owner;
	in->release_flags = flock_unlock ? FUSE_RELEASE_FLOCK_UNLOCK : 0;
}

int kiln_release(struct kiln *k, uint64_t node, uint64_t fh, int flags, uint64_t owner,
		 bool flock_unlock)
{
	struct kiln_op op;

	kiln_prep_release(&op, node, fh, flags, owner, flock_unlock);
	return run(k, &op);
}

int kiln_releasedir(struct kiln *k, uint64_t node, uint64_t fh)
{
	struct kiln_op op;

	prep_release(&op, FUSE_RELEASEDIR, node, fh, 0);
	return run(k, &op);
}

int kiln_fallocate(struct kiln *k, uint64_t node, uint64_t fh, uint32_t mode, uint64_t off,
		   uint64_t n)
{
	struct kiln_op op;
	struct fuse_fallocate_in *in;

	op_begin(&op, FUSE_FALLOCATE, node);
	in = op_arg(&op, struct fuse_fallocate_in);
	in->fh = fh;
	in->offset = off;
	in->length = n;
	in->mode = mode;
	return run(k, &op);
}

int kiln_lseek(struct kiln *k, uint64_t node, uint64_t fh, uint64_t off, int whence,
	       uint64_t *out)
{
	struct kiln_op op;
	struct fuse_lseek_in *in;
	struct fuse_lseek_out reply;
	int err;

	op_begin(&op, FUSE_LSEEK, node);
	in = op_arg(&op, struct fuse_lseek_in);
	in->fh = fh;
	in->offset = off;
	in->whence = (uint32_t)whence;
	op_reply(&op, &reply, sizeof reply);
	err = run(k, &op);
	if (err == 0)
		*out = reply.offset;
	return err;
}

ssize_t kiln_copy_file_range(struct kiln *k, uint64_t node_in, uint64_t fh_in, uint64_t off_in,
			     uint64_t node_out, uint64_t fh_out, uint64_t off_out, size_t n)
{
	struct kiln_op op;
	struct fuse_copy_file_range_in *in;
	struct fuse_write_out out;
	int err;

	op_begin(&op, FUSE_COPY_FILE_RANGE, node_in);
	in = op_arg(&op, struct fuse_copy_file_range_in);
	in->fh_in = fh_in;
	in->off_in = off_in;
	in->nodeid_out = node_out;
	in->fh_out = fh_out;
	in->off_out = off_out;
	in->len = n;
	op_reply(&op, &out, sizeof out);
	err = run(k, &op);
	return err ? err : (ssize_t)out.size;
}

/* ---- locks ---- */

static void prep_lock(struct kiln_op *op, uint32_t opcode, uint64_t node, uint64_t fh,
		      uint64_t owner, const struct fuse_file_lock *lock)
{
	struct fuse_lk_in *in;

	op_begin(op, opcode, node);
	in = op_arg(op, struct fuse_lk_in);
	in->fh = fh;
	in->owner = owner;
	in->lk = *lock;
}

int kiln_getlk(struct kiln *k, uint64_t node, uint64_t fh, uint64_t owner,
	       struct fuse_file_lock *lock)
{
	struct kiln_op op;
	struct fuse_lk_out out;
	int err;

	prep_lock(&op, FUSE_GETLK, node, fh, owner, lock);
	op_reply(&op, &out, sizeof out);
	err = run(k, &op);
	if (err == 0)
		*lock = out.lk;
	return err;
}

int kiln_setlk(struct kiln *k, uint64_t node, uint64_t fh, uint64_t owner,
	       const struct fuse_file_lock *lock, bool flock, bool wait)
{
	struct kiln_op op;
	struct fuse_lk_in *in = (void *)op.arg;

	prep_lock(&op, wait ? FUSE_SETLKW : FUSE_SETLK, node, fh, owner, lock);
	in->lk_flags = flock ? FUSE_LK_FLOCK : 0;
	return run(k, &op);
}

/* ---- directories ---- */

/* A record of a listing: fixed part, name, padding to 8.  0 at the end, its size, or -EPROTO. */
static ssize_t entry_take(const uint8_t *p, size_t left, bool plus, struct kiln_entry *e,
			  char name[256])
{
	size_t fixed = plus ? sizeof(struct fuse_entry_out) : 0;
	struct fuse_dirent d;

	if (left == 0)
		return 0;
	if (left < fixed + FUSE_NAME_OFFSET)
		return -EPROTO;
	memcpy(&d, p + fixed, FUSE_NAME_OFFSET);
	if (d.namelen == 0 || d.namelen > 255 || left < fixed + FUSE_NAME_OFFSET + d.namelen)
		return -EPROTO;
	memcpy(name, p + fixed + FUSE_NAME_OFFSET, d.namelen);
	name[d.namelen] = '\0';
	*e = (struct kiln_entry){ .name = name, .name_len = d.namelen, .ino = d.ino, .off = d.off,
				  .type = d.type };
	if (plus)
		e->entry = (const struct fuse_entry_out *)(const void *)p;
	fixed = FUSE_DIRENT_ALIGN(fixed + FUSE_NAME_OFFSET + d.namelen);
	return (ssize_t)(fixed < left ? fixed : left);
}

static int list(struct kiln *k, bool plus, uint64_t node, uint64_t fh, uint64_t *off,
		kiln_entry_fn *fn, void *context)
{
	struct kiln_op op;
	struct kiln_entry e;
	char name[256];
	size_t cap;
	uint8_t *p = kiln_scratch(k, &cap);
	ssize_t left, n;
	int count = 0, stop;

	if (!p)
		return -ENOMEM;
	prep_read(&op, plus ? FUSE_READDIRPLUS : FUSE_READDIR, node, fh, p, cap, *off);
	left = kiln_run(k, &op);
	if (left < 0)
		return (int)left;
	while ((n = entry_take(p, (size_t)left, plus, &e, name)) > 0) {
		stop = fn(context, &e);
		*off = e.off;
		if (stop)
			return stop;
		count++;
		p += n;
		left -= n;
	}
	return n < 0 ? (int)n : count;
}

int kiln_readdir(struct kiln *k, uint64_t node, uint64_t fh, uint64_t *off, kiln_entry_fn *fn,
		 void *context)
{
	return list(k, false, node, fh, off, fn, context);
}

int kiln_readdirplus(struct kiln *k, uint64_t node, uint64_t fh, uint64_t *off, kiln_entry_fn *fn,
		     void *context)
{
	return list(k, true, node, fh, off, fn, context);
}

#include "server/dispatch.h"

#include "server/ops.h"
#include "server/session.h"
#include "server/statx.h"

#include <fcntl.h>

enum {
	OPCODE_MAX = 64,
	INIT_IN_MIN = 16, /* before 7.36 */
};

static int op_unknown(struct request *req)
{
	(void)req;
	return -KILN_ENOSYS;
}

#define SIZE(type) sizeof(struct type), sizeof(struct type)
#define NOTHING 0, 0

static const struct op rows[OPCODE_MAX] = {
	/*                  name, class, fixed struct, names, tail, flags, prepare, handler */
	[FUSE_LOOKUP] = { "lookup", OP_READ, NOTHING, 1, TAIL_NONE, OP_NAME_DOTS, NULL, op_lookup },
	[FUSE_FORGET] = { "forget", OP_LOCAL, SIZE(fuse_forget_in), 0, TAIL_NONE,
			  OP_SILENT, NULL, op_forget },
	[FUSE_GETATTR] = { "getattr", OP_READ, SIZE(fuse_getattr_in), 0, TAIL_NONE, 0, NULL,
			   op_getattr },
	[FUSE_SETATTR] = { "setattr", OP_CHANGE, SIZE(fuse_setattr_in), 0, TAIL_NONE,
			   OP_RECORDED | OP_ALTERS, NULL, op_setattr },
	[FUSE_READLINK] = { "readlink", OP_READ, NOTHING, 0, TAIL_NONE, 0, NULL, op_readlink },
	[FUSE_SYMLINK] = { "symlink", OP_CHANGE, NOTHING, 2, TAIL_NONE,
			  OP_RECORDED | OP_ADDS, op_foresee_taken, op_symlink },
	[FUSE_MKNOD] = { "mknod", OP_CHANGE, SIZE(fuse_mknod_in), 1, TAIL_NONE,
			  OP_RECORDED | OP_ADDS, op_foresee_taken_mknod, op_mknod },
	[FUSE_MKDIR] = { "mkdir", OP_CHANGE, SIZE(fuse_mkdir_in), 1, TAIL_NONE,
			  OP_RECORDED | OP_ADDS, op_foresee_taken, op_mkdir },
	[FUSE_UNLINK] = { "unlink", OP_CHANGE, NOTHING, 1, TAIL_NONE, OP_RECORDED,
			  op_foresee_missing, op_unlink },
	[FUSE_RMDIR] = { "rmdir", OP_CHANGE, NOTHING, 1, TAIL_NONE, OP_RECORDED,
			  op_foresee_missing, op_rmdir },
	[FUSE_RENAME] = { "rename", OP_CHANGE, SIZE(fuse_rename_in), 2, TAIL_NONE,
			  OP_RECORDED | OP_ALTERS, NULL, op_rename },
	[FUSE_RENAME2] = { "rename2", OP_CHANGE, SIZE(fuse_rename2_in), 2, TAIL_NONE,
			   OP_RECORDED | OP_ALTERS, NULL, op_rename2 },
	[FUSE_LINK] = { "link", OP_CHANGE, SIZE(fuse_link_in), 1, TAIL_NONE,
			  OP_RECORDED | OP_ADDS, op_foresee_taken, op_link },
	[FUSE_OPEN] = { "open", OP_READ, SIZE(fuse_open_in), 0, TAIL_NONE, OP_COUNTED, NULL,
			op_open },
	[FUSE_READ] = { "read", OP_READ, SIZE(fuse_read_in), 0, TAIL_NONE, 0, NULL, op_read },
	[FUSE_WRITE] = { "write", OP_DATA, SIZE(fuse_write_in), 0, TAIL_WRITE,
			 OP_RECORDED | OP_ADDS, op_write_prepare, op_write },
	[FUSE_STATFS] = { "statfs", OP_READ, NOTHING, 0, TAIL_NONE, 0, NULL, op_statfs },
	[FUSE_RELEASE] = { "release", OP_LOCAL, SIZE(fuse_release_in), 0, TAIL_NONE, OP_COUNTED,
			   NULL, op_release },
	[FUSE_FSYNC] = { "fsync", OP_READ, SIZE(fuse_fsync_in), 0, TAIL_NONE, 0, NULL, op_fsync },
	[FUSE_SETXATTR] = { "setxattr", OP_CHANGE, SIZE(fuse_setxattr_in), 1, TAIL_XATTR,
			    OP_RECORDED | OP_ADDS | OP_NAME_XATTR, NULL, op_setxattr },
	[FUSE_GETXATTR] = { "getxattr", OP_READ, SIZE(fuse_getxattr_in), 1, TAIL_NONE,
			    OP_NAME_XATTR, NULL, op_getxattr },
	[FUSE_LISTXATTR] = { "listxattr", OP_READ, SIZE(fuse_getxattr_in), 0, TAIL_NONE, 0, NULL,
			     op_listxattr },
	[FUSE_REMOVEXATTR] = { "removexattr", OP_CHANGE, NOTHING, 1, TAIL_NONE,
			       OP_RECORDED | OP_NAME_XATTR, NULL, op_removexattr },
	[FUSE_FLUSH] = { "flush", OP_READ, SIZE(fuse_flush_in), 0, TAIL_NONE, 0, NULL, op_flush },
	[FUSE_INIT] = { "init", OP_LOCAL, INIT_IN_MIN, sizeof(struct fuse_init_in), 0, TAIL_ANY,
			OP_NO_INIT, NULL, op_init },
	[FUSE_OPENDIR] = { "opendir", OP_READ, SIZE(fuse_open_in), 0, TAIL_NONE, OP_COUNTED, NULL,
			   op_opendir },
	[FUSE_READDIR] = { "readdir", OP_READ, SIZE(fuse_read_in), 0, TAIL_NONE, 0, NULL,
			   op_readdir },
	[FUSE_READDIRPLUS] = { "readdirplus", OP_READ, SIZE(fuse_read_in), 0, TAIL_NONE, 0, NULL,
			       op_readdirplus },
	[FUSE_RELEASEDIR] = { "releasedir", OP_LOCAL, SIZE(fuse_release_in), 0, TAIL_NONE,
			      OP_COUNTED, NULL, op_releasedir },
	[FUSE_FSYNCDIR] = { "fsyncdir", OP_READ, SIZE(fuse_fsync_in), 0, TAIL_NONE, 0, NULL,
			    op_fsyncdir },
	[FUSE_GETLK] = { "getlk", OP_LOCAL, SIZE(fuse_lk_in), 0, TAIL_NONE, 0, NULL, op_getlk },
	[FUSE_SETLK] = { "setlk", OP_LOCAL, SIZE(fuse_lk_in), 0, TAIL_NONE, 0, NULL, op_setlk },
	[FUSE_SETLKW] = { "setlkw", OP_LOCAL, SIZE(fuse_lk_in), 0, TAIL_NONE, 0, NULL, op_setlk },
	[FUSE_CREATE] = { "create", OP_CHANGE, SIZE(fuse_create_in), 1, TAIL_NONE,
			  OP_RECORDED | OP_ADDS, op_foresee_taken_create, op_create },
	[FUSE_INTERRUPT] = { "interrupt", OP_LOCAL, SIZE(fuse_interrupt_in), 0, TAIL_NONE,
			     OP_SILENT, NULL, op_interrupt },
	[FUSE_DESTROY] = { "destroy", OP_LOCAL, NOTHING, 0, TAIL_NONE, OP_NO_INIT, NULL,
			   op_destroy },
	[FUSE_BATCH_FORGET] = { "batch_forget", OP_LOCAL, SIZE(fuse_batch_forget_in), 0,
				TAIL_FORGETS, OP_SILENT, NULL, op_forget },
	[FUSE_FALLOCATE] = { "fallocate", OP_DATA, SIZE(fuse_fallocate_in), 0, TAIL_NONE,
			     OP_RECORDED | OP_ADDS, op_fallocate_prepare, op_fallocate },
	[FUSE_LSEEK] = { "lseek", OP_READ, SIZE(fuse_lseek_in), 0, TAIL_NONE, 0, NULL, op_lseek },
	[FUSE_COPY_FILE_RANGE] = { "copy_file_range", OP_DATA, SIZE(fuse_copy_file_range_in), 0,
				   TAIL_NONE, OP_RECORDED | OP_ADDS, op_copy_prepare, op_copy },
	[FUSE_SYNCFS] = { "syncfs", OP_READ, SIZE(fuse_syncfs_in), 0, TAIL_NONE, 0, NULL,
			  op_syncfs },
	[WIRE_STATX] = { "statx", OP_READ, SIZE(wire_statx_in), 0, TAIL_NONE, 0, NULL, op_statx },
	[FUSE_TMPFILE] = { "tmpfile", OP_CHANGE, SIZE(fuse_create_in), 1, TAIL_NONE,
			   OP_RECORDED | OP_ADDS | OP_NAME_ANY, NULL, op_tmpfile },
};

static const struct op row_unknown = { "unknown", OP_LOCAL, NOTHING, 0, TAIL_ANY, 0, NULL,
				       op_unknown };
static const struct op row_open_trunc = { "open", OP_CHANGE, SIZE(fuse_open_in), 0, TAIL_NONE,
					  OP_RECORDED, NULL, op_open_trunc };
const struct op op_row_open = { "open", OP_CHANGE, SIZE(fuse_open_in), 0, TAIL_NONE, 0, NULL,
				op_open };
const struct op op_row_opendir = { "opendir", OP_CHANGE, SIZE(fuse_open_in), 0, TAIL_NONE, 0, NULL,
				   op_opendir };
static const struct op row_setattr_size = { "setattr", OP_DATA, SIZE(fuse_setattr_in), 0,
					    TAIL_NONE, OP_RECORDED | OP_ALTERS, op_setattr_prepare,
					    op_setattr };

#define INTERNAL(text, class, fn) { text, class, NOTHING, 0, TAIL_NONE, OP_ON_DEAD, NULL, fn }
const struct op op_row_reap = INTERNAL("(reap)", OP_CHANGE, op_reap);
const struct op op_row_client_put = INTERNAL("(client)", OP_CHANGE, op_client_put);
const struct op op_row_client_end = INTERNAL("(client end)", OP_CHANGE, op_client_end);
const struct op op_row_locks = INTERNAL("(locks)", OP_CHANGE, op_locks_put);
const struct op op_row_trash = INTERNAL("(trash)", OP_CHANGE, op_trash_del);
const struct op op_row_trim = { "(trim)", OP_DATA, NOTHING, 0, TAIL_NONE, OP_ON_DEAD,
				op_trim_prepare, op_trim };

const struct op *op_find(uint32_t opcode)
{
	if (opcode >= OPCODE_MAX || !rows[opcode].handler)
		return &row_unknown;
	return &rows[opcode];
}

const struct op *op_choose(const struct request *req)
{
	const struct fuse_setattr_in *set = req->arg;
	const struct fuse_open_in *open = req->arg;

	if (req->in.opcode == FUSE_SETATTR && (set->valid & FATTR_SIZE) && set->size > 0)
		return &row_setattr_size;
	if (req->in.opcode == FUSE_OPEN && (open->flags & O_TRUNC))
		return &row_open_trunc;
	return req->op;
}

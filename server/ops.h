/* Every operation's handler, under the file that defines it; dispatch.c has the table.
 * The class of each stands there; see request.h for what a handler may do and returns. */
#ifndef SERVER_OPS_H
#define SERVER_OPS_H

#include "server/request.h"

/* ops_name.c: names and inodes */
int op_lookup(struct request *req);     /* READ; "." and ".." too (export support) */
int op_create(struct request *req);     /* CHANGE */
int op_mknod(struct request *req);      /* CHANGE */
/* op_foresee_*: prepare of an OP_CHANGE; -KILN_EEXIST, -KILN_ENOENT, or 0. */
int op_foresee_taken(struct request *req);
int op_foresee_taken_mknod(struct request *req);
int op_foresee_taken_create(struct request *req);
int op_foresee_missing(struct request *req);
int op_mkdir(struct request *req);      /* CHANGE */
int op_symlink(struct request *req);    /* CHANGE; name[0], target name[1] */
int op_tmpfile(struct request *req);    /* CHANGE */
int op_link(struct request *req);       /* CHANGE */
int op_readlink(struct request *req);   /* READ */
/* ops_unlink.c */
int op_unlink(struct request *req);     /* CHANGE */
int op_rmdir(struct request *req);      /* CHANGE */
int op_reap(struct request *req);       /* CHANGE, internal: removes orphan in.nodeid if unopened */
/* ops_rename.c */
int op_rename(struct request *req);     /* CHANGE; RENAME; name[0] old, name[1] new */
int op_rename2(struct request *req);    /* CHANGE; RENAME2: NOREPLACE, EXCHANGE */

/* ops_attr.c */
int op_getattr(struct request *req);    /* READ */
int op_statx(struct request *req);      /* READ: getattr with the time of birth */
int op_setattr(struct request *req);    /* CHANGE, or DATA if it sets a size other than 0 */
int op_setattr_prepare(struct request *req);
int op_statfs(struct request *req);     /* READ */
int op_trim_prepare(struct request *req);
int op_trim(struct request *req);       /* DATA, internal: cuts data file in.nodeid off behind its
                                           size; record_value: the size when that was asked for */
/* ops_xattr.c, with acl.[ch] */
int op_getxattr(struct request *req);   /* READ */
int op_listxattr(struct request *req);  /* READ */
int op_setxattr(struct request *req);   /* CHANGE */
int op_removexattr(struct request *req);/* CHANGE */

/* ops_dir.c */
int op_opendir(struct request *req);    /* READ */
int op_readdir(struct request *req);    /* READ */
int op_readdirplus(struct request *req);/* READ */
int op_releasedir(struct request *req); /* LOCAL */

/* ops_file.c: the bytes of files */
enum { FH_READ_ONLY = 1 }; /* fh of an open that cannot write; 0: one that may */
int op_open(struct request *req);       /* READ, without O_TRUNC */
/* open_begin: counts an open of in.nodeid and reads its inode; -KILN_EDOOMED: open_take, or the inode
 * is there no more, and the reader does not know yet. */
int open_begin(struct request *req, struct inode *inode);
int op_open_trunc(struct request *req); /* CHANGE, with O_TRUNC */
int op_read(struct request *req);       /* READ */
int op_write_prepare(struct request *req);
int op_write(struct request *req);      /* DATA */
int op_flush(struct request *req);      /* READ: durable on `op` volumes; drops fcntl locks */
int op_fsync(struct request *req);      /* READ: sets durable and sync_data */
int op_fsyncdir(struct request *req);   /* READ */
int op_syncfs(struct request *req);     /* READ: durable, sync_all */
int op_release(struct request *req);    /* LOCAL: open_drop, flock unlock */
/* ops_space.c */
int op_fallocate_prepare(struct request *req);
int op_fallocate(struct request *req);  /* DATA */
int op_lseek(struct request *req);      /* READ */
int op_copy_prepare(struct request *req);
int op_copy(struct request *req);       /* DATA; COPY_FILE_RANGE; the turn is the target's, so
                                           in.nodeid is the target, the source is in arg */

/* ops_lock.c: fcntl and flock locks */
int op_getlk(struct request *req);      /* LOCAL */
int op_setlk(struct request *req);      /* LOCAL; SETLK and SETLKW; the latter may park */

#endif

/* POSIX access control lists, in the form that Linux gives and takes as the extended attributes
 * system.posix_acl_access and system.posix_acl_default; the rules are those of the kernel's
 * fs/posix_acl.c, of which each function here names its counterpart.
 *
 * An inode's mode and its access ACL are always in step: what chmod or setfacl changes in one,
 * the other shows.  An ACL that says no more than the mode does is not stored.
 *
 * The kernel checks permissions; nothing here does.  All functions are pure or for groups. */
#ifndef SERVER_ACL_H
#define SERVER_ACL_H

#include "store/schema.h"

#define ACL_ACCESS_NAME "system.posix_acl_access"
#define ACL_DEFAULT_NAME "system.posix_acl_default"

enum {
	ACL_ENTRIES_MAX = 1024,
	ACL_BYTES_MAX = 4 + 8 * ACL_ENTRIES_MAX,
};

/* acl_check: whether bytes from a client are a valid ACL (posix_acl_from_xattr and
 * posix_acl_valid).  *count: its entries; 0 is valid and means "none".  -KILN_EINVAL,
 * -KILN_ENOTSUP (another version), -KILN_ETOOBIG. */
int acl_check(const void *value, size_t len, size_t *count);

/* acl_set_access: an access ACL checked above, or none (count 0): updates inode->mode and flags
 * and the attribute; the caller puts the inode. */
int acl_set_access(struct txn *t, struct inode *inode, const void *value, size_t count);
/* acl_set_default: likewise; -KILN_EACCES if the inode is not a directory and count is not 0. */
int acl_set_default(struct txn *t, struct inode *inode, const void *value, size_t count);

/* acl_chmod: inode->mode has changed: brings the access ACL in step (posix_acl_chmod). */
int acl_chmod(struct txn *t, const struct inode *inode);

/* acl_inherit: child is new below parent, its mode as the client asked for.  Takes umask off, or
 * what the parent's default ACL says instead; sets child->flags; writes the child's ACLs.  The
 * caller puts the child (posix_acl_create). */
int acl_inherit(struct txn *t, const struct inode *parent, uint32_t umask, struct inode *child);

#endif

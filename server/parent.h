/* The directory's side of every operation that adds, changes or takes away a name.
 *
 * Permissions are nowhere checked here, nor in the operations that use this: every client mounts
 * with default_permissions and negotiates FUSE_POSIX_ACL, so its kernel has checked mode bits,
 * ACLs, the sticky bit and capabilities before it sends anything.  The server keeps what no
 * client can: the shape of the tree. */
#ifndef SERVER_PARENT_H
#define SERVER_PARENT_H

#include "server/request.h"

/* name_check: -KILN_ENAMETOOLONG, or 0. */
int name_check(const char *name, size_t len);
bool name_is_dots(const char *name, size_t len); /* "." or ".." */

/* dir_get: -KILN_ENOTDIR if it is none; an empty one without a name is still a directory. */
int dir_get(struct txn *t, uint64_t handle, struct inode *dir);
/* parent_get: a directory that may get names: -KILN_ENOENT if it has been removed and merely is
 * still open. */
int parent_get(struct txn *t, uint64_t handle, struct inode *dir);
/* parent_put: stores dir after so many names, and among them so many directories, have come
 * (negative: gone); its times become `now`. */
int parent_put(struct txn *t, struct inode *dir, int names, int subdirs, struct timespec now);
/* parent_room: -KILN_EMLINK if no further subdirectory's `..` can count in dir's links. */
int parent_room(const struct inode *dir);

/* Links one inode can have, directories' subdirectories included: clients count in 32 bit, and
 * some programs in a signed one. */
#define LINKS_MAX 0x7fffffffu

#endif

#include "server/parent.h"

#include <sys/stat.h>

int name_check(const char *name, size_t len)
{
	return len > NAME_BYTES_MAX ? -KILN_ENAMETOOLONG : 0;
}

bool name_is_dots(const char *name, size_t len)
{
	return len <= 2 && name[0] == '.' && name[len - 1] == '.';
}

int dir_get(struct txn *t, uint64_t handle, struct inode *dir)
{
	int err = inode_get(t, handle, dir);

	if (err)
		return err;
	return S_ISDIR(dir->mode) ? 0 : -KILN_ENOTDIR;
}

int parent_get(struct txn *t, uint64_t handle, struct inode *dir)
{
	int err = dir_get(t, handle, dir);

	if (err)
		return err;
	return dir->nlink ? 0 : -KILN_ENOENT;
}

int parent_put(struct txn *t, struct inode *dir, int names, int subdirs, struct timespec now)
{
	dir->entries += (uint64_t)(int64_t)names;
	dir->nlink += (uint32_t)subdirs;
	dir->mtime = dir->ctime = now;
	return inode_put(t, dir);
}

int parent_room(const struct inode *dir)
{
	return dir->nlink >= LINKS_MAX ? -KILN_EMLINK : 0;
}

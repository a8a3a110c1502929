/* Data files.  A call looks its file up in a table of open files (opening it if need be), works
 * on the descriptor without any lock, and lets go.
 *
 * A descriptor with unsynced writes is synced before it is closed to make room: the kernel
 * reports a failed write-back to those who have the file open, so closing could lose the error.
 * If that sync fails, every later data_sync fails: the committer then breaks the store.
 *
 * A name is durable only once its directory is: the first sync of a file after opening it
 * syncs its directory too, and the first in a directory that one's parents. */
#include "store/data.h"

#include "base/err.h"
#include "base/lock.h"
#include "base/log.h"
#include "store/dirset.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUCKETS = 1024, PATH_BYTES = 64, FILE_MODE = 0600, DIR_MODE = 0700, ZEROS = 65536 };

struct file {
	struct data_id id;
	struct file *next;          /* [lock] in the bucket */
	struct file *newer, *older; /* [lock] by use */
	unsigned refs;              /* [lock] */
	bool gone;                  /* [lock] not in the table any more; last user closes */
	bool dirty;                 /* atomic: written since the last sync began */
	bool linked;                /* atomic: its name is durable */
	int fd;
};

struct data {
	const struct disk *disk;
	int root;
	unsigned max_open;
	bool failed;                  /* atomic: a sync before closing failed */
	struct lock lock;             /* rank DATA */
	struct file *buckets[BUCKETS];/* [lock] */
	struct file *newest, *oldest; /* [lock] */
	unsigned open_count;          /* [lock] */
	bool evicted;                 /* [lock] a file has been closed to make room */
	unsigned closing;             /* [lock] such that are being synced before that */
	struct cond closed;           /* closing has fallen */
	struct dirset *dirs;          /* [lock] directories whose names are durable */
};

static bool same_id(struct data_id a, struct data_id b)
{
	return a.handle == b.handle && a.brick == b.brick && a.gen == b.gen;
}

static struct file **bucket_of(struct data *d, struct data_id id)
{
	uint64_t mix = (id.handle ^ ((uint64_t)id.brick << 40) ^ id.gen) * 0x9e3779b97f4a7c15;

	return &d->buckets[mix >> 54];
}

static unsigned dir_of(struct data_id id)
{
	return (unsigned)(id.handle & 0xff);
}

static void file_path(char *path, struct data_id id)
{
	snprintf(path, PATH_BYTES, "%u/%02x/%016llx.%08x", id.brick, dir_of(id),
		 (unsigned long long)id.handle, id.gen);
}

int data_open(const char *store_dir, const struct disk *disk, unsigned max_open,
	      struct data **out)
{
	struct data *d = calloc(1, sizeof(*d));
	int err, parent = -1;

	if (!d)
		return -KILN_ENOMEM;
	d->disk = disk;
	d->root = -1;
	d->max_open = max_open;
	lock_init(&d->lock, LOCK_RANK_DATA, "data files");
	cond_init(&d->closed);
	d->dirs = dirset_new();
	err = d->dirs ? disk->open(disk, AT_FDCWD, store_dir, O_RDONLY | O_DIRECTORY, 0, &parent)
		      : -KILN_ENOMEM;
	if (!err)
		err = disk->mkdir(disk, parent, "data", DIR_MODE);
	if (!err)
		err = disk->sync(disk, parent);
	if (err == -KILN_EEXIST)
		err = 0;
	if (!err)
		err = disk->open(disk, parent, "data", O_RDONLY | O_DIRECTORY, 0, &d->root);
	if (parent >= 0)
		disk->close(disk, parent);
	if (err)
		data_close(d);
	else
		*out = d;
	return err;
}

static void lru_remove(struct data *d, struct file *f)
{
	*(f->newer ? &f->newer->older : &d->newest) = f->older;
	*(f->older ? &f->older->newer : &d->oldest) = f->newer;
}

static void lru_add(struct data *d, struct file *f)
{
	f->newer = NULL;
	f->older = d->newest;
	*(d->newest ? &d->newest->newer : &d->oldest) = f;
	d->newest = f;
}

static struct file *find(struct data *d, struct data_id id)
{
	struct file *f = *bucket_of(d, id);

	while (f && !same_id(f->id, id))
		f = f->next;
	return f;
}

/* forget: out of the table; who uses it still, closes it. */
static void forget(struct data *d, struct file *f)
{
	struct file **at = bucket_of(d, f->id);

	lock_assert_held(&d->lock);
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	lru_remove(d, f);
	d->open_count--;
	f->gone = true;
}

static void file_free(struct data *d, struct file *f)
{
	d->disk->close(d->disk, f->fd);
	free(f);
}

void data_close(struct data *d)
{
	if (!d)
		return;
	while (d->newest) {
		struct file *f = d->newest;

		lock_take(&d->lock);
		forget(d, f);
		lock_give(&d->lock);
		file_free(d, f);
	}
	if (d->root >= 0)
		d->disk->close(d->disk, d->root);
	dirset_free(d->dirs);
	cond_destroy(&d->closed);
	lock_destroy(&d->lock);
	free(d);
}

static struct file *find_and_hold(struct data *d, struct data_id id)
{
	struct file *f = find(d, id);

	lock_assert_held(&d->lock);
	if (!f)
		return NULL;
	lru_remove(d, f);
	lru_add(d, f);
	f->refs++;
	return f;
}

static void file_put(struct data *d, struct file *f)
{
	bool last;

	lock_take(&d->lock);
	last = --f->refs == 0 && f->gone;
	lock_give(&d->lock);
	if (last)
		file_free(d, f);
}

/* make_dirs: the file's directory and its parent; being there already is fine. */
static int make_dirs(struct data *d, struct data_id id)
{
	char path[PATH_BYTES];
	int err;

	snprintf(path, sizeof(path), "%u", id.brick);
	err = d->disk->mkdir(d->disk, d->root, path, DIR_MODE);
	if (err && err != -KILN_EEXIST)
		return err;
	snprintf(path, sizeof(path), "%u/%02x", id.brick, dir_of(id));
	err = d->disk->mkdir(d->disk, d->root, path, DIR_MODE);
	return err == -KILN_EEXIST ? 0 : err;
}

static int open_fd(struct data *d, struct data_id id, bool create, int *fd)
{
	int flags = O_RDWR | (create ? O_CREAT : 0), err;
	char path[PATH_BYTES];

	file_path(path, id);
	err = d->disk->open(d->disk, d->root, path, flags, FILE_MODE, fd);
	if (err != -KILN_ENOENT || !create)
		return err;
	err = make_dirs(d, id);
	return err ? err : d->disk->open(d->disk, d->root, path, flags, FILE_MODE, fd);
}

/* too_many: takes the file unused for longest out of the table, if there are too many; a clean
 * one if one is near. */
static struct file *too_many(struct data *d)
{
	struct file *f, *victim = NULL;
	int looked = 0;

	lock_assert_held(&d->lock);
	if (d->open_count <= d->max_open)
		return NULL;
	for (f = d->oldest; f && looked < 64; f = f->newer, looked++) {
		if (f->refs)
			continue;
		if (!victim)
			victim = f;
		if (!__atomic_load_n(&f->dirty, __ATOMIC_RELAXED)) {
			victim = f;
			break;
		}
	}
	if (victim) {
		forget(d, victim);
		d->evicted = true;
		d->closing++;
	}
	return victim;
}

static void close_victim(struct data *d, struct file *f)
{
	int err = f->dirty ? d->disk->sync(d->disk, f->fd) : 0;

	if (err) {
		log_error("data file %u/%llx: sync failed: %s", f->id.brick,
			  (unsigned long long)f->id.handle, err_text(err));
		__atomic_store_n(&d->failed, true, __ATOMIC_RELEASE);
	}
	file_free(d, f);
	lock_guard(&d->lock);
	d->closing--;
	cond_broadcast(&d->closed);
}

/* insert: made becomes the table's file for its id, unless another thread was faster. */
static struct file *insert(struct data *d, struct file *made)
{
	struct file *f, *victim;

	lock_take(&d->lock);
	f = find_and_hold(d, made->id);
	if (!f) {
		struct file **bucket = bucket_of(d, made->id);

		f = made;
		f->refs = 1;
		f->next = *bucket;
		*bucket = f;
		lru_add(d, f);
		d->open_count++;
	}
	victim = too_many(d);
	lock_give(&d->lock);
	if (f != made)
		file_free(d, made);
	if (victim)
		close_victim(d, victim);
	return f;
}

enum how { OPEN, CREATE, IF_OPEN };

/* file_get: -KILN_ENOENT if the file is missing and not to be created; -KILN_EWOULDBLOCK with
 * IF_OPEN if it is not open. */
static int file_get(struct data *d, struct data_id id, enum how how, struct file **out)
{
	struct file *f;
	int err;

	lock_take(&d->lock);
	f = find_and_hold(d, id);
	lock_give(&d->lock);
	*out = f;
	if (f || how == IF_OPEN)
		return f ? 0 : -KILN_EWOULDBLOCK;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -KILN_ENOMEM;
	f->id = id;
	err = open_fd(d, id, how == CREATE, &f->fd);
	if (err) {
		free(f);
		return err;
	}
	*out = insert(d, f);
	return 0;
}

static bool in_range(uint64_t offset, uint64_t len)
{
	return offset <= INT64_MAX && len <= INT64_MAX - offset;
}

int data_read(struct data *d, struct data_id id, void *buf, size_t len, uint64_t offset,
	      bool nowait)
{
	struct file *f;
	size_t done = 0;
	int err;

	if (!in_range(offset, len))
		return -KILN_EINVAL;
	err = file_get(d, id, nowait ? IF_OPEN : OPEN, &f);
	if (!err) {
		err = d->disk->read(d->disk, f->fd, buf, len, offset, nowait, &done);
		file_put(d, f);
	} else if (err == -KILN_ENOENT) {
		err = 0;
	}
	if (!err)
		memset((char *)buf + done, 0, len - done);
	return err;
}

static void mark_dirty(struct file *f)
{
	__atomic_store_n(&f->dirty, true, __ATOMIC_RELEASE);
}

int data_write(struct data *d, struct data_id id, const void *buf, size_t len, uint64_t offset,
	       bool nowait)
{
	struct file *f;
	size_t done;
	int err;

	if (!in_range(offset, len))
		return -KILN_EFBIG;
	err = file_get(d, id, nowait ? IF_OPEN : CREATE, &f);
	if (err)
		return err;
	err = d->disk->write(d->disk, f->fd, buf, len, offset, nowait, &done);
	mark_dirty(f);
	file_put(d, f);
	return err;
}

int data_truncate(struct data *d, struct data_id id, uint64_t size)
{
	struct file *f;
	int err;

	if (!in_range(size, 0))
		return -KILN_EFBIG;
	err = file_get(d, id, OPEN, &f);
	if (err)
		return err == -KILN_ENOENT ? 0 : err;
	err = d->disk->truncate(d->disk, f->fd, size);
	mark_dirty(f);
	file_put(d, f);
	return err;
}

int data_allocate(struct data *d, struct data_id id, int mode, uint64_t offset, uint64_t len)
{
	bool punch = mode & FALLOC_FL_PUNCH_HOLE;
	struct file *f;
	int err;

	if (!in_range(offset, len))
		return -KILN_EFBIG;
	err = file_get(d, id, punch ? OPEN : CREATE, &f);
	if (err)
		return punch && err == -KILN_ENOENT ? 0 : err;
	err = d->disk->allocate(d->disk, f->fd, mode, offset, len);
	mark_dirty(f);
	file_put(d, f);
	return err;
}

/* Beyond the data file's own end all is hole, up to size. */
static int seek_open(struct data *d, struct file *f, uint64_t size, uint64_t offset, int whence,
		     uint64_t *found)
{
	int err = d->disk->seek(d->disk, f->fd, offset, whence, found);

	if (err == -KILN_ENXIO && whence == SEEK_HOLE) {
		*found = offset;
		err = 0;
	}
	if (!err && *found >= size) {
		*found = size;
		err = whence == SEEK_HOLE ? 0 : -KILN_ENXIO;
	}
	return err;
}

int data_seek(struct data *d, struct data_id id, uint64_t size, uint64_t offset, int whence,
	      uint64_t *found)
{
	struct file *f;
	int err;

	if (offset >= size)
		return -KILN_ENXIO;
	err = file_get(d, id, OPEN, &f);
	if (err == -KILN_ENOENT) {
		*found = offset;
		return whence == SEEK_HOLE ? 0 : -KILN_ENXIO;
	}
	if (err)
		return err;
	err = seek_open(d, f, size, offset, whence, found);
	file_put(d, f);
	return err;
}

static int write_zeros(struct data *d, struct file *f, uint64_t offset, uint64_t len)
{
	static const char zeros[ZEROS];
	int err = 0;

	while (len && !err) {
		size_t part = len < ZEROS ? (size_t)len : ZEROS, done;

		err = d->disk->write(d->disk, f->fd, zeros, part, offset, false, &done);
		offset += part;
		len -= part;
	}
	return err;
}

static int make_zeros(struct data *d, struct file *f, uint64_t offset, uint64_t len)
{
	int err;

	if (len == 0)
		return 0;
	err = d->disk->allocate(d->disk, f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
				len);
	return err == -KILN_ENOTSUP ? write_zeros(d, f, offset, len) : err;
}

int data_copy(struct data *d, struct data_id from, uint64_t from_off, struct data_id to,
	      uint64_t to_off, size_t len)
{
	struct file *in = NULL, *out = NULL;
	size_t done = 0;
	int err;

	if (!in_range(from_off, len) || !in_range(to_off, len))
		return -KILN_EFBIG;
	err = file_get(d, from, OPEN, &in);
	if (err && err != -KILN_ENOENT)
		return err;
	err = file_get(d, to, CREATE, &out);
	if (!err && in)
		err = d->disk->copy(d->disk, in->fd, from_off, out->fd, to_off, len, &done);
	if (!err)
		err = make_zeros(d, out, to_off + done, len - done);
	if (out) {
		mark_dirty(out);
		file_put(d, out);
	}
	if (in)
		file_put(d, in);
	return err;
}

int data_blocks(struct data *d, struct data_id id, uint64_t *count512)
{
	struct file *f;
	int err = file_get(d, id, OPEN, &f);

	*count512 = 0;
	if (err)
		return err == -KILN_ENOENT ? 0 : err;
	err = d->disk->blocks(d->disk, f->fd, count512);
	file_put(d, f);
	return err;
}

static int sync_dir(struct data *d, const char *path)
{
	int fd, err = d->disk->open(d->disk, d->root, path, O_RDONLY | O_DIRECTORY, 0, &fd);

	if (err)
		return err == -KILN_ENOENT ? 0 : err; /* removed meanwhile, with its brick */
	err = d->disk->sync(d->disk, fd);
	d->disk->close(d->disk, fd);
	return err;
}

static int sync_parents(struct data *d, struct data_id id)
{
	uint64_t dir = (uint64_t)id.brick << 8 | dir_of(id);
	char path[PATH_BYTES];
	bool known;
	int err;

	lock_take(&d->lock);
	known = dirset_has(d->dirs, dir);
	lock_give(&d->lock);
	if (known)
		return 0;
	snprintf(path, sizeof(path), "%u", id.brick);
	err = sync_dir(d, path);
	if (!err)
		err = d->disk->sync(d->disk, d->root);
	if (err)
		return err;
	lock_guard(&d->lock);
	return dirset_add(d->dirs, dir);
}

static int sync_name(struct data *d, struct file *f)
{
	char path[PATH_BYTES];
	int err;

	if (__atomic_load_n(&f->linked, __ATOMIC_ACQUIRE))
		return 0;
	snprintf(path, sizeof(path), "%u/%02x", f->id.brick, dir_of(f->id));
	err = sync_dir(d, path);
	if (!err)
		err = sync_parents(d, f->id);
	if (!err)
		__atomic_store_n(&f->linked, true, __ATOMIC_RELEASE);
	return err;
}

int data_sync(struct data *d, struct data_id id)
{
	struct file *f;
	int err;

	if (__atomic_load_n(&d->failed, __ATOMIC_ACQUIRE))
		return -KILN_EIO;
	err = file_get(d, id, OPEN, &f);
	if (err)
		return err == -KILN_ENOENT ? 0 : err;
	__atomic_store_n(&f->dirty, false, __ATOMIC_RELEASE);
	err = d->disk->sync(d->disk, f->fd);
	if (!err)
		err = sync_name(d, f);
	if (err)
		mark_dirty(f);
	file_put(d, f);
	return err;
}

bool data_unsynced(struct data *d, struct data_id id)
{
	struct file *f;

	lock_guard(&d->lock);
	f = find(d, id);
	if (!f)
		return d->evicted;
	return __atomic_load_n(&f->dirty, __ATOMIC_ACQUIRE) ||
	       !__atomic_load_n(&f->linked, __ATOMIC_ACQUIRE);
}

static int start_writeback(struct data *d, struct data_id id)
{
	struct file *f;
	int err = file_get(d, id, IF_OPEN, &f);

	if (err)
		return 0; /* not open: the sync itself will do */
	err = d->disk->start_writeback(d->disk, f->fd);
	file_put(d, f);
	return err;
}

int data_sync_many(struct data *d, const struct data_id *ids, size_t count)
{
	int err = 0;

	for (size_t i = 0; count > 1 && i < count && !err; i++)
		err = start_writeback(d, ids[i]);
	for (size_t i = 0; i < count && !err; i++)
		err = data_sync(d, ids[i]);
	return err;
}

/* dirty_ids: a file that is not open has no unsynced writes (see the top), once those have been
 * synced that are being closed to make room. */
static int dirty_ids(struct data *d, struct data_id **out, size_t *count)
{
	struct data_id *ids;
	size_t n = 0;

	lock_guard(&d->lock);
	while (d->closing)
		cond_wait(&d->closed, &d->lock);
	ids = malloc((d->open_count + 1) * sizeof(*ids));
	if (!ids)
		return -KILN_ENOMEM;
	for (struct file *f = d->newest; f; f = f->older)
		if (__atomic_load_n(&f->dirty, __ATOMIC_ACQUIRE))
			ids[n++] = f->id;
	*out = ids;
	*count = n;
	return 0;
}

int data_sync_all(struct data *d)
{
	struct data_id *ids = NULL;
	size_t count = 0;
	int err = dirty_ids(d, &ids, &count);

	if (!err && __atomic_load_n(&d->failed, __ATOMIC_ACQUIRE))
		err = -KILN_EIO;
	if (!err)
		err = data_sync_many(d, ids, count);
	free(ids);
	return err;
}

int data_remove(struct data *d, struct data_id id)
{
	char path[PATH_BYTES];
	struct file *f;
	int err;

	lock_take(&d->lock);
	f = find(d, id);
	if (f)
		forget(d, f);
	if (f && f->refs)
		f = NULL;
	lock_give(&d->lock);
	if (f)
		file_free(d, f);
	file_path(path, id);
	err = d->disk->unlink(d->disk, d->root, path);
	return err == -KILN_ENOENT ? 0 : err;
}

static void forget_brick(struct data *d, uint32_t brick)
{
	lock_guard(&d->lock);
	for (struct file *f = d->oldest, *newer; f; f = newer) {
		newer = f->newer;
		if (f->id.brick != brick)
			continue;
		forget(d, f);
		if (!f->refs)
			file_free(d, f);
	}
}

/* each_name: calls fn for every name in a directory. */
static int each_name(struct data *d, int dirfd, const char *path,
		     int (*fn)(struct data *d, int dirfd, const char *name))
{
	struct dirent *entry;
	int fd, err = d->disk->open(d->disk, dirfd, path, O_RDONLY | O_DIRECTORY, 0, &fd);
	DIR *dir;

	if (err)
		return err;
	dir = fdopendir(fd);
	if (!dir) {
		d->disk->close(d->disk, fd);
		return -KILN_ENOMEM;
	}
	while (!err && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			err = fn(d, fd, entry->d_name);
	closedir(dir);
	return err;
}

static int unlink_name(struct data *d, int dirfd, const char *name)
{
	int err = d->disk->unlink(d->disk, dirfd, name);

	return err == -KILN_ENOENT ? 0 : err;
}

static int remove_dir(struct data *d, int dirfd, const char *name)
{
	int err = each_name(d, dirfd, name, unlink_name);

	return err ? err : unlink_name(d, dirfd, name);
}

int data_remove_brick(struct data *d, uint32_t brick)
{
	char path[PATH_BYTES];
	int err;

	forget_brick(d, brick);
	snprintf(path, sizeof(path), "%u", brick);
	err = each_name(d, d->root, path, remove_dir);
	if (err == -KILN_ENOENT)
		return 0;
	return err ? err : unlink_name(d, d->root, path);
}

static int remove_brick(struct data *d, int dirfd, const char *name)
{
	char *end;
	unsigned long brick = strtoul(name, &end, 10);

	return *end || brick > UINT32_MAX ? 0 : data_remove_brick(d, (uint32_t)brick);
}

int data_remove_all(struct data *d)
{
	return each_name(d, d->root, ".", remove_brick);
}

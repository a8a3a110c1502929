/* Listing: opendir, readdir, readdirplus, releasedir.
 *
 * Happy path: op_opendir counts the open, so that a removed directory lives while somebody reads
 * it; list_fill writes "." and ".." (cookies 1 and 2) and then entries behind the cookie asked
 * for, straight into the worker's reply buffer, until it is as full as the client wants; for
 * readdirplus list_attributes then reads the inodes of what is there, many at a time.  A reply's
 * cost depends on its own size alone, never on the directory's.
 *
 * A cookie is its name's hash, so a listing goes on correctly whatever others create and delete
 * meanwhile.  Names of equal hash have equal cookies and so must be in one reply.
 *
 * Class READ: the first piece that is not in memory ends the attempt; a pool thread starts anew. */
#include "server/ops.h"
#include "server/parent.h"
#include "server/volume.h"

#include <stdlib.h>
#include <sys/stat.h>

enum {
	COOKIE_DOT = 1,
	COOKIE_DOTDOT = 2,
	INODES_AT_ONCE = 64,
	/* What a reply can hold at most: list_sort needs four bytes of each entry's hundred and
	 * sixty or more behind it. */
	LIST_BYTES_MAX = REPLY_BYTES_MAX - REPLY_BYTES_MAX / 32,
};

struct list {
	uint8_t *buf;      /* the worker's reply buffer */
	size_t used, size;
	size_t head;       /* bytes before each fuse_dirent: readdirplus has attributes there */
};

static struct fuse_dirent *list_dirent(const struct list *l, size_t at)
{
	return (struct fuse_dirent *)(l->buf + at + l->head);
}

static size_t record_bytes(const struct list *l, size_t name_len)
{
	return FUSE_REC_ALIGN(l->head + FUSE_NAME_OFFSET + name_len);
}

/* list_add: false: it does not fit any more. */
static bool list_add(struct list *l, const struct dirent_row *row)
{
	size_t bytes = record_bytes(l, row->len);
	struct fuse_dirent *d = list_dirent(l, l->used);

	if (bytes > l->size - l->used)
		return false;
	memset(l->buf + l->used, 0, l->head + FUSE_NAME_OFFSET);
	memset(l->buf + l->used + bytes - sizeof(uint64_t), 0, sizeof(uint64_t));
	d->ino = row->child;
	d->off = row->cookie;
	d->namelen = (uint32_t)row->len;
	d->type = row->type;
	memcpy(d->name, row->name, row->len);
	l->used += bytes;
	return true;
}

/* Nothing of a readdirplus counts for "." and "..": their attributes stay empty, nodeid 0. */
static bool list_dots(struct list *l, const struct inode *dir, uint64_t after)
{
	struct dirent_row dot = { COOKIE_DOT, dir->handle, ".", 1, S_IFDIR >> 12 };
	struct dirent_row dotdot = { COOKIE_DOTDOT, dir->parent, "..", 2, S_IFDIR >> 12 };

	return (after >= COOKIE_DOT || list_add(l, &dot)) &&
	       (after >= COOKIE_DOTDOT || list_add(l, &dotdot));
}

/* list_rows: entries until the reply is full or there are no more.  A run of equal cookies that
 * does not fit is left to the next reply.  Should one be longer than a whole reply (names made on
 * purpose), its rest is not listed until some of it has been deleted; the directory can still be
 * listed beyond it, and emptied. */
static int list_rows(struct list *l, struct dirent_scan *scan)
{
	struct dirent_row row;
	uint64_t cookie = 0;
	size_t run = l->used;
	int got;

	while ((got = dirent_scan_next(scan, &row)) > 0) {
		if (row.cookie != cookie)
			run = l->used;
		cookie = row.cookie;
		if (list_add(l, &row))
			continue;
		if (run > 0)
			l->used = run;
		return l->used ? 0 : -KILN_EINVAL;
	}
	return got;
}

static int list_fill(struct txn *t, struct list *l, const struct inode *dir, uint64_t after)
{
	struct dirent_scan *scan;
	int err;

	if (!list_dots(l, dir, after))
		return l->used ? 0 : -KILN_EINVAL;
	err = dirent_scan_open(t, dir->handle, after, &scan);
	if (err)
		return err;
	err = list_rows(l, scan);
	dirent_scan_close(scan);
	return err;
}

/* list_sort: where the entries (but "." and "..") begin, in the order of their handles, which lie
 * behind the reply in the same buffer.  Inodes are read in that order because it is the store's:
 * a listing's own, by hash, has no two neighbours in one block. */
static int by_handle(const void *a, const void *b, void *list)
{
	uint64_t x = list_dirent(list, *(const uint32_t *)a)->ino;
	uint64_t y = list_dirent(list, *(const uint32_t *)b)->ino;

	return x < y ? -1 : x > y;
}

static uint32_t *list_sort(struct list *l, size_t *count)
{
	uint32_t *at = (uint32_t *)(l->buf + FUSE_REC_ALIGN(l->used));
	size_t i = 0;

	for (size_t pos = 0; pos < l->used; pos += record_bytes(l, list_dirent(l, pos)->namelen))
		if (list_dirent(l, pos)->off > COOKIE_DOTDOT)
			at[i++] = (uint32_t)pos;
	qsort_r(at, i, sizeof *at, by_handle, l);
	*count = i;
	return at;
}

/* list_attributes: reads the inodes of up to INODES_AT_ONCE entries.  One deleted since it was
 * listed keeps nodeid 0, which says that nothing is known about it. */
static int list_attributes(struct request *req, const struct list *l, const uint32_t *at,
			   size_t count)
{
	uint64_t handles[INODES_AT_ONCE];
	struct inode inodes[INODES_AT_ONCE];
	int errs[INODES_AT_ONCE];
	int err;

	for (size_t i = 0; i < count; i++)
		handles[i] = list_dirent(l, at[i])->ino;
	err = inode_get_many(req->txn, handles, count, inodes, errs);
	for (size_t i = 0; !err && i < count; i++) {
		if (errs[i] == 0)
			entry_fill(req->volume, (struct fuse_entry_out *)(l->buf + at[i]),
				   &inodes[i]);
		else if (errs[i] != -KILN_ESTALE)
			err = errs[i];
	}
	return err;
}

static int list_all_attributes(struct request *req, struct list *l)
{
	size_t count;
	uint32_t *at = list_sort(l, &count);
	int err = 0;

	for (size_t i = 0; !err && i < count; i += INODES_AT_ONCE)
		err = list_attributes(req, l, at + i, count - i < INODES_AT_ONCE ? count - i
										 : INODES_AT_ONCE);
	return err;
}

static int list(struct request *req, size_t head)
{
	const struct fuse_read_in *arg = req->arg;
	struct list l = { .head = head, .size = arg->size };
	struct inode dir;
	int err = dir_get(req->txn, req->in.nodeid, &dir);

	if (err)
		return err;
	if (dir.nlink == 0 || arg->offset > INT64_MAX)
		return 0; /* removed but open: not even dots; beyond any cookie: nothing */
	if (l.size > LIST_BYTES_MAX)
		l.size = LIST_BYTES_MAX;
	l.buf = request_body(req);
	err = list_fill(req->txn, &l, &dir, arg->offset);
	if (!err && head)
		err = list_all_attributes(req, &l);
	if (err)
		return err;
	req->body = l.buf;
	req->body_len = l.used;
	return 0;
}

int op_readdir(struct request *req)
{
	return list(req, 0);
}

int op_readdirplus(struct request *req)
{
	return list(req, offsetof(struct fuse_direntplus, dirent));
}

/* No FOPEN_CACHE_DIR: a kernel would keep a listing for as long as it likes the directory's
 * mtime, which it itself believes for the cache time; other clients' names would come late. */
int op_opendir(struct request *req)
{
	struct inode dir;
	int err = open_begin(req, &dir);

	if (!err && !S_ISDIR(dir.mode))
		err = -KILN_ENOTDIR;
	if (err)
		return err;
	request_out(req, open)->open_flags = 0;
	return 0;
}

int op_releasedir(struct request *req)
{
	open_release(req);
	return 0;
}

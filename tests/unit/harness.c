#include "tests/unit/harness.h"

#include "server/conn.h"
#include "server/session.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct session {
	struct volume *volume;
};

static struct session the_session;
static struct harness *the_harness; /* one at a time: request_body and open_drop need it */

/* --- in place of server/volume.c ------------------------------------------------------ */

int volume_take_handle(struct volume *v, struct txn *t, uint64_t *handle)
{
	*handle = v->state.next_handle++;
	return 0;
}

int volume_count(struct volume *v, int64_t inodes, int64_t blocks)
{
	if ((inodes > 0 && v->state.inodes + inodes > v->inodes_max) ||
	    (blocks > 0 && v->state.blocks + blocks > v->blocks_max))
		return -KILN_EQUOTA;
	v->state.inodes += inodes;
	v->state.blocks += blocks;
	return 0;
}

bool volume_read_only(const struct volume *v)
{
	return v->read_only;
}

uint64_t volume_cache_ns(const struct volume *v)
{
	return v->cache_ns;
}

int volume_durability(const struct volume *v)
{
	return v->durability;
}

struct store *volume_store(const struct volume *v)
{
	return v->store;
}

uint32_t volume_brick(const struct volume *v)
{
	return HARNESS_BRICK;
}

/* A slot of the table of opens: handle's, or else a free one. */
static size_t open_slot(struct volume *v, uint64_t handle)
{
	size_t vacant = HARNESS_OPENS;

	for (size_t i = 0; i < HARNESS_OPENS; i++) {
		if (v->state.open[i].handle == handle)
			return i;
		if (v->state.open[i].handle == 0 && vacant == HARNESS_OPENS)
			vacant = i;
	}
	assert_true(vacant < HARNESS_OPENS);
	return vacant;
}

static bool is_doomed(const struct volume *v, uint64_t handle)
{
	for (size_t i = 0; i < v->state.dooms; i++)
		if (v->state.doomed[i] == handle)
			return true;
	return false;
}

int open_take(struct request *req, uint64_t handle)
{
	struct volume *v = req->volume;
	size_t i = open_slot(v, handle);

	assert_int_equal(req->opened, 0);
	if (is_doomed(v, handle))
		return -KILN_ESTALE;
	v->state.open[i].handle = handle;
	v->state.open[i].count++;
	req->opened = handle;
	return 0;
}

void open_drop(struct session *s, uint64_t handle)
{
	struct volume *v = s->volume;
	size_t i = open_slot(v, handle);

	assert_int_equal(v->state.open[i].handle, handle);
	assert_true(v->state.open[i].count > 0);
	if (--v->state.open[i].count > 0)
		return;
	if (v->state.open[i].orphan)
		v->state.reap[v->state.reaps++] = handle;
	v->state.open[i].handle = 0;
	v->state.open[i].orphan = false;
}

void open_release(struct request *req)
{
	open_drop(req->session, req->in.nodeid);
}

bool volume_doom(struct volume *v, uint64_t handle)
{
	size_t i = open_slot(v, handle);

	if (v->state.open[i].handle == handle)
		return false;
	assert_true(v->state.dooms < HARNESS_OPENS);
	v->state.doomed[v->state.dooms++] = handle;
	return true;
}

void volume_orphan(struct volume *v, uint64_t handle)
{
	size_t i = open_slot(v, handle);

	assert_int_equal(v->state.open[i].handle, handle);
	v->state.open[i].orphan = true;
}

void volume_adopt(struct volume *v, uint64_t handle)
{
	size_t i = open_slot(v, handle);

	if (is_doomed(v, handle)) /* it is being removed; its last close has forgotten it */
		return;
	assert_int_equal(v->state.open[i].handle, handle);
	assert_true(v->state.open[i].orphan);
	v->state.open[i].orphan = false;
}

void volume_trash(struct volume *v, uint64_t handle, uint32_t gen)
{
	v->state.trash_handle = handle;
	v->state.trash_gen = gen;
}

void volume_trim(struct volume *v, uint64_t handle, uint64_t size)
{
	v->state.trim_handle = handle;
	v->state.trim_size = size;
}

void volume_note_writer(struct volume *v, struct session *s, uint64_t handle)
{
	v->written = handle;
}

bool volume_others_wrote(struct volume *v, struct session *s, uint64_t handle)
{
	return false;
}

bool volume_keep_cache(struct volume *v, struct session *s, const struct inode *inode)
{
	return v->keep_cache;
}

void volume_statfs(struct volume *v, struct fuse_kstatfs *out)
{
	*out = (struct fuse_kstatfs){ .bsize = 4096, .frsize = 4096 };
	out->bavail = out->bfree = (uint64_t)(v->blocks_max - v->state.blocks) / 8;
}

struct locktable *volume_locks(struct volume *v)
{
	return v->locks;
}

bool session_dead(const struct session *s)
{
	return false;
}

uint64_t session_client(const struct session *s)
{
	return 1;
}

bool volume_bytes_pending(const struct volume *v)
{
	return true;
}

void lock_store(struct volume *v, uint64_t handle, uint64_t client,
		const struct lock_record *locks, size_t count, struct request *answers)
{
	request_answer_all(answers, 0);
}

void request_answer(struct request *req, int error)
{
	req->error = error;
}

void conn_forget_attr(struct conn *c, uint64_t handle)
{
}

void *request_body(struct request *req)
{
	return the_harness->body;
}

/* --- running handlers ------------------------------------------------------------------- */

static void make_root(struct harness *h)
{
	struct inode root = { .handle = ROOT_HANDLE, .mode = S_IFDIR | 0755, .nlink = 2,
			      .parent = ROOT_HANDLE };

	h->volume.state.next_handle = ROOT_HANDLE + 1;
	h->volume.state.inodes = 1;
	harness_edit(h, &root);
}

static void open_store(struct harness *h)
{
	struct store_options options = { .backend = h->backend, .disk = h->disk, .create = true };
	char *why = NULL;

	if (store_open(h->dir, &options, &h->volume.store, &why))
		fail_msg("store_open: %s", why);
	h->group = txn_group_new(h->volume.store, HARNESS_BRICK);
	h->reader = txn_reader_new(h->volume.store);
	assert_non_null(h->group);
	assert_non_null(h->reader);
	txn_may_block(h->group, true);
	txn_may_block(h->reader, true);
	txn_look(h->reader, HARNESS_BRICK, NULL);
}

static void close_store(struct harness *h)
{
	txn_free(h->group);
	txn_free(h->reader);
	store_close(h->volume.store);
}

struct harness *harness_new_on(const char *backend, const struct disk *disk)
{
	struct harness *h = calloc(1, sizeof *h);

	assert_non_null(h);
	h->backend = backend;
	h->disk = disk;
	strcpy(h->dir, "/tmp/kiln-harness.XXXXXX");
	assert_non_null(mkdtemp(h->dir));
	open_store(h);
	h->volume.inodes_max = h->volume.blocks_max = INT64_MAX;
	h->volume.cache_ns = 1500000000;
	the_session.volume = &h->volume;
	the_harness = h;
	make_root(h);
	return h;
}

struct harness *harness_new(const char *backend)
{
	return harness_new_on(backend, NULL);
}

void harness_restart(struct harness *h, void (*meanwhile)(void *context), void *context)
{
	harness_apply(h);
	close_store(h);
	meanwhile(context);
	open_store(h);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void harness_free(struct harness *h)
{
	close_store(h);
	assert_int_equal(nftw(h->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
	the_harness = NULL;
	free(h);
}

struct request *harness_request(struct harness *h, uint64_t nodeid, const void *arg,
				const char *name0, const char *name1)
{
	struct request *req = &h->req;

	memset(req, 0, sizeof *req);
	req->session = &the_session;
	req->volume = &h->volume;
	req->may_block = true;
	req->in.nodeid = nodeid;
	req->in.uid = h->uid;
	req->in.gid = h->gid;
	req->arg = arg;
	req->name[0] = name0;
	req->name[1] = name1;
	req->name_len[0] = name0 ? strlen(name0) : 0;
	req->name_len[1] = name1 ? strlen(name1) : 0;
	return req;
}

void harness_apply(struct harness *h)
{
	if (!txn_empty(h->group))
		assert_int_equal(txn_apply(h->group, &h->seq), 0);
	h->volume.state.dooms = 0;
}

int harness_change(struct harness *h, int (*op)(struct request *))
{
	static struct volume_state before;
	struct request *req = &h->req;

	before = h->volume.state;
	req->txn = h->group;
	txn_mark(h->group);
	req->error = op(req);
	if (req->error) {
		txn_undo(h->group);
		h->volume.state = before;
	}
	if (!h->lazy)
		harness_apply(h);
	return req->error;
}

int harness_read(struct harness *h, int (*op)(struct request *))
{
	struct request *req = &h->req;

	harness_apply(h);
	req->txn = h->reader;
	req->error = op(req);
	if (req->error && req->opened)
		open_drop(&the_session, req->opened);
	return req->error;
}

static int prepare_run(struct harness *h, int (*prepare)(struct request *), bool may_block)
{
	h->req.txn = h->reader;
	h->req.may_block = may_block;
	return prepare(&h->req);
}

int harness_data(struct harness *h, int (*prepare)(struct request *), int (*op)(struct request *),
		 bool loop)
{
	int err;

	harness_apply(h);
	do {
		err = prepare_run(h, prepare, !loop);
		if (err == -KILN_EWOULDBLOCK && loop)
			err = prepare_run(h, prepare, true);
		if (!err)
			err = harness_change(h, op);
		if (err == -KILN_EWOULDBLOCK && loop) {
			h->req.may_block = true;
			err = harness_change(h, op);
		}
	} while (err == -KILN_EAGAIN);
	h->req.error = err;
	return err;
}

void harness_reap(struct harness *h)
{
	while (h->volume.state.reaps > 0) {
		harness_request(h, h->volume.state.reap[--h->volume.state.reaps], NULL, NULL, NULL);
		assert_int_equal(harness_change(h, op_reap), 0);
	}
}

unsigned harness_opens(struct harness *h, uint64_t handle)
{
	size_t i = open_slot(&h->volume, handle);

	return h->volume.state.open[i].handle == handle ? h->volume.state.open[i].count : 0;
}

bool harness_orphan(struct harness *h, uint64_t handle)
{
	size_t i = open_slot(&h->volume, handle);

	return h->volume.state.open[i].handle == handle && h->volume.state.open[i].orphan;
}

void harness_close(struct harness *h, uint64_t handle)
{
	open_drop(&the_session, handle);
	harness_reap(h);
}

struct inode harness_inode(struct harness *h, uint64_t handle)
{
	struct inode inode;

	harness_apply(h);
	assert_int_equal(inode_get(h->reader, handle, &inode), 0);
	return inode;
}

bool harness_gone(struct harness *h, uint64_t handle)
{
	struct inode inode;

	harness_apply(h);
	return inode_get(h->reader, handle, &inode) == -KILN_ESTALE;
}

void harness_edit(struct harness *h, const struct inode *inode)
{
	txn_mark(h->group);
	assert_int_equal(inode_put(h->group, inode), 0);
	harness_apply(h);
}

/* --- operations --------------------------------------------------------------------------- */

static int answer(struct harness *h, int err, uint64_t nodeid, uint64_t *handle)
{
	if (handle)
		*handle = err ? 0 : nodeid;
	return err;
}

static int change_entry(struct harness *h, int (*op)(struct request *), uint64_t *handle)
{
	int err = harness_change(h, op);

	return answer(h, err, h->req.out.entry.nodeid, handle);
}

int h_lookup(struct harness *h, uint64_t dir, const char *name, uint64_t *handle)
{
	harness_request(h, dir, NULL, name, NULL);

	int err = harness_read(h, op_lookup);

	return answer(h, err, h->req.out.entry.nodeid, handle);
}

int h_create(struct harness *h, uint64_t dir, const char *name, int flags, uint32_t mode,
	     uint64_t *handle)
{
	struct fuse_create_in arg = { .flags = (uint32_t)flags, .mode = S_IFREG | mode,
				      .umask = h->umask };

	harness_request(h, dir, &arg, name, NULL);
	return change_entry(h, op_create, handle);
}

int h_mknod(struct harness *h, uint64_t dir, const char *name, uint32_t mode, uint32_t rdev,
	    uint64_t *handle)
{
	struct fuse_mknod_in arg = { .mode = mode, .rdev = rdev, .umask = h->umask };

	harness_request(h, dir, &arg, name, NULL);
	return change_entry(h, op_mknod, handle);
}

int h_mkdir(struct harness *h, uint64_t dir, const char *name, uint32_t mode, uint64_t *handle)
{
	struct fuse_mkdir_in arg = { .mode = mode, .umask = h->umask };

	harness_request(h, dir, &arg, name, NULL);
	return change_entry(h, op_mkdir, handle);
}

int h_symlink(struct harness *h, uint64_t dir, const char *name, const char *target,
	      uint64_t *handle)
{
	harness_request(h, dir, NULL, name, target);
	return change_entry(h, op_symlink, handle);
}

int h_tmpfile(struct harness *h, uint64_t dir, int flags, uint64_t *handle)
{
	struct fuse_create_in arg = { .flags = (uint32_t)flags, .mode = S_IFREG | 0600,
				      .umask = h->umask };

	harness_request(h, dir, &arg, "/", NULL);
	return change_entry(h, op_tmpfile, handle);
}

int h_link(struct harness *h, uint64_t handle, uint64_t dir, const char *name)
{
	struct fuse_link_in arg = { .oldnodeid = handle };

	harness_request(h, dir, &arg, name, NULL);
	return harness_change(h, op_link);
}

int h_readlink(struct harness *h, uint64_t handle, char *buf, size_t cap)
{
	harness_request(h, handle, NULL, NULL, NULL);

	int err = harness_read(h, op_readlink);

	if (err)
		return err;
	assert_true(h->req.body_len < cap);
	memcpy(buf, h->req.body, h->req.body_len);
	buf[h->req.body_len] = '\0';
	return 0;
}

int h_unlink(struct harness *h, uint64_t dir, const char *name)
{
	harness_request(h, dir, NULL, name, NULL);
	return harness_change(h, op_unlink);
}

int h_rmdir(struct harness *h, uint64_t dir, const char *name)
{
	harness_request(h, dir, NULL, name, NULL);
	return harness_change(h, op_rmdir);
}

int h_rename(struct harness *h, uint64_t dir, const char *name, uint64_t newdir,
	     const char *newname, uint32_t flags)
{
	struct fuse_rename2_in arg = { .newdir = newdir, .flags = flags };

	harness_request(h, dir, &arg, name, newname);
	return harness_change(h, flags ? op_rename2 : op_rename);
}

int harness_setup_mem(void **state)
{
	*state = harness_new("mem");
	return 0;
}

int harness_setup_rocks(void **state)
{
	*state = harness_new("rocksdb");
	return 0;
}

int harness_teardown(void **state)
{
	harness_free(*state);
	return 0;
}

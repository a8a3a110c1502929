/* Runs operations' handlers as plain functions: a store, one brick with a root directory, and in
 * place of server/volume.c a volume simple enough to look into.  No loop, no thread, no message.
 *
 * A change runs in the group; if it fails the group is undone to its mark and the volume's state
 * put back, as the scheduler does.  It is applied at once unless `lazy` says to let changes
 * gather until harness_apply, as the scheduler combines them. */
#ifndef TESTS_UNIT_HARNESS_H
#define TESTS_UNIT_HARNESS_H

#include "server/locktable.h"
#include "server/ops.h"
#include "server/volume.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { HARNESS_OPENS = 512, HARNESS_BRICK = 1 };

/* What a failed change must leave as it was; copied whole. */
struct volume_state {
	uint64_t next_handle;
	int64_t inodes, blocks;
	struct {
		uint64_t handle;
		unsigned count;
		bool orphan;
	} open[HARNESS_OPENS];
	uint64_t doomed[HARNESS_OPENS], reap[HARNESS_OPENS];
	size_t dooms, reaps;
	uint64_t trash_handle;     /* what the last volume_trash was told */
	uint32_t trash_gen;
	uint64_t trim_handle, trim_size; /* ... volume_trim */
};

struct volume {
	struct volume_state state;
	struct store *store;
	int64_t inodes_max, blocks_max;
	bool read_only, keep_cache;
	uint64_t cache_ns;
	int durability;
	uint64_t written;          /* last volume_note_writer */
	struct locktable *locks;   /* NULL unless the test makes one */
};

struct harness {
	struct volume volume;
	struct txn *group, *reader;
	bool lazy;
	uint32_t uid, gid, umask;
	struct request req;        /* the last one, with its answer */
	uint64_t seq;
	char dir[64];
	const char *backend;
	const struct disk *disk;
	uint64_t body[REPLY_BYTES_MAX / 8];
};

/* backend: "mem" or "rocksdb". */
struct harness *harness_new(const char *backend);
struct harness *harness_new_on(const char *backend, const struct disk *disk);
/* harness_restart: the store is closed, meanwhile called, the store opened again. */
void harness_restart(struct harness *h, void (*meanwhile)(void *context), void *context);
void harness_free(struct harness *h);

/* harness_request: the next request; names may be NULL.  harness_change, harness_read: runs its
 * handler; 0 or -KILN_Exxx. */
struct request *harness_request(struct harness *h, uint64_t nodeid, const void *arg,
				const char *name0, const char *name1);
int harness_change(struct harness *h, int (*op)(struct request *));
int harness_read(struct harness *h, int (*op)(struct request *));
/* harness_data: both halves of an OP_DATA; loop: first as a loop would, where nothing may block,
 * then as a pool thread. */
int harness_data(struct harness *h, int (*prepare)(struct request *), int (*op)(struct request *),
		 bool loop);
void harness_apply(struct harness *h);
void harness_reap(struct harness *h);  /* runs the op_reap that closes have queued */
bool harness_orphan(struct harness *h, uint64_t handle); /* what volume_orphan, _adopt said */
unsigned harness_opens(struct harness *h, uint64_t handle);
void harness_close(struct harness *h, uint64_t handle); /* open_drop and what follows */

/* harness_inode: as applied; fails the test if there is none.  harness_gone: there is none. */
struct inode harness_inode(struct harness *h, uint64_t handle);
bool harness_gone(struct harness *h, uint64_t handle);
/* harness_edit: for states that no operation of the test makes. */
void harness_edit(struct harness *h, const struct inode *inode);

/* Operations; the inode's handle, if there is one, in *handle (NULL: not wanted). */
int h_lookup(struct harness *h, uint64_t dir, const char *name, uint64_t *handle);
int h_create(struct harness *h, uint64_t dir, const char *name, int flags, uint32_t mode,
	     uint64_t *handle);
int h_mknod(struct harness *h, uint64_t dir, const char *name, uint32_t mode, uint32_t rdev,
	    uint64_t *handle);
int h_mkdir(struct harness *h, uint64_t dir, const char *name, uint32_t mode, uint64_t *handle);
int h_symlink(struct harness *h, uint64_t dir, const char *name, const char *target,
	      uint64_t *handle);
int h_tmpfile(struct harness *h, uint64_t dir, int flags, uint64_t *handle);
int h_link(struct harness *h, uint64_t handle, uint64_t dir, const char *name);
int h_readlink(struct harness *h, uint64_t handle, char *buf, size_t cap);
int h_unlink(struct harness *h, uint64_t dir, const char *name);
int h_rmdir(struct harness *h, uint64_t dir, const char *name);
int h_rename(struct harness *h, uint64_t dir, const char *name, uint64_t newdir,
	     const char *newname, uint32_t flags);

/* A group of tests whose state is a harness. */
int harness_setup_mem(void **state);
int harness_setup_rocks(void **state);
int harness_teardown(void **state);
#define HARNESS_TEST(f) cmocka_unit_test_setup_teardown(f, harness_setup_mem, harness_teardown)

#endif

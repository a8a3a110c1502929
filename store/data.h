/* Data files: the bytes of files that have outgrown the database.  One sparse file for each
 * (brick, handle, generation), below DIR/data/BRICK/xx/.  Descriptors are kept in a small
 * LRU cache.  A missing data file reads as zeros (after a power cut before its first sync);
 * reads beyond its end are zeros too: the size lives in the inode, not here.
 *
 * Any thread.  Order between changes of one file is the caller's (a file's turn, see
 * server/volume.h). */
#ifndef STORE_DATA_H
#define STORE_DATA_H

#include "store/disk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct data;

struct data_id {
	uint64_t handle;
	uint32_t brick;
	uint32_t gen; /* a file truncated to nothing gets a new generation, the old is trash */
};

int data_open(const char *store_dir, const struct disk *disk, unsigned max_open,
	      struct data **out);
void data_close(struct data *data);

/* nowait: -KILN_EWOULDBLOCK (nothing done) where it would block on a disk. */
int data_read(struct data *data, struct data_id id, void *buf, size_t len, uint64_t offset,
	      bool nowait);
int data_write(struct data *data, struct data_id id, const void *buf, size_t len, uint64_t offset,
	       bool nowait);
int data_truncate(struct data *data, struct data_id id, uint64_t size);
int data_allocate(struct data *data, struct data_id id, int mode, uint64_t offset, uint64_t len);
/* data_seek: whence SEEK_DATA or SEEK_HOLE below `size`; -KILN_ENXIO as lseek(2). */
int data_seek(struct data *data, struct data_id id, uint64_t size, uint64_t offset, int whence,
	      uint64_t *found);
int data_copy(struct data *data, struct data_id from, uint64_t from_off, struct data_id to,
	      uint64_t to_off, size_t len);
int data_blocks(struct data *data, struct data_id id, uint64_t *count512);
/* data_sync: the file's bytes are durable on return, its directory entry too. */
int data_sync(struct data *data, struct data_id id);
/* data_unsynced: false: this process has put nothing into the file that is not durable.  True may
 * be wrong, once files have had to be closed to make room. */
bool data_unsynced(struct data *data, struct data_id id);
/* data_sync_many: all of ids, writeback of all started before the first is waited for. */
int data_sync_many(struct data *data, const struct data_id *ids, size_t count);
/* data_sync_all: every file written since its last sync. */
int data_sync_all(struct data *data);
/* data_remove: missing is fine.  data_remove_brick: everything of a brick. */
int data_remove(struct data *data, struct data_id id);
int data_remove_brick(struct data *data, uint32_t brick);
int data_remove_all(struct data *data);

#endif

/* A store: one directory with its database, its data files, its journal and its committer.
 *
 *   DIR/format   "kiln store 2\nbackend rocksdb\nlayout split\nuuid ..." (docs/format.md)
 *   DIR/lock     flock'ed while a server has it, holds that server's pid
 *   DIR/db/      the database
 *   DIR/journal/ the journal in front of it
 *   DIR/data/    data files
 *   DIR/reserve  room held back (store/room.h)
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "store/commit.h"
#include "store/data.h"
#include "store/kv.h"
#include "store/room.h"

struct store;

struct store_options {
	const char *backend, *layout; /* NULL: what the store has; for a new one rocksdb, split */
	uint64_t cache_bytes, buffer_bytes;
	struct commit_options commit;
	const struct disk *disk;      /* NULL: disk_real */
	struct kv *kv;                /* NULL: what lies in DIR/db; else in its place, for tests:
					 store_open takes it over, whatever it returns */
	bool create;                  /* make DIR if it is missing or empty */
};

/* store_open: on failure *why is a malloc'd sentence (what, why, what to do).
 * -KILN_ELOCKED, -KILN_ENOTKILN, -KILN_EVERSION, -KILN_ECORRUPT, -KILN_EACCES, -KILN_ENOSPC,
 * -KILN_EINVAL (backend or layout differ from what the store was made with). */
int store_open(const char *dir, const struct store_options *options, struct store **out,
	       char **why);
void store_close(struct store *s); /* commits, then closes; releases the lock */

struct kv *store_kv(struct store *s);
struct data *store_data(struct store *s);
struct committer *store_committer(struct store *s);
const char *store_dir(const struct store *s);
const char *store_backend(const struct store *s);
const char *store_layout(const struct store *s);
/* store_room: NULL for a back end that takes none. */
struct room *store_room(struct store *s);
/* store_space: bytes in all of the file system below DIR (memory for mem), and those that may still
 * be written there. */
int store_space(struct store *s, uint64_t *total, uint64_t *avail);

#endif

/* Room on the disk below a store.  What has been applied must still be written to the database's
 * files, and what has been removed comes free only by writing: a database that finds no room for
 * that is stopped.  So room is held back, in two ways:
 *
 *   - changes that bring new bytes are refused (-KILN_ENOSPC) while what is free would not leave
 *     a margin beside what has yet to be written.  Removals never are.
 *   - a part of the margin is really taken, by the file DIR/reserve, as others fill the same disk.
 *     It is given back in steps when what is free is needed, and taken again when there is more.
 *
 * What clients see as free (statfs) is what they may still write.
 *
 * A thread looks at the disk: once a second, ten times where room is scarce, and at once when what
 * it found free has been used up.  In between what is written is counted, so asking whether there
 * is room costs no system call and no lock.
 *
 * room_admit, room_took, room_left: any thread.  NULL is fine everywhere: there is no limit. */
#ifndef STORE_ROOM_H
#define STORE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct room;

struct room_owner {
	/* debt: bytes that have been applied and are not in files yet. */
	uint64_t (*debt)(void *context);
	/* relieve: asks for them to be written soon; does not wait. */
	void (*relieve)(void *context);
	/* collecting: room will come by itself. */
	bool (*collecting)(void *context);
	void *context;
};

enum room_need {
	ROOM_NONE,   /* takes away, or changes nothing that lasts */
	ROOM_LITTLE, /* attributes, names that move */
	ROOM_BYTES,  /* new names, new bytes */
};

/* room_open: before the database is opened.  Where there is little room the reserve is given back,
 * so that what the journal holds can be written.  dir and dir_fd stay the caller's and are used
 * until room_close. */
int room_open(const char *dir, int dir_fd, struct room **out);
/* room_watch: takes the reserve and starts the thread.  owner is copied; called by the thread. */
int room_watch(struct room *r, const struct room_owner *owner);
/* room_unwatch: owner is not called any more on return, and where there is little room the reserve is
 * given back, for the closing of the database.  room_close takes it again. */
void room_unwatch(struct room *r);
void room_close(struct room *r);

/* room_admit: 0; -KILN_ENOSPC: the disk is full; -KILN_EWOULDBLOCK (without may_block): perhaps,
 * but what has been applied must be written first for that to be known. */
int room_admit(struct room *r, enum room_need need, bool may_block);
/* room_took: so many bytes have just been written. */
void room_took(struct room *r, uint64_t bytes);
/* room_left: bytes that may still be written by clients. */
uint64_t room_left(const struct room *r);

#endif

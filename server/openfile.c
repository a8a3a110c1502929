/* Layout: one page of header, then records.  A record is in use if its count is not 0; the count
 * is written last when it is made and first when it is freed, so a kill between two stores leaves
 * either a whole record or none. */
#include "server/openfile.h"

#include "base/err.h"
#include "base/lock.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_BYTES = 4096, BOOT_ID_BYTES = 36, GROW_BYTES = 65536 };

#define SPACE_BYTES (1ull << 30) /* of addresses; the file is as long as it needs to be */

struct header {
	char magic[8];
	char boot_id[BOOT_ID_BYTES];
	uint32_t record_bytes;
};

struct record {
	uint64_t client, handle;
	uint64_t unique[2]; /* of the last two requests counted here */
	uint32_t brick;
	uint32_t count;     /* atomic: 0: free */
};

struct openfile {
	int fd;
	uint8_t *map;           /* SPACE_BYTES */
	struct lock lock;       /* LEAF */
	uint32_t size;          /* [lock] records the file has room for */
	uint32_t old_size;      /* ... at the start */
	uint32_t *free;         /* [lock] stack of free records */
	uint32_t free_count, free_cap; /* [lock] */
};

static const char magic[8] = "kilnopn1";

static struct record *record_of(const struct openfile *of, uint32_t i)
{
	return (struct record *)(void *)(of->map + HEADER_BYTES) + i;
}

static int read_boot_id(char out[BOOT_ID_BYTES])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, BOOT_ID_BYTES);

	if (fd >= 0)
		close(fd);
	return n == BOOT_ID_BYTES ? 0 : n < 0 ? err_from_errno(errno) : -KILN_ESYS;
}

static bool reserve_free(struct openfile *of, uint32_t more)
{
	uint32_t cap = of->free_count + more;
	uint32_t *bigger;

	if (cap <= of->free_cap)
		return true;
	bigger = realloc(of->free, cap * sizeof *bigger);
	if (!bigger)
		return false;
	of->free = bigger;
	of->free_cap = cap;
	return true;
}

/* Blocks are allocated, not just promised: a store to a page that cannot be written back would be
 * a SIGBUS. */
static bool grow(struct openfile *of)
{
	uint64_t bytes = HEADER_BYTES + (uint64_t)of->size * sizeof(struct record);
	uint32_t more = GROW_BYTES / sizeof(struct record);

	if (bytes + GROW_BYTES > SPACE_BYTES || !reserve_free(of, of->size + more) ||
	    posix_fallocate(of->fd, 0, (off_t)(bytes + GROW_BYTES)) != 0)
		return false;
	for (uint32_t i = 0; i < more; i++)
		of->free[of->free_count++] = of->size + more - 1 - i;
	of->size += more;
	return true;
}

static bool is_of_this_boot(const struct openfile *of, const struct stat *st, const char *boot_id)
{
	const struct header *h = (const void *)of->map;

	return st->st_size >= HEADER_BYTES && memcmp(h->magic, magic, sizeof magic) == 0 &&
	       memcmp(h->boot_id, boot_id, BOOT_ID_BYTES) == 0 &&
	       h->record_bytes == sizeof(struct record);
}

static int begin_anew(struct openfile *of, const char *boot_id)
{
	struct header h = { .record_bytes = sizeof(struct record) };

	memcpy(h.magic, magic, sizeof magic);
	memcpy(h.boot_id, boot_id, BOOT_ID_BYTES);
	if (ftruncate(of->fd, 0) != 0 || posix_fallocate(of->fd, 0, HEADER_BYTES) != 0)
		return -KILN_ENOSPC;
	memcpy(of->map, &h, sizeof h);
	return 0;
}

static int take_over(struct openfile *of, const struct stat *st)
{
	of->size = (uint32_t)(((uint64_t)st->st_size - HEADER_BYTES) / sizeof(struct record));
	of->old_size = of->size;
	if (!reserve_free(of, of->size))
		return -KILN_ENOMEM;
	for (uint32_t i = of->size; i-- > 0;)
		if (record_of(of, i)->count == 0)
			of->free[of->free_count++] = i;
	return 0;
}

int openfile_start(const char *dir, struct openfile **out)
{
	struct openfile *of = calloc(1, sizeof *of);
	char path[4096], boot_id[BOOT_ID_BYTES];
	struct stat st;
	int err;

	if (!of)
		return -KILN_ENOMEM;
	lock_init(&of->lock, LOCK_RANK_LEAF, "open files");
	of->map = MAP_FAILED;
	snprintf(path, sizeof path, "%s/opens", dir);
	of->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	err = of->fd < 0 || fstat(of->fd, &st) != 0 ? err_from_errno(errno) : read_boot_id(boot_id);
	if (err)
		goto out;
	of->map = mmap(NULL, SPACE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, of->fd,
		       0);
	if (of->map == MAP_FAILED) {
		err = err_from_errno(errno);
		goto out;
	}
	err = is_of_this_boot(of, &st, boot_id) ? take_over(of, &st) : begin_anew(of, boot_id);
out:
	if (err)
		openfile_stop(of);
	else
		*out = of;
	return err;
}

void openfile_stop(struct openfile *of)
{
	if (!of)
		return;
	if (of->map != MAP_FAILED)
		munmap(of->map, SPACE_BYTES);
	if (of->fd >= 0)
		close(of->fd);
	lock_destroy(&of->lock);
	free(of->free);
	free(of);
}

static uint32_t take_free(struct openfile *of)
{
	lock_guard(&of->lock);
	if (of->free_count == 0 && !grow(of))
		return OPENFILE_NONE;
	return of->free[--of->free_count];
}

uint32_t openfile_add(struct openfile *of, uint64_t client, uint32_t brick, uint64_t handle,
		      uint64_t unique)
{
	uint32_t i = take_free(of);
	struct record *r;

	if (i == OPENFILE_NONE)
		return i;
	r = record_of(of, i);
	r->client = client;
	r->handle = handle;
	r->brick = brick;
	r->unique[0] = unique;
	r->unique[1] = 0;
	__atomic_store_n(&r->count, 1, __ATOMIC_RELEASE);
	return i;
}

void openfile_free(struct openfile *of, uint32_t i)
{
	if (i == OPENFILE_NONE)
		return;
	__atomic_store_n(&record_of(of, i)->count, 0, __ATOMIC_RELEASE);
	lock_guard(&of->lock);
	of->free[of->free_count++] = i; /* there is room for every record there is */
}

void openfile_count(struct openfile *of, uint32_t i, uint32_t count, uint64_t unique)
{
	struct record *r;

	if (i == OPENFILE_NONE)
		return;
	r = record_of(of, i);
	if (unique) {
		r->unique[1] = r->unique[0];
		r->unique[0] = unique;
	}
	__atomic_store_n(&r->count, count, __ATOMIC_RELEASE);
}

bool openfile_seen(const struct openfile *of, uint32_t i, uint64_t unique)
{
	const struct record *r;

	if (i == OPENFILE_NONE)
		return false;
	r = record_of(of, i);
	return r->unique[0] == unique || r->unique[1] == unique;
}

void openfile_each(struct openfile *of, uint32_t brick,
		   void (*fn)(void *context, uint32_t record, uint64_t client, uint64_t handle,
			      uint32_t count),
		   void *context)
{
	for (uint32_t i = 0; i < of->old_size; i++) {
		const struct record *r = record_of(of, i);
		uint32_t count = __atomic_load_n(&r->count, __ATOMIC_ACQUIRE);

		if (count && r->brick == brick)
			fn(context, i, r->client, r->handle, count);
	}
}

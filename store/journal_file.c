/* The journal's files: making, opening, their heads. */
#include "base/err.h"
#include "store/format.h"
#include "store/journal_impl.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* FILL_BYTES: the page cache keeps what one call wrote as one folio, where the file system can,
 * and each later write into it goes over all of its blocks: with 1 MiB that was a tenth of an
 * append. */
enum { FILL_BYTES = 16 << 10, NAME_BYTES = 16 };

/* The first SEGMENT_HEAD bytes: one sector, which a disk writes whole or not at all. */
struct segment_head {
	char magic[8];
	uint64_t order, generation, first, size, durable; /* little-endian */
	uint64_t zero, check;
};
_Static_assert(sizeof(struct segment_head) == SEGMENT_HEAD, "as docs/format.md says");

static const char magic[8] = "kilnjrn1";

void segment_list_init(struct segment_list *l)
{
	l->first = NULL;
	l->tail = &l->first;
	l->count = 0;
}

void segment_list_add(struct segment_list *l, struct segment *s)
{
	s->next = NULL;
	*l->tail = s;
	l->tail = &s->next;
	l->count++;
}

void segment_list_remove(struct segment_list *l, struct segment *s)
{
	struct segment **at = &l->first;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	if (!s->next)
		l->tail = at;
	l->count--;
}

static void name_of(unsigned name, char *text)
{
	snprintf(text, NAME_BYTES, "%04u", name);
}

int segment_generation(struct segment *s)
{
	if (getrandom(&s->generation, sizeof(s->generation), 0) != sizeof(s->generation))
		return -KILN_ESYS;
	return 0;
}

/* Zeros are really written: space that is only reserved is turned into written space by its
 * first write, which is what makes a sync dear. */
static int fill(struct journal *j, int fd, uint64_t size)
{
	unsigned char *zeros = calloc(1, FILL_BYTES);
	size_t done;
	int err = zeros ? 0 : -KILN_ENOMEM;

	for (uint64_t at = 0; at < size && !err; at += FILL_BYTES) {
		size_t len = size - at < FILL_BYTES ? (size_t)(size - at) : FILL_BYTES;

		err = j->disk->write(j->disk, fd, zeros, len, at, false, &done);
	}
	free(zeros);
	return err ? err : j->disk->sync(j->disk, fd);
}

static struct segment *segment_new(unsigned name, int fd, uint64_t size)
{
	struct segment *s = calloc(1, sizeof(*s));

	if (s)
		*s = (struct segment){ .name = name, .fd = fd, .size = size };
	return s;
}

int segment_make(struct journal *j, uint64_t size, struct segment **out)
{
	unsigned name = j->next_name;
	char text[NAME_BYTES];
	struct segment *s = NULL;
	int fd, err;

	name_of(name, text);
	err = j->disk->open(j->disk, j->dir_fd, text, O_RDWR | O_CREAT | O_EXCL, 0600, &fd);
	if (err)
		return err;
	j->next_name++;
	err = fill(j, fd, size);
	if (!err)
		err = j->disk->sync(j->disk, j->dir_fd);
	if (!err)
		s = segment_new(name, fd, size);
	if (s)
		err = segment_generation(s);
	else if (!err)
		err = -KILN_ENOMEM;
	if (!err) {
		*out = s;
		return 0;
	}
	free(s);
	j->disk->close(j->disk, fd);
	j->disk->unlink(j->disk, j->dir_fd, text); /* if not: it is too short or unused, and found */
	return err;
}

static bool is_zero(const unsigned char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i])
			return false;
	return true;
}

/* drop_short: a file is made of zeros before anything is written to it, so one that is not of
 * whole pages, or has no page, was cut short while it was made, unless it has a head. */
static int drop_short(struct journal *j, int fd, const char *name, char **why)
{
	unsigned char head[SEGMENT_HEAD];
	size_t done;
	int err = j->disk->read(j->disk, fd, head, sizeof(head), 0, false, &done);

	if (!err && !is_zero(head, done))
		return why_set(why, -KILN_ECORRUPT, "the journal's segment %s/%s is too short",
			       j->path, name);
	if (!err)
		err = j->disk->unlink(j->disk, j->dir_fd, name);
	return err ? why_set(why, err, "cannot remove %s/%s: %s", j->path, name, err_text(err))
		   : 0;
}

int segment_open(struct journal *j, unsigned name, struct segment **out, char **why)
{
	char text[NAME_BYTES];
	struct stat st;
	int fd, err;

	*out = NULL;
	name_of(name, text);
	err = j->disk->open(j->disk, j->dir_fd, text, O_RDWR, 0, &fd);
	if (!err && fstat(fd, &st) < 0)
		err = err_from_errno(errno);
	if (err)
		return why_set(why, err, "cannot open %s/%s: %s", j->path, text, err_text(err));
	if (st.st_size < JOURNAL_PAGE || st.st_size % JOURNAL_PAGE) {
		err = drop_short(j, fd, text, why);
		j->disk->close(j->disk, fd);
		return err;
	}
	*out = segment_new(name, fd, (uint64_t)st.st_size);
	if (*out)
		return 0;
	j->disk->close(j->disk, fd);
	return -KILN_ENOMEM;
}

void segment_close(struct journal *j, struct segment *s)
{
	j->disk->close(j->disk, s->fd);
	free(s);
}

int segment_delete(struct journal *j, struct segment *s)
{
	char text[NAME_BYTES];

	name_of(s->name, text);
	segment_close(j, s);
	return j->disk->unlink(j->disk, j->dir_fd, text);
}

/* A whole page, so that the kernel need not read what was there. */
static int write_head(struct journal *j, struct segment *s, const struct segment_head *h)
{
	size_t done;

	memset(j->page, 0, JOURNAL_PAGE);
	memcpy(j->page, h, sizeof(*h));
	return j->disk->write(j->disk, s->fd, j->page, JOURNAL_PAGE, 0, false, &done);
}

static uint64_t head_check(const struct segment_head *h)
{
	return htole64(XXH3_64bits(h, offsetof(struct segment_head, check)));
}

int segment_start(struct journal *j, struct segment *s, uint64_t durable)
{
	struct segment_head h = {
		.order = htole64(s->order),
		.generation = htole64(s->generation),
		.first = htole64(s->first),
		.size = htole64(s->size),
		.durable = htole64(durable),
	};

	memcpy(h.magic, magic, sizeof(magic));
	h.check = head_check(&h);
	return write_head(j, s, &h);
}

int segment_retire(struct journal *j, struct segment *s)
{
	struct segment_head h = { 0 };
	int err = write_head(j, s, &h);

	s->order = 0;
	return err ? err : j->disk->sync(j->disk, s->fd);
}

int segment_read_head(struct journal *j, struct segment *s, uint64_t *durable, bool *damaged)
{
	static const struct segment_head unused;
	struct segment_head h;
	size_t done;
	int err = j->disk->read(j->disk, s->fd, &h, sizeof(h), 0, false, &done);

	*durable = 0;
	*damaged = false;
	s->order = 0;
	if (err || done != sizeof(h))
		return err ? err : -KILN_EIO;
	if (memcmp(&h, &unused, sizeof(h)) == 0)
		return 0;
	*damaged = memcmp(h.magic, magic, sizeof(magic)) != 0 || h.check != head_check(&h) ||
		   le64toh(h.size) != s->size || !h.order;
	if (*damaged)
		return 0;
	s->order = le64toh(h.order);
	s->generation = le64toh(h.generation);
	s->first = le64toh(h.first);
	*durable = le64toh(h.durable);
	return 0;
}

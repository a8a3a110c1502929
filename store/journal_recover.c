/* What a journal says at open.
 *
 * A segment in use holds a run: records of its generation with consecutive numbers, from the
 * first one its head names.  The runs in the order of their segments, joined where one begins
 * with the number after the last, are what can be replayed; the first number that is missing
 * (torn, or never written) ends it, whatever lies beyond.
 *
 * Segments are synced in any order, two at a time (journal_sync.c), and the kernel writes them
 * back in any order, so a later one can be whole while the end of an earlier one is not:
 *   - what the earlier one lacks is a gap.  Nothing beyond it is replayed, whatever is there, and
 *     nothing beyond it had been called durable: that is said only when all segments up to a
 *     number are synced, so no head in the later one can say it and have the journal refused.
 *   - what the earlier one has too much is a batch that an earlier version of this program took
 *     back there, with zeros that were lost; its number was given again in the later one.  So a
 *     run ends before the number that the next segment's head begins with.
 *
 * Every head, of records and of segments, also says up to which number all was durable when it
 * was written.  A number that is missing though some head says that it was durable has been lost
 * by the disk: the journal is refused, for to go on would be to lose an answered change silently.
 * So that such heads are found behind a damaged record too, the rest of the segment is searched
 * for them. */
#include "base/err.h"
#include "store/format.h"
#include "store/journal_impl.h"
#include "store/kv_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* A segment in memory while it is read. */
struct image {
	const struct segment *segment;
	uint64_t before; /* its numbers are below: those of the next segment begin there */
	unsigned char *bytes;
};

struct walk {
	struct journal *j;
	uint64_t next;        /* the number that is missing so far */
	uint64_t durable;     /* highest number that any head calls durable */
	int (*apply)(void *context, uint64_t number, const struct kv_batch *batch); /* or NULL */
	void *context;
	struct kv_batch *batch;
};

static void raise_to(uint64_t *number, uint64_t value)
{
	if (*number < value)
		*number = value;
}

/* record_at: the valid record of the image at `at`; its body is whole. */
static bool record_at(const struct image *im, uint64_t at, struct record_head *h)
{
	const struct segment *s = im->segment;

	return s->size - at >= RECORD_HEAD && record_get_head(im->bytes + at, s->generation, h) &&
	       h->len <= s->size - at - RECORD_HEAD &&
	       XXH3_64bits(im->bytes + at + RECORD_HEAD, h->len) == h->hash;
}

static int give(struct walk *w, const struct image *im, uint64_t at, const struct record_head *h)
{
	int err;

	if (!w->apply)
		return 0;
	err = record_decode(im->bytes + at + RECORD_HEAD, h->len, w->batch);
	return err ? err : w->apply(w->context, h->number, w->batch);
}

/* walk_run: true as long as records are valid and consecutive; those that are next are given. */
static int walk_run(struct walk *w, const struct image *im, uint64_t *end)
{
	uint64_t at = SEGMENT_HEAD, number = im->segment->first;
	struct record_head h;
	int err = 0;

	for (; !err && number < im->before && record_at(im, at, &h) && h.number == number;
	     number++) {
		raise_to(&w->durable, h.durable);
		if (number == w->next) {
			err = give(w, im, at, &h);
			w->next++;
		}
		at += RECORD_HEAD + h.len;
	}
	*end = at;
	return err;
}

/* search: what heads beyond the end of the run say. */
static void search(struct walk *w, const struct image *im, uint64_t at)
{
	struct record_head h;

	for (; at + RECORD_HEAD <= im->segment->size; at++)
		if (record_get_head(im->bytes + at, im->segment->generation, &h))
			raise_to(&w->durable, h.durable);
}

static int read_image(struct journal *j, struct image *im)
{
	size_t done;
	int err;

	im->bytes = malloc(im->segment->size);
	if (!im->bytes)
		return -KILN_ENOMEM;
	err = j->disk->read(j->disk, im->segment->fd, im->bytes, im->segment->size, 0, false,
			    &done);
	return err || done == im->segment->size ? err : -KILN_EIO;
}

static int walk_segment(struct walk *w, const struct segment *s)
{
	struct image im = { .segment = s, .before = s->next ? s->next->first : UINT64_MAX };
	uint64_t end;
	int err = read_image(w->j, &im);

	if (!err)
		err = walk_run(w, &im, &end);
	if (!err && !w->apply)
		search(w, &im, end);
	free(im.bytes);
	return err;
}

static int walk_all(struct walk *w)
{
	int err = 0;

	for (struct segment *s = w->j->used.first; s && !err; s = s->next)
		err = walk_segment(w, s);
	return err;
}

/* refuse: names the segment that should hold the missing number, or the one before it. */
static int refuse(const struct walk *w, char **why)
{
	const struct segment *first = w->j->used.first, *at = NULL;

	for (const struct segment *s = first; s && s->first <= w->next; s = s->next)
		at = s;
	return why_set(why, -KILN_ECORRUPT,
		       "the journal %s has lost batch %llu, though batches up to %llu had been "
		       "synced: %s %s/%04u %s",
		       w->j->path, (unsigned long long)w->next, (unsigned long long)w->durable,
		       at ? "segment" : "the segment before", w->j->path,
		       at ? at->name : first->name,
		       at ? "is damaged, or the one after it is missing" : "is missing");
}

int journal_replay(struct journal *j, uint64_t persisted,
		   int (*apply)(void *context, uint64_t number, const struct kv_batch *batch),
		   void *context, uint64_t *through, char **why)
{
	struct walk look = { .j = j, .next = persisted + 1 };
	struct walk play = { .j = j, .next = persisted + 1, .apply = apply, .context = context };
	int err = walk_all(&look);

	for (struct segment *s = j->used.first; s; s = s->next)
		raise_to(&look.durable, s->last); /* what its head called durable, see below */
	if (!err && look.durable >= look.next)
		return refuse(&look, why);
	play.batch = err ? NULL : kv_batch_new();
	if (!err)
		err = play.batch ? walk_all(&play) : -KILN_ENOMEM;
	kv_batch_free(play.batch);
	if (err)
		return why_set(why, err, "cannot replay the journal %s: %s", j->path,
			       err_text(err));
	*through = play.next - 1;
	j->replayed = *through - persisted;
	return 0;
}

/* add_in_order: into used, by order. */
static void add_in_order(struct segment_list *l, struct segment *s)
{
	struct segment **at = &l->first;

	while (*at && (*at)->order < s->order)
		at = &(*at)->next;
	s->next = *at;
	*at = s;
	if (!s->next)
		l->tail = &s->next;
	l->count++;
}

static int take_segment(struct journal *j, unsigned name, char **why)
{
	struct segment *s;
	bool damaged = false;
	int err = segment_open(j, name, &s, why);

	if (err || !s)
		return err;
	/* until it is used again, last is what its head says was durable */
	err = segment_read_head(j, s, &s->last, &damaged);
	if (err)
		why_set(why, err, "cannot read %s/%04u: %s", j->path, name, err_text(err));
	else if (damaged)
		err = why_set(why, -KILN_ECORRUPT,
			      "the head of the journal's segment %s/%04u is damaged", j->path,
			      name);
	if (err) {
		segment_close(j, s);
		return err;
	}
	if (s->order)
		add_in_order(&j->used, s);
	else
		segment_list_add(&j->free, s);
	raise_to(&j->order, s->order);
	if (name >= j->next_name)
		j->next_name = name + 1;
	return 0;
}

/* Names that are not numbers are nobody's, and stay. */
static int find_segments(struct journal *j, char **why)
{
	int err = 0, fd = openat(j->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!list) {
		err = err_from_errno(errno);
		if (fd >= 0)
			close(fd);
		return why_set(why, err, "cannot list %s: %s", j->path, err_text(err));
	}
	while (!err && (entry = readdir(list))) {
		char *end;
		unsigned long name = strtoul(entry->d_name, &end, 10);

		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' && !*end &&
		    name < UINT32_MAX)
			err = take_segment(j, (unsigned)name, why);
	}
	closedir(list);
	return err;
}

static int open_dir(struct journal *j, bool create, char **why)
{
	int err = create ? j->disk->mkdir(j->disk, AT_FDCWD, j->path, 0700) : 0;

	if (err == -KILN_EEXIST)
		err = 0;
	if (!err)
		err = j->disk->open(j->disk, AT_FDCWD, j->path, O_RDONLY | O_DIRECTORY, 0,
				    &j->dir_fd);
	if (err == -KILN_ENOENT && !create)
		return why_set(why, -KILN_ECORRUPT, "the journal %s is missing", j->path);
	return err ? why_set(why, err, "cannot open the journal %s: %s", j->path, err_text(err))
		   : 0;
}

static struct journal *journal_new(const char *path, const struct journal_options *o)
{
	struct journal *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->path = strdup(path);
	j->page = malloc(JOURNAL_PAGE);
	j->disk = o->disk ? o->disk : &disk_real;
	j->segment_bytes = round_to_page(o->segment_bytes ? o->segment_bytes
							  : JOURNAL_SEGMENT_BYTES);
	if (j->segment_bytes < JOURNAL_SEGMENT_MIN)
		j->segment_bytes = JOURNAL_SEGMENT_MIN;
	j->dir_fd = -1;
	lock_init(&j->lock, LOCK_RANK_LEAF, "journal");
	cond_init(&j->work);
	cond_init(&j->room);
	cond_init(&j->sealed);
	cond_init(&j->synced);
	segment_list_init(&j->used);
	segment_list_init(&j->free);
	if (j->path && j->page)
		return j;
	journal_close(j);
	return NULL;
}

int journal_open(const char *path, const struct journal_options *o, struct journal **out,
		 char **why)
{
	struct journal *j = journal_new(path, o);
	int err = j ? open_dir(j, o->create, why) : -KILN_ENOMEM;

	if (!err)
		err = find_segments(j, why);
	if (err)
		journal_close(j);
	else
		*out = j;
	return err;
}

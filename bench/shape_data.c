/* Shapes that move bytes: small files whole, large files block by block, a journal. */
#include "bench/shape.h"

#include "base/err.h"

enum { WHOLE_EVERY = 16 }; /* every 16th read is compared in full, the others by their stamps */

static int fill_some(struct worker *w, struct cursor *c)
{
	return shape_fill(w, 1);
}

static int check(struct worker *w, uint64_t index, uint64_t offset, size_t len, bool whole)
{
	if (w->ops->keeps_nothing) {
		/* pay for the check all the same, so that the benchmark's own cost is seen whole */
		content_check(&w->content, shape_content_id(w, index), offset, len, whole);
		return 0;
	}
	return content_check(&w->content, shape_content_id(w, index), offset, len, whole);
}

static int read_whole(struct worker *w, struct target_file f, uint64_t index, bool whole)
{
	uint64_t done = 0;
	size_t got;
	int rc = 0;

	do {
		rc = w->ops->read(w->session, f, w->content.in, w->content.cap, done, &got);
		if (rc == 0)
			rc = check(w, index, done, got, whole);
		done += got;
	} while (rc == 0 && got == w->content.cap && !w->ops->keeps_nothing);
	if (rc == 0 && done < w->role->size)
		rc = -KILN_EVERIFY;
	w->bytes += done;
	return rc;
}

static int read_step(struct worker *w, struct cursor *c)
{
	char name[NAME_CAP];
	struct target_file f;
	uint64_t index;
	int rc, closed;

	if (!shape_walk(w, c, &index)) {
		w->done = true;
		return 0;
	}
	shape_name(name, 'f', w->id, index);
	rc = w->ops->open_file(w->session, w->set->dir, name, TARGET_READ, &f);
	if (rc < 0)
		return rc;
	rc = read_whole(w, f, index, c->written++ % WHOLE_EVERY == 0);
	closed = w->ops->close_file(w->session, f);
	return rc < 0 ? rc : closed;
}

static int rewrite_step(struct worker *w, struct cursor *c)
{
	char name[NAME_CAP];
	struct target_file f;
	uint64_t index = 0;
	int rc, closed;

	if (!shape_walk(w, c, &index)) {
		w->done = true;
		return 0;
	}
	shape_name(name, 'f', w->id, index);
	rc = w->ops->open_file(w->session, w->set->dir, name, TARGET_WRITE, &f);
	if (rc < 0)
		return rc;
	rc = w->ops->write(w->session, f,
			   content_make(&w->content, shape_content_id(w, index), 0, w->role->size),
			   w->role->size, 0);
	if (rc == 0 && w->role->fsync)
		rc = w->ops->fsync(w->session, f);
	closed = w->ops->close_file(w->session, f);
	w->bytes += w->role->size;
	return rc < 0 ? rc : closed;
}

static int stream_close(struct worker *w, struct cursor *c)
{
	int rc = 0;

	if (c->open)
		rc = w->ops->close_file(w->session, c->file);
	c->open = false;
	c->offset = 0;
	return rc;
}

static int stream_write_open(struct worker *w, struct cursor *c)
{
	char name[NAME_CAP];
	int rc;

	c->at = w->set->hi;
	shape_name(name, 'f', w->id, c->at);
	rc = w->ops->create(w->session, w->set->dir, name, &c->file);
	if (rc == 0) {
		w->set->hi++; /* it exists now, however long it gets */
		c->open = true;
	}
	return rc;
}

static int stream_block(struct worker *w, struct cursor *c, size_t len)
{
	uint64_t id = shape_content_id(w, c->at);
	int rc = w->ops->write(w->session, c->file, content_make(&w->content, id, c->offset, len),
			       len, c->offset);

	if (rc == 0) {
		c->offset += len;
		c->written += len;
		w->bytes += len;
	}
	return rc;
}

static int stream_write_step(struct worker *w, struct cursor *c)
{
	int rc = 0;

	if (c->written >= w->role->limit) {
		w->done = true;
		return 0;
	}
	if (!c->open)
		rc = stream_write_open(w, c);
	if (rc == 0)
		rc = stream_block(w, c, w->role->block);
	if (rc == 0 && w->role->fsync && c->offset >= w->role->size)
		rc = w->ops->fsync(w->session, c->file);
	if (rc == 0 && c->offset >= w->role->size)
		rc = stream_close(w, c);
	return rc;
}

/* At least one file, and the role's number of them, whole. */
static int stream_prepare(struct worker *w, struct cursor *c)
{
	return shape_fill(w, 1);
}

/* Opens the next file of the walk; c->size is its length.  Sets done after the last. */
static int stream_open_next(struct worker *w, struct cursor *c, int how)
{
	char name[NAME_CAP];
	struct target_stat st;
	int rc;

	if (c->left == w->set->hi - w->set->lo && w->test->cold) {
		w->done = true;
		return 0;
	}
	c->at = w->set->lo + c->left % (w->set->hi - w->set->lo);
	c->left++;
	shape_name(name, 'f', w->id, c->at);
	rc = w->ops->lookup(w->session, w->set->dir, name, &st);
	if (rc == 0)
		rc = w->ops->open_file(w->session, w->set->dir, name, how, &c->file);
	c->open = rc == 0;
	c->size = rc == 0 && !w->ops->keeps_nothing ? st.size : w->role->size;
	return rc;
}

static size_t block_here(const struct worker *w, const struct cursor *c)
{
	return c->size - c->offset < w->role->block ? c->size - c->offset : w->role->block;
}

static int stream_rewrite_step(struct worker *w, struct cursor *c)
{
	int rc = c->open ? 0 : stream_open_next(w, c, TARGET_WRITE);

	if (rc < 0 || w->done)
		return rc;
	rc = stream_block(w, c, block_here(w, c));
	if (rc == 0 && w->role->fsync && c->offset >= c->size)
		rc = w->ops->fsync(w->session, c->file);
	if (rc == 0 && c->offset >= c->size)
		rc = stream_close(w, c);
	return rc;
}

static int stream_read_step(struct worker *w, struct cursor *c)
{
	int rc = c->open ? 0 : stream_open_next(w, c, TARGET_READ);
	size_t want, got;

	if (rc < 0 || w->done)
		return rc;
	want = block_here(w, c);
	rc = w->ops->read(w->session, c->file, w->content.in, want, c->offset, &got);
	if (rc == 0 && got < want)
		rc = -KILN_EVERIFY;
	if (rc == 0)
		rc = check(w, c->at, c->offset, got, c->written++ % WHOLE_EVERY == 0);
	c->offset += got;
	w->bytes += got;
	if (rc == 0 && c->offset >= c->size)
		rc = stream_close(w, c);
	return rc;
}

/* A journal: append a block to one open file and make it durable; wrap at the limit. */
static int append_prepare(struct worker *w, struct cursor *c)
{
	return stream_write_open(w, c);
}

static int append_step(struct worker *w, struct cursor *c)
{
	int rc;

	if (c->offset + w->role->size > w->role->limit)
		c->offset = 0;
	rc = stream_block(w, c, w->role->size);
	if (rc == 0 && w->role->fsync)
		rc = w->ops->fsync(w->session, c->file);
	return rc;
}

const struct shape shapes_data[] = {
	{ "read", "open, read a whole file and check it, close", false, fill_some, read_step, NULL },
	{ "rewrite", "open, overwrite a whole file, fsync if asked, close", false, fill_some,
	  rewrite_step, NULL },
	{ "append", "append size bytes to one open file per client, fsync if asked", false,
	  append_prepare, append_step, stream_close },
	{ "stream_write", "write one block of a new large file", false, NULL, stream_write_step,
	  stream_close },
	{ "stream_rewrite", "overwrite one block of a large file", false, stream_prepare,
	  stream_rewrite_step, stream_close },
	{ "stream_read", "read one block of a large file and check it", false, stream_prepare,
	  stream_read_step, stream_close },
	{ 0 },
};

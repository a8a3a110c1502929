#include "bench/shape.h"

#include "base/clock.h"
#include "base/err.h"

#include <stdio.h>
#include <string.h>

static const struct shape *const tables[] = { shapes_names, shapes_data, shapes_tree };

enum { N_TABLES = sizeof tables / sizeof tables[0] };

const struct shape *shape_find(const char *name)
{
	for (unsigned i = 0; i < N_TABLES; i++)
		for (const struct shape *s = tables[i]; s->name; s++)
			if (strcmp(s->name, name) == 0)
				return s;
	return NULL;
}

void shape_print_all(void)
{
	for (unsigned i = 0; i < N_TABLES; i++)
		for (const struct shape *s = tables[i]; s->name; s++)
			printf("  %-15s %s\n", s->name, s->about);
}

/* By hand: snprintf would cost more than a lookup in memory does. */
void shape_name(char name[NAME_CAP], char kind, unsigned worker, uint64_t index)
{
	static const char hex[] = "0123456789abcdef";

	*name++ = kind;
	for (int shift = 12; shift >= 0; shift -= 4)
		*name++ = hex[worker >> shift & 15];
	*name++ = '-';
	for (int shift = 28; shift >= 0; shift -= 4)
		*name++ = hex[index >> shift & 15];
	*name = 0;
}

uint64_t shape_random(struct worker *w)
{
	w->rng ^= w->rng << 13;
	w->rng ^= w->rng >> 7;
	w->rng ^= w->rng << 17;
	return w->rng;
}

uint64_t shape_content_id(const struct worker *w, uint64_t index)
{
	return (uint64_t)w->id << 40 | index;
}

static int write_all(struct worker *w, struct target_file f, uint64_t index)
{
	uint64_t id = shape_content_id(w, index), done = 0;
	int rc = 0;

	while (rc == 0 && done < w->role->size) {
		size_t part = w->role->size - done < w->content.cap ? w->role->size - done :
								      w->content.cap;

		rc = w->ops->write(w->session, f, content_make(&w->content, id, done, part), part,
				   done);
		done += part;
	}
	if (rc == 0)
		w->bytes += done;
	return rc;
}

int shape_put(struct worker *w, uint64_t index)
{
	char name[NAME_CAP];
	struct target_file f;
	int rc, closed;

	shape_name(name, 'f', w->id, index);
	rc = w->ops->create(w->session, w->set->dir, name, &f);
	if (rc < 0)
		return rc;
	rc = write_all(w, f, index);
	if (rc == 0 && w->role->fsync)
		rc = w->ops->fsync(w->session, f);
	closed = w->ops->close_file(w->session, f);
	return rc < 0 ? rc : closed;
}

int shape_fill(struct worker *w, uint64_t want)
{
	struct fileset *set = w->set;
	int rc = 0;

	if (want < w->role->files)
		want = w->role->files;
	while (rc == 0 && set->hi - set->lo < want) {
		if (set->hi > set->lo && clock_mono() > w->prepare_until_ns)
			break; /* one is enough to go on; the time is not to be exceeded */
		rc = shape_put(w, set->hi);
		if (rc == 0)
			set->hi++;
	}
	w->bytes = 0;
	return rc;
}

uint64_t shape_any(struct worker *w)
{
	return w->set->lo + (shape_random(w) >> 16) % (w->set->hi - w->set->lo);
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t t = a % b;

		a = b;
		b = t;
	}
	return a;
}

/* A step near the golden section and coprime to n visits all n in a scattered order. */
static uint64_t stride_for(uint64_t n)
{
	uint64_t stride = (uint64_t)((double)n * 0.618) | 1;

	while (gcd(stride, n) != 1)
		stride++;
	return stride;
}

bool shape_walk(struct worker *w, struct cursor *c, uint64_t *index)
{
	uint64_t n = w->set->hi - w->set->lo;

	if (n == 0)
		return false;
	if (c->size && c->size != n) { /* others of the mix change the set: any file will do */
		*index = shape_any(w);
		return true;
	}
	if (!c->left) {
		if (w->test->cold && c->size == n)
			return false;
		c->left = c->size = n; /* size and offset serve as n and stride here */
		c->offset = stride_for(n);
		c->at = shape_random(w) % n;
	}
	*index = w->set->lo + c->at;
	c->at = (c->at + c->offset) % n;
	c->left--;
	return true;
}

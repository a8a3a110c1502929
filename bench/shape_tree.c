/* A tree of directories: made leaf by leaf, walked, removed.  The tree is three deep below the
 * set's own directory: 8 middle ones in each top one, 8 leaves in each middle one, fanout files
 * in each leaf.  A step is one entry made, seen or removed. */
#include "bench/shape.h"

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 3, BRANCH = 8, TREE_FILES = 128 };

struct level {
	struct target_dir dir;
	struct target_list *list;
	char name[NAME_CAP]; /* of dir, in the level above */
	bool is_open;
};

struct crawl {
	struct level level[DEPTH + 1]; /* 0 is the set's directory, borrowed */
	int depth;
	uint64_t file; /* the next file in the leaf at hand */
};

static int crawl_start(struct worker *w, struct cursor *c)
{
	if (c->crawl)
		return 0;
	c->crawl = calloc(1, sizeof *c->crawl);
	if (!c->crawl)
		return -KILN_ENOMEM;
	c->crawl->level[0].dir = w->set->dir;
	return 0;
}

static int down(struct worker *w, struct crawl *cr, const char *name)
{
	struct level *l = &cr->level[cr->depth + 1];
	int rc;

	if (cr->depth == DEPTH)
		return -KILN_EVERIFY; /* deeper than it was made */
	rc = w->ops->dir_open(w->session, cr->level[cr->depth].dir, name, &l->dir);
	if (rc < 0)
		return rc;
	snprintf(l->name, sizeof l->name, "%.*s", NAME_CAP - 1, name);
	l->is_open = true;
	cr->depth++;
	return 0;
}

static void up(struct worker *w, struct crawl *cr)
{
	struct level *l = &cr->level[cr->depth];

	if (l->list)
		w->ops->list_close(w->session, l->list);
	l->list = NULL;
	if (l->is_open)
		w->ops->dir_close(w->session, l->dir);
	l->is_open = false;
	cr->depth--;
}

static int crawl_finish(struct worker *w, struct cursor *c)
{
	if (!c->crawl)
		return 0;
	while (c->crawl->depth >= 0)
		up(w, c->crawl);
	free(c->crawl);
	c->crawl = NULL;
	return 0;
}

static int make_dir(struct worker *w, struct crawl *cr, uint64_t number)
{
	char name[NAME_CAP];
	int rc;

	shape_name(name, 'd', w->id, number);
	rc = w->ops->mkdir(w->session, cr->level[cr->depth].dir, name);
	return rc < 0 ? rc : down(w, cr, name);
}

/* Goes up as far as the leaf before last was the last of its parents, then down again. */
static int next_leaf(struct worker *w, struct crawl *cr)
{
	uint64_t leaf = w->set->leaves, span = 1;
	int rc = 0, keep = DEPTH - 1;

	for (; keep > 0 && leaf % (span * BRANCH) == 0; span *= BRANCH)
		keep--;
	if (cr->depth < DEPTH)
		keep = 0; /* a new test: its first leaf starts a new top directory */
	while (cr->depth > keep)
		up(w, cr);
	while (rc == 0 && cr->depth < DEPTH)
		rc = make_dir(w, cr, leaf);
	cr->file = 0;
	if (rc == 0)
		w->set->leaves++;
	return rc;
}

static int tree_put(struct worker *w, struct crawl *cr)
{
	char name[NAME_CAP];
	struct target_file f;
	int rc, closed;

	shape_name(name, 't', w->id, cr->file);
	rc = w->ops->create(w->session, cr->level[DEPTH].dir, name, &f);
	if (rc < 0)
		return rc;
	if (w->role->size)
		rc = w->ops->write(w->session, f,
				   content_make(&w->content, cr->file, 0, w->role->size),
				   w->role->size, 0);
	closed = w->ops->close_file(w->session, f);
	cr->file++;
	w->bytes += w->role->size;
	return rc < 0 ? rc : closed;
}

static int tree_create_step(struct worker *w, struct cursor *c)
{
	struct crawl *cr = c->crawl;

	if (cr->depth == DEPTH && cr->file < w->role->fanout)
		return tree_put(w, cr);
	return next_leaf(w, cr);
}

/* Something to walk: one leaf at least. */
static int tree_prepare(struct worker *w, struct cursor *c)
{
	uint64_t entries = w->role->files ? w->role->files : TREE_FILES;
	int rc = crawl_start(w, c);

	if (w->set->leaves)
		return rc;
	for (uint64_t i = 0; rc == 0 && i < entries; i++)
		rc = tree_create_step(w, c);
	crawl_finish(w, c);
	w->bytes = 0;
	return rc < 0 ? rc : crawl_start(w, c);
}

static int list_here(struct worker *w, struct crawl *cr, const char **name, bool *is_dir)
{
	struct level *l = &cr->level[cr->depth];
	int rc = 0;

	if (!l->list)
		rc = w->ops->list_open(w->session, l->dir, &l->list);
	return rc < 0 ? rc : w->ops->list_next(w->session, l->list, name, is_dir);
}

/* The walk has come back to the top: a cold one ends, a warm one starts again. */
static int walk_over(struct worker *w, struct crawl *cr)
{
	struct level *top = &cr->level[0];

	w->ops->list_close(w->session, top->list);
	top->list = NULL;
	w->done = w->test->cold || w->ops->keeps_nothing;
	return 0;
}

/* One entry listed and looked up; directories are entered. */
static int tree_walk_step(struct worker *w, struct cursor *c)
{
	struct crawl *cr = c->crawl;
	struct target_stat st;
	const char *name;
	bool is_dir;
	int rc;

	while ((rc = list_here(w, cr, &name, &is_dir)) == 0 && !name && cr->depth > 0)
		up(w, cr);
	if (rc < 0 || !name)
		return rc < 0 ? rc : walk_over(w, cr);
	rc = w->ops->lookup(w->session, cr->level[cr->depth].dir, name, &st);
	if (rc == 0 && is_dir)
		rc = down(w, cr, name);
	return rc;
}

static int remove_dir(struct worker *w, struct crawl *cr)
{
	char name[NAME_CAP];

	memcpy(name, cr->level[cr->depth].name, sizeof name);
	up(w, cr);
	return w->ops->rmdir(w->session, cr->level[cr->depth].dir, name);
}

/* One entry removed, a directory after what is in it.  Names are removed while they are being
 * listed, as rm -r does; what a file system then fails to list is found when its directory
 * turns out not to be empty. */
static int tree_delete_step(struct worker *w, struct cursor *c)
{
	struct crawl *cr = c->crawl;
	const char *name;
	bool is_dir;
	int rc;

	while ((rc = list_here(w, cr, &name, &is_dir)) == 0 && name && is_dir) {
		rc = down(w, cr, name);
		if (rc < 0)
			return rc;
	}
	if (rc < 0)
		return rc;
	if (name)
		return w->ops->unlink(w->session, cr->level[cr->depth].dir, name);
	if (cr->depth > 0)
		return remove_dir(w, cr);
	w->set->leaves = 0;
	w->done = true;
	return 0;
}

const struct shape shapes_tree[] = {
	{ "tree_create", "make one entry of a tree of directories", false, crawl_start,
	  tree_create_step, crawl_finish },
	{ "tree_walk", "list and stat one entry of the tree, entering directories", false,
	  tree_prepare, tree_walk_step, crawl_finish },
	{ "tree_delete", "remove one entry of the tree", false, tree_prepare, tree_delete_step,
	  crawl_finish },
	{ 0 },
};

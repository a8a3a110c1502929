/* Shapes that work on names: create, look up, delete, each also failing as it should, and
 * changes of attributes.  An operation that must fail and does not is an error. */
#include "bench/shape.h"

#include "base/err.h"

#include <string.h>
#include <sys/stat.h>

/* must_fail: turns the expected failure into success and success into an error. */
static int must_fail(const struct worker *w, int rc, int expected)
{
	if (rc == expected)
		return 0;
	return rc < 0 ? rc : -KILN_EVERIFY;
}

static int done(struct worker *w)
{
	w->done = true;
	return 0;
}

static int fill_some(struct worker *w, struct cursor *c)
{
	return shape_fill(w, 1);
}

static int create_step(struct worker *w, struct cursor *c)
{
	int rc = shape_put(w, w->set->hi);

	if (rc == 0)
		w->set->hi++;
	return rc;
}

static int mknod_step(struct worker *w, struct cursor *c)
{
	char name[NAME_CAP];
	int rc;

	shape_name(name, 'f', w->id, w->set->hi);
	rc = w->ops->mknod(w->session, w->set->dir, name);
	if (rc == 0)
		w->set->hi++;
	return rc;
}

enum { TAKEN = 16 };

static int exist_prepare(struct worker *w, struct cursor *c)
{
	char name[NAME_CAP];
	struct target_file f;
	int rc = 0;

	for (; rc == 0 && w->set->taken < TAKEN; w->set->taken++) {
		shape_name(name, 'e', w->id, w->set->taken);
		rc = w->ops->create(w->session, w->set->dir, name, &f);
		if (rc == 0)
			rc = w->ops->close_file(w->session, f);
		if (rc == -KILN_EEXIST && w->ops->keeps_nothing)
			rc = 0;
	}
	return rc;
}

static int exist_step(struct worker *w, struct cursor *c)
{
	char name[NAME_CAP];
	struct target_file f;
	int rc;

	shape_name(name, 'e', w->id, shape_random(w) % TAKEN);
	rc = w->ops->create(w->session, w->set->dir, name, &f);
	if (rc == 0)
		w->ops->close_file(w->session, f);
	return must_fail(w, rc, -KILN_EEXIST);
}

/* The size is the content that a lookup can verify. */
static int lookup_step(struct worker *w, struct cursor *c)
{
	char name[NAME_CAP];
	struct target_stat st;
	uint64_t index;
	int rc;

	if (!shape_walk(w, c, &index))
		return done(w);
	shape_name(name, 'f', w->id, index);
	rc = w->ops->lookup(w->session, w->set->dir, name, &st);
	if (rc == 0 && !S_ISREG(st.mode))
		rc = -KILN_EVERIFY;
	return rc;
}

static int lookup_missing_step(struct worker *w, struct cursor *c)
{
	char name[NAME_CAP];
	struct target_stat st;

	/* a new name each time: a negative entry in the kernel's cache would answer the second */
	shape_name(name, 'x', w->id, c->at++);
	return must_fail(w, w->ops->lookup(w->session, w->set->dir, name, &st), -KILN_ENOENT);
}

static int getattr_step(struct worker *w, struct cursor *c)
{
	struct target_stat st;
	int rc = w->ops->dir_stat(w->session, w->set->dir, &st);

	return rc == 0 && !S_ISDIR(st.mode) ? -KILN_EVERIFY : rc;
}

static int unlink_step(struct worker *w, struct cursor *c)
{
	char name[NAME_CAP];
	int rc;

	if (w->set->lo == w->set->hi)
		return done(w);
	shape_name(name, 'f', w->id, w->set->lo);
	rc = w->ops->unlink(w->session, w->set->dir, name);
	if (rc == 0)
		w->set->lo++;
	return rc;
}

static int unlink_missing_step(struct worker *w, struct cursor *c)
{
	char name[NAME_CAP];

	shape_name(name, 'x', w->id, c->at++);
	return must_fail(w, w->ops->unlink(w->session, w->set->dir, name), -KILN_ENOENT);
}

/* The set stays as large as it was: one in at the top, one out at the bottom. */
static int churn_step(struct worker *w, struct cursor *c)
{
	int rc = create_step(w, c);

	return rc < 0 ? rc : unlink_step(w, c);
}

static int chmod_step(struct worker *w, struct cursor *c)
{
	char name[NAME_CAP];

	shape_name(name, 'f', w->id, shape_any(w));
	return w->ops->chmod(w->session, w->set->dir, name, c->at++ & 1 ? 0644 : 0600);
}

static int utimes_step(struct worker *w, struct cursor *c)
{
	char name[NAME_CAP];

	shape_name(name, 'f', w->id, shape_any(w));
	return w->ops->utimes(w->session, w->set->dir, name, 1000000000ull * ++c->at);
}

/* Away and back, so that the set keeps its names for the other shapes of a mix. */
static int rename_step(struct worker *w, struct cursor *c)
{
	char name[NAME_CAP], away[NAME_CAP];
	uint64_t index = shape_any(w);
	int rc;

	shape_name(name, 'f', w->id, index);
	shape_name(away, 'r', w->id, index);
	rc = w->ops->rename(w->session, w->set->dir, name, away);
	return rc < 0 ? rc : w->ops->rename(w->session, w->set->dir, away, name);
}

static int link_step(struct worker *w, struct cursor *c)
{
	char name[NAME_CAP], second[NAME_CAP];
	int rc;

	shape_name(name, 'f', w->id, shape_any(w));
	shape_name(second, 'l', w->id, c->at++);
	rc = w->ops->link(w->session, w->set->dir, name, second);
	return rc < 0 ? rc : w->ops->unlink(w->session, w->set->dir, second);
}

static int symlink_step(struct worker *w, struct cursor *c)
{
	char name[NAME_CAP];
	int rc;

	shape_name(name, 's', w->id, c->at++);
	rc = w->ops->symlink(w->session, w->set->dir, "somewhere/else", name);
	return rc < 0 ? rc : w->ops->unlink(w->session, w->set->dir, name);
}

static int xattr_prepare(struct worker *w, struct cursor *c)
{
	char name[NAME_CAP];
	int rc = shape_fill(w, 1);

	if (rc < 0)
		return rc;
	shape_name(name, 'f', w->id, w->set->lo);
	rc = w->ops->open_file(w->session, w->set->dir, name, TARGET_READ | TARGET_WRITE,
			       &c->file);
	c->open = rc == 0;
	if (rc == 0)
		rc = w->ops->setxattr(w->session, c->file, "user.kiln-bench", &c->at, sizeof c->at);
	return rc;
}

static int setxattr_step(struct worker *w, struct cursor *c)
{
	c->at++;
	return w->ops->setxattr(w->session, c->file, "user.kiln-bench", &c->at, sizeof c->at);
}

static int getxattr_step(struct worker *w, struct cursor *c)
{
	uint64_t value = 0;
	size_t len;
	int rc = w->ops->getxattr(w->session, c->file, "user.kiln-bench", &value, sizeof value,
				  &len);

	if (rc == 0 && !w->ops->keeps_nothing && (len != sizeof value || value != c->at))
		rc = -KILN_EVERIFY;
	return rc;
}

static int xattr_finish(struct worker *w, struct cursor *c)
{
	return c->open ? w->ops->close_file(w->session, c->file) : 0;
}

const struct shape shapes_names[] = {
	{ "create", "create a file, write size bytes, fsync if asked, close", false, NULL,
	  create_step, NULL },
	{ "mknod", "create an empty file without opening it", false, NULL, mknod_step, NULL },
	{ "create_exist", "create a name that exists: must fail", false, exist_prepare, exist_step,
	  NULL },
	{ "lookup", "stat an existing name", false, fill_some, lookup_step, NULL },
	{ "lookup_missing", "stat a name that does not exist: must fail", false, NULL,
	  lookup_missing_step, NULL },
	{ "getattr", "ask for the attributes of a directory, past the caches above", false, NULL,
	  getattr_step, NULL },
	{ "unlink", "delete a file, oldest first", false, fill_some, unlink_step, NULL },
	{ "unlink_missing", "delete a name that does not exist: must fail", false, NULL,
	  unlink_missing_step, NULL },
	{ "churn", "create one file and delete the oldest", false, fill_some, churn_step, NULL },
	{ "chmod", "change a file's mode", false, fill_some, chmod_step, NULL },
	{ "utimes", "change a file's times", false, fill_some, utimes_step, NULL },
	{ "rename", "rename a file within its directory, and back", false, fill_some, rename_step,
	  NULL },
	{ "link", "make a hard link and delete it", true, fill_some, link_step, NULL },
	{ "symlink", "make a symbolic link and delete it", true, NULL, symlink_step, NULL },
	{ "setxattr", "set an extended attribute", true, xattr_prepare, setxattr_step,
	  xattr_finish },
	{ "getxattr", "get an extended attribute and compare it", true, xattr_prepare,
	  getxattr_step, xattr_finish },
	{ 0 },
};

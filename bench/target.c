#include "bench/target.h"

#include "base/err.h"

#include <string.h>

struct scheme {
	const char *prefix;
	const struct target_ops *ops;
};

static const struct scheme schemes[] = {
	{ "null:", &target_null_ops },
#ifdef BENCH_WITH_KILN
	{ "kiln://", &target_kiln_ops },
#endif
};

int target_open(const char *where, struct target **out)
{
	for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
		if (strncmp(where, schemes[i].prefix, strlen(schemes[i].prefix)) == 0)
			return schemes[i].ops->open(where, out);
	if (strncmp(where, "kiln://", 7) == 0)
		return -KILN_ENOSYS;
	return target_dir_ops.open(where, out);
}

static void keep_first(int *rc, int more)
{
	if (*rc == 0 && more < 0)
		*rc = more;
}

/* Empties dir one pass over its list; *left says whether another pass may find more (removing
 * while listing may skip names on some file systems). */
static int empty_once(struct target_session *s, struct target_dir dir, bool *left)
{
	struct target_list *list;
	const char *name;
	bool is_dir;
	int rc = 0, next, gone;

	*left = false;
	next = s->ops->list_open(s, dir, &list);
	if (next < 0)
		return next;
	while ((next = s->ops->list_next(s, list, &name, &is_dir)) == 0 && name) {
		gone = is_dir ? target_remove_tree(s, dir, name) : s->ops->unlink(s, dir, name);
		keep_first(&rc, gone);
		*left |= gone == 0;
	}
	keep_first(&rc, next);
	s->ops->list_close(s, list);
	return rc;
}

int target_remove_tree(struct target_session *s, struct target_dir at, const char *name)
{
	struct target_dir dir;
	bool left = true;
	int rc = s->ops->dir_open(s, at, name, &dir);

	if (rc == -KILN_ENOENT)
		return 0;
	if (rc == -KILN_ENOTDIR)
		return s->ops->unlink(s, at, name);
	if (rc < 0)
		return rc;
	while (left && rc == 0)
		rc = empty_once(s, dir, &left);
	s->ops->dir_close(s, dir);
	keep_first(&rc, s->ops->rmdir(s, at, name));
	return rc;
}

/* The null target answers every operation at once, as a file system would that takes no time:
 * a test run against it costs what the benchmark itself costs.  It keeps nothing, so it tells
 * from a name whether it "exists": shapes call names that must be missing "x...", and names
 * that an exclusive create must find taken "e...". */
#include "bench/target.h"

#include "base/err.h"

#include <stdlib.h>
#include <sys/stat.h>

static int nt_open(const char *where, struct target **out)
{
	*out = calloc(1, sizeof **out);
	if (!*out)
		return -KILN_ENOMEM;
	(*out)->ops = &target_null_ops;
	return 0;
}

static void nt_close(struct target *t)
{
	free(t);
}

static int nt_attach(struct target *t, struct target_session **out)
{
	*out = calloc(1, sizeof **out);
	if (!*out)
		return -KILN_ENOMEM;
	(*out)->ops = &target_null_ops;
	return 0;
}

static void nt_detach(struct target_session *s)
{
	free(s);
}

static int nt_drop_caches(struct target *t)
{
	return 0;
}

static int nt_space(struct target *t, struct target_space *out)
{
	*out = (struct target_space){ 1ull << 40, 1ull << 40, UINT64_MAX };
	return 0;
}

static int nt_root(struct target_session *s, struct target_dir *out)
{
	out->h = 1;
	return 0;
}

static int nt_name(struct target_session *s, struct target_dir at, const char *name)
{
	return name[0] == 'x' ? -KILN_ENOENT : 0;
}

static int nt_dir_open(struct target_session *s, struct target_dir at, const char *name,
		       struct target_dir *out)
{
	out->h = 1;
	return 0;
}

static void nt_dir_close(struct target_session *s, struct target_dir dir)
{
}

static int nt_create(struct target_session *s, struct target_dir at, const char *name,
		     struct target_file *out)
{
	out->h = 1;
	return name[0] == 'e' ? -KILN_EEXIST : 0;
}

static int nt_open_file(struct target_session *s, struct target_dir at, const char *name, int how,
			struct target_file *out)
{
	out->h = 1;
	return 0;
}

static int nt_file(struct target_session *s, struct target_file f)
{
	return 0;
}

static int nt_read(struct target_session *s, struct target_file f, void *buf, size_t len,
		   uint64_t offset, size_t *got)
{
	*got = len;
	return 0;
}

static int nt_write(struct target_session *s, struct target_file f, const void *buf, size_t len,
		    uint64_t offset)
{
	return 0;
}

static int nt_lookup(struct target_session *s, struct target_dir at, const char *name,
		     struct target_stat *out)
{
	*out = (struct target_stat){ 0, S_IFREG | 0644, 1 };
	return nt_name(s, at, name);
}

static int nt_dir_stat(struct target_session *s, struct target_dir dir, struct target_stat *out)
{
	*out = (struct target_stat){ 0, S_IFDIR | 0755, 2 };
	return 0;
}

static int nt_two_names(struct target_session *s, struct target_dir at, const char *from,
			const char *to)
{
	return 0;
}

static int nt_chmod(struct target_session *s, struct target_dir at, const char *name, uint32_t mode)
{
	return 0;
}

static int nt_utimes(struct target_session *s, struct target_dir at, const char *name,
		     uint64_t mtime_ns)
{
	return 0;
}

static int nt_setxattr(struct target_session *s, struct target_file f, const char *key,
		       const void *value, size_t len)
{
	return 0;
}

static int nt_getxattr(struct target_session *s, struct target_file f, const char *key, void *value,
		       size_t cap, size_t *len)
{
	*len = cap;
	return 0;
}

static int nt_list_open(struct target_session *s, struct target_dir dir, struct target_list **out)
{
	*out = (struct target_list *)s;
	return 0;
}

static int nt_list_next(struct target_session *s, struct target_list *l, const char **name,
			bool *is_dir)
{
	*name = NULL;
	*is_dir = false;
	return 0;
}

static void nt_list_close(struct target_session *s, struct target_list *l)
{
}

const struct target_ops target_null_ops = {
	.kind = "null",
	.keeps_nothing = true,
	.open = nt_open,
	.close = nt_close,
	.attach = nt_attach,
	.detach = nt_detach,
	.drop_caches = nt_drop_caches,
	.space = nt_space,
	.root = nt_root,
	.dir_open = nt_dir_open,
	.dir_close = nt_dir_close,
	.mkdir = nt_name,
	.rmdir = nt_name,
	.mknod = nt_name,
	.create = nt_create,
	.open_file = nt_open_file,
	.close_file = nt_file,
	.read = nt_read,
	.write = nt_write,
	.fsync = nt_file,
	.lookup = nt_lookup,
	.dir_stat = nt_dir_stat,
	.unlink = nt_name,
	.rename = nt_two_names,
	.link = nt_two_names,
	.symlink = nt_two_names,
	.chmod = nt_chmod,
	.utimes = nt_utimes,
	.setxattr = nt_setxattr,
	.getxattr = nt_getxattr,
	.list_open = nt_list_open,
	.list_next = nt_list_next,
	.list_close = nt_list_close,
};

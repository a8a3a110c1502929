#include "store/store.h"

#include "base/err.h"
#include "store/format.h"
#include "store/store_impl.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

enum { OPEN_FILES = 512, OPEN_SPACE = 1 << 20 };

struct store {
	char *dir;
	int dir_fd, lock_fd;
	struct format format;
	struct kv *kv;
	struct data *data;
	struct committer *committer;
	struct cache *cache; /* NULL: none */
	struct room *room;   /* NULL: mem */
};

/* choose: fills in what a new store shall be, or checks what is asked against what it is. */
static int choose(const char *dir, const struct store_options *o, bool fresh, struct format *f,
		  char **why)
{
	if (fresh) {
		snprintf(f->backend, sizeof(f->backend), "%s", o->backend ? o->backend : "rocksdb");
		snprintf(f->layout, sizeof(f->layout), "%s", o->layout ? o->layout : "split");
		format_uuid(f->uuid);
		return 0;
	}
	if (o->backend && strcmp(o->backend, f->backend) != 0)
		return why_set(why, -KILN_EINVAL,
			       "%s was made with the back end %s and cannot be opened as %s", dir,
			       f->backend, o->backend);
	if (o->layout && strcmp(o->layout, f->layout) != 0)
		return why_set(why, -KILN_EINVAL,
			       "%s was made with the layout %s and cannot be opened as %s", dir,
			       f->layout, o->layout);
	return 0;
}

static int open_kv(struct store *s, const struct store_options *o, bool fresh, char **why)
{
	struct kv_options options = {
		.backend = s->format.backend,
		.layout = s->format.layout,
		.cache_bytes = o->cache_bytes,
		.buffer_bytes = o->buffer_bytes,
		.create = fresh,
	};
	char path[PATH_MAX], journal[PATH_MAX], *reason = NULL;
	int err;

	options.journal = journal;
	options.disk = o->disk;
	if (snprintf(path, sizeof(path), "%s/db", s->dir) >= (int)sizeof(path) ||
	    snprintf(journal, sizeof(journal), "%s/journal", s->dir) >= (int)sizeof(journal))
		return why_set(why, -KILN_EINVAL, "the path %s is too long", s->dir);
	err = kv_open(path, &options, &s->kv, &reason);
	if (err)
		why_set(why, err, "cannot open the database %s: %s%s", path,
			reason ? reason : err_text(err),
			err == -KILN_ECORRUPT ? "; it is damaged, restore it from a backup" : "");
	free(reason);
	return err;
}

static int open_data(struct store *s, const struct store_options *o, char **why)
{
	int err = data_open(s->dir, o->disk ? o->disk : &disk_real, OPEN_FILES, &s->data);

	/* the mem back end has forgotten whose files these were */
	if (!err && strcmp(s->format.backend, "mem") == 0)
		err = data_remove_all(s->data);
	if (err)
		why_set(why, err, "cannot open the data files in %s/data: %s", s->dir,
			err_text(err));
	return err;
}

/* RocksDB, as Debian builds it, fails an assertion when it cannot write while it opens. */
static int check_space(struct store *s, char **why)
{
	uint64_t total, avail;

	if (strcmp(s->format.backend, "mem") == 0 || store_space(s, &total, &avail) ||
	    avail >= OPEN_SPACE)
		return 0;
	return why_set(why, -KILN_ENOSPC,
		       "no space left for %s: its file system has %llu KiB free and opening takes "
		       "%d KiB; make room there", s->dir, (unsigned long long)avail >> 10,
		       OPEN_SPACE >> 10);
}

static uint64_t debt(void *context)
{
	return kv_debt(context);
}

static void relieve(void *context)
{
	kv_relieve(context);
}

static bool collecting(void *context)
{
	return kv_collecting(context);
}

static int watch_room(struct store *s, char **why)
{
	struct room_owner owner = { .debt = debt, .relieve = relieve, .collecting = collecting,
				    .context = s->kv };
	int err = room_watch(s->room, &owner);

	return err ? why_set(why, err, "cannot watch the room on %s: %s", s->dir, err_text(err))
		   : 0;
}

static int open_room(struct store *s, char **why)
{
	int err = 0;

	if (strcmp(s->format.backend, "mem") != 0)
		err = room_open(s->dir, s->dir_fd, &s->room);
	return err ? why_set(why, err, "cannot open %s/reserve: %s", s->dir, err_text(err)) : 0;
}

static int open_parts(struct store *s, const struct store_options *o, bool fresh, char **why)
{
	int err = open_room(s, why);

	if (!err)
		err = check_space(s, why);

	if (!err && !s->kv)
		err = open_kv(s, o, fresh, why);
	if (!err)
		err = open_data(s, o, why);
	if (!err && fresh)
		err = format_write(s->dir, s->dir_fd, &s->format, why);
	if (!err && strcmp(s->format.backend, "mem") != 0) {
		s->cache = cache_new();
		err = s->cache ? 0 : -KILN_ENOMEM;
	}
	if (err)
		return err;
	err = commit_start(s->kv, s->data, &o->commit, &s->committer);
	return err ? why_set(why, err, "cannot start the committer: %s", err_text(err))
		   : watch_room(s, why);
}

static int open_format(struct store *s, const struct store_options *o, bool *fresh, char **why)
{
	int err = format_claim(s->dir, o->create, &s->dir_fd, &s->lock_fd, why);

	if (err)
		return err;
	err = format_read(s->dir, s->dir_fd, &s->format, why);
	*fresh = err == -KILN_ENOENT;
	if (*fresh)
		err = o->create ? format_begin(s->dir, s->dir_fd, why)
				: why_set(why, -KILN_ENOTKILN, "%s holds no kiln store", s->dir);
	return err ? err : choose(s->dir, o, *fresh, &s->format, why);
}

int store_open(const char *dir, const struct store_options *options, struct store **out,
	       char **why)
{
	struct store *s = calloc(1, sizeof(*s));
	bool fresh;
	int err;

	*why = NULL;
	if (!s) {
		kv_close(options->kv);
		return -KILN_ENOMEM;
	}
	s->kv = options->kv;
	s->dir_fd = s->lock_fd = -1;
	s->dir = strdup(dir);
	err = s->dir ? open_format(s, options, &fresh, why) : -KILN_ENOMEM;
	if (!err)
		err = open_parts(s, options, fresh, why);
	if (!err)
		*out = s;
	else
		store_close(s);
	return err;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	commit_stop(s->committer);
	room_unwatch(s->room);
	cache_free(s->cache);
	data_close(s->data);
	kv_close(s->kv);
	room_close(s->room);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	if (s->dir_fd >= 0)
		close(s->dir_fd);
	free(s->dir);
	free(s);
}

struct kv *store_kv(struct store *s)
{
	return s->kv;
}

struct data *store_data(struct store *s)
{
	return s->data;
}

struct cache *store_cache(struct store *s)
{
	return s->cache;
}

struct room *store_room(struct store *s)
{
	return s->room;
}

struct committer *store_committer(struct store *s)
{
	return s->committer;
}

const char *store_dir(const struct store *s)
{
	return s->dir;
}

const char *store_backend(const struct store *s)
{
	return s->format.backend;
}

const char *store_layout(const struct store *s)
{
	return s->format.layout;
}

static int memory_space(uint64_t *total, uint64_t *avail)
{
	struct sysinfo info;

	if (sysinfo(&info) < 0)
		return err_from_errno(errno);
	*total = (uint64_t)info.totalram * info.mem_unit;
	*avail = (uint64_t)info.freeram * info.mem_unit;
	return 0;
}

int store_space(struct store *s, uint64_t *total, uint64_t *avail)
{
	struct statvfs fs;

	if (strcmp(s->format.backend, "mem") == 0)
		return memory_space(total, avail);
	if (fstatvfs(s->dir_fd, &fs) < 0)
		return err_from_errno(errno);
	*total = (uint64_t)fs.f_blocks * fs.f_frsize;
	*avail = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (*avail > room_left(s->room))
		*avail = room_left(s->room);
	return 0;
}

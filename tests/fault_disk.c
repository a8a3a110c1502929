#include "tests/fault.h"

#include "base/clock.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a crash would take back: old bytes of a file, or a new name in a directory. */
struct loss {
	struct loss *next; /* youngest first */
	dev_t dev;
	ino_t ino;       /* the file, or the directory */
	int fd;          /* own duplicate */
	uint64_t number; /* counted up */
	bool new_name;
	uint64_t offset;
	size_t len;
	char bytes[];    /* old bytes, or the name */
};

/* A file that a test knows by itself.  All [mutex] of the disk. */
struct known {
	struct known *next;
	dev_t dev;
	ino_t ino;
	bool held;
	int err;
	unsigned begun, ended;
};

struct fault_disk {
	struct disk disk;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct loss *losses;    /* [mutex] */
	struct known *known;    /* [mutex] */
	uint64_t last;          /* [mutex] number of the youngest loss */
	bool held, failing;     /* [mutex] */
	unsigned countdown[FAULT_CALLS], count[FAULT_CALLS];
	int err[FAULT_CALLS], always[FAULT_CALLS]; /* [mutex] */
	uint64_t sync_ns;
};

static struct fault_disk *fault_of(const struct disk *d)
{
	return d->context;
}

static int hit(const struct disk *d, enum fault_call call)
{
	struct fault_disk *f = fault_of(d);
	int err;

	pthread_mutex_lock(&f->mutex);
	err = f->always[call];
	__atomic_add_fetch(&f->count[call], 1, __ATOMIC_RELEASE);
	if (f->countdown[call] && --f->countdown[call] == 0)
		err = f->err[call];
	pthread_mutex_unlock(&f->mutex);
	return err;
}

static void remember(struct fault_disk *f, int fd, bool new_name, uint64_t offset,
		     const void *bytes, size_t len)
{
	struct loss *l = malloc(sizeof(*l) + len);
	struct stat st;

	if (!l || fstat(fd, &st) < 0)
		abort();
	*l = (struct loss){ .dev = st.st_dev, .ino = st.st_ino, .fd = dup(fd),
			    .new_name = new_name, .offset = offset, .len = len };
	memcpy(l->bytes, bytes, len);
	pthread_mutex_lock(&f->mutex);
	l->number = ++f->last;
	l->next = f->losses;
	f->losses = l;
	pthread_mutex_unlock(&f->mutex);
}

static void drop(struct loss *l)
{
	close(l->fd);
	free(l);
}

static void remember_name(const struct disk *d, int dirfd, const char *path)
{
	char *dir = strdup(path), *slash = strrchr(dir, '/');
	int fd;

	if (slash)
		*slash = 0;
	fd = slash ? openat(dirfd, dir, O_RDONLY | O_DIRECTORY) : dup(dirfd);
	remember(fault_of(d), fd, true, 0, slash ? slash + 1 : path,
		 strlen(slash ? slash + 1 : path) + 1);
	close(fd);
	free(dir);
}

static int fault_open(const struct disk *d, int dirfd, const char *path, int flags, mode_t mode,
		      int *fd)
{
	int err = hit(d, FAULT_OPEN);
	bool fresh = flags & O_CREAT && faccessat(dirfd, path, F_OK, 0) < 0 && errno == ENOENT;

	if (!err)
		err = disk_real.open(&disk_real, dirfd, path, flags, mode, fd);
	if (!err && fresh)
		remember_name(d, dirfd, path);
	return err;
}

static int fault_read(const struct disk *d, int fd, void *buf, size_t len, uint64_t offset,
		      bool nowait, size_t *done)
{
	int err = hit(d, FAULT_READ);

	*done = 0;
	return err ? err : disk_real.read(&disk_real, fd, buf, len, offset, nowait, done);
}

static int fault_write(const struct disk *d, int fd, const void *buf, size_t len, uint64_t offset,
		       bool nowait, size_t *done)
{
	int err = hit(d, FAULT_WRITE);
	char *old;

	*done = 0;
	if (err)
		return err;
	old = calloc(1, len + 1);
	if (!old || pread(fd, old, len, (off_t)offset) < 0)
		abort();
	remember(fault_of(d), fd, false, offset, old, len);
	free(old);
	return disk_real.write(&disk_real, fd, buf, len, offset, nowait, done);
}

/* keep: what had been done to the file up to `last` is safe. */
static void keep(struct fault_disk *f, int fd, uint64_t last)
{
	struct loss **at = &f->losses;
	struct stat st;

	if (fstat(fd, &st) < 0)
		abort();
	while (*at) {
		struct loss *l = *at;

		if (l->number > last || l->ino != st.st_ino || l->dev != st.st_dev) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		drop(l);
	}
}

/* known_file: with the mutex held: NULL if no test knows it. */
static struct known *known_file(struct fault_disk *f, int fd)
{
	struct known *k = f->known;
	struct stat st;

	if (fstat(fd, &st) < 0)
		abort();
	while (k && (k->dev != st.st_dev || k->ino != st.st_ino))
		k = k->next;
	return k;
}

static struct known *known_begin(struct fault_disk *f, int fd)
{
	struct known *k = known_file(f, fd);

	if (k && k->begun++ != k->ended)
		abort();
	pthread_cond_broadcast(&f->changed);
	return k;
}

/* known_end: with the mutex held: how the sync ends. */
static int known_end(struct fault_disk *f, struct known *k, int err)
{
	if (!k)
		return err;
	if (k->err)
		err = k->err;
	k->err = 0;
	k->ended++;
	pthread_cond_broadcast(&f->changed);
	return err;
}

/* A sync covers what had been done before it began, and nothing if it does not return. */
static int fault_sync(const struct disk *d, int fd)
{
	struct fault_disk *f = fault_of(d);
	struct timespec ts = { .tv_sec = (time_t)(f->sync_ns / NS_PER_S),
			       .tv_nsec = (long)(f->sync_ns % NS_PER_S) };
	int err = hit(d, FAULT_SYNC);
	struct known *k;
	uint64_t last;

	pthread_mutex_lock(&f->mutex);
	last = f->last;
	k = known_begin(f, fd);
	pthread_mutex_unlock(&f->mutex);
	if (f->sync_ns)
		nanosleep(&ts, NULL);
	if (!err)
		err = disk_real.sync(&disk_real, fd);
	pthread_mutex_lock(&f->mutex);
	while ((f->held || (k && k->held)) && !f->failing)
		pthread_cond_wait(&f->changed, &f->mutex);
	if (f->failing)
		err = -KILN_EIO;
	err = known_end(f, k, err);
	if (!err)
		keep(f, fd, last);
	pthread_mutex_unlock(&f->mutex);
	return err;
}

static void fault_close(const struct disk *d, int fd)
{
	struct fault_disk *f = fault_of(d);
	struct known *k;

	pthread_mutex_lock(&f->mutex);
	k = known_file(f, fd);
	if (k && k->begun != k->ended)
		abort();
	pthread_mutex_unlock(&f->mutex);
	disk_real.close(&disk_real, fd);
}

static int fault_unlink(const struct disk *d, int dirfd, const char *path)
{
	int err = hit(d, FAULT_UNLINK);

	return err ? err : disk_real.unlink(&disk_real, dirfd, path);
}

/* Each loss has a descriptor of its own. */
static void want_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		abort();
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

struct fault_disk *fault_disk_new(void)
{
	struct fault_disk *f = calloc(1, sizeof(*f));

	if (!f)
		abort();
	want_descriptors();
	pthread_mutex_init(&f->mutex, NULL);
	pthread_cond_init(&f->changed, NULL);
	f->disk = disk_real;
	f->disk.open = fault_open;
	f->disk.close = fault_close;
	f->disk.read = fault_read;
	f->disk.write = fault_write;
	f->disk.sync = fault_sync;
	f->disk.unlink = fault_unlink;
	f->disk.context = f;
	return f;
}

void fault_disk_free(struct fault_disk *f)
{
	while (f->losses) {
		struct loss *l = f->losses;

		f->losses = l->next;
		drop(l);
	}
	while (f->known) {
		struct known *k = f->known;

		f->known = k->next;
		free(k);
	}
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->mutex);
	free(f);
}

const struct disk *fault_disk(struct fault_disk *f)
{
	return &f->disk;
}

void fault_disk_fail(struct fault_disk *f, enum fault_call call, unsigned nth, int err)
{
	pthread_mutex_lock(&f->mutex);
	f->countdown[call] = nth;
	f->err[call] = err;
	pthread_mutex_unlock(&f->mutex);
}

void fault_disk_fail_all(struct fault_disk *f, enum fault_call call, int err)
{
	pthread_mutex_lock(&f->mutex);
	f->always[call] = err;
	pthread_mutex_unlock(&f->mutex);
}

void fault_disk_slow(struct fault_disk *f, uint64_t sync_ns)
{
	f->sync_ns = sync_ns;
}

unsigned fault_disk_count(const struct fault_disk *f, enum fault_call call)
{
	return __atomic_load_n(&f->count[call], __ATOMIC_ACQUIRE);
}

static void set(struct fault_disk *f, bool *flag, bool value)
{
	pthread_mutex_lock(&f->mutex);
	*flag = value;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->mutex);
}

void fault_disk_hold(struct fault_disk *f)
{
	set(f, &f->held, true);
}

void fault_disk_go(struct fault_disk *f)
{
	set(f, &f->held, false);
}

void fault_disk_fail_syncs(struct fault_disk *f)
{
	set(f, &f->failing, true);
}

/* know: with the mutex held. */
static struct known *know(struct fault_disk *f, int fd)
{
	struct known *k = known_file(f, fd);
	struct stat st;

	if (k)
		return k;
	k = calloc(1, sizeof(*k));
	if (!k || fstat(fd, &st) < 0)
		abort();
	*k = (struct known){ .next = f->known, .dev = st.st_dev, .ino = st.st_ino };
	return f->known = k;
}

static void set_held(struct fault_disk *f, int fd, bool held)
{
	pthread_mutex_lock(&f->mutex);
	know(f, fd)->held = held;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->mutex);
}

void fault_file_hold(struct fault_disk *f, int fd)
{
	set_held(f, fd, true);
}

void fault_file_go(struct fault_disk *f, int fd)
{
	set_held(f, fd, false);
}

void fault_file_fail(struct fault_disk *f, int fd, int err)
{
	pthread_mutex_lock(&f->mutex);
	know(f, fd)->err = err;
	pthread_mutex_unlock(&f->mutex);
}

void fault_file_await(struct fault_disk *f, int fd, unsigned begun, unsigned ended)
{
	struct known *k;

	pthread_mutex_lock(&f->mutex);
	k = know(f, fd);
	while (k->begun < begun || k->ended < ended)
		pthread_cond_wait(&f->changed, &f->mutex);
	pthread_mutex_unlock(&f->mutex);
}

unsigned fault_file_syncs(struct fault_disk *f, int fd)
{
	unsigned begun;

	pthread_mutex_lock(&f->mutex);
	begun = know(f, fd)->begun;
	pthread_mutex_unlock(&f->mutex);
	return begun;
}

void fault_disk_crash(struct fault_disk *f)
{
	f->held = f->failing = false;
	for (struct known *k = f->known; k; k = k->next)
		k->held = false;
	while (f->losses) {
		struct loss *l = f->losses;
		char path[64];
		int fd;

		f->losses = l->next;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", l->fd);
		if (l->new_name) {
			unlinkat(l->fd, l->bytes, 0);
		} else if ((fd = open(path, O_WRONLY)) >= 0) {
			if (pwrite(fd, l->bytes, l->len, (off_t)l->offset) < 0)
				abort();
			close(fd);
		}
		drop(l);
	}
}

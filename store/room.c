#include "store/room.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MIB (1024 * 1024ll)
#define MARGIN_MIN (12 * MIB)
#define MARGIN_MAX (128 * MIB)
#define MARGIN_SHARE 8  /* an eighth of a small disk */
#define SCARCE 8        /* less than so many margins is little room */
#define DEBT_SOME (64 << 10) /* worth writing while the disk is full */
#define COLLECTING_SURE 5   /* looks: the first may say it without knowing */
#define STEADY (256 << 10)   /* less change than that is none */
#define STEADY_NS NS_PER_S   /* a file system tries for a while before it says that it is full */
#define DEBT_FEW MIB         /* does not decide whether it is full */
#define LOOK_NS NS_PER_S
#define LOOK_SCARCE_NS (100 * NS_PER_MS)
#define RELIEF_NS (200 * NS_PER_MS) /* what has been asked for is not asked for again meanwhile */
#define RELIEF_LAZY_NS NS_PER_S
#define RELIEF_VAIN_NS (4 * NS_PER_S) /* if it has not helped by then, it will not */
#define PATIENCE_NS (10 * NS_PER_S) /* of who waits to know whether the disk is full */

struct room {
	const char *dir;         /* not owned */
	int dir_fd, fd;          /* fd: of the reserve; dir_fd is not owned */
	int64_t margin;          /* fixed: held back */
	struct room_owner owner; /* fixed while the thread runs */
	pthread_t thread;
	bool watched;            /* the owner's: the thread runs */
	int64_t left;            /* atomic; can be below zero */
	bool tight;              /* atomic: even what takes little is refused */
	bool settled;            /* atomic: nothing left, and nothing done that could help */
	struct lock lock;
	struct cond work, looked;
	bool stop, hurry;        /* [lock] */
	unsigned waiting;        /* [lock] */
	uint64_t looks;          /* [lock] */
	/* The thread's. */
	int64_t avail;           /* what was free at the last look */
	uint64_t fell_ns;        /* when it was less than before */
	unsigned collecting;     /* looks in a row at which the owner was, with nothing left */
	int64_t reserve;         /* bytes the file has now */
	uint64_t relieved_ns;    /* when the debt was last asked to be written */
	uint64_t unsure_ns;      /* since when nothing is left but there is debt; 0: not so */
	bool told, complained;
};

static int64_t free_bytes(const struct room *r, int64_t *total)
{
	struct statvfs fs;

	if (fstatvfs(r->dir_fd, &fs) < 0)
		return -1;
	*total = (int64_t)((uint64_t)fs.f_blocks * fs.f_frsize);
	return (int64_t)((uint64_t)fs.f_bavail * fs.f_frsize);
}

/* reserve_set: really allocated, not only sized: a hole is no room. */
static int reserve_set(struct room *r, int64_t bytes)
{
	int err = 0;

	if (bytes < r->reserve)
		err = ftruncate(r->fd, bytes) < 0 ? errno : 0;
	else if (bytes > r->reserve)
		err = posix_fallocate(r->fd, r->reserve, bytes - r->reserve);
	if (!err)
		r->reserve = bytes;
	else if (bytes > r->reserve && ftruncate(r->fd, r->reserve) < 0)
		err = errno;
	return err ? err_from_errno(err) : 0;
}

static void reserve_try(struct room *r, int64_t bytes)
{
	int err = reserve_set(r, bytes);

	if (err && !r->complained)
		log_warn("the reserve of %s could not be set to %lld KiB: %s", r->dir,
			 (long long)bytes >> 10, err_text(err));
	r->complained = err != 0;
}

/* may_give: while others fill the disk they would take that too, so it is given once they have come
 * to the end, and where there is something to write: what this store writes is refused before it
 * takes what is needed. */
static bool may_give(const struct room *r, int64_t debt)
{
	return clock_mono() - r->fell_ns > STEADY_NS &&
	       (debt >= DEBT_SOME || r->collecting >= COLLECTING_SURE);
}

/* reserve_wish: what is free is kept at what must be written, and a third of the margin for rewriting
 * files; the reserve gives what is missing, and takes what is more. */
static int64_t reserve_wish(const struct room *r, int64_t avail, int64_t need, int64_t debt)
{
	int64_t working = r->margin / 3, missing = need + working - avail;
	int64_t most = avail - need - working - working / 2;

	if (missing > 0 && !may_give(r, debt))
		return r->reserve;
	if (missing > 0)
		return missing < r->reserve ? r->reserve - missing : 0;
	if (r->reserve == r->margin || most < MIB)
		return r->reserve;
	return most < r->margin - r->reserve ? r->reserve + most : r->margin;
}

/* tell: once, until there is room to speak of. */
static void tell(struct room *r, bool full, int64_t have, int64_t need)
{
	int64_t left = have - need - r->margin;

	if (full && !r->told)
		log_warn("no space left for %s: with the reserve %lld MiB are free on its file "
			 "system, and %lld MiB are needed to keep in order what is there; what "
			 "would take more is refused (ENOSPC), removing is not; remove files, or "
			 "make room on its file system", r->dir, (long long)have / MIB,
			 (long long)(need + r->margin) / MIB);
	else if (r->told && left > r->margin / 2)
		log_info("there is space again for %s: %lld MiB", r->dir, (long long)left / MIB);
	r->told = full || (r->told && left <= r->margin / 2);
}

/* wants_relief: on a small disk, and on a full one, what has been applied is not left in the journal
 * for long: a removal gives its room back only once it is in files. */
static bool wants_relief(const struct room *r, int64_t left, int64_t debt, bool waited_for)
{
	uint64_t since = clock_mono() - r->relieved_ns;

	if (left > SCARCE * r->margin || debt < DEBT_SOME || since < RELIEF_NS)
		return false;
	if (left > 0)
		return debt >= r->margin / 3;
	return waited_for || debt >= DEBT_FEW || since >= RELIEF_LAZY_NS;
}

static bool is_settled(struct room *r, int64_t left, int64_t debt)
{
	if (left > 0 || r->collecting || debt < DEBT_FEW) {
		r->unsure_ns = 0;
		return left <= 0 && !r->collecting;
	}
	if (!r->unsure_ns)
		r->unsure_ns = clock_mono();
	return clock_mono() - r->unsure_ns > RELIEF_VAIN_NS;
}

static bool publish(struct room *r, int64_t left, int64_t debt)
{
	bool settled = is_settled(r, left, debt);

	__atomic_store_n(&r->left, left, __ATOMIC_RELAXED);
	__atomic_store_n(&r->tight, left < -r->margin / 2, __ATOMIC_RELAXED);
	__atomic_store_n(&r->settled, settled, __ATOMIC_RELAXED);
	return settled;
}

/* look: the debt is asked for first: what is written meanwhile then counts twice, not never. */
static void look(struct room *r, bool waited_for)
{
	int64_t total, debt = (int64_t)r->owner.debt(r->owner.context), need = debt + debt / 8;
	int64_t avail = free_bytes(r, &total), have, left, wish;

	if (avail < 0)
		return;
	have = avail + r->reserve;
	left = have - need - r->margin;
	r->collecting = left <= 0 && r->owner.collecting(r->owner.context) ? r->collecting + 1 : 0;
	if (avail + STEADY < r->avail)
		r->fell_ns = clock_mono();
	wish = reserve_wish(r, avail, need, debt);
	if (wish != r->reserve)
		reserve_try(r, wish);
	r->avail = have - r->reserve;
	tell(r, publish(r, left, debt), have, need);
	if ((r->avail >= need || !r->reserve) && wants_relief(r, left, debt, waited_for)) {
		r->relieved_ns = clock_mono();
		r->owner.relieve(r->owner.context);
	}
}

static void *watch(void *context)
{
	struct room *r = context;

	pthread_setname_np(pthread_self(), "room");
	lock_take(&r->lock);
	while (!r->stop) {
		bool waited_for = r->waiting > 0;
		uint64_t pause;

		r->hurry = false;
		lock_give(&r->lock);
		look(r, waited_for);
		pause = __atomic_load_n(&r->left, __ATOMIC_RELAXED) < SCARCE * r->margin
				? LOOK_SCARCE_NS : LOOK_NS;
		lock_take(&r->lock);
		r->looks++;
		cond_broadcast(&r->looked);
		if (r->waiting)
			pause = LOOK_SCARCE_NS / 10;
		pause += clock_mono();
		while (!r->stop && !r->hurry && cond_wait_until(&r->work, &r->lock, pause))
			;
	}
	lock_give(&r->lock);
	return NULL;
}

static void hurry(struct room *r)
{
	lock_guard(&r->lock);
	r->hurry = true;
	cond_signal(&r->work);
}

void room_took(struct room *r, uint64_t bytes)
{
	int64_t left;

	if (!r)
		return;
	left = __atomic_sub_fetch(&r->left, (int64_t)bytes, __ATOMIC_RELAXED);
	if (left <= 0 && left + (int64_t)bytes > 0)
		hurry(r);
}

uint64_t room_left(const struct room *r)
{
	int64_t left = r ? __atomic_load_n(&r->left, __ATOMIC_RELAXED) : INT64_MAX;

	return left > 0 ? (uint64_t)left : 0;
}

static bool refused(const struct room *r, enum room_need need)
{
	if (need == ROOM_LITTLE)
		return __atomic_load_n(&r->tight, __ATOMIC_RELAXED);
	return need == ROOM_BYTES && __atomic_load_n(&r->left, __ATOMIC_RELAXED) <= 0;
}

/* await: at least one look that began after this, and the writing of what there is to write. */
static int await(struct room *r, enum room_need need)
{
	uint64_t deadline = clock_mono() + PATIENCE_NS, first;

	lock_guard(&r->lock);
	first = r->looks + 2;
	r->waiting++;
	r->hurry = true;
	cond_signal(&r->work);
	while (!r->stop && (r->looks < first || (refused(r, need) &&
						 !__atomic_load_n(&r->settled, __ATOMIC_RELAXED))))
		if (!cond_wait_until(&r->looked, &r->lock, deadline))
			break;
	r->waiting--;
	return refused(r, need) ? -KILN_ENOSPC : 0;
}

int room_admit(struct room *r, enum room_need need, bool may_block)
{
	if (!r || !refused(r, need))
		return 0;
	if (__atomic_load_n(&r->settled, __ATOMIC_RELAXED))
		return -KILN_ENOSPC;
	return may_block ? await(r, need) : -KILN_EWOULDBLOCK;
}

static int open_reserve(struct room *r)
{
	int64_t total = 0, avail;
	struct stat st;

	r->fd = openat(r->dir_fd, "reserve", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (r->fd < 0 || fstat(r->fd, &st) < 0)
		return err_from_errno(errno);
	r->reserve = st.st_size;
	avail = free_bytes(r, &total);
	if (avail < 0)
		return err_from_errno(errno);
	r->margin = total / MARGIN_SHARE;
	if (r->margin < MARGIN_MIN)
		r->margin = MARGIN_MIN;
	if (r->margin > MARGIN_MAX)
		r->margin = MARGIN_MAX;
	if (r->reserve > r->margin || avail < 2 * r->margin)
		return reserve_set(r, 0);
	return 0;
}

int room_open(const char *dir, int dir_fd, struct room **out)
{
	struct room *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -KILN_ENOMEM;
	*r = (struct room){ .dir = dir, .dir_fd = dir_fd, .fd = -1, .left = INT64_MAX };
	lock_init(&r->lock, LOCK_RANK_LEAF, "room");
	cond_init(&r->work);
	cond_init(&r->looked);
	err = open_reserve(r);
	if (err)
		room_close(r);
	else
		*out = r;
	return err;
}

int room_watch(struct room *r, const struct room_owner *owner)
{
	if (!r)
		return 0;
	r->owner = *owner;
	look(r, false);
	if (pthread_create(&r->thread, NULL, watch, r))
		return -KILN_ENOTHREAD;
	r->watched = true;
	return 0;
}

void room_unwatch(struct room *r)
{
	int64_t total, avail;

	if (!r || !r->watched)
		return;
	lock_take(&r->lock);
	r->stop = true;
	cond_signal(&r->work);
	cond_broadcast(&r->looked);
	lock_give(&r->lock);
	pthread_join(r->thread, NULL);
	r->watched = false;
	avail = free_bytes(r, &total);
	if (avail >= 0 && avail < 2 * r->margin)
		reserve_try(r, 0);
}

/* retake: for the next start. */
static void retake(struct room *r)
{
	int64_t total, avail = free_bytes(r, &total) - MIB;

	if (avail > r->margin - r->reserve)
		avail = r->margin - r->reserve;
	if (r->margin && avail > 0)
		reserve_try(r, r->reserve + avail);
}

void room_close(struct room *r)
{
	if (!r)
		return;
	room_unwatch(r);
	if (r->fd >= 0) {
		retake(r);
		close(r->fd);
	}
	cond_destroy(&r->work);
	cond_destroy(&r->looked);
	lock_destroy(&r->lock);
	free(r);
}

#include "store/kv_rocks_collect.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "store/kv_rocks_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>

enum { FORCE_OPTIMIZED = 3 }; /* RocksDB's: the last level too, but nothing twice */

#define LOOK_NS NS_PER_S
#define STALE_NS (400 * NS_PER_MS) /* a look that is older does not say that there is nothing to do */
#define PAUSE_NS (10 * NS_PER_MS) /* between steps; doubled after each that has brought nothing */
#define LITTLE_SHARE 8      /* an eighth of the files is little garbage */
#define PLENTY 4            /* times what the files take: room enough on the disk */
#define GARBAGE_BUFFERS 2   /* less garbage than that many memtables hold is not worth a thought */
#define BUFFERS_BESIDE 4    /* as many memtables' room beside what RocksDB's own way takes */
#define STEP_SHARE 4        /* a step takes a quarter of what is free */
enum { VAIN_FEW = 4, VAIN_MANY = 7 }; /* steps */

#define CUTOFF_UNKNOWN (-1.0)

struct rocks_collector {
	rocksdb_t *db;                      /* not owned, as cf and path */
	rocksdb_column_family_handle_t *cf;
	const char *path;
	uint64_t buffer_bytes;
	rocksdb_compactoptions_t *options;
	pthread_t thread;
	struct lock lock;
	struct cond work;
	bool stop;                          /* [lock] */
	bool hurry;                         /* [lock] */
	bool at_work;                       /* atomic */
	uint64_t looked_ns;                 /* atomic: when the last look was; 0: a step is under way */
	unsigned vain;                      /* the thread's: steps in a row that brought nothing */
	double cutoff;                      /* the thread's: as set, or CUTOFF_UNKNOWN */
	bool complained;                    /* the thread's */
};

struct figures {
	uint64_t garbage, size, files, avail;
};

static void look(const struct rocks_collector *c, struct figures *f)
{
	struct statvfs fs;

	f->garbage = rocks_figure(c->db, c->cf, "rocksdb.live-blob-file-garbage-size");
	f->size = rocks_figure(c->db, c->cf, "rocksdb.live-blob-file-size");
	f->files = rocks_figure(c->db, c->cf, "rocksdb.num-blob-files");
	f->avail = statvfs(c->path, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize : UINT64_MAX;
}

/* RocksDB's own way writes up to a half of all anew before anything is free. */
static bool is_scarce(const struct rocks_collector *c, const struct figures *f)
{
	return f->avail < f->size / 2 + BUFFERS_BESIDE * c->buffer_bytes;
}

static bool is_worth_it(const struct rocks_collector *c, const struct figures *f)
{
	return f->files && f->garbage > c->buffer_bytes && f->garbage > f->size / LITTLE_SHARE;
}

/* step_files: how many of the oldest files one step takes. */
static uint64_t step_files(const struct figures *f)
{
	uint64_t most = f->avail / STEP_SHARE / (f->size / f->files + 1);

	if (most > f->files / STEP_SHARE)
		most = f->files / STEP_SHARE;
	return most ? most : 1;
}

/* set_cutoff: false, and tried again at the next look, where it fails, on a full disk for one. */
static bool set_cutoff(struct rocks_collector *c, double cutoff)
{
	static const char *const name[] = { "blob_garbage_collection_age_cutoff" };
	char text[32], *error = NULL;
	const char *value = text;

	if (cutoff == c->cutoff)
		return true;
	snprintf(text, sizeof(text), "%.9f", cutoff);
	rocksdb_set_options_cf(c->db, c->cf, 1, name, &value, &error);
	if (error && !c->complained)
		log_warn("the database's space cannot be collected: %s", error);
	c->complained = error != NULL;
	c->cutoff = error ? CUTOFF_UNKNOWN : cutoff;
	rocksdb_free(error);
	return !c->complained;
}

/* cutoff_for: beside steps.  Without garbage to move values is work for nothing, a fifth of the
 * processor time of a file created, written and synced; but garbage takes room, so it is left only
 * where there is plenty.  And RocksDB forces files to be collected only where all those that hang on
 * the keys of one compaction are old enough, and one may hang on all: so while half of what they
 * hold is garbage they are all old enough.  Where room is scarce all is left to steps. */
static double cutoff_for(const struct rocks_collector *c, const struct figures *f, bool scarce)
{
	if (scarce)
		return 0;
	if (f->garbage > GARBAGE_BUFFERS * c->buffer_bytes && f->garbage > f->size / 2)
		return 1;
	if (f->garbage <= f->size / LITTLE_SHARE && f->avail / PLENTY > f->size)
		return 0;
	return ROCKS_CUTOFF;
}

/* brought: others write meanwhile, and make more garbage. */
static bool brought(const struct figures *before, const struct figures *after)
{
	return after->garbage < before->garbage || after->avail > before->avail;
}

/* The half makes up for rounding: RocksDB wants a share of the number of files. */
static void step(struct rocks_collector *c, const struct figures *f)
{
	double share = ((double)step_files(f) + 0.5) / (double)f->files;
	struct figures after = *f;

	if (set_cutoff(c, share < 1 ? share : 1)) {
		rocksdb_compact_range_cf_opt(c->db, c->cf, c->options, NULL, 0, NULL, 0);
		look(c, &after);
	}
	if (brought(f, &after))
		c->vain = 0;
	else if (c->vain < VAIN_MANY)
		c->vain++;
	log_debug(store, "collected: garbage %llu -> %llu of %llu bytes in %llu files",
		  (unsigned long long)f->garbage, (unsigned long long)after.garbage,
		  (unsigned long long)after.size, (unsigned long long)after.files);
}

/* run_once: how long to wait before the next. */
static uint64_t run_once(struct rocks_collector *c)
{
	struct figures f;
	bool scarce, worth_it;

	look(c, &f);
	__atomic_store_n(&c->looked_ns, clock_mono(), __ATOMIC_RELAXED);
	scarce = is_scarce(c, &f);
	worth_it = scarce && is_worth_it(c, &f);
	__atomic_store_n(&c->at_work, worth_it && c->vain < VAIN_FEW, __ATOMIC_RELAXED);
	if (worth_it) {
		__atomic_store_n(&c->looked_ns, 0, __ATOMIC_RELAXED);
		step(c, &f);
		__atomic_store_n(&c->looked_ns, clock_mono(), __ATOMIC_RELAXED);
		return PAUSE_NS << c->vain;
	}
	c->vain = 0;
	set_cutoff(c, cutoff_for(c, &f, scarce));
	return LOOK_NS;
}

static void *run(void *context)
{
	struct rocks_collector *c = context;

	pthread_setname_np(pthread_self(), "collect");
	lock_take(&c->lock);
	while (!c->stop) {
		uint64_t until;

		lock_give(&c->lock);
		until = run_once(c) + clock_mono();
		lock_take(&c->lock);
		while (!c->stop && !c->hurry && cond_wait_until(&c->work, &c->lock, until))
			;
		c->hurry = false;
	}
	lock_give(&c->lock);
	return NULL;
}

bool rocks_collector_at_work(struct rocks_collector *c)
{
	uint64_t looked = __atomic_load_n(&c->looked_ns, __ATOMIC_RELAXED);

	if (__atomic_load_n(&c->at_work, __ATOMIC_RELAXED))
		return true;
	if (!looked || clock_mono() - looked < STALE_NS)
		return false;
	lock_guard(&c->lock);
	c->hurry = true;
	cond_signal(&c->work);
	return true;
}

static void destroy(struct rocks_collector *c)
{
	rocksdb_compactoptions_destroy(c->options);
	cond_destroy(&c->work);
	lock_destroy(&c->lock);
	free(c);
}

struct rocks_collector *rocks_collector_new(rocksdb_t *db, rocksdb_column_family_handle_t *cf,
					    const char *path, uint64_t buffer_bytes)
{
	struct rocks_collector *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct rocks_collector){ .db = db, .cf = cf, .path = path, .cutoff = ROCKS_CUTOFF,
				       .buffer_bytes = buffer_bytes };
	c->options = rocksdb_compactoptions_create();
	rocksdb_compactoptions_set_exclusive_manual_compaction(c->options, 0);
	rocksdb_compactoptions_set_bottommost_level_compaction(c->options, FORCE_OPTIMIZED);
	lock_init(&c->lock, LOCK_RANK_LEAF, "collect");
	cond_init(&c->work);
	if (pthread_create(&c->thread, NULL, run, c)) {
		destroy(c);
		return NULL;
	}
	return c;
}

void rocks_collector_free(struct rocks_collector *c)
{
	if (!c)
		return;
	lock_take(&c->lock);
	c->stop = true;
	cond_signal(&c->work);
	lock_give(&c->lock);
	pthread_join(c->thread, NULL);
	destroy(c);
}

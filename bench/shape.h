/* Load shapes: what one client does, one step (one operation of the report) at a time.  The
 * runner calls prepare once untimed, then step until the time is over or the worker says done,
 * then finish.  The bookkeeping of names lives in file sets, which outlast a test: what one
 * test creates the next one reads and deletes. */
#ifndef BENCH_SHAPE_H
#define BENCH_SHAPE_H

#include "bench/content.h"
#include "bench/profile.h"
#include "bench/target.h"

enum { NAME_CAP = 24 };

/* Files f(lo) .. f(hi - 1) of one worker exist in dir.  Owned by the worker's thread. */
struct fileset {
	struct fileset *next;
	unsigned target;    /* index of the target it lives in */
	char key[2 * PROFILE_NAME + 1];
	struct target_dir dir;
	uint64_t lo, hi;
	uint64_t taken;	    /* how many "e" names exist, for creates that must fail */
	uint64_t leaves;    /* directories of a tree made so far */
};

struct crawl;

/* Where one shape of one worker is within one test; zeroed before prepare. */
struct cursor {
	uint64_t at, left;      /* a walk over the set: next index, how many are left */
	uint64_t offset, size;  /* within the file at hand */
	uint64_t written;
	struct target_file file;
	bool open;
	struct crawl *crawl;
};

struct worker {
	const struct target_ops *ops;
	struct target_session *session;
	const struct test *test;
	const struct role *role;
	struct fileset *set;
	struct content content;
	uint64_t rng;
	uint64_t prepare_until_ns; /* prepare stops making files here, with fewer */
	uint64_t bytes;		   /* moved by the steps of the test, added to by step */
	unsigned id;		   /* unique over all processes */
	unsigned index;		   /* within this process */
	bool done;		   /* set by step: nothing is left to do, and nothing was done */
};

struct shape {
	const char *name, *about;
	bool optional; /* not every file system has it: the test is skipped then, not failed */
	int (*prepare)(struct worker *w, struct cursor *c);
	int (*step)(struct worker *w, struct cursor *c);
	int (*finish)(struct worker *w, struct cursor *c);
};

const struct shape *shape_find(const char *name);
void shape_print_all(void);

/* Names: kind, worker and index; 'f' files, 'x' missing, 'e' taken, others private to a shape. */
void shape_name(char name[NAME_CAP], char kind, unsigned worker, uint64_t index);
uint64_t shape_random(struct worker *w);
/* shape_fill: makes the set hold at least the role's files (or want, if larger). */
int shape_fill(struct worker *w, uint64_t want);
/* shape_put: creates file index of the set with the role's size, content and fsync. */
int shape_put(struct worker *w, uint64_t index);
/* shape_any: the index of some existing file, at random; the set must not be empty. */
uint64_t shape_any(struct worker *w);
/* shape_walk: each file of the set once, in an order unlike the one of creation; false after
 * the last.  A cold test ends there, others start again. */
bool shape_walk(struct worker *w, struct cursor *c, uint64_t *index);
/* shape_content_id: what is stamped into the bytes of a file. */
uint64_t shape_content_id(const struct worker *w, uint64_t index);

/* The tables that shape_find searches, one per file; each ends with a NULL name. */
extern const struct shape shapes_names[], shapes_data[], shapes_tree[];

#endif

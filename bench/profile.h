/* Profiles: small text files that say which tests to run; see docs/bench.md for the format.
 *   about TEXT
 *   suite NAME [PARAM=VALUE ...]      defaults for the tests that follow
 *   test NAME PARAM=VALUE ...         one role is implied ...
 *   role NAME PARAM=VALUE ...         ... or several are named on lines below the test
 * A line that is empty or starts with '#' is ignored; one that ends in '\' goes on. */
#ifndef BENCH_PROFILE_H
#define BENCH_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shape;

enum { PROFILE_NAME = 48, MIX_MAX = 8, ROLES_MAX = 3 };

/*        field      type   default  min max          unit     text */
#define ROLE_PARAMS(X) \
	X(threads,    COUNT, 0,       0, 4096,        "threads", "clients of this role in each process; 0: what --threads says") \
	X(size,       SIZE,  0,       0, 1ull << 40,  "bytes",   "size of a file") \
	X(block,      SIZE,  1 << 20, 1, 1ull << 26,  "bytes",   "bytes of one read or write of a streaming shape, multiple of 4 KiB") \
	X(files,      COUNT, 0,       0, 1ull << 32,  "files",   "files that must exist for each client before the test starts") \
	X(limit,      SIZE,  1 << 28, 1, 1ull << 44,  "bytes",   "a client of a streaming shape writes at most so much") \
	X(count,      COUNT, 0,       0, 1ull << 32,  "ops",     "a client ends after so many operations; 0: with the time") \
	X(fanout,     COUNT, 16,      1, 1 << 20,     "files",   "files in each directory of a tree") \
	X(fsync,      FLAG,  0,       0, 1,           "",        "fsync each file before it is closed") \
	X(dirs,       COUNT, 0,       0, 1 << 20,     "dirs",    "directories the clients are spread over; 0: one each, 1: one for all") \
	X(total,      FLAG,  0,       0, 1,           "",        "report the shapes of a mix as one figure")
#define TEST_PARAMS(X) \
	X(weight,     COUNT, 10,      0, 1000,        "",        "share of the time, relative to the other tests") \
	X(cold,       FLAG,  0,       0, 1,           "",        "drop the kernel's caches before the test") \
	X(warm,       FLAG,  0,       0, 1,           "",        "read everything once before the test") \
	X(scale,      FLAG,  0,       0, 1,           "",        "report the rate as a multiple of the suite's first test with this") \
	X(rounds,     COUNT, 1,       1, 100,         "rounds",  "compare the rate of the last of so many equal parts with the first")

struct role {
	char name[PROFILE_NAME];
	char set[PROFILE_NAME];	/* the files it works on: tests of a suite with the same set share */
	struct {
		const struct shape *shape;
		unsigned weight;
	} mix[MIX_MAX];
	unsigned n_mix;
#define X(field, ...) uint64_t field;
	ROLE_PARAMS(X)
#undef X
};

struct test {
	char suite[PROFILE_NAME], name[PROFILE_NAME];
	struct role roles[ROLES_MAX];
	unsigned n_roles;
#define X(field, ...) uint64_t field;
	TEST_PARAMS(X)
#undef X
};

struct profile {
	char name[PROFILE_NAME];
	char about[256];
	char *text; /* as read, for the record */
	struct test *tests;
	size_t n_tests;
};

struct profile_builtin {
	const char *name, *text;
};
extern const struct profile_builtin profile_builtins[]; /* generated; ends with a NULL name */

/* profile_load: a built-in one by its name, or a file.  On failure *why (256 bytes) says in a
 * sentence what is wrong and where.  profile_free frees what is inside p. */
int profile_load(const char *name_or_path, struct profile *p, char *why);
int profile_parse(const char *name, const char *text, struct profile *p, char *why);
void profile_free(struct profile *p);
/* profile_select: keeps only the tests that a comma-separated list names, by suite, by
 * suite.test or by a pattern with '*'; -KILN_ENOENT if an item names nothing (*why says it). */
int profile_select(struct profile *p, const char *list, char *why);
/* profile_print_params: the table above for people. */
void profile_print_params(void);

#endif

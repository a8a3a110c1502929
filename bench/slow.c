/* libkiln-slow.so: a pass-through below any program, loaded with LD_PRELOAD, that makes file
 * calls slower by a known amount or lets them fail.  The self-test proves with it that slow-downs
 * are found; it also stands in for a slow device below a server:
 *   KILN_SLOW='fdatasync=2ms' LD_PRELOAD=libkiln-slow.so kiln serve DIR
 *
 * KILN_SLOW (or KILN_SLOW_A, KILN_SLOW_B for the sides that kiln-bench selects) is a list
 *   CALL=TIME     each CALL takes so much longer (us, ms, s)
 *   CALL=PCT%     each CALL takes so much longer, in per cent of itself
 *   CALL=ERRNO    each CALL fails (ENOSPC, EIO, EPERM, EOPNOTSUPP, EROFS)
 * CALL is open, stat, unlink, mkdir, rename, link, symlink, read, write, fsync, fdatasync (fsync
 * means both), attr (modes and times), setxattr, getxattr, or all.
 *
 * Lengthening is by spinning up to 1 ms, as processor work would, and by sleeping above it, as
 * a device would.  The tables are written by kiln_slow_side and the constructor only, while no
 * other thread makes calls that matter. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#define CALLS(X) \
	X(open) X(stat) X(unlink) X(mkdir) X(rename) X(link) X(symlink) X(read) X(write) \
	X(fsync) X(fdatasync) X(attr) X(setxattr) X(getxattr)

enum call {
#define X(name) CALL_##name,
	CALLS(X)
#undef X
	CALL_COUNT
};

struct rule {
	uint64_t ns;
	double share;
	int eno;
};

static const char *const call_names[] = {
#define X(name) #name,
	CALLS(X)
#undef X
};

static const struct {
	const char *name;
	int eno;
} errnos[] = { { "ENOSPC", ENOSPC }, { "EIO", EIO }, { "EPERM", EPERM }, { "EROFS", EROFS },
	       { "EOPNOTSUPP", EOPNOTSUPP } };

enum { ALL, A, B, SETS };
static struct rule rules[SETS][CALL_COUNT];
static const struct rule *active = rules[ALL];

void kiln_slow_side(char side);

static void set_rule(struct rule *rule, const char *value)
{
	char *end;
	double number = strtod(value, &end);

	for (size_t i = 0; i < sizeof errnos / sizeof errnos[0]; i++)
		if (strcmp(value, errnos[i].name) == 0)
			rule->eno = errnos[i].eno;
	if (strcmp(end, "%") == 0)
		rule->share = number / 100;
	else if (strcmp(end, "us") == 0)
		rule->ns = (uint64_t)(number * 1e3);
	else if (strcmp(end, "ms") == 0)
		rule->ns = (uint64_t)(number * 1e6);
	else if (strcmp(end, "s") == 0)
		rule->ns = (uint64_t)(number * 1e9);
	else if (!rule->eno)
		fprintf(stderr, "libkiln-slow: '%s' is no time, percentage or error\n", value);
}

static int call_matches(const char *name, int call)
{
	return strcmp(name, "all") == 0 || strcmp(name, call_names[call]) == 0 ||
	       (call == CALL_fdatasync && strcmp(name, "fsync") == 0);
}

static void parse(struct rule *table, const char *text)
{
	char *copy = strdup(text ? text : ""), *save = NULL;

	for (char *item = copy ? strtok_r(copy, ",", &save) : NULL; item;
	     item = strtok_r(NULL, ",", &save)) {
		char *value = strchr(item, '=');

		if (!value)
			continue;
		*value++ = 0;
		for (int call = 0; call < CALL_COUNT; call++)
			if (call_matches(item, call))
				set_rule(&table[call], value);
	}
	free(copy);
}

__attribute__((constructor)) static void init(void)
{
	parse(rules[ALL], getenv("KILN_SLOW"));
	parse(rules[A], getenv("KILN_SLOW_A"));
	parse(rules[B], getenv("KILN_SLOW_B"));
}

/* kiln_slow_side: kiln-bench says which side it measures now; 0 when none. */
void kiln_slow_side(char side)
{
	active = rules[side == 'a' ? A : side == 'b' ? B : ALL];
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* A call is slowed after it was made: what it did is done, only its answer is late. */
static void lengthen(const struct rule *rule, uint64_t began)
{
	uint64_t until = rule->ns;
	int eno = errno;

	if (rule->share > 0)
		until += (uint64_t)((double)(now() - began) * rule->share);
	if (until > 1000000) {
		struct timespec ts = { (time_t)(until / 1000000000), (long)(until % 1000000000) };

		nanosleep(&ts, NULL);
	} else {
		until += now();
		while (now() < until)
			;
	}
	errno = eno;
}

static int is_set(const struct rule *rule)
{
	return rule->ns || rule->share > 0;
}

/* The next definition of a symbol, looked up at first use; threads that do so at once find the
 * same, so atomic is enough. */
#define NEXT(type, name) \
	static type found; \
	type next = __atomic_load_n(&found, __ATOMIC_RELAXED); \
	if (!next) { \
		void *symbol = dlsym(RTLD_NEXT, #name); \
		memcpy(&next, &symbol, sizeof next); \
		__atomic_store_n(&found, next, __ATOMIC_RELAXED); \
	}

/* Defines a wrapper: its result type, name, class, parameters, and the arguments passed on. */
#define WRAP(result, name, class, params, args) \
	result name params; \
	result name params \
	{ \
		typedef result(*fn) params; \
		const struct rule *rule = &active[CALL_##class]; \
		uint64_t began; \
		result rc; \
		NEXT(fn, name) \
		if (rule->eno) { \
			errno = rule->eno; \
			return -1; \
		} \
		if (!is_set(rule)) \
			return next args; \
		began = now(); \
		rc = next args; \
		lengthen(rule, began); \
		return rc; \
	}

WRAP(int, fstatat, stat, (int d, const char *n, struct stat *st, int f), (d, n, st, f))
WRAP(int, fstatat64, stat, (int d, const char *n, struct stat64 *st, int f), (d, n, st, f))
WRAP(int, unlinkat, unlink, (int d, const char *n, int f), (d, n, f))
WRAP(int, mkdirat, mkdir, (int d, const char *n, mode_t m), (d, n, m))
WRAP(int, renameat, rename, (int d, const char *n, int e, const char *o), (d, n, e, o))
WRAP(int, linkat, link, (int d, const char *n, int e, const char *o, int f), (d, n, e, o, f))
WRAP(int, symlinkat, symlink, (const char *t, int d, const char *n), (t, d, n))
WRAP(int, fchmodat, attr, (int d, const char *n, mode_t m, int f), (d, n, m, f))
WRAP(int, utimensat, attr, (int d, const char *n, const struct timespec ts[2], int f),
     (d, n, ts, f))
WRAP(ssize_t, pread, read, (int f, void *b, size_t n, off_t o), (f, b, n, o))
WRAP(ssize_t, pread64, read, (int f, void *b, size_t n, off64_t o), (f, b, n, o))
WRAP(ssize_t, pwrite, write, (int f, const void *b, size_t n, off_t o), (f, b, n, o))
WRAP(ssize_t, pwrite64, write, (int f, const void *b, size_t n, off64_t o), (f, b, n, o))
WRAP(ssize_t, read, read, (int f, void *b, size_t n), (f, b, n))
WRAP(ssize_t, write, write, (int f, const void *b, size_t n), (f, b, n))
WRAP(int, fsync, fsync, (int f), (f))
WRAP(int, fdatasync, fdatasync, (int f), (f))
WRAP(int, fsetxattr, setxattr, (int f, const char *k, const void *v, size_t n, int g),
     (f, k, v, n, g))
WRAP(ssize_t, fgetxattr, getxattr, (int f, const char *k, void *v, size_t n), (f, k, v, n))

/* open's mode is there only if the flags say so. */
#define WRAP_OPENAT(name) \
	int name(int dir, const char *path, int flags, ...); \
	int name(int dir, const char *path, int flags, ...) \
	{ \
		typedef int (*fn)(int, const char *, int, ...); \
		const struct rule *rule = &active[CALL_open]; \
		uint64_t began; \
		mode_t mode = 0; \
		int rc; \
		va_list ap; \
		NEXT(fn, name) \
		if (flags & (O_CREAT | __O_TMPFILE)) { \
			va_start(ap, flags); \
			mode = va_arg(ap, mode_t); \
			va_end(ap); \
		} \
		if (rule->eno && flags & O_CREAT) { \
			errno = rule->eno; \
			return -1; \
		} \
		if (!is_set(rule)) \
			return next(dir, path, flags, mode); \
		began = now(); \
		rc = next(dir, path, flags, mode); \
		lengthen(rule, began); \
		return rc; \
	}

WRAP_OPENAT(openat)
WRAP_OPENAT(openat64)

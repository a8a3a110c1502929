/* A directory of its own for a test, removed with all in it. */
#ifndef TESTS_UNIT_TMPDIR_H
#define TESTS_UNIT_TMPDIR_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline int tmpdir_remove_one(const char *path, const struct stat *st, int type,
				    struct FTW *at)
{
	return remove(path);
}

static inline void tmpdir_remove(char *path)
{
	nftw(path, tmpdir_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(path);
}

static inline char *tmpdir_make(void)
{
	const char *base = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
	char *path;

	if (asprintf(&path, "%s/kiln-unit-XXXXXX", base) < 0 || !mkdtemp(path))
		abort();
	return path;
}

#endif

/* The segments of a journal as a test sees them: files in memory, written to behind its back, or
 * left as a power cut leaves them. */
#ifndef TESTS_UNIT_SEGMENTS_H
#define TESTS_UNIT_SEGMENTS_H

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { SECTOR = 512, FILES = 64 };

/* The files of a directory in memory. */
struct files {
	unsigned name[FILES];
	size_t size[FILES];
	unsigned char *bytes[FILES];
	int count;
};

static inline char *path_of(const char *dir, unsigned name)
{
	size_t room = strlen(dir) + 16;
	char *path = malloc(room);

	snprintf(path, room, "%s/%04u", dir, name);
	return path;
}

static inline void files_load(struct files *l, const char *dir)
{
	DIR *list = opendir(dir);
	struct dirent *e;

	l->count = 0;
	while ((e = readdir(list))) {
		int fd = openat(dirfd(list), e->d_name, O_RDONLY), i = l->count;
		struct stat st;

		if (e->d_name[0] != '.' && fd >= 0 && fstat(fd, &st) == 0) {
			assert_true(i < FILES);
			l->name[i] = (unsigned)atoi(e->d_name);
			l->size[i] = (size_t)st.st_size;
			l->bytes[i] = malloc(l->size[i] + 1);
			assert_int_equal(pread(fd, l->bytes[i], l->size[i], 0), st.st_size);
			l->count++;
		}
		if (fd >= 0)
			close(fd);
	}
	closedir(list);
}

static inline void files_drop(struct files *l)
{
	while (l->count)
		free(l->bytes[--l->count]);
}

static inline void file_write(const char *dir, unsigned name, const void *bytes, size_t len, size_t at)
{
	char *path = path_of(dir, name);
	int fd = open(path, O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, len, (off_t)at), len);
	close(fd);
	free(path);
}

/* file_spoil: the byte is certainly another than it was. */
static inline void file_spoil(const char *dir, unsigned name, const struct files *was, size_t at)
{
	for (int i = 0; i < was->count; i++) {
		unsigned char other = was->bytes[i][at] ^ 0xff;

		if (was->name[i] == name)
			file_write(dir, name, &other, 1, at);
	}
}

static inline void files_restore(const struct files *l, const char *dir)
{
	for (int i = 0; i < l->count; i++)
		file_write(dir, l->name[i], l->bytes[i], l->size[i], 0);
}

/* power_cut: each sector that has changed since the last sync is the old one or the new one. */
static inline void power_cut(const char *dir, const struct files *synced, unsigned *seed)
{
	struct files now;

	files_load(&now, dir);
	for (int i = 0; i < now.count; i++) {
		static const unsigned char zeros[SECTOR];
		const unsigned char *old = NULL;

		for (int k = 0; k < synced->count; k++)
			if (synced->name[k] == now.name[i] && synced->size[k] == now.size[i])
				old = synced->bytes[k];
		for (size_t at = 0; at < now.size[i]; at += SECTOR)
			if (rand_r(seed) % 2)
				file_write(dir, now.name[i], old ? old + at : zeros, SECTOR, at);
	}
	files_drop(&now);
}

#endif

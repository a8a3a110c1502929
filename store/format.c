#include "store/format.h"

#include "base/err.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 512 };

#define MARK "format.new" /* there while a store is being made */

int why_set(char **why, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (vasprintf(why, fmt, args) < 0)
		*why = NULL;
	va_end(args);
	return err;
}

static int sys_error(char **why, const char *dir, const char *what)
{
	int eno = errno;

	return why_set(why, err_from_errno(eno), "cannot %s %s: %s", what, dir, strerror(eno));
}

/* read_small: a file of at most FILE_BYTES_MAX - 1 bytes, with a NUL behind. */
static int read_small(int dir_fd, const char *name, char *buf)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return err_from_errno(errno);
	n = read(fd, buf, FILE_BYTES_MAX - 1);
	if (n >= 0)
		buf[n] = 0;
	close(fd);
	return n < 0 ? -KILN_EIO : 0;
}

static int take_lock(const char *dir, int dir_fd, int *lock_fd, char **why)
{
	char pid[FILE_BYTES_MAX] = "";
	int fd = openat(dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return sys_error(why, dir, "make the lock file in");
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		bool held = errno == EWOULDBLOCK;
		int err = held ? -KILN_ELOCKED : sys_error(why, dir, "lock");

		close(fd);
		if (!held || read_small(dir_fd, "lock", pid))
			pid[0] = 0;
		return !held ? err
			     : why_set(why, err,
				       "%s is in use by another server (process %d); stop that one "
				       "or choose another directory",
				       dir, atoi(pid));
	}
	snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, strlen(pid), 0) != (ssize_t)strlen(pid)) {
		int err = sys_error(why, dir, "write the lock file in");

		close(fd);
		return err;
	}
	*lock_fd = fd;
	return 0;
}

int format_claim(const char *dir, bool create, int *dir_fd, int *lock_fd, char **why)
{
	int fd, err;

	if (create && mkdir(dir, 0700) < 0 && errno != EEXIST)
		return sys_error(why, dir, "make the directory");
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return why_set(why, -KILN_ENOTKILN, "there is no directory %s", dir);
	if (fd < 0 && errno == ENOTDIR)
		return why_set(why, -KILN_ENOTKILN, "%s is not a directory", dir);
	if (fd < 0)
		return sys_error(why, dir, "open the directory");
	if (!create && faccessat(fd, "format", F_OK, 0) < 0 && errno == ENOENT) {
		close(fd);
		return why_set(why, -KILN_ENOTKILN, "%s holds no kiln store", dir);
	}
	err = take_lock(dir, fd, lock_fd, why);
	if (err)
		close(fd);
	else
		*dir_fd = fd;
	return err;
}

static bool known_name(const char *name)
{
	static const char *const names[] = { ".", "..", "lock", "lost+found" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static int check_empty(const char *dir, int dir_fd, char **why)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int err = 0;

	if (!list) {
		err = sys_error(why, dir, "list");
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (entry = readdir(list)))
		if (!known_name(entry->d_name))
			err = why_set(why, -KILN_ENOTKILN,
				      "%s holds other files (%s) and no kiln store; choose an empty "
				      "or a new directory",
				      dir, entry->d_name);
	closedir(list);
	return err;
}

int format_begin(const char *dir, int dir_fd, char **why)
{
	int fd, err;

	if (faccessat(dir_fd, MARK, F_OK, 0) == 0)
		return 0;
	err = check_empty(dir, dir_fd, why);
	if (err)
		return err;
	fd = openat(dir_fd, MARK, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return sys_error(why, dir, "write to");
	close(fd);
	return 0;
}

static int write_all(int fd, const char *text)
{
	size_t len = strlen(text);
	ssize_t n = pwrite(fd, text, len, 0);

	if (n >= 0 && (size_t)n != len)
		errno = ENOSPC;
	return n == (ssize_t)len ? 0 : -1;
}

int format_write(const char *dir, int dir_fd, const struct format *f, char **why)
{
	char text[FILE_BYTES_MAX];
	int err = 0, fd = openat(dir_fd, MARK, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		return sys_error(why, dir, "write to");
	snprintf(text, sizeof(text), "kiln store %d\nbackend %s\nlayout %s\nuuid %s\n",
		 FORMAT_VERSION, f->backend, f->layout, f->uuid);
	if (write_all(fd, text) < 0 || fsync(fd) < 0)
		err = sys_error(why, dir, "write the file format in");
	close(fd);
	if (!err && (renameat(dir_fd, MARK, dir_fd, "format") < 0 || fsync(dir_fd) < 0))
		err = sys_error(why, dir, "write the file format in");
	return err;
}

int format_read(const char *dir, int dir_fd, struct format *out, char **why)
{
	char text[FILE_BYTES_MAX];
	int version, end = 0, err = read_small(dir_fd, "format", text);

	if (err == -KILN_ENOENT)
		return err;
	if (err)
		return why_set(why, err, "cannot read %s/format: %s", dir, err_text(err));
	if (sscanf(text, "kiln store %d\n", &version) != 1)
		return why_set(why, -KILN_ENOTKILN, "%s/format is not that of a kiln store", dir);
	if (version > FORMAT_VERSION)
		return why_set(why, -KILN_EVERSION,
			       "%s was written by a newer kiln: it has store format %d, this is kiln "
			       "%s, which knows formats up to %d; use a newer kiln",
			       dir, version, KILN_VERSION, FORMAT_VERSION);
	if (version >= 1 && version < FORMAT_VERSION)
		return why_set(why, -KILN_EVERSION,
			       "%s was written by an older kiln: it has store format %d, this is kiln "
			       "%s, which knows format %d only; copy its files with that kiln",
			       dir, version, KILN_VERSION, FORMAT_VERSION);
	if (version < 1 ||
	    sscanf(text, "kiln store %d\nbackend %15s\nlayout %15s\nuuid %36s\n%n", &version,
		   out->backend, out->layout, out->uuid, &end) != 4 ||
	    text[end])
		return why_set(why, -KILN_ECORRUPT,
			       "%s/format is damaged; restore it from a backup (docs/format.md shows "
			       "its four lines)",
			       dir);
	return 0;
}

void format_uuid(char *text)
{
	unsigned char b[16] = { 0 };

	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		abort(); /* cannot happen for 16 bytes once the kernel has started */
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
	for (int i = 0; i < 16; i++)
		text += sprintf(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
				b[i]);
}

/* Private to store/: DIR/format and DIR/lock. */
#ifndef STORE_FORMAT_H
#define STORE_FORMAT_H

#include <stdbool.h>

enum { FORMAT_VERSION = 2 };

struct format {
	char backend[16], layout[16], uuid[40];
};

/* format_claim: opens DIR (making it if create), takes its lock and writes the pid there.
 * format_read: -KILN_ENOENT if there is none.  format_write: durable on return.
 * On failure *why is a malloc'd sentence. */
int format_claim(const char *dir, bool create, int *dir_fd, int *lock_fd, char **why);
int format_read(const char *dir, int dir_fd, struct format *out, char **why);
int format_write(const char *dir, int dir_fd, const struct format *format, char **why);
/* format_begin: the directory is free for a new store, or holds one whose making was cut short;
 * a mark is left that says so, removed by format_write. */
int format_begin(const char *dir, int dir_fd, char **why);
void format_uuid(char *text); /* 36 characters and NUL, random */

int why_set(char **why, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif

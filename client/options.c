#include "client/options.h"

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

enum option_kind {
	SET,    /* flag on */
	CLEAR,  /* flag off */
	IGNORE, /* for mount(8), init systems and fstab's readers */
	OTHER,  /* allow_other */
	RELAY,
	HARD,
	SOFT,   /* =SECONDS */
	FSNAME, /* =TEXT */
	SERVER, /* =ADDRESS */
};

struct option_row {
	const char *name; /* with '=' at its end if a value must follow */
	enum option_kind kind;
	unsigned long flag;
};

enum { SOFT_MAX = 31536000 };

static const struct option_row table[] = {
	{ "ro", SET, MS_RDONLY },
	{ "rw", CLEAR, MS_RDONLY },
	{ "nodev", SET, MS_NODEV },
	{ "dev", CLEAR, MS_NODEV },
	{ "nosuid", SET, MS_NOSUID },
	{ "suid", CLEAR, MS_NOSUID },
	{ "noexec", SET, MS_NOEXEC },
	{ "exec", CLEAR, MS_NOEXEC },
	{ "noatime", SET, MS_NOATIME },
	{ "atime", CLEAR, MS_NOATIME },
	{ "nodiratime", SET, MS_NODIRATIME },
	{ "diratime", CLEAR, MS_NODIRATIME },
	{ "relatime", SET, MS_RELATIME },
	{ "norelatime", CLEAR, MS_RELATIME },
	{ "strictatime", SET, MS_STRICTATIME },
	{ "nostrictatime", CLEAR, MS_STRICTATIME },
	{ "sync", SET, MS_SYNCHRONOUS },
	{ "async", CLEAR, MS_SYNCHRONOUS },
	{ "dirsync", SET, MS_DIRSYNC },
	{ "nosymfollow", SET, 256 /* MS_NOSYMFOLLOW, Linux 5.10 */ },
	{ "symfollow", CLEAR, 256 },
	{ "allow_other", OTHER, 0 },
	{ "relay", RELAY, 0 },
	{ "hard", HARD, 0 },
	{ "soft=", SOFT, 0 },
	{ "fsname=", FSNAME, 0 },
	{ "server=", SERVER, 0 },
	{ "default_permissions", IGNORE, 0 }, /* always on */
	{ "defaults", IGNORE, 0 },
	{ "auto", IGNORE, 0 },
	{ "noauto", IGNORE, 0 },
	{ "user", IGNORE, 0 },
	{ "user=", IGNORE, 0 },
	{ "nouser", IGNORE, 0 },
	{ "users", IGNORE, 0 },
	{ "owner", IGNORE, 0 },
	{ "group", IGNORE, 0 },
	{ "nofail", IGNORE, 0 },
	{ "_netdev", IGNORE, 0 },
	{ "comment=", IGNORE, 0 },
	{ "x-*", IGNORE, 0 },
	{ "X-*", IGNORE, 0 },
};
enum { ROWS = sizeof table / sizeof *table };

int options_number(const char *text, unsigned max, unsigned *out)
{
	char *end;
	unsigned long n;

	if (text[0] < '0' || text[0] > '9')
		return -KILN_EINVAL;
	n = strtoul(text, &end, 10);
	if (*end || n > max)
		return -KILN_EINVAL;
	*out = (unsigned)n;
	return 0;
}

/* "name" is the whole word; "name=" and "x-*" are its beginning. */
static bool row_matches(const struct option_row *r, const char *word)
{
	size_t n = strlen(r->name);

	if (r->name[n - 1] == '*')
		return strncmp(r->name, word, n - 1) == 0;
	if (r->name[n - 1] == '=')
		return strncmp(r->name, word, n) == 0;
	return strcmp(r->name, word) == 0;
}

static int value_refused(const char *word, const char *wants, char *why, size_t cap)
{
	snprintf(why, cap, "mount option '%s': %s", word, wants);
	return -KILN_EINVAL;
}

static int row_apply(const struct option_row *r, struct mount_options *o, const char *word,
		     char *why, size_t cap)
{
	const char *value = word + strlen(r->name);

	switch (r->kind) {
	case SET:
		o->flags |= r->flag;
		break;
	case CLEAR:
		o->flags &= ~r->flag;
		break;
	case IGNORE:
		break;
	case OTHER:
		o->allow_other = true;
		break;
	case RELAY:
		o->relay = true;
		break;
	case HARD:
		o->soft_seconds = 0;
		break;
	case SOFT:
		if (options_number(value, SOFT_MAX, &o->soft_seconds) || o->soft_seconds == 0)
			return value_refused(word, "wants a number of seconds, at least 1", why,
					     cap);
		break;
	case FSNAME:
		if (!value[0] || strlen(value) >= sizeof o->fsname)
			return value_refused(word, "wants 1 to 255 bytes", why, cap);
		strcpy(o->fsname, value);
		break;
	case SERVER:
		if (!value[0] || strlen(value) >= sizeof o->server)
			return value_refused(word, "wants unix:PATH or tcp:HOST:PORT", why, cap);
		strcpy(o->server, value);
		break;
	}
	return 0;
}

static int word_apply(struct mount_options *o, const char *word, char *why, size_t cap)
{
	for (const struct option_row *r = table; r < table + ROWS; r++)
		if (row_matches(r, word))
			return row_apply(r, o, word, why, cap);
	if (o->sloppy)
		return 0;
	snprintf(why, cap, "unknown mount option '%s'; 'kiln mount --help' lists them", word);
	return -KILN_EINVAL;
}

int options_parse(struct mount_options *o, const char *list, char *why, size_t cap)
{
	int err = 0;
	char *copy = strdup(list), *rest = copy, *word;

	if (!copy) {
		snprintf(why, cap, "%s", err_text(-KILN_ENOMEM));
		return -KILN_ENOMEM;
	}
	while (err == 0 && (word = strsep(&rest, ",")) != NULL)
		if (word[0])
			err = word_apply(o, word, why, cap);
	free(copy);
	return err;
}

const char *options_flag_names(unsigned long flags, char *out, size_t cap)
{
	size_t n = (size_t)snprintf(out, cap, "%s", flags & MS_RDONLY ? "ro" : "rw");

	for (const struct option_row *r = table; r < table + ROWS; r++)
		if (r->kind == SET && r->flag != MS_RDONLY && flags & r->flag && n < cap)
			n += (size_t)snprintf(out + n, cap - n, ",%s", r->name);
	return out;
}

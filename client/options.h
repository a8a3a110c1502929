/* The -o options of a mount, in one table. */
#ifndef CLIENT_OPTIONS_H
#define CLIENT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct mount_options {
	unsigned long flags;   /* MS_xxx of mount(2) */
	bool allow_other;      /* other users may enter; always so for root's mounts */
	bool relay;            /* messages through the connection even where a hand-over would do */
	bool sloppy;           /* unknown options are ignored (mount -s) */
	unsigned soft_seconds; /* EIO after so long without a server; 0: wait for ever */
	char fsname[256];      /* what df shows; empty: "kiln:VOLUME" */
	char server[400];      /* of a source that names the volume alone; empty: the default */
};

/* options_parse: a comma-separated list as in fstab; a later option overrides an earlier one.
 * 0, or -KILN_EINVAL with one sentence in why. */
int options_parse(struct mount_options *o, const char *list, char *why, size_t cap);
/* options_flag_names: the flags as fusermount3 wants them: "ro,nosuid,..."; returns out. */
const char *options_flag_names(unsigned long flags, char *out, size_t cap);
/* options_number: digits only, at most max; -KILN_EINVAL. */
int options_number(const char *text, unsigned max, unsigned *out);

#endif

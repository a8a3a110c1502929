/* A target is a file system under test, reached through a table of operations, so that a load
 * shape neither knows nor cares whether a kernel is in between.  One file implements one kind:
 *   target_dir.c   a directory (any mounted file system)
 *   target_null.c  answers at once and keeps nothing: what is left is the benchmark's own cost
 *   target_kiln.c  kiln://SOCKET/VOLUME through the client library, where that is built
 *
 * Threads: a target is shared; a session belongs to one thread, and so does every dir, file
 * and list handle obtained from it.  The caller closes what it opened, then the session, then
 * the target.  Every call returns 0 or -KILN_Exxx; names are single components unless said. */
#ifndef BENCH_TARGET_H
#define BENCH_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct target {
	const struct target_ops *ops;
	char why[256]; /* the last refusal in words, if ops has any; written by attach only, one
			* thread at a time */
};

struct target_session {
	const struct target_ops *ops;
};

/* Handles are what the implementation likes: a descriptor, a node id, a pointer. */
struct target_dir {
	uint64_t h;
};
struct target_file {
	uint64_t h, node;
};
struct target_list;

struct target_stat {
	uint64_t size;
	uint32_t mode, nlink; /* mode as in struct stat */
};

struct target_space {
	uint64_t bytes_free, bytes_total, inodes_free; /* inodes_free is UINT64_MAX if unbounded */
};

enum target_open { TARGET_READ = 1, TARGET_WRITE = 2, TARGET_TRUNC = 4 };

struct target_ops {
	const char *kind;
	bool keeps_nothing; /* content and existence are not to be checked */

	/* open: where is what the user typed.  root_made says what session->root means. */
	int (*open)(const char *where, struct target **out);
	void (*close)(struct target *t);
	int (*attach)(struct target *t, struct target_session **out);
	void (*detach)(struct target_session *s);
	/* drop_caches: make what comes next cold for the whole target; -KILN_EPERM or
	 * -KILN_ENOTSUP where that cannot be. */
	int (*drop_caches)(struct target *t);
	int (*space)(struct target *t, struct target_space *out);

	int (*root)(struct target_session *s, struct target_dir *out);
	int (*dir_open)(struct target_session *s, struct target_dir at, const char *name,
			struct target_dir *out);
	void (*dir_close)(struct target_session *s, struct target_dir dir);
	int (*mkdir)(struct target_session *s, struct target_dir at, const char *name);
	int (*rmdir)(struct target_session *s, struct target_dir at, const char *name);

	/* mknod: an empty file, without opening it */
	int (*mknod)(struct target_session *s, struct target_dir at, const char *name);
	/* create: exclusive, opens for reading and writing */
	int (*create)(struct target_session *s, struct target_dir at, const char *name,
		      struct target_file *out);
	int (*open_file)(struct target_session *s, struct target_dir at, const char *name,
			 int how, struct target_file *out);
	int (*close_file)(struct target_session *s, struct target_file f);
	/* read: *got is short only at the end of the file; write: all or an error */
	int (*read)(struct target_session *s, struct target_file f, void *buf, size_t len,
		    uint64_t offset, size_t *got);
	int (*write)(struct target_session *s, struct target_file f, const void *buf, size_t len,
		     uint64_t offset);
	int (*fsync)(struct target_session *s, struct target_file f);

	int (*lookup)(struct target_session *s, struct target_dir at, const char *name,
		      struct target_stat *out);
	/* dir_stat: of an open directory, asking the file system, not a cache above it */
	int (*dir_stat)(struct target_session *s, struct target_dir dir, struct target_stat *out);
	int (*unlink)(struct target_session *s, struct target_dir at, const char *name);
	int (*rename)(struct target_session *s, struct target_dir at, const char *from,
		      const char *to);
	int (*link)(struct target_session *s, struct target_dir at, const char *from,
		    const char *to);
	int (*symlink)(struct target_session *s, struct target_dir at, const char *text,
		       const char *name);
	int (*chmod)(struct target_session *s, struct target_dir at, const char *name,
		     uint32_t mode);
	int (*utimes)(struct target_session *s, struct target_dir at, const char *name,
		      uint64_t mtime_ns);
	int (*setxattr)(struct target_session *s, struct target_file f, const char *key,
			const void *value, size_t len);
	int (*getxattr)(struct target_session *s, struct target_file f, const char *key,
			void *value, size_t cap, size_t *len);

	/* list: name points into the list and lives until the next call; NULL at the end */
	int (*list_open)(struct target_session *s, struct target_dir dir,
			 struct target_list **out);
	int (*list_next)(struct target_session *s, struct target_list *l, const char **name,
			 bool *is_dir);
	void (*list_close)(struct target_session *s, struct target_list *l);
};

extern const struct target_ops target_dir_ops;
extern const struct target_ops target_null_ops;
extern const struct target_ops target_kiln_ops; /* with BENCH_WITH_KILN */

/* target_open: picks the implementation by what where looks like. */
int target_open(const char *where, struct target **out);
/* target_remove_tree: removes name below at and everything in it; goes on after an error and
 * returns the first.  0 if there is no such name. */
int target_remove_tree(struct target_session *s, struct target_dir at, const char *name);

#endif

/* wire_seeds DIR: writes one well-formed message for each opcode into DIR, fuzz-wire's first
 * corpus. */
#include <linux/fuse.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct shape {
	uint32_t opcode;
	size_t arg;        /* bytes of the fixed struct */
	const char *names; /* names behind it, as they lie in the message; NULL: none */
	size_t names_len;
	size_t tail;       /* bytes behind the names */
} shapes[] = {
#define PLAIN(opcode, type) { opcode, sizeof(struct type), NULL, 0, 0 }
#define NAMED(opcode, arg, names) { opcode, arg, names, sizeof(names), 0 }
	NAMED(FUSE_LOOKUP, 0, "name"),
	PLAIN(FUSE_FORGET, fuse_forget_in),
	PLAIN(FUSE_GETATTR, fuse_getattr_in),
	PLAIN(FUSE_SETATTR, fuse_setattr_in),
	{ FUSE_READLINK, 0, NULL, 0, 0 },
	NAMED(FUSE_SYMLINK, 0, "name\0target/of/it"),
	NAMED(FUSE_MKNOD, sizeof(struct fuse_mknod_in), "name"),
	NAMED(FUSE_MKDIR, sizeof(struct fuse_mkdir_in), "name"),
	NAMED(FUSE_UNLINK, 0, "name"),
	NAMED(FUSE_RMDIR, 0, "name"),
	NAMED(FUSE_RENAME, sizeof(struct fuse_rename_in), "old\0new"),
	NAMED(FUSE_RENAME2, sizeof(struct fuse_rename2_in), "old\0new"),
	NAMED(FUSE_LINK, sizeof(struct fuse_link_in), "name"),
	PLAIN(FUSE_OPEN, fuse_open_in),
	PLAIN(FUSE_READ, fuse_read_in),
	{ FUSE_WRITE, sizeof(struct fuse_write_in), NULL, 0, 100 },
	{ FUSE_STATFS, 0, NULL, 0, 0 },
	PLAIN(FUSE_RELEASE, fuse_release_in),
	PLAIN(FUSE_FSYNC, fuse_fsync_in),
	{ FUSE_SETXATTR, sizeof(struct fuse_setxattr_in), "user.x", 7, 20 },
	{ FUSE_SETXATTR, 8, "user.x", 7, 20 },
	NAMED(FUSE_GETXATTR, sizeof(struct fuse_getxattr_in), "user.x"),
	PLAIN(FUSE_LISTXATTR, fuse_getxattr_in),
	NAMED(FUSE_REMOVEXATTR, 0, "user.x"),
	PLAIN(FUSE_FLUSH, fuse_flush_in),
	PLAIN(FUSE_INIT, fuse_init_in),
	PLAIN(FUSE_OPENDIR, fuse_open_in),
	PLAIN(FUSE_READDIR, fuse_read_in),
	PLAIN(FUSE_READDIRPLUS, fuse_read_in),
	PLAIN(FUSE_RELEASEDIR, fuse_release_in),
	PLAIN(FUSE_FSYNCDIR, fuse_fsync_in),
	PLAIN(FUSE_GETLK, fuse_lk_in),
	PLAIN(FUSE_SETLK, fuse_lk_in),
	PLAIN(FUSE_SETLKW, fuse_lk_in),
	PLAIN(FUSE_ACCESS, fuse_access_in),
	NAMED(FUSE_CREATE, sizeof(struct fuse_create_in), "name"),
	NAMED(FUSE_TMPFILE, sizeof(struct fuse_create_in), "name"),
	PLAIN(FUSE_INTERRUPT, fuse_interrupt_in),
	{ FUSE_DESTROY, 0, NULL, 0, 0 },
	PLAIN(FUSE_IOCTL, fuse_ioctl_in),
	PLAIN(FUSE_POLL, fuse_poll_in),
	{ FUSE_BATCH_FORGET, sizeof(struct fuse_batch_forget_in), NULL, 0,
	  3 * sizeof(struct fuse_forget_one) },
	PLAIN(FUSE_FALLOCATE, fuse_fallocate_in),
	PLAIN(FUSE_LSEEK, fuse_lseek_in),
	PLAIN(FUSE_COPY_FILE_RANGE, fuse_copy_file_range_in),
	PLAIN(FUSE_SYNCFS, fuse_syncfs_in),
};

/* Counts that say how many bytes follow must be right for a message to be accepted. */
static void set_counts(const struct shape *s, uint8_t *arg)
{
	uint32_t tail = (uint32_t)s->tail, forgets = 3;

	if (s->opcode == FUSE_WRITE)
		memcpy(arg + offsetof(struct fuse_write_in, size), &tail, sizeof tail);
	if (s->opcode == FUSE_SETXATTR)
		memcpy(arg + offsetof(struct fuse_setxattr_in, size), &tail, sizeof tail);
	if (s->opcode == FUSE_BATCH_FORGET)
		memcpy(arg + offsetof(struct fuse_batch_forget_in, count), &forgets, sizeof forgets);
}

static int write_seed(const char *dir, size_t index)
{
	const struct shape *s = &shapes[index];
	uint8_t message[1024] = { 0 };
	struct fuse_in_header in = { .opcode = s->opcode, .unique = 2, .nodeid = 1 };
	char path[4096];
	size_t done;
	FILE *f;

	in.len = (uint32_t)(sizeof in + s->arg + s->names_len + s->tail);
	memcpy(message, &in, sizeof in);
	set_counts(s, message + sizeof in);
	if (s->names)
		memcpy(message + sizeof in + s->arg, s->names, s->names_len);
	snprintf(path, sizeof path, "%s/seed-%02zu-%u", dir, index, s->opcode);
	f = fopen(path, "wb");
	if (!f)
		return -1;
	done = fwrite(message, 1, in.len, f);
	return fclose(f) == 0 && done == in.len ? 0 : -1;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (write_seed(argv[1], i)) {
			perror(argv[1]);
			return 1;
		}
	return 0;
}

/* kiln-alone: where the limit is.  The store without a server and without a network does what a
 * server makes it do for a create or a lookup; and the device without a store does what a commit
 * makes it do.
 *
 *   kiln-alone DIR [FILES]         DIR: an empty or missing directory on the disk to look at
 *
 * A create is what op_mknod puts: inode, entry, the client's reply record; and once a group, the
 * directory, the counters (and the batch number, which the store adds).  A lookup is an entry and
 * its inode. */
#include "base/clock.h"
#include "base/err.h"
#include "store/schema.h"
#include "store/store.h"
#include "store/txn.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BRICK = 1, FIRST = 16, CLIENTS = 25, GROUP_BYTES = 4096, SYNCED_S = 2 };

struct bench {
	struct store *store;
	struct txn *group, *reader;
	struct inode dir;
	struct counters counters;
	uint64_t made;
};

struct span {
	uint64_t wall_ns, cpu_ns;
};

static struct span span_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (struct span){ clock_mono(), (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec };
}

static void report(const char *what, unsigned group, struct span from, uint64_t n)
{
	struct span to = span_now();

	printf("| %s | %u | %.1f | %.1f |\n", what, group, (double)(to.wall_ns - from.wall_ns) / n / 1e3,
	       (double)(to.cpu_ns - from.cpu_ns) / n / 1e3);
}

static size_t name_of(char name[32], uint64_t i)
{
	return (size_t)snprintf(name, 32, "file-%08" PRIu64, i);
}

static int put_file(struct bench *b)
{
	struct timespec now = clock_wall();
	struct inode inode = { .handle = FIRST + b->made, .mode = S_IFREG | 0644, .nlink = 1,
			       .atime = now, .mtime = now, .ctime = now, .btime = now };
	struct reply_record reply = { .unique = 2 * b->made, .opcode = 8, .handle = inode.handle };
	char name[32];
	size_t len = name_of(name, b->made);
	uint64_t child;
	uint8_t type;
	int err = dirent_get(b->group, b->dir.handle, name, len, &child, &type);

	if (err != -KILN_ENOENT)
		return err ? err : -KILN_EEXIST;
	err = inode_put(b->group, &inode);
	if (!err)
		err = dirent_put(b->group, b->dir.handle, name, len, inode.handle, S_IFREG >> 12);
	b->dir.mtime = b->dir.ctime = now;
	b->dir.entries++;
	if (!err)
		err = inode_put(b->group, &b->dir);
	if (!err)
		err = reply_put(b->group, b->made % CLIENTS + 1, 1, &reply);
	b->made++;
	return err;
}

static int put_group(struct bench *b, unsigned group)
{
	uint64_t seq;
	int err = 0;

	for (unsigned i = 0; i < group && !err; i++)
		err = put_file(b);
	b->counters.inodes += group;
	if (!err)
		err = counters_put(b->group, &b->counters);
	return err ? err : txn_apply(b->group, &seq);
}

static int creates(struct bench *b, unsigned group, uint64_t files)
{
	struct span from = span_now();
	int err = 0;

	for (uint64_t n = 0; n < files && !err; n += group)
		err = put_group(b, group);
	if (!err)
		report("store: create", group, from, files / group * group);
	return err;
}

static int creates_synced(struct bench *b, unsigned group)
{
	struct span from = span_now();
	uint64_t end = from.wall_ns + SYNCED_S * NS_PER_S, through, n = 0;
	int err = 0;

	for (; clock_mono() < end && !err; n += group) {
		err = put_group(b, group);
		if (!err)
			err = kv_sync(store_kv(b->store), &through);
	}
	if (!err)
		report("store: create, a sync a group", group, from, n);
	return err;
}

static int lookups(struct bench *b)
{
	struct span from = span_now();
	struct inode inode;
	uint64_t child, at = 0;
	char name[32];
	uint8_t type;
	int err = 0;

	txn_look(b->reader, BRICK, NULL);
	for (uint64_t n = 0; n < b->made && !err; n++) {
		at = (at + 7919) % b->made;
		err = dirent_get(b->reader, b->dir.handle, name, name_of(name, at), &child, &type);
		if (!err)
			err = inode_get(b->reader, child, &inode);
	}
	if (!err)
		report("store: lookup", 1, from, b->made);
	return err;
}

/* The same bytes as a group's, over and over into a file that has its blocks. */
static int device(const char *dir, unsigned group)
{
	static char bytes[64 * GROUP_BYTES];
	size_t len = 512 + 400 * (size_t)group, at = 0;
	char path[4096];
	struct span from;
	uint64_t end, n = 0;
	bool ok = true;
	int fd;

	snprintf(path, sizeof path, "%s/alone", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return -KILN_EIO;
	for (int i = 0; ok && i < 16; i++)
		ok = write(fd, bytes, sizeof bytes) == sizeof bytes;
	ok = ok && fsync(fd) == 0;
	from = span_now();
	end = from.wall_ns + SYNCED_S * NS_PER_S;
	for (; ok && clock_mono() < end; n += group) {
		ok = pwrite(fd, bytes, len, (off_t)at) == (ssize_t)len && fdatasync(fd) == 0;
		at = (at + len) % (15 * sizeof bytes);
	}
	if (ok)
		report("device: write and fdatasync of a group's bytes", group, from, n);
	unlink(path);
	close(fd);
	return ok ? 0 : -KILN_EIO;
}

static int bench_open(struct bench *b, const char *dir, const char *backend)
{
	struct store_options options = { .backend = backend, .create = true };
	char *why = NULL;
	int err = store_open(dir, &options, &b->store, &why);

	if (err) {
		fprintf(stderr, "kiln-alone: %s\n", why ? why : err_text(err));
		free(why);
		return err;
	}
	b->group = txn_group_new(b->store, BRICK);
	b->reader = txn_reader_new(b->store);
	if (!b->group || !b->reader)
		return -KILN_ENOMEM;
	txn_may_block(b->group, true);
	txn_may_block(b->reader, true);
	b->dir = (struct inode){ .handle = 1, .mode = S_IFDIR | 0755, .nlink = 2, .parent = 1 };
	return inode_put(b->group, &b->dir);
}

static void bench_close(struct bench *b)
{
	if (b->group)
		txn_free(b->group);
	if (b->reader)
		txn_free(b->reader);
	if (b->store)
		store_close(b->store);
}

static int run(const char *base, const char *backend, uint64_t files)
{
	static const unsigned groups[] = { 1, 5, 25, 64 };
	struct bench b = { 0 };
	char dir[4096];
	int err;

	snprintf(dir, sizeof dir, "%s/%s", base, backend);
	err = bench_open(&b, dir, backend);
	printf("\n%s:\n\n| what | changes a group | us each | us of processor each |\n|---|--:|--:|--:|\n",
	       backend);
	for (int i = 0; i < 4 && !err; i++)
		err = creates(&b, groups[i], files);
	if (!err)
		err = lookups(&b);
	for (int i = 0; i < 4 && !err && strcmp(backend, "mem") != 0; i++)
		err = creates_synced(&b, groups[i]);
	for (int i = 0; i < 4 && !err && strcmp(backend, "mem") != 0; i++)
		err = device(base, groups[i]);
	bench_close(&b);
	return err;
}

int main(int argc, char **argv)
{
	uint64_t files = argc > 2 ? strtoull(argv[2], NULL, 10) : 51200;
	int err;

	if (argc < 2 || files < 64) {
		fprintf(stderr, "usage: kiln-alone DIR [FILES]\n");
		return 2;
	}
	if (mkdir(argv[1], 0700) != 0 && access(argv[1], W_OK) != 0) {
		fprintf(stderr, "kiln-alone: %s cannot be made or written to\n", argv[1]);
		return 1;
	}
	err = run(argv[1], "mem", files);
	if (!err)
		err = run(argv[1], "rocksdb", files);
	if (err)
		fprintf(stderr, "kiln-alone: %s\n", err_text(err));
	return err ? 1 : 0;
}

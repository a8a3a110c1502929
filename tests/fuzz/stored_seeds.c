/* stored_seeds DIR: one of every kind of record, each in the body of a journal record of its own
 * and all in one, as the first corpus of fuzz-stored; with FOR_JOURNAL as that of fuzz-journal,
 * behind two numbers and a head whose hashes are still to be made. */
#include "store/journal.h"
#include "store/schema.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BRICK = 3, RECORD_HEAD_BYTES = 48 };

#ifndef FOR_JOURNAL
#define FOR_JOURNAL 0
#endif

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "stored_seeds: %s\n", what);
	exit(1);
}

static void put_inodes(struct txn *t)
{
	struct inode file = { .handle = 2, .mode = S_IFREG | 0644, .nlink = 1, .size = 10, .blocks = 16,
			      .flags = 1u << INODE_BLOCKS_SHIFT, .gen = 7, .born = 9, .uid = 1000,
			      .atime = { -5, 1 }, .mtime = { 1, 2 }, .ctime = { 3, 4 } };
	struct inode dir = { .handle = ROOT_HANDLE, .mode = S_IFDIR | 0755, .nlink = 2, .entries = 3,
			     .parent = 1 };
	struct inode link = { .handle = 4, .mode = S_IFLNK | 0777, .nlink = 1 };
	struct inode node = { .handle = 5, .mode = S_IFCHR | 0600, .nlink = 1, .rdev = 0x105 };

	must(!inode_put(t, &file) && !inode_put(t, &dir) && !inode_put(t, &node) &&
	     !symlink_put(t, &link, "to/there", 8), "inodes");
	must(!dirent_put(t, 1, "name", 4, 2, 8) && !dirent_put(t, 1, "link", 4, 4, 10), "entries");
	must(!block_put(t, 2, 0, "0123456789", 10), "a block");
	must(!xattr_put(t, 2, "user.x", "value", 5) &&
	     !xattr_put(t, 2, "system.posix_acl_access", "\2\0\0\0", 4), "attributes");
}

static void put_rest(struct txn *t)
{
	struct client_record client = { .client = 11, .secret = 12, .kind = 1, .minor = 31,
					.max_write = 1 << 20, .host = "host" };
	struct reply_record reply = { .unique = 4, .opcode = 9, .handle = 2, .value = 3 };
	struct lock_record locks[] = { { .owner = 1, .end = 5, .pid = 7, .type = F_WRLCK },
				       { .owner = 2, .start = 9, .end = UINT64_MAX, .flock = 1 } };
	struct counters counters = { .inodes = 4, .blocks = 16, .next_handle = 64 };
	struct volume_record volume = { .name = "v", .brick = BRICK, .created = 1 };

	must(!orphan_put(t, 5) && !trash_put(t, 6, 1) && !counters_put(t, &counters) &&
	     !client_put(t, &client) && !reply_put(t, 11, 0, &reply) &&
	     !locks_put(t, 2, 11, locks, 2) && !volume_record_put(t, &volume), "the rest");
}

static bool write_head(FILE *f, size_t body)
{
	static const unsigned char numbers[2] = { 1, 0 }; /* the segment's first; durable, persisted */
	unsigned char head[RECORD_HEAD_BYTES] = { 0 };
	uint32_t len = (uint32_t)body;
	uint64_t number = 1;

	memcpy(head + 4, &len, sizeof(len));
	memcpy(head + 8, &number, sizeof(number));
	return fwrite(numbers, sizeof(numbers), 1, f) == 1 && fwrite(head, sizeof(head), 1, f) == 1;
}

static void write_seed(const char *dir, unsigned number, const struct kv_batch *b)
{
	struct journal_record record = { 0 };
	char path[4096];
	FILE *f;

	must(!journal_encode(&record, b), "encoding");
	snprintf(path, sizeof(path), "%s/seed-%02u", dir, number);
	f = fopen(path, "wb");
	must(f && (!FOR_JOURNAL || write_head(f, record.len - RECORD_HEAD_BYTES)) &&
	     fwrite(record.bytes + RECORD_HEAD_BYTES, 1, record.len - RECORD_HEAD_BYTES, f) ==
		     record.len - RECORD_HEAD_BYTES && fclose(f) == 0, path);
	journal_record_free(&record);
}

static void write_space(struct kv *kv, enum kv_space space, const char *dir, unsigned *number,
			struct kv_batch *all)
{
	const void *key, *value;
	size_t key_len, value_len;
	struct kv_batch *one = kv_batch_new();
	struct kv_scan *scan;

	must(!kv_scan_open(kv, NULL, space, "", 0, "\xff", 1, 0, &scan), "a scan");
	while (kv_scan_next(scan, &key, &key_len, &value, &value_len) > 0) {
		kv_batch_clear(one);
		must(!kv_batch_put(one, space, key, key_len, value, value_len) &&
		     !kv_batch_put(all, space, key, key_len, value, value_len), "a batch");
		write_seed(dir, (*number)++, one);
	}
	kv_scan_close(scan);
	kv_batch_free(one);
}

int main(int argc, char **argv)
{
	struct store_options o = { .backend = "mem", .layout = "split", .create = true };
	char scratch[] = "/tmp/kiln-seeds-XXXXXX", command[64], *why;
	struct kv_batch *all = kv_batch_new();
	unsigned number = 0;
	struct store *store = NULL;
	struct txn *t;
	uint64_t seq;

	must(argc == 2 && mkdtemp(scratch) && !store_open(scratch, &o, &store, &why), "a store");
	t = txn_group_new(store, BRICK);
	put_inodes(t);
	put_rest(t);
	must(!txn_apply(t, &seq), "an apply");
	for (int space = 0; space < KV_SPACES; space++)
		write_space(store_kv(store), (enum kv_space)space, argv[1], &number, all);
	write_seed(argv[1], number, all);
	must(number >= 15, "fewer kinds than there are");
	kv_batch_free(all);
	txn_free(t);
	store_close(store);
	snprintf(command, sizeof(command), "rm -rf %s", scratch);
	return system(command) == 0 ? 0 : 1;
}

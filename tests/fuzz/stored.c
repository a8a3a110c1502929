/* libFuzzer target on what is read from disks: an input is the body of a journal record, as it
 * comes behind its hash; what it decodes to is put into a store in memory and read as the server
 * would read it.  All of it may be nonsense; no reader may go beyond its bytes, and each says so
 * with an error of its contract. */
#include "base/err.h"
#include "store/journal_impl.h"
#include "store/kv_impl.h"
#include "store/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static struct store *store;
static struct txn *reader;
static struct kv_batch *batch, *wipe;
static char dir[] = "/tmp/kiln-fuzz-XXXXXX";

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void clean_up(void)
{
	char command[sizeof(dir) + 16];

	txn_free(reader);
	store_close(store);
	kv_batch_free(batch);
	kv_batch_free(wipe);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	require(system(command) == 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct store_options o = { .backend = "mem", .layout = "split", .create = true };
	char *why;

	require(mkdtemp(dir) != NULL);
	require(store_open(dir, &o, &store, &why) == 0);
	reader = txn_reader_new(store);
	batch = kv_batch_new();
	wipe = kv_batch_new();
	atexit(clean_up);
	return 0;
}

static void expected(int err)
{
	require(err == 0 || err == -KILN_ECORRUPT || err == -KILN_ESTALE || err == -KILN_ENOENT ||
		err == -KILN_EINVAL || err == -KILN_ERANGE || err == -KILN_ENODATA);
}

static uint64_t number_at(const unsigned char *key, size_t len, size_t at)
{
	uint64_t v = 0;

	for (size_t i = at; i < at + 8; i++)
		v = v << 8 | (i < len ? key[i] : 0);
	return v;
}

static void read_inode(uint64_t handle)
{
	char target[LINK_BYTES_MAX];
	struct inode inode, many;
	size_t len = 0;
	int err, one = 0;

	err = inode_get(reader, handle, &inode);
	expected(err);
	expected(inode_get_many(reader, &handle, 1, &many, &one));
	require(one == err);
	err = symlink_get(reader, handle, target, sizeof(target), &len);
	expected(err);
	require(err || len <= sizeof(target));
}

static void read_directory(uint64_t directory)
{
	struct dirent_scan *scan;
	struct dirent_row row;
	uint64_t child;
	uint8_t type;
	int got;

	if (dirent_scan_open(reader, directory, 0, &scan))
		return;
	while ((got = dirent_scan_next(scan, &row)) > 0) {
		require(row.len > 0 && row.len <= NAME_BYTES_MAX);
		expected(dirent_get(reader, directory, row.name, row.len, &child, &type));
	}
	expected(got);
	dirent_scan_close(scan);
}

static void read_attributes(uint64_t handle)
{
	char names[4096], value[512];
	size_t len = 0, at = 0, got;

	if (xattr_list(reader, handle, names, sizeof(names), &len))
		return;
	require(len <= sizeof(names));
	while (at < len) {
		size_t n = strnlen(names + at, len - at);

		require(at + n < len);
		expected(xattr_get(reader, handle, names + at, value, sizeof(value), &got));
		at += n + 1;
	}
}

static void read_block(uint64_t handle, uint32_t index)
{
	char block[BLOCK_BYTES];
	size_t len = 0;
	int err = block_get(reader, handle, index, block, &len);

	expected(err);
	require(err || len <= sizeof(block));
}

static int take_reply(void *context, uint32_t slot, const struct reply_record *r)
{
	return 0;
}

static void read_key(const unsigned char *key, size_t len)
{
	uint64_t number = number_at(key, len, 5);

	if (len < 5)
		return;
	switch (key[4]) {
	case 'i':
		read_inode(number);
		break;
	case 'd':
		read_directory(number);
		break;
	case 'x':
		read_attributes(number);
		break;
	case 'b':
		read_block(number, (uint32_t)(number_at(key, len, 13) >> 32));
		break;
	case 'r':
		expected(reply_each(reader, number, take_reply, NULL));
		break;
	default:
		break;
	}
}

static int take_handle(void *context, uint64_t handle)
{
	return 0;
}

static int take_trash(void *context, uint64_t handle, uint32_t gen)
{
	return 0;
}

static int take_client(void *context, const struct client_record *r)
{
	require(strnlen(r->host, sizeof(r->host)) < sizeof(r->host));
	return 0;
}

static int take_locks(void *context, uint64_t handle, uint64_t client,
		      const struct lock_record *locks, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += locks[i].owner ^ locks[i].end;
	*(uint64_t *)context += sum;
	return 0;
}

static int take_volume(void *context, const struct volume_record *r)
{
	require(strnlen(r->name, sizeof(r->name)) < sizeof(r->name));
	return 0;
}

static void read_lists(void)
{
	struct counters counters;
	uint64_t sum = 0;

	expected(orphan_each(reader, take_handle, NULL));
	expected(trash_each(reader, take_trash, NULL));
	expected(client_each(reader, take_client, NULL));
	expected(locks_each(reader, take_locks, &sum));
	expected(volume_record_each(reader, take_volume, NULL));
	expected(counters_get(reader, &counters));
}

static void wipe_all(uint64_t *seq)
{
	kv_batch_clear(wipe);
	for (size_t i = 0; i < batch->count; i++) {
		const struct kv_record *r = &batch->records[i];

		require(kv_batch_del(wipe, (enum kv_space)r->space, batch->bytes + r->at,
				     r->key_len) == 0);
	}
	require(kv_apply(store_kv(store), wipe, 0, seq) == 0);
}

/* Every key in the batch is looked for where it says it belongs. */
static void read_all(void)
{
	for (size_t i = 0; i < batch->count; i++) {
		const struct kv_record *r = &batch->records[i];
		const unsigned char *key = batch->bytes + r->at;

		if (r->kind != KV_PUT || r->key_len < 5)
			continue;
		txn_look(reader, (uint32_t)(number_at(key, r->key_len, 0) >> 32), NULL);
		read_key(key, r->key_len);
		read_lists();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	uint8_t *body = malloc(len ? len : 1);
	uint64_t seq;
	int err;

	require(body != NULL);
	memcpy(body, bytes, len);
	err = record_decode(body, len, batch);
	free(body); /* what was decoded is a copy */
	require(err == 0 || err == -KILN_ECORRUPT);
	if (err)
		return 0;
	require(kv_apply(store_kv(store), batch, 0, &seq) == 0);
	read_all();
	wipe_all(&seq);
	return 0;
}

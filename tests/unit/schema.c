/* store/schema.h: what is written is read, and damaged values are refused. */
#include "base/err.h"
#include "store/schema.h"
#include "tests/unit/tmpdir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include <cmocka.h>

struct fixture {
	char *dir;
	struct store *store;
	struct txn *t;
};

static int set_up(void **state)
{
	struct store_options o = { .backend = "mem", .layout = "single", .create = true };
	struct fixture *f = calloc(1, sizeof(*f));
	char *why;

	f->dir = tmpdir_make();
	assert_int_equal(store_open(f->dir, &o, &f->store, &why), 0);
	f->t = txn_group_new(f->store, 3);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	txn_free(f->t);
	store_close(f->store);
	tmpdir_remove(f->dir);
	free(f);
	return 0;
}

static void apply(struct txn *t)
{
	uint64_t seq;

	assert_int_equal(txn_apply(t, &seq), 0);
}

static const struct inode full = {
	.handle = 0x1122334455667788,
	.mode = S_IFREG | 07777,
	.uid = UINT32_MAX,
	.gid = UINT32_MAX - 1,
	.nlink = 65000,
	.rdev = 0xfedcba98,
	.flags = INODE_DATA | INODE_XATTR | INODE_ACL | INODE_DEFACL | INODE_CAPS | INODE_ORPHAN,
	.gen = 77,
	.size = UINT64_MAX,
	.blocks = 1ull << 40,
	.atime = { INT64_MIN, 999999999 },
	.mtime = { -1, 1 },
	.ctime = { INT64_MAX, 0 },
	.btime = { 0, 5 },
	.entries = 1000000,
	.parent = 1ull << 63,
	.born = UINT64_MAX,
};

static void same_inode(const struct inode *a, const struct inode *b)
{
	assert_int_equal(a->handle, b->handle);
	assert_int_equal(a->mode, b->mode);
	assert_int_equal(a->uid, b->uid);
	assert_int_equal(a->gid, b->gid);
	assert_int_equal(a->nlink, b->nlink);
	assert_int_equal(a->rdev, b->rdev);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->gen, b->gen);
	assert_int_equal(a->size, b->size);
	assert_int_equal(a->blocks, b->blocks);
	assert_int_equal(a->entries, b->entries);
	assert_int_equal(a->parent, b->parent);
	assert_int_equal(a->born, b->born);
	assert_memory_equal(&a->atime, &b->atime, sizeof(a->atime));
	assert_memory_equal(&a->mtime, &b->mtime, sizeof(a->mtime));
	assert_memory_equal(&a->ctime, &b->ctime, sizeof(a->ctime));
	assert_memory_equal(&a->btime, &b->btime, sizeof(a->btime));
}

static void inodes_come_back(void **state)
{
	struct txn *t = ((struct fixture *)*state)->t;
	struct inode plain = { .handle = 5, .mode = S_IFDIR | 0755, .nlink = 1 }, got;

	assert_int_equal(inode_get(t, 5, &got), -KILN_ESTALE);
	assert_int_equal(inode_put(t, &full), 0);
	assert_int_equal(inode_put(t, &plain), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(inode_get(t, full.handle, &got), 0);
		same_inode(&got, &full);
		assert_int_equal(inode_get(t, 5, &got), 0);
		same_inode(&got, &plain);
		apply(t);
	}
	plain.nlink = 0;
	assert_int_equal(inode_put(t, &plain), 0);
	assert_int_equal(inode_get(t, 5, &got), 0);
	assert_int_equal(got.nlink, 0);
	assert_int_equal(inode_del(t, 5), 0);
	assert_int_equal(inode_get(t, 5, &got), -KILN_ESTALE);
}

static void many_inodes_come_back(void **state)
{
	enum { COUNT = 300 };
	struct fixture *f = *state;
	static uint64_t handles[COUNT];
	static struct inode out[COUNT];
	static int errs[COUNT];
	struct txn *reader = txn_reader_new(f->store);

	for (unsigned i = 0; i < COUNT; i++) {
		struct inode n = { .handle = i + 1, .mode = S_IFREG, .size = i };

		handles[i] = i + 1;
		if (i % 2)
			assert_int_equal(inode_put(f->t, &n), 0);
	}
	apply(f->t);
	txn_look(reader, 3, NULL);
	assert_int_equal(inode_get_many(reader, handles, COUNT, out, errs), 0);
	for (unsigned i = 0; i < COUNT; i++) {
		assert_int_equal(errs[i], i % 2 ? 0 : -KILN_ESTALE);
		if (i % 2)
			assert_int_equal(out[i].size, i);
	}
	txn_free(reader);
}

static void a_link_keeps_its_target(void **state)
{
	struct txn *t = ((struct fixture *)*state)->t;
	struct inode link = { .handle = 9, .mode = S_IFLNK | 0777, .nlink = 1 }, got;
	static char target[LINK_BYTES_MAX + 1], back[LINK_BYTES_MAX];
	size_t len;

	memset(target, 'y', sizeof(target));
	assert_int_equal(symlink_put(t, &link, target, sizeof(target)), -KILN_ENAMETOOLONG);
	assert_int_equal(symlink_put(t, &link, target, LINK_BYTES_MAX), 0);
	apply(t);
	link.nlink = 2;
	link.uid = 1000;
	assert_int_equal(inode_put(t, &link), 0);
	apply(t);
	assert_int_equal(inode_get(t, 9, &got), 0);
	assert_int_equal(got.uid, 1000);
	assert_int_equal(symlink_get(t, 9, back, sizeof(back), &len), 0);
	assert_int_equal(len, LINK_BYTES_MAX);
	assert_memory_equal(back, target, len);
	assert_int_equal(symlink_get(t, 9, back, 3, &len), 0);
	assert_int_equal(len, 3);
	assert_int_equal(symlink_get(t, 10, back, 3, &len), -KILN_ESTALE);
	assert_int_equal(inode_put(t, &full), 0);
	assert_int_equal(symlink_get(t, full.handle, back, 3, &len), -KILN_EINVAL);
}

static void names_are_looked_up(void **state)
{
	struct txn *t = ((struct fixture *)*state)->t;
	char name[NAME_BYTES_MAX + 1];
	uint64_t child;
	uint8_t type;

	memset(name, 0xff, sizeof(name));
	assert_int_equal(dirent_put(t, 1, name, sizeof(name), 2, 8), -KILN_ENAMETOOLONG);
	assert_int_equal(dirent_put(t, 1, name, 0, 2, 8), -KILN_EINVAL);
	assert_int_equal(dirent_put(t, 1, name, NAME_BYTES_MAX, 2, 8), 0);
	assert_int_equal(dirent_put(t, 1, name, 1, 3, 4), 0);
	apply(t);
	assert_int_equal(dirent_get(t, 1, name, NAME_BYTES_MAX, &child, &type), 0);
	assert_int_equal(child, 2);
	assert_int_equal(type, 8);
	assert_int_equal(dirent_get(t, 1, name, 1, &child, &type), 0);
	assert_int_equal(child, 3);
	assert_int_equal(dirent_get(t, 1, name, 2, &child, &type), -KILN_ENOENT);
	assert_int_equal(dirent_get(t, 2, name, 1, &child, &type), -KILN_ENOENT);
	assert_int_equal(dirent_del(t, 1, name, 1), 0);
	assert_int_equal(dirent_get(t, 1, name, 1, &child, &type), -KILN_ENOENT);
}

static void listing_goes_by_cookie(void **state)
{
	struct txn *t = ((struct fixture *)*state)->t;
	uint64_t after = 0, last_child = 0;
	struct dirent_scan *scan;
	struct dirent_row row;
	bool seen[101] = { false };
	int got, count = 0;

	for (unsigned i = 1; i <= 100; i++) {
		char name[16];
		int len = snprintf(name, sizeof(name), "name%u", i);

		assert_int_equal(dirent_put(t, 6, name, (size_t)len, i, 8), 0);
		assert_int_equal(dirent_put(t, 5, name, (size_t)len, 1000, 8), 0);
		assert_int_equal(dirent_put(t, UINT64_MAX, name, (size_t)len, i, 8), 0);
	}
	apply(t);
	do { /* three at a time */
		assert_int_equal(dirent_scan_open(t, 6, after, &scan), 0);
		for (int i = 0; i < 3 && (got = dirent_scan_next(scan, &row)) == 1; i++) {
			assert_true(row.cookie > after && row.cookie >= 16);
			assert_true(row.cookie <= INT64_MAX);
			assert_int_equal(row.cookie, dirent_cookie(row.name, row.len));
			after = row.cookie;
			last_child = row.child;
			assert_true(last_child <= 100 && !seen[last_child]);
			seen[last_child] = true;
			count++;
		}
		dirent_scan_close(scan);
	} while (got == 1);
	assert_int_equal(got, 0);
	assert_int_equal(count, 100);
	assert_int_equal(dirent_scan_open(t, UINT64_MAX, 0, &scan), 0);
	assert_int_equal(dirent_scan_next(scan, &row), 1);
	dirent_scan_close(scan);
	assert_int_equal(dirent_scan_open(t, 6, UINT64_MAX, &scan), 0);
	assert_int_equal(dirent_scan_next(scan, &row), 0);
	dirent_scan_close(scan);
}

static void cookies_are_the_stored_format(void **state)
{
	/* XXH3, 64 bit, shifted right by one: changing it would make stored names vanish */
	assert_int_equal(dirent_cookie("a", 1), 0xe6c632b61e964e1f >> 1);
}

static void xattrs_come_back(void **state)
{
	struct txn *t = ((struct fixture *)*state)->t;
	static char big[XATTR_VALUE_MAX + 1], list[64];
	char name[XATTR_NAME_MAX + 2];
	size_t len;

	assert_int_equal(xattr_get(t, 2, "user.a", big, sizeof(big), &len), -KILN_ENODATA);
	assert_int_equal(xattr_put(t, 2, "user.a", "1", 1), 0);
	assert_int_equal(xattr_put(t, 2, "user.b", big, XATTR_VALUE_MAX), 0);
	assert_int_equal(xattr_put(t, 2, "user.c", big, sizeof(big)), -KILN_ETOOBIG);
	assert_int_equal(xattr_put(t, 3, "user.other", "1", 1), 0);
	memset(name, 'n', sizeof(name));
	name[XATTR_NAME_MAX + 1] = 0;
	assert_int_equal(xattr_put(t, 2, name, "1", 1), -KILN_ERANGE);
	assert_int_equal(xattr_get(t, 2, name, NULL, 0, &len), -KILN_ENODATA);
	apply(t);
	assert_int_equal(xattr_get(t, 2, "user.b", NULL, 0, &len), -KILN_ERANGE);
	assert_int_equal(len, XATTR_VALUE_MAX);
	assert_int_equal(xattr_get(t, 2, "user.b", big, sizeof(big), &len), 0);
	assert_int_equal(xattr_list(t, 2, NULL, 0, &len), -KILN_ERANGE);
	assert_int_equal(len, 14);
	assert_int_equal(xattr_list(t, 2, list, sizeof(list), &len), 0);
	assert_memory_equal(list, "user.a\0user.b", 14);
	assert_int_equal(xattr_del(t, 2, "user.a"), 0);
	assert_int_equal(xattr_del(t, 2, "user.a"), -KILN_ENODATA);
	assert_int_equal(xattr_del(t, 2, "user.none"), -KILN_ENODATA);
	assert_int_equal(xattr_put(t, 2, "user.new", "", 0), 0);
	assert_int_equal(xattr_del_all(t, 2), 0);
	assert_int_equal(xattr_list(t, 2, list, sizeof(list), &len), 0);
	assert_int_equal(len, 0);
	assert_int_equal(xattr_get(t, 3, "user.other", list, sizeof(list), &len), 0);
}

static void blocks_come_back(void **state)
{
	struct txn *t = ((struct fixture *)*state)->t;
	static char block[BLOCK_BYTES + 1], back[BLOCK_BYTES];
	size_t len;

	memset(block, 'b', sizeof(block));
	assert_int_equal(block_put(t, 4, 1, block, sizeof(block)), -KILN_EINVAL);
	assert_int_equal(block_put(t, 4, 1, block, BLOCK_BYTES), 0);
	assert_int_equal(block_put(t, 4, UINT32_MAX, block, 7), 0);
	apply(t);
	assert_int_equal(block_get(t, 4, 0, back, &len), -KILN_ENOENT);
	assert_int_equal(block_get(t, 4, 1, back, &len), 0);
	assert_int_equal(len, BLOCK_BYTES);
	assert_memory_equal(back, block, len);
	assert_int_equal(block_get(t, 4, UINT32_MAX, back, &len), 0);
	assert_int_equal(len, 7);
	assert_int_equal(block_del(t, 4, 1), 0);
	assert_int_equal(block_get(t, 4, 1, back, &len), -KILN_ENOENT);
}

static void counters_come_back(void **state)
{
	struct txn *t = ((struct fixture *)*state)->t;
	struct counters c = { 1, UINT64_MAX, 3 }, got;

	assert_int_equal(counters_get(t, &got), -KILN_ENOENT);
	assert_int_equal(counters_put(t, &c), 0);
	assert_int_equal(counters_get(t, &got), 0);
	assert_memory_equal(&c, &got, sizeof(c));
}

static int sum_handle(void *context, uint64_t handle)
{
	*(uint64_t *)context += handle;
	return handle == 99 ? -KILN_EINTR : 0;
}

static int sum_trash(void *context, uint64_t handle, uint32_t gen)
{
	*(uint64_t *)context += handle * 1000 + gen;
	return 0;
}

static void orphans_and_trash_are_listed(void **state)
{
	struct txn *t = ((struct fixture *)*state)->t;
	uint64_t sum = 0;

	assert_int_equal(orphan_put(t, 3), 0);
	assert_int_equal(orphan_put(t, 4), 0);
	assert_int_equal(trash_put(t, 3, 1), 0);
	assert_int_equal(trash_put(t, 3, 2), 0);
	apply(t);
	assert_int_equal(orphan_each(t, sum_handle, &sum), 0);
	assert_int_equal(sum, 7);
	sum = 0;
	assert_int_equal(trash_del(t, 3, 1), 0);
	assert_int_equal(trash_each(t, sum_trash, &sum), 0);
	assert_int_equal(sum, 3002);
	assert_int_equal(orphan_del(t, 3), 0);
	assert_int_equal(orphan_put(t, 99), 0);
	assert_int_equal(orphan_put(t, 100), 0);
	sum = 0;
	assert_int_equal(orphan_each(t, sum_handle, &sum), -KILN_EINTR);
	assert_int_equal(sum, 103);
}

static int take_reply(void *context, uint32_t slot, const struct reply_record *r)
{
	((struct reply_record *)context)[slot] = *r;
	return 0;
}

static void replies_come_back_by_slot(void **state)
{
	struct txn *t = ((struct fixture *)*state)->t;
	struct reply_record r = { 5, 35, -17, 6, 7 }, got[3] = { 0 };

	assert_int_equal(reply_put(t, 8, 2, &r), 0);
	assert_int_equal(reply_put(t, 9, 1, &r), 0);
	apply(t);
	r.unique = 50;
	assert_int_equal(reply_put(t, 8, 2, &r), 0);
	assert_int_equal(reply_each(t, 8, take_reply, got), 0);
	assert_int_equal(got[1].unique, 0);
	assert_int_equal(got[2].unique, 50);
	assert_int_equal(got[2].error, -17);
	assert_int_equal(got[2].value, 7);
	assert_int_equal(reply_del_all(t, 8), 0);
	memset(got, 0, sizeof(got));
	assert_int_equal(reply_each(t, 8, take_reply, got), 0);
	assert_int_equal(got[2].unique, 0);
	assert_int_equal(reply_each(t, 9, take_reply, got), 0);
	assert_int_equal(got[1].unique, 5);
}

static int take_client(void *context, const struct client_record *r)
{
	*(struct client_record *)context = *r;
	return 0;
}

static void clients_come_back(void **state)
{
	struct txn *t = ((struct fixture *)*state)->t;
	struct client_record r = { .client = 1, .secret = 2, .kind = 3, .minor = 38,
				   .init_flags = UINT64_MAX, .max_write = 6, .max_readahead = 7,
				   .host = "machine" },
			     got = { 0 };

	assert_int_equal(client_put(t, &r), 0);
	apply(t);
	assert_int_equal(client_each(t, take_client, &got), 0);
	assert_memory_equal(&got, &r, sizeof(r));
	memset(r.host, 'h', sizeof(r.host));
	assert_int_equal(client_put(t, &r), 0);
	assert_int_equal(client_each(t, take_client, &got), 0);
	assert_int_equal(strlen(got.host), 63);
	assert_int_equal(client_del(t, 1), 0);
	got.client = 0;
	assert_int_equal(client_each(t, take_client, &got), 0);
	assert_int_equal(got.client, 0);
}

struct taken {
	uint64_t handle, client;
	size_t count;
	struct lock_record locks[4];
};

static int take_locks(void *context, uint64_t handle, uint64_t client,
		      const struct lock_record *locks, size_t count)
{
	struct taken *taken = context;

	taken->handle = handle;
	taken->client = client;
	taken->count = count;
	memcpy(taken->locks, locks, count * sizeof(*locks));
	return 0;
}

static void locks_come_back(void **state)
{
	struct txn *t = ((struct fixture *)*state)->t;
	struct lock_record locks[2] = { { 1, 0, UINT64_MAX, 44, F_WRLCK, 1 },
					{ 2, 5, 5, 45, F_RDLCK, 0 } };
	struct taken taken = { 0 };

	assert_int_equal(locks_put(t, 10, 20, locks, 2), 0);
	apply(t);
	assert_int_equal(locks_each(t, take_locks, &taken), 0);
	assert_int_equal(taken.handle, 10);
	assert_int_equal(taken.client, 20);
	assert_int_equal(taken.count, 2);
	assert_memory_equal(taken.locks, locks, sizeof(locks));
	assert_int_equal(locks_put(t, 10, 20, NULL, 0), 0);
	taken.count = 0;
	assert_int_equal(locks_each(t, take_locks, &taken), 0);
	assert_int_equal(taken.count, 0);
}

static int take_volume(void *context, const struct volume_record *r)
{
	*(struct volume_record *)context = *r;
	return 0;
}

static void volumes_come_back(void **state)
{
	struct txn *t = ((struct fixture *)*state)->t;
	struct volume_record r = { .brick = 4, .uuid = "0123456789abcde",
				   .durability = DURABILITY_OP, .read_only = 1,
				   .cache = CACHE_NONE, .quota_bytes = 1, .quota_inodes = 2,
				   .created = -3 },
			     got = { .brick = 0 };

	assert_int_equal(volume_record_put(t, &r), -KILN_EINVAL);
	memset(r.name, 'v', VOLUME_NAME_MAX);
	assert_int_equal(volume_record_put(t, &r), 0);
	apply(t);
	assert_int_equal(volume_record_each(t, take_volume, &got), 0);
	assert_memory_equal(&got, &r, sizeof(r));
	assert_int_equal(volume_record_del(t, 4), 0);
	got.brick = 0;
	assert_int_equal(volume_record_each(t, take_volume, &got), 0);
	assert_int_equal(got.brick, 0);
}

static void a_brick_is_wiped_step_by_step(void **state)
{
	struct fixture *f = *state;
	struct txn *t = f->t, *other = txn_group_new(f->store, 4),
		   *admin = txn_group_new(f->store, 0);
	struct counters c = { 1, 2, 3 };
	struct inode got;
	struct wipe_place place = { 0 };
	bool more = true;
	int steps = 0;

	for (uint64_t i = 1; i <= 50; i++) {
		struct inode n = { .handle = i, .mode = S_IFREG };
		char name[8];
		int len = snprintf(name, sizeof(name), "%d", (int)i);

		assert_int_equal(inode_put(t, &n), 0);
		assert_int_equal(inode_put(other, &n), 0);
		assert_int_equal(dirent_put(t, 1, name, (size_t)len, i, 8), 0);
	}
	assert_int_equal(xattr_put(t, 1, "user.a", "1", 1), 0);
	assert_int_equal(counters_put(t, &c), 0);
	apply(t);
	apply(other);
	assert_int_equal(brick_wipe_step(admin, 0, 10, &place, &more), -KILN_EINVAL);
	while (more) {
		assert_int_equal(brick_wipe_step(admin, 3, 10, &place, &more), 0);
		apply(admin);
		steps++;
	}
	assert_int_equal(steps, 11);
	assert_int_equal(inode_get(t, 7, &got), -KILN_ESTALE);
	assert_int_equal(counters_get(t, &c), -KILN_ENOENT);
	assert_int_equal(inode_get(other, 50, &got), 0);
	txn_free(other);
	txn_free(admin);
}

/* Hostile values: every record's key with its value cut at every length, longer by one, and
 * with every byte set to 0xff must decode or be refused, and never be believed beyond its end
 * (which the sanitizers watch). */
static const unsigned char inode_key[] = { 0, 0, 0, 3, 'i', 0, 0, 0, 0, 0, 0, 0, 5 };

static void try_inode(struct txn *t, const unsigned char *value, size_t len, int want)
{
	unsigned char *exact = malloc(len ? len : 1);
	struct inode got;
	int err;

	memcpy(exact, value, len);
	assert_int_equal(txn_put(t, KV_INODE, inode_key, sizeof(inode_key), exact, len), 0);
	free(exact);
	err = inode_get(t, 5, &got);
	if (want)
		assert_int_equal(err, want);
	else
		assert_true(err == 0 || err == -KILN_ECORRUPT);
	if (!err)
		assert_true(got.mtime.tv_nsec >= 0 && got.mtime.tv_nsec < 1000000000);
}

static void damaged_inodes_are_refused(void **state)
{
	struct txn *t = ((struct fixture *)*state)->t;
	struct inode n = full;
	unsigned char value[256], bad[257];
	size_t len;

	n.handle = 5;
	assert_int_equal(inode_put(t, &n), 0);
	assert_int_equal(txn_get(t, KV_INODE, inode_key, sizeof(inode_key), value, sizeof(value),
				 &len),
			 0);
	for (size_t i = 0; i < len; i++)
		try_inode(t, value, i, -KILN_ECORRUPT);
	memcpy(bad, value, len);
	bad[len] = 0;
	try_inode(t, bad, len + 1, -KILN_ECORRUPT);
	for (size_t i = 0; i < len; i++)
		for (int bit = 0; bit < 8; bit++) {
			memcpy(bad, value, len);
			bad[i] ^= (unsigned char)(1 << bit);
			try_inode(t, bad, len, 0);
		}
	memset(bad, 0xff, sizeof(bad));
	try_inode(t, bad, sizeof(bad), -KILN_ECORRUPT);
	memcpy(bad, value, len);
	bad[0] = 2; /* a version of the future */
	try_inode(t, bad, len, -KILN_ECORRUPT);
}

static int take_nothing_volume(void *context, const struct volume_record *r)
{
	return 0;
}

static int take_nothing_client(void *context, const struct client_record *r)
{
	return 0;
}

static int take_nothing_reply(void *context, uint32_t slot, const struct reply_record *r)
{
	return 0;
}

static int take_nothing_locks(void *context, uint64_t handle, uint64_t client,
			      const struct lock_record *locks, size_t count)
{
	return 0;
}

static void put_raw(struct txn *t, enum kv_space space, const char *head, size_t head_len,
		    const void *value, size_t len)
{
	unsigned char key[64] = { 0, 0, 0, 3 };

	memcpy(key + 4, head, head_len);
	if (head[0] == 'v')
		key[3] = 0;
	assert_int_equal(txn_put(t, space, key, 4 + head_len, value, len), 0);
}

static void damaged_records_are_refused(void **state)
{
	struct txn *t = ((struct fixture *)*state)->t;
	unsigned char junk[200], block[BLOCK_BYTES + 1] = { 0 };
	struct dirent_scan *scan;
	struct dirent_row row;
	struct counters c;
	uint64_t sum = 0;
	size_t len;

	memset(junk, 0xff, sizeof(junk));
	put_raw(t, KV_REST, "v\0\0\0\1", 5, junk, 60);
	assert_int_equal(volume_record_each(t, take_nothing_volume, NULL), -KILN_ECORRUPT);
	put_raw(t, KV_REST, "v\0\0\0\1", 5, "\1\0\0\0\0", 5);
	assert_int_equal(volume_record_each(t, take_nothing_volume, NULL), -KILN_ECORRUPT);
	put_raw(t, KV_REST, "m\0\0\0\0\0\0\0\1", 9, junk, 32 + 64);
	assert_int_equal(client_each(t, take_nothing_client, NULL), -KILN_ECORRUPT);
	put_raw(t, KV_REST, "m\0\0\0\0\0\0\0\1", 9, junk, 31);
	assert_int_equal(client_each(t, take_nothing_client, NULL), -KILN_ECORRUPT);
	put_raw(t, KV_REST, "r\0\0\0\0\0\0\0\1\0\0\0\2", 13, junk, 31);
	assert_int_equal(reply_each(t, 1, take_nothing_reply, NULL), -KILN_ECORRUPT);
	put_raw(t, KV_REST, "l\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2", 17, junk, 31);
	assert_int_equal(locks_each(t, take_nothing_locks, NULL), -KILN_ECORRUPT);
	put_raw(t, KV_REST, "l\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2", 17, junk, 32);
	assert_int_equal(locks_each(t, take_nothing_locks, NULL), -KILN_ECORRUPT);
	put_raw(t, KV_REST, "o\0\0\0\0\0\0\0", 8, NULL, 0);
	assert_int_equal(orphan_each(t, sum_handle, &sum), -KILN_ECORRUPT);
	put_raw(t, KV_REST, "t\0\0\0\0\0\0\0\1\0\0\0", 12, NULL, 0);
	assert_int_equal(trash_each(t, sum_trash, &sum), -KILN_ECORRUPT);
	put_raw(t, KV_REST, "c", 1, junk, 25);
	assert_int_equal(counters_get(t, &c), -KILN_ECORRUPT);
	put_raw(t, KV_REST, "b\0\0\0\0\0\0\0\1\0\0\0\0", 13, block, sizeof(block));
	assert_int_equal(block_get(t, 1, 0, block, &len), -KILN_ECORRUPT);
	put_raw(t, KV_DIRENT, "d\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\x7f" "a", 18, junk, 9);
	assert_int_equal(dirent_scan_open(t, 1, 0, &scan), 0);
	assert_int_equal(dirent_scan_next(scan, &row), -KILN_ECORRUPT);
	dirent_scan_close(scan);
	put_raw(t, KV_DIRENT, "d\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\x7f", 17, "\1\0\0\0\0\0\0\0\4", 9);
	assert_int_equal(dirent_scan_open(t, 2, 0, &scan), 0);
	assert_int_equal(dirent_scan_next(scan, &row), -KILN_ECORRUPT);
	dirent_scan_close(scan);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(inodes_come_back),
		TEST(many_inodes_come_back),
		TEST(a_link_keeps_its_target),
		TEST(names_are_looked_up),
		TEST(listing_goes_by_cookie),
		cmocka_unit_test(cookies_are_the_stored_format),
		TEST(xattrs_come_back),
		TEST(blocks_come_back),
		TEST(counters_come_back),
		TEST(orphans_and_trash_are_listed),
		TEST(replies_come_back_by_slot),
		TEST(clients_come_back),
		TEST(locks_come_back),
		TEST(volumes_come_back),
		TEST(a_brick_is_wiped_step_by_step),
		TEST(damaged_inodes_are_refused),
		TEST(damaged_records_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

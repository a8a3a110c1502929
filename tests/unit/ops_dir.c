/* server/ops_dir.c: listings whole, in pieces of any size, and while the directory changes. */
#include "tests/unit/harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SEEN_MAX = 4096 };

struct listing {
	struct {
		char name[NAME_BYTES_MAX + 1];
		uint64_t ino, off, nodeid;
		uint32_t type;
	} seen[SEEN_MAX];
	size_t count, replies;
};

static void take_entries(struct listing *l, const struct request *req, bool plus)
{
	const uint8_t *body = req->body;
	size_t head = plus ? offsetof(struct fuse_direntplus, dirent) : 0;

	for (size_t at = 0; at < req->body_len;) {
		const struct fuse_dirent *d = (const struct fuse_dirent *)(body + at + head);
		const struct fuse_entry_out *e = (const struct fuse_entry_out *)(body + at);

		assert_true(l->count < SEEN_MAX);
		assert_in_range(d->namelen, 1, NAME_BYTES_MAX);
		memcpy(l->seen[l->count].name, d->name, d->namelen);
		l->seen[l->count].name[d->namelen] = '\0';
		l->seen[l->count].ino = d->ino;
		l->seen[l->count].off = d->off;
		l->seen[l->count].type = d->type;
		l->seen[l->count].nodeid = plus ? e->nodeid : 0;
		if (plus && e->nodeid)
			assert_int_equal(e->attr.mode >> 12, d->type);
		l->count++;
		at += FUSE_REC_ALIGN(head + FUSE_NAME_OFFSET + d->namelen);
		assert_true(at <= req->body_len);
	}
}

/* One reply; false at the end. */
static bool read_some(struct harness *h, struct listing *l, uint64_t dir, uint32_t size, bool plus)
{
	struct fuse_read_in arg = { .size = size };

	arg.offset = l->count ? l->seen[l->count - 1].off : 0;
	harness_request(h, dir, &arg, NULL, NULL);
	assert_int_equal(harness_read(h, plus ? op_readdirplus : op_readdir), 0);
	assert_true(h->req.body_len <= size);
	take_entries(l, &h->req, plus);
	l->replies++;
	return h->req.body_len > 0;
}

static struct listing *read_all(struct harness *h, uint64_t dir, uint32_t size, bool plus)
{
	struct listing *l = calloc(1, sizeof *l);

	assert_non_null(l);
	while (read_some(h, l, dir, size, plus))
		;
	return l;
}

static size_t times_seen(const struct listing *l, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < l->count; i++)
		n += strcmp(l->seen[i].name, name) == 0;
	return n;
}

static void fill(struct harness *h, uint64_t dir, int count, const char *stem)
{
	char name[NAME_BYTES_MAX + 1];

	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof name, "%s%d", stem, i);
		assert_int_equal(h_mknod(h, dir, name, S_IFREG | 0644, 0, NULL), 0);
	}
}

static void an_empty_directory_has_its_dots(void **state)
{
	struct harness *h = *state;
	struct listing *l;
	uint64_t dir;

	assert_int_equal(h_mkdir(h, ROOT_HANDLE, "d", 0755, &dir), 0);
	for (int plus = 0; plus < 2; plus++) {
		l = read_all(h, dir, 4096, plus);
		assert_int_equal(l->count, 2);
		assert_string_equal(l->seen[0].name, ".");
		assert_int_equal(l->seen[0].ino, dir);
		assert_int_equal(l->seen[0].off, 1);
		assert_string_equal(l->seen[1].name, "..");
		assert_int_equal(l->seen[1].ino, ROOT_HANDLE);
		assert_int_equal(l->seen[1].off, 2);
		assert_int_equal(l->seen[0].nodeid + l->seen[1].nodeid, 0);
		free(l);
	}
}

static void expect_names(const struct listing *l, int count, const char *stem)
{
	char name[NAME_BYTES_MAX + 1];

	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof name, "%s%d", stem, i);
		assert_int_equal(times_seen(l, name), 1);
	}
}

static void expect_whole(const struct listing *l, int count, const char *stem)
{
	assert_int_equal(l->count, count + 2);
	expect_names(l, count, stem);
	for (size_t i = 1; i < l->count; i++)
		assert_true(l->seen[i].off > l->seen[i - 1].off);
}

static void every_name_once_whatever_the_reply_size(void **state)
{
	struct harness *h = *state;
	static const uint32_t sizes[] = { 512, 1024, 4096, 65536, 1 << 20 };

	fill(h, ROOT_HANDLE, 700, "name");
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		for (int plus = 0; plus < 2; plus++) {
			struct listing *l = read_all(h, ROOT_HANDLE, sizes[i], plus);

			expect_whole(l, 700, "name");
			free(l);
		}
	}
}

static void attributes_come_along(void **state)
{
	struct harness *h = *state;
	struct listing *l;
	uint64_t handle;

	fill(h, ROOT_HANDLE, 300, "f");
	assert_int_equal(h_mkdir(h, ROOT_HANDLE, "dir", 0755, NULL), 0);
	assert_int_equal(h_symlink(h, ROOT_HANDLE, "link", "f1", NULL), 0);
	assert_int_equal(h_mknod(h, ROOT_HANDLE, "fifo", S_IFIFO | 0644, 0, NULL), 0);
	l = read_all(h, ROOT_HANDLE, 1 << 16, true);
	assert_int_equal(l->count, 305);
	for (size_t i = 2; i < l->count; i++) {
		assert_int_equal(l->seen[i].nodeid, l->seen[i].ino);
		assert_int_equal(h_lookup(h, ROOT_HANDLE, l->seen[i].name, &handle), 0);
		assert_int_equal(handle, l->seen[i].ino);
	}
	free(l);
}

static void long_names_and_small_buffers(void **state)
{
	struct harness *h = *state;
	struct fuse_read_in arg = { .size = 64, .offset = 2 };
	char name[NAME_BYTES_MAX + 1];
	struct listing *l;

	memset(name, 'n', NAME_BYTES_MAX);
	name[NAME_BYTES_MAX] = '\0';
	assert_int_equal(h_mkdir(h, ROOT_HANDLE, name, 0755, NULL), 0);
	l = read_all(h, ROOT_HANDLE, 4096, true);
	assert_int_equal(times_seen(l, name), 1);
	free(l);
	harness_request(h, ROOT_HANDLE, &arg, NULL, NULL);
	assert_int_equal(harness_read(h, op_readdir), -KILN_EINVAL);
	arg.size = 0;
	arg.offset = 0;
	harness_request(h, ROOT_HANDLE, &arg, NULL, NULL);
	assert_int_equal(harness_read(h, op_readdirplus), -KILN_EINVAL);
	arg.size = UINT32_MAX;
	arg.offset = UINT64_MAX;
	harness_request(h, ROOT_HANDLE, &arg, NULL, NULL);
	assert_int_equal(harness_read(h, op_readdir), 0);
	assert_int_equal(h->req.body_len, 0);
}

/* POSIX: what is there throughout is listed once; what comes or goes meanwhile may be. */
static void a_listing_survives_changes(void **state)
{
	struct harness *h = *state;
	struct listing *l = calloc(1, sizeof *l);
	char name[16];
	int round = 0;

	fill(h, ROOT_HANDLE, 400, "stay");
	fill(h, ROOT_HANDLE, 400, "go");
	while (read_some(h, l, ROOT_HANDLE, 1024, false)) {
		for (int i = 0; i < 20 && round * 20 + i < 400; i++) {
			snprintf(name, sizeof name, "go%d", round * 20 + i);
			assert_int_equal(h_unlink(h, ROOT_HANDLE, name), 0);
			name[0] = 'n';
			assert_int_equal(h_mkdir(h, ROOT_HANDLE, name, 0755, NULL), 0);
		}
		round++;
	}
	assert_true(l->replies > 20);
	for (int i = 0; i < 400; i++) {
		snprintf(name, sizeof name, "stay%d", i);
		assert_int_equal(times_seen(l, name), 1);
	}
	free(l);
}

/* An entry whose inode is gone when its attributes are read: listed, but nothing claimed. */
static void an_entry_without_its_inode(void **state)
{
	struct harness *h = *state;
	struct listing *l;

	fill(h, ROOT_HANDLE, 3, "f");
	txn_mark(h->group);
	assert_int_equal(dirent_put(h->group, ROOT_HANDLE, "ghost", 5, 999, S_IFREG >> 12), 0);
	harness_apply(h);
	l = read_all(h, ROOT_HANDLE, 4096, true);
	assert_int_equal(l->count, 6);
	for (size_t i = 2; i < l->count; i++)
		assert_int_equal(l->seen[i].nodeid, l->seen[i].ino == 999 ? 0 : l->seen[i].ino);
	free(l);
}

/* Names of 32 bytes whose first eight annul what the next eight put into the hash. */
static void colliding(char *name, int i)
{
	snprintf(name, NAME_BYTES_MAX + 1, "\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe%08d sixteen letters", i);
}

static void collide(struct harness *h, uint64_t dir, int count)
{
	char first[NAME_BYTES_MAX + 1], name[NAME_BYTES_MAX + 1];

	colliding(first, 0);
	for (int i = 0; i < count; i++) {
		colliding(name, i);
		assert_int_equal(dirent_cookie(name, 32), dirent_cookie(first, 32));
		assert_int_equal(h_mknod(h, dir, name, S_IFREG | 0644, 0, NULL), 0);
	}
}

static void names_of_one_hash_stay_together(void **state)
{
	struct harness *h = *state;
	char name[NAME_BYTES_MAX + 1];

	fill(h, ROOT_HANDLE, 100, "f");
	collide(h, ROOT_HANDLE, 5);
	for (uint32_t size = 1024; size < 6000; size += 104) {
		struct listing *l = read_all(h, ROOT_HANDLE, size, true);

		assert_int_equal(l->count, 107);
		for (int i = 0; i < 5; i++) {
			colliding(name, i);
			assert_int_equal(times_seen(l, name), 1);
		}
		free(l);
	}
}

/* More of them than a reply can hold: the listing ends, everything else is in it, and whoever
 * deletes what is listed, again and again, empties the directory. */
static void a_directory_of_hostile_names_can_be_emptied(void **state)
{
	struct harness *h = *state;
	uint64_t dir;
	int rounds = 0;

	assert_int_equal(h_mkdir(h, ROOT_HANDLE, "d", 0755, &dir), 0);
	fill(h, dir, 50, "f");
	collide(h, dir, 200);
	while (harness_inode(h, dir).entries) {
		struct listing *l = read_all(h, dir, 4096, false);

		if (rounds++ == 0)
			expect_names(l, 50, "f");
		for (size_t i = 2; i < l->count; i++)
			assert_int_equal(h_unlink(h, dir, l->seen[i].name), 0);
		free(l);
		assert_true(rounds < 10);
	}
	assert_true(rounds > 1);
	assert_int_equal(h_rmdir(h, ROOT_HANDLE, "d"), 0);
}

static void only_directories_can_be_listed(void **state)
{
	struct harness *h = *state;
	struct fuse_read_in arg = { .size = 4096 };
	uint64_t file, dir;

	assert_int_equal(h_mknod(h, ROOT_HANDLE, "f", S_IFREG | 0644, 0, &file), 0);
	assert_int_equal(h_mkdir(h, ROOT_HANDLE, "d", 0755, &dir), 0);
	harness_request(h, file, &arg, NULL, NULL);
	assert_int_equal(harness_read(h, op_opendir), -KILN_ENOTDIR);
	assert_int_equal(harness_opens(h, file), 0);
	harness_request(h, file, &arg, NULL, NULL);
	assert_int_equal(harness_read(h, op_readdir), -KILN_ENOTDIR);
	harness_request(h, 999, &arg, NULL, NULL);
	assert_int_equal(harness_read(h, op_opendir), -KILN_ESTALE);
	assert_int_equal(harness_opens(h, 999), 0);
	harness_request(h, 999, &arg, NULL, NULL);
	assert_int_equal(harness_read(h, op_readdirplus), -KILN_ESTALE);
	harness_request(h, dir, NULL, NULL, NULL);
	assert_int_equal(harness_read(h, op_opendir), 0);
	assert_int_equal(h->req.out_len, sizeof(struct fuse_open_out));
	assert_int_equal(harness_opens(h, dir), 1);
	harness_request(h, dir, NULL, NULL, NULL);
	assert_int_equal(op_releasedir(&h->req), 0);
	assert_int_equal(harness_opens(h, dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(an_empty_directory_has_its_dots),
		HARNESS_TEST(every_name_once_whatever_the_reply_size),
		HARNESS_TEST(attributes_come_along),
		HARNESS_TEST(long_names_and_small_buffers),
		HARNESS_TEST(a_listing_survives_changes),
		HARNESS_TEST(an_entry_without_its_inode),
		HARNESS_TEST(names_of_one_hash_stay_together),
		HARNESS_TEST(a_directory_of_hostile_names_can_be_emptied),
		HARNESS_TEST(only_directories_can_be_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* server/ops_name.c: lookup, create, mknod, mkdir, symlink, tmpfile, link, readlink. */
#include "server/file.h"
#include "tests/unit/harness.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static bool same_moment(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* An old moment in every time of an inode, to see which ones an operation moves. */
static void age(struct harness *h, uint64_t handle)
{
	struct inode inode = harness_inode(h, handle);

	inode.atime = inode.mtime = inode.ctime = (struct timespec){ 1000, 1 };
	harness_edit(h, &inode);
}

static void create_makes_all_of_a_file(void **state)
{
	struct harness *h = *state;
	struct inode root, file;
	uint64_t handle, found;

	age(h, ROOT_HANDLE);
	h->uid = 11;
	h->gid = 22;
	h->umask = 027;
	assert_int_equal(h_create(h, ROOT_HANDLE, "f", O_RDWR | O_EXCL, 06666, &handle), 0);
	assert_int_equal(h->req.out_len, sizeof h->req.out.create);
	assert_int_equal(h->req.record_handle, handle);
	assert_int_equal(h->req.out.create.entry.attr.ino, handle);
	assert_int_equal(h->req.out.create.entry.entry_valid, 1);
	assert_int_equal(h->req.out.create.entry.entry_valid_nsec, 500000000);
	assert_int_equal(harness_opens(h, handle), 1);

	file = harness_inode(h, handle);
	assert_int_equal(file.mode, S_IFREG | 06640);
	assert_int_equal(file.uid, 11);
	assert_int_equal(file.gid, 22);
	assert_int_equal(file.nlink, 1);
	assert_int_equal(file.size, 0);
	root = harness_inode(h, ROOT_HANDLE);
	assert_int_equal(root.entries, 1);
	assert_int_equal(root.nlink, 2);
	assert_true(same_moment(root.mtime, file.ctime) && same_moment(root.ctime, file.ctime));
	assert_true(same_moment(file.atime, file.ctime) && same_moment(file.mtime, file.ctime));
	assert_true(same_moment(file.btime, file.ctime));
	assert_int_equal(root.atime.tv_sec, 1000);
	assert_int_equal(h->volume.state.inodes, 2);
	assert_int_equal(h_lookup(h, ROOT_HANDLE, "f", &found), 0);
	assert_int_equal(found, handle);
}

static void create_of_what_exists(void **state)
{
	struct harness *h = *state;
	uint64_t file, again;

	assert_int_equal(h_create(h, ROOT_HANDLE, "f", O_WRONLY, 0644, &file), 0);
	assert_int_equal(h_mkdir(h, ROOT_HANDLE, "d", 0755, NULL), 0);
	assert_int_equal(h_symlink(h, ROOT_HANDLE, "l", "f", NULL), 0);
	assert_int_equal(h_create(h, ROOT_HANDLE, "f", O_RDWR | O_EXCL, 0644, NULL), -KILN_EEXIST);
	assert_int_equal(h_create(h, ROOT_HANDLE, "d", O_RDWR, 0644, NULL), -KILN_EISDIR);
	assert_int_equal(h_create(h, ROOT_HANDLE, ".", O_RDWR, 0644, NULL), -KILN_EISDIR);
	assert_int_equal(h_create(h, ROOT_HANDLE, "l", O_RDWR, 0644, NULL), -KILN_ESTALE);
	assert_int_equal(harness_opens(h, file), 1);

	h->volume.keep_cache = true;
	assert_int_equal(h_create(h, ROOT_HANDLE, "f", O_RDWR, 0600, &again), 0);
	assert_int_equal(again, file);
	assert_int_equal(h->req.out.create.open.open_flags, FOPEN_KEEP_CACHE);
	assert_int_equal(harness_opens(h, file), 2);
	assert_int_equal(harness_inode(h, file).mode, S_IFREG | 0644);
	assert_int_equal(harness_inode(h, ROOT_HANDLE).entries, 3);
	assert_int_equal(h->volume.state.inodes, 4);
}

/* The kernel has not checked the file's permissions: only those whose right is plain may open. */
static void create_of_what_exists_opens_for_none_but_the_entitled(void **state)
{
	struct harness *h = *state;

	h->uid = 11;
	assert_int_equal(h_create(h, ROOT_HANDLE, "f", O_WRONLY, 0444, NULL), 0);
	assert_int_equal(h_create(h, ROOT_HANDLE, "f", O_RDONLY, 0444, NULL), 0);
	assert_int_equal(h_create(h, ROOT_HANDLE, "f", O_RDWR, 0444, NULL), -KILN_ESTALE);
	assert_int_equal(h_create(h, ROOT_HANDLE, "f", O_TRUNC, 0444, NULL), -KILN_ESTALE);
	h->uid = 12;
	assert_int_equal(h_create(h, ROOT_HANDLE, "f", O_RDONLY, 0444, NULL), -KILN_ESTALE);
	h->uid = 0;
	assert_int_equal(h_create(h, ROOT_HANDLE, "f", O_RDWR, 0444, NULL), 0);
}

static void create_truncates(void **state)
{
	struct harness *h = *state;
	struct inode file;
	uint64_t handle;

	assert_int_equal(h_create(h, ROOT_HANDLE, "f", O_WRONLY, 06755, &handle), 0);
	file = harness_inode(h, handle);
	file.size = 5;
	file.blocks = 1;
	file.flags |= 1u << INODE_BLOCKS_SHIFT;
	file.mtime = file.ctime = (struct timespec){ 1000, 1 };
	h->volume.state.blocks = 1;
	txn_mark(h->group);
	assert_int_equal(block_put(h->group, handle, 0, "hello", 5), 0);
	harness_edit(h, &file);

	assert_int_equal(h_create(h, ROOT_HANDLE, "f", O_WRONLY | O_TRUNC, 0644, NULL), 0);
	file = harness_inode(h, handle);
	assert_int_equal(file.size, 0);
	assert_int_equal(h->req.out.create.entry.attr.size, 0);
	assert_true(file.mtime.tv_sec > 1000 && same_moment(file.mtime, file.ctime));
	assert_int_equal(h->volume.state.blocks, 0);
	assert_int_equal(h->volume.written, handle);
}

static void every_kind_of_node(void **state)
{
	struct harness *h = *state;
	static const uint32_t kinds[] = { S_IFREG, S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK };
	char name[] = "0";
	uint64_t handle;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++, name[0]++) {
		bool device = kinds[i] == S_IFCHR || kinds[i] == S_IFBLK;
		struct inode inode;

		assert_int_equal(h_mknod(h, ROOT_HANDLE, name, kinds[i] | 0640,
					 (uint32_t)makedev(300, 70000), &handle), 0);
		inode = harness_inode(h, handle);
		assert_int_equal(inode.mode, kinds[i] | 0640);
		assert_int_equal(inode.rdev, device ? (uint32_t)makedev(300, 70000) : 0);
		assert_int_equal(h->req.out.entry.attr.rdev, inode.rdev);
		assert_int_equal(harness_opens(h, handle), 0);
	}
	assert_int_equal(h_mknod(h, ROOT_HANDLE, "x", S_IFDIR | 0755, 0, NULL), -KILN_EINVAL);
	assert_int_equal(h_mknod(h, ROOT_HANDLE, "x", S_IFLNK | 0755, 0, NULL), -KILN_EINVAL);
	assert_int_equal(h_mknod(h, ROOT_HANDLE, "x", 0755, 0, NULL), -KILN_EINVAL);
	assert_int_equal(h_mknod(h, ROOT_HANDLE, "0", S_IFREG, 0, NULL), -KILN_EEXIST);
	assert_int_equal(harness_inode(h, ROOT_HANDLE).entries, 5);
	assert_int_equal(harness_inode(h, ROOT_HANDLE).nlink, 2);
}

static void directories_count_links_and_inherit_the_group(void **state)
{
	struct harness *h = *state;
	struct inode inode;
	uint64_t outer, inner;

	h->umask = 022;
	h->gid = 5;
	assert_int_equal(h_mkdir(h, ROOT_HANDLE, "d", 07777, &outer), 0);
	inode = harness_inode(h, outer);
	assert_int_equal(inode.mode, S_IFDIR | 01755);
	assert_int_equal(inode.nlink, 2);
	assert_int_equal(inode.parent, ROOT_HANDLE);
	assert_int_equal(harness_inode(h, ROOT_HANDLE).nlink, 3);

	inode.mode |= S_ISGID;
	harness_edit(h, &inode);
	h->gid = 6;
	assert_int_equal(h_mkdir(h, outer, "i", 0700, &inner), 0);
	inode = harness_inode(h, inner);
	assert_int_equal(inode.mode, S_IFDIR | S_ISGID | 0700);
	assert_int_equal(inode.gid, 5);
	assert_int_equal(h_create(h, outer, "f", O_RDWR, 0600, &inner), 0);
	inode = harness_inode(h, inner);
	assert_int_equal(inode.mode, S_IFREG | 0600);
	assert_int_equal(inode.gid, 5);
	assert_int_equal(harness_inode(h, outer).nlink, 3);
	assert_int_equal(harness_inode(h, outer).entries, 2);
}

static void a_directory_full_of_links_takes_no_more(void **state)
{
	struct harness *h = *state;
	struct inode inode;
	uint64_t file;

	assert_int_equal(h_create(h, ROOT_HANDLE, "f", O_RDWR, 0644, &file), 0);
	inode = harness_inode(h, file);
	inode.nlink = 0x7fffffff;
	harness_edit(h, &inode);
	assert_int_equal(h_link(h, file, ROOT_HANDLE, "g"), -KILN_EMLINK);
	inode = harness_inode(h, ROOT_HANDLE);
	inode.nlink = 0x7fffffff;
	harness_edit(h, &inode);
	assert_int_equal(h_mkdir(h, ROOT_HANDLE, "d", 0755, NULL), -KILN_EMLINK);
	assert_int_equal(h->volume.state.inodes, 2);
}

static void symlinks_keep_their_target(void **state)
{
	struct harness *h = *state;
	char target[LINK_BYTES_MAX + 2], got[LINK_BYTES_MAX + 2];
	uint64_t link, file;

	memset(target, 'x', sizeof target);
	target[LINK_BYTES_MAX] = '\0';
	target[7] = '/';
	h->umask = 077;
	assert_int_equal(h_symlink(h, ROOT_HANDLE, "l", target, &link), 0);
	assert_int_equal(harness_inode(h, link).mode, S_IFLNK | 0777);
	assert_int_equal(harness_inode(h, link).size, LINK_BYTES_MAX);
	assert_int_equal(harness_inode(h, link).blocks, 0);
	assert_int_equal(h_readlink(h, link, got, sizeof got), 0);
	assert_string_equal(got, target);

	/* Whatever happens to the inode. */
	assert_int_equal(h_link(h, link, ROOT_HANDLE, "m"), 0);
	assert_int_equal(h_rename(h, ROOT_HANDLE, "m", ROOT_HANDLE, "n", 0), 0);
	assert_int_equal(h_unlink(h, ROOT_HANDLE, "l"), 0);
	assert_int_equal(h_readlink(h, link, got, sizeof got), 0);
	assert_string_equal(got, target);
	assert_int_equal(harness_inode(h, link).nlink, 1);

	target[LINK_BYTES_MAX] = 'x';
	target[LINK_BYTES_MAX + 1] = '\0';
	assert_int_equal(h_symlink(h, ROOT_HANDLE, "o", target, NULL), -KILN_ENAMETOOLONG);
	assert_int_equal(h_create(h, ROOT_HANDLE, "f", O_RDWR, 0644, &file), 0);
	assert_int_equal(h_readlink(h, file, got, sizeof got), -KILN_EINVAL);
	assert_int_equal(h_readlink(h, 999, got, sizeof got), -KILN_ESTALE);
}

static void names_of_any_bytes(void **state)
{
	struct harness *h = *state;
	char name[NAME_BYTES_MAX + 2] = "";
	uint64_t made, found;

	for (int i = 0; i < NAME_BYTES_MAX; i++)
		name[i] = (char)(i == '/' - 1 ? 'z' : i + 1);
	assert_int_equal(h_create(h, ROOT_HANDLE, name, O_RDWR, 0644, &made), 0);
	assert_int_equal(h_lookup(h, ROOT_HANDLE, name, &found), 0);
	assert_int_equal(made, found);
	name[NAME_BYTES_MAX] = 'x';
	assert_int_equal(h_lookup(h, ROOT_HANDLE, name, NULL), -KILN_ENAMETOOLONG);
	assert_int_equal(h_create(h, ROOT_HANDLE, name, O_RDWR, 0644, NULL), -KILN_ENAMETOOLONG);
	assert_int_equal(h_mkdir(h, ROOT_HANDLE, name, 0755, NULL), -KILN_ENAMETOOLONG);
	assert_int_equal(h_unlink(h, ROOT_HANDLE, name), -KILN_ENAMETOOLONG);
	assert_int_equal(h_rmdir(h, ROOT_HANDLE, name), -KILN_ENAMETOOLONG);
	assert_int_equal(h_rename(h, ROOT_HANDLE, "x", ROOT_HANDLE, name, 0), -KILN_ENAMETOOLONG);
	assert_int_equal(h_link(h, made, ROOT_HANDLE, name), -KILN_ENAMETOOLONG);
	assert_int_equal(h_mkdir(h, ROOT_HANDLE, "..", 0755, NULL), -KILN_EEXIST);
	assert_int_equal(h_mkdir(h, ROOT_HANDLE, "...", 0755, NULL), 0);
	assert_int_equal(h_mkdir(h, ROOT_HANDLE, ".a", 0755, NULL), 0);
}

static void lookup_of_dots_and_of_the_dead(void **state)
{
	struct harness *h = *state;
	uint64_t dir, inner, file, found;

	assert_int_equal(h_mkdir(h, ROOT_HANDLE, "d", 0755, &dir), 0);
	assert_int_equal(h_mkdir(h, dir, "i", 0755, &inner), 0);
	assert_int_equal(h_create(h, dir, "f", O_RDWR, 0644, &file), 0);
	assert_int_equal(h_lookup(h, inner, ".", &found), 0);
	assert_int_equal(found, inner);
	assert_int_equal(h_lookup(h, file, ".", &found), 0);
	assert_int_equal(found, file);
	assert_int_equal(h_lookup(h, inner, "..", &found), 0);
	assert_int_equal(found, dir);
	assert_int_equal(h_lookup(h, ROOT_HANDLE, "..", &found), 0);
	assert_int_equal(found, ROOT_HANDLE);
	assert_int_equal(h_lookup(h, file, "..", NULL), -KILN_ENOTDIR);
	assert_int_equal(h_lookup(h, file, "x", NULL), -KILN_ENOTDIR);
	assert_int_equal(h_lookup(h, dir, "x", NULL), -KILN_ENOENT);
	assert_int_equal(h_lookup(h, 999, "x", NULL), -KILN_ESTALE);
	assert_int_equal(h_lookup(h, 999, ".", NULL), -KILN_ESTALE);
	assert_int_equal(h_create(h, 999, "x", O_RDWR, 0644, NULL), -KILN_ESTALE);
	assert_int_equal(h_create(h, file, "x", O_RDWR, 0644, NULL), -KILN_ENOTDIR);
}

static void *look_up_f(void *context)
{
	struct harness *h = context;
	struct txn *reader = txn_reader_new(h->volume.store);
	struct request req = { .volume = &h->volume, .txn = reader, .in.nodeid = ROOT_HANDLE,
			       .name = { "f" }, .name_len = { 1 } };
	uintptr_t failed = 0;

	txn_look(reader, HARNESS_BRICK, NULL);
	for (int i = 0; i < 100000; i++)
		failed += op_lookup(&req) != 0;
	txn_free(reader);
	return (void *)failed;
}

/* Whoever looks at a name that others replace all the time sees one or the other. */
static void lookup_while_the_name_is_replaced(void **state)
{
	struct harness *h = *state;
	pthread_t thread;
	void *failed;

	assert_int_equal(h_mknod(h, ROOT_HANDLE, "f", S_IFREG | 0644, 0, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, look_up_f, h), 0);
	for (int i = 0; i < 20000; i++) {
		assert_int_equal(h_mknod(h, ROOT_HANDLE, "g", S_IFREG | 0644, 0, NULL), 0);
		assert_int_equal(h_rename(h, ROOT_HANDLE, "g", ROOT_HANDLE, "f", 0), 0);
	}
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
}

static void an_entry_without_its_inode_is_stale(void **state)
{
	struct harness *h = *state;

	txn_mark(h->group);
	assert_int_equal(dirent_put(h->group, ROOT_HANDLE, "ghost", 5, 999, S_IFREG >> 12), 0);
	harness_apply(h);
	assert_int_equal(h_lookup(h, ROOT_HANDLE, "ghost", NULL), -KILN_ESTALE);
}

static void links(void **state)
{
	struct harness *h = *state;
	struct inode inode;
	uint64_t file, dir;

	assert_int_equal(h_create(h, ROOT_HANDLE, "f", O_RDWR, 0644, &file), 0);
	assert_int_equal(h_mkdir(h, ROOT_HANDLE, "d", 0755, &dir), 0);
	age(h, file);
	age(h, dir);
	assert_int_equal(h_link(h, file, dir, "g"), 0);
	assert_int_equal(h->req.out.entry.attr.nlink, 2);
	assert_int_equal(h->req.record_handle, file);
	inode = harness_inode(h, file);
	assert_int_equal(inode.nlink, 2);
	assert_int_equal(inode.mtime.tv_sec, 1000);
	assert_true(inode.ctime.tv_sec > 1000);
	assert_true(same_moment(harness_inode(h, dir).mtime, inode.ctime));
	assert_int_equal(harness_inode(h, dir).entries, 1);
	assert_int_equal(h->volume.state.inodes, 3);
	assert_int_equal(h_link(h, file, dir, "g"), -KILN_EEXIST);
	assert_int_equal(h_link(h, dir, ROOT_HANDLE, "e"), -KILN_EPERM);
	assert_int_equal(h_link(h, 999, ROOT_HANDLE, "e"), -KILN_ESTALE);
	assert_int_equal(h_link(h, file, file, "e"), -KILN_ENOTDIR);
}

static bool is_orphan(struct harness *h, uint64_t handle)
{
	return harness_inode(h, handle).flags & INODE_ORPHAN;
}

static int count_one(void *context, uint64_t handle)
{
	++*(int *)context;
	return 0;
}

static int orphans(struct harness *h)
{
	int count = 0;

	harness_apply(h);
	assert_int_equal(orphan_each(h->reader, count_one, &count), 0);
	return count;
}

static void tmpfile_lives_until_its_last_close(void **state)
{
	struct harness *h = *state;
	uint64_t file;

	age(h, ROOT_HANDLE);
	assert_int_equal(h_tmpfile(h, ROOT_HANDLE, O_RDWR, &file), 0);
	assert_int_equal(h->req.out.create.entry.attr.nlink, 0);
	assert_int_equal(harness_opens(h, file), 1);
	assert_true(is_orphan(h, file));
	assert_int_equal(orphans(h), 1);
	assert_int_equal(h->volume.state.inodes, 2);
	assert_int_equal(harness_inode(h, ROOT_HANDLE).mtime.tv_sec, 1000);
	assert_int_equal(harness_inode(h, ROOT_HANDLE).entries, 0);
	harness_close(h, file);
	assert_true(harness_gone(h, file));
	assert_int_equal(orphans(h), 0);
	assert_int_equal(h->volume.state.inodes, 1);
	assert_int_equal(h_tmpfile(h, 999, O_RDWR, NULL), -KILN_ESTALE);
}

static void tmpfile_may_get_a_name(void **state)
{
	struct harness *h = *state;
	uint64_t file, found;

	assert_int_equal(h_tmpfile(h, ROOT_HANDLE, O_RDWR, &file), 0);
	assert_true(harness_orphan(h, file));
	assert_int_equal(h_link(h, file, ROOT_HANDLE, "f"), 0);
	assert_false(harness_orphan(h, file));
	assert_int_equal(harness_inode(h, file).nlink, 1);
	assert_false(is_orphan(h, file));
	assert_int_equal(orphans(h), 0);
	harness_close(h, file);
	assert_int_equal(h_lookup(h, ROOT_HANDLE, "f", &found), 0);
	assert_int_equal(found, file);

	assert_int_equal(h_tmpfile(h, ROOT_HANDLE, O_RDWR | O_EXCL, &file), 0);
	assert_int_equal(h_link(h, file, ROOT_HANDLE, "g"), -KILN_ENOENT);
	harness_close(h, file);

	/* Nor may a file that once had one, open or not. */
	assert_int_equal(h_create(h, ROOT_HANDLE, "h", O_RDWR, 0644, &file), 0);
	assert_int_equal(h_unlink(h, ROOT_HANDLE, "h"), 0);
	assert_int_equal(h_link(h, file, ROOT_HANDLE, "g"), -KILN_ENOENT);
	harness_close(h, file);
	assert_int_equal(h_link(h, file, ROOT_HANDLE, "g"), -KILN_ESTALE);
}

static void quota_and_read_only_leave_no_trace(void **state)
{
	struct harness *h = *state;
	uint64_t file, dir;

	assert_int_equal(h_create(h, ROOT_HANDLE, "f", O_RDWR, 0644, &file), 0);
	assert_int_equal(h_mkdir(h, ROOT_HANDLE, "d", 0755, &dir), 0);
	h->volume.inodes_max = 3;
	assert_int_equal(h_create(h, dir, "x", O_RDWR, 0644, NULL), -KILN_EQUOTA);
	assert_int_equal(h_mkdir(h, dir, "x", 0755, NULL), -KILN_EQUOTA);
	assert_int_equal(h_symlink(h, dir, "x", "y", NULL), -KILN_EQUOTA);
	assert_int_equal(h_tmpfile(h, dir, O_RDWR, NULL), -KILN_EQUOTA);
	assert_int_equal(h_link(h, file, dir, "g"), 0);
	h->volume.inodes_max = 100;
	h->volume.read_only = true;
	assert_int_equal(h_create(h, dir, "x", O_RDWR, 0644, NULL), -KILN_EROFS);
	assert_int_equal(h_create(h, dir, "g", O_RDWR, 0644, NULL), -KILN_EROFS);
	assert_int_equal(h_create(h, dir, "g", O_RDONLY, 0644, NULL), 0);
	assert_int_equal(h_mkdir(h, dir, "g", 0755, NULL), -KILN_EEXIST);
	assert_int_equal(h_mkdir(h, dir, "x", 0755, NULL), -KILN_EROFS);
	assert_int_equal(h_symlink(h, dir, "x", "y", NULL), -KILN_EROFS);
	assert_int_equal(h_tmpfile(h, dir, O_RDWR, NULL), -KILN_EROFS);
	assert_int_equal(h_link(h, file, dir, "h"), -KILN_EROFS);
	assert_int_equal(h_unlink(h, dir, "g"), -KILN_EROFS);
	assert_int_equal(h_rmdir(h, ROOT_HANDLE, "d"), -KILN_EROFS);
	assert_int_equal(h_rename(h, dir, "g", dir, "h", 0), -KILN_EROFS);
	assert_int_equal(harness_inode(h, dir).entries, 1);
	assert_int_equal(h->volume.state.inodes, 3);
}

/* Times before 1970 and beyond 2038, and what each kind shows as its size. */
static void attributes_as_the_kernel_wants_them(void **state)
{
	struct inode inode = { .handle = 7, .mode = S_IFREG | 0644, .nlink = 3, .size = 1ull << 40,
			       .blocks = 8, .atime = { -5, 999999999 }, .mtime = { 1ll << 40, 2 } };
	struct fuse_attr attr;

	attr_fill(&attr, &inode);
	assert_int_equal(attr.ino, 7);
	assert_int_equal(attr.size, 1ull << 40);
	assert_int_equal((int64_t)attr.atime, -5);
	assert_int_equal(attr.atimensec, 999999999);
	assert_int_equal(attr.mtime, 1ull << 40);
	assert_int_equal(attr.nlink, 3);
	inode.mode = S_IFDIR | 0755;
	inode.entries = 2;
	attr_fill(&attr, &inode);
	assert_int_equal(attr.size, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(create_makes_all_of_a_file),
		HARNESS_TEST(create_of_what_exists),
		HARNESS_TEST(create_of_what_exists_opens_for_none_but_the_entitled),
		HARNESS_TEST(create_truncates),
		HARNESS_TEST(every_kind_of_node),
		HARNESS_TEST(directories_count_links_and_inherit_the_group),
		HARNESS_TEST(a_directory_full_of_links_takes_no_more),
		HARNESS_TEST(symlinks_keep_their_target),
		HARNESS_TEST(names_of_any_bytes),
		HARNESS_TEST(lookup_of_dots_and_of_the_dead),
		HARNESS_TEST(lookup_while_the_name_is_replaced),
		HARNESS_TEST(an_entry_without_its_inode_is_stale),
		HARNESS_TEST(links),
		HARNESS_TEST(tmpfile_lives_until_its_last_close),
		HARNESS_TEST(tmpfile_may_get_a_name),
		HARNESS_TEST(quota_and_read_only_leave_no_trace),
		cmocka_unit_test(attributes_as_the_kernel_wants_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

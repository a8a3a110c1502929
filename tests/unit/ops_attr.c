/* Attributes, extended attributes, ACLs. */
#include "tests/unit/harness.h"

#include "server/acl.h"

#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

enum { USER_OBJ = 1, USER = 2, GROUP_OBJ = 4, GROUP = 8, MASK = 16, OTHER = 32 };

/* --- operations ---------------------------------------------------------------------------- */

static uint64_t new_file(struct harness *h, const char *name)
{
	uint64_t handle;

	assert_int_equal(h_create(h, ROOT_HANDLE, name, O_RDWR, 0644, &handle), 0);
	return handle;
}

static int setattr(struct harness *h, uint64_t handle, const struct fuse_setattr_in *arg)
{
	int err;

	harness_request(h, handle, arg, NULL, NULL);
	err = harness_change(h, op_setattr);
	if (!err)
		assert_int_equal(h->req.out.attr.attr.ino, handle);
	return err;
}

static int set_xattr(struct harness *h, uint64_t handle, const char *name, const void *value,
		     size_t len, uint32_t flags, uint32_t more)
{
	struct fuse_setxattr_in arg = { .size = (uint32_t)len, .flags = flags,
					.setxattr_flags = more };

	harness_request(h, handle, &arg, name, NULL);
	h->req.data = value;
	h->req.data_len = len;
	return harness_change(h, op_setxattr);
}

static int get_xattr(struct harness *h, uint64_t handle, const char *name, uint32_t size)
{
	struct fuse_getxattr_in arg = { .size = size };

	harness_request(h, handle, &arg, name, NULL);
	return harness_read(h, op_getxattr);
}

static int list_xattr(struct harness *h, uint64_t handle, uint32_t size)
{
	struct fuse_getxattr_in arg = { .size = size };

	harness_request(h, handle, &arg, NULL, NULL);
	return harness_read(h, op_listxattr);
}

static int remove_xattr(struct harness *h, uint64_t handle, const char *name)
{
	harness_request(h, handle, NULL, name, NULL);
	return harness_change(h, op_removexattr);
}

static void expect_xattr(struct harness *h, uint64_t handle, const char *name, const void *value,
			 size_t len)
{
	assert_int_equal(get_xattr(h, handle, name, 0), 0);
	assert_int_equal(h->req.out.getxattr.size, len);
	assert_int_equal(get_xattr(h, handle, name, 65536), 0);
	assert_int_equal(h->req.body_len, len);
	assert_memory_equal(h->req.body, value, len);
}

static uint32_t mode_of(struct harness *h, uint64_t handle)
{
	return harness_inode(h, handle).mode & 07777;
}

static bool later(struct timespec a, struct timespec b)
{
	return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

/* --- setattr ---------------------------------------------------------------------------------- */

static void test_getattr(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");

	harness_request(h, f, NULL, NULL, NULL);
	assert_int_equal(harness_read(h, op_getattr), 0);
	assert_int_equal(h->req.out.attr.attr.mode, S_IFREG | 0644);
	assert_int_equal(h->req.out.attr.attr_valid, 1);
	assert_int_equal(h->req.out.attr.attr_valid_nsec, 500000000);
	harness_request(h, 4711, NULL, NULL, NULL);
	assert_int_equal(harness_read(h, op_getattr), -KILN_ESTALE);
}

static void test_times(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");
	struct inode before = harness_inode(h, f), after;
	struct fuse_setattr_in arg = { .valid = FATTR_ATIME | FATTR_MTIME,
				       .atime = (uint64_t)-5000000000ll, .atimensec = 1,
				       .mtime = 5000000000ll, .mtimensec = 999999999 };

	assert_int_equal(setattr(h, f, &arg), 0);
	after = harness_inode(h, f);
	assert_true(after.atime.tv_sec == -5000000000ll && after.atime.tv_nsec == 1);
	assert_true(after.mtime.tv_sec == 5000000000ll && after.mtime.tv_nsec == 999999999);
	assert_true(later(after.ctime, before.ctime));
	assert_true((int64_t)h->req.out.attr.attr.atime == -5000000000ll);
	arg.valid = FATTR_MTIME | FATTR_MTIME_NOW;
	assert_int_equal(setattr(h, f, &arg), 0);
	assert_true(harness_inode(h, f).mtime.tv_sec < 5000000000ll);
	assert_true(harness_inode(h, f).atime.tv_sec == -5000000000ll);
	arg.valid = FATTR_MTIME;
	arg.mtimensec = 1000000000;
	assert_int_equal(setattr(h, f, &arg), -KILN_EINVAL);
}

static void test_size_then_times(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");
	struct fuse_setattr_in arg = { .valid = FATTR_SIZE | FATTR_MTIME, .mtime = 77 };

	assert_int_equal(setattr(h, f, &arg), 0);
	assert_int_equal(harness_inode(h, f).mtime.tv_sec, 77);
}

static void test_mode_and_owner(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");
	struct fuse_setattr_in mode = { .valid = FATTR_MODE, .mode = S_IFDIR | 06755 };
	struct fuse_setattr_in owner = { .valid = FATTR_UID | FATTR_GID | FATTR_KILL_SUIDGID,
					 .uid = 5, .gid = 6 };
	struct inode inode;

	assert_int_equal(setattr(h, f, &mode), 0);
	assert_int_equal(harness_inode(h, f).mode, S_IFREG | 06755);
	assert_int_equal(set_xattr(h, f, "security.capability", "cap", 3, 0, 0), 0);
	assert_int_equal(setattr(h, f, &owner), 0);
	inode = harness_inode(h, f);
	assert_true(inode.uid == 5 && inode.gid == 6 && inode.mode == (S_IFREG | 0755));
	assert_int_equal(get_xattr(h, f, "security.capability", 100), -KILN_ENODATA);
	owner.uid = UINT32_MAX;
	assert_int_equal(setattr(h, f, &owner), -KILN_EINVAL);
}

static void test_nothing_to_set(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");
	struct inode before = harness_inode(h, f);
	struct fuse_setattr_in arg = { .valid = 0 };

	assert_int_equal(setattr(h, f, &arg), 0);
	assert_true(later(harness_inode(h, f).ctime, before.ctime));
}

static void test_link_keeps_target(void **state)
{
	struct harness *h = *state;
	struct fuse_setattr_in arg = { .valid = FATTR_UID, .uid = 9 };
	char target[16];
	uint64_t l;

	assert_int_equal(h_symlink(h, ROOT_HANDLE, "l", "there", &l), 0);
	assert_int_equal(setattr(h, l, &arg), 0);
	assert_int_equal(set_xattr(h, l, "trusted.t", "v", 1, 0, 0), 0);
	assert_int_equal(h_readlink(h, l, target, sizeof target), 0);
	assert_string_equal(target, "there");
}

/* --- extended attributes ------------------------------------------------------------------------ */

static void test_xattr(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");
	struct inode before = harness_inode(h, f);

	assert_int_equal(get_xattr(h, f, "user.a", 100), -KILN_ENODATA);
	assert_int_equal(set_xattr(h, f, "user.a", "12345", 5, 0, 0), 0);
	assert_true(later(harness_inode(h, f).ctime, before.ctime));
	expect_xattr(h, f, "user.a", "12345", 5);
	assert_int_equal(get_xattr(h, f, "user.a", 4), -KILN_ERANGE);
	assert_int_equal(get_xattr(h, f, "user.b", 100), -KILN_ENODATA);
	assert_int_equal(set_xattr(h, f, "user.a", "x", 1, XATTR_CREATE, 0), -KILN_EEXIST);
	assert_int_equal(set_xattr(h, f, "user.b", "x", 1, XATTR_REPLACE, 0), -KILN_ENODATA);
	assert_int_equal(set_xattr(h, f, "user.a", "x", 1, XATTR_REPLACE, 0), 0);
	assert_int_equal(set_xattr(h, f, "user.b", "", 0, XATTR_CREATE, 0), 0);
	expect_xattr(h, f, "user.a", "x", 1);
	expect_xattr(h, f, "user.b", "", 0);
	assert_int_equal(remove_xattr(h, f, "user.a"), 0);
	assert_int_equal(remove_xattr(h, f, "user.a"), -KILN_ENODATA);
	assert_int_equal(get_xattr(h, f, "user.a", 100), -KILN_ENODATA);
}

static void test_xattr_names(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");

	assert_int_equal(set_xattr(h, f, "user.", "x", 1, 0, 0), -KILN_ENOTSUP);
	assert_int_equal(set_xattr(h, f, "other.a", "x", 1, 0, 0), -KILN_ENOTSUP);
	assert_int_equal(set_xattr(h, f, "system.other", "x", 1, 0, 0), -KILN_ENOTSUP);
	assert_int_equal(get_xattr(h, f, "other.a", 10), -KILN_ENOTSUP);
	assert_int_equal(set_xattr(h, f, "user.a", "x", 1, 4, 0), -KILN_EINVAL);
	assert_int_equal(set_xattr(h, f, "user.a", "x", 65537, 0, 0), -KILN_ETOOBIG);
}

static void test_xattr_large(void **state)
{
	static char value[65536], name[256];
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");

	memset(value, 'v', sizeof value);
	memset(name, 'n', sizeof name - 1);
	memcpy(name, "user.", 5);
	assert_int_equal(set_xattr(h, f, name, value, sizeof value, 0, 0), 0);
	expect_xattr(h, f, name, value, sizeof value);
}

static void test_xattr_list(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");

	assert_int_equal(list_xattr(h, f, 0), 0);
	assert_int_equal(h->req.out.getxattr.size, 0);
	set_xattr(h, f, "user.a", "1", 1, 0, 0);
	set_xattr(h, f, "trusted.b", "2", 1, 0, 0);
	set_xattr(h, f, "security.c", "3", 1, 0, 0);
	assert_int_equal(list_xattr(h, f, 0), 0);
	assert_int_equal(h->req.out.getxattr.size, 7 + 10 + 11);
	assert_int_equal(list_xattr(h, f, 27), -KILN_ERANGE);
	assert_int_equal(list_xattr(h, f, 28), 0);
	assert_memory_equal(h->req.body, "security.c\0trusted.b\0user.a\0", 28);
	h->uid = 1000;
	assert_int_equal(list_xattr(h, f, 100), 0);
	assert_int_equal(h->req.body_len, 18);
	assert_memory_equal(h->req.body, "security.c\0user.a\0", 18);
	assert_int_equal(get_xattr(h, f, "trusted.b", 100), -KILN_ENODATA);
	assert_int_equal(set_xattr(h, f, "trusted.b", "x", 1, 0, 0), -KILN_EPERM);
	assert_int_equal(remove_xattr(h, f, "trusted.b"), -KILN_EPERM);
	h->uid = 0;
	expect_xattr(h, f, "trusted.b", "2", 1);
}

static void test_xattr_list_is_bounded(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");
	char name[256];
	int err = 0, i;

	for (i = 0; !err && i < 300; i++) {
		memset(name, 'n', sizeof name);
		name[snprintf(name, 20, "user.%010d", i)] = 'n';
		name[255] = '\0';
		err = set_xattr(h, f, name, "", 0, 0, 0);
	}
	assert_int_equal(err, -KILN_ENOSPC);
	assert_int_equal(i, 257);
	assert_int_equal(list_xattr(h, f, 65536), 0);
	assert_int_equal(h->req.body_len, 65536);
}

/* --- ACLs --------------------------------------------------------------------------------------- */

struct acl {
	uint8_t bytes[8 * 64 + 4];
	size_t len;
};

static struct acl acl_start(void)
{
	struct acl a = { .bytes = { 2 }, .len = 4 };

	return a;
}

static void acl_add(struct acl *a, uint16_t tag, uint16_t perm, uint32_t id)
{
	uint16_t shorts[2] = { htole16(tag), htole16(perm) };
	uint32_t le = htole32(id);

	memcpy(a->bytes + a->len, shorts, 4);
	memcpy(a->bytes + a->len + 4, &le, 4);
	a->len += 8;
}

/* u::x, user 7, g::x, m::x, o::x, as given by octal digits. */
static struct acl acl_named(uint16_t u, uint16_t user, uint16_t g, uint16_t m, uint16_t o)
{
	struct acl a = acl_start();

	acl_add(&a, USER_OBJ, u, UINT32_MAX);
	acl_add(&a, USER, user, 7);
	acl_add(&a, GROUP_OBJ, g, UINT32_MAX);
	acl_add(&a, MASK, m, UINT32_MAX);
	acl_add(&a, OTHER, o, UINT32_MAX);
	return a;
}

static struct acl acl_minimal(uint16_t u, uint16_t g, uint16_t o)
{
	struct acl a = acl_start();

	acl_add(&a, USER_OBJ, u, UINT32_MAX);
	acl_add(&a, GROUP_OBJ, g, UINT32_MAX);
	acl_add(&a, OTHER, o, UINT32_MAX);
	return a;
}

static int set_acl(struct harness *h, uint64_t handle, const char *name, struct acl a)
{
	return set_xattr(h, handle, name, a.bytes, a.len, 0, 0);
}

static void expect_acl(struct harness *h, uint64_t handle, const char *name, struct acl a)
{
	expect_xattr(h, handle, name, a.bytes, a.len);
}

static void test_acl_sets_mode(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");

	assert_int_equal(set_acl(h, f, ACL_ACCESS_NAME, acl_named(7, 6, 4, 5, 1)), 0);
	assert_int_equal(mode_of(h, f), 0751);
	expect_acl(h, f, ACL_ACCESS_NAME, acl_named(7, 6, 4, 5, 1));
	assert_int_equal(list_xattr(h, f, 100), 0);
	assert_memory_equal(h->req.body, ACL_ACCESS_NAME, sizeof ACL_ACCESS_NAME);
}

static void test_acl_minimal_is_mode(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");

	set_acl(h, f, ACL_ACCESS_NAME, acl_named(7, 6, 4, 5, 1));
	assert_int_equal(set_acl(h, f, ACL_ACCESS_NAME, acl_minimal(6, 4, 0)), 0);
	assert_int_equal(mode_of(h, f), 0640);
	assert_int_equal(get_xattr(h, f, ACL_ACCESS_NAME, 100), -KILN_ENODATA);
	assert_false(harness_inode(h, f).flags & INODE_ACL);
}

static void test_acl_chmod(void **state)
{
	struct harness *h = *state;
	struct fuse_setattr_in arg = { .valid = FATTR_MODE, .mode = 0624 };
	uint64_t f = new_file(h, "f");

	set_acl(h, f, ACL_ACCESS_NAME, acl_named(7, 6, 4, 5, 1));
	assert_int_equal(setattr(h, f, &arg), 0);
	expect_acl(h, f, ACL_ACCESS_NAME, acl_named(6, 6, 4, 2, 4));
	assert_int_equal(mode_of(h, f), 0624);
}

static void test_acl_remove(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f");

	assert_int_equal(remove_xattr(h, f, ACL_ACCESS_NAME), -KILN_ENODATA);
	set_acl(h, f, ACL_ACCESS_NAME, acl_named(7, 6, 4, 5, 1));
	assert_int_equal(remove_xattr(h, f, ACL_ACCESS_NAME), 0);
	assert_int_equal(mode_of(h, f), 0751);
	assert_int_equal(get_xattr(h, f, ACL_ACCESS_NAME, 100), -KILN_ENODATA);
	set_acl(h, f, ACL_ACCESS_NAME, acl_named(7, 6, 4, 5, 1));
	assert_int_equal(set_acl(h, f, ACL_ACCESS_NAME, acl_start()), 0);
	assert_int_equal(get_xattr(h, f, ACL_ACCESS_NAME, 100), -KILN_ENODATA);
}

static void test_acl_kills_sgid(void **state)
{
	struct harness *h = *state;
	struct fuse_setattr_in arg = { .valid = FATTR_MODE, .mode = 02755 };
	uint64_t f = new_file(h, "f");
	struct acl a = acl_named(7, 6, 4, 5, 1);

	setattr(h, f, &arg);
	set_xattr(h, f, ACL_ACCESS_NAME, a.bytes, a.len, 0, 0);
	assert_int_equal(mode_of(h, f), 02751);
	set_xattr(h, f, ACL_ACCESS_NAME, a.bytes, a.len, 0, FUSE_SETXATTR_ACL_KILL_SGID);
	assert_int_equal(mode_of(h, f), 0751);
}

static void test_acl_inheritance(void **state)
{
	struct harness *h = *state;
	uint64_t d, f, sub, plain;

	h->umask = 077;
	assert_int_equal(h_mkdir(h, ROOT_HANDLE, "d", S_IFDIR | 0777, &d), 0);
	assert_int_equal(mode_of(h, d), 0700);
	assert_int_equal(h_create(h, d, "plain", O_RDWR, 0666, &plain), 0);
	assert_int_equal(mode_of(h, plain), 0600);
	assert_int_equal(set_acl(h, d, ACL_DEFAULT_NAME, acl_named(7, 7, 5, 6, 4)), 0);
	assert_int_equal(h_create(h, d, "f", O_RDWR, 0640, &f), 0);
	assert_int_equal(mode_of(h, f), 0640);
	expect_acl(h, f, ACL_ACCESS_NAME, acl_named(6, 7, 5, 4, 0));
	assert_int_equal(get_xattr(h, f, ACL_DEFAULT_NAME, 100), -KILN_ENODATA);
	assert_int_equal(h_mkdir(h, d, "sub", S_IFDIR | 0777, &sub), 0);
	assert_int_equal(mode_of(h, sub), 0764);
	expect_acl(h, sub, ACL_ACCESS_NAME, acl_named(7, 7, 5, 6, 4));
	expect_acl(h, sub, ACL_DEFAULT_NAME, acl_named(7, 7, 5, 6, 4));
}

static void test_acl_minimal_default(void **state)
{
	struct harness *h = *state;
	uint64_t d, f;

	h->umask = 077;
	assert_int_equal(h_mkdir(h, ROOT_HANDLE, "d", S_IFDIR | 0777, &d), 0);
	assert_int_equal(set_acl(h, d, ACL_DEFAULT_NAME, acl_minimal(6, 6, 4)), 0);
	assert_int_equal(h_create(h, d, "f", O_RDWR, 0666, &f), 0);
	assert_int_equal(mode_of(h, f), 0664); /* the umask has no say */
	assert_int_equal(get_xattr(h, f, ACL_ACCESS_NAME, 100), -KILN_ENODATA);
	assert_int_equal(remove_xattr(h, d, ACL_DEFAULT_NAME), 0);
	assert_int_equal(h_create(h, d, "g", O_RDWR, 0666, &f), 0);
	assert_int_equal(mode_of(h, f), 0600);
}

static void test_acl_default_on_directories_only(void **state)
{
	struct harness *h = *state;
	uint64_t f = new_file(h, "f"), l;

	assert_int_equal(set_acl(h, f, ACL_DEFAULT_NAME, acl_minimal(6, 6, 4)), -KILN_EACCES);
	assert_int_equal(set_acl(h, f, ACL_DEFAULT_NAME, acl_start()), 0);
	h_symlink(h, ROOT_HANDLE, "l", "f", &l);
	assert_int_equal(set_acl(h, l, ACL_ACCESS_NAME, acl_minimal(6, 6, 4)), -KILN_ENOTSUP);
}

static void test_acl_hostile(void **state)
{
	static const struct {
		int n;
		struct {
			uint16_t tag, perm;
			uint32_t id;
		} e[6];
	} bad[] = {
		{ 1, { { USER_OBJ, 7, 0 } } },
		{ 2, { { USER_OBJ, 7, 0 }, { OTHER, 7, 0 } } },
		{ 3, { { GROUP_OBJ, 7, 0 }, { USER_OBJ, 7, 0 }, { OTHER, 7, 0 } } },
		{ 3, { { USER_OBJ, 8, 0 }, { GROUP_OBJ, 7, 0 }, { OTHER, 7, 0 } } },
		{ 3, { { USER_OBJ, 7, 0 }, { GROUP_OBJ, 7, 0 }, { 64, 7, 0 } } },
		{ 4, { { USER_OBJ, 7, 0 }, { USER, 7, 3 }, { GROUP_OBJ, 7, 0 }, { OTHER, 7, 0 } } },
		{ 4, { { USER_OBJ, 7, 0 }, { GROUP_OBJ, 7, 0 }, { GROUP, 7, 3 }, { OTHER, 7, 0 } } },
		{ 4, { { USER_OBJ, 7, 0 }, { GROUP_OBJ, 7, 0 }, { OTHER, 7, 0 }, { MASK, 7, 0 } } },
		{ 4, { { USER_OBJ, 7, 0 }, { GROUP_OBJ, 7, 0 }, { OTHER, 7, 0 }, { OTHER, 7, 0 } } },
		{ 5, { { USER_OBJ, 7, 0 }, { USER, 7, UINT32_MAX }, { GROUP_OBJ, 7, 0 },
		       { MASK, 7, 0 }, { OTHER, 7, 0 } } },
		{ 5, { { USER_OBJ, 7, 0 }, { GROUP_OBJ, 7, 0 }, { MASK, 7, 0 }, { GROUP, 7, 3 },
		       { OTHER, 7, 0 } } },
	};
	struct acl a;
	size_t count;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		a = acl_start();
		for (int k = 0; k < bad[i].n; k++)
			acl_add(&a, bad[i].e[k].tag, bad[i].e[k].perm, bad[i].e[k].id);
		assert_int_equal(acl_check(a.bytes, a.len, &count), -KILN_EINVAL);
	}
	a = acl_named(7, 7, 7, 7, 7);
	assert_int_equal(acl_check(a.bytes, a.len, &count), 0);
	assert_int_equal(count, 5);
	for (size_t cut = 1; cut < a.len; cut++)
		if (cut != 4)
			assert_int_equal(acl_check(a.bytes, cut, &count), -KILN_EINVAL);
	a.bytes[0] = 3;
	assert_int_equal(acl_check(a.bytes, a.len, &count), -KILN_ENOTSUP);
}

static void test_acl_too_large(void **state)
{
	static uint8_t bytes[4 + 8 * (ACL_ENTRIES_MAX + 1)] = { 2 };
	size_t count;

	assert_int_equal(acl_check(bytes, sizeof bytes, &count), -KILN_ETOOBIG);
}

/* Any bytes whatever: no crash, and what is accepted gives the mode its text says. */
static void test_acl_random(void **state)
{
	static const uint16_t tags[] = { USER_OBJ, USER, GROUP_OBJ, GROUP, MASK, OTHER, 0, 3 };
	struct harness *h = *state;
	uint64_t f = new_file(h, "f"), seed = 4711;
	unsigned accepted = 0;

	for (int i = 0; i < 20000; i++) {
		struct acl a = acl_start();
		int n = 3 + i % 4;

		for (int k = 0; k < n; k++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			acl_add(&a, tags[seed >> 33 & 7], (uint16_t)(seed >> 40 & 7), 5);
		}
		if (set_acl(h, f, ACL_ACCESS_NAME, a) == 0) {
			accepted++;
			assert_int_equal(mode_of(h, f) >> 6, a.bytes[6]);
			assert_int_equal(mode_of(h, f) & 7, a.bytes[a.len - 6]);
		}
	}
	assert_true(accepted > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(test_getattr),
		HARNESS_TEST(test_times),
		HARNESS_TEST(test_size_then_times),
		HARNESS_TEST(test_mode_and_owner),
		HARNESS_TEST(test_nothing_to_set),
		HARNESS_TEST(test_link_keeps_target),
		HARNESS_TEST(test_xattr),
		HARNESS_TEST(test_xattr_names),
		HARNESS_TEST(test_xattr_large),
		HARNESS_TEST(test_xattr_list),
		HARNESS_TEST(test_xattr_list_is_bounded),
		HARNESS_TEST(test_acl_sets_mode),
		HARNESS_TEST(test_acl_minimal_is_mode),
		HARNESS_TEST(test_acl_chmod),
		HARNESS_TEST(test_acl_remove),
		HARNESS_TEST(test_acl_kills_sgid),
		HARNESS_TEST(test_acl_inheritance),
		HARNESS_TEST(test_acl_minimal_default),
		HARNESS_TEST(test_acl_default_on_directories_only),
		HARNESS_TEST(test_acl_hostile),
		HARNESS_TEST(test_acl_too_large),
		HARNESS_TEST(test_acl_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* An ACL is handled in its stored form, little-endian bytes; entries are decoded one at a time
 * where they are looked at, and only a permission ever changes in place. */
#include "server/acl.h"

#include "base/err.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

enum {
	ACL_VERSION = 2,
	HEAD_BYTES = 4,
	ENTRY_BYTES = 8,

	TAG_USER_OBJ = 0x01,
	TAG_USER = 0x02,
	TAG_GROUP_OBJ = 0x04,
	TAG_GROUP = 0x08,
	TAG_MASK = 0x10,
	TAG_OTHER = 0x20,
};

#define ACL_ID_NONE UINT32_MAX
#define MODE_BITS (S_IRWXU | S_IRWXG | S_IRWXO)

struct entry {
	uint16_t tag, perm;
	uint32_t id;
};

static struct entry entry_at(const uint8_t *acl, size_t i)
{
	const uint8_t *at = acl + HEAD_BYTES + i * ENTRY_BYTES;
	struct entry e;

	memcpy(&e.tag, at, 2);
	memcpy(&e.perm, at + 2, 2);
	memcpy(&e.id, at + 4, 4);
	e.tag = le16toh(e.tag);
	e.perm = le16toh(e.perm);
	e.id = le32toh(e.id);
	return e;
}

static void perm_set(uint8_t *acl, size_t i, uint32_t perm)
{
	uint16_t le = htole16((uint16_t)perm);

	memcpy(acl + HEAD_BYTES + i * ENTRY_BYTES + 2, &le, 2);
}

/* The order of entries as a machine: what may come next, by what came before.  Named entries
 * make a mask necessary. */
enum order { AT_USER_OBJ, AT_USER, AT_GROUP, AT_OTHER, AT_END };

static bool order_step(enum order *at, bool *needs_mask, const struct entry *e)
{
	enum order was = *at;

	switch (e->tag) {
	case TAG_USER_OBJ:
		*at = AT_USER;
		return was == AT_USER_OBJ;
	case TAG_USER:
		*needs_mask = true;
		return was == AT_USER && e->id != ACL_ID_NONE;
	case TAG_GROUP_OBJ:
		*at = AT_GROUP;
		return was == AT_USER;
	case TAG_GROUP:
		*needs_mask = true;
		return was == AT_GROUP && e->id != ACL_ID_NONE;
	case TAG_MASK:
		*at = AT_OTHER;
		return was == AT_GROUP;
	case TAG_OTHER:
		*at = AT_END;
		return was == AT_OTHER || (was == AT_GROUP && !*needs_mask);
	}
	return false;
}

int acl_check(const void *value, size_t len, size_t *count)
{
	const uint8_t *acl = value;
	enum order at = AT_USER_OBJ;
	bool needs_mask = false;
	uint32_t version;

	*count = 0;
	if (len == 0)
		return 0;
	if (len < HEAD_BYTES || (len - HEAD_BYTES) % ENTRY_BYTES)
		return -KILN_EINVAL;
	memcpy(&version, acl, sizeof version);
	if (le32toh(version) != ACL_VERSION)
		return -KILN_ENOTSUP;
	if (len > ACL_BYTES_MAX)
		return -KILN_ETOOBIG;
	*count = (len - HEAD_BYTES) / ENTRY_BYTES;
	for (size_t i = 0; i < *count; i++) {
		struct entry e = entry_at(acl, i);

		if (e.perm & ~07u || !order_step(&at, &needs_mask, &e))
			return -KILN_EINVAL;
	}
	return *count == 0 || at == AT_END ? 0 : -KILN_EINVAL;
}

/* The mode an ACL stands for, and whether it says anything a mode cannot (posix_acl_equiv_mode). */
static bool acl_mode(const uint8_t *acl, size_t count, uint32_t *mode)
{
	uint32_t bits = 0, mask = 0;
	bool more = false, masked = false;

	for (size_t i = 0; i < count; i++) {
		struct entry e = entry_at(acl, i);

		if (e.tag == TAG_USER_OBJ)
			bits |= (uint32_t)e.perm << 6;
		else if (e.tag == TAG_GROUP_OBJ)
			bits |= (uint32_t)e.perm << 3;
		else if (e.tag == TAG_OTHER)
			bits |= e.perm;
		else
			more = true;
		if (e.tag == TAG_MASK) {
			mask = e.perm;
			masked = true;
		}
	}
	if (masked)
		bits = (bits & ~(uint32_t)S_IRWXG) | mask << 3;
	*mode = (*mode & ~(uint32_t)MODE_BITS) | bits;
	return more;
}

/* The entry that the mode's group bits stand for: the mask if there is one. */
static uint16_t group_tag(const uint8_t *acl, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (entry_at(acl, i).tag == TAG_MASK)
			return TAG_MASK;
	return TAG_GROUP_OBJ;
}

/* Position of an entry's three bits in a mode; -1: it has none there. */
static int mode_shift(uint16_t tag, uint16_t group)
{
	if (tag == TAG_USER_OBJ)
		return 6;
	if (tag == TAG_OTHER)
		return 0;
	return tag == group ? 3 : -1;
}

/* create: entries keep at most the bits of the mode (posix_acl_create_masq); else they become
 * those bits (__posix_acl_chmod_masq). */
static void acl_mask(uint8_t *acl, size_t count, uint32_t mode, bool create)
{
	uint16_t group = group_tag(acl, count);

	for (size_t i = 0; i < count; i++) {
		struct entry e = entry_at(acl, i);
		int shift = mode_shift(e.tag, group);
		uint32_t bits = shift < 0 ? 0 : mode >> shift & 7;

		if (shift >= 0)
			perm_set(acl, i, create ? e.perm & bits : bits);
	}
}

static int acl_store(struct txn *t, struct inode *inode, const char *name, uint32_t flag,
		     const void *value, size_t count)
{
	int err = 0;

	if (count)
		err = xattr_put(t, inode->handle, name, value, HEAD_BYTES + count * ENTRY_BYTES);
	else if (inode->flags & flag)
		err = xattr_del(t, inode->handle, name);
	if (!err)
		inode->flags = count ? inode->flags | flag : inode->flags & ~flag;
	return err;
}

int acl_set_access(struct txn *t, struct inode *inode, const void *value, size_t count)
{
	if (count && !acl_mode(value, count, &inode->mode))
		count = 0;
	return acl_store(t, inode, ACL_ACCESS_NAME, INODE_ACL, value, count);
}

int acl_set_default(struct txn *t, struct inode *inode, const void *value, size_t count)
{
	if (count && !S_ISDIR(inode->mode))
		return -KILN_EACCES;
	return acl_store(t, inode, ACL_DEFAULT_NAME, INODE_DEFACL, value, count);
}

/* What is stored was checked when it came, but the disk is not to be believed either. */
static int acl_load(struct txn *t, uint64_t handle, const char *name, uint8_t *acl, size_t *count)
{
	size_t len;
	int err = xattr_get(t, handle, name, acl, ACL_BYTES_MAX, &len);

	if (err == -KILN_ENODATA || err == -KILN_ERANGE)
		return -KILN_ECORRUPT;
	if (err)
		return err;
	return acl_check(acl, len, count) || *count == 0 ? -KILN_ECORRUPT : 0;
}

int acl_chmod(struct txn *t, const struct inode *inode)
{
	uint8_t acl[ACL_BYTES_MAX];
	size_t count;
	int err;

	if (!(inode->flags & INODE_ACL))
		return 0;
	err = acl_load(t, inode->handle, ACL_ACCESS_NAME, acl, &count);
	if (err)
		return err;
	acl_mask(acl, count, inode->mode, false);
	return xattr_put(t, inode->handle, ACL_ACCESS_NAME, acl, HEAD_BYTES + count * ENTRY_BYTES);
}

int acl_inherit(struct txn *t, const struct inode *parent, uint32_t umask, struct inode *child)
{
	uint8_t acl[ACL_BYTES_MAX];
	size_t count;
	int err;

	if (S_ISLNK(child->mode))
		return 0;
	if (!(parent->flags & INODE_DEFACL)) {
		child->mode &= ~(umask & MODE_BITS);
		return 0;
	}
	err = acl_load(t, parent->handle, ACL_DEFAULT_NAME, acl, &count);
	if (!err && S_ISDIR(child->mode))
		err = acl_set_default(t, child, acl, count);
	if (err)
		return err;
	acl_mask(acl, count, child->mode, true);
	return acl_set_access(t, child, acl, count);
}

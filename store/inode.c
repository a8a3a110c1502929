/* Inodes.  Most fields of most inodes are zero or equal to another, so a value says which are
 * there: a new empty file takes about twenty bytes.  docs/format.md has the table. */
#include "store/schema_impl.h"

#include <sys/stat.h>

enum { VALUE_VERSION = 1, VALUE_MAX = 192, GET_MANY = 128 };

enum {
	HAS_NLINK = 1,     /* other than 1 */
	HAS_RDEV = 2,
	HAS_FLAGS = 4,
	HAS_GEN = 8,
	HAS_SIZE = 0x10,
	HAS_BLOCKS = 0x20,
	HAS_ENTRIES = 0x40,
	HAS_PARENT = 0x80,
	HAS_BORN = 0x100,
	HAS_ATIME = 0x200, /* these three: other than mtime */
	HAS_CTIME = 0x400,
	HAS_BTIME = 0x800,
	HAS_ALL = 0xfff,
};

static void inode_key(struct key *k, uint32_t brick, uint64_t handle)
{
	key_start(k, brick, 'i');
	key_u64(k, handle);
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static unsigned presence(const struct inode *n)
{
	return (n->nlink != 1 ? HAS_NLINK : 0u) | (n->rdev ? HAS_RDEV : 0u) |
	       (n->flags ? HAS_FLAGS : 0u) | (n->gen ? HAS_GEN : 0u) |
	       (n->size ? HAS_SIZE : 0u) | (n->blocks ? HAS_BLOCKS : 0u) |
	       (n->entries ? HAS_ENTRIES : 0u) | (n->parent ? HAS_PARENT : 0u) |
	       (n->born ? HAS_BORN : 0u) |
	       (same_time(&n->atime, &n->mtime) ? 0u : HAS_ATIME) |
	       (same_time(&n->ctime, &n->mtime) ? 0u : HAS_CTIME) |
	       (same_time(&n->btime, &n->mtime) ? 0u : HAS_BTIME);
}

/* Seconds may be negative: the sign goes into the lowest bit, so small ones stay short. */
static void out_time(struct out *o, const struct timespec *ts)
{
	uint64_t s = (uint64_t)ts->tv_sec;

	out_varint(o, s << 1 ^ (ts->tv_sec < 0 ? UINT64_MAX : 0));
	out_u32(o, (uint32_t)ts->tv_nsec);
}

static struct timespec in_time(struct in *i)
{
	uint64_t s = in_varint(i);
	uint32_t ns = in_u32(i);

	if (ns >= 1000000000)
		i->bad = true;
	return (struct timespec){ .tv_sec = (time_t)(s >> 1 ^ (s & 1 ? UINT64_MAX : 0)),
				  .tv_nsec = ns };
}

static size_t encode(const struct inode *n, unsigned char *buf)
{
	struct out o = { buf };
	unsigned has = presence(n);

	out_u8(&o, VALUE_VERSION);
	out_u16(&o, (uint16_t)has);
	out_varint(&o, n->mode);
	out_varint(&o, n->uid);
	out_varint(&o, n->gid);
	out_time(&o, &n->mtime);
	if (has & HAS_NLINK)
		out_varint(&o, n->nlink);
	if (has & HAS_RDEV)
		out_varint(&o, n->rdev);
	if (has & HAS_FLAGS)
		out_varint(&o, n->flags);
	if (has & HAS_GEN)
		out_varint(&o, n->gen);
	if (has & HAS_SIZE)
		out_varint(&o, n->size);
	if (has & HAS_BLOCKS)
		out_varint(&o, n->blocks);
	if (has & HAS_ENTRIES)
		out_varint(&o, n->entries);
	if (has & HAS_PARENT)
		out_varint(&o, n->parent);
	if (has & HAS_BORN)
		out_u64(&o, n->born);
	if (has & HAS_ATIME)
		out_time(&o, &n->atime);
	if (has & HAS_CTIME)
		out_time(&o, &n->ctime);
	if (has & HAS_BTIME)
		out_time(&o, &n->btime);
	return (size_t)(o.at - buf);
}

static bool known_type(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
	case S_IFLNK:
	case S_IFIFO:
	case S_IFSOCK:
	case S_IFCHR:
	case S_IFBLK:
		return mode <= 0xffff;
	default:
		return false;
	}
}

/* decode: *head is the number of bytes taken; a link's target is what follows. */
static int decode(struct inode *n, uint64_t handle, const void *buf, size_t len, size_t *head)
{
	struct in i = in_of(buf, len);
	uint8_t version = in_u8(&i);
	unsigned has = in_u16(&i);

	if (version != VALUE_VERSION || has & ~HAS_ALL)
		return -KILN_ECORRUPT;
	n->handle = handle;
	n->mode = in_varint32(&i);
	n->uid = in_varint32(&i);
	n->gid = in_varint32(&i);
	n->mtime = in_time(&i);
	n->nlink = has & HAS_NLINK ? in_varint32(&i) : 1;
	n->rdev = has & HAS_RDEV ? in_varint32(&i) : 0;
	n->flags = has & HAS_FLAGS ? in_varint32(&i) : 0;
	n->gen = has & HAS_GEN ? in_varint32(&i) : 0;
	n->size = has & HAS_SIZE ? in_varint(&i) : 0;
	n->blocks = has & HAS_BLOCKS ? in_varint(&i) : 0;
	n->entries = has & HAS_ENTRIES ? in_varint(&i) : 0;
	n->parent = has & HAS_PARENT ? in_varint(&i) : 0;
	n->born = has & HAS_BORN ? in_u64(&i) : 0;
	n->atime = has & HAS_ATIME ? in_time(&i) : n->mtime;
	n->ctime = has & HAS_CTIME ? in_time(&i) : n->mtime;
	n->btime = has & HAS_BTIME ? in_time(&i) : n->mtime;
	*head = len - in_left(&i);
	if (i.bad || !known_type(n->mode))
		return -KILN_ECORRUPT;
	return S_ISLNK(n->mode) || i.at == i.end ? 0 : -KILN_ECORRUPT;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* decode_got: the answer of a get into VALUE_MAX bytes, where only a link's value is longer. */
static int decode_got(struct inode *out, uint64_t handle, const void *buf, size_t len, int err)
{
	size_t head;

	if (err == -KILN_ENOENT)
		return -KILN_ESTALE;
	if (err && err != -KILN_ERANGE)
		return err;
	return decode(out, handle, buf, least(len, VALUE_MAX), &head);
}

int inode_get_latest(struct txn *t, uint64_t handle, struct inode *out)
{
	unsigned char buf[VALUE_MAX];
	struct key key;
	size_t len = 0;
	int err;

	inode_key(&key, txn_brick(t), handle);
	err = txn_get_latest(t, KV_INODE, key.bytes, key.len, buf, sizeof(buf), &len);
	return decode_got(out, handle, buf, len, err);
}

/* freshen: what a WRITE changes, from the latest state; a file that is gone there stays as the
 * view has it. */
static int freshen(struct txn *t, struct inode *inode)
{
	const uint32_t where = INODE_DATA | INODE_BLOCKS_MASK;
	struct inode now;
	int err = inode_get_latest(t, inode->handle, &now);

	if (err)
		return err == -KILN_ESTALE ? 0 : err;
	inode->size = now.size;
	inode->blocks = now.blocks;
	inode->mtime = now.mtime;
	inode->ctime = now.ctime;
	inode->gen = now.gen;
	inode->born = now.born;
	inode->flags = (inode->flags & ~where) | (now.flags & where);
	return 0;
}

int inode_get(struct txn *t, uint64_t handle, struct inode *out)
{
	unsigned char buf[VALUE_MAX];
	struct key key;
	size_t len = 0;
	int err;

	inode_key(&key, txn_brick(t), handle);
	err = txn_get(t, KV_INODE, key.bytes, key.len, buf, sizeof(buf), &len);
	err = decode_got(out, handle, buf, len, err);
	return !err && txn_is_fresh(t) && S_ISREG(out->mode) ? freshen(t, out) : err;
}

static int get_some(struct txn *t, const uint64_t *handles, size_t count, struct inode *out,
		    int *errs)
{
	unsigned char bufs[GET_MANY][VALUE_MAX];
	struct kv_item items[GET_MANY];
	struct key keys[GET_MANY];
	int err;

	for (size_t i = 0; i < count; i++) {
		inode_key(&keys[i], txn_brick(t), handles[i]);
		items[i] = (struct kv_item){ .key = keys[i].bytes, .key_len = keys[i].len,
					     .buf = bufs[i], .cap = VALUE_MAX };
	}
	err = txn_get_many(t, KV_INODE, items, count);
	for (size_t i = 0; i < count && !err; i++) {
		errs[i] = decode_got(&out[i], handles[i], bufs[i], items[i].len, items[i].err);
		if (!errs[i] && txn_is_fresh(t) && S_ISREG(out[i].mode))
			errs[i] = freshen(t, &out[i]);
		if (errs[i] == -KILN_EWOULDBLOCK)
			err = errs[i];
	}
	return err;
}

int inode_get_many(struct txn *t, const uint64_t *handles, size_t count, struct inode *out,
		   int *errs)
{
	int err = 0;

	for (size_t at = 0; at < count && !err; at += GET_MANY)
		err = get_some(t, handles + at, least(count - at, GET_MANY), out + at, errs + at);
	return err;
}

/* link_get: a link's whole value; target and *target_len point into buf. */
static int link_get(struct txn *t, uint64_t handle, unsigned char *buf, size_t cap,
		    const unsigned char **target, size_t *target_len)
{
	struct inode inode;
	struct key key;
	size_t len, head;
	int err;

	inode_key(&key, txn_brick(t), handle);
	err = txn_get(t, KV_INODE, key.bytes, key.len, buf, cap, &len);
	if (err)
		return err == -KILN_ENOENT ? -KILN_ESTALE : err == -KILN_ERANGE ? -KILN_ECORRUPT : err;
	err = decode(&inode, handle, buf, len, &head);
	if (err)
		return err;
	if (!S_ISLNK(inode.mode))
		return -KILN_EINVAL;
	*target = buf + head;
	*target_len = len - head;
	return 0;
}

int symlink_put(struct txn *t, const struct inode *inode, const char *target, size_t len)
{
	unsigned char buf[VALUE_MAX + LINK_BYTES_MAX];
	struct key key;
	size_t head;

	if (len > LINK_BYTES_MAX)
		return -KILN_ENAMETOOLONG;
	if (!S_ISLNK(inode->mode))
		return -KILN_EINVAL;
	head = encode(inode, buf);
	memcpy(buf + head, target, len);
	inode_key(&key, txn_brick(t), inode->handle);
	return txn_put(t, KV_INODE, key.bytes, key.len, buf, head + len);
}

int symlink_get(struct txn *t, uint64_t handle, char *buf, size_t cap, size_t *len)
{
	unsigned char value[VALUE_MAX + LINK_BYTES_MAX];
	const unsigned char *target;
	int err = link_get(t, handle, value, sizeof(value), &target, len);

	if (err)
		return err;
	*len = least(*len, cap);
	memcpy(buf, target, *len);
	return 0;
}

/* A link's target lies behind its attributes, so changing those carries it over. */
static int link_change(struct txn *t, const struct inode *inode)
{
	unsigned char value[VALUE_MAX + LINK_BYTES_MAX];
	const unsigned char *target = value;
	size_t len = 0;
	int err = link_get(t, inode->handle, value, sizeof(value), &target, &len);

	if (err && err != -KILN_ESTALE)
		return err;
	return symlink_put(t, inode, (const char *)target, len);
}

int inode_put(struct txn *t, const struct inode *inode)
{
	unsigned char buf[VALUE_MAX];
	struct key key;

	if (S_ISLNK(inode->mode))
		return link_change(t, inode);
	inode_key(&key, txn_brick(t), inode->handle);
	return txn_put(t, KV_INODE, key.bytes, key.len, buf, encode(inode, buf));
}

int inode_del(struct txn *t, uint64_t handle)
{
	struct key key;

	inode_key(&key, txn_brick(t), handle);
	return txn_del(t, KV_INODE, key.bytes, key.len);
}

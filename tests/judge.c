#include "tests/judge.h"

#include "base/err.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CLIENTS_MAX = 16 };

/* A client, and the batches its changes are in, in order. */
struct owner {
	uint64_t client, first; /* first: when its record appeared */
	uint64_t *index;
	size_t count, room, used;
};

struct owners {
	struct owner owner[CLIENTS_MAX];
	size_t count;
};

const char *call_name(enum call call)
{
	static const char *const names[] = {
		"lookup", "getattr", "readdir", "getxattr", "fsync", "create", "mkdir", "link",
		"unlink", "rmdir", "rename", "setattr", "setxattr", "write", "truncate",
	};

	return names[call];
}

static bool is_change(const struct answer *a)
{
	return a->call >= CALL_CREATE;
}

/* --- which batch a change is in: its reply record says ------------------------------------------- */

static uint64_t client_of(const unsigned char *key)
{
	uint64_t v;

	memcpy(&v, key + 5, 8);
	return be64toh(v);
}

static void take_client(void *context, const unsigned char *key, size_t key_len, const void *value,
			size_t value_len, uint64_t index)
{
	struct owners *o = context;
	uint64_t client = client_of(key);
	size_t at = 0;

	for (size_t i = 0; i < o->count; i++)
		if (o->owner[i].client == client)
			return;
	if (o->count == CLIENTS_MAX)
		abort();
	while (at < o->count && o->owner[at].first < index)
		at++;
	memmove(o->owner + at + 1, o->owner + at, (o->count - at) * sizeof(o->owner[0]));
	o->owner[at] = (struct owner){ .client = client, .first = index };
	o->count++;
}

static void take_record(void *context, const unsigned char *key, size_t key_len, const void *value,
			size_t value_len, uint64_t index)
{
	struct owners *o = context;
	struct owner *w = o->owner;

	if (!value)
		return;
	while (w->client != client_of(key))
		if (++w == o->owner + o->count)
			abort();
	if (w->count == w->room) {
		w->room = w->room ? 2 * w->room : 256;
		w->index = realloc(w->index, w->room * sizeof(*w->index));
		if (!w->index)
			abort();
	}
	w->index[w->count++] = index;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void find_batches(struct judge *j, struct owners *o)
{
	unsigned char prefix[5];
	uint32_t brick = htobe32(j->brick);

	memcpy(prefix, &brick, 4);
	prefix[4] = 'm';
	plug_versions(j->plug, KV_REST, prefix, 5, take_client, o);
	prefix[4] = 'r';
	plug_versions(j->plug, KV_REST, prefix, 5, take_record, o);
	j->batch_changes = calloc(plug_applied(j->plug) + 1, sizeof(*j->batch_changes));
	for (size_t i = 0; i < o->count; i++) {
		struct owner *w = &o->owner[i];

		qsort(w->index, w->count, sizeof(*w->index), by_number);
		for (size_t n = 0; n < w->count; n++)
			j->batch_changes[w->index[n]]++;
	}
}

/* --- does a state explain an answer? --------------------------------------------------------------- */

static bool missing(struct judge *j, uint64_t node)
{
	struct inode i;

	return inode_get(j->t, node, &i) == -KILN_ESTALE;
}

static bool is_dir(struct judge *j, uint64_t node, struct inode *dir)
{
	return inode_get(j->t, node, dir) == 0 && S_ISDIR(dir->mode);
}

/* child: 1 with what the name stands for, 0 if it is free, -1 if there is no such directory. */
static int child(struct judge *j, uint64_t dir, const char *name, struct inode *out)
{
	struct inode d;
	uint64_t node;
	uint8_t type;
	int err;

	if (!is_dir(j, dir, &d))
		return -1;
	err = dirent_get(j->t, dir, name, strlen(name), &node, &type);
	if (err == -KILN_ENOENT)
		return 0;
	if (err || inode_get(j->t, node, out))
		abort(); /* fsck would have said so */
	return 1;
}

static bool same_attr(const struct answer *a, const struct inode *i)
{
	return i->handle == a->node && i->mode == a->mode && i->nlink == a->nlink;
}

static bool explains_listing(struct judge *j, const struct answer *a)
{
	struct dirent_scan *scan;
	struct dirent_row row;
	size_t found = 0, all = 0;

	if (dirent_scan_open(j->t, a->dir, 0, &scan))
		abort();
	while (dirent_scan_next(scan, &row) > 0) {
		all++;
		for (size_t i = 0; i < a->name_count; i++)
			found += a->names[i].node == row.child &&
				 strlen(a->names[i].name) == row.len &&
				 memcmp(a->names[i].name, row.name, row.len) == 0;
	}
	dirent_scan_close(scan);
	return all == a->name_count && found == all;
}

static bool explains_xattr(struct judge *j, const struct answer *a)
{
	uint32_t value = 0;
	size_t len = 0;
	int err = xattr_get(j->t, a->node, "user.a", &value, sizeof(value), &len);

	if (a->err == -ENODATA)
		return err == -KILN_ENODATA && !missing(j, a->node);
	return err == 0 && value == a->value;
}

/* Reads answered with success.  On an `fsync` volume they look at the latest state more than once,
 * so only what they look at first is tried there. */
static bool explains_success(struct judge *j, const struct answer *a)
{
	struct inode i;

	switch (a->call) {
	case CALL_LOOKUP:
		if (child(j, a->dir, a->name, &i) != 1 || i.handle != a->node)
			return false;
		return !j->op || same_attr(a, &i);
	case CALL_GETATTR:
		return inode_get(j->t, a->node, &i) == 0 && same_attr(a, &i);
	case CALL_READDIR:
		return is_dir(j, a->dir, &i) && explains_listing(j, a);
	case CALL_GETXATTR:
		return explains_xattr(j, a);
	default:
		return true;
	}
}

static bool explains_noent(struct judge *j, const struct answer *a)
{
	struct inode dir, i;
	bool two = a->call == CALL_RENAME, adds = a->call == CALL_CREATE || a->call == CALL_MKDIR;
	uint64_t into = two ? a->dir2 : a->dir;

	if (is_dir(j, into, &dir) && dir.nlink == 0)
		return true;
	if (a->call == CALL_LINK)
		return inode_get(j->t, a->node, &i) == 0 && i.nlink == 0;
	if (two && a->flags == 2 && child(j, a->dir2, a->name2, &i) == 0)
		return true;
	return !adds && child(j, a->dir, a->name, &i) == 0;
}

static bool explains_type(struct judge *j, const struct answer *a, bool want_dir)
{
	struct inode from, to;

	if (a->call == CALL_RENAME)
		return child(j, a->dir, a->name, &from) == 1 &&
		       child(j, a->dir2, a->name2, &to) == 1 && S_ISDIR(to.mode) == want_dir;
	return child(j, a->dir, a->name, &to) == 1 && S_ISDIR(to.mode) == want_dir;
}

static bool explains_nodir(struct judge *j, const struct answer *a)
{
	struct inode i;

	if (inode_get(j->t, a->dir, &i) == 0 && !S_ISDIR(i.mode))
		return true;
	if (a->dir2 && inode_get(j->t, a->dir2, &i) == 0 && !S_ISDIR(i.mode))
		return true;
	return explains_type(j, a, false);
}

static bool explains_failure(struct judge *j, const struct answer *a)
{
	struct inode i;

	switch (-a->err) {
	case ENOENT:
		return explains_noent(j, a);
	case ENODATA:
		return explains_xattr(j, a);
	case EEXIST:
		if (a->call == CALL_RENAME)
			return child(j, a->dir2, a->name2, &i) == 1;
		return child(j, a->dir, a->name, &i) == 1;
	case ENOTEMPTY:
		if (a->call == CALL_RENAME)
			return child(j, a->dir2, a->name2, &i) == 1 && i.entries > 0;
		return child(j, a->dir, a->name, &i) == 1 && i.entries > 0;
	case EISDIR:
		return explains_type(j, a, true);
	case ENOTDIR:
		return explains_nodir(j, a);
	case ESTALE:
		return (a->dir && missing(j, a->dir)) || (a->dir2 && missing(j, a->dir2)) ||
		       (a->node && missing(j, a->node));
	case EINVAL:
	case ELOOP: /* a directory into itself; which is said of it belongs to other tests */
		return a->call == CALL_RENAME &&
		       ((child(j, a->dir, a->name, &i) == 1 && S_ISDIR(i.mode)) ||
			(child(j, a->dir2, a->name2, &i) == 1 && S_ISDIR(i.mode)));
	case EPERM:
		return a->call == CALL_LINK && is_dir(j, a->node, &i);
	default:
		return false;
	}
}

static bool explains(struct judge *j, const struct answer *a, uint64_t index)
{
	struct kv_view *view = plug_view(j->kv, index);
	bool yes;

	txn_look(j->t, j->brick, view);
	yes = a->err ? explains_failure(j, a) : explains_success(j, a);
	kv_view_free(j->kv, view);
	return yes;
}

/* A change that worked, the only client's one in its batch, has done what it should.  (An inode
 * without a name may have been removed for good in the same batch.) */
static bool took_effect(struct judge *j, const struct answer *a)
{
	struct kv_view *view = plug_view(j->kv, a->index);
	struct inode i = { 0 };
	int there;
	bool ok = true;

	txn_look(j->t, j->brick, view);
	if (a->call == CALL_CREATE || a->call == CALL_MKDIR || a->call == CALL_LINK) {
		there = child(j, a->dir, a->name, &i);
		ok = there == 1 && i.handle == a->node;
	} else if (a->call == CALL_UNLINK || a->call == CALL_RMDIR) {
		ok = child(j, a->dir, a->name, &i) == 0;
	} else if (a->call == CALL_RENAME) {
		ok = child(j, a->dir2, a->name2, &i) == 1;
	} else if (a->call == CALL_SETATTR) {
		ok = inode_get(j->t, a->node, &i) != 0 || i.mode == a->mode;
	}
	kv_view_free(j->kv, view);
	return ok;
}

/* --- one answer ------------------------------------------------------------------------------------ */

static int blame(struct judge *j, const struct answer *a, const char *what, uint64_t low,
		 uint64_t high)
{
	char others[96] = "";
	uint64_t last = 0, first = 0;

	for (uint64_t i = plug_applied(j->plug); i > 0 && !a->index; i--)
		if (explains(j, a, i)) {
			last = last ? last : i;
			first = i;
		}
	if (last)
		snprintf(others, sizeof(others), ", though others from %lu to %lu do",
			 (unsigned long)first, (unsigned long)last);
	snprintf(j->why, sizeof(j->why),
		 "client %u, %s of %lu/%s (%lu/%s), node %lu, answered %d: %s; batch %lu, states "
		 "%lu to %lu, applied %lu to %lu, synced %lu%s",
		 a->client, call_name(a->call), (unsigned long)a->dir, a->name,
		 (unsigned long)a->dir2, a->name2, (unsigned long)a->node, a->err, what,
		 (unsigned long)a->index, (unsigned long)low, (unsigned long)high,
		 (unsigned long)a->applied_then, (unsigned long)a->applied_now,
		 (unsigned long)a->synced_now, others);
	return 1;
}

static int judge_change(struct judge *j, struct answer *a, struct owner *w)
{
	if (w->used == w->count)
		return blame(j, a, "answered, but in no batch", 0, 0);
	a->index = w->index[w->used++];
	if (a->index <= a->applied_then || a->index > a->applied_now)
		return blame(j, a, "its batch is not of its time", 0, 0);
	if (j->op && a->call != CALL_WRITE && a->index > a->synced_now)
		return blame(j, a, "answered, but not durable", 0, 0);
	if (j->batch_changes[a->index] == 1 && !took_effect(j, a))
		return blame(j, a, "answered, but has not happened", 0, 0);
	return 0;
}

/* known: the oldest state that what had been answered before `a` was sent allows. */
static uint64_t known(const struct judge *j, const struct answer *a)
{
	uint64_t index = 0;

	for (const struct answer *b = j->answers; b < a; b++)
		if (b->received < a->sent && b->index > index && !(j->op && b->call == CALL_WRITE))
			index = b->index;
	return index;
}

static int judge_sync(struct judge *j, struct answer *a)
{
	uint64_t before = 0;

	for (const struct answer *b = j->answers; b < a; b++)
		if (b->received < a->sent && is_change(b) && !b->err && b->index > before)
			before = b->index;
	if (before > a->synced_now)
		return blame(j, a, "answered, but what came before is not durable", before, 0);
	a->index = before;
	return 0;
}

/* A batch of several changes hides the states between them. */
static bool hidden(const struct judge *j, uint64_t low, uint64_t high)
{
	for (uint64_t i = low; i <= high; i++)
		if (j->batch_changes[i] > 1)
			return true;
	return false;
}

static int judge_look(struct judge *j, struct answer *a)
{
	uint64_t low = j->op ? known(j, a) : a->applied_then;
	uint64_t high = j->op ? a->synced_now : a->applied_now;

	for (uint64_t i = low; i <= high; i++)
		if (explains(j, a, i)) {
			a->index = i;
			j->explained++;
			return 0;
		}
	if (is_change(a) && hidden(j, low + 1, high)) {
		a->index = low;
		j->excused++;
		return 0;
	}
	return blame(j, a, "no state explains it", low, high);
}

static int judge_one(struct judge *j, struct answer *a, struct owners *o)
{
	if (a->client >= o->count)
		return blame(j, a, "of a client nobody knows", 0, 0);
	if (a->call == CALL_FSYNC)
		return a->err ? 0 : judge_sync(j, a);
	if (is_change(a) && !a->err)
		return judge_change(j, a, &o->owner[a->client]);
	return judge_look(j, a);
}

int judge_run(struct judge *j)
{
	struct owners *o = calloc(1, sizeof(*o));
	int bad = 0;

	if (!o)
		abort();
	txn_may_block(j->t, true);
	find_batches(j, o);
	for (uint64_t i = 0; i <= plug_applied(j->plug); i++)
		j->combined += j->batch_changes[i] > 1;
	for (size_t i = 0; i < j->count && !bad; i++)
		bad = judge_one(j, &j->answers[i], o);
	for (size_t i = 0; i < o->count; i++)
		free(o->owner[i].index);
	free(o);
	free(j->batch_changes);
	return bad;
}

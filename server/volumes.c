/* The table of volumes.
 *
 * Create, set, delete: check, write the record, wait until it is durable, then change the table;
 * so what the table says survives a crash, and a failure leaves the table as it was.
 *
 * Deleting: the volume is retired (no new clients), its record gets `deleting` and becomes
 * durable, its name leaves the table: that is the answer.  When the last reference is gone and
 * the last request of its clients has been answered (volume_quiet), the wiper thread frees the running half, takes the keys away in small steps, then the data files,
 * then the record.  A crash anywhere finds the record with `deleting` and goes on.  The wiper
 * has a low priority, never lets an apply stall the store, and rests as long as it works, so
 * that no other volume notices.
 *
 * Brick numbers are counted up in brick 0's own counter and never reused, so keys of a brick that
 * is being wiped can never be taken for those of a later volume. */
#include "server/volumes.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "server/server.h"
#include "server/sleep.h"

enum { TABLE_BRICK = 0, FIRST_BRICK = 1, WIPE_STEP = 256, WIPER_NICE = 10 };
#define WIPE_STALL_NS (50 * NS_PER_MS)
#define WIPE_REST_MAX_NS (100 * NS_PER_MS)
#define WIPE_QUIET_NS (100 * NS_PER_MS)

/* A volume in the table, from its creation until its last key is wiped. */
struct entry {
	char name[VOLUME_NAME_MAX + 1]; /* [VOLUMES] */
	uint32_t brick;
	uint8_t uuid[16];
	unsigned refs;                  /* [VOLUMES] */
	bool deleted;                   /* [VOLUMES] no longer in by_name */
	struct volume *volume;          /* NULL: only left to be wiped */
};

struct list {
	struct entry **item;
	size_t count, cap;
};

struct volumes {
	struct server *server;
	struct lock admin;    /* one change at a time; outermost, held across store calls */
	struct txn *table;    /* [admin] group of brick 0 */
	struct lock lock;     /* VOLUMES */
	struct list by_name;  /* [VOLUMES] sorted; volumes that can be found */
	struct list by_brick; /* [VOLUMES] sorted; the deleted ones too */
	struct cond work;     /* a deleted volume lost its last reference, or stopping */
	bool stopping;        /* [VOLUMES] */
	bool wiper_runs;
	pthread_t wiper;
};

/* --- sorted lists -------------------------------------------------------------------- */

/* name_place, brick_place: where it is, or where it would have to go. */
static size_t name_place(const struct list *l, const char *name, bool *found)
{
	size_t low = 0, high = l->count;

	*found = false;
	while (low < high) {
		size_t mid = (low + high) / 2;
		int order = strverscmp(l->item[mid]->name, name); /* v2 before v10 */

		if (!order)
			*found = true;
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static size_t brick_place(const struct list *l, uint32_t brick)
{
	size_t low = 0, high = l->count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (l->item[mid]->brick < brick)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* list_reserve: room for one more, so that list_insert cannot fail. */
static int list_reserve(struct list *l)
{
	size_t cap = l->cap ? 2 * l->cap : 64;
	struct entry **item;

	if (l->count < l->cap)
		return 0;
	item = realloc(l->item, cap * sizeof *item);
	if (!item)
		return -KILN_ENOMEM;
	l->item = item;
	l->cap = cap;
	return 0;
}

static void list_insert(struct list *l, size_t at, struct entry *e)
{
	memmove(l->item + at + 1, l->item + at, (l->count - at) * sizeof *l->item);
	l->item[at] = e;
	l->count++;
}

static void list_remove(struct list *l, size_t at)
{
	l->count--;
	memmove(l->item + at, l->item + at + 1, (l->count - at) * sizeof *l->item);
}

static void name_insert(struct volumes *vs, struct entry *e)
{
	bool found;

	list_insert(&vs->by_name, name_place(&vs->by_name, e->name, &found), e);
}

static void name_remove(struct volumes *vs, const struct entry *e)
{
	bool found;

	list_remove(&vs->by_name, name_place(&vs->by_name, e->name, &found));
}

/* --- durable records ----------------------------------------------------------------- */

/* table_commit: what has been put into the table's group since txn_mark, applied and durable. */
static int table_commit(struct volumes *vs)
{
	uint64_t seq = 0;
	int err;

	lock_assert_held(&vs->admin);
	err = txn_apply(vs->table, &seq);
	return err ? err : sleep_durable(vs->server->store, seq);
}

static int table_put(struct volumes *vs, const struct volume_record *r)
{
	int err;

	txn_mark(vs->table);
	err = volume_record_put(vs->table, r);
	if (err) {
		txn_undo(vs->table);
		return err;
	}
	return table_commit(vs);
}

/* take_brick: the next number, raised in the same batch as the record that uses it. */
static int take_brick(struct volumes *vs, uint32_t *brick)
{
	struct counters c = { 0 };
	int err = counters_get(vs->table, &c);

	if (err && err != -KILN_ENOENT)
		return err;
	if (c.next_handle < FIRST_BRICK)
		c.next_handle = FIRST_BRICK;
	if (c.next_handle >= UINT32_MAX)
		return -KILN_ENOSPC;
	*brick = (uint32_t)c.next_handle++;
	return counters_put(vs->table, &c);
}

/* stage_create: into the group, not yet applied; the caller undoes or commits. */
static int stage_create(struct volumes *vs, struct volume_record *r)
{
	int err = take_brick(vs, &r->brick);

	return err ? err : volume_record_put(vs->table, r);
}

/* --- entries ------------------------------------------------------------------------- */

static void entry_free(struct entry *e)
{
	if (e && e->volume)
		volume_free(e->volume);
	free(e);
}

/* entry_new: for a record that is wanted (with its running half) or one still to be wiped. */
static int entry_new(struct volumes *vs, const struct volume_record *r, struct entry **out)
{
	struct entry *e = calloc(1, sizeof *e);
	int err;

	if (!e)
		return -KILN_ENOMEM;
	memcpy(e->name, r->name, sizeof e->name);
	e->brick = r->brick;
	memcpy(e->uuid, r->uuid, sizeof e->uuid);
	e->deleted = r->deleting;
	err = r->deleting ? 0 : volume_new(vs->server, r, &e->volume);
	if (err) {
		free(e);
		return err;
	}
	*out = e;
	return 0;
}

static int reserve(struct volumes *vs)
{
	int err = list_reserve(&vs->by_name);

	return err ? err : list_reserve(&vs->by_brick);
}

/* entry_add [VOLUMES]: room has been reserved. */
static void entry_add(struct volumes *vs, struct entry *e)
{
	list_insert(&vs->by_brick, brick_place(&vs->by_brick, e->brick), e);
	if (!e->deleted)
		name_insert(vs, e);
}

/* entry_find [VOLUMES] */
static struct entry *entry_find(struct volumes *vs, const char *name)
{
	bool found;
	size_t at = name_place(&vs->by_name, name, &found);

	return found ? vs->by_name.item[at] : NULL;
}

static struct entry *entry_take(struct volumes *vs, const char *name)
{
	struct entry *e;

	lock_guard(&vs->lock);
	e = entry_find(vs, name);
	if (e)
		e->refs++;
	return e;
}

static void entry_put(struct volumes *vs, struct entry *e)
{
	lock_guard(&vs->lock);
	if (!--e->refs && e->deleted)
		cond_signal(&vs->work);
}

/* --- the wiper ----------------------------------------------------------------------- */

/* wiper_rest: false when the server stops. */
static bool wiper_rest(struct volumes *vs, uint64_t ns)
{
	uint64_t until = clock_mono() + ns;

	lock_guard(&vs->lock);
	while (!vs->stopping && cond_wait_until(&vs->work, &vs->lock, until))
		;
	return !vs->stopping;
}

/* wipe_apply: waits outside the store while it would stall. */
static int wipe_apply(struct volumes *vs, struct txn *t)
{
	uint64_t seq;
	int err;

	txn_may_block(t, false);
	while ((err = txn_apply(t, &seq)) == -KILN_EWOULDBLOCK)
		if (!wiper_rest(vs, WIPE_STALL_NS))
			return -KILN_ESHUTDOWN;
	return err;
}

static int wipe_step(struct volumes *vs, struct txn *t, uint32_t brick, struct wipe_place *place,
		     bool *more)
{
	uint64_t began = clock_mono(), took;
	int err;

	txn_may_block(t, true);
	txn_mark(t);
	err = brick_wipe_step(t, brick, WIPE_STEP, place, more);
	if (!err && !txn_empty(t))
		err = wipe_apply(vs, t);
	took = clock_mono() - began;
	if (!err && *more && !wiper_rest(vs, took < WIPE_REST_MAX_NS ? took : WIPE_REST_MAX_NS))
		err = -KILN_ESHUTDOWN;
	return err;
}

static int wipe_keys(struct volumes *vs, uint32_t brick)
{
	struct txn *t = txn_group_new(vs->server->store, brick);
	struct wipe_place place = { 0 };
	bool more = true;
	int err = t ? 0 : -KILN_ENOMEM;

	while (!err && more)
		err = wipe_step(vs, t, brick, &place, &more);
	txn_free(t);
	return err;
}

/* wipe_record: last; need not be durable, a record that comes back is wiped again. */
static int wipe_record(struct volumes *vs, uint32_t brick)
{
	uint64_t seq;
	int err;

	lock_guard(&vs->admin);
	txn_mark(vs->table);
	err = volume_record_del(vs->table, brick);
	if (!err)
		return txn_apply(vs->table, &seq);
	txn_undo(vs->table);
	return err;
}

static int wipe_brick(struct volumes *vs, struct entry *e)
{
	int err;

	if (e->volume)
		volume_free(e->volume);
	e->volume = NULL;
	err = wipe_keys(vs, e->brick);
	if (!err)
		err = data_remove_brick(store_data(vs->server->store), e->brick);
	if (!err)
		err = wipe_record(vs, e->brick);
	return err;
}

/* wipeable [VOLUMES]: nothing can put a key into its brick any more. */
static bool wipeable(const struct entry *e)
{
	return e->deleted && !e->refs && (!e->volume || volume_quiet(e->volume));
}

/* wiper_find [VOLUMES]: a volume to wipe, or NULL; *waiting: there will be one. */
static struct entry *wiper_find(struct volumes *vs, bool *waiting)
{
	*waiting = vs->by_brick.count > vs->by_name.count;
	for (size_t i = 0; *waiting && i < vs->by_brick.count; i++)
		if (wipeable(vs->by_brick.item[i]))
			return vs->by_brick.item[i];
	return NULL;
}

/* wiper_next [VOLUMES]: waits for a volume to wipe; NULL when stopping.  A volume that becomes
 * quiet wakes nobody, so as long as one is waited for it is looked at a few times a second. */
static struct entry *wiper_next(struct volumes *vs)
{
	struct entry *e;
	bool waiting;

	while (!vs->stopping) {
		e = wiper_find(vs, &waiting);
		if (e)
			return e;
		if (waiting)
			cond_wait_until(&vs->work, &vs->lock, clock_mono() + WIPE_QUIET_NS);
		else
			cond_wait(&vs->work, &vs->lock);
	}
	return NULL;
}

static void wiper_finish(struct volumes *vs, struct entry *e)
{
	lock_take(&vs->lock);
	list_remove(&vs->by_brick, brick_place(&vs->by_brick, e->brick));
	lock_give(&vs->lock);
	log_info("volume '%s' (brick %u): all of it is removed", e->name, e->brick);
	entry_free(e);
}

/* wiper_lower: this thread alone; what cannot be lowered is merely less considerate. */
static void wiper_lower(void)
{
	pid_t tid = gettid();

	if (setpriority(PRIO_PROCESS, (id_t)tid, WIPER_NICE))
		log_debug(admin, "wiper keeps its priority: errno %d", errno);
}

static void *wiper_main(void *arg)
{
	struct volumes *vs = arg;
	struct entry *e;
	int err = 0;

	wiper_lower();
	while (!err) {
		lock_take(&vs->lock);
		e = wiper_next(vs);
		lock_give(&vs->lock);
		if (!e)
			return NULL;
		err = wipe_brick(vs, e);
		if (!err)
			wiper_finish(vs, e);
		else if (err != -KILN_ESHUTDOWN)
			log_error("volume '%s' (brick %u): removal stopped: %s; it goes on when the "
				  "server is started again", e->name, e->brick, err_text(err));
	}
	return NULL;
}

static int wiper_start(struct volumes *vs)
{
	vs->wiper_runs = pthread_create(&vs->wiper, NULL, wiper_main, vs) == 0;
	return vs->wiper_runs ? 0 : -KILN_ENOTHREAD;
}

static void wiper_stop(struct volumes *vs)
{
	lock_take(&vs->lock);
	vs->stopping = true;
	cond_broadcast(&vs->work);
	lock_give(&vs->lock);
	if (vs->wiper_runs)
		pthread_join(vs->wiper, NULL);
}

/* --- opening and closing ------------------------------------------------------------- */

static int load_record(void *context, const struct volume_record *r)
{
	struct volumes *vs = context;
	struct entry *e;
	int err = reserve(vs);

	if (err)
		return err;
	err = entry_new(vs, r, &e);
	if (err)
		return err;
	lock_guard(&vs->lock);
	entry_add(vs, e);
	return 0;
}

static int load(struct volumes *vs)
{
	vs->table = txn_group_new(vs->server->store, TABLE_BRICK);
	if (!vs->table)
		return -KILN_ENOMEM;
	txn_may_block(vs->table, true);
	return volume_record_each(vs->table, load_record, vs);
}

int volumes_open(struct server *server, struct volumes **out)
{
	struct volumes *vs = calloc(1, sizeof *vs);
	int err;

	if (!vs)
		return -KILN_ENOMEM;
	vs->server = server;
	lock_init(&vs->admin, LOCK_RANK_ADMIN, "admin");
	lock_init(&vs->lock, LOCK_RANK_VOLUMES, "volumes");
	cond_init(&vs->work);
	err = load(vs);
	if (!err)
		err = wiper_start(vs);
	if (err)
		volumes_close(vs);
	else
		*out = vs;
	return err;
}

void volumes_close(struct volumes *vs)
{
	if (!vs)
		return;
	wiper_stop(vs);
	for (size_t i = 0; i < vs->by_brick.count; i++)
		entry_free(vs->by_brick.item[i]);
	free(vs->by_name.item);
	free(vs->by_brick.item);
	txn_free(vs->table);
	cond_destroy(&vs->work);
	lock_destroy(&vs->lock);
	lock_destroy(&vs->admin);
	free(vs);
}

/* --- create, set, delete ------------------------------------------------------------- */

/* name_free: may a volume be called so? */
static int name_free(struct volumes *vs, const char *name)
{
	if (address_volume_check(name))
		return -KILN_EVOLNAME;
	lock_guard(&vs->lock);
	return entry_find(vs, name) ? -KILN_EVOLEXIST : 0;
}

static int fill_uuid(uint8_t uuid[16])
{
	if (getrandom(uuid, 16, 0) != 16)
		return -KILN_ESYS;
	uuid[6] = (uuid[6] & 0x0f) | 0x40; /* RFC 4122: version 4, random */
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
	return 0;
}

/* create_entry: everything that can fail but the commit comes before it. */
static int create_entry(struct volumes *vs, struct volume_record *r, struct entry **out)
{
	int err;

	txn_mark(vs->table);
	err = stage_create(vs, r);
	if (!err)
		err = entry_new(vs, r, out);
	if (err) {
		txn_undo(vs->table);
		return err;
	}
	err = table_commit(vs);
	if (err)
		entry_free(*out);
	return err;
}

int volumes_create(struct volumes *vs, struct volume_record *record)
{
	struct entry *e = NULL;
	int err;

	lock_guard(&vs->admin);
	err = name_free(vs, record->name);
	if (!err)
		err = fill_uuid(record->uuid);
	if (err)
		return err;
	record->deleting = 0;
	record->created = clock_wall().tv_sec;
	lock_take(&vs->lock);
	err = reserve(vs);
	lock_give(&vs->lock);
	if (!err)
		err = create_entry(vs, record, &e);
	if (err)
		return err;
	lock_guard(&vs->lock);
	entry_add(vs, e);
	log_info("volume '%s' created (brick %u)", e->name, e->brick);
	return 0;
}

/* set_record: what of the old record stays. */
static int set_record(struct volumes *vs, const struct entry *e, const struct volume_record *wanted,
		      struct volume_record *r)
{
	struct volume_record old;
	int err;

	volume_record(e->volume, &old);
	*r = *wanted;
	r->brick = old.brick;
	memcpy(r->uuid, old.uuid, sizeof r->uuid);
	r->created = old.created;
	r->deleting = 0;
	err = strcmp(r->name, old.name) ? name_free(vs, r->name) : 0;
	return err ? err : table_put(vs, r);
}

int volumes_set(struct volumes *vs, const char *name, const struct volume_record *record)
{
	struct volume_record r;
	struct entry *e;
	int err;

	lock_guard(&vs->admin);
	e = entry_take(vs, name);
	if (!e)
		return -KILN_ENOVOLUME;
	err = set_record(vs, e, record, &r);
	if (!err) {
		lock_take(&vs->lock);
		name_remove(vs, e);
		memcpy(e->name, r.name, sizeof e->name);
		name_insert(vs, e);
		lock_give(&vs->lock);
		err = volume_update(e->volume, &r);
	}
	entry_put(vs, e);
	return err;
}

/* retire: durable that it is to go, then out of the table. */
static int retire(struct volumes *vs, struct entry *e, bool force)
{
	struct volume_record r;
	int err = volume_retire(e->volume, force);

	if (err)
		return err;
	volume_record(e->volume, &r);
	r.deleting = 1;
	err = table_put(vs, &r);
	if (err)
		return err;
	lock_guard(&vs->lock);
	name_remove(vs, e);
	e->deleted = true;
	log_info("volume '%s' (brick %u) deleted", e->name, e->brick);
	return 0;
}

int volumes_delete(struct volumes *vs, const char *name, bool force)
{
	struct entry *e;
	int err;

	lock_guard(&vs->admin);
	e = entry_take(vs, name);
	if (!e)
		return -KILN_ENOVOLUME;
	err = retire(vs, e, force);
	entry_put(vs, e);
	return err;
}

/* --- finding ------------------------------------------------------------------------- */

int volumes_find(struct volumes *vs, const char *name, struct volume **out)
{
	struct entry *e = entry_take(vs, name);

	if (!e)
		return -KILN_ENOVOLUME;
	*out = e->volume;
	return 0;
}

int volumes_find_id(struct volumes *vs, const uint8_t uuid[16], struct volume **out)
{
	lock_guard(&vs->lock);
	for (size_t i = 0; i < vs->by_name.count; i++) {
		struct entry *e = vs->by_name.item[i];

		if (memcmp(e->uuid, uuid, sizeof e->uuid))
			continue;
		e->refs++;
		*out = e->volume;
		return 0;
	}
	return -KILN_ENOVOLUME;
}

void volumes_put(struct volumes *vs, struct volume *v)
{
	uint32_t brick = volume_brick(v);
	struct entry *e;

	lock_guard(&vs->lock);
	e = vs->by_brick.item[brick_place(&vs->by_brick, brick)];
	if (!--e->refs && e->deleted)
		cond_signal(&vs->work);
}

/* snapshot: the table as it is, every entry referred to; NULL with *count 0 if it is empty. */
static int snapshot(struct volumes *vs, struct entry ***out, size_t *count)
{
	lock_guard(&vs->lock);
	*count = vs->by_name.count;
	*out = *count ? malloc(*count * sizeof **out) : NULL;
	if (*count && !*out)
		return -KILN_ENOMEM;
	for (size_t i = 0; i < *count; i++) {
		(*out)[i] = vs->by_name.item[i];
		(*out)[i]->refs++;
	}
	return 0;
}

static void release(struct volumes *vs, struct entry **list, size_t count)
{
	lock_guard(&vs->lock);
	for (size_t i = 0; i < count; i++)
		if (!--list[i]->refs && list[i]->deleted)
			cond_signal(&vs->work);
}

int volumes_each(struct volumes *vs, void (*fn)(void *context, struct volume *v), void *context)
{
	struct entry **list;
	size_t count;
	int err = snapshot(vs, &list, &count);

	if (err)
		return err;
	for (size_t i = 0; i < count; i++)
		fn(context, list[i]->volume);
	release(vs, list, count);
	free(list);
	return 0;
}

unsigned volumes_removing(struct volumes *vs)
{
	lock_guard(&vs->lock);
	return (unsigned)(vs->by_brick.count - vs->by_name.count);
}

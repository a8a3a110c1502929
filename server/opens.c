/* Who has what open, and what becomes of inodes without a name.
 *
 * One hash table a volume, an entry for each (inode, session); under the volume's lock.  Each
 * entry has a record in memory that outlives a killed server (openfile.h), from which the next
 * one fills its table. */
#include "server/dispatch.h"
#include "server/openfile.h"
#include "server/schedule.h"
#include "server/session.h"
#include "server/volume_inner.h"

#include <stdlib.h>

enum { BUCKETS_LEAST = 64 };

static struct open_entry **bucket_of(struct volume *v, uint64_t handle)
{
	uint64_t hash = (handle * 0x9e3779b97f4a7c15ull) >> 32;

	return &v->opens[hash & (v->open_buckets - 1)];
}

static bool table_grow(struct volume *v)
{
	unsigned buckets = v->open_buckets ? v->open_buckets * 4 : BUCKETS_LEAST;
	struct open_entry **old = v->opens, **table = calloc(buckets, sizeof *table);
	unsigned old_buckets = v->open_buckets;

	if (!table)
		return false;
	v->opens = table;
	v->open_buckets = buckets;
	for (unsigned i = 0; i < old_buckets; i++) {
		struct open_entry *e = old[i];

		while (e) {
			struct open_entry *next = e->next, **bucket = bucket_of(v, e->handle);

			e->next = *bucket;
			*bucket = e;
			e = next;
		}
	}
	free(old);
	return true;
}

static struct open_entry **find_link(struct volume *v, struct session *s, uint64_t handle)
{
	struct open_entry **link;

	if (!v->opens)
		return NULL;
	for (link = bucket_of(v, handle); *link; link = &(*link)->next)
		if ((*link)->handle == handle && (*link)->session == s)
			return link;
	return NULL;
}

static bool is_open(struct volume *v, uint64_t handle)
{
	if (!v->opens)
		return false;
	for (struct open_entry *e = *bucket_of(v, handle); e; e = e->next)
		if (e->handle == handle)
			return true;
	return false;
}

static bool is_doomed(struct volume *v, uint64_t handle)
{
	for (unsigned i = 0; i < v->doomed_count; i++)
		if (v->doomed[i] == handle)
			return true;
	return false;
}

static struct openfile *file_of(const struct volume *v)
{
	return v->server->openfile;
}

/* Without room for a record this session's opens are not known in full any more. */
static uint32_t record_add(struct volume *v, struct session *s, uint64_t handle, uint64_t unique)
{
	uint32_t record = openfile_add(file_of(v), s->client, volume_brick(v), handle, unique);

	if (record == OPENFILE_NONE) {
		openfile_free(file_of(v), s->marker);
		s->marker = OPENFILE_NONE;
	}
	return record;
}

static int entry_add(struct volume *v, struct session *s, uint64_t handle, unsigned count,
		     uint32_t record)
{
	struct open_entry **link, *e;

	if (v->open_count >= v->open_buckets && !table_grow(v))
		return -KILN_ENOMEM;
	e = malloc(sizeof *e);
	if (!e)
		return -KILN_ENOMEM;
	link = bucket_of(v, handle);
	*e = (struct open_entry){ .next = *link, .session = s, .handle = handle, .count = count,
				  .record = record };
	*link = e;
	v->open_count++;
	s->opens += count;
	return 0;
}

static int open_first(struct volume *v, struct session *s, uint64_t handle, uint64_t unique)
{
	uint32_t record = record_add(v, s, handle, unique);
	int err = entry_add(v, s, handle, 1, record);

	if (err)
		openfile_free(file_of(v), record);
	return err;
}

/* 1 if this very request had been counted before a restart. */
static int open_add(struct volume *v, const struct request *req, uint64_t handle)
{
	struct open_entry **link = find_link(v, req->session, handle);

	if (session_dead(req->session))
		return -KILN_ESTALE; /* its opens have been dropped already */
	if (is_doomed(v, handle))
		return -KILN_EDOOMED;
	if (!link)
		return open_first(v, req->session, handle, req->in.unique);
	if (req->resent && openfile_seen(file_of(v), (*link)->record, req->in.unique))
		return 1;
	(*link)->count++;
	req->session->opens++;
	openfile_count(file_of(v), (*link)->record, (*link)->count, req->in.unique);
	return 0;
}

int open_take(struct request *req, uint64_t handle)
{
	struct volume *v = req->volume;
	int err;

	lock_take(&v->lock);
	err = open_add(v, req, handle);
	lock_give(&v->lock);
	if (!err)
		req->opened = handle;
	return err < 0 ? err : 0;
}

/* --- orphans ------------------------------------------------------------------------------------ */

static struct orphan **find_orphan_link(struct volume *v, uint64_t handle)
{
	struct orphan **link = &v->orphans[handle % ORPHAN_BUCKETS]; /* handles are consecutive */

	while (*link && (*link)->handle != handle)
		link = &(*link)->next;
	return link;
}

static struct orphan *find_orphan(struct volume *v, uint64_t handle)
{
	return *find_orphan_link(v, handle);
}

/* All of them, in no order; o NULL: the first. */
static struct orphan *next_orphan(struct volume *v, struct orphan *o)
{
	uint64_t bucket = o ? o->handle % ORPHAN_BUCKETS + 1 : 0;

	o = o ? o->next : NULL;
	while (!o && bucket < ORPHAN_BUCKETS)
		o = v->orphans[bucket++];
	return o;
}

/* Says whether the orphan may go now, and marks it as going. */
static bool may_reap(struct volume *v, struct orphan *o)
{
	if (!o || o->held || o->reaping || is_open(v, o->handle))
		return false;
	o->reaping = true;
	return true;
}

static void queue_reap(struct volume *v, uint64_t handle)
{
	struct request *req = request_internal(v, &op_row_reap, handle);

	if (req)
		schedule_internal(req);
	/* without memory: the orphan stays in the store's list, and the next load reaps it */
}

static void entry_remove(struct volume *v, struct open_entry **link)
{
	struct open_entry *e = *link;

	*link = e->next;
	e->session->opens -= e->count;
	openfile_free(file_of(v), e->record);
	free(e);
	v->open_count--;
}

/* Says whether it was the last of an orphan. */
static bool drop_one(struct volume *v, struct open_entry **link, uint64_t unique)
{
	struct open_entry *e = *link;
	uint64_t handle = e->handle;

	if (e->count > 1) {
		e->count--;
		e->session->opens--;
		openfile_count(file_of(v), e->record, e->count, unique);
		return false;
	}
	entry_remove(v, link);
	return may_reap(v, find_orphan(v, handle));
}

void open_drop(struct session *s, uint64_t handle)
{
	struct volume *v = s->volume;
	struct open_entry **link;
	bool reap;

	lock_take(&v->lock);
	link = find_link(v, s, handle);
	reap = link && drop_one(v, link, 0);
	lock_give(&v->lock);
	if (reap)
		queue_reap(v, handle);
}

void open_release(struct request *req)
{
	struct volume *v = req->volume;
	uint64_t unique = req->in.unique, handle = req->in.nodeid;
	struct open_entry **link;
	bool reap;

	lock_take(&v->lock);
	link = find_link(v, req->session, handle);
	if (link && req->resent && openfile_seen(file_of(v), (*link)->record, unique))
		link = NULL;
	reap = link && drop_one(v, link, unique);
	lock_give(&v->lock);
	if (reap)
		queue_reap(v, handle);
}

/* --- across restarts of the server --------------------------------------------------------------- */

void opens_mark(struct session *s)
{
	s->marker = openfile_add(s->server->openfile, s->client, volume_brick(s->volume), 0, 0);
}

static struct session *session_of(struct volume *v, uint64_t client)
{
	struct session *s = v->sessions;

	while (s && s->client != client)
		s = s->next;
	return s;
}

static void restore_marker(void *context, uint32_t record, uint64_t client, uint64_t handle,
			   uint32_t count)
{
	struct volume *v = context;
	struct session *s = session_of(v, client);

	if (handle != 0 || !s || !s->recovered)
		return;
	s->recovered = false;
	s->marker = record;
	v->recovered--;
}

static void restore_open(void *context, uint32_t record, uint64_t client, uint64_t handle,
			 uint32_t count)
{
	struct volume *v = context;
	struct session *s = session_of(v, client);

	if (handle == 0 ? s && s->marker == record : s && entry_add(v, s, handle, count, record) == 0)
		return;
	openfile_free(file_of(v), record); /* of a client that is no more */
}

void opens_restore(struct volume *v)
{
	lock_guard(&v->lock);
	openfile_each(file_of(v), volume_brick(v), restore_marker, v);
	openfile_each(file_of(v), volume_brick(v), restore_open, v);
}

static void let_go(struct orphan *o, struct session *s, unsigned holders)
{
	for (unsigned i = 0; i < holders; i++)
		if (o->holders[i] == s) {
			o->holders[i] = NULL;
			o->held--;
		}
}

/* Orphans that may go, found under the lock, reaped outside it. */
struct reap_list {
	uint64_t *handles;
	size_t count;
};

static void reap_collect(struct volume *v, struct reap_list *list)
{
	list->handles = v->orphan_count ? malloc(v->orphan_count * sizeof *list->handles) : NULL;
	if (!list->handles)
		return;
	for (struct orphan *o = next_orphan(v, NULL); o; o = next_orphan(v, o))
		if (may_reap(v, o))
			list->handles[list->count++] = o->handle;
}

static void reap_run(struct volume *v, struct reap_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		queue_reap(v, list->handles[i]);
	free(list->handles);
}

static void drop_entries(struct volume *v, struct session *s)
{
	for (unsigned i = 0; i < v->open_buckets; i++) {
		struct open_entry **link = &v->opens[i];

		while (*link)
			if ((*link)->session == s)
				entry_remove(v, link);
			else
				link = &(*link)->next;
	}
}

void opens_drop_session(struct session *s)
{
	struct volume *v = s->volume;
	struct reap_list list = { 0 };

	lock_take(&v->lock);
	drop_entries(v, s);
	openfile_free(file_of(v), s->marker);
	s->marker = OPENFILE_NONE;
	for (struct orphan *o = next_orphan(v, NULL); o; o = next_orphan(v, o))
		let_go(o, s, o->holder_count);
	reap_collect(v, &list);
	lock_give(&v->lock);
	reap_run(v, &list);
}

void opens_forget(struct session *s, uint64_t handle)
{
	struct volume *v = s->volume;
	struct orphan *o;
	bool reap = false;

	lock_take(&v->lock);
	o = find_orphan(v, handle);
	if (o && o->held) {
		let_go(o, s, o->holder_count);
		reap = may_reap(v, o);
	}
	lock_give(&v->lock);
	if (reap)
		queue_reap(v, handle);
}

/* By a client of before the restart: of an orphan it is known which ones have not let go yet. */
static bool may_be_held(struct volume *v, uint64_t handle)
{
	struct orphan *o = find_orphan(v, handle);

	return o ? o->held > 0 : v->recovered && handle < v->boot_handle;
}

bool opens_dooming(struct volume *v, uint64_t handle)
{
	lock_guard(&v->lock);
	if (is_open(v, handle) || may_be_held(v, handle))
		return false;
	if (v->doomed_count == v->doomed_cap) {
		unsigned cap = v->doomed_cap ? v->doomed_cap * 2 : 16;
		uint64_t *bigger = realloc(v->doomed, cap * sizeof *bigger);

		if (!bigger)
			return false; /* an orphan then, reaped later */
		v->doomed = bigger;
		v->doomed_cap = cap;
	}
	v->doomed[v->doomed_count++] = handle;
	return true;
}

void opens_undoom(struct volume *v, uint64_t handle)
{
	lock_guard(&v->lock);
	for (unsigned i = 0; i < v->doomed_count; i++)
		if (v->doomed[i] == handle) {
			v->doomed[i] = v->doomed[--v->doomed_count];
			return;
		}
}

static void orphan_insert(struct volume *v, uint64_t handle)
{
	unsigned holders = handle < v->boot_handle ? v->recovered : 0, i = 0;
	struct orphan *o = malloc(sizeof *o + holders * sizeof o->holders[0]);
	struct orphan **bucket = find_orphan_link(v, handle);

	if (!o)
		return; /* the store's list still has it: the next load reaps it */
	*o = (struct orphan){ .next = *bucket, .handle = handle, .holder_count = holders };
	for (struct session *s = v->sessions; s && i < holders; s = s->next)
		if (s->recovered)
			o->holders[i++] = s;
	o->held = i;
	for (; i < holders; i++)
		o->holders[i] = NULL;
	*bucket = o;
	__atomic_store_n(&v->orphan_count, v->orphan_count + 1, __ATOMIC_RELAXED);
}

void opens_orphan_add(struct volume *v, uint64_t handle)
{
	struct orphan *o;
	bool reap;

	lock_take(&v->lock);
	o = find_orphan(v, handle);
	if (o)
		o->reaping = false; /* an op_reap that found it open: the next one may come */
	else
		orphan_insert(v, handle);
	reap = may_reap(v, find_orphan(v, handle));
	lock_give(&v->lock);
	if (reap)
		queue_reap(v, handle);
}

void opens_orphan_drop(struct volume *v, uint64_t handle)
{
	struct orphan **link, *o;

	lock_guard(&v->lock);
	link = find_orphan_link(v, handle);
	o = *link;
	if (!o)
		return;
	*link = o->next;
	free(o);
	__atomic_store_n(&v->orphan_count, v->orphan_count - 1, __ATOMIC_RELAXED);
}

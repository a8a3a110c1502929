/* A volume's life: made from its record, loaded at the first hello, retired and freed.
 * Counters and effects of the operations under way stand here too. */
#include "server/volume.h"

#include "base/clock.h"
#include "base/log.h"
#include "server/dispatch.h"
#include "server/locktable.h"
#include "server/schedule.h"
#include "server/session.h"
#include "server/sleep.h"
#include "server/volume_inner.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	HANDLES_STEP = 4096,            /* handles given out without writing the allocator */
	SPACE_CHECK_NS = 50 * 1000000,
};

/* --- life ------------------------------------------------------------------------------------ */

static void set_options(struct volume *v, const struct volume_record *r)
{
	v->record = *r;
	__atomic_store_n(&v->read_only, r->read_only != 0, __ATOMIC_RELAXED);
	__atomic_store_n(&v->durability, r->durability, __ATOMIC_RELAXED);
	__atomic_store_n(&v->cache, r->cache, __ATOMIC_RELAXED);
	__atomic_store_n(&v->quota_blocks, r->quota_bytes / 512, __ATOMIC_RELAXED);
	__atomic_store_n(&v->quota_inodes, r->quota_inodes, __ATOMIC_RELAXED);
}

int volume_new(struct server *server, const struct volume_record *record, struct volume **out)
{
	struct volume *v = calloc(1, sizeof *v);

	if (!v)
		return -KILN_ENOMEM;
	v->server = server;
	v->refs = 1;
	lock_init(&v->lock, LOCK_RANK_VOLUME, "volume");
	cond_init(&v->cond);
	v->brick = record->brick;
	set_options(v, record);
	*out = v;
	return 0;
}

void volume_get(struct volume *v)
{
	__atomic_add_fetch(&v->refs, 1, __ATOMIC_RELAXED);
}

static void free_orphans(struct volume *v)
{
	for (unsigned i = 0; v->orphans && i < ORPHAN_BUCKETS; i++)
		while (v->orphans[i]) {
			struct orphan *o = v->orphans[i];

			v->orphans[i] = o->next;
			free(o);
		}
	free(v->orphans);
	v->orphans = NULL;
	v->orphan_count = 0;
}

static void free_loaded(struct volume *v)
{
	free_orphans(v);
	if (v->group)
		txn_free(v->group);
	if (v->probe)
		txn_free(v->probe);
	if (v->locks)
		locktable_free(v->locks);
	free(v->turns);
	free(v->notes);
	free(v->opens);
	free(v->doomed);
	free(v->effects);
	v->group = v->probe = NULL;
	v->locks = NULL;
	v->turns = NULL;
	v->notes = NULL;
	v->opens = NULL;
	v->doomed = NULL;
	v->effects = NULL;
	v->open_buckets = v->open_count = v->doomed_count = v->doomed_cap = 0;
	v->effect_count = v->effect_cap = 0;
}

void volume_put(struct volume *v)
{
	if (__atomic_sub_fetch(&v->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	free_loaded(v);
	cond_destroy(&v->cond);
	lock_destroy(&v->lock);
	free(v);
}

/* Clients stay known to the store, not to this process. */
static void forget_sessions(struct volume *v)
{
	struct session *list, *s;

	lock_take(&v->lock);
	list = v->sessions;
	v->sessions = NULL;
	v->session_count = v->recovered = 0;
	for (unsigned i = 0; i < v->open_buckets; i++)
		while (v->opens[i]) {
			struct open_entry *e = v->opens[i];

			v->opens[i] = e->next;
			free(e);
		}
	lock_give(&v->lock);
	while ((s = list) != NULL) {
		list = s->next;
		session_put(s);
	}
}

void volume_free(struct volume *v)
{
	forget_sessions(v);
	volume_put(v);
}

/* Changes are answered durable at once; readers go over to the durable view when it holds what
 * had been answered before. */
static int durable_reads(struct volume *v)
{
	struct store *store = volume_store(v);
	int err = sleep_view(store);

	if (!err)
		err = sleep_durable(store, commit_latest(store_committer(store)));
	if (!err)
		__atomic_store_n(&v->durable_reads, true, __ATOMIC_RELEASE);
	return err;
}

int volume_update(struct volume *v, const struct volume_record *record)
{
	bool op = record->durability == DURABILITY_OP;

	if (!op) /* before the first change is answered that the durable view does not show */
		__atomic_store_n(&v->durable_reads, false, __ATOMIC_RELEASE);
	lock_take(&v->lock);
	set_options(v, record);
	lock_give(&v->lock);
	return op ? durable_reads(v) : 0;
}

void volume_record(struct volume *v, struct volume_record *out)
{
	lock_guard(&v->lock);
	*out = v->record;
}

int volume_retire(struct volume *v, bool force)
{
	struct session *s;

	lock_take(&v->lock);
	if (v->session_count > 0 && !force) {
		lock_give(&v->lock);
		return -KILN_EVOLBUSY;
	}
	v->retired = true;
	while ((s = v->sessions) != NULL) {
		session_get(s);
		lock_give(&v->lock);
		session_end(s);
		session_put(s);
		lock_take(&v->lock);
	}
	lock_give(&v->lock);
	return 0;
}

void volume_abandon(void *context, struct volume *v)
{
	struct request *list = v->locks ? locktable_abandon(v->locks) : NULL;

	(void)context;
	while (list) {
		struct request *next = list->next;

		request_free(list);
		list = next;
	}
}

/* The last request may have been answered, and whoever did so still hold the role. */
bool volume_quiet(struct volume *v)
{
	lock_guard(&v->lock);
	return !v->role_held && __atomic_load_n(&v->refs, __ATOMIC_ACQUIRE) == 1; /* the table's */
}

/* --- loading ----------------------------------------------------------------------------------- */

static int make_root(struct volume *v, struct txn *t)
{
	struct timespec now = clock_wall();
	struct inode root = {
		.handle = ROOT_HANDLE,
		.mode = S_IFDIR | 0755,
		/* a user who runs a server for himself can write in his volumes */
		.uid = geteuid(),
		.gid = getegid(),
		.nlink = 2,
		.parent = ROOT_HANDLE,
		.atime = now,
		.mtime = now,
		.ctime = now,
		.btime = now,
	};
	uint64_t seq;
	int err;

	v->counters = (struct counters){ .inodes = 1, .next_handle = ROOT_HANDLE + 1 };
	err = inode_put(t, &root);
	if (!err)
		err = counters_put(t, &v->counters);
	return err ? err : txn_apply(t, &seq);
}

static int load_orphan(void *context, uint64_t handle)
{
	opens_orphan_add(context, handle);
	return 0;
}

static int load_client(void *context, const struct client_record *r)
{
	return session_restore(context, r);
}

static int load_locks(void *context, uint64_t handle, uint64_t client,
		      const struct lock_record *locks, size_t count)
{
	struct volume *v = context;
	struct session *s = v->sessions;

	while (s && s->client != client)
		s = s->next;
	return s ? locktable_restore(v->locks, s, handle, locks, count) : 0;
}

static void trash_queue(struct volume *v, uint64_t handle, uint32_t gen, uint64_t seq);
static void trim_queue(struct volume *v, uint64_t handle, uint64_t size, uint64_t seq);

static int load_trash(void *context, uint64_t handle, uint32_t gen)
{
	trash_queue(context, handle, gen, 0);
	return 0;
}

static int load_tables(struct volume *v)
{
	v->group = txn_group_new(volume_store(v), v->brick);
	v->locks = locktable_new(v, &v->server->lock_waits);
	v->turns = calloc(TURN_BUCKETS, sizeof(struct request *));
	v->notes = calloc(WRITERS_KEPT, sizeof *v->notes);
	v->orphans = calloc(ORPHAN_BUCKETS, sizeof *v->orphans);
	return v->group && v->locks && v->turns && v->notes && v->orphans ? 0 : -KILN_ENOMEM;
}

static int load_records(struct volume *v)
{
	struct txn *t = v->group;
	int err;

	txn_may_block(t, true);
	err = counters_get(t, &v->counters);
	if (err == -KILN_ENOENT)
		err = make_root(v, t);
	if (err)
		return err;
	v->next_handle = v->counters.next_handle;
	v->boot_handle = v->counters.next_handle;
	v->shown = v->counters_applied = v->counters;
	err = client_each(t, load_client, v);
	if (!err)
		opens_restore(v);
	if (!err)
		err = orphan_each(t, load_orphan, v);
	if (!err)
		err = locks_each(t, load_locks, v);
	if (!err)
		err = trash_each(t, load_trash, v);
	return err;
}

/* Waits while another thread loads; true if this one is to load. */
static int load_begin(struct volume *v)
{
	lock_guard(&v->lock);
	while (v->loading)
		cond_wait(&v->cond, &v->lock);
	if (v->retired)
		return -KILN_ENOVOLUME;
	if (v->loaded)
		return 0;
	v->loading = true;
	v->role_held = true; /* what loading finds to reap waits for its end */
	return 1;
}

/* A load that failed leaves nothing behind, so that the next client's can begin anew.  What has
 * queued up are changes of the server's own, which that load will ask for again. */
static void unload(struct volume *v)
{
	struct request *queue, *next;

	lock_take(&v->lock);
	queue = v->queue;
	v->queue = v->queue_tail = NULL;
	v->role_held = false;
	lock_give(&v->lock);
	for (; queue; queue = next) {
		next = queue->next;
		request_free(queue);
	}
	forget_sessions(v);
	free_loaded(v);
}

static int load_all(struct volume *v)
{
	int err = load_tables(v);

	if (!err)
		err = load_records(v);
	if (!err && volume_durability(v) == DURABILITY_OP)
		err = durable_reads(v);
	if (err)
		unload(v);
	return err;
}

int volume_load(struct volume *v, struct worker *w)
{
	int err = load_begin(v);

	if (err <= 0)
		return err;
	err = load_all(v);
	lock_take(&v->lock);
	v->loaded = !err;
	v->loading = false;
	cond_broadcast(&v->cond);
	lock_give(&v->lock);
	if (err) {
		log_error("volume %s cannot be loaded: %s", v->record.name, err_text(err));
		return err;
	}
	schedule_adopt(w, v); /* the role, and with it what has queued up */
	return 0;
}

/* --- what handlers ask -------------------------------------------------------------------------- */

bool volume_read_only(const struct volume *v)
{
	return __atomic_load_n(&v->read_only, __ATOMIC_RELAXED);
}

uint64_t volume_cache_ns(const struct volume *v)
{
	return __atomic_load_n(&v->cache, __ATOMIC_RELAXED) == CACHE_TTL ? NS_PER_S : 0;
}

int volume_durability(const struct volume *v)
{
	return __atomic_load_n(&v->durability, __ATOMIC_RELAXED);
}

struct store *volume_store(const struct volume *v)
{
	return v->server->store;
}

uint32_t volume_brick(const struct volume *v)
{
	return v->brick;
}

bool volume_bytes_pending(const struct volume *v)
{
	return __atomic_load_n(&v->last_write_seq, __ATOMIC_ACQUIRE) >
	       commit_durable(store_committer(volume_store(v)));
}

struct locktable *volume_locks(struct volume *v)
{
	return v->locks;
}

int volume_take_handle(struct volume *v, struct txn *t, uint64_t *handle)
{
	(void)t;
	if (v->next_handle >= v->counters.next_handle) {
		v->counters.next_handle = v->next_handle + HANDLES_STEP;
		v->counters_changed = true;
	}
	*handle = v->next_handle++;
	return 0;
}

/* Blocks that may still be taken on the store; for memory asked of the system a few times a
 * second. */
static uint64_t space_left(struct volume *v)
{
	struct room *room = store_room(volume_store(v));
	uint64_t now, total, avail;

	if (room)
		return room_left(room) / 512;
	now = clock_mono();
	if (v->space_checked_ns && now - v->space_checked_ns < SPACE_CHECK_NS)
		return v->space_left;
	v->space_checked_ns = now;
	if (store_space(volume_store(v), &total, &avail) != 0)
		return v->space_left;
	v->space_left = avail / 512;
	return v->space_left;
}

static int may_rise(struct volume *v, int64_t inodes, int64_t blocks)
{
	uint64_t quota_inodes = __atomic_load_n(&v->quota_inodes, __ATOMIC_RELAXED);
	uint64_t quota_blocks = __atomic_load_n(&v->quota_blocks, __ATOMIC_RELAXED);

	if (inodes > 0 && quota_inodes && v->counters.inodes + (uint64_t)inodes > quota_inodes)
		return -KILN_EQUOTA;
	if (blocks > 0 && quota_blocks && v->counters.blocks + (uint64_t)blocks > quota_blocks)
		return -KILN_EQUOTA;
	if (space_left(v) < (uint64_t)(blocks > 0 ? blocks : 1))
		return -KILN_ENOSPC;
	return 0;
}

static void adjust(uint64_t *counter, int64_t by)
{
	uint64_t down = by < 0 ? (uint64_t)-by : 0;

	*counter = down > *counter ? 0 : *counter + (uint64_t)by;
}

int volume_count(struct volume *v, int64_t inodes, int64_t blocks)
{
	int err = 0;

	if (inodes == 0 && blocks == 0)
		return 0;
	if (inodes > 0 || blocks > 0)
		err = may_rise(v, inodes, blocks);
	if (err)
		return err;
	adjust(&v->counters.inodes, inodes);
	adjust(&v->counters.blocks, blocks);
	v->counters_changed = true;
	return 0;
}

static void quota_space(const struct volume_record *r, const struct counters *used, uint64_t *total,
			uint64_t *avail)
{
	uint64_t left;

	if (!r->quota_bytes)
		return;
	left = r->quota_bytes / 512 > used->blocks ? r->quota_bytes - used->blocks * 512 : 0;
	*total = r->quota_bytes;
	if (left < *avail)
		*avail = left;
}

void volume_statfs(struct volume *v, struct fuse_kstatfs *out)
{
	enum { UNIT = 4096, INODES_WITHOUT_QUOTA_BYTES = 1024 };
	struct volume_record r;
	struct counters used;
	uint64_t total = 0, avail = 0;

	lock_take(&v->lock);
	r = v->record;
	used = v->shown;
	lock_give(&v->lock);
	if (store_space(volume_store(v), &total, &avail) != 0)
		total = avail = 0;
	quota_space(&r, &used, &total, &avail);
	*out = (struct fuse_kstatfs){
		.bsize = UNIT,
		.frsize = UNIT,
		.namelen = NAME_BYTES_MAX,
		.bavail = avail / UNIT,
	};
	if (r.quota_bytes) {
		out->blocks = total / UNIT;
		out->bfree = out->bavail;
	} else {
		/* the store is shared: what this volume uses, and what is free to all */
		out->blocks = avail / UNIT + (used.blocks * 512 + UNIT - 1) / UNIT;
		out->bfree = out->bavail;
	}
	out->files = r.quota_inodes ? r.quota_inodes
				    : used.inodes + avail / INODES_WITHOUT_QUOTA_BYTES;
	out->ffree = out->files > used.inodes ? out->files - used.inodes : 0;
}

/* --- effects ---------------------------------------------------------------------------------------- */

int volume_effect(struct volume *v, struct effect effect)
{
	if (v->effect_count == v->effect_cap) {
		unsigned cap = v->effect_cap ? v->effect_cap * 2 : 16;
		struct effect *bigger = realloc(v->effects, cap * sizeof *bigger);

		if (!bigger)
			return -KILN_ENOMEM;
		v->effects = bigger;
		v->effect_cap = cap;
	}
	v->effects[v->effect_count++] = effect;
	return 0;
}

void volume_effects_undo(struct volume *v)
{
	while (v->effect_count > v->effect_mark) {
		struct effect *e = &v->effects[--v->effect_count];

		if (e->kind == EFFECT_DOOM)
			opens_undoom(v, e->handle);
	}
}

static void effect_done(struct volume *v, const struct effect *e, uint64_t seq, bool applied)
{
	if (e->kind == EFFECT_DOOM)
		opens_undoom(v, e->handle);
	if (!applied)
		return;
	if (e->kind == EFFECT_ORPHAN)
		opens_orphan_add(v, e->handle);
	else if (e->kind == EFFECT_ADOPT)
		opens_orphan_drop(v, e->handle);
	else if (e->kind == EFFECT_TRASH)
		trash_queue(v, e->handle, e->gen, seq);
	else if (e->kind == EFFECT_TRIM)
		trim_queue(v, e->handle, e->size, seq);
}

void volume_effects_done(struct volume *v, uint64_t seq, bool applied)
{
	for (unsigned i = 0; i < v->effect_count; i++)
		effect_done(v, &v->effects[i], seq, applied);
	v->effect_count = v->effect_mark = 0;
}

bool volume_doom(struct volume *v, uint64_t handle)
{
	if (!opens_dooming(v, handle))
		return false;
	if (volume_effect(v, (struct effect){ .kind = EFFECT_DOOM, .handle = handle }) == 0)
		return true;
	opens_undoom(v, handle);
	return false;
}

/* Without memory to remember it, the store's own list is what the next load goes by. */
static void remember(struct volume *v, struct effect effect)
{
	if (volume_effect(v, effect) != 0)
		log_warn("brick %u: no memory to remember inode %lu for removal; it is removed at the "
			 "next start", volume_brick(v), (unsigned long)effect.handle);
}

void volume_orphan(struct volume *v, uint64_t handle)
{
	remember(v, (struct effect){ .kind = EFFECT_ORPHAN, .handle = handle });
}

void volume_adopt(struct volume *v, uint64_t handle)
{
	remember(v, (struct effect){ .kind = EFFECT_ADOPT, .handle = handle });
}

void volume_trash(struct volume *v, uint64_t handle, uint32_t gen)
{
	remember(v, (struct effect){ .kind = EFFECT_TRASH, .handle = handle, .gen = gen });
}

void volume_trim(struct volume *v, uint64_t handle, uint64_t size)
{
	/* without memory for it the space stays taken until the file grows again or goes */
	(void)volume_effect(v, (struct effect){ .kind = EFFECT_TRIM, .handle = handle,
						.size = size });
}

/* --- trash: data files to remove once the batch that says so is durable ------------------------------- */

static void run_trash(struct worker *w, struct request *req)
{
	struct volume *v = req->volume;
	struct data_id id = { .handle = req->in.nodeid,
			      .brick = volume_brick(v),
			      .gen = (uint32_t)req->record_value };
	int err = req->error ? req->error : data_remove(store_data(volume_store(v)), id);

	(void)w;
	if (err) {
		log_warn("brick %u: data file of inode %lu stays until the next start: %s", id.brick,
			 (unsigned long)id.handle, err_text(err));
		request_free(req);
		return;
	}
	schedule_internal(req); /* op_trash_del: the record goes too */
}

static void trash_durable(struct commit_wait *wait, int err)
{
	struct request *req = (struct request *)((char *)wait - offsetof(struct request, wait));

	req->error = err;
	req->run = run_trash;
	pool_submit(req->volume->server->pool, POOL_WRITE, req);
}

static void trash_queue(struct volume *v, uint64_t handle, uint32_t gen, uint64_t seq)
{
	struct request *req = request_internal(v, &op_row_trash, handle);

	if (!req)
		return; /* its record stays; the next load finds it */
	req->record_value = gen;
	req->wait = (struct commit_wait){ .seq = seq, .lazy = true, .done = trash_durable };
	commit_wait(store_committer(volume_store(v)), &req->wait);
}

/* --- data files to be cut once the batch that says so is durable --------------------------------------- */

static void run_trim(struct worker *w, struct request *req)
{
	if (req->error)
		request_free(req); /* the server stops, or the store is broken */
	else
		schedule_data(w, req);
}

static void trim_durable(struct commit_wait *wait, int err)
{
	struct request *req = (struct request *)((char *)wait - offsetof(struct request, wait));

	req->error = err;
	req->run = run_trim;
	pool_submit(req->volume->server->pool, POOL_WRITE, req);
}

static void trim_queue(struct volume *v, uint64_t handle, uint64_t size, uint64_t seq)
{
	struct request *req = request_internal(v, &op_row_trim, handle);

	if (!req)
		return;
	req->record_value = size;
	req->wait = (struct commit_wait){ .seq = seq, .lazy = true, .done = trim_durable };
	commit_wait(store_committer(volume_store(v)), &req->wait);
}

/* --- locks' records --------------------------------------------------------------------------------------- */

void lock_store(struct volume *v, uint64_t handle, uint64_t client,
		const struct lock_record *locks, size_t count, struct request *answers)
{
	struct request *req = request_internal(v, &op_row_locks, handle);
	void *copy = req && count ? malloc(count * sizeof *locks) : NULL;

	if (!req || (count && !copy)) {
		if (req)
			request_free(req);
		request_answer_all(answers, -KILN_ENOMEM);
		return;
	}
	if (count)
		memcpy(copy, locks, count * sizeof *locks);
	req->buffer = copy;
	req->data_len = count;
	req->record_value = client;
	req->then = answers;
	schedule_internal(req);
}

/* --- who wrote last ----------------------------------------------------------------------------------------- */

static struct writer_note *note_of(struct volume *v, uint64_t handle)
{
	return &v->notes[(handle * 0x9e3779b97f4a7c15ull) >> 56];
}

void volume_note_writer(struct volume *v, struct session *s, uint64_t handle)
{
	lock_guard(&v->lock);
	*note_of(v, handle) = (struct writer_note){ handle, s->client, clock_mono() };
}

/* A client's attributes are at most one cache time old, and a change it sees there drops its
 * pages; so only a change by somebody else within that time can be unknown to it. */
bool volume_keep_cache(struct volume *v, struct session *s, const struct inode *inode)
{
	struct writer_note *note;
	struct timespec now = clock_wall();

	lock_guard(&v->lock);
	if (v->session_count <= 1)
		return true;
	note = note_of(v, inode->handle);
	if (note->handle == inode->handle)
		return note->client == s->client ||
		       clock_mono() - note->when_ns > 2 * NS_PER_S;
	return now.tv_sec - inode->ctime.tv_sec > 2;
}

bool volume_others_wrote(struct volume *v, struct session *s, uint64_t handle)
{
	struct writer_note *note;

	lock_guard(&v->lock);
	note = note_of(v, handle);
	if (v->session_count <= 1)
		return false;
	return note->handle != handle ||
	       (note->client != s->client && clock_mono() - note->when_ns < 2 * NS_PER_S);
}

/* --- for status ------------------------------------------------------------------------------------------------ */

/* A volume nobody has used since the start is looked up in the store, not loaded. */
static int peek_counters(struct volume *v, struct counters *out)
{
	struct txn *t = txn_reader_new(volume_store(v));
	int err;

	if (!t)
		return -KILN_ENOMEM;
	txn_look(t, volume_brick(v), NULL);
	txn_may_block(t, true);
	err = counters_get(t, out);
	txn_free(t);
	if (err == -KILN_ENOENT)
		*out = (struct counters){ .inodes = 1 };
	return err == -KILN_ENOENT ? 0 : err;
}

static bool is_loaded(struct volume *v)
{
	lock_guard(&v->lock);
	return v->loaded;
}

int volume_info(struct volume *v, struct volume_info *out)
{
	struct counters stored;

	if (!is_loaded(v)) {
		int err = peek_counters(v, &stored);

		*out = (struct volume_info){ .inodes = stored.inodes, .blocks = stored.blocks };
		return err;
	}
	lock_guard(&v->lock);
	*out = (struct volume_info){
		.inodes = v->shown.inodes,
		.blocks = v->shown.blocks,
		.reads = __atomic_load_n(&v->reads, __ATOMIC_RELAXED),
		.changes = __atomic_load_n(&v->changes, __ATOMIC_RELAXED),
		.sessions = v->session_count,
		.opens = v->open_count,
		.orphans = v->orphan_count,
	};
	return 0;
}

void volume_each_session(struct volume *v, void (*fn)(void *context, const struct session_info *),
			 void *context)
{
	uint64_t now;

	lock_guard(&v->lock);
	now = clock_mono(); /* under the lock: not before any away_since_ns */
	for (struct session *s = v->sessions; s; s = s->next) {
		struct session_info info = {
			.client = s->client,
			.kind = s->kind,
			.connected = s->conn != NULL,
			.away_ns = s->conn ? 0 : now - s->away_since_ns,
			.opens = s->opens,
		};

		memcpy(info.host, s->host, sizeof info.host);
		fn(context, &info);
	}
}

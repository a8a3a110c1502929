/* Pulls the plug under a whole server with clients at work, and looks at what they had been told.
 *
 * A run: two volumes of one store, `op` and `fsync`, each with a few clients that do random things
 * to a handful of names and log every answer; after a random number of calls nothing becomes
 * durable any more, and the clients go on for a moment with what can still be answered.  Then
 *   - every answer is judged (tests/judge.h);
 *   - states that a power cut could have left are checked for consistency (store/check.h);
 *   - one of them is taken, together with what was synced of the files' bytes, a server started on
 *     it, and all that fsync and close had promised is looked for.
 *
 * KILN_POWERCUT_SEED repeats one run (as far as threads can be repeated: try it a few times),
 * KILN_POWERCUT_SECONDS says how long to go on. */
#include "tests/embed.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/log.h"
#include "store/check.h"
#include "tests/judge.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cmocka.h>

enum {
	CLIENTS = 3, VOLUMES = 2, NAMES = 6, NODES = 64, OWN = 4,
	CHUNK = 512, CHUNKS = 192, SIZES = 64, BIG = 64,
	CALLS_MIN = 100, CALLS_MORE = 500, CALLS_AFTER = 12,
	DEFAULT_SECONDS = 4, MEANWHILE_MS = 15,
};

/* A file that one client alone writes to, in chunks that each hold one byte over and over. */
struct own {
	struct own *next;          /* those that were closed, kept for the end */
	uint64_t node, fh;
	bool open, lost;           /* lost: an answer is missing, its bytes are not known */
	uint8_t now[CHUNKS];
	uint8_t version;
	size_t size;
	/* What may be found after a power cut, by chunk: a set of bytes; and a set of sizes. */
	uint64_t may[CHUNKS][4];
	size_t sizes[SIZES], size_count;
};

struct world {
	struct embed *embed;
	const char *volume;
	bool op;
	uint32_t brick;
	uint64_t dirs[NODES], files[NODES]; /* atomic */
	unsigned dir_count, file_count;     /* atomic */
};

struct client {
	struct run *run;
	struct world *world;
	struct kiln *kiln;
	unsigned id;
	uint64_t random;
	struct own own[OWN], *closed;
	struct answer *answers;
	size_t count, room;
	unsigned after;
	bool ended;
	pthread_t thread;
};

struct run {
	struct embed *embed;
	struct world worlds[VOLUMES];
	struct client clients[VOLUMES * CLIENTS];
	uint64_t seed, clock;               /* clock: atomic */
	unsigned calls, pull_at;            /* atomic; fixed */
	struct lock lock;
	struct cond changed;
	bool pulled;                        /* [lock] and atomic */
	unsigned working;                   /* [lock] */
	char why[500];
};

static uint64_t draw_from(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static unsigned draw(struct client *c, unsigned below)
{
	return (unsigned)((draw_from(&c->random) >> 20) % below);
}

/* --- what clients know of --------------------------------------------------------------------------- */

static void node_add(uint64_t *nodes, unsigned *count, uint64_t node)
{
	unsigned at = __atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL) % NODES;

	__atomic_store_n(&nodes[at], node, __ATOMIC_RELEASE);
}

static uint64_t node_pick(struct client *c, uint64_t *nodes, unsigned *count)
{
	unsigned n = __atomic_load_n(count, __ATOMIC_ACQUIRE);
	uint64_t node = n ? __atomic_load_n(&nodes[draw(c, n < NODES ? n : NODES)],
					    __ATOMIC_ACQUIRE) : 0;

	return node ? node : KILN_ROOT;
}

static uint64_t pick_dir(struct client *c)
{
	return draw(c, 3) ? node_pick(c, c->world->dirs, &c->world->dir_count) : KILN_ROOT;
}

static uint64_t pick_file(struct client *c)
{
	return node_pick(c, c->world->files, &c->world->file_count);
}

static void pick_name(struct client *c, char name[8])
{
	snprintf(name, 8, "n%u", draw(c, NAMES));
}

/* --- logging ------------------------------------------------------------------------------------------ */

static struct answer *call_begin(struct client *c, enum call call)
{
	struct answer *a;

	if (c->count == c->room) {
		c->room = c->room ? 2 * c->room : 256;
		c->answers = realloc(c->answers, c->room * sizeof(*c->answers));
		assert_non_null(c->answers);
	}
	a = &c->answers[c->count];
	*a = (struct answer){ .call = call, .client = c->id };
	a->applied_then = plug_applied(c->run->embed->plug);
	a->sent = __atomic_add_fetch(&c->run->clock, 1, __ATOMIC_ACQ_REL);
	return a;
}

/* call_end: what was answered EIO may have happened or not, as if there had been no answer. */
static void call_end(struct client *c, struct answer *a, int err)
{
	a->synced_now = plug_synced(c->run->embed->plug);
	a->applied_now = plug_applied(c->run->embed->plug);
	a->received = __atomic_add_fetch(&c->run->clock, 1, __ATOMIC_ACQ_REL);
	a->err = err;
	if (err == -EIO) {
		c->ended = true;
		free(a->names);
		return;
	}
	c->count++;
}

static void show(struct answer *a, const struct fuse_attr *attr)
{
	a->node = attr->ino;
	a->mode = attr->mode;
	a->nlink = attr->nlink;
}

/* --- names and attributes ------------------------------------------------------------------------------ */

static void note_entry(struct client *c, const struct fuse_entry_out *e)
{
	struct world *w = c->world;

	if (S_ISDIR(e->attr.mode))
		node_add(w->dirs, &w->dir_count, e->nodeid);
	else
		node_add(w->files, &w->file_count, e->nodeid);
}

static void do_lookup(struct client *c)
{
	struct answer *a = call_begin(c, CALL_LOOKUP);
	struct fuse_entry_out e;
	int err;

	a->dir = pick_dir(c);
	pick_name(c, a->name);
	err = kiln_lookup(c->kiln, a->dir, a->name, &e);
	if (!err) {
		show(a, &e.attr);
		if (draw(c, 4) == 0)
			note_entry(c, &e);
	}
	call_end(c, a, err);
}

static void do_getattr(struct client *c)
{
	struct answer *a = call_begin(c, CALL_GETATTR);
	struct fuse_attr_out out;
	int err;

	a->node = draw(c, 2) ? pick_file(c) : pick_dir(c);
	err = kiln_getattr(c->kiln, a->node, &out);
	if (!err)
		show(a, &out.attr);
	call_end(c, a, err);
}

static int take_name(void *context, const struct kiln_entry *entry)
{
	struct answer *a = context;

	if (entry->name[0] == '.')
		return 0;
	if (a->name_count == NAMES)
		return 1;
	snprintf(a->names[a->name_count].name, 8, "%s", entry->name);
	a->names[a->name_count++].node = entry->ino;
	return 0;
}

static void do_readdir(struct client *c)
{
	struct answer *a = call_begin(c, CALL_READDIR);
	struct fuse_open_out open;
	uint64_t offset = 0;
	int err;

	a->dir = pick_dir(c);
	err = kiln_opendir(c->kiln, a->dir, &open);
	if (!err) {
		a->names = calloc(NAMES, sizeof(*a->names));
		assert_non_null(a->names);
		err = kiln_readdir(c->kiln, a->dir, open.fh, &offset, take_name, a);
		kiln_releasedir(c->kiln, a->dir, open.fh);
	}
	call_end(c, a, err < 0 ? err : 0);
}

static void do_getxattr(struct client *c)
{
	struct answer *a = call_begin(c, CALL_GETXATTR);
	ssize_t n;

	a->node = pick_file(c);
	n = kiln_getxattr(c->kiln, a->node, "user.a", &a->value, sizeof(a->value));
	call_end(c, a, n < 0 ? (int)n : 0);
}

static void do_mkdir(struct client *c)
{
	struct answer *a = call_begin(c, CALL_MKDIR);
	struct fuse_entry_out e;
	int err;

	a->dir = pick_dir(c);
	pick_name(c, a->name);
	err = kiln_mkdir(c->kiln, a->dir, a->name, 0700 + draw(c, 64), &e);
	if (!err) {
		show(a, &e.attr);
		note_entry(c, &e);
	}
	call_end(c, a, err);
}

static void do_link(struct client *c)
{
	struct answer *a = call_begin(c, CALL_LINK);
	struct fuse_entry_out e;
	int err;

	a->dir = pick_dir(c);
	a->node = pick_file(c);
	pick_name(c, a->name);
	err = kiln_link(c->kiln, a->node, a->dir, a->name, &e);
	if (!err)
		show(a, &e.attr);
	call_end(c, a, err);
}

static void do_unlink(struct client *c)
{
	struct answer *a = call_begin(c, CALL_UNLINK);

	a->dir = pick_dir(c);
	pick_name(c, a->name);
	call_end(c, a, kiln_unlink(c->kiln, a->dir, a->name));
}

static void do_rmdir(struct client *c)
{
	struct answer *a = call_begin(c, CALL_RMDIR);

	a->dir = pick_dir(c);
	pick_name(c, a->name);
	call_end(c, a, kiln_rmdir(c->kiln, a->dir, a->name));
}

static void do_rename(struct client *c)
{
	struct answer *a = call_begin(c, CALL_RENAME);

	a->dir = pick_dir(c);
	a->dir2 = pick_dir(c);
	pick_name(c, a->name);
	pick_name(c, a->name2);
	a->flags = draw(c, 3); /* none, NOREPLACE, EXCHANGE */
	call_end(c, a, kiln_rename2(c->kiln, a->dir, a->name, a->dir2, a->name2, a->flags));
}

static void do_setattr(struct client *c)
{
	struct answer *a = call_begin(c, CALL_SETATTR);
	struct fuse_setattr_in in = { .valid = FATTR_MODE };
	struct fuse_attr_out out;
	int err;

	a->node = draw(c, 3) ? pick_file(c) : pick_dir(c);
	in.mode = 0400 + draw(c, 128);
	err = kiln_setattr(c->kiln, a->node, &in, &out);
	if (!err)
		show(a, &out.attr);
	call_end(c, a, err);
}

static void do_setxattr(struct client *c)
{
	struct answer *a = call_begin(c, CALL_SETXATTR);

	a->node = pick_file(c);
	a->value = draw(c, 1 << 30);
	call_end(c, a, kiln_setxattr(c->kiln, a->node, "user.a", &a->value, sizeof(a->value), 0));
}

/* --- bytes ------------------------------------------------------------------------------------------------ */

static void may_be(struct own *o, unsigned chunk, uint8_t byte)
{
	o->may[chunk][byte / 64] |= 1ull << byte % 64;
}

static void may_have_size(struct own *o, size_t size)
{
	if (o->size_count == SIZES) /* forgets the oldest but the promised one */
		memmove(o->sizes + 1, o->sizes + 2, (--o->size_count - 1) * sizeof(o->sizes[0]));
	o->sizes[o->size_count++] = size;
}

/* promised: from now on nothing older may be found. */
static void promised(struct own *o)
{
	for (unsigned i = 0; i < CHUNKS; i++) {
		memset(o->may[i], 0, sizeof(o->may[i]));
		may_be(o, i, o->now[i]);
	}
	o->size_count = 0;
	may_have_size(o, o->size);
}

static void own_begin(struct own *o, uint64_t node, uint64_t fh)
{
	*o = (struct own){ .node = node, .fh = fh, .open = true };
	promised(o); /* a new file is empty, and so is what a cut leaves of it */
}

static void own_end(struct client *c, struct own *o)
{
	struct own *kept = malloc(sizeof(*kept));

	assert_non_null(kept);
	*kept = *o;
	kept->open = false;
	kept->next = c->closed;
	c->closed = kept;
	o->open = false;
}

static void do_create(struct client *c)
{
	struct own *o = &c->own[draw(c, OWN)];
	struct answer *a = call_begin(c, CALL_CREATE);
	struct kiln_created made;
	int err;

	a->dir = pick_dir(c);
	pick_name(c, a->name);
	err = kiln_create(c->kiln, a->dir, a->name, 0600, O_RDWR | O_EXCL, &made);
	if (!err)
		show(a, &made.entry.attr);
	call_end(c, a, err);
	if (err)
		return;
	note_entry(c, &made.entry);
	if (o->open) {
		kiln_release(c->kiln, o->node, o->fh, O_RDWR, 0, false);
		own_end(c, o);
	}
	own_begin(o, made.entry.nodeid, made.open.fh);
}

static struct own *pick_own(struct client *c)
{
	struct own *o = &c->own[draw(c, OWN)];

	return o->open && !o->lost ? o : NULL;
}

static void do_write(struct client *c)
{
	static const unsigned longest[] = { 2, 16, BIG };
	struct own *o = pick_own(c);
	unsigned first, count = 1 + draw(c, longest[draw(c, 3)]), end;
	uint8_t bytes[BIG * CHUNK];
	struct answer *a;
	ssize_t n;

	if (!o || o->version == 255)
		return;
	first = draw(c, 2) ? (unsigned)(o->size / CHUNK) : draw(c, CHUNKS);
	if (first + count > CHUNKS)
		first = CHUNKS - count;
	end = first + count;
	memset(bytes, ++o->version, (size_t)count * CHUNK);
	for (unsigned i = first; i < end; i++)
		may_be(o, i, o->version);
	if ((size_t)end * CHUNK > o->size)
		may_have_size(o, (size_t)end * CHUNK);
	a = call_begin(c, CALL_WRITE);
	a->node = o->node;
	n = kiln_write(c->kiln, o->node, o->fh, bytes, (size_t)count * CHUNK,
		       (uint64_t)first * CHUNK, 0);
	call_end(c, a, n < 0 ? (int)n : 0);
	o->lost = n != (ssize_t)count * CHUNK;
	if (o->lost)
		return;
	memset(o->now + first, o->version, count);
	if ((size_t)end * CHUNK > o->size)
		o->size = (size_t)end * CHUNK;
}

/* A cut that is durable leaves nothing of what was behind it. */
static void truncated(struct own *o, unsigned chunks, bool durable)
{
	for (unsigned i = chunks; i < CHUNKS; i++) {
		if (durable)
			memset(o->may[i], 0, sizeof(o->may[i]));
		may_be(o, i, 0);
		o->now[i] = 0;
	}
	if (durable)
		o->size_count = 0;
	may_have_size(o, (size_t)chunks * CHUNK);
	o->size = (size_t)chunks * CHUNK;
}

static void do_truncate(struct client *c)
{
	struct own *o = pick_own(c);
	struct fuse_setattr_in in = { .valid = FATTR_SIZE };
	struct fuse_attr_out out;
	unsigned chunks = draw(c, 4) ? draw(c, CHUNKS) : 0;
	struct answer *a;
	int err;

	if (!o)
		return;
	in.size = (uint64_t)chunks * CHUNK;
	for (unsigned i = chunks; i < CHUNKS; i++)
		may_be(o, i, 0);
	may_have_size(o, in.size);
	a = call_begin(c, CALL_TRUNCATE);
	a->node = o->node;
	err = kiln_setattr(c->kiln, o->node, &in, &out);
	call_end(c, a, err);
	o->lost = err != 0;
	if (!err)
		truncated(o, chunks, c->world->op);
}

/* fsync, and on an `op` volume close, which flush stands for here. */
static void do_sync(struct client *c)
{
	struct own *o = pick_own(c);
	struct answer *a;
	int err;

	if (!o)
		return;
	a = call_begin(c, CALL_FSYNC);
	a->node = o->node;
	if (c->world->op && draw(c, 2))
		err = kiln_flush(c->kiln, o->node, o->fh, 1);
	else
		err = kiln_fsync(c->kiln, o->node, o->fh, draw(c, 2));
	call_end(c, a, err);
	if (!err)
		promised(o);
}

static void broken(struct run *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void broken(struct run *r, const char *format, ...)
{
	va_list args;

	lock_guard(&r->lock);
	va_start(args, format);
	if (!r->why[0])
		vsnprintf(r->why, sizeof(r->why), format, args);
	va_end(args);
}

/* Whoever writes sees it at once, whatever is durable. */
static void do_read(struct client *c)
{
	struct own *o = pick_own(c);
	uint8_t bytes[CHUNKS * CHUNK + 1];
	struct fuse_attr_out out;
	ssize_t n;

	if (!o)
		return;
	n = kiln_read(c->kiln, o->node, o->fh, bytes, sizeof(bytes), 0);
	if (n != (ssize_t)o->size)
		broken(c->run, "%s: read of %lu: %zd instead of %zu", c->world->volume,
		       (unsigned long)o->node, n, o->size);
	for (ssize_t i = 0; i < n; i++)
		if (bytes[i] != o->now[i / CHUNK]) {
			broken(c->run, "%s: file %lu has %u at %zd instead of %u", c->world->volume,
			       (unsigned long)o->node, bytes[i], i, o->now[i / CHUNK]);
			return;
		}
	if (!c->world->op || kiln_getattr(c->kiln, o->node, &out) != 0)
		return;
	if (out.attr.size != o->size)
		broken(c->run, "%s: getattr of %lu shows %lu bytes instead of %zu",
		       c->world->volume, (unsigned long)o->node, (unsigned long)out.attr.size,
		       o->size);
}

/* --- a client's life ------------------------------------------------------------------------------------------ */

static const struct {
	void (*run)(struct client *c);
	unsigned share;
} deeds[] = {
	{ do_lookup, 14 }, { do_getattr, 8 }, { do_readdir, 6 }, { do_getxattr, 3 },
	{ do_create, 14 }, { do_mkdir, 6 },   { do_link, 5 },    { do_unlink, 12 },
	{ do_rmdir, 5 },   { do_rename, 7 },  { do_setattr, 4 }, { do_setxattr, 3 },
	{ do_write, 10 },  { do_truncate, 3 }, { do_sync, 4 },   { do_read, 4 },
};

static void do_one(struct client *c)
{
	unsigned all = 0, at;

	for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++)
		all += deeds[i].share;
	at = draw(c, all);
	for (size_t i = 0;; i++) {
		if (at < deeds[i].share) {
			deeds[i].run(c);
			return;
		}
		at -= deeds[i].share;
	}
}

static void pull(struct run *r)
{
	embed_pull(r->embed);
	lock_guard(&r->lock);
	__atomic_store_n(&r->pulled, true, __ATOMIC_RELEASE);
	cond_broadcast(&r->changed);
}

static void *live(void *context)
{
	struct client *c = context;
	struct run *r = c->run;

	while (!c->ended && c->after < CALLS_AFTER) {
		do_one(c);
		if (__atomic_add_fetch(&r->calls, 1, __ATOMIC_RELAXED) == r->pull_at)
			pull(r);
		c->after += __atomic_load_n(&r->pulled, __ATOMIC_ACQUIRE);
	}
	lock_guard(&r->lock);
	r->working--;
	cond_broadcast(&r->changed);
	return NULL;
}

/* --- a run ------------------------------------------------------------------------------------------------------ */

static void client_begin(struct run *r, unsigned i)
{
	struct client *c = &r->clients[i];

	c->run = r;
	c->world = &r->worlds[i / CLIENTS];
	c->id = i % CLIENTS;
	c->random = (r->seed + i + 1) * 0x9e3779b97f4a7c15;
	c->kiln = embed_connect(r->embed, c->world->volume, i + 1);
	do_mkdir(c); /* behind it the client's record is there, so clients are known by their order */
}

static void client_end(struct client *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->answers[i].names);
	free(c->answers);
	while (c->closed) {
		struct own *o = c->closed;

		c->closed = o->next;
		free(o);
	}
}

static void work(struct run *r)
{
	uint64_t until;

	r->working = VOLUMES * CLIENTS;
	for (unsigned i = 0; i < VOLUMES * CLIENTS; i++)
		assert_int_equal(pthread_create(&r->clients[i].thread, NULL, live, &r->clients[i]),
				 0);
	lock_take(&r->lock);
	while (!r->pulled && r->working)
		cond_wait(&r->changed, &r->lock);
	until = clock_mono() + MEANWHILE_MS * NS_PER_MS;
	while (r->working && cond_wait_until(&r->changed, &r->lock, until))
		;
	lock_give(&r->lock);
	embed_fail(r->embed); /* lets those go who wait for what will never be durable */
	for (unsigned i = 0; i < VOLUMES * CLIENTS; i++) {
		pthread_join(r->clients[i].thread, NULL);
		kiln_close(r->clients[i].kiln);
	}
}

static int by_sent(const void *x, const void *y)
{
	const struct answer *a = x, *b = y;

	return (a->sent > b->sent) - (a->sent < b->sent);
}

static size_t explained, excused, combined, runs;

static void judge_world(struct run *r, unsigned at, struct store *store)
{
	struct judge j = { .plug = r->embed->plug, .kv = store_kv(store),
			   .t = txn_reader_new(store), .op = r->worlds[at].op,
			   .brick = r->worlds[at].brick };
	size_t room = 0;

	for (unsigned i = 0; i < CLIENTS; i++)
		room += r->clients[at * CLIENTS + i].count;
	j.answers = calloc(room + 1, sizeof(*j.answers));
	assert_non_null(j.answers);
	for (unsigned i = 0; i < CLIENTS; i++) {
		const struct client *c = &r->clients[at * CLIENTS + i];

		if (c->count)
			memcpy(j.answers + j.count, c->answers, c->count * sizeof(*c->answers));
		j.count += c->count;
	}
	qsort(j.answers, j.count, sizeof(*j.answers), by_sent);
	if (judge_run(&j))
		broken(r, "%s: %s", r->worlds[at].volume, j.why);
	explained += j.explained;
	excused += j.excused;
	combined += j.combined;
	free(j.answers);
	txn_free(j.t);
}

struct finding {
	struct run *run;
	const char *volume;
	uint64_t index;
};

static void found_broken(void *context, const char *text)
{
	const struct finding *f = context;

	broken(f->run, "%s, state %lu: %s", f->volume, (unsigned long)f->index, text);
}

static void check_state(struct run *r, struct store *store, uint64_t index)
{
	struct kv_view *view = plug_view(store_kv(store), index);
	struct txn *t = txn_reader_new(store);
	struct finding finding = { .run = r, .index = index };
	struct check c = { .told = found_broken, .context = &finding };

	txn_may_block(t, true);
	for (unsigned i = 0; i < VOLUMES; i++) {
		finding.volume = r->worlds[i].volume;
		txn_look(t, r->worlds[i].brick, view);
		if (check_brick(t, &c))
			broken(r, "%s, state %lu cannot be read", finding.volume,
			       (unsigned long)index);
	}
	txn_free(t);
	kv_view_free(store_kv(store), view);
}

/* judge_all: returns the state that the power cut leaves. */
static uint64_t judge_all(struct run *r)
{
	uint64_t synced = plug_synced(r->embed->plug), applied = plug_applied(r->embed->plug);
	uint64_t random = r->seed | 1, left;
	struct store *store;

	plug_jitter(r->embed->plug, 0);
	store = embed_store(r->embed);
	draw_from(&random);
	left = random & 256 ? synced : synced + (random >> 16) % (applied - synced + 1);
	for (unsigned i = 0; i < VOLUMES; i++)
		judge_world(r, i, store);
	check_state(r, store, left);
	for (int i = 0; i < 4; i++)
		check_state(r, store, 1 + (draw_from(&random) >> 16) % applied);
	store_close(store);
	return left;
}

/* --- after the power cut -------------------------------------------------------------------------------------------- */

static bool size_allowed(const struct own *o, uint64_t size)
{
	for (size_t i = 0; i < o->size_count; i++)
		if (o->sizes[i] == size)
			return true;
	return false;
}

static void check_bytes(struct client *c, struct kiln *k, const struct own *o)
{
	uint8_t bytes[CHUNKS * CHUNK + 1];
	struct fuse_attr_out attr;
	struct fuse_open_out open;
	ssize_t n;

	if (!o->node || kiln_getattr(k, o->node, &attr) != 0 || attr.attr.nlink == 0 ||
	    kiln_open(k, o->node, O_RDONLY, &open) != 0)
		return; /* whether it should be there has been judged */
	if (!size_allowed(o, attr.attr.size))
		broken(c->run, "%s: after the cut file %lu has %lu bytes (promised %zu)",
		       c->world->volume, (unsigned long)o->node, (unsigned long)attr.attr.size,
		       o->sizes[0]);
	n = kiln_read(k, o->node, open.fh, bytes, sizeof(bytes), 0);
	if (n != (ssize_t)attr.attr.size)
		broken(c->run, "%s: after the cut %zd bytes are read of file %lu",
		       c->world->volume, n, (unsigned long)o->node);
	for (ssize_t i = 0; i < n; i++)
		if (!(o->may[i / CHUNK][bytes[i] / 64] >> bytes[i] % 64 & 1)) {
			broken(c->run, "%s: after the cut file %lu has %u at %zd (was %u)",
			       c->world->volume, (unsigned long)o->node, bytes[i], i,
			       o->now[i / CHUNK]);
			break;
		}
	kiln_release(k, o->node, open.fh, O_RDONLY, 0, false);
}

static void check_client(struct client *c)
{
	struct kiln *k = embed_connect(c->run->embed, c->world->volume, 100);

	for (unsigned i = 0; i < OWN; i++)
		check_bytes(c, k, &c->own[i]);
	for (const struct own *o = c->closed; o; o = o->next)
		check_bytes(c, k, o);
	kiln_close(k);
}

/* The volumes are in use again, and stop in good order. */
static void check_life(struct run *r)
{
	struct store *store;

	embed_start(r->embed);
	for (unsigned i = 0; i < VOLUMES * CLIENTS; i++)
		check_client(&r->clients[i]);
	for (unsigned i = 0; i < VOLUMES; i++) {
		struct kiln *k = embed_connect(r->embed, r->worlds[i].volume, 100);
		struct fuse_entry_out e;

		if (kiln_mkdir(k, KILN_ROOT, "afterwards", 0755, &e) != 0)
			broken(r, "%s takes no changes after the cut", r->worlds[i].volume);
		kiln_close(k);
	}
	embed_stop(r->embed);
	store = embed_store(r->embed);
	check_state(r, store, plug_applied(r->embed->plug));
	store_close(store);
}

static void run_begin(struct run *r, uint64_t seed)
{
	static const char *const names[VOLUMES] = { "op", "fsync" };
	uint64_t random = seed | 1;

	r->seed = seed;
	lock_init(&r->lock, LOCK_RANK_LEAF, "run");
	cond_init(&r->changed);
	r->embed = embed_new();
	r->embed->commit.interval_ns = 20 * NS_PER_MS;
	draw_from(&random);
	r->pull_at = CALLS_MIN + (unsigned)((random >> 16) % CALLS_MORE);
	embed_start(r->embed);
	for (unsigned i = 0; i < VOLUMES; i++) {
		struct world *w = &r->worlds[i];

		w->op = i == 0;
		w->volume = names[i];
		embed_volume(r->embed, names[i], w->op ? DURABILITY_OP : DURABILITY_FSYNC);
		w->brick = embed_brick(r->embed, names[i]);
		node_add(w->dirs, &w->dir_count, KILN_ROOT);
	}
	for (unsigned i = 0; i < VOLUMES * CLIENTS; i++)
		client_begin(r, i);
	plug_jitter(r->embed->plug, seed | 1);
}

static bool run_one(uint64_t seed)
{
	struct run *r = calloc(1, sizeof(*r));
	bool ok;

	assert_non_null(r);
	run_begin(r, seed);
	work(r);
	embed_stop(r->embed);
	embed_cut(r->embed, judge_all(r));
	check_life(r);
	ok = !r->why[0];
	if (!ok)
		print_error("%s\nrepeat with KILN_POWERCUT_SEED=%llu\n", r->why,
			    (unsigned long long)seed);
	for (unsigned i = 0; i < VOLUMES * CLIENTS; i++)
		client_end(&r->clients[i]);
	embed_free(r->embed);
	cond_destroy(&r->changed);
	lock_destroy(&r->lock);
	free(r);
	runs++;
	return ok;
}

static void answers_outlive_the_power(void **state)
{
	const char *seconds = getenv("KILN_POWERCUT_SECONDS"), *one = getenv("KILN_POWERCUT_SEED");
	uint64_t seed, until;

	until = clock_mono() + (seconds ? strtoull(seconds, NULL, 10) : DEFAULT_SECONDS) * NS_PER_S;
	if (one) {
		assert_true(run_one(strtoull(one, NULL, 10)));
		return;
	}
	assert_int_equal(getrandom(&seed, sizeof(seed), 0), sizeof(seed));
	do
		assert_true(run_one(seed++));
	while (clock_mono() < until);
	print_message("%zu power cuts; %zu answers explained by a state, %zu by one inside a batch; "
		      "%zu batches of several changes\n", runs, explained, excused, combined);
}

/* A power cut is no news here. */
static void hush(enum log_level level, const char *text)
{
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(answers_outlive_the_power) };

	log_sink_set(hush);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

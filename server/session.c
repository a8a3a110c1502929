/* Happy path: session_hello judges a hello, finds or makes the session, answers; connections
 * come and go; session_end when the client unmounts, or has been away for session_timeout.
 *
 * A session stays in its volume's list until it ends; the list holds one reference, each
 * connection and each request under way another. */
#include "server/session.h"

#include "base/clock.h"
#include "base/log.h"
#include "server/conn.h"
#include "server/dispatch.h"
#include "server/locktable.h"
#include "server/openfile.h"
#include "server/schedule.h"
#include "server/volume_inner.h"
#include "server/volumes.h"
#include "server/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SLOT_OVERFLOW = 1024 }; /* slots above are chosen by `unique`, when all are taken */

void session_get(struct session *s)
{
	__atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
}

void session_put(struct session *s)
{
	if (__atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	volume_put(s->volume);
	free(s->counted);
	free(s);
}

struct volume *session_volume(struct session *s)
{
	return s->volume;
}

uint64_t session_client(const struct session *s)
{
	return s->client;
}

bool session_dead(const struct session *s)
{
	return __atomic_load_n(&s->dead, __ATOMIC_RELAXED);
}

bool session_init_done(const struct session *s)
{
	return __atomic_load_n(&s->init_done, __ATOMIC_ACQUIRE);
}

/* --- making and ending ------------------------------------------------------------------------- */

static struct session *session_new(struct volume *v, uint64_t client, uint64_t secret,
				   unsigned kind, const char *host)
{
	struct session *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->refs = 1;
	volume_get(v);
	s->volume = v;
	s->server = v->server;
	s->client = client;
	s->secret = secret;
	s->kind = kind;
	s->away_since_ns = clock_mono();
	s->marker = OPENFILE_NONE;
	snprintf(s->host, sizeof s->host, "%s", host);
	return s;
}

static void session_link(struct session *s)
{
	s->next = s->volume->sessions;
	s->volume->sessions = s;
	s->volume->session_count++;
	if (s->recovered)
		s->volume->recovered++;
}

int session_restore(struct volume *v, const struct client_record *r)
{
	struct session *s = session_new(v, r->client, r->secret, r->kind, r->host);

	if (!s)
		return -KILN_ENOMEM;
	s->recovered = true;
	s->minor = r->minor;
	s->init_flags = r->init_flags;
	s->max_write = r->max_write;
	s->max_readahead = r->max_readahead;
	s->init_done = true;
	lock_guard(&v->lock);
	session_link(s);
	return 0;
}

int session_record(struct session *s)
{
	struct request *put = request_internal(s->volume, &op_row_client_put, 0);

	if (!put)
		return -KILN_ENOMEM;
	put->session = s;
	session_get(s);
	schedule_internal(put);
	return 0;
}

/* False if it has ended already. */
static bool session_unlink(struct session *s)
{
	struct volume *v = s->volume;
	struct session **link = &v->sessions;
	struct conn *conn = NULL;
	bool found;

	lock_take(&v->lock);
	while (*link && *link != s)
		link = &(*link)->next;
	found = *link;
	if (found) {
		*link = s->next;
		v->session_count--;
		if (s->recovered)
			v->recovered--;
		__atomic_store_n(&s->dead, true, __ATOMIC_RELAXED);
		conn = s->conn;
		s->conn = NULL;
		if (conn)
			conn_get(conn);
	}
	lock_give(&v->lock);
	if (conn) {
		conn_kill(conn);
		conn_put(conn);
	}
	return found;
}

void session_end(struct session *s)
{
	struct request *req;

	if (!session_unlink(s))
		return;
	log_info("client %016lx (%s) has left brick %u", (unsigned long)s->client, s->host,
		 volume_brick(s->volume));
	locktable_drop_session(volume_locks(s->volume), s);
	opens_drop_session(s);
	req = request_internal(s->volume, &op_row_client_end, 0);
	if (req) {
		req->session = s; /* the list's reference goes with it */
		schedule_internal(req);
	} else {
		log_error("client %016lx: no memory to remove its records; the next start will",
			  (unsigned long)s->client);
		session_put(s);
	}
}

/* --- connections ----------------------------------------------------------------------------------- */

void session_connected(struct session *s, struct conn *c)
{
	struct conn *old;

	lock_take(&s->volume->lock);
	if (session_dead(s)) {
		old = c; /* it has ended just now: the client has to say hello once more */
	} else {
		old = s->conn;
		s->conn = c;
	}
	if (old)
		conn_get(old);
	lock_give(&s->volume->lock);
	if (old) {
		conn_kill(old);
		conn_put(old);
	}
}

void session_disconnected(struct session *s, struct conn *c, bool unmounted)
{
	bool current;

	lock_take(&s->volume->lock);
	current = s->conn == c;
	if (current) {
		s->conn = NULL;
		s->away_since_ns = clock_mono();
	}
	lock_give(&s->volume->lock);
	if (unmounted)
		session_end(s);
	else if (current)
		log_info("client %016lx (%s) is away", (unsigned long)s->client, s->host);
}

struct tick {
	struct session *late[64];
	unsigned count;
	uint64_t timeout_ns;
};

/* The clock is read under the lock: a session that comes or goes meanwhile is not older than now. */
static void tick_volume(void *context, struct volume *v)
{
	struct tick *t = context;
	uint64_t now;

	lock_guard(&v->lock);
	now = clock_mono();
	for (struct session *s = v->sessions; s && t->count < 64; s = s->next) {
		if (s->conn || now - s->away_since_ns < t->timeout_ns)
			continue;
		session_get(s);
		t->late[t->count++] = s;
	}
}

void session_tick(struct server *server)
{
	struct tick t = { .timeout_ns = server->options.session_timeout_ns };

	volumes_each(server->volumes, tick_volume, &t);
	for (unsigned i = 0; i < t.count; i++) {
		log_warn("client %016lx (%s) has been away too long: its open files and locks are gone",
			 (unsigned long)t.late[i]->client, t.late[i]->host);
		session_end(t.late[i]);
		session_put(t.late[i]);
	}
}

/* --- hello ------------------------------------------------------------------------------------------ */

struct verdict {
	struct hello_reply reply;
	struct session *session;
};

#define GONE_TEXT "the volume has been deleted"

static int refuse(struct verdict *verdict, int eno, const char *text)
{
	verdict->reply.error = eno;
	snprintf(verdict->reply.text, sizeof verdict->reply.text, "%s", text);
	return -1;
}

/* The name is the peer's own word and goes back to it alone. */
static int refuse_unknown(struct verdict *verdict, const char *volume)
{
	verdict->reply.error = ENOENT;
	snprintf(verdict->reply.text, sizeof verdict->reply.text,
		 "there is no volume '%.*s'; 'kiln volume list' shows those there are",
		 VOLUME_NAME_MAX, volume);
	return -1;
}

static int hello_check(const struct hello *h, uint32_t peer_uid, struct verdict *verdict)
{
	if (h->magic != HELLO_MAGIC)
		return refuse(verdict, EPROTO, "the client's byte order differs from the server's");
	if (h->version != HELLO_VERSION)
		return refuse(verdict, EPROTO, "the server speaks version 1 of the protocol; use a "
					       "client of the server's version");
	if (!memchr(h->volume, 0, sizeof h->volume) || !memchr(h->host, 0, sizeof h->host) ||
	    h->client == 0)
		return refuse(verdict, EPROTO, "the hello is malformed");
	if (h->kind != HELLO_FUSE_FD && h->kind != HELLO_RELAY && h->kind != HELLO_LIBRARY)
		return refuse(verdict, EPROTO, "the server does not know this kind of client");
	if (h->kind == HELLO_FUSE_FD && peer_uid == UINT32_MAX)
		return refuse(verdict, EPROTO, "a descriptor can be handed over on a Unix socket only");
	if (h->kind != HELLO_FUSE_FD && (h->slots == 0 || h->slots > HELLO_SLOTS_MAX))
		return refuse(verdict, EPROTO, "the number of slots must be 1 to 1024");
	return 0;
}

/* Permissions inside a volume are checked by the client's kernel, so whoever may say anything to
 * the server owns the volume: root, the server's own user, the owner of the volume's root
 * directory.  Over TCP nobody is known, which is why TCP is for loopback until keys exist. */
static bool may_use(struct volume *v, struct worker *w, uint32_t uid)
{
	struct inode root;

	if (uid == 0 || uid == UINT32_MAX || uid == geteuid())
		return true;
	txn_look(w->reader, volume_brick(v), NULL);
	return inode_get(w->reader, ROOT_HANDLE, &root) == 0 && root.uid == uid;
}

static int reserve_slot(void *context, uint32_t slot, const struct reply_record *r)
{
	struct session *s = context;

	(void)r;
	if (slot < SESSION_SLOT_WORDS * 64) {
		s->reserved[slot / 64] |= 1ull << slot % 64;
		s->has_reserved = true;
	}
	return 0;
}

static struct session *find_locked(struct volume *v, uint64_t client)
{
	struct session *s = v->sessions;

	while (s && s->client != client)
		s = s->next;
	if (s)
		session_get(s);
	return s;
}

/* Puts s into its volume's list.  Returns it, or the one that another hello of the same client has
 * put there meanwhile, with a reference; NULL if the volume has been deleted meanwhile. */
static struct session *link_new(struct session *s)
{
	struct session *there;

	lock_guard(&s->volume->lock);
	if (s->volume->retired)
		return NULL;
	there = find_locked(s->volume, s->client);
	if (there)
		return there;
	session_get(s);
	session_link(s);
	return s;
}

/* NULL: refused. */
static struct session *make_session(struct volume *v, const struct hello *h,
				    struct verdict *verdict)
{
	struct session *s = session_new(v, h->client, h->secret, h->kind, h->host), *linked;

	if (!s) {
		refuse(verdict, ENOMEM, "the server is out of memory");
		return NULL;
	}
	if (h->flags & HELLO_RESUME) {
		/* not known here (expired, or the volume's records were lost): its INIT is over all
		 * the same, and what every kernel that can come back speaks is known; no INIT will
		 * have it recorded, so that is done here */
		s->minor = FUSE_KERNEL_MINOR_VERSION;
		s->max_write = WIRE_WRITE_MAX;
		s->init_done = true;
		s->recovered = true; /* so is not what it has open */
	} else {
		opens_mark(s);
	}
	linked = link_new(s);
	if (linked == s) {
		if (h->flags & HELLO_RESUME && session_record(s) != 0)
			log_error("client %016lx: no memory for its record; the next start will "
				  "not know it", (unsigned long)s->client);
		return s;
	}
	openfile_free(v->server->openfile, s->marker);
	session_put(s);
	if (!linked)
		refuse(verdict, ENOENT, GONE_TEXT);
	return linked;
}

static struct session *find_session(struct volume *v, uint64_t client)
{
	lock_guard(&v->lock);
	return find_locked(v, client);
}

static int slots_make(struct session *s, const struct hello *h)
{
	lock_guard(&s->volume->lock); /* two hellos of one client at once */
	if (h->kind == HELLO_FUSE_FD || s->counted)
		return 0;
	s->counted = calloc(h->slots, sizeof *s->counted);
	s->slot_count = h->slots;
	return s->counted ? 0 : -KILN_ENOMEM;
}

static int hello_session(struct volume *v, struct worker *w, const struct hello *h,
			 struct verdict *verdict)
{
	struct session *s = find_session(v, h->client);

	if (s)
		verdict->reply.flags |= HELLO_RESUME;
	else
		s = make_session(v, h, verdict);
	if (!s)
		return -1;
	if (s->secret != h->secret) {
		session_put(s);
		return refuse(verdict, EPERM, "another client has this identity");
	}
	if (s->kind != h->kind) {
		session_put(s);
		return refuse(verdict, EPROTO, "a client cannot change its kind of connection");
	}
	if (slots_make(s, h) != 0) {
		session_put(s);
		return refuse(verdict, ENOMEM, "the server is out of memory");
	}
	txn_look(w->reader, volume_brick(v), NULL);
	if (h->kind == HELLO_FUSE_FD && (h->flags & HELLO_RESUME) &&
	    reply_each(w->reader, s->client, reserve_slot, s) != 0)
		log_warn("client %016lx: its reply records cannot be read",
			 (unsigned long)s->client);
	verdict->session = s;
	return 0;
}

/* A client that comes back means the volume it had, whatever that or another is called now. */
static int hello_find(struct worker *w, const struct hello *h, struct verdict *verdict,
		      struct volume **v)
{
	static const uint8_t none[sizeof h->volume_id];
	bool by_id = h->flags & HELLO_RESUME && memcmp(h->volume_id, none, sizeof none);

	if (by_id && volumes_find_id(w->server->volumes, h->volume_id, v) != 0)
		return refuse(verdict, ENOENT, GONE_TEXT);
	if (!by_id && volumes_find(w->server->volumes, h->volume, v) != 0)
		return refuse_unknown(verdict, h->volume);
	return 0;
}

static void hello_judge(struct worker *w, const struct hello *h, uint32_t peer_uid,
			struct verdict *verdict)
{
	struct volume_record record;
	struct volume *v;
	int err;

	if (hello_check(h, peer_uid, verdict) != 0)
		return;
	if (hello_find(w, h, verdict, &v) != 0)
		return;
	volume_record(v, &record);
	memcpy(verdict->reply.volume_id, record.uuid, sizeof verdict->reply.volume_id);
	err = volume_load(v, w);
	if (err)
		refuse(verdict, err_errno(err), err_text(err));
	else if (!may_use(v, w, peer_uid))
		refuse(verdict, EACCES, "only root, the server's user and the owner of the volume's "
					"root directory may use it");
	else if (hello_session(v, w, h, verdict) == 0 && volume_read_only(v))
		verdict->reply.flags |= HELLO_READ_ONLY;
	volumes_put(w->server->volumes, v);
}

void session_hello(struct worker *w, struct request *req)
{
	const struct hello *h = req->buffer;
	struct verdict verdict = { .reply = { .magic = HELLO_MAGIC, .version = HELLO_VERSION } };

	verdict.reply.session_timeout_ns = w->server->options.session_timeout_ns;
	hello_judge(w, h, conn_peer_uid(req->conn), &verdict);
	if (verdict.session) {
		log_info("client %016lx (%s) %s volume %s", (unsigned long)h->client, h->host,
			 verdict.reply.flags & HELLO_RESUME ? "is back on" : "has come to", h->volume);
		if (h->kind != HELLO_FUSE_FD)
			session_connected(verdict.session, req->conn);
	} else {
		log_info("hello for volume %s refused: %s",
			 memchr(h->volume, 0, sizeof h->volume) ? h->volume : "?",
			 verdict.reply.text);
	}
	conn_hello_done(req->conn, &verdict.reply, verdict.session, h->kind);
	if (verdict.session)
		session_put(verdict.session);
	request_free(req);
}

/* --- requests ------------------------------------------------------------------------------------------ */

/* The kernel sends what it has to send again before anything new. */
static void release_reserved(struct session *s)
{
	for (unsigned i = 0; i < SESSION_SLOT_WORDS; i++)
		__atomic_store_n(&s->reserved[i], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&s->has_reserved, false, __ATOMIC_RELAXED);
}

int session_admit(struct session *s, struct request *req)
{
	bool done = session_init_done(s);
	unsigned flags = req->op->flags;

	/* INIT may come again: a server that ended between reading and answering it leaves a client
	 * that comes back with it unanswered. */
	if (!done && req->in.opcode != FUSE_INIT && req->in.opcode != FUSE_DESTROY)
		return -KILN_EBADMSG;
	if (s->kind == HELLO_FUSE_FD) {
		req->slot = SLOT_NONE;
		if (!req->resent && __atomic_load_n(&s->has_reserved, __ATOMIC_RELAXED))
			release_reserved(s);
		return 0;
	}
	if (!(flags & (OP_RECORDED | OP_COUNTED)))
		req->slot = SLOT_NONE;
	else if (req->slot >= s->slot_count)
		return -KILN_EBADMSG;
	return 0;
}

bool session_counted_before(struct session *s, const struct request *req)
{
	bool before;

	if (!s->counted || req->slot >= s->slot_count)
		return false;
	before = req->resent && s->counted[req->slot] == req->in.unique;
	s->counted[req->slot] = req->in.unique;
	return before;
}

uint32_t session_slot_take(struct session *s, uint64_t unique)
{
	for (unsigned i = 0; i < SESSION_SLOT_WORDS; i++) {
		uint64_t taken = __atomic_load_n(&s->slots[i], __ATOMIC_RELAXED);
		uint64_t avoid = __atomic_load_n(&s->reserved[i], __ATOMIC_RELAXED);

		while (~(taken | avoid)) {
			unsigned bit = (unsigned)__builtin_ctzll(~(taken | avoid));

			if (__atomic_compare_exchange_n(&s->slots[i], &taken, taken | 1ull << bit,
							true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
				return i * 64 + bit;
		}
	}
	/* a thousand answers on their way at once: `unique` counts up, so these slots are each
	 * other's in 65,536 requests at the earliest */
	return SLOT_OVERFLOW + (uint32_t)(unique / 2 % 65536);
}

void session_slot_give(struct session *s, uint32_t slot)
{
	if (s->kind == HELLO_FUSE_FD && slot < SESSION_SLOT_WORDS * 64)
		__atomic_and_fetch(&s->slots[slot / 64], ~(1ull << slot % 64), __ATOMIC_RELAXED);
}

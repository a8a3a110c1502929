/* Happy path, /dev/fuse: fuse_ready reads a message, message_in checks and schedules it.
 * A stream: stream_ready reads what has come, cuts it into messages, keeps a partial one.
 * Failures: nonsense, or the other end gone: conn_end, once, on the loop's thread. */
#include "server/conn.h"

#include "base/clock.h"
#include "base/hello.h"
#include "base/lock.h"
#include "base/log.h"
#include "server/dispatch.h"
#include "server/pool.h"
#include "server/schedule.h"
#include "server/server.h"
#include "server/session.h"
#include "server/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	BATCH_MAX = 32,            /* messages of one connection before others get a turn */
	OUT_MAX = 16 << 20,        /* unsent bytes after which a client that does not read is
	                              read from no more, until it has half of that */
	REFS_MAX = 2 * HELLO_SLOTS_MAX, /* each unanswered request holds one */
	CORK_MAX = 16384,          /* larger replies are not gathered */
	HELLO_SECONDS = 10,
	FUSE_MAJOR = 10, FUSE_DEV_MINOR = 229, /* Documentation/admin-guide/devices.txt */
	FUSE_NOTIFY_RESEND_CODE = 7, /* since Linux 6.9; Debian 12's header lacks it */
};

enum conn_kind { CONN_NEW, CONN_HELLO, CONN_STREAM, CONN_COMPANION, CONN_FUSE };

struct conn {
	struct source source;
	struct server *server;
	struct loop *loop;
	int fd;
	unsigned refs;             /* atomic; the loop's registration holds one */
	enum conn_kind kind;       /* atomic: kind_of, kind_set */
	uint32_t peer_uid;
	struct session *session;   /* a reference; set before the first message */
	struct conn *companion;    /* of a handed-over descriptor: a reference; never changes */
	uint64_t since_ns;
	struct conn *next, **link; /* [conns.lock] list of all */

	/* loop thread */
	uint8_t *partial;          /* a message not yet whole, or several (backlog) */
	size_t partial_len, partial_cap;
	bool backlog;              /* it holds whole ones, left there while throttled */

	struct lock lock;          /* CONN */
	uint8_t *out;              /* [lock] not yet sent */
	size_t out_len, out_cap, out_sent;
	size_t owed;               /* [lock] bytes of replies that a pool is working at */
	unsigned corked;           /* [lock] replies are gathered until the batch ends */
	bool dead;                 /* [lock] nothing is written any more */
	bool killed;               /* [lock] to be closed */
	bool throttled;            /* [lock] not read from until out has drained; loop: atomic */
	uint32_t watched;          /* [lock] events that the loop looks for */
};

static struct {
	pthread_mutex_t mutex; /* a leaf that calls nothing */
	struct conn *first;
} conns = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static void conn_ready(struct source *s, struct worker *w, uint32_t events);

/* --- life ----------------------------------------------------------------------------------- */

static enum conn_kind kind_of(const struct conn *c)
{
	return __atomic_load_n(&c->kind, __ATOMIC_ACQUIRE);
}

static void kind_set(struct conn *c, enum conn_kind kind)
{
	__atomic_store_n(&c->kind, kind, __ATOMIC_RELEASE);
}

static struct conn *conn_new(struct server *server, struct loop *loop, int fd, uint32_t peer_uid,
			     enum conn_kind kind)
{
	struct conn *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->source.ready = conn_ready;
	c->server = server;
	c->loop = loop;
	c->fd = fd;
	c->refs = 1;
	kind_set(c, kind);
	c->watched = EPOLLIN;
	c->peer_uid = peer_uid;
	c->since_ns = clock_mono();
	lock_init(&c->lock, LOCK_RANK_CONN, "conn");
	pthread_mutex_lock(&conns.mutex);
	c->next = conns.first;
	c->link = &conns.first;
	if (c->next)
		c->next->link = &c->next;
	conns.first = c;
	pthread_mutex_unlock(&conns.mutex);
	return c;
}

void conn_get(struct conn *c)
{
	__atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
}

void conn_put(struct conn *c)
{
	if (__atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	pthread_mutex_lock(&conns.mutex);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	pthread_mutex_unlock(&conns.mutex);
	if (c->session)
		session_put(c->session);
	if (c->companion)
		conn_put(c->companion);
	close(c->fd);
	free(c->partial);
	free(c->out);
	lock_destroy(&c->lock);
	free(c);
}

struct loop *conn_loop(struct conn *c)
{
	return c->loop;
}

uint32_t conn_peer_uid(const struct conn *c)
{
	return c->peer_uid;
}

static bool conn_set_dead(struct conn *c)
{
	bool was;

	lock_guard(&c->lock);
	was = c->dead;
	c->dead = true;
	return was;
}

/* On the loop's thread.  unmounted: the kernel's side is gone for good. */
static void conn_end(struct conn *c, bool unmounted)
{
	if (conn_set_dead(c))
		return;
	loop_remove(c->loop, c->fd, &c->source);
	if (kind_of(c) == CONN_STREAM || kind_of(c) == CONN_FUSE)
		session_disconnected(c->session, c, unmounted);
	/* The client waits on its companion alone, for an unmount as for a restart. */
	if (c->companion)
		conn_kill(c->companion);
	conn_put(c);
}

static void run_end(struct worker *w, struct request *req)
{
	(void)w;
	conn_end(req->conn, false);
	request_free(req);
}

void conn_kill(struct conn *c)
{
	struct request *req;
	bool was;

	lock_take(&c->lock);
	was = c->killed || c->dead;
	c->killed = true;
	lock_give(&c->lock);
	if (was)
		return;
	req = request_new(NULL, NULL, c);
	if (req) {
		req->run = run_end;
		loop_post(c->loop, req);
	} else {
		shutdown(c->fd, SHUT_RDWR); /* its loop will see the end of the stream */
	}
}

/* --- replies --------------------------------------------------------------------------------- */

/* With the lock held.  A backlog that may go on is seen as soon as the loop looks again. */
static void rewatch(struct conn *c)
{
	bool reads = !c->throttled && kind_of(c) != CONN_HELLO;
	uint32_t events = reads ? EPOLLIN : 0;

	if (c->out_len > c->out_sent || (reads && c->backlog))
		events |= EPOLLOUT;
	if (events != c->watched)
		loop_watch(c->loop, c->fd, &c->source, events);
	c->watched = events;
}

static bool out_reserve(struct conn *c, size_t more)
{
	size_t cap = c->out_cap ? c->out_cap : 4096;
	uint8_t *bigger;

	while (cap < c->out_len + more)
		cap *= 2;
	if (cap == c->out_cap)
		return true;
	bigger = realloc(c->out, cap);
	if (!bigger)
		return false;
	c->out = bigger;
	c->out_cap = cap;
	return true;
}

/* Appends what is left of iov after `skip` bytes. */
static bool out_append(struct conn *c, const struct iovec *iov, int count, size_t skip)
{
	for (int i = 0; i < count; i++) {
		size_t len = iov[i].iov_len;

		if (skip >= len) {
			skip -= len;
			continue;
		}
		if (!out_reserve(c, len - skip))
			return false;
		memcpy(c->out + c->out_len, (const uint8_t *)iov[i].iov_base + skip, len - skip);
		c->out_len += len - skip;
		skip = 0;
	}
	return true;
}

/* Sends what has been gathered; false if the connection is broken. */
static bool out_send(struct conn *c)
{
	while (c->out_sent < c->out_len) {
		ssize_t n = send(c->fd, c->out + c->out_sent, c->out_len - c->out_sent,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		c->out_sent += (size_t)n;
	}
	c->out_len = c->out_sent = 0;
	if (c->out_cap > CORK_MAX * 4) {
		free(c->out);
		c->out = NULL;
		c->out_cap = 0;
	}
	return true;
}

static void after_send(struct conn *c)
{
	size_t rest = c->out_len - c->out_sent + c->owed;

	__atomic_store_n(&c->throttled, rest > OUT_MAX || (c->throttled && rest > OUT_MAX / 2),
			 __ATOMIC_RELAXED);
	rewatch(c);
}

/* With the lock held; no system call but send(2) and sendmsg(2), which do not wait. */
static bool stream_write(struct conn *c, const struct iovec *iov, int count, size_t total)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)iov,
			      .msg_iovlen = (size_t)count };
	ssize_t n = 0;
	bool ok;

	if (c->corked && total <= CORK_MAX && c->out_len - c->out_sent < CORK_MAX)
		return out_append(c, iov, count, 0);
	ok = out_send(c);
	if (ok && c->out_len == 0) {
		do
			n = sendmsg(c->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
		while (n < 0 && errno == EINTR);
		ok = n >= 0 || errno == EAGAIN;
	}
	if (ok)
		ok = out_append(c, iov, count, n > 0 ? (size_t)n : 0);
	if (ok)
		after_send(c);
	return ok;
}

static void fuse_write(struct conn *c, const struct iovec *iov, int count, size_t total)
{
	ssize_t n = writev(c->fd, iov, count);

	/* ENOENT: the request was interrupted and nobody waits for it any more; ENODEV: unmounted,
	 * which the loop will see by itself. */
	if (n < 0 && errno != ENOENT && errno != ENODEV)
		log_error("reply of %zu bytes refused by the kernel: %s", total,
			  strerrordesc_np(errno));
}

void conn_reply(struct conn *c, struct request *req)
{
	struct fuse_out_header out = { .unique = req->in.unique };
	struct iovec iov[3] = { { &out, sizeof out } };
	int count = 1;
	bool ok = true;

	out.error = -err_errno(req->error);
	out.len = sizeof out;
	if (!out.error && req->out_len) {
		iov[count++] = (struct iovec){ &req->out, req->out_len };
		out.len += (uint32_t)req->out_len;
	}
	if (!out.error && req->body_len) {
		iov[count++] = (struct iovec){ (void *)(uintptr_t)req->body, req->body_len };
		out.len += (uint32_t)req->body_len;
	}
	log_debug(wire, "reply %lu %s error %d len %u", (unsigned long)out.unique, req->op->name,
		  out.error, out.len);
	if (kind_of(c) == CONN_FUSE) {
		/* the kernel looks for the number it sent, mark included */
		if (req->resent)
			out.unique |= WIRE_UNIQUE_RESEND;
		fuse_write(c, iov, count, out.len);
		return;
	}
	lock_take(&c->lock);
	c->owed -= req->owed;
	if (!c->dead)
		ok = stream_write(c, iov, count, out.len);
	lock_give(&c->lock);
	if (!ok)
		conn_kill(c);
}

void conn_forget_attr(struct conn *c, uint64_t handle)
{
	struct {
		struct fuse_out_header header;
		struct fuse_notify_inval_inode_out inode;
	} out = {
		.header = { .len = sizeof out, .error = FUSE_NOTIFY_INVAL_INODE },
		.inode = { .ino = handle, .off = -1 }, /* -1: attributes alone */
	};
	struct iovec iov = { &out, sizeof out };
	bool ok = true;

	if (kind_of(c) == CONN_FUSE) {
		fuse_write(c, &iov, 1, sizeof out);
		return;
	}
	lock_take(&c->lock);
	if (!c->dead)
		ok = stream_write(c, &iov, 1, sizeof out);
	lock_give(&c->lock);
	if (!ok)
		conn_kill(c);
}

void conn_owe(struct conn *c, struct request *req, uint32_t bytes)
{
	if (!c || kind_of(c) != CONN_STREAM || bytes == 0)
		return;
	lock_guard(&c->lock);
	req->owed += bytes;
	c->owed += bytes;
	if (!c->dead)
		after_send(c);
}

void conn_cork(struct conn *c)
{
	lock_guard(&c->lock);
	c->corked++;
}

void conn_uncork(struct conn *c)
{
	bool ok = true;

	lock_take(&c->lock);
	if (--c->corked == 0 && !c->dead) {
		ok = out_send(c);
		if (ok)
			after_send(c);
	}
	lock_give(&c->lock);
	if (!ok)
		conn_kill(c);
}

/* --- messages in -------------------------------------------------------------------------------- */

/* One whole message.  False: nonsense, the connection must end. */
static bool message_in(struct conn *c, struct worker *w, void *message, size_t len, bool may_steal)
{
	struct request *req = request_new(session_volume(c->session), c->session, c);
	int err;

	if (!req)
		return false;
	req->worker = w;
	req->arrived_ns = clock_mono();
	err = wire_parse(message, len, req);
	log_debug(wire, "request %lu opcode %u node %lu len %zu: %s", (unsigned long)req->in.unique,
		  req->in.opcode, (unsigned long)req->in.nodeid, len, err_name(err));
	if (!err)
		err = session_admit(c->session, req);
	if (__atomic_load_n(&c->refs, __ATOMIC_RELAXED) > REFS_MAX && kind_of(c) == CONN_STREAM)
		err = -KILN_EBADMSG; /* more unanswered than it has slots */
	if (err == -KILN_EBADMSG) {
		log_warn("client %016lx: malformed message (opcode %u, %zu bytes): connection closed",
			 (unsigned long)session_client(c->session), req->in.opcode, len);
		request_free(req);
		return false;
	}
	if (err) {
		request_answer(req, err);
		return true;
	}
	req->message = message;
	req->may_steal = may_steal;
	schedule_request(w, req);
	return true;
}

static void fuse_ready(struct conn *c, struct worker *w)
{
	void *buffer = buffer_get();
	bool ok = buffer != NULL, unmounted = false;

	for (int i = 0; ok && i < BATCH_MAX; i++) {
		ssize_t n = read(c->fd, buffer, WIRE_MESSAGE_MAX);

		if (n < 0 && (errno == EINTR || errno == ENOENT))
			continue; /* ENOENT: the request went away before it was read */
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			unmounted = errno == ENODEV;
		if (n < 0 && !unmounted)
			log_error("reading /dev/fuse: %s", strerrordesc_np(errno));
		w->stolen = false;
		ok = n >= 0 && message_in(c, w, buffer, (size_t)n, true);
		if (w->stolen)
			buffer = buffer_get();
		ok = ok && buffer;
	}
	buffer_put(buffer);
	if (!ok)
		conn_end(c, unmounted);
}

static bool is_throttled(const struct conn *c)
{
	return __atomic_load_n(&c->throttled, __ATOMIC_RELAXED);
}

/* Cuts bytes into messages, as far as they are whole and the client takes its replies; returns
 * how many were used, -1 for nonsense. */
static ssize_t stream_cut(struct conn *c, struct worker *w, uint8_t *bytes, size_t len)
{
	size_t used = 0;

	while (len - used >= WIRE_MESSAGE_MIN && !is_throttled(c)) {
		int64_t need = wire_length(bytes + used);

		if (need < 0)
			return -1;
		if ((size_t)need > len - used)
			break;
		if (!message_in(c, w, bytes + used, (size_t)need, false))
			return -1;
		used += (size_t)need;
	}
	return (ssize_t)used;
}

/* What is left of a message is kept in memory of just its size; so are whole ones. */
static bool partial_keep(struct conn *c, const uint8_t *bytes, size_t len)
{
	int64_t need = len >= WIRE_MESSAGE_MIN ? wire_length(bytes) : WIRE_MESSAGE_MIN;

	if (need < 0)
		return false;
	c->partial_len = len;
	c->partial_cap = (size_t)need > len ? (size_t)need : len;
	c->partial = malloc(c->partial_cap);
	if (!c->partial)
		return false;
	memcpy(c->partial, bytes, len);
	return true;
}

static bool has_backlog(const struct conn *c)
{
	return c->partial && c->partial_len >= WIRE_MESSAGE_MIN &&
	       wire_length(c->partial) <= (int64_t)c->partial_len;
}

static bool backlog_cut(struct conn *c, struct worker *w)
{
	uint8_t *bytes = c->partial;
	size_t len = c->partial_len;
	ssize_t used;
	bool ok;

	c->partial = NULL;
	used = stream_cut(c, w, bytes, len);
	ok = used >= 0;
	if (ok && (size_t)used < len)
		ok = partial_keep(c, bytes + used, len - (size_t)used);
	free(bytes);
	return ok;
}

static bool partial_grow(struct conn *c)
{
	int64_t need = wire_length(c->partial);
	uint8_t *bigger;

	if (need < 0)
		return false;
	bigger = realloc(c->partial, (size_t)need);
	if (!bigger)
		return false;
	c->partial = bigger;
	c->partial_cap = (size_t)need;
	return true;
}

/* Goes on with the message that has begun; true also if it is still not whole. */
static bool partial_fill(struct conn *c, struct worker *w, bool *drained)
{
	ssize_t n = recv(c->fd, c->partial + c->partial_len, c->partial_cap - c->partial_len,
			 MSG_DONTWAIT);
	uint8_t *whole = c->partial;
	bool ok;

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		*drained = true;
		return true;
	}
	if (n <= 0)
		return false;
	c->partial_len += (size_t)n;
	if (c->partial_len < c->partial_cap)
		return true;
	if (c->partial_cap == WIRE_MESSAGE_MIN && !partial_grow(c))
		return false;
	if (c->partial_len < c->partial_cap)
		return true;
	whole = c->partial;
	c->partial = NULL;
	ok = message_in(c, w, whole, c->partial_cap, false);
	free(whole);
	return ok;
}

static bool stream_read(struct conn *c, struct worker *w, uint8_t *buffer, bool *drained)
{
	ssize_t n, used;

	if (has_backlog(c))
		return backlog_cut(c, w);
	if (c->partial)
		return partial_fill(c, w, drained);
	n = recv(c->fd, buffer, WIRE_MESSAGE_MAX, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		*drained = true;
		return true;
	}
	if (n <= 0)
		return false;
	*drained = n < WIRE_MESSAGE_MAX / 4; /* it held all there was: asking again is a waste */
	used = stream_cut(c, w, buffer, (size_t)n);
	if (used < 0)
		return false;
	if (used == n)
		return true;
	*drained = false;
	return partial_keep(c, buffer + used, (size_t)(n - used));
}

static void stream_ready(struct conn *c, struct worker *w)
{
	uint8_t *buffer = buffer_get();
	bool ok = buffer != NULL, drained = false;

	conn_cork(c);
	for (int i = 0; ok && !drained && !is_throttled(c) && i < BATCH_MAX; i++)
		ok = stream_read(c, w, buffer, &drained);
	buffer_put(buffer);
	lock_take(&c->lock);
	c->backlog = ok && has_backlog(c);
	lock_give(&c->lock);
	conn_uncork(c);
	if (!ok)
		conn_end(c, false);
}

/* --- hello -------------------------------------------------------------------------------------- */

static void hello_ready(struct conn *c)
{
	struct request *req;
	uint8_t first;
	ssize_t n;

	if (c->partial_len == 0) {
		n = recv(c->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
		if (n <= 0) {
			if (n == 0 || errno != EAGAIN)
				conn_end(c, false);
			return;
		}
		if (first != (HELLO_MAGIC & 0xff)) {
			/* HTTP's methods begin with other letters */
			int fd = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);

			conn_end(c, false);
			if (fd >= 0)
				admin_accept(c->server->admin, fd, c->peer_uid);
			return;
		}
		c->partial = malloc(sizeof(struct hello));
		if (!c->partial) {
			conn_end(c, false);
			return;
		}
	}
	n = recv(c->fd, c->partial + c->partial_len, sizeof(struct hello) - c->partial_len,
		 MSG_DONTWAIT);
	if (n <= 0) {
		if (n == 0 || errno != EAGAIN)
			conn_end(c, false);
		return;
	}
	c->partial_len += (size_t)n;
	if (c->partial_len < sizeof(struct hello))
		return;
	lock_take(&c->lock);
	kind_set(c, CONN_HELLO); /* silent until the pool has judged it */
	rewatch(c);
	lock_give(&c->lock);
	req = request_new(NULL, NULL, c);
	if (!req) {
		conn_end(c, false);
		return;
	}
	req->buffer = c->partial;
	c->partial = NULL;
	c->partial_len = 0;
	req->run = session_hello;
	pool_submit(c->server->pool, POOL_WRITE, req);
}

void conn_hello_done(struct conn *c, const struct hello_reply *reply, struct session *session,
		     unsigned kind)
{
	struct iovec iov = { (void *)(uintptr_t)reply, sizeof *reply };
	bool ok = session, dead;

	lock_take(&c->lock);
	dead = c->dead;
	if (session && !dead) {
		session_get(session);
		c->session = session;
		kind_set(c, kind == HELLO_FUSE_FD ? CONN_COMPANION : CONN_STREAM);
	}
	if (!dead)
		ok = stream_write(c, &iov, 1, sizeof *reply) && session;
	lock_give(&c->lock);
	if (session && dead)
		session_disconnected(session, c, false); /* conn_end did not know of it */
	else if (!ok)
		conn_kill(c);
}

/* --- handed-over descriptors ---------------------------------------------------------------------- */

static void close_all(const struct cmsghdr *cmsg)
{
	size_t count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof fd, sizeof fd);
		close(fd);
	}
}

/* A descriptor, or a code.  There is room for more than one, so more than one may come. */
static int receive_descriptor(int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof control };
	struct cmsghdr *cmsg;
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int got;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -KILN_EWOULDBLOCK;
	if (n <= 0)
		return -KILN_ECLOSED;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!cmsg || cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
		return -KILN_EBADMSG;
	if (cmsg->cmsg_len != CMSG_LEN(sizeof(int))) {
		close_all(cmsg);
		return -KILN_EBADMSG;
	}
	memcpy(&got, CMSG_DATA(cmsg), sizeof got);
	return got;
}

static bool is_fuse_device(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && major(st.st_rdev) == FUSE_MAJOR &&
	       minor(st.st_rdev) == FUSE_DEV_MINOR;
}

/* Asks the kernel to send again what the server before us had read but not answered. */
static void ask_resend(struct conn *c)
{
	struct fuse_out_header out = { .len = sizeof out, .error = FUSE_NOTIFY_RESEND_CODE };

	if (write(c->fd, &out, sizeof out) < 0)
		log_warn("the kernel cannot send requests again (%s): what was under way when the "
			 "server before this one ended stays unanswered", strerrordesc_np(errno));
}

static int fuse_attach(struct conn *companion, int fd)
{
	struct conn *c = conn_new(companion->server, companion->loop, fd, companion->peer_uid,
				  CONN_FUSE);
	int err;

	if (!c) {
		close(fd);
		return -KILN_ENOMEM;
	}
	session_get(companion->session);
	c->session = companion->session;
	conn_get(companion);
	c->companion = companion;
	session_connected(c->session, c);
	if (session_init_done(c->session))
		ask_resend(c);
	err = loop_add(c->loop, c->fd, &c->source, EPOLLIN);
	if (err) {
		session_disconnected(c->session, c, false);
		conn_put(c);
	}
	return err;
}

static void companion_ready(struct conn *c)
{
	int fd = receive_descriptor(c->fd);

	if (fd == -KILN_EWOULDBLOCK)
		return;
	if (fd >= 0 && is_fuse_device(fd) && fcntl(fd, F_SETFL, O_NONBLOCK) == 0) {
		if (fuse_attach(c, fd) == 0)
			return;
	} else if (fd >= 0) {
		log_warn("client %016lx handed over something that is not /dev/fuse",
			 (unsigned long)session_client(c->session));
		close(fd);
	}
	conn_end(c, false);
}

/* --- events -------------------------------------------------------------------------------------- */

static void out_ready(struct conn *c)
{
	bool ok;

	lock_take(&c->lock);
	ok = c->dead || out_send(c);
	if (ok && !c->dead)
		after_send(c);
	lock_give(&c->lock);
	if (!ok)
		conn_end(c, false);
}

static void in_ready(struct conn *c, struct worker *w)
{
	switch (kind_of(c)) {
	case CONN_FUSE:
		fuse_ready(c, w);
		break;
	case CONN_STREAM:
		stream_ready(c, w);
		break;
	case CONN_COMPANION:
		companion_ready(c);
		break;
	case CONN_NEW:
		hello_ready(c);
		break;
	case CONN_HELLO:
		break;
	}
}

static void conn_ready(struct source *s, struct worker *w, uint32_t events)
{
	struct conn *c = (struct conn *)s;
	bool broken = events & (EPOLLERR | EPOLLHUP);

	conn_get(c); /* it may end meanwhile */
	if (server_stopping(c->server)) {
		loop_watch(c->loop, c->fd, s, 0); /* what has not been read stays for the next */
		if (broken)
			conn_end(c, false);
		conn_put(c);
		return;
	}
	if (events & EPOLLOUT)
		out_ready(c);
	if (!c->dead && broken && (kind_of(c) == CONN_HELLO || is_throttled(c)))
		conn_end(c, false);
	else if (!c->dead && (broken || (events & EPOLLIN) || c->backlog))
		in_ready(c, w);
	conn_put(c);
}

int conn_accept(struct server *server, struct loop *loop, int fd, uint32_t peer_uid)
{
	struct conn *c = conn_new(server, loop, fd, peer_uid, CONN_NEW);
	int err;

	if (!c) {
		close(fd);
		return -KILN_ENOMEM;
	}
	err = loop_add(loop, fd, &c->source, EPOLLIN);
	if (err)
		conn_put(c);
	return err;
}

/* A connection whose last reference is going is about to leave the list: leave it alone. */
static bool conn_get_live(struct conn *c)
{
	unsigned refs = __atomic_load_n(&c->refs, __ATOMIC_RELAXED);

	while (refs > 0)
		if (__atomic_compare_exchange_n(&c->refs, &refs, refs + 1, true, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return true;
	return false;
}

/* A reference to each connection that `pick` wants, at most cap. */
static unsigned conns_pick(struct conn **out, unsigned cap, bool (*pick)(const struct conn *c))
{
	unsigned count = 0;

	pthread_mutex_lock(&conns.mutex);
	for (struct conn *c = conns.first; c && count < cap; c = c->next) {
		if (pick(c) && conn_get_live(c))
			out[count++] = c;
	}
	pthread_mutex_unlock(&conns.mutex);
	return count;
}

static bool is_late(const struct conn *c)
{
	return kind_of(c) == CONN_NEW && clock_mono() - c->since_ns > HELLO_SECONDS * NS_PER_S;
}

/* At the end only, when nobody else can end it. */
static bool is_left(const struct conn *c)
{
	return !c->dead;
}

void conn_tick(void)
{
	struct conn *late[64];
	unsigned count = conns_pick(late, 64, is_late);

	for (unsigned i = 0; i < count; i++) {
		conn_kill(late[i]);
		conn_put(late[i]);
	}
}

void conn_close_all(void)
{
	struct conn *some[64];
	unsigned count;

	while ((count = conns_pick(some, 64, is_left)) > 0)
		for (unsigned i = 0; i < count; i++) {
			if (!conn_set_dead(some[i]))
				conn_put(some[i]); /* the registration's: its loop is gone */
			conn_put(some[i]);
		}
}

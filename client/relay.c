/* Happy path: poll both sides; read /dev/fuse until it is empty, send all of it in one call; take
 * what the connection has in one receive, write each reply to /dev/fuse.
 *
 * Failures.  The connection breaks, or the server writes nonsense: everything unanswered is sent
 * again on the next connection, in order, marked as resent.  What never gets an answer is not:
 * FORGET gives back references that a server keeps for a connection, and one lost with it is
 * made good by the server's own end of that connection; an INTERRUPT is made anew.  While the
 * server is away requests are still read, so that a killed process can be let go, and so that
 * --soft can fail them.
 *
 * No slot free, or too many bytes held: /dev/fuse is not read until something is answered. */
#include "client/relay.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/look.h"
#include "client/fatal.h"
#include "client/fusedev.h"
#include "client/notify.h"
#include "client/opcode.h"
#include "client/outbox.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	RECEIVE_BYTES = 4 * MESSAGE_MAX,
	READS_MAX = 64,    /* from one side before the other gets its turn */
};

struct relay {
	struct csession *session;
	int dev, conn;             /* conn -1: the server is away */
	struct outbox *out;
	struct notifier *notifier; /* started at the first notification */
	uint64_t away_since_ns, next_try_ns;
	uint64_t soft_ns;          /* 0: hard */
	bool gone;                 /* unmounted */
	struct look look;
	int said;                  /* the last code that was logged while away */
	uint8_t *in;               /* RECEIVE_BYTES; in[start..fill) is not yet taken */
	size_t start, fill;
};

/* A volume that has been deleted does not come back. */
static bool waits_in_vain(const struct relay *r)
{
	if (r->conn >= 0)
		return false;
	return r->said == -KILN_ENOVOLUME ||
	       (r->soft_ns && clock_mono() - r->away_since_ns > r->soft_ns);
}

/* ---- from the kernel ---- */

static void let_go(struct relay *r, struct msg *m, int eno)
{
	fusedev_fail(r->dev, m->unique, eno);
	outbox_drop(r->out, m);
}

/* While the server is away: who is being killed is let go; --soft fails all that waits. */
static void look_after(struct relay *r)
{
	bool in_vain = waits_in_vain(r);
	struct msg *next;

	for (struct msg *m = outbox_oldest(r->out); m; m = next) {
		next = m->newer;
		if (in_vain)
			let_go(r, m, EIO);
		else if (m->interrupted && fatal_pending(m->pid))
			let_go(r, m, EINTR);
	}
}

/* One message from /dev/fuse: 1 read, 0 nothing there. */
static int read_one(struct relay *r)
{
	void *buf = outbox_buffer(r->out);
	struct fuse_in_header h;
	ssize_t n;

	if (!buf)
		return 0;
	n = read(r->dev, buf, MESSAGE_MAX);
	if (n < 0) {
		/* ENOENT: the request was taken back while it was being read. */
		r->gone = errno == ENODEV || errno == ECONNABORTED;
		return errno == EINTR || errno == ENOENT;
	}
	if (n < (ssize_t)sizeof h)
		return 0;
	memcpy(&h, buf, sizeof h);
	if (!outbox_take(r->out, (size_t)n) && opcode_answered(h.opcode))
		fusedev_fail(r->dev, h.unique, ENOMEM);
	return 1;
}

static void read_requests(struct relay *r)
{
	for (int i = 0; i < READS_MAX && outbox_room(r->out); i++)
		if (read_one(r) == 0)
			break;
}

/* ---- from the server ---- */

static bool notice_known(int32_t code)
{
	return code == FUSE_NOTIFY_INVAL_INODE || code == FUSE_NOTIFY_INVAL_ENTRY ||
	       code == FUSE_NOTIFY_STORE || code == FUSE_NOTIFY_DELETE;
}

/* A header makes sense: a reply to something we sent, or a notification. */
static bool frame_sane(struct relay *r, const struct fuse_out_header *h, struct msg **m)
{
	if (h->len < sizeof *h || h->len > MESSAGE_MAX)
		return false;
	*m = NULL;
	if (h->unique == 0)
		return notice_known(h->error);
	if (h->error > 0 || h->error < -511 || (h->error && h->len != sizeof *h))
		return false;
	*m = outbox_find(r->out, h->unique);
	return *m && (*m)->sent && !(*m)->queued;
}

/* The kernel would take any max_write; we have room for this much. */
static bool init_sane(const struct msg *m, const uint8_t *frame, size_t len)
{
	struct fuse_init_out out = { .max_write = 0 };

	if (m->opcode != FUSE_INIT || len == sizeof(struct fuse_out_header))
		return true;
	len -= sizeof(struct fuse_out_header);
	memcpy(&out, frame + sizeof(struct fuse_out_header), len < sizeof out ? len : sizeof out);
	return out.major == FUSE_KERNEL_VERSION && out.max_write <= 1 << 20;
}

static void write_reply(struct relay *r, struct msg *m, const uint8_t *frame, size_t len)
{
	ssize_t n = write(r->dev, frame, len);

	if (n < 0 && errno == ENODEV)
		r->gone = true;
	else if (n < 0 && errno != ENOENT) /* ENOENT: no longer waited for */
		log_warn("the kernel refused a reply to opcode %u: %s", m->opcode,
			 strerror(errno));
	outbox_drop(r->out, m);
}

/* Attributes alone: the kernel sets a flag, which cannot wait for anything, and the reply behind
 * it relies on the order. */
static bool notice_quick(const struct fuse_out_header *h, const uint8_t *frame)
{
	struct fuse_notify_inval_inode_out out;

	if (h->error != FUSE_NOTIFY_INVAL_INODE || h->len != sizeof *h + sizeof out)
		return false;
	memcpy(&out, frame + sizeof *h, sizeof out);
	return out.off < 0;
}

static void take_notice(struct relay *r, const struct fuse_out_header *h, const uint8_t *frame)
{
	if (!notice_quick(h, frame))
		notify_send(&r->notifier, r->dev, frame, h->len);
	else if (write(r->dev, frame, h->len) < 0 && errno == ENODEV)
		r->gone = true; /* else, ENOENT: the kernel has nothing of that inode */
}

/* The message at in[start]: 1 taken, 0 not all there yet, -KILN_EBADMSG. */
static int take_frame(struct relay *r)
{
	const uint8_t *frame = r->in + r->start;
	size_t have = r->fill - r->start;
	struct fuse_out_header h;
	struct msg *m;

	if (have < sizeof h)
		return 0;
	memcpy(&h, frame, sizeof h);
	if (!frame_sane(r, &h, &m))
		return -KILN_EBADMSG;
	if (have < h.len)
		return 0;
	if (m && !init_sane(m, frame, h.len))
		return -KILN_EBADMSG;
	if (m)
		write_reply(r, m, frame, h.len);
	else
		take_notice(r, &h, frame);
	r->start += h.len;
	return 1;
}

static void make_room(struct relay *r)
{
	if (r->start == r->fill) {
		r->start = r->fill = 0;
	} else if (RECEIVE_BYTES - r->start < MESSAGE_MAX) {
		memmove(r->in, r->in + r->start, r->fill - r->start);
		r->fill -= r->start;
		r->start = 0;
	}
}

/* 0, or a code that ends the connection. */
static int receive_replies(struct relay *r)
{
	ssize_t n;
	int took;

	make_room(r);
	n = recv(r->conn, r->in + r->fill, RECEIVE_BYTES - r->fill, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -KILN_ECLOSED;
	r->fill += (size_t)n;
	do
		took = take_frame(r);
	while (took > 0);
	return took;
}

/* ---- losing and finding the server ---- */

static void lose(struct relay *r, int why)
{
	if (why == -KILN_EBADMSG)
		log_error("the server sent a malformed message; starting a new connection");
	else
		log_info("the server went away; waiting for it");
	close(r->conn);
	r->conn = -1;
	r->said = -KILN_ECLOSED;
	r->start = r->fill = 0;
	outbox_rewind(r->out);
	csession_broke(r->session);
	r->away_since_ns = clock_mono();
	r->next_try_ns = r->away_since_ns +
			 (uint64_t)csession_delay_ms(r->session) * NS_PER_MS;
}

/* The server has no record of us: what it may have done already cannot be asked for again. */
static void fail_unrepeatable(struct relay *r)
{
	struct msg *next;

	for (struct msg *m = outbox_oldest(r->out); m; m = next) {
		next = m->newer;
		if (m->sent && !opcode_repeatable(m->opcode))
			let_go(r, m, EIO);
	}
}

static void try_connect(struct relay *r)
{
	int conn = csession_connect(r->session);

	if (conn < 0) {
		if (conn != r->said)
			log_warn("%s; trying on", r->session->text);
		r->said = conn;
		r->next_try_ns = clock_mono() +
				 (uint64_t)csession_delay_ms(r->session) * NS_PER_MS;
		return;
	}
	log_info("the server is back%s", r->session->known ? "" : " and does not know this mount");
	if (!r->session->known)
		fail_unrepeatable(r);
	r->conn = conn;
	r->said = 0;
}

/* Milliseconds until the next attempt, rounded up; 0: now. */
static int until_try(const struct relay *r)
{
	uint64_t now = clock_mono();

	return now >= r->next_try_ns ? 0 : (int)((r->next_try_ns - now) / NS_PER_MS) + 1;
}

/* ---- the loop ---- */

static void step_away(struct relay *r)
{
	struct pollfd p = { .fd = r->dev, .events = outbox_room(r->out) ? POLLIN : 0 };

	if (poll(&p, 1, until_try(r)) > 0) {
		if (p.revents & (POLLERR | POLLHUP))
			r->gone = true;
		else
			read_requests(r);
	}
	look_after(r);
	if (!r->gone && until_try(r) == 0)
		try_connect(r);
}

/* Waits for either side. */
static int wait_for_traffic(struct relay *r, struct pollfd *p)
{
	int n = 0;

	look_begin(&r->look);
	while (n == 0 && look_again(&r->look))
		n = poll(p, 2, 0);
	if (n == 0)
		n = poll(p, 2, -1);
	look_end(&r->look);
	return n;
}

static void step_connected(struct relay *r)
{
	struct pollfd p[2] = {
		{ .fd = r->dev, .events = outbox_room(r->out) ? POLLIN : 0 },
		{ .fd = r->conn, .events = outbox_pending(r->out) ? POLLIN | POLLOUT : POLLIN },
	};
	int err = 0;

	if (wait_for_traffic(r, p) < 0)
		return;
	if (p[1].revents & ~POLLOUT)
		err = receive_replies(r);
	if (p[0].revents & (POLLERR | POLLHUP))
		r->gone = true;
	else if (p[0].revents & POLLIN)
		read_requests(r);
	if (err == 0)
		err = outbox_send(r->out, r->conn);
	if (err)
		lose(r, err);
}

/* Unmounted: the server may forget this client at once. */
static void say_goodbye(struct relay *r)
{
	struct fuse_in_header h = { .len = sizeof h, .opcode = FUSE_DESTROY, .unique = 2 };

	if (r->conn < 0)
		return;
	if (!outbox_pending(r->out) &&
	    send(r->conn, &h, sizeof h, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof h)
		log_debug(client, "the server was not told of the unmount");
	close(r->conn);
}

int relay_run(struct csession *s, int conn, int dev, unsigned soft_seconds)
{
	struct relay r = { .session = s, .dev = dev, .conn = conn,
			   .soft_ns = soft_seconds * NS_PER_S };

	r.out = outbox_new(RELAY_SLOTS);
	r.in = malloc(RECEIVE_BYTES);
	if (!r.out || !r.in) {
		outbox_free(r.out);
		free(r.in);
		return -KILN_ENOMEM;
	}
	while (!r.gone) {
		if (r.conn < 0)
			step_away(&r);
		else
			step_connected(&r);
	}
	say_goodbye(&r);
	notify_stop(r.notifier);
	close(dev);
	outbox_free(r.out);
	free(r.in);
	return 0;
}

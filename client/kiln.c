/* The library's engine: slots, sending, receiving, coming back.  calls.c has the operations.
 *
 * A call lives in a slot: FREE -> QUEUED (kiln_submit) -> SENT (all its bytes have left) -> DONE
 * (answered, or failed) -> FREE (collected).  When the connection breaks, SENT calls go back to
 * QUEUED in their old order, ahead of what was never sent, with the resent bit in their unique.
 *
 * unique = number of the call * 2048 + slot * 2: it grows, is even (odd ones are interrupts) and
 * names the slot, so a reply finds its call without a search.
 *
 * What comes from the server is hostile: frame_check sees every header first, and one that does
 * not fit breaks the connection, not the caller. */
#include "client/kiln.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/hello.h"
#include "base/log.h"
#include "base/look.h"
#include "client/opcode.h"
#include "client/session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
	HEAD_MAX = sizeof(struct fuse_in_header) + KILN_ARG_MAX + 2 * 256,
	FORGETS_MAX = 64,
	SEND_IOVS = 256,
	SLOT_BITS = 11,
	SLOT_INIT = 0, /* slot 0 carries INIT alone */
	IO_MAX = 1 << 20,
	SCRATCH_BYTES = 256 << 10,
	/* Room for the largest small reply and for many; longer ones go straight to the caller. */
	RECEIVE_BYTES = 128 << 10,
};

enum state { FREE, QUEUED, SENT, DONE };

struct call {
	struct call *next; /* in the queue, or among the done */
	enum state state;
	uint64_t unique;
	uint32_t opcode, head_len;
	const void *data;
	size_t data_len;
	void *reply;
	size_t reply_cap, reply_min;
	void *tag;
	int error;
	uint32_t len;
	_Alignas(8) uint8_t head[HEAD_MAX]; /* header, argument, names */
};

struct list {
	struct call *first, **last;
	unsigned count;
};

struct forgets {
	struct fuse_in_header header;
	struct fuse_batch_forget_in arg;
	struct fuse_forget_one one[FORGETS_MAX];
};

struct kiln {
	struct csession session;
	int fd;                    /* -1: given up */
	uint32_t uid, gid, pid;
	uint64_t soft_ns;
	uint64_t counter;
	unsigned slots, free_count;
	uint16_t *free_slots;
	struct call *calls;
	struct list queue, done;
	size_t sent_of_first;      /* bytes of the queue's first call that have left */
	struct forgets forgets;    /* arg.count of them, sent before the queue */
	struct fuse_init_out init;
	size_t max_io;
	void *scratch;             /* SCRATCH_BYTES once a listing was asked for */
	struct look look;
	struct call *direct;       /* its reply is being received into its own buffer */
	size_t direct_done;
	size_t start, fill;        /* received[start..fill) */
	_Alignas(8) uint8_t received[RECEIVE_BYTES];
};

static void list_clear(struct list *l)
{
	l->first = NULL;
	l->last = &l->first;
	l->count = 0;
}

static void list_append(struct list *l, struct call *c)
{
	c->next = NULL;
	*l->last = c;
	l->last = &c->next;
	l->count++;
}

static struct call *list_shift(struct list *l)
{
	struct call *c = l->first;

	l->first = c->next;
	if (!l->first)
		l->last = &l->first;
	l->count--;
	return c;
}

/* ---- submitting ---- */

static struct fuse_in_header *header_of(struct call *c)
{
	return (struct fuse_in_header *)(void *)c->head;
}

static void header_fill(struct kiln *k, struct fuse_in_header *h, uint32_t opcode, uint64_t node,
			size_t len)
{
	memset(h, 0, sizeof *h);
	h->len = (uint32_t)len;
	h->opcode = opcode;
	h->nodeid = node;
	h->uid = k->uid;
	h->gid = k->gid;
	h->pid = k->pid;
}

static void call_fill(struct kiln *k, struct call *c, const struct kiln_op *op)
{
	uint16_t slot = (uint16_t)(c - k->calls);
	uint8_t *p = c->head + sizeof(struct fuse_in_header);
	struct fuse_in_header *h = header_of(c);

	memcpy(p, op->arg, op->arg_len);
	p += op->arg_len;
	if (op->text_len)
		p = (uint8_t *)mempcpy(p, op->text, op->text_len);
	if (op->text2_len)
		p = (uint8_t *)mempcpy(p, op->text2, op->text2_len);
	c->head_len = (uint32_t)(p - c->head);
	c->opcode = op->opcode;
	c->data = op->data;
	c->data_len = op->data_len;
	c->reply = op->reply;
	c->reply_cap = op->reply_cap;
	c->reply_min = op->reply_min;
	c->tag = op->tag;
	c->unique = ++k->counter << SLOT_BITS | (unsigned)slot << 1;
	header_fill(k, h, op->opcode, op->node, c->head_len + op->data_len);
	h->unique = c->unique;
	h->padding = slot;
	c->state = QUEUED;
	list_append(&k->queue, c);
}

int kiln_submit(struct kiln *k, const struct kiln_op *op, uint64_t *unique)
{
	struct call *c;

	if (op->arg_len > KILN_ARG_MAX || op->text_len > 256 || op->text2_len > 256 ||
	    op->data_len > IO_MAX || op->reply_cap > IO_MAX || op->reply_min > op->reply_cap)
		return -E2BIG;
	if (k->free_count == 0)
		return -EAGAIN;
	c = &k->calls[k->free_slots[--k->free_count]];
	call_fill(k, c, op);
	if (unique)
		*unique = c->unique;
	return 0;
}

static void call_done(struct kiln *k, struct call *c, int error, size_t len)
{
	c->state = DONE;
	c->error = error;
	c->len = (uint32_t)len;
	list_append(&k->done, c);
}

/* ---- sending ---- */

static size_t forgets_bytes(const struct kiln *k)
{
	return k->forgets.header.len;
}

/* Gathers the queue's head; the first skip bytes of it have left already. */
static unsigned gather(struct kiln *k, struct iovec *iov)
{
	unsigned n = 0;

	if (forgets_bytes(k))
		iov[n++] = (struct iovec){ &k->forgets, forgets_bytes(k) };
	for (struct call *c = k->queue.first; c && n + 2 <= SEND_IOVS; c = c->next) {
		iov[n++] = (struct iovec){ c->head, c->head_len };
		if (c->data_len)
			iov[n++] = (struct iovec){ (void *)(uintptr_t)c->data, c->data_len };
	}
	return n;
}

static void skip_bytes(struct msghdr *m, size_t skip)
{
	while (skip > 0 && skip >= m->msg_iov->iov_len) {
		skip -= m->msg_iov->iov_len;
		m->msg_iov++;
		m->msg_iovlen--;
	}
	if (skip > 0) {
		m->msg_iov->iov_base = (char *)m->msg_iov->iov_base + skip;
		m->msg_iov->iov_len -= skip;
	}
}

/* n more bytes have left: what is complete moves on. */
static void account(struct kiln *k, size_t n)
{
	n += k->sent_of_first;
	if (forgets_bytes(k) && n >= forgets_bytes(k)) {
		n -= forgets_bytes(k);
		k->forgets.header.len = k->forgets.arg.count = 0;
	}
	while (!forgets_bytes(k) && k->queue.first) {
		struct call *c = k->queue.first;
		size_t len = c->head_len + c->data_len;

		if (n < len)
			break;
		n -= len;
		list_shift(&k->queue);
		c->state = SENT;
	}
	k->sent_of_first = n;
}

/* 0: some bytes left; -EAGAIN: the socket is full; -ECONNRESET. */
static int send_some(struct kiln *k)
{
	struct iovec iov[SEND_IOVS];
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = gather(k, iov) };
	ssize_t n;

	skip_bytes(&m, k->sent_of_first);
	n = sendmsg(k->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -ECONNRESET;
	account(k, (size_t)n);
	return 0;
}

/* ---- receiving ---- */

/* The call a header answers; NULL for nonsense. */
static struct call *frame_check(struct kiln *k, const struct fuse_out_header *h)
{
	size_t slot = h->unique >> 1 & ((1u << (SLOT_BITS - 1)) - 1);
	struct call *c = &k->calls[slot < k->slots ? slot : 0];
	size_t payload = h->len - sizeof *h;

	if (h->len < sizeof *h || c->unique != h->unique || c->state != SENT)
		return NULL;
	if (h->error > 0 || h->error < -511)
		return NULL;
	if (h->error ? payload != 0 : payload > c->reply_cap || payload < c->reply_min)
		return NULL;
	return c;
}

/* A call whose reply has begun and will not fit: the rest goes straight to its buffer. */
static void direct_begin(struct kiln *k, struct call *c, uint32_t len)
{
	size_t have = k->fill - k->start - sizeof(struct fuse_out_header);

	memcpy(c->reply, k->received + k->start + sizeof(struct fuse_out_header), have);
	k->direct = c;
	k->direct_done = have;
	c->len = len - (uint32_t)sizeof(struct fuse_out_header);
	k->start = k->fill = 0;
}

static int direct_receive(struct kiln *k, int flags)
{
	struct call *c = k->direct;
	ssize_t n = recv(k->fd, (char *)c->reply + k->direct_done, c->len - k->direct_done, flags);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0)
		return -ECONNRESET;
	k->direct_done += (size_t)n;
	if (k->direct_done == c->len) {
		k->direct = NULL;
		call_done(k, c, 0, c->len);
	}
	return 0;
}

/* One message at received[start]: 1 taken, 0 not complete yet, -EPROTO. */
static int frame_take(struct kiln *k)
{
	size_t have = k->fill - k->start;
	struct fuse_out_header h;
	struct call *c;

	if (have < sizeof h)
		return 0;
	memcpy(&h, k->received + k->start, sizeof h);
	if (h.unique == 0) { /* a notification: this client caches nothing */
		if (h.len < sizeof h || h.len > RECEIVE_BYTES)
			return -EPROTO;
		if (have < h.len)
			return 0;
		k->start += h.len;
		return 1;
	}
	c = frame_check(k, &h);
	if (!c)
		return -EPROTO;
	if (have < h.len) {
		if (h.len > RECEIVE_BYTES / 2)
			direct_begin(k, c, h.len);
		return 0;
	}
	if (h.len > sizeof h)
		memcpy(c->reply, k->received + k->start + sizeof h, h.len - sizeof h);
	k->start += h.len;
	call_done(k, c, h.error, h.len - sizeof h);
	return 1;
}

static int receive(struct kiln *k, int flags)
{
	ssize_t n;
	int took;

	if (k->direct)
		return direct_receive(k, flags);
	n = recv(k->fd, k->received + k->fill, sizeof k->received - k->fill, flags);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0)
		return -ECONNRESET;
	k->fill += (size_t)n;
	do
		took = frame_take(k);
	while (took > 0);
	memmove(k->received, k->received + k->start, k->fill - k->start);
	k->fill -= k->start;
	k->start = 0;
	return took;
}

static void wait_for_bytes(struct kiln *k)
{
	struct pollfd p = { .fd = k->fd, .events = POLLIN };
	int n = 0;

	look_begin(&k->look);
	while (n == 0 && look_again(&k->look))
		n = poll(&p, 1, 0);
	if (n == 0)
		poll(&p, 1, -1);
	look_end(&k->look);
}

/* One step that may wait: sends what is queued, else waits for bytes.  While the socket takes no
 * more it receives, for a server that waits for us to read must not be waited for. */
static int advance(struct kiln *k)
{
	struct pollfd p = { .fd = k->fd, .events = POLLIN | POLLOUT };
	int err;

	if (!k->queue.first) {
		wait_for_bytes(k);
		return receive(k, MSG_DONTWAIT);
	}
	err = send_some(k);
	if (err != -EAGAIN)
		return err;
	poll(&p, 1, -1);
	return p.revents & POLLIN ? receive(k, MSG_DONTWAIT) : 0;
}

/* ---- coming back ---- */

static int by_unique(const void *a, const void *b)
{
	const struct call *x = *(const struct call *const *)a, *y = *(const struct call *const *)b;

	return x->unique < y->unique ? -1 : x->unique > y->unique;
}

/* The calls in state SENT, oldest first; the number. */
static unsigned sent_calls(struct kiln *k, struct call **out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < k->slots; i++)
		if (k->calls[i].state == SENT)
			out[n++] = &k->calls[i];
	qsort(out, n, sizeof *out, by_unique);
	return n;
}

/* Everything unanswered goes to the front of the queue again, INIT before all. */
static void requeue(struct kiln *k)
{
	struct call *sent[KILN_SLOTS_MAX];
	struct list rest = k->queue;
	unsigned n = sent_calls(k, sent);

	list_clear(&k->queue);
	for (unsigned i = 0; i < n; i++) {
		if (!k->session.known && !opcode_repeatable(sent[i]->opcode)) {
			call_done(k, sent[i], -EIO, 0);
			continue;
		}
		header_of(sent[i])->unique = sent[i]->unique | OPCODE_RESENT;
		sent[i]->state = QUEUED;
		list_append(&k->queue, sent[i]);
	}
	if (rest.first) {
		*k->queue.last = rest.first;
		k->queue.last = rest.last;
		k->queue.count += rest.count;
	}
}

/* No server any more: every call fails, now and later. */
static void give_up(struct kiln *k)
{
	struct call *sent[KILN_SLOTS_MAX];
	unsigned n = sent_calls(k, sent);

	log_warn("giving up: %s", k->session.text);
	for (unsigned i = 0; i < n; i++)
		call_done(k, sent[i], -EIO, 0);
	while (k->queue.first)
		call_done(k, list_shift(&k->queue), -EIO, 0);
}

static void disconnect(struct kiln *k)
{
	if (k->fd >= 0) {
		close(k->fd);
		csession_broke(&k->session);
	}
	k->fd = -1;
	k->direct = NULL;
	k->start = k->fill = 0;
	k->sent_of_first = 0;
	k->forgets.header.len = k->forgets.arg.count = 0; /* references ended with the connection */
}

static void sleep_ms(int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	nanosleep(&t, NULL);
}

static void repair(struct kiln *k, int why)
{
	uint64_t deadline = k->soft_ns ? clock_mono() + k->soft_ns : UINT64_MAX;
	int fd;

	if (why == -EPROTO)
		log_warn("the server sent a malformed message; reconnecting");
	disconnect(k);
	do {
		sleep_ms(csession_delay_ms(&k->session));
		fd = csession_connect(&k->session);
	} while (fd == -KILN_ECLOSED && clock_mono() < deadline);
	if (fd < 0) {
		give_up(k);
		return;
	}
	k->fd = fd;
	requeue(k);
}

/* ---- collecting ---- */

/* Sends all that is queued and waits until `enough` says so. */
static void settle(struct kiln *k, const struct call *c, unsigned min)
{
	while (k->queue.first || (c ? c->state != DONE : k->done.count < min)) {
		int err;

		if (k->fd < 0) {
			give_up(k);
			return;
		}
		err = advance(k);
		if (err < 0)
			repair(k, err);
	}
}

static void call_free(struct kiln *k, struct call *c)
{
	c->state = FREE;
	k->free_slots[k->free_count++] = (uint16_t)(c - k->calls);
}

unsigned kiln_in_flight(const struct kiln *k)
{
	return k->slots - 1 - k->free_count;
}

unsigned kiln_collect(struct kiln *k, struct kiln_result *out, unsigned min, unsigned max)
{
	unsigned n = 0, flying = kiln_in_flight(k);

	min = min > max ? max : min;
	settle(k, NULL, min > flying ? flying : min);
	while (n < max && k->done.first) {
		struct call *c = list_shift(&k->done);

		out[n++] = (struct kiln_result){ c->tag, c->error, c->len, c->unique };
		call_free(k, c);
	}
	return n;
}

static void done_remove(struct kiln *k, struct call *c)
{
	struct list all = k->done;

	list_clear(&k->done);
	if (all.first == c && all.count == 1)
		return;
	while (all.count > 0) {
		struct call *one = list_shift(&all);

		if (one != c)
			list_append(&k->done, one);
	}
}

ssize_t kiln_run(struct kiln *k, const struct kiln_op *op)
{
	uint64_t unique;
	struct call *c;
	int err = kiln_submit(k, op, &unique);

	if (err)
		return err;
	c = &k->calls[unique >> 1 & ((1u << (SLOT_BITS - 1)) - 1)];
	settle(k, c, 0);
	done_remove(k, c);
	call_free(k, c);
	return c->error ? c->error : (ssize_t)c->len;
}

/* Small, whole and at once: for messages that have no slot. */
static int send_now(struct kiln *k, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n > 0) {
		ssize_t done = send(k->fd, p, n, MSG_NOSIGNAL);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -ECONNRESET;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

int kiln_interrupt(struct kiln *k, uint64_t unique)
{
	struct {
		struct fuse_in_header header;
		struct fuse_interrupt_in arg;
	} m;

	settle(k, NULL, 0);
	header_fill(k, &m.header, FUSE_INTERRUPT, 0, sizeof m);
	m.header.unique = unique | 1;
	m.arg.unique = unique;
	return k->fd < 0 ? -ECONNRESET : send_now(k, &m, sizeof m);
}

void kiln_forget(struct kiln *k, uint64_t node, uint64_t n)
{
	struct forgets *f = &k->forgets;

	if (f->arg.count == FORGETS_MAX || k->sent_of_first > 0)
		settle(k, NULL, 0);
	if (f->arg.count == FORGETS_MAX && k->fd >= 0 && send_now(k, f, f->header.len) == 0)
		f->arg.count = 0;
	if (f->arg.count == FORGETS_MAX)
		return; /* broken: the next call repairs it, and the references are gone */
	f->one[f->arg.count++] = (struct fuse_forget_one){ node, n };
	header_fill(k, &f->header, FUSE_BATCH_FORGET, 0,
		    offsetof(struct forgets, one) + f->arg.count * sizeof f->one[0]);
}

/* ---- opening and closing ---- */

/* INIT goes through slot 0, which kiln_submit never gives out. */
static int init_exchange(struct kiln *k)
{
	struct kiln_op op = { .opcode = FUSE_INIT, .arg_len = sizeof(struct fuse_init_in),
			      .reply = &k->init, .reply_cap = sizeof k->init,
			      .reply_min = FUSE_COMPAT_22_INIT_OUT_SIZE };
	struct fuse_init_in *in = (void *)op.arg;
	struct call *c = &k->calls[SLOT_INIT];
	int error;

	in->major = FUSE_KERNEL_VERSION;
	in->minor = FUSE_KERNEL_MINOR_VERSION;
	in->max_readahead = 128 << 10;
	in->flags = FUSE_ASYNC_READ | FUSE_POSIX_LOCKS | FUSE_ATOMIC_O_TRUNC |
		    FUSE_EXPORT_SUPPORT | FUSE_BIG_WRITES | FUSE_DONT_MASK | FUSE_FLOCK_LOCKS |
		    FUSE_DO_READDIRPLUS | FUSE_PARALLEL_DIROPS | FUSE_POSIX_ACL | FUSE_MAX_PAGES |
		    FUSE_HANDLE_KILLPRIV_V2 | FUSE_SETXATTR_EXT | FUSE_INIT_EXT;
	call_fill(k, c, &op);
	settle(k, c, 0);
	done_remove(k, c);
	error = c->error;
	c->state = FREE;
	if (error || k->init.major != FUSE_KERNEL_VERSION)
		return error ? error : -EPROTO;
	k->max_io = k->init.max_write;
	if (k->max_io < 4096 || k->max_io > IO_MAX)
		k->max_io = k->max_io < 4096 ? 4096 : IO_MAX;
	return 0;
}

static int handle_new(struct kiln **out, const struct target *t, const struct kiln_options *o)
{
	unsigned slots = (o->slots ? o->slots : KILN_SLOTS) + 1;
	struct kiln *k = calloc(1, sizeof *k);
	int err = -ENOMEM;

	if (!k)
		return -ENOMEM;
	k->slots = slots > KILN_SLOTS_MAX ? KILN_SLOTS_MAX : slots;
	k->fd = -1;
	k->uid = o->uid;
	k->gid = o->gid;
	k->pid = o->pid;
	k->soft_ns = o->soft_seconds * NS_PER_S;
	list_clear(&k->queue);
	list_clear(&k->done);
	k->calls = calloc(k->slots, sizeof *k->calls);
	k->free_slots = calloc(k->slots, sizeof *k->free_slots);
	if (k->calls && k->free_slots)
		err = err_errno(csession_init(&k->session, t, HELLO_LIBRARY, k->slots));
	for (unsigned i = k->slots - 1; i > SLOT_INIT && err == 0; i--)
		k->free_slots[k->free_count++] = (uint16_t)i;
	*out = k;
	return err;
}

int kiln_connect(struct kiln **out, const char *target, const struct kiln_options *options,
		 char *why, size_t cap)
{
	struct kiln_options mine = {.uid = geteuid(), .gid = getegid(), .pid = (uint32_t)getpid()};
	struct target t;
	struct kiln *k = NULL;
	int err = address_parse_target(&t, target, why, cap);

	if (err)
		return -err_errno(err);
	err = handle_new(&k, &t, options ? options : &mine);
	if (err) {
		snprintf(why, cap, "out of memory");
		goto out;
	}
	k->fd = csession_connect(&k->session);
	if (k->fd < 0) {
		snprintf(why, cap, "%s", k->session.text);
		err = -err_errno(k->fd);
		goto out;
	}
	err = init_exchange(k);
	if (err)
		snprintf(why, cap, "the server refused to begin: %s", strerror(-err));
out:
	if (err) {
		kiln_close(k);
		k = NULL;
	}
	*out = k;
	return err;
}

void kiln_close(struct kiln *k)
{
	struct fuse_in_header h;

	if (!k)
		return;
	if (k->fd >= 0) {
		/* The session ends with it; nobody waits for an answer. */
		header_fill(k, &h, FUSE_DESTROY, 0, sizeof h);
		h.unique = ++k->counter << SLOT_BITS;
		if (kiln_in_flight(k) == 0)
			send_now(k, &h, sizeof h);
		close(k->fd);
	}
	free(k->scratch);
	free(k->calls);
	free(k->free_slots);
	free(k);
}

void kiln_act_as(struct kiln *k, uint32_t uid, uint32_t gid, uint32_t pid)
{
	k->uid = uid;
	k->gid = gid;
	k->pid = pid;
}

size_t kiln_max_io(const struct kiln *k)
{
	return k->max_io;
}

bool kiln_read_only(const struct kiln *k)
{
	return k->session.read_only;
}

const struct fuse_init_out *kiln_init(const struct kiln *k)
{
	return &k->init;
}

void *kiln_scratch(struct kiln *k, size_t *cap)
{
	if (!k->scratch)
		k->scratch = malloc(SCRATCH_BYTES);
	*cap = SCRATCH_BYTES;
	return k->scratch;
}

int kiln_fd(const struct kiln *k)
{
	return k->fd;
}

int kiln_raw_send(struct kiln *k, const void *bytes, size_t n)
{
	return k->fd < 0 ? -ECONNRESET : send_now(k, bytes, n);
}

ssize_t kiln_raw_recv(struct kiln *k, void *out, size_t cap)
{
	struct fuse_out_header h;
	size_t rest, want;

	if (k->fd < 0 || recv(k->fd, &h, sizeof h, MSG_WAITALL) != sizeof h || h.len < sizeof h)
		return -ECONNRESET;
	memcpy(out, &h, sizeof h < cap ? sizeof h : cap);
	rest = h.len - sizeof h;
	want = cap > sizeof h ? cap - sizeof h : 0;
	want = rest < want ? rest : want;
	if (want && recv(k->fd, (char *)out + sizeof h, want, MSG_WAITALL) != (ssize_t)want)
		return -ECONNRESET;
	for (rest -= want; rest > 0; rest -= want) {
		want = rest < sizeof k->received ? rest : sizeof k->received;
		if (recv(k->fd, k->received, want, MSG_WAITALL) != (ssize_t)want)
			return -ECONNRESET;
	}
	return h.len;
}

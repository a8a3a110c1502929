#include "client/outbox.h"

#include "base/err.h"
#include "client/opcode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
	SMALL_BYTES = 1024,        /* all but WRITE, SETXATTR and long symbolic links fit */
	TABLE = 2048,
	IOVS = 128,
	SPARE_SMALL = 256, SPARE_LARGE = 8, /* kept when free */
	HELD_MAX = 64 << 20,       /* bytes of unanswered requests */
};

struct pool {
	struct msg *free; /* linked by next */
	unsigned count, keep;
	size_t bytes;
};

struct outbox {
	struct pool small, large;
	struct msg *buffer;            /* a large one, for the next read */
	struct msg *first, **last;     /* the queue */
	size_t sent_of_first;
	struct msg *oldest, *newest;
	struct msg *table[TABLE];
	size_t held;
	unsigned slots, free_count;
	uint16_t free_slots[];
};

static struct msg *pool_get(struct pool *p)
{
	struct msg *m = p->free;

	if (m) {
		p->free = m->next;
		p->count--;
	} else {
		m = malloc(sizeof *m + p->bytes);
	}
	if (m) {
		memset(m, 0, sizeof *m);
		m->large = p->bytes == MESSAGE_MAX;
	}
	return m;
}

static void pool_put(struct outbox *o, struct msg *m)
{
	struct pool *p = m->large ? &o->large : &o->small;

	if (p->count == p->keep) {
		free(m);
		return;
	}
	m->next = p->free;
	p->free = m;
	p->count++;
}

static void pool_clear(struct pool *p)
{
	while (p->free) {
		struct msg *m = p->free;

		p->free = m->next;
		free(m);
	}
}

struct outbox *outbox_new(unsigned slots)
{
	struct outbox *o = calloc(1, sizeof *o + slots * sizeof o->free_slots[0]);

	if (!o)
		return NULL;
	o->small = (struct pool){ .keep = SPARE_SMALL, .bytes = SMALL_BYTES };
	o->large = (struct pool){ .keep = SPARE_LARGE, .bytes = MESSAGE_MAX };
	o->last = &o->first;
	o->slots = slots;
	for (unsigned i = slots; i-- > 0;)
		o->free_slots[o->free_count++] = (uint16_t)i;
	return o;
}

bool outbox_room(const struct outbox *o)
{
	return o->free_count > 0 && o->held < HELD_MAX;
}

bool outbox_pending(const struct outbox *o)
{
	return o->first;
}

void *outbox_buffer(struct outbox *o)
{
	if (!o->buffer)
		o->buffer = pool_get(&o->large);
	return o->buffer ? o->buffer->bytes : NULL;
}

static void enqueue(struct outbox *o, struct msg *m)
{
	m->next = NULL;
	m->queued = true;
	*o->last = m;
	o->last = &m->next;
}

static struct msg **place(struct outbox *o, uint64_t unique)
{
	return &o->table[unique >> 1 & (TABLE - 1)];
}

static struct fuse_in_header *header_of(struct msg *m)
{
	return (struct fuse_in_header *)(void *)m->bytes;
}

/* Makes it one of the unanswered. */
static void keep(struct outbox *o, struct msg *m)
{
	m->slot = o->free_slots[--o->free_count];
	header_of(m)->padding = m->slot;
	m->chain = *place(o, m->unique);
	*place(o, m->unique) = m;
	m->older = o->newest;
	*(o->newest ? &o->newest->newer : &o->oldest) = m;
	o->newest = m;
	o->held += m->len;
}

static void mark_interrupted(struct outbox *o, const struct msg *m)
{
	struct fuse_interrupt_in in;
	struct msg *target;

	if (m->len < sizeof(struct fuse_in_header) + sizeof in)
		return;
	memcpy(&in, m->bytes + sizeof(struct fuse_in_header), sizeof in);
	target = outbox_find(o, in.unique & ~OPCODE_RESENT);
	if (target)
		target->interrupted = true;
}

struct msg *outbox_take(struct outbox *o, size_t n)
{
	struct msg *m = o->buffer;
	struct fuse_in_header *h = header_of(m);

	if (n <= SMALL_BYTES) {
		m = pool_get(&o->small);
		if (!m)
			return NULL;
		memcpy(m->bytes, o->buffer->bytes, n);
		h = header_of(m);
	} else {
		o->buffer = NULL;
	}
	m->unique = h->unique & ~OPCODE_RESENT;
	m->opcode = h->opcode;
	m->pid = h->pid;
	m->len = (uint32_t)n;
	m->answered = opcode_answered(h->opcode);
	if (m->answered)
		keep(o, m);
	else if (h->opcode == FUSE_INTERRUPT)
		mark_interrupted(o, m);
	enqueue(o, m);
	return m;
}

/* ---- sending ---- */

static size_t gather(struct outbox *o, struct iovec *iov)
{
	size_t n = 0, skip = o->sent_of_first;

	for (struct msg *m = o->first; m && n < IOVS; m = m->next) {
		iov[n++] = (struct iovec){ m->bytes + skip, m->len - skip };
		skip = 0;
	}
	return n;
}

static void dequeue(struct outbox *o)
{
	struct msg *m = o->first;

	o->first = m->next;
	if (!o->first)
		o->last = &o->first;
	m->queued = false;
	m->sent = true;
	if (!m->answered)
		pool_put(o, m);
}

int outbox_send(struct outbox *o, int conn)
{
	while (o->first) {
		struct iovec iov[IOVS];
		struct msghdr h = { .msg_iov = iov, .msg_iovlen = gather(o, iov) };
		ssize_t n = sendmsg(conn, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
		size_t left;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -KILN_ECLOSED;
		left = (size_t)n + o->sent_of_first;
		while (o->first && left >= o->first->len) {
			left -= o->first->len;
			dequeue(o);
		}
		o->sent_of_first = left;
	}
	return 0;
}

/* ---- answered ---- */

struct msg *outbox_find(struct outbox *o, uint64_t unique)
{
	struct msg *m = *place(o, unique);

	while (m && m->unique != unique)
		m = m->chain;
	return m;
}

static void unqueue(struct outbox *o, struct msg *m)
{
	struct msg **p = &o->first;

	while (*p != m)
		p = &(*p)->next;
	*p = m->next;
	if (!m->next)
		o->last = p;
}

void outbox_drop(struct outbox *o, struct msg *m)
{
	struct msg **p = place(o, m->unique);

	while (*p != m)
		p = &(*p)->chain;
	*p = m->chain;
	*(m->older ? &m->older->newer : &o->oldest) = m->newer;
	*(m->newer ? &m->newer->older : &o->newest) = m->older;
	o->held -= m->len;
	o->free_slots[o->free_count++] = m->slot;
	if (m->queued)
		unqueue(o, m);
	pool_put(o, m);
}

struct msg *outbox_oldest(struct outbox *o)
{
	return o->oldest;
}

/* ---- coming back ---- */

static void queue_interrupt(struct outbox *o, const struct msg *target)
{
	struct fuse_interrupt_in in = { .unique = target->unique };
	struct msg *m = pool_get(&o->small);
	struct fuse_in_header *h;

	if (!m)
		return; /* the request is let go when the server answers it */
	h = header_of(m);
	memset(h, 0, sizeof *h);
	m->len = sizeof *h + sizeof in;
	h->len = m->len;
	m->opcode = h->opcode = FUSE_INTERRUPT;
	m->unique = h->unique = target->unique | 1;
	memcpy(m->bytes + sizeof *h, &in, sizeof in);
	enqueue(o, m);
}

void outbox_rewind(struct outbox *o)
{
	struct msg *next;

	for (struct msg *m = o->first; m; m = next) {
		next = m->next;
		m->queued = false;
		if (!m->answered)
			pool_put(o, m);
	}
	o->first = NULL;
	o->last = &o->first;
	o->sent_of_first = 0;
	for (struct msg *m = o->oldest; m; m = m->newer) {
		if (m->sent)
			header_of(m)->unique = m->unique | OPCODE_RESENT;
		enqueue(o, m);
		if (m->interrupted)
			queue_interrupt(o, m);
	}
}

void outbox_free(struct outbox *o)
{
	if (!o)
		return;
	while (o->oldest)
		outbox_drop(o, o->oldest);
	outbox_rewind(o);
	if (o->buffer)
		free(o->buffer);
	pool_clear(&o->small);
	pool_clear(&o->large);
	free(o);
}

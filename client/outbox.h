/* The relay's requests, from /dev/fuse to their answer: kept whole, so that they can be sent again.
 * One thread. */
#ifndef CLIENT_OUTBOX_H
#define CLIENT_OUTBOX_H

#include <linux/fuse.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct msg {
	struct msg *next;         /* in the queue of what is to be sent */
	struct msg *older, *newer; /* in the order of reading: everything unanswered */
	struct msg *chain;        /* same place in the table by unique */
	uint64_t unique;          /* the kernel's, without the resend bit */
	uint32_t opcode, len, pid;
	uint16_t slot;
	bool answered;            /* it gets a reply, so it has a slot and is kept */
	bool sent;                /* all of it has left once */
	bool queued;
	bool interrupted;         /* the kernel has asked to let go of it */
	bool large;               /* which pool it goes back to */
	_Alignas(8) uint8_t bytes[];
};

struct outbox;

enum {
	/* Longest message there is: a WRITE or a READ's reply of 1 MiB. */
	MESSAGE_MAX = (1 << 20) + 4096,
};

struct outbox *outbox_new(unsigned slots);
void outbox_free(struct outbox *o);

/* outbox_room: another request may be read: a slot is free, and not too much is held already. */
bool outbox_room(const struct outbox *o);
bool outbox_pending(const struct outbox *o); /* something is to be sent */
/* outbox_buffer: where the next message is to be read into, MESSAGE_MAX bytes; NULL without
 * memory. */
void *outbox_buffer(struct outbox *o);
/* outbox_take: the buffer now holds a message of n bytes, which the kernel wrote: queues it.  The
 * message, or NULL without memory (the kernel's request is then lost to us; the caller fails
 * it). */
struct msg *outbox_take(struct outbox *o, size_t n);
/* outbox_send: as much as the socket takes now; 0, or -KILN_ECLOSED. */
int outbox_send(struct outbox *o, int conn);
/* outbox_find: the unanswered request with that unique that has been sent, or NULL. */
struct msg *outbox_find(struct outbox *o, uint64_t unique);
/* outbox_drop: it has been answered. */
void outbox_drop(struct outbox *o, struct msg *m);
struct msg *outbox_oldest(struct outbox *o); /* then ->newer; only those with `answered` */
/* outbox_rewind: the connection is gone: everything unanswered is to be sent again, in order,
 * those that had left marked as resent, each interrupted one followed by its interrupt; what gets
 * no answer is dropped. */
void outbox_rewind(struct outbox *o);

#endif

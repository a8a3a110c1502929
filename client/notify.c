#include "client/notify.h"

#include "base/lock.h"
#include "base/log.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { QUEUED_MAX = 16 << 20 };

struct notice {
	struct notice *next;
	size_t len;
	_Alignas(8) uint8_t bytes[];
};

struct notifier {
	pthread_t thread;
	int dev;
	struct lock lock;
	struct cond more;
	struct notice *first, **last; /* [lock] */
	size_t queued;                /* [lock] bytes */
	bool stop;                    /* [lock] */
};

/* The next one, or NULL when it is time to end. */
static struct notice *next_notice(struct notifier *n)
{
	struct notice *one;

	lock_guard(&n->lock);
	while (!n->first && !n->stop)
		cond_wait(&n->more, &n->lock);
	one = n->first;
	if (one) {
		n->first = one->next;
		if (!n->first)
			n->last = &n->first;
		n->queued -= one->len;
	}
	return one;
}

static void *notifier_main(void *arg)
{
	struct notifier *n = arg;
	struct notice *one;

	while ((one = next_notice(n)) != NULL) {
		/* What the kernel does not have in its cache it cannot drop: no error of ours. */
		if (write(n->dev, one->bytes, one->len) < 0)
			log_debug(client, "a notification found nothing");
		free(one);
	}
	return NULL;
}

static struct notifier *notifier_start(int dev)
{
	struct notifier *n = calloc(1, sizeof *n);

	if (!n)
		return NULL;
	n->dev = dev;
	n->last = &n->first;
	lock_init(&n->lock, LOCK_RANK_LEAF, "notifier");
	cond_init(&n->more);
	if (pthread_create(&n->thread, NULL, notifier_main, n) == 0)
		return n;
	cond_destroy(&n->more);
	lock_destroy(&n->lock);
	free(n);
	return NULL;
}

static bool enqueue(struct notifier *n, struct notice *one)
{
	lock_guard(&n->lock);
	if (n->queued + one->len > QUEUED_MAX)
		return false;
	one->next = NULL;
	*n->last = one;
	n->last = &one->next;
	n->queued += one->len;
	cond_signal(&n->more);
	return true;
}

void notify_send(struct notifier **n, int dev, const void *bytes, size_t len)
{
	struct notice *one = malloc(sizeof *one + len);

	if (!*n)
		*n = notifier_start(dev);
	if (one && *n) {
		one->len = len;
		memcpy(one->bytes, bytes, len);
		if (enqueue(*n, one))
			return;
	}
	free(one);
	log_warn("a cache notification was dropped");
}

void notify_stop(struct notifier *n)
{
	if (!n)
		return;
	lock_take(&n->lock);
	n->stop = true;
	cond_signal(&n->more);
	lock_give(&n->lock);
	pthread_join(n->thread, NULL);
	while (n->first) {
		struct notice *one = n->first;

		n->first = one->next;
		free(one);
	}
	cond_destroy(&n->more);
	lock_destroy(&n->lock);
	free(n);
}

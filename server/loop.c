/* Happy path: epoll_wait, run the ready sources, run the mailbox.  A thread that posts wakes the
 * loop only if its mailbox was empty: whoever finds something in it knows a wake-up is coming. */
#include "server/loop.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/look.h"
#include "server/schedule.h"
#include "server/server.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { EVENTS_MAX = 64, TICK_MS = 1000 };

struct loop {
	struct worker worker;
	pthread_t thread;
	int epoll_fd, wake_fd;
	void (*tick)(struct server *server); /* atomic: the loop runs when it is set */
	uint64_t next_tick_ns;
	struct look look;            /* loop thread */
	struct epoll_event *batch;   /* loop thread: fetched events that have not been looked at */
	int batch_len;
	struct lock lock;            /* LOOP */
	struct request *head, *tail; /* [lock] mailbox */
	bool stop;                   /* [lock] */
};

bool loop_sweep(struct loop *l)
{
	struct request *req;
	bool any;

	lock_take(&l->lock);
	req = l->head;
	l->head = l->tail = NULL;
	lock_give(&l->lock);
	any = req;
	while (req) {
		struct request *next = req->next;

		req->run(&l->worker, req);
		req = next;
	}
	schedule_flush(&l->worker);
	return any;
}

static void drain_wakeups(struct loop *l)
{
	uint64_t count;

	if (read(l->wake_fd, &count, sizeof count) < 0 && errno != EAGAIN)
		log_error("loop: reading a wake-up failed: %s", strerrordesc_np(errno));
	loop_sweep(l);
}

static int tick_timeout(struct loop *l, uint64_t now)
{
	void (*tick)(struct server *server) = __atomic_load_n(&l->tick, __ATOMIC_ACQUIRE);

	if (!tick)
		return -1;
	if (now >= l->next_tick_ns) {
		l->next_tick_ns = now + TICK_MS * NS_PER_MS;
		tick(l->worker.server);
		schedule_flush(&l->worker); /* not to be held until something comes */
	}
	return TICK_MS;
}

static bool stopping(struct loop *l)
{
	lock_guard(&l->lock);
	return l->stop;
}

static void run_event(struct loop *l, const struct epoll_event *event)
{
	struct source *s = event->data.ptr;

	if (s)
		s->ready(s, &l->worker, event->events);
	else
		drain_wakeups(l);
}

static int wait_for_events(struct loop *l, struct epoll_event *events)
{
	int timeout, n = 0;

	look_begin(&l->look);
	timeout = tick_timeout(l, l->look.begun_ns);
	while (n == 0 && look_again(&l->look))
		n = epoll_wait(l->epoll_fd, events, EVENTS_MAX, 0);
	if (n == 0)
		n = epoll_wait(l->epoll_fd, events, EVENTS_MAX, timeout);
	look_end(&l->look);
	return n;
}

static void *loop_main(void *arg)
{
	struct loop *l = arg;
	struct epoll_event events[EVENTS_MAX];

	pthread_setname_np(pthread_self(), "loop");
	worker_enter(&l->worker);
	while (!stopping(l)) {
		int n = wait_for_events(l, events);

		for (int i = 0; i < n; i++) {
			l->batch = events + i + 1;
			l->batch_len = n - i - 1;
			run_event(l, &events[i]);
			schedule_breathe(&l->worker);
		}
		schedule_flush(&l->worker);
	}
	l->batch_len = 0;
	return NULL;
}

void loop_free(struct loop *l)
{
	if (l->epoll_fd >= 0)
		close(l->epoll_fd);
	if (l->wake_fd >= 0)
		close(l->wake_fd);
	worker_destroy(&l->worker);
	lock_destroy(&l->lock);
	free(l);
}

int loop_start(struct server *server, unsigned index, struct loop **out)
{
	struct loop *l = calloc(1, sizeof *l);
	int err;

	(void)index;
	if (!l)
		return -KILN_ENOMEM;
	lock_init(&l->lock, LOCK_RANK_LOOP, "loop");
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = l->epoll_fd < 0 || l->wake_fd < 0 ? err_from_errno(errno)
						: loop_add(l, l->wake_fd, NULL, EPOLLIN);
	if (err)
		goto out;
	err = worker_init(&l->worker, server, l);
	if (err)
		goto out;
	err = pthread_create(&l->thread, NULL, loop_main, l) ? -KILN_ENOTHREAD : 0;
out:
	if (err)
		loop_free(l);
	else
		*out = l;
	return err;
}

static void wake(struct loop *l)
{
	uint64_t one = 1;

	if (write(l->wake_fd, &one, sizeof one) < 0 && errno != EAGAIN)
		log_error("loop: waking failed: %s", strerrordesc_np(errno));
}

void loop_stop(struct loop *l)
{
	lock_take(&l->lock);
	l->stop = true;
	lock_give(&l->lock);
	wake(l);
	pthread_join(l->thread, NULL);
}

static int control(struct loop *l, int op, int fd, struct source *s, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = s };

	return epoll_ctl(l->epoll_fd, op, fd, &ev) == 0 ? 0 : err_from_errno(errno);
}

int loop_add(struct loop *l, int fd, struct source *s, uint32_t events)
{
	return control(l, EPOLL_CTL_ADD, fd, s, events);
}

int loop_watch(struct loop *l, int fd, struct source *s, uint32_t events)
{
	return control(l, EPOLL_CTL_MOD, fd, s, events);
}

/* What an event of a source that is gone leads to. */
static void gone_ready(struct source *s, struct worker *w, uint32_t events)
{
	(void)s;
	(void)w;
	(void)events;
}

void loop_remove(struct loop *l, int fd, const struct source *s)
{
	static struct source gone = { gone_ready };

	epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	for (int i = 0; i < l->batch_len; i++)
		if (l->batch[i].data.ptr == s)
			l->batch[i].data.ptr = &gone;
}

void loop_post(struct loop *l, struct request *req)
{
	bool was_empty;

	req->next = NULL;
	lock_take(&l->lock);
	was_empty = !l->head;
	if (was_empty)
		l->head = req;
	else
		l->tail->next = req;
	l->tail = req;
	lock_give(&l->lock);
	if (was_empty)
		wake(l);
}

void loop_tick(struct loop *l, void (*fn)(struct server *server))
{
	__atomic_store_n(&l->tick, fn, __ATOMIC_RELEASE);
	wake(l);
}

struct worker *loop_worker(struct loop *l)
{
	return &l->worker;
}

/* The committer.  Happy path: somebody parks a wait; the thread takes the whole list, begins a
 * new epoch, syncs the data files named, syncs the store, publishes the number, calls back.
 * Failures: any sync that fails breaks the store; every waiter of that round and all later ones
 * get the error, nothing is tried twice.
 *
 * One lock (rank COMMIT) guards the list and the thread's sleep; nothing is called with it
 * held.  The numbers are atomic, so asking for them costs no lock. */
#include "store/commit.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/log.h"
#include "store/gather.h"

#include <stdlib.h>
#include <sys/random.h>

enum { MAX_BATCH_NS = 15000000 }; /* as ext4's max_batch_time */

struct wait_list {
	struct commit_wait *first, **tail;
};

struct committer {
	struct kv *kv;
	struct data *data;
	uint64_t interval_ns;
	pthread_t thread;
	struct lock lock;
	struct cond wake;
	struct wait_list waiting;   /* [lock] */
	struct wait_list lazy;      /* [lock] go along with the next round */
	uint64_t dirty_since_ns;    /* [lock] first apply that no round covers; 0: none */
	bool rests;                 /* [lock] the thread sleeps until it is woken: nothing is dirty */
	bool stop;                  /* [lock] */
	bool joined;                /* the thread has ended; owner's */
	bool dirty;                 /* atomic: dirty_since_ns is set */
	uint64_t applied, durable;  /* atomic */
	uint64_t epoch;             /* atomic */
	int failed;                 /* atomic: 0, or what later waiters get */
	struct data_id *ids;        /* committer thread */
	size_t ids_room;            /* committer thread */
	struct commit_stats stats;  /* [lock] */
	struct commit_hists hists;  /* [lock] */
	struct gather gathering;    /* [lock] */
	bool gathers;               /* [lock] the thread waits for more to join */
	bool sync_each;             /* fixed */
	struct durable *view;       /* own locking */
	bool has_view;              /* atomic: there is a durable view to look at */
};

static void list_init(struct wait_list *l)
{
	l->first = NULL;
	l->tail = &l->first;
}

static void list_add(struct wait_list *l, struct commit_wait *w)
{
	w->next = NULL;
	*l->tail = w;
	l->tail = &w->next;
}

/* Takes all of `from` to the end of `to`. */
static void list_join(struct wait_list *to, struct wait_list *from)
{
	if (!from->first)
		return;
	*to->tail = from->first;
	to->tail = from->tail;
	list_init(from);
}

static void list_move(struct wait_list *from, struct wait_list *to)
{
	*to = *from;
	if (!from->first)
		to->tail = &to->first;
	list_init(from);
}

static void raise_to(uint64_t *number, uint64_t value)
{
	uint64_t seen = __atomic_load_n(number, __ATOMIC_RELAXED);

	while (seen < value && !__atomic_compare_exchange_n(number, &seen, value, true,
							    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
}

/* sleep_until_due: false when it is time to end (nothing is left then).  With nothing dirty it
 * first sleeps for an interval only: what is applied meanwhile is not due before that is over, so
 * the first apply after each round need not wake it. */
static bool sleep_until_due(struct committer *c)
{
	uint64_t doze = clock_mono() + c->interval_ns;

	lock_assert_held(&c->lock);
	for (;;) {
		uint64_t due = c->dirty_since_ns + c->interval_ns;

		if (c->waiting.first || (c->dirty_since_ns && (c->stop || clock_mono() >= due)))
			return true;
		if (c->stop)
			return false;
		if (c->dirty_since_ns) {
			cond_wait_until(&c->wake, &c->lock, due);
		} else if (clock_mono() < doze) {
			cond_wait_until(&c->wake, &c->lock, doze);
		} else {
			c->rests = true;
			cond_wait(&c->wake, &c->lock);
			c->rests = false;
		}
	}
}

static int compare_ids(const void *a, const void *b)
{
	const struct data_id *x = a, *y = b;

	if (x->brick != y->brick)
		return x->brick < y->brick ? -1 : 1;
	if (x->handle != y->handle)
		return x->handle < y->handle ? -1 : 1;
	return (x->gen > y->gen) - (x->gen < y->gen);
}

static int add_id(struct committer *c, size_t count, struct data_id id)
{
	if (count == c->ids_room) {
		size_t room = c->ids_room ? 2 * c->ids_room : 64;
		void *grown = realloc(c->ids, room * sizeof(*c->ids));

		if (!grown)
			return -KILN_ENOMEM;
		c->ids = grown;
		c->ids_room = room;
	}
	c->ids[count] = id;
	return 0;
}

/* collect_files: the data files the waiters name, each once. */
static int collect_files(struct committer *c, const struct wait_list *list, size_t *count)
{
	size_t named = 0, kept = 0;

	for (const struct commit_wait *w = list->first; w; w = w->next) {
		bool none = w->data_maybe && !data_unsynced(c->data, w->data);
		int err = w->data.handle && !none ? add_id(c, named++, w->data) : 0;

		if (err)
			return err;
	}
	if (named > 1)
		qsort(c->ids, named, sizeof(c->ids[0]), compare_ids);
	for (size_t i = 0; i < named; i++)
		if (kept == 0 || compare_ids(&c->ids[kept - 1], &c->ids[i]) != 0)
			c->ids[kept++] = c->ids[i];
	*count = kept;
	return 0;
}

static bool wants_all(const struct wait_list *list)
{
	for (const struct commit_wait *w = list->first; w; w = w->next)
		if (w->all_data)
			return true;
	return false;
}

static int sync_files(struct committer *c, const struct wait_list *list, size_t *count)
{
	int err = collect_files(c, list, count);

	if (!err)
		err = wants_all(list) ? data_sync_all(c->data)
				      : data_sync_many(c->data, c->ids, *count);
	if (err)
		kv_break(c->kv, "a data file could not be synced");
	return err;
}

/* highest_wanted: at least what has been applied now, and what any waiter knows to be applied. */
static uint64_t highest_wanted(const struct committer *c, const struct wait_list *list)
{
	uint64_t wanted = commit_latest(c);

	for (const struct commit_wait *w = list->first; w; w = w->next)
		if (w->seq > wanted)
			wanted = w->seq;
	return wanted;
}

/* sync_with_view: the sync may cover changes that came after the view was taken; the number
 * published is what both cover, so that who is told "durable" finds its change in the view. */
static int sync_with_view(struct committer *c, uint64_t wanted)
{
	struct kv_view *view = kv_view_new(c->kv);
	uint64_t through;
	int err;

	if (!view)
		return -KILN_ENOMEM;
	err = kv_sync(c->kv, &through);
	if (err) {
		kv_view_free(c->kv, view);
		return err;
	}
	err = durable_publish(c->view, view);
	if (!err)
		__atomic_store_n(&c->durable, wanted, __ATOMIC_RELEASE);
	return err;
}

static int sync_plain(struct committer *c)
{
	uint64_t through;
	int err = kv_sync(c->kv, &through);

	if (err)
		return err;
	raise_to(&c->applied, through);
	__atomic_store_n(&c->durable, through, __ATOMIC_RELEASE);
	return 0;
}

/* sync_store: skipped when everything applied is durable (waiters for data files only). */
static int sync_store(struct committer *c, const struct wait_list *list, bool *needed)
{
	uint64_t wanted = highest_wanted(c, list);
	bool first_view = durable_wanted(c->view) && !c->has_view;
	int err;

	*needed = wanted > commit_durable(c) || first_view;
	if (!*needed)
		return 0;
	if (!durable_wanted(c->view))
		return sync_plain(c);
	err = sync_with_view(c, wanted);
	if (!err) /* a failure leaves the view there is, and what was durable stays so */
		__atomic_store_n(&c->has_view, true, __ATOMIC_RELEASE);
	return err;
}

static bool is_durable(const struct committer *c, const struct commit_wait *w)
{
	if (durable_wanted(c->view) && !__atomic_load_n(&c->has_view, __ATOMIC_ACQUIRE))
		return false;
	return !w->data.handle && !w->all_data && w->seq <= commit_durable(c);
}

static void call_back(struct committer *c, struct wait_list *list, int err)
{
	for (struct commit_wait *w = list->first, *next; w; w = next) {
		next = w->next;
		w->done(w, is_durable(c, w) ? 0 : err);
	}
}

/* settled: true, with *err, if there is nothing to wait for. */
static bool settled(const struct committer *c, const struct commit_wait *w, int *err)
{
	*err = 0;
	if (is_durable(c, w))
		return true;
	*err = __atomic_load_n(&c->failed, __ATOMIC_ACQUIRE);
	return *err != 0;
}

/* pull_settled: those who parked during the round, in `from`, and need no other: their change was
 * applied before its sync, or it has failed.  Nobody may come to begin another round. */
static void pull_settled(struct committer *c, struct wait_list *from, struct wait_list *to)
{
	struct wait_list all;
	int err;

	lock_assert_held(&c->lock);
	list_move(from, &all);
	for (struct commit_wait *w = all.first, *next; w; w = next) {
		next = w->next;
		list_add(settled(c, w, &err) ? to : from, w);
	}
}

static int sync_all(struct committer *c, const struct wait_list *list, size_t *files, bool *synced)
{
	int err = __atomic_load_n(&c->failed, __ATOMIC_ACQUIRE);

	if (err)
		return err;
	err = sync_files(c, list, files);
	if (!err)
		err = sync_store(c, list, synced);
	if (err) {
		kv_break(c->kv, "a commit has failed"); /* want of memory, if it is not broken yet */
		__atomic_store_n(&c->failed, -KILN_EBADSTORE, __ATOMIC_RELEASE);
	}
	return err;
}

static size_t list_count(const struct wait_list *list)
{
	size_t n = 0;

	for (const struct commit_wait *w = list->first; w; w = w->next)
		n++;
	return n;
}

static void note_round(struct committer *c, struct wait_list *list, struct wait_list *late,
		       bool synced, size_t files, uint64_t took_ns, uint64_t waited_ns)
{
	unsigned together = (unsigned)(list_count(list) + list_count(late));

	for (struct commit_wait *w = list->first; w; w = w->next)
		w->together = together;
	for (struct commit_wait *w = late->first; w; w = w->next)
		w->together = together;
	c->stats.data_files += files;
	if (!synced)
		return;
	c->stats.syncs++;
	c->stats.sync_ns_total += took_ns;
	gather_took(&c->gathering, took_ns);
	hist_add(&c->hists.waiters, together);
	hist_add(&c->hists.sync_ns, took_ns);
	hist_add(&c->hists.gather_ns, waited_ns);
}

/* gather: with the lock held, free while it waits: lets those join who are likely to.  Returns
 * how long it waited. */
static uint64_t gather(struct committer *c)
{
	uint64_t begun = clock_mono(), until;

	if (!c->waiting.first)
		return 0;
	c->gathers = true;
	while (!c->stop && (until = gather_until(&c->gathering, begun)) > clock_mono())
		cond_wait_until(&c->wake, &c->lock, until);
	c->gathers = false;
	return clock_mono() - begun;
}

/* take_waiting: all of them; with sync_each, for comparison, only the first. */
static void take_waiting(struct committer *c, struct wait_list *list)
{
	struct commit_wait *first = c->waiting.first;

	if (!c->sync_each || !first) {
		list_move(&c->waiting, list);
		return;
	}
	list_init(list);
	c->waiting.first = first->next;
	if (!first->next)
		list_init(&c->waiting);
	list_add(list, first);
}

/* one_round: begun and ended with the lock held, which is free in between.  `dirty` is exchanged,
 * not stored, so that it is this round that sees what they applied who found the flag raised: they
 * have gone on and raise it for no other. */
static void one_round(struct committer *c)
{
	struct wait_list list, late;
	uint64_t begun, waited = gather(c);
	bool synced = false;
	size_t files = 0;
	int err;

	lock_assert_held(&c->lock);
	begun = clock_mono();
	list_init(&late);
	take_waiting(c, &list);
	list_join(&list, &c->lazy);
	gather_close(&c->gathering);
	c->dirty_since_ns = 0;
	(void)__atomic_exchange_n(&c->dirty, false, __ATOMIC_ACQ_REL);
	__atomic_add_fetch(&c->epoch, 1, __ATOMIC_ACQ_REL);
	lock_give(&c->lock);

	err = sync_all(c, &list, &files, &synced);

	lock_take(&c->lock);
	pull_settled(c, &c->waiting, &late);
	pull_settled(c, &c->lazy, &late);
	note_round(c, &list, &late, synced, files, clock_mono() - begun, waited);
	lock_give(&c->lock);

	log_debug(commit, "durable %llu, files %zu, %s", (unsigned long long)commit_durable(c),
		  files, err_text(err));
	call_back(c, &list, err);
	call_back(c, &late, __atomic_load_n(&c->failed, __ATOMIC_ACQUIRE));
	lock_take(&c->lock);
}

static void *run(void *context)
{
	struct committer *c = context;

	pthread_setname_np(pthread_self(), "commit");
	lock_take(&c->lock);
	while (sleep_until_due(c))
		one_round(c);
	lock_give(&c->lock);
	return NULL;
}

/* A random start keeps the epochs of two processes apart; the top bit is left for counting. */
static int first_epoch(uint64_t *epoch)
{
	if (getrandom(epoch, sizeof(*epoch), 0) != sizeof(*epoch))
		return -KILN_ESYS;
	*epoch = *epoch >> 1 | 1;
	return 0;
}

int commit_start(struct kv *kv, struct data *data, const struct commit_options *options,
		 struct committer **out)
{
	struct committer *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -KILN_ENOMEM;
	c->kv = kv;
	c->data = data;
	c->interval_ns = options->interval_ns ? options->interval_ns : NS_PER_S;
	list_init(&c->waiting);
	list_init(&c->lazy);
	gather_init(&c->gathering, options->min_batch_ns,
		    options->no_wait		? 0
		    : options->max_batch_ns	? options->max_batch_ns
						: MAX_BATCH_NS);
	c->sync_each = options->sync_each;
	lock_init(&c->lock, LOCK_RANK_COMMIT, "commit");
	cond_init(&c->wake);
	c->view = durable_new(kv);
	err = c->view ? first_epoch(&c->epoch) : -KILN_ENOMEM;
	if (!err)
		err = pthread_create(&c->thread, NULL, run, c) ? -KILN_ENOTHREAD : 0;
	if (err) {
		durable_free(c->view);
		cond_destroy(&c->wake);
		lock_destroy(&c->lock);
		free(c);
		return err;
	}
	*out = c;
	return 0;
}

/* The thread leaves nothing in the lists that a round could still serve. */
void commit_quiesce(struct committer *c)
{
	struct wait_list rest;
	int none = 0;

	if (c->joined)
		return;
	lock_take(&c->lock);
	c->stop = true;
	cond_signal(&c->wake);
	lock_give(&c->lock);
	pthread_join(c->thread, NULL);
	c->joined = true;
	__atomic_compare_exchange_n(&c->failed, &none, -KILN_ESHUTDOWN, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
	lock_take(&c->lock);
	list_move(&c->waiting, &rest);
	list_join(&rest, &c->lazy);
	lock_give(&c->lock);
	call_back(c, &rest, __atomic_load_n(&c->failed, __ATOMIC_ACQUIRE));
}

void commit_stop(struct committer *c)
{
	if (!c)
		return;
	commit_quiesce(c);
	durable_free(c->view);
	cond_destroy(&c->wake);
	lock_destroy(&c->lock);
	free(c->ids);
	free(c);
}

/* The flag keeps the lock out of the way of all but the first apply after a round. */
void commit_applied(struct committer *c, uint64_t seq)
{
	bool wake = false;

	raise_to(&c->applied, seq);
	if (__atomic_exchange_n(&c->dirty, true, __ATOMIC_ACQ_REL))
		return;
	lock_take(&c->lock);
	if (!c->dirty_since_ns) {
		c->dirty_since_ns = clock_mono();
		wake = c->rests;
	}
	lock_give(&c->lock);
	if (wake)
		cond_signal(&c->wake);
}

/* join: says whether the committer is to be woken, as it sleeps for want of waiters, or as w is the
 * last of those it gathers.  (With the lock given back: it would run into it.) */
static bool join(struct committer *c, struct commit_wait *w)
{
	bool wake;

	lock_assert_held(&c->lock);
	gather_join(&c->gathering, w->writer);
	wake = !c->waiting.first || (c->gathers && c->gathering.here >= c->gathering.lately);
	list_add(&c->waiting, w);
	c->stats.waits++;
	return wake;
}

/* Asked a second time under the lock: a round may have ended in between, and the next would
 * come only when somebody else needs it. */
void commit_wait(struct committer *c, struct commit_wait *w)
{
	bool done, wake = false;
	int err;

	if (settled(c, w, &err)) {
		w->done(w, err);
		return;
	}
	lock_take(&c->lock);
	done = settled(c, w, &err);
	if (!done && w->lazy)
		list_add(&c->lazy, w);
	else if (!done)
		wake = join(c, w);
	lock_give(&c->lock);
	if (wake)
		cond_signal(&c->wake);
	if (done)
		w->done(w, err);
}

uint64_t commit_durable(const struct committer *c)
{
	return __atomic_load_n(&c->durable, __ATOMIC_ACQUIRE);
}

uint64_t commit_latest(const struct committer *c)
{
	return __atomic_load_n(&c->applied, __ATOMIC_ACQUIRE);
}

uint64_t commit_epoch(const struct committer *c)
{
	return __atomic_load_n(&c->epoch, __ATOMIC_ACQUIRE);
}

void commit_stats(const struct committer *c, struct commit_stats *out)
{
	struct committer *own = (struct committer *)(uintptr_t)c;

	lock_guard(&own->lock);
	*out = c->stats;
	out->applied = commit_latest(c);
	out->durable = commit_durable(c);
}

void commit_hists(const struct committer *c, struct commit_hists *out)
{
	struct committer *own = (struct committer *)(uintptr_t)c;

	lock_guard(&own->lock);
	*out = c->hists;
}

struct durable *commit_view(struct committer *c)
{
	return c->view;
}

#include "bench/bench.h"

#include "base/clock.h"
#include "base/err.h"
#include "bench/worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What rank 0 tells the others to do next. */
enum order_kind { ORDER_OPEN, ORDER_TEST, ORDER_RESET, ORDER_CLOSE, ORDER_DISMISS };

enum { SIDES = 4 }; /* as many may be open at once */

struct order {
	enum order_kind kind;
	unsigned side, test, n_targets;
	uint64_t prepare_ns, time_ns;
	struct bench_options options;
	char where[BENCH_TARGETS][BENCH_PATH];
};

struct bench {
	struct ranks *ranks;
	const struct profile *profile;
	struct bench_options options;
	struct side side;
	struct runner **runners; /* grows as tests ask for more; each on its own: threads keep it */
	unsigned n_runners, number;
	struct counters_source counters;
};

static atomic_bool interrupted;
static struct bench *sides[SIDES]; /* main thread of each rank; the order names one by number */

void bench_interrupt(void)
{
	atomic_store(&interrupted, true);
	for (unsigned i = 0; i < SIDES; i++)
		if (sides[i])
			atomic_store(&sides[i]->side.stop, true);
}

bool bench_interrupted(void)
{
	return atomic_load(&interrupted);
}

static const int ending[] = { SIGINT, SIGTERM, SIGHUP };

/* The next one ends the process at once, as the system does it: what is to be removed is known to
 * the janitor, and threads are at work, which exit(3) and its like are not made for. */
static void on_signal(int sig)
{
	for (unsigned i = 0; i < sizeof ending / sizeof ending[0]; i++)
		signal(ending[i], SIG_DFL);
	bench_interrupt();
}

void bench_catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };

	for (unsigned i = 0; i < sizeof ending / sizeof ending[0]; i++)
		sigaction(ending[i], &sa, NULL);
	sa.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &sa, NULL);
}

/* -- one rank's part of an order ---------------------------------------------------------- */

static void local_free(struct bench *b)
{
	for (unsigned i = 0; i < b->n_runners; i++) {
		runner_free(b->runners[i]);
		free(b->runners[i]);
	}
	for (unsigned t = 0; t < b->side.n_targets; t++)
		b->side.target[t]->ops->close(b->side.target[t]);
	free(b->runners);
	free(b);
}

static int local_open(struct ranks *ranks, const struct profile *p, const struct order *o,
		      unsigned *bad)
{
	struct bench *b = calloc(1, sizeof *b);
	int rc = 0;

	if (!b)
		return -KILN_ENOMEM;
	b->ranks = ranks;
	b->profile = p;
	b->options = o->options;
	b->number = o->side;
	b->counters.server = o->options.server;
	snprintf(b->side.run_name, sizeof b->side.run_name, "%s", o->options.run_name);
	for (unsigned t = 0; rc == 0 && t < o->n_targets; t++) {
		*bad = t;
		rc = target_open(o->where[t], &b->side.target[t]);
		if (rc == 0)
			b->side.n_targets++;
	}
	if (rc == 0 && b->side.target[0]->ops == &target_dir_ops)
		b->counters.device = counters_device_of(o->where[0]);
	sides[o->side] = b;
	return rc;
}

static void local_close(unsigned number)
{
	struct bench *b = sides[number];

	sides[number] = NULL; /* before it is freed: a signal may look */
	if (b)
		local_free(b);
}

static int need_runners(struct bench *b, unsigned n)
{
	struct runner **grown;

	if (n <= b->n_runners)
		return 0;
	grown = realloc(b->runners, n * sizeof(struct runner *));
	if (!grown)
		return -KILN_ENOMEM;
	b->runners = grown;
	while (b->n_runners < n) {
		struct runner *r = malloc(sizeof *r);
		/* numbers interleave, so that neighbours in a shared directory differ in rank */
		unsigned id = b->n_runners * ranks_count(b->ranks) + ranks_id(b->ranks);
		int rc = r ? runner_init(r, &b->side, id, b->n_runners) : -KILN_ENOMEM;

		if (rc < 0) {
			free(r);
			return rc;
		}
		b->runners[b->n_runners++] = r;
	}
	return 0;
}

static unsigned threads_of(const struct bench *b, const struct role *role)
{
	return role->threads ? (unsigned)role->threads : b->options.threads;
}

static unsigned threads_sum(const struct bench *b, const struct test *t)
{
	unsigned n = 0;

	for (unsigned i = 0; i < t->n_roles; i++)
		n += threads_of(b, &t->roles[i]);
	return n;
}

static void assign_roles(struct bench *b, const struct test *t)
{
	unsigned at = 0;

	for (unsigned i = 0; i < t->n_roles; i++)
		for (unsigned n = threads_of(b, &t->roles[i]); n; n--, at++) {
			b->runners[at]->w.test = t;
			b->runners[at]->w.role = &t->roles[i];
		}
}

/* Starts up to n threads; returns how many there are. */
static unsigned start_threads(struct bench *b, unsigned n)
{
	pthread_attr_t attr;
	unsigned started = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10); /* thousands of clients are fine */
	while (started < n &&
	       pthread_create(&b->runners[started]->thread, &attr, runner_run,
			      b->runners[started]) == 0)
		started++;
	pthread_attr_destroy(&attr);
	return started;
}

static int first_error(struct bench *b, unsigned n, const char **culprit)
{
	for (unsigned i = 0; i < n; i++)
		if (b->runners[i]->rc < 0) {
			*culprit = b->runners[i]->culprit;
			return b->runners[i]->rc;
		}
	return 0;
}

static bool is_missing_feature(int rc, const char *shape)
{
	const struct shape *s = shape_find(shape);

	return s && s->optional &&
	       (rc == -KILN_ENOTSUP || rc == -KILN_ENOSYS || rc == -KILN_EPERM);
}

static void judge(struct result *out, int rc, const char *culprit)
{
	out->rc = rc;
	if (rc == 0)
		return;
	if (is_missing_feature(rc, culprit)) {
		out->status = RESULT_SKIPPED;
		snprintf(out->why, sizeof out->why, "this file system has no such thing (%s: %s)",
			 culprit, err_text(rc));
		return;
	}
	out->status = RESULT_FAILED;
	snprintf(out->why, sizeof out->why, "%s: %s", culprit, err_text(rc));
}

static unsigned series_of(const struct test *t, const struct role *role, unsigned m)
{
	unsigned at = 0;

	for (const struct role *r = t->roles; r != role; r++)
		at += r->total ? 1 : r->n_mix;
	return at + (role->total ? 0 : m);
}

static void name_series(const struct test *t, struct result *out)
{
	for (unsigned i = 0; i < t->n_roles; i++)
		for (unsigned m = 0; m < t->roles[i].n_mix; m++) {
			unsigned s = series_of(t, &t->roles[i], m);
			bool one = t->roles[i].total || t->roles[i].n_mix == 1;

			snprintf(out->series[s].name, PROFILE_NAME, "%s",
				 one ? t->roles[i].name : t->roles[i].mix[m].shape->name);
			out->n_series = s + 1;
		}
}

static int gather(struct runner *r, struct result *out)
{
	const struct role *role = r->w.role;
	int rc = 0;

	for (unsigned m = 1; role->total && m < role->n_mix; m++)
		tally_merge(&r->tally[0], &r->tally[m]);
	for (unsigned m = 0; rc == 0 && m < (role->total ? 1 : role->n_mix); m++)
		rc = result_client(out, series_of(r->w.test, role, m), r->w.id, &r->tally[m]);
	return rc;
}

static void drop_caches(struct bench *b, const struct test *t, struct result *out)
{
	for (unsigned i = 0; t->cold && i < b->side.n_targets; i++) {
		int rc = b->side.target[i]->ops->drop_caches(b->side.target[i]);

		if (rc < 0)
			snprintf(out->why, sizeof out->why,
				 "not cold: the kernel's caches could not be dropped (%s)",
				 err_text(rc));
	}
}

/* Waits for all ranks between preparation and start, so that nobody measures while others
 * still make files.  An error anywhere calls the start off everywhere. */
static void agree_to_start(struct bench *b, const struct test *t, int rc, struct result *out)
{
	if (ranks_agree(b->ranks, rc) == 0)
		drop_caches(b, t, out);
	else
		atomic_store(&b->side.stop, true);
	ranks_agree(b->ranks, 0);
}

static int gather_all(struct bench *b, unsigned n, struct result *out)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < n; i++)
		rc = gather(b->runners[i], out);
	return rc;
}

static int run_threads(struct bench *b, const struct test *t, unsigned n, struct result *out)
{
	const char *culprit = "";
	struct counters before;
	uint64_t began = clock_mono();
	unsigned started = start_threads(b, n);
	int rc = started < n ? -KILN_EAGAIN : 0;

	gate_wait_all(&b->side.gate, started);
	if (rc == 0)
		rc = first_error(b, n, &culprit);
	agree_to_start(b, t, rc, out);
	out->prepare_ns = clock_mono() - began;
	counters_read(&b->counters, &before);
	began = clock_mono();
	gate_open(&b->side.gate);
	for (unsigned i = 0; i < started; i++)
		pthread_join(b->runners[i]->thread, NULL);
	out->elapsed_ns = clock_mono() - began;
	counters_read(&b->counters, &out->counters);
	counters_since(&out->counters, &before);
	if (started < n) {
		judge(out, -KILN_EAGAIN, "starting threads");
		return 0;
	}
	rc = first_error(b, n, &culprit);
	judge(out, rc, culprit);
	return gather_all(b, n, out);
}

static int local_test(struct bench *b, const struct order *o, struct result *out)
{
	const struct test *t = &b->profile->tests[o->test];
	unsigned n = threads_sum(b, t);
	int rc = need_runners(b, n);

	if (rc < 0) {
		agree_to_start(b, t, rc, out); /* stay in step with the other ranks */
		return rc;
	}
	assign_roles(b, t);
	name_series(t, out);
	atomic_store(&b->side.stop, bench_interrupted());
	b->side.time_ns = o->time_ns;
	out->slot_ns = o->time_ns / SLOTS + 1;
	b->side.prepare_until_ns = clock_mono() + o->prepare_ns;
	gate_init(&b->side.gate);
	rc = run_threads(b, t, n, out);
	gate_destroy(&b->side.gate);
	if (bench_interrupted())
		out->status = RESULT_INTERRUPTED;
	return rc;
}

/* Every rank closes its handles first; rank 0 then removes the files. */
static void local_forget(struct bench *b)
{
	for (unsigned i = 0; i < b->n_runners; i++)
		runner_forget(b->runners[i]);
}

/* -- rank 0 ------------------------------------------------------------------------------- */

static int with_root(struct bench *b, unsigned t,
		     int (*what)(struct target_session *s, struct target_dir root, void *arg),
		     void *arg)
{
	const struct target_ops *ops = b->side.target[t]->ops;
	struct target_session *s;
	struct target_dir root;
	int rc = ops->attach(b->side.target[t], &s);

	if (rc < 0)
		return rc;
	rc = ops->root(s, &root);
	if (rc == 0) {
		rc = what(s, root, arg);
		ops->dir_close(s, root);
	}
	ops->detach(s);
	return rc;
}

static int make_run_dir(struct target_session *s, struct target_dir root, void *arg)
{
	return s->ops->mkdir(s, root, arg);
}

static int remove_run_dir(struct target_session *s, struct target_dir root, void *arg)
{
	return target_remove_tree(s, root, arg);
}

static int empty_run_dir(struct target_session *s, struct target_dir root, void *arg)
{
	struct target_dir dir;
	struct target_list *list;
	const char *name;
	bool is_dir;
	int rc = s->ops->dir_open(s, root, arg, &dir), one;

	if (rc < 0)
		return rc;
	rc = s->ops->list_open(s, dir, &list);
	while (rc == 0 && (rc = s->ops->list_next(s, list, &name, &is_dir)) == 0 && name) {
		one = target_remove_tree(s, dir, name);
		if (one < 0)
			rc = one;
	}
	s->ops->list_close(s, list);
	s->ops->dir_close(s, dir);
	return rc;
}

static int on_all_targets(struct bench *b, int (*what)(struct target_session *s,
						       struct target_dir root, void *arg))
{
	int rc = 0;

	for (unsigned t = 0; t < b->side.n_targets; t++) {
		int one = with_root(b, t, what, b->side.run_name);

		if (rc == 0)
			rc = one;
	}
	return rc;
}

static int make_run_dirs(struct bench *b, unsigned *bad)
{
	for (unsigned t = 0; t < b->side.n_targets; t++) {
		int rc = with_root(b, t, make_run_dir, b->side.run_name);

		/* the same directory named twice is one target twice: fine for a load */
		if (rc < 0 && !(rc == -KILN_EEXIST && t > 0)) {
			*bad = t;
			return rc;
		}
	}
	return 0;
}

static int send_order(struct ranks *ranks, struct order *o)
{
	return ranks_share(ranks, o, sizeof *o);
}

static const char *advice(int rc)
{
	switch (rc) {
	case -KILN_ENOTDIR:
		return "give the directory of a mounted file system";
	case -KILN_ENOENT:
		return "mount it, or create the directory, first";
	case -KILN_ENOSPC:
		return "the benchmark needs some free space (and inodes) there";
	case -KILN_EROFS:
		return "remount it writable";
	case -KILN_EACCES:
	case -KILN_EPERM:
		return "give a directory you may write to";
	case -KILN_ENOTCONN:
		return "unmount it and mount it again";
	case -KILN_ENOSYS:
		return "this build has no kiln:// targets";
	default:
		return "see the file system's log";
	}
}

static unsigned free_side(void)
{
	unsigned i = 0;

	while (i < SIDES && sides[i])
		i++;
	return i;
}

int bench_open(struct ranks *ranks, const struct profile *p, const char *const *where, unsigned n,
	       const struct bench_options *options, struct bench **out, char *why)
{
	static struct order o; /* large; only rank 0's main thread comes here */
	unsigned bad = 0;
	const char *words = "";
	int rc, made = 0;

	memset(&o, 0, sizeof o);
	o.kind = ORDER_OPEN;
	o.side = free_side();
	o.n_targets = n;
	o.options = *options;
	if (o.side == SIDES || n > BENCH_TARGETS || n < 1)
		return -KILN_EINVAL;
	for (unsigned t = 0; t < n; t++)
		snprintf(o.where[t], BENCH_PATH, "%s", where[t]);
	rc = send_order(ranks, &o);
	if (rc == 0)
		rc = local_open(ranks, p, &o, &bad);
	if (rc == 0)
		made = rc = make_run_dirs(sides[o.side], &bad);
	rc = ranks_agree(ranks, rc);
	if (rc == 0) {
		*out = sides[o.side];
		return 0;
	}
	if (sides[o.side] && bad < sides[o.side]->side.n_targets)
		words = sides[o.side]->side.target[bad]->why;
	if (*words)
		snprintf(why, WHY_MAX, "%s", words);
	else
		snprintf(why, WHY_MAX, "%.120s: %s; %s", where[bad], err_text(rc), advice(rc));
	if (sides[o.side] && (made < 0 || rc < 0))
		on_all_targets(sides[o.side], remove_run_dir);
	local_close(o.side);
	return rc;
}

static int take_result(void *ctx, const void *data, size_t len)
{
	return result_merge(ctx, data, len);
}

int bench_test(struct bench *b, unsigned i, uint64_t prepare_ns, uint64_t time_ns,
	       struct result *out)
{
	static struct order o;
	int rc, own;

	o = (struct order){ .kind = ORDER_TEST,
			    .side = b->number,
			    .test = i,
			    .prepare_ns = prepare_ns,
			    .time_ns = time_ns };
	rc = result_init(out);
	if (rc < 0)
		return rc;
	rc = send_order(b->ranks, &o);
	own = rc == 0 ? local_test(b, &o, out) : rc;
	if (bench_interrupted())
		ranks_interrupt(b->ranks);
	rc = ranks_agree(b->ranks, own);
	if (rc == 0)
		rc = ranks_collect(b->ranks, NULL, 0, take_result, out);
	return rc;
}

int bench_reset(struct bench *b)
{
	static struct order o;
	int rc;

	o = (struct order){ .kind = ORDER_RESET, .side = b->number };
	rc = send_order(b->ranks, &o);
	local_forget(b);
	if (rc == 0)
		rc = ranks_agree(b->ranks, 0);
	return rc < 0 ? rc : on_all_targets(b, empty_run_dir);
}

/* The files go even if a rank is gone. */
int bench_close(struct bench *b)
{
	static struct order o;
	int rc, lost;

	o = (struct order){ .kind = ORDER_CLOSE, .side = b->number };
	lost = send_order(b->ranks, &o);
	local_forget(b);
	if (lost == 0)
		lost = ranks_agree(b->ranks, 0);
	rc = on_all_targets(b, remove_run_dir);
	local_close(b->number);
	return lost < 0 ? lost : rc;
}

int bench_dismiss(struct ranks *ranks)
{
	static struct order o;

	o = (struct order){ .kind = ORDER_DISMISS };
	return send_order(ranks, &o);
}

/* -- the other ranks ---------------------------------------------------------------------- */

static int serve_test(struct bench *b, const struct order *o)
{
	struct result result;
	void *packed = NULL;
	size_t len = 0;
	int rc = result_init(&result);

	if (rc < 0)
		return rc;
	rc = ranks_agree(b->ranks, local_test(b, o, &result));
	if (rc == 0)
		rc = result_pack(&result, &packed, &len);
	if (rc == 0)
		rc = ranks_collect(b->ranks, packed, len, NULL, NULL);
	free(packed);
	result_free(&result);
	return rc;
}

static int serve_order(struct ranks *ranks, const struct profile *p, const struct order *o)
{
	struct bench *b = sides[o->side];
	unsigned bad;
	int rc = 0;

	switch (o->kind) {
	case ORDER_OPEN:
		rc = ranks_agree(ranks, local_open(ranks, p, o, &bad));
		if (rc < 0)
			local_close(o->side);
		return 0; /* rank 0 reports it and goes on or not */
	case ORDER_TEST:
		return serve_test(b, o);
	case ORDER_RESET:
		local_forget(b);
		return ranks_agree(ranks, 0);
	case ORDER_CLOSE:
		local_forget(b);
		rc = ranks_agree(ranks, 0);
		local_close(o->side);
		return rc;
	case ORDER_DISMISS:
		break;
	}
	return rc;
}

int bench_serve(struct ranks *ranks, const struct profile *p)
{
	static struct order o;
	int rc;

	do {
		rc = ranks_share(ranks, &o, sizeof o);
		if (rc == 0)
			rc = serve_order(ranks, p, &o);
	} while (rc == 0 && o.kind != ORDER_DISMISS);
	for (unsigned i = 0; i < SIDES; i++)
		local_close(i);
	return rc;
}

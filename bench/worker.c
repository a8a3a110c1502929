#include "bench/worker.h"

#include "base/clock.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gate_init(struct gate *g)
{
	lock_init(&g->lock, LOCK_RANK_LEAF, "bench gate");
	cond_init(&g->changed);
	g->arrived = 0;
	g->open = false;
}

void gate_destroy(struct gate *g)
{
	cond_destroy(&g->changed);
	lock_destroy(&g->lock);
}

void gate_pass(struct gate *g)
{
	lock_guard(&g->lock);
	g->arrived++;
	cond_broadcast(&g->changed);
	while (!g->open)
		cond_wait(&g->changed, &g->lock);
}

void gate_wait_all(struct gate *g, unsigned clients)
{
	lock_guard(&g->lock);
	while (g->arrived < clients)
		cond_wait(&g->changed, &g->lock);
}

void gate_open(struct gate *g)
{
	lock_guard(&g->lock);
	g->open = true;
	cond_broadcast(&g->changed);
}

int runner_init(struct runner *r, struct side *side, unsigned id, unsigned index)
{
	memset(r, 0, sizeof *r);
	r->side = side;
	r->w.id = id;
	r->w.index = index;
	r->w.rng = 0x9e3779b97f4a7c15ull * (id + 1);
	r->tally = calloc(MIX_MAX, sizeof *r->tally);
	return r->tally ? 0 : -KILN_ENOMEM;
}

static int session_open(struct runner *r, unsigned t)
{
	const struct target_ops *ops = r->side->target[t]->ops;
	struct target_dir root;
	int rc;

	if (r->session[t])
		return 0;
	rc = ops->attach(r->side->target[t], &r->session[t]);
	if (rc < 0)
		return rc;
	rc = ops->root(r->session[t], &root);
	if (rc == 0) {
		rc = ops->dir_open(r->session[t], root, r->side->run_name, &r->run_dir[t]);
		ops->dir_close(r->session[t], root);
	}
	if (rc < 0) {
		ops->detach(r->session[t]);
		r->session[t] = NULL;
	}
	return rc;
}

static int set_open(struct runner *r, struct fileset *set, const char *name)
{
	const struct target_ops *ops = r->side->target[set->target]->ops;
	int rc = ops->mkdir(r->session[set->target], r->run_dir[set->target], name);

	if (rc < 0 && rc != -KILN_EEXIST) /* clients that share it race to make it */
		return rc;
	return ops->dir_open(r->session[set->target], r->run_dir[set->target], name, &set->dir);
}

/* The role's file set, with its directory; slot says which directory it is. */
static int set_find(struct runner *r, const char *key, unsigned slot)
{
	struct fileset *set = r->sets;
	char name[sizeof set->key + 16];
	int rc;

	while (set && strcmp(set->key, key) != 0)
		set = set->next;
	if (set) {
		r->w.set = set;
		return 0;
	}
	set = calloc(1, sizeof *set);
	if (!set)
		return -KILN_ENOMEM;
	snprintf(set->key, sizeof set->key, "%s", key);
	set->target = slot % r->side->n_targets;
	snprintf(name, sizeof name, "%s-%u", key, slot);
	rc = session_open(r, set->target);
	if (rc == 0)
		rc = set_open(r, set, name);
	if (rc < 0) {
		free(set);
		return rc;
	}
	set->next = r->sets;
	r->sets = r->w.set = set;
	return 0;
}

static int choose_set(struct runner *r)
{
	const struct role *role = r->w.role;
	unsigned slot = role->dirs ? r->w.id % (unsigned)role->dirs : r->w.id;
	char key[2 * PROFILE_NAME + 1];
	int rc;

	snprintf(key, sizeof key, "%.47s-%.47s", r->w.test->suite, role->set[0] ? role->set : "files");
	rc = set_find(r, key, slot);
	if (rc < 0)
		return rc;
	r->w.session = r->session[r->w.set->target];
	r->w.ops = r->side->target[r->w.set->target]->ops;
	return 0;
}

static size_t buffer_for(const struct role *role)
{
	size_t want = role->size > role->block ? role->block : role->size;

	for (unsigned i = 0; i < role->n_mix; i++)
		if (strncmp(role->mix[i].shape->name, "stream", 6) == 0)
			want = role->block;
	return want > CONTENT_STAMP_EVERY ? want : CONTENT_STAMP_EVERY;
}

/* A warm test: everything is read once, or as much as the time for preparation allows. */
static int warm_up(struct runner *r, unsigned m)
{
	const struct shape *shape = r->w.role->mix[m].shape;
	struct cursor c = { 0 };
	struct test cold = *r->w.test;
	const struct test *test = r->w.test;
	int rc = shape->prepare ? shape->prepare(&r->w, &c) : 0;

	cold.cold = 1; /* one pass, then done */
	r->w.test = &cold;
	while (rc == 0 && !r->w.done && !bench_interrupted() &&
	       clock_mono() < r->w.prepare_until_ns)
		rc = shape->step(&r->w, &c);
	r->w.done = false;
	r->w.test = test;
	if (shape->finish)
		shape->finish(&r->w, &c);
	return rc;
}

static int prepare(struct runner *r)
{
	const struct role *role = r->w.role;
	int rc = content_init(&r->w.content, buffer_for(role));

	r->w.prepare_until_ns = r->side->prepare_until_ns;
	r->w.done = false;
	memset(r->tally, 0, MIX_MAX * sizeof *r->tally);
	memset(r->cursor, 0, sizeof r->cursor);
	r->culprit = "preparation";
	if (rc == 0)
		rc = choose_set(r);
	for (unsigned m = 0; rc == 0 && m < role->n_mix; m++) {
		r->culprit = role->mix[m].shape->name;
		if (r->w.test->warm)
			rc = warm_up(r, m);
		if (rc == 0 && role->mix[m].shape->prepare)
			rc = role->mix[m].shape->prepare(&r->w, &r->cursor[m]);
	}
	r->w.bytes = 0;
	return rc;
}

static unsigned pick(struct runner *r, unsigned total)
{
	const struct role *role = r->w.role;
	unsigned at, m = 0;

	if (role->n_mix == 1)
		return 0;
	for (at = (unsigned)(shape_random(&r->w) >> 20) % total; at >= role->mix[m].weight; m++)
		at -= role->mix[m].weight;
	return m;
}

static unsigned weight_sum(const struct role *role)
{
	unsigned total = 0;

	for (unsigned m = 0; m < role->n_mix; m++)
		total += role->mix[m].weight;
	return total;
}

static void record(struct tally *t, uint64_t ns, uint64_t since_start, uint64_t slot_ns,
		   uint64_t *bytes)
{
	uint64_t slot = since_start / slot_ns;

	hist_add(&t->hist, ns);
	t->slots[slot < SLOTS ? slot : SLOTS - 1]++;
	t->bytes += *bytes;
	*bytes = 0;
}

/* One moment per operation: where one ends the next begins, so what the benchmark itself does
 * is inside the figures, and the sum of all operations is the time the client ran. */
static int load(struct runner *r)
{
	uint64_t begin = clock_mono(), now = begin, end = begin + r->side->time_ns;
	uint64_t slot_ns = r->side->time_ns / SLOTS + 1;
	unsigned total = weight_sum(r->w.role), idle = 0;
	uint64_t left = r->w.role->count ? r->w.role->count : UINT64_MAX;

	while (left > 0 && now < end && !atomic_load_explicit(&r->side->stop, memory_order_relaxed)) {
		unsigned m = pick(r, total);
		const struct shape *shape = r->w.role->mix[m].shape;
		uint64_t before = now;
		int rc = shape->step(&r->w, &r->cursor[m]);

		now = clock_mono();
		if (rc < 0) {
			r->culprit = shape->name;
			return rc;
		}
		if (!r->w.done) {
			record(&r->tally[m], now - before, now - begin, slot_ns, &r->w.bytes);
			left--;
			idle = 0;
			continue;
		}
		/* nothing left for this shape; another of the mix may make more */
		r->w.done = false;
		if (r->w.role->n_mix == 1 || ++idle > 1000)
			break;
	}
	return 0;
}

static int finish(struct runner *r)
{
	int rc = 0;

	for (unsigned m = 0; r->w.set && m < r->w.role->n_mix; m++) {
		const struct shape *shape = r->w.role->mix[m].shape;
		int one = shape->finish ? shape->finish(&r->w, &r->cursor[m]) : 0;

		if (one < 0 && rc == 0) {
			rc = one;
			r->culprit = shape->name;
		}
	}
	return rc;
}

void *runner_run(void *arg)
{
	struct runner *r = arg;
	int rc;

	r->rc = prepare(r);
	gate_pass(&r->side->gate);
	if (r->rc == 0)
		r->rc = load(r);
	if (r->rc < 0)
		atomic_store(&r->side->stop, true);
	rc = finish(r);
	if (r->rc == 0)
		r->rc = rc;
	return NULL;
}

void runner_forget(struct runner *r)
{
	struct fileset *set;

	while ((set = r->sets)) {
		r->side->target[set->target]->ops->dir_close(r->session[set->target], set->dir);
		r->sets = set->next;
		free(set);
	}
	r->w.set = NULL;
}

void runner_free(struct runner *r)
{
	runner_forget(r);
	for (unsigned t = 0; t < r->side->n_targets; t++) {
		if (!r->session[t])
			continue;
		r->side->target[t]->ops->dir_close(r->session[t], r->run_dir[t]);
		r->side->target[t]->ops->detach(r->session[t]);
	}
	content_free(&r->w.content);
	free(r->tally);
}

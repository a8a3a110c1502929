#include "tests/fault.h"

#include "base/err.h"
#include "store/kv_impl.h"

#include <stdlib.h>

struct fault_kv {
	struct kv kv;
	struct kv *inner;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	unsigned apply_in, sync_in, syncs; /* [mutex] */
	unsigned view_in;                  /* [mutex] */
	int apply_err, sync_err;           /* [mutex] */
	bool held;                         /* [mutex] */
};

static struct fault_kv *fault_of(struct kv *kv)
{
	return (struct fault_kv *)kv;
}

static void twin_close(struct kv *kv)
{
	struct fault_kv *f = fault_of(kv);

	kv_close(f->inner);
	kv_fini(kv);
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->mutex);
	free(f);
}

static int twin_get(struct kv *kv, const struct kv_view *view, enum kv_space space,
		    const void *key, size_t key_len, void *buf, size_t cap, size_t *len,
		    unsigned flags)
{
	return kv_get(fault_of(kv)->inner, view, space, key, key_len, buf, cap, len, flags);
}

static int twin_get_many(struct kv *kv, const struct kv_view *view, enum kv_space space,
			 struct kv_item *items, size_t count, unsigned flags)
{
	return kv_get_many(fault_of(kv)->inner, view, space, items, count, flags);
}

static int twin_scan_open(struct kv *kv, const struct kv_view *view, enum kv_space space,
			  const void *from, size_t from_len, const void *to, size_t to_len,
			  unsigned flags, struct kv_scan **out)
{
	return kv_scan_open(fault_of(kv)->inner, view, space, from, from_len, to, to_len, flags,
			    out);
}

static int twin_apply(struct kv *kv, const struct kv_batch *batch, unsigned flags)
{
	struct fault_kv *f = fault_of(kv);
	uint64_t seq;
	int err = 0;

	pthread_mutex_lock(&f->mutex);
	if (f->apply_in && --f->apply_in == 0)
		err = f->apply_err;
	pthread_mutex_unlock(&f->mutex);
	if (err == -KILN_EWOULDBLOCK && !(flags & KV_NOSTALL))
		err = 0;
	return err ? err : kv_apply(f->inner, batch, flags, &seq);
}

static int twin_sync(struct kv *kv)
{
	struct fault_kv *f = fault_of(kv);
	uint64_t through;
	int err = 0;

	pthread_mutex_lock(&f->mutex);
	f->syncs++;
	pthread_cond_broadcast(&f->changed);
	while (f->held)
		pthread_cond_wait(&f->changed, &f->mutex);
	if (f->sync_in && --f->sync_in == 0)
		err = f->sync_err;
	pthread_mutex_unlock(&f->mutex);
	return err ? err : kv_sync(f->inner, &through);
}

static struct kv_view *twin_view_new(struct kv *kv)
{
	struct fault_kv *f = fault_of(kv);
	bool fails;

	pthread_mutex_lock(&f->mutex);
	fails = f->view_in && --f->view_in == 0;
	pthread_mutex_unlock(&f->mutex);
	return fails ? NULL : kv_view_new(f->inner);
}

static void twin_view_free(struct kv *kv, struct kv_view *view)
{
	kv_view_free(fault_of(kv)->inner, view);
}

static char *twin_property(struct kv *kv, const char *name)
{
	return kv_property(fault_of(kv)->inner, name);
}

/* Scans are the inner store's own, so scan_next and scan_close are never asked of the twin. */
static const struct kv_ops twin_ops = {
	.name = "twin",
	.close = twin_close,
	.get = twin_get,
	.get_many = twin_get_many,
	.scan_open = twin_scan_open,
	.apply = twin_apply,
	.sync = twin_sync,
	.view_new = twin_view_new,
	.view_free = twin_view_free,
	.property = twin_property,
};

struct kv *fault_kv_wrap(struct kv *inner)
{
	struct fault_kv *f = calloc(1, sizeof(*f));

	if (!f)
		abort();
	kv_init(&f->kv, &twin_ops);
	f->inner = inner;
	pthread_mutex_init(&f->mutex, NULL);
	pthread_cond_init(&f->changed, NULL);
	return &f->kv;
}

void fault_kv_fail_apply(struct kv *twin, unsigned nth, int err)
{
	struct fault_kv *f = fault_of(twin);

	pthread_mutex_lock(&f->mutex);
	f->apply_in = nth;
	f->apply_err = err;
	pthread_mutex_unlock(&f->mutex);
}

void fault_kv_fail_sync(struct kv *twin, unsigned nth, int err)
{
	struct fault_kv *f = fault_of(twin);

	pthread_mutex_lock(&f->mutex);
	f->sync_in = nth;
	f->sync_err = err;
	pthread_mutex_unlock(&f->mutex);
}

void fault_kv_fail_view(struct kv *twin, unsigned nth)
{
	struct fault_kv *f = fault_of(twin);

	pthread_mutex_lock(&f->mutex);
	f->view_in = nth;
	pthread_mutex_unlock(&f->mutex);
}

unsigned fault_kv_syncs(const struct kv *twin)
{
	struct fault_kv *f = (struct fault_kv *)(uintptr_t)twin;
	unsigned count;

	pthread_mutex_lock(&f->mutex);
	count = f->syncs;
	pthread_mutex_unlock(&f->mutex);
	return count;
}

static void set_held(struct kv *twin, bool held)
{
	struct fault_kv *f = fault_of(twin);

	pthread_mutex_lock(&f->mutex);
	f->held = held;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->mutex);
}

void fault_kv_hold(struct kv *twin)
{
	set_held(twin, true);
}

void fault_kv_go(struct kv *twin)
{
	set_held(twin, false);
}

void fault_kv_await_sync(struct kv *twin, unsigned count)
{
	struct fault_kv *f = fault_of(twin);

	pthread_mutex_lock(&f->mutex);
	while (f->syncs < count)
		pthread_cond_wait(&f->changed, &f->mutex);
	pthread_mutex_unlock(&f->mutex);
}

#include "store/durable.h"

#include "base/err.h"
#include "base/lock.h"

#include <stdlib.h>

struct durable_view {
	struct kv_view *view;
	unsigned refs; /* atomic; the current view has one more */
};

struct durable {
	struct kv *kv;
	struct lock lock;
	struct durable_view *current; /* [lock] */
	bool wanted;                  /* atomic */
};

struct durable *durable_new(struct kv *kv)
{
	struct durable *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->kv = kv;
	lock_init(&d->lock, LOCK_RANK_LEAF, "durable view");
	return d;
}

void durable_free(struct durable *d)
{
	if (!d)
		return;
	if (d->current)
		durable_drop(d, d->current);
	lock_destroy(&d->lock);
	free(d);
}

void durable_want(struct durable *d)
{
	__atomic_store_n(&d->wanted, true, __ATOMIC_RELEASE);
}

bool durable_wanted(const struct durable *d)
{
	return __atomic_load_n(&d->wanted, __ATOMIC_ACQUIRE);
}

int durable_publish(struct durable *d, struct kv_view *view)
{
	struct durable_view *fresh = malloc(sizeof(*fresh)), *old;

	if (!fresh) {
		kv_view_free(d->kv, view);
		return -KILN_ENOMEM;
	}
	*fresh = (struct durable_view){ .view = view, .refs = 1 };
	lock_take(&d->lock);
	old = d->current;
	d->current = fresh;
	lock_give(&d->lock);
	if (old)
		durable_drop(d, old);
	return 0;
}

struct durable_view *durable_take(struct durable *d)
{
	lock_guard(&d->lock);
	if (d->current)
		__atomic_add_fetch(&d->current->refs, 1, __ATOMIC_RELAXED);
	return d->current;
}

void durable_drop(struct durable *d, struct durable_view *v)
{
	if (__atomic_sub_fetch(&v->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	kv_view_free(d->kv, v->view);
	free(v);
}

const struct kv_view *durable_kv_view(const struct durable_view *v)
{
	return v->view;
}

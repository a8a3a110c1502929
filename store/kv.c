/* The front of the key-value seam: picks the back end, numbers batches, and holds the rule that
 * a store that failed to write takes no changes.
 *
 * A batch gets its number after it has been applied, so a number never stands for something
 * that is not in the journal yet: what kv_sync reads as the highest number before it flushes
 * is covered by the flush, with no lock around either. */
#include "store/kv.h"

#include "base/err.h"
#include "base/log.h"
#include "store/kv_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Highest number any closed store of this process has given out (atomic). */
static uint64_t process_last;

void kv_init(struct kv *kv, const struct kv_ops *ops)
{
	kv->ops = ops;
	kv->last = __atomic_load_n(&process_last, __ATOMIC_RELAXED);
	kv->broken = NULL;
	lock_init(&kv->break_lock, LOCK_RANK_LEAF, "kv broken");
}

void kv_fini(struct kv *kv)
{
	uint64_t seen = __atomic_load_n(&process_last, __ATOMIC_RELAXED);

	while (seen < kv->last && !__atomic_compare_exchange_n(&process_last, &seen, kv->last, false,
							       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	lock_destroy(&kv->break_lock);
	free(kv->broken);
}

int kv_open(const char *path, const struct kv_options *options, struct kv **out, char **why)
{
	char *reason = NULL;
	int err;

	if (strcmp(options->layout, "single") != 0 && strcmp(options->layout, "split") != 0) {
		err = -KILN_EINVAL;
		reason = strdup("the layout must be single or split");
	} else if (strcmp(options->backend, "mem") == 0) {
		err = kv_mem_open(options, out);
	} else if (strcmp(options->backend, "rocksdb") == 0) {
		err = kv_rocks_open(path, options, out, &reason);
	} else {
		err = -KILN_EINVAL;
		reason = strdup("the back end must be rocksdb or mem");
	}
	if (why)
		*why = err ? reason : NULL;
	if (!why || !err)
		free(reason);
	return err;
}

void kv_close(struct kv *kv)
{
	if (kv)
		kv->ops->close(kv);
}

int kv_get(struct kv *kv, const struct kv_view *view, enum kv_space space, const void *key,
	   size_t key_len, void *buf, size_t cap, size_t *len, unsigned flags)
{
	return kv->ops->get(kv, view, space, key, key_len, buf, cap, len, flags);
}

int kv_get_many(struct kv *kv, const struct kv_view *view, enum kv_space space,
		struct kv_item *items, size_t count, unsigned flags)
{
	return kv->ops->get_many(kv, view, space, items, count, flags);
}

int kv_scan_open(struct kv *kv, const struct kv_view *view, enum kv_space space, const void *from,
		 size_t from_len, const void *to, size_t to_len, unsigned flags,
		 struct kv_scan **out)
{
	return kv->ops->scan_open(kv, view, space, from, from_len, to, to_len, flags, out);
}

int kv_scan_next(struct kv_scan *scan, const void **key, size_t *key_len, const void **value,
		 size_t *value_len)
{
	return scan->ops->scan_next(scan, key, key_len, value, value_len);
}

void kv_scan_close(struct kv_scan *scan)
{
	if (scan)
		scan->ops->scan_close(scan);
}

struct kv_view *kv_view_new(struct kv *kv)
{
	return kv->ops->view_new(kv);
}

void kv_view_free(struct kv *kv, struct kv_view *view)
{
	if (view)
		kv->ops->view_free(kv, view);
}

char *kv_property(struct kv *kv, const char *name)
{
	return kv->ops->property(kv, name);
}

uint64_t kv_debt(struct kv *kv)
{
	return kv->ops->debt ? kv->ops->debt(kv) : 0;
}

void kv_relieve(struct kv *kv)
{
	if (kv->ops->debt)
		kv->ops->relieve(kv);
}

bool kv_collecting(struct kv *kv)
{
	return kv->ops->debt && kv->ops->collecting(kv);
}

void kv_break(struct kv *kv, const char *why)
{
	char *copy = strdup(why);

	if (!copy)
		abort(); /* a store that cannot say that it is broken must not go on */
	lock_guard(&kv->break_lock);
	if (kv->broken) {
		free(copy);
		return;
	}
	log_error("the store takes no more changes until it is opened anew: %s", why);
	__atomic_store_n(&kv->broken, copy, __ATOMIC_RELEASE);
}

const char *kv_broken(const struct kv *kv)
{
	return __atomic_load_n(&kv->broken, __ATOMIC_ACQUIRE);
}

int kv_apply(struct kv *kv, const struct kv_batch *batch, unsigned flags, uint64_t *seq)
{
	int err;

	if (kv_broken(kv))
		return -KILN_EBADSTORE;
	err = kv->ops->apply(kv, batch, flags);
	if (err == -KILN_EWOULDBLOCK || (err == -KILN_ENOSPC && !kv_broken(kv)))
		return err;
	if (err) {
		if (!kv_broken(kv))
			kv_break(kv, err_text(err));
		return err;
	}
	*seq = __atomic_add_fetch(&kv->last, 1, __ATOMIC_ACQ_REL);
	return 0;
}

int kv_sync(struct kv *kv, uint64_t *through)
{
	int err;

	if (kv_broken(kv))
		return -KILN_EBADSTORE;
	*through = __atomic_load_n(&kv->last, __ATOMIC_ACQUIRE);
	err = kv->ops->sync(kv);
	if (err && !kv_broken(kv))
		kv_break(kv, err_text(err));
	return err;
}

/* Private to store/ and its tests: what a back end fills in, and how a batch is laid out.
 * kv.c numbers batches, keeps the broken state and dispatches; a back end never sees a call
 * that it should refuse. */
#ifndef STORE_KV_IMPL_H
#define STORE_KV_IMPL_H

#include "store/kv.h"

#include "base/lock.h"

#include <string.h>

struct kv_ops {
	const char *name;
	void (*close)(struct kv *kv);
	int (*get)(struct kv *kv, const struct kv_view *view, enum kv_space space, const void *key,
		   size_t key_len, void *buf, size_t cap, size_t *len, unsigned flags);
	int (*get_many)(struct kv *kv, const struct kv_view *view, enum kv_space space,
			struct kv_item *items, size_t count, unsigned flags);
	int (*scan_open)(struct kv *kv, const struct kv_view *view, enum kv_space space,
			 const void *from, size_t from_len, const void *to, size_t to_len,
			 unsigned flags, struct kv_scan **out);
	int (*scan_next)(struct kv_scan *scan, const void **key, size_t *key_len,
			 const void **value, size_t *value_len);
	void (*scan_close)(struct kv_scan *scan);
	/* apply: -KILN_EWOULDBLOCK or -KILN_ENOSPC with nothing done, or any other error with the
	 * store broken.
	 * Several threads at once. */
	int (*apply)(struct kv *kv, const struct kv_batch *batch, unsigned flags);
	int (*sync)(struct kv *kv);
	struct kv_view *(*view_new)(struct kv *kv);
	void (*view_free)(struct kv *kv, struct kv_view *view);
	char *(*property)(struct kv *kv, const char *name);
	uint64_t (*debt)(struct kv *kv); /* NULL: never any; then the next two are not called */
	void (*relieve)(struct kv *kv);
	bool (*collecting)(struct kv *kv);
};

/* The head of every back end's own struct. */
struct kv {
	const struct kv_ops *ops;
	uint64_t last;           /* atomic: highest number given out */
	struct lock break_lock;
	char *broken;            /* atomic: NULL, or why; set once, under break_lock */
};

struct kv_scan {
	const struct kv_ops *ops;
};

struct kv_view {
	struct kv *kv;
};

enum kv_kind { KV_PUT, KV_DEL };

/* One change; key and value lie at `at` in the batch's bytes, one behind the other. */
struct kv_record {
	size_t at;
	uint32_t value_len;
	uint16_t key_len;
	uint8_t kind, space;
};

/* What a back end keeps with a batch from one apply to the next. */
struct kv_native {
	void *thing;
	void (*free_thing)(void *thing);
};

struct kv_batch {
	struct kv_record *records;
	size_t count, records_room;
	unsigned char *bytes;
	size_t bytes_used, bytes_room;
	struct kv_native *native;
};

/* kv_key_order: of two keys, as memcmp(3) says it; of one that begins with the other, that is first. */
static inline int kv_key_order(const void *a, size_t a_len, const void *b, size_t b_len)
{
	int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

void kv_init(struct kv *kv, const struct kv_ops *ops);
void kv_fini(struct kv *kv);

int kv_rocks_open(const char *path, const struct kv_options *options, struct kv **out, char **why);
int kv_mem_open(const struct kv_options *options, struct kv **out);

#endif

/* A key-value store in a directory of its own, of each back end and layout. */
#ifndef TESTS_UNIT_KV_FIXTURE_H
#define TESTS_UNIT_KV_FIXTURE_H

#include "store/kv.h"
#include "tests/unit/tmpdir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct fixture {
	const char *backend, *layout;
	char *dir;
	struct kv *kv;
};

static inline struct kv *open_kv(const struct fixture *f, bool create)
{
	struct kv_options o = { .backend = f->backend, .layout = f->layout, .create = create };
	struct kv *kv;
	char *why;

	assert_int_equal(kv_open(f->dir, &o, &kv, &why), 0);
	return kv;
}

static inline int set_up(void **state, const char *backend, const char *layout)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*f = (struct fixture){ .backend = backend, .layout = layout, .dir = tmpdir_make() };
	f->kv = open_kv(f, true);
	*state = f;
	return 0;
}

static inline int mem_single(void **state)
{
	return set_up(state, "mem", "single");
}

static inline int mem_split(void **state)
{
	return set_up(state, "mem", "split");
}

static inline int rocks_single(void **state)
{
	return set_up(state, "rocksdb", "single");
}

static inline int rocks_split(void **state)
{
	return set_up(state, "rocksdb", "split");
}

/* A test that fails while it is closed finds nothing to close in tear_down. */
static inline void close_kv(struct fixture *f)
{
	kv_close(f->kv);
	f->kv = NULL;
}

static inline int tear_down(void **state)
{
	struct fixture *f = *state;

	close_kv(f);
	tmpdir_remove(f->dir);
	free(f);
	return 0;
}

#define ON(test, where) { #test " (" #where ")", test, where, tear_down, NULL }
#define ON_ALL(test) \
	ON(test, mem_single), ON(test, mem_split), ON(test, rocks_single), ON(test, rocks_split)
#define ON_ROCKS(test) ON(test, rocks_single), ON(test, rocks_split)

#endif

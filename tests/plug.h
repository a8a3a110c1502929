/* A key-value store whose plug can be pulled: a back end for tests that keeps every version of
 * every key, and knows how much of it was synced.
 *
 * Each applied batch has an index, counted from 1; the state at any index can be looked at
 * (plug_view), so a test can ask which states explain an answer.  A sync covers what was applied
 * before it began.  plug_hold: syncs wait from now on, and nothing becomes durable any more, which
 * is what the clients of a server whose power goes would be left with.  plug_cut: what the disk
 * has after the power cut: a prefix of the batches, that holds at least those that were synced.
 *
 * With jitter, calls now and then give way to other threads, say that they would block, and syncs
 * take a while.  Any thread. */
#ifndef TESTS_PLUG_H
#define TESTS_PLUG_H

#include "store/kv.h"

struct plug;

struct plug *plug_new(void);
void plug_free(struct plug *p);
/* plug_kv: a store on it, one at a time; kv_close ends that and leaves the plug. */
struct kv *plug_kv(struct plug *p);
void plug_jitter(struct plug *p, uint64_t seed); /* 0: none, the default */

uint64_t plug_applied(struct plug *p);
uint64_t plug_synced(struct plug *p);
unsigned plug_syncs(struct plug *p);             /* begun so far */
/* plug_await_sync: returns when that many syncs have begun. */
void plug_await_sync(struct plug *p, unsigned count);
void plug_hold(struct plug *p);
void plug_go(struct plug *p);
/* plug_hold_apply: the next apply waits, and whoever came with it; others pass it by.
 * plug_await_apply: returns when it waits.  plug_go_apply: it goes on. */
void plug_hold_apply(struct plug *p);
void plug_await_apply(struct plug *p);
void plug_go_apply(struct plug *p);
/* plug_fail_read: the nth get or opened scan from now (1: the next) fails, once; 0: none.  True if
 * the one asked for before has come to pass. */
bool plug_fail_read(struct plug *p, unsigned nth);
/* plug_fail: syncs fail from now on, those held too. */
void plug_fail(struct plug *p);
/* plug_cut: the power is back: nothing above index is left; no store is open on it. */
void plug_cut(struct plug *p, uint64_t index);

/* plug_view: the state after that batch, of a store that plug_kv made. */
struct kv_view *plug_view(struct kv *kv, uint64_t index);
/* plug_versions: calls fn for every version of every key that begins with prefix, keys in order,
 * versions oldest first; value NULL: deleted. */
void plug_versions(struct plug *p, enum kv_space space, const void *prefix, size_t len,
		   void (*fn)(void *context, const unsigned char *key, size_t key_len,
			      const void *value, size_t value_len, uint64_t index),
		   void *context);

#endif

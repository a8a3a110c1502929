/* The durable view: the state that a power cut would leave, for those who may show nothing else.
 * The committer takes a view before each sync and publishes it once the sync has returned, before
 * it publishes the number and calls anybody back: who has been told that a change is durable
 * finds it in the view.
 *
 * Any thread takes and drops; the committer alone publishes. */
#ifndef STORE_DURABLE_H
#define STORE_DURABLE_H

#include "store/kv.h"

struct durable;
struct durable_view; /* counted; the caller of durable_take owns one reference */

struct durable *durable_new(struct kv *kv);
void durable_free(struct durable *d); /* nobody has a view any more */

/* durable_want: from now on views are taken; each sync has one more to make. */
void durable_want(struct durable *d);
bool durable_wanted(const struct durable *d);
/* durable_publish: takes the view over; -KILN_ENOMEM: the old one stays. */
int durable_publish(struct durable *d, struct kv_view *view);
/* durable_take: the current view; NULL if none has been published yet. */
struct durable_view *durable_take(struct durable *d);
void durable_drop(struct durable *d, struct durable_view *v);
const struct kv_view *durable_kv_view(const struct durable_view *v);

#endif

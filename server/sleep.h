/* Waiting for a commit on the calling thread: for administration and for loading a volume, never
 * for those who answer others. */
#ifndef SERVER_SLEEP_H
#define SERVER_SLEEP_H

#include "store/store.h"

/* sleep_durable: until seq is durable; the commit's error. */
int sleep_durable(struct store *store, uint64_t seq);
/* sleep_view: until there is a durable view to look at, which an `op` volume needs; they are kept
 * from then on. */
int sleep_view(struct store *store);

#endif

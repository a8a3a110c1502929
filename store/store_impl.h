/* Private to store/. */
#ifndef STORE_STORE_IMPL_H
#define STORE_STORE_IMPL_H

#include "store/cache.h"
#include "store/store.h"

/* store_cache: NULL for a back end that is memory itself. */
struct cache *store_cache(struct store *s);

#endif

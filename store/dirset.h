/* Private to store/: a set of 64-bit numbers (0 excluded) that only grows; the caller locks. */
#ifndef STORE_DIRSET_H
#define STORE_DIRSET_H

#include <stdbool.h>
#include <stdint.h>

struct dirset;

struct dirset *dirset_new(void);
void dirset_free(struct dirset *s);
bool dirset_has(const struct dirset *s, uint64_t number);
int dirset_add(struct dirset *s, uint64_t number);

#endif

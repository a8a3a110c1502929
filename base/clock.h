/* Moments and durations are uint64_t nanoseconds; names end in _ns. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S 1000000000ull
#define NS_PER_MS 1000000ull
#define NS_PER_US 1000ull

uint64_t clock_mono(void);             /* CLOCK_MONOTONIC */
struct timespec clock_wall(void);      /* CLOCK_REALTIME, what inode times are made of */

#endif

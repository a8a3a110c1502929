/* Log-linear histogram of durations or counts: each power of two in 32 steps (error at most
 * 1/32 = 3.2 %), values up to 2^42.  A histogram has one writing thread; reading it from
 * another gives a slightly torn but safe picture (relaxed atomics).  Used by the server's
 * statistics and by kiln-bench alike. */
#ifndef BASE_HIST_H
#define BASE_HIST_H

#include <stdint.h>

#define HIST_STEPS 32
#define HIST_BUCKETS (38 * HIST_STEPS)

struct hist {
	uint64_t count, sum, min, max; /* min is meaningless while count is 0 */
	uint64_t bucket[HIST_BUCKETS];
};

void hist_clear(struct hist *h);
void hist_add(struct hist *h, uint64_t value);
void hist_merge(struct hist *into, const struct hist *from);
/* hist_quantile: the value below which a share q (0..1) lies, interpolated inside its bucket
 * and clamped to [min, max]; 0 when empty. */
uint64_t hist_quantile(const struct hist *h, double q);
/* hist_bucket_low: the smallest value that bucket index counts, for those who print buckets. */
uint64_t hist_bucket_low(unsigned index);
double hist_mean(const struct hist *h);

#endif

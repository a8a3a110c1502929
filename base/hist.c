#include "base/hist.h"

#include <string.h>

/* Bucket layout: values below HIST_STEPS have one bucket each; above, the top five bits after
 * the leading one choose the step within the power of two. */
static unsigned bucket_of(uint64_t value)
{
	unsigned top, index;

	if (value < HIST_STEPS)
		return (unsigned)value;
	top = 63u - (unsigned)__builtin_clzll(value);
	index = (top - 4) * HIST_STEPS + (unsigned)(value >> (top - 5) & (HIST_STEPS - 1));
	return index < HIST_BUCKETS ? index : HIST_BUCKETS - 1;
}

uint64_t hist_bucket_low(unsigned index)
{
	unsigned power = index / HIST_STEPS;

	if (power == 0)
		return index;
	return (uint64_t)(HIST_STEPS + index % HIST_STEPS) << (power - 1);
}

static void bump(uint64_t *field, uint64_t by)
{
	/* one writer: a plain load and a relaxed store is enough, and costs no bus lock */
	__atomic_store_n(field, *field + by, __ATOMIC_RELAXED);
}

void hist_clear(struct hist *h)
{
	memset(h, 0, sizeof *h);
}

void hist_add(struct hist *h, uint64_t value)
{
	if (h->count == 0 || value < h->min)
		__atomic_store_n(&h->min, value, __ATOMIC_RELAXED);
	if (value > h->max)
		__atomic_store_n(&h->max, value, __ATOMIC_RELAXED);
	bump(&h->bucket[bucket_of(value)], 1);
	bump(&h->sum, value);
	bump(&h->count, 1);
}

static uint64_t peek(const uint64_t *field)
{
	return __atomic_load_n(field, __ATOMIC_RELAXED);
}

void hist_merge(struct hist *into, const struct hist *from)
{
	uint64_t count = peek(&from->count), min = peek(&from->min), max = peek(&from->max);

	if (count == 0)
		return;
	if (into->count == 0 || min < into->min)
		into->min = min;
	if (max > into->max)
		into->max = max;
	into->count += count;
	into->sum += peek(&from->sum);
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		into->bucket[i] += peek(&from->bucket[i]);
}

uint64_t hist_quantile(const struct hist *h, double q)
{
	double want = q * (double)h->count, below = 0;

	if (h->count == 0)
		return 0;
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		double here = (double)h->bucket[i];

		if (here > 0 && below + here >= want) {
			double low = (double)hist_bucket_low(i), high = (double)hist_bucket_low(i + 1);
			double v = low + (high - low) * (want - below) / here;

			if (v < (double)h->min)
				return h->min;
			return v > (double)h->max ? h->max : (uint64_t)v;
		}
		below += here;
	}
	return h->max;
}

double hist_mean(const struct hist *h)
{
	return h->count ? (double)h->sum / (double)h->count : 0;
}

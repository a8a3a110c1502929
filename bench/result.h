/* What one test gave: per series (one shape of one role) a histogram, a rate and a timeline,
 * per client its figures.  Plain data; result_free frees what is inside. */
#ifndef BENCH_RESULT_H
#define BENCH_RESULT_H

#include "base/hist.h"
#include "bench/counters.h"
#include "bench/profile.h"

enum { SERIES_MAX = ROLES_MAX * MIX_MAX, SLOTS = 40, WHY_MAX = 256 };

enum result_status { RESULT_OK, RESULT_SKIPPED, RESULT_FAILED, RESULT_INTERRUPTED };

struct tally {
	struct hist hist; /* nanoseconds of an operation; its sum is the time spent in the series */
	uint64_t bytes;
	uint32_t slots[SLOTS]; /* operations in each 1/SLOTS of the test's time */
};

struct series {
	char name[PROFILE_NAME];
	double rate; /* operations a second: each client's own, summed */
	struct tally tally;
};

struct client {
	uint32_t worker, series;
	uint64_t ops, busy_ns, min_ns, max_ns, p50_ns, p99_ns;
};

struct result {
	enum result_status status;
	int rc; /* the first error, 0 or -KILN_Exxx */
	char why[WHY_MAX];
	uint64_t prepare_ns, elapsed_ns, slot_ns;
	unsigned n_series, n_clients;
	struct series *series;  /* SERIES_MAX of them */
	struct client *clients;
	struct counters counters;
};

int result_init(struct result *r);
void result_free(struct result *r);
void tally_merge(struct tally *into, const struct tally *from);
/* result_client: adds one client's tally of a series. */
int result_client(struct result *r, unsigned series, unsigned worker, const struct tally *t);
/* result_pack and result_merge carry a result from rank to rank; the same build on both ends.
 * The packed bytes are malloc'd, the caller frees them. */
int result_pack(const struct result *r, void **data, size_t *len);
int result_merge(struct result *into, const void *data, size_t len);
/* result_add_pass: into (passes - 1 of them so far) takes in one more run of the same test: tallies
 * and counters add up, rates average, the clients are the last pass's, errors stay.  Takes over
 * what is inside pass. */
void result_add_pass(struct result *into, struct result *pass, unsigned passes);
/* result_rate: the figure that is compared between runs: operations a second; 0 if none. */
double result_rate(const struct result *r, unsigned series);
/* result_trend: rate of the last of n equal parts of the test over that of the first. */
double result_trend(const struct result *r, unsigned series, unsigned n);

#endif

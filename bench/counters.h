/* What the system counted while a test ran, beside the times: processor time and switches of
 * the benchmark, of a server that is named, writes and flushes of the device below. */
#ifndef BENCH_COUNTERS_H
#define BENCH_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*        field             unit, per operation   text */
#define COUNTERS(X) \
	X(user_ns,          "ns", "processor time of the benchmark in user mode") \
	X(system_ns,        "ns", "processor time of the benchmark in the kernel") \
	X(switches,         "",   "context switches of the benchmark, voluntary") \
	X(preemptions,      "",   "context switches of the benchmark, involuntary") \
	X(server_ns,        "ns", "processor time of the server (--server-pid)") \
	X(server_switches,  "",   "context switches of the server") \
	X(machine_busy_ns,  "ns", "processor time of the whole machine") \
	X(device_writes,    "",   "write requests that the device finished") \
	X(device_bytes,     "B",  "bytes written to the device") \
	X(device_flushes,   "",   "flushes that the device finished")

struct counters {
#define X(field, ...) uint64_t field;
	COUNTERS(X)
#undef X
	bool has_server, has_device;
};

/* What to watch; made once per side. */
struct counters_source {
	pid_t server; /* 0: none */
	dev_t device; /* 0: none */
};

/* counters_device_of: the block device below a directory, 0 if there is none (tmpfs, FUSE). */
dev_t counters_device_of(const char *path);
void counters_read(const struct counters_source *src, struct counters *out);
/* counters_since: *now -= *before, field by field. */
void counters_since(struct counters *now, const struct counters *before);
void counters_add(struct counters *into, const struct counters *more);
/* counters_add_own: only what a process counts of itself; the machine's, the device's and the
 * server's counts are rank 0's. */
void counters_add_own(struct counters *into, const struct counters *more);

#endif

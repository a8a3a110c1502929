/* The machine and the file systems under test, for the record, and what about them makes
 * figures doubtful.  Both return new references; NULL only without memory. */
#ifndef BENCH_ENV_H
#define BENCH_ENV_H

#include <jansson.h>

/* env_machine: kernel, processor, governor, clock, memory, load. */
json_t *env_machine(void);
/* env_target: file system, mount options, device, free space, and the time of one flush,
 * measured with a small file of its own (at most about a quarter of a second). */
json_t *env_target(const char *where);
/* env_warnings: sentences about what the two found. */
json_t *env_warnings(const json_t *machine, const json_t *targets);

#endif

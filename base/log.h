/* Log lines to standard error, or to a sink: "2026-11-30T14:00:00.123Z level text".  Any thread may call.
 * A line is one write(2), cut at 1,000 bytes; bytes outside printable ASCII are escaped, so a
 * name from a client cannot forge a line. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Debug bits, switched on by name with log_debug_enable("wire,commit"). */
#define LOG_BITS(X) X(wire) X(sched) X(ops) X(commit) X(store) X(session) X(client) X(admin)
enum log_bit {
#define X(name) LOG_BIT_##name,
	LOG_BITS(X)
#undef X
	LOG_BIT_COUNT
};

extern unsigned log_bits; /* set before threads start; read without a lock */

void log_level_set(enum log_level level);
/* log_sink_set: lines go to sink instead, escaped, without time and level; NULL: to standard error
 * again.  Before threads start. */
void log_sink_set(void (*sink)(enum log_level level, const char *text));
int log_debug_enable(const char *names); /* -KILN_EINVAL for an unknown name */
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(bit, ...) \
	do { \
		if (__builtin_expect(log_bits >> LOG_BIT_##bit & 1, 0)) \
			log_line(LOG_DEBUG, #bit ": " __VA_ARGS__); \
	} while (0)

#endif

#include "base/log.h"

#include "base/clock.h"
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1000 };

unsigned log_bits;
static enum log_level log_max = LOG_INFO; /* set before threads start */
static void (*log_sink)(enum log_level level, const char *text); /* likewise */

void log_level_set(enum log_level level)
{
	log_max = level;
}

void log_sink_set(void (*sink)(enum log_level level, const char *text))
{
	log_sink = sink;
}

int log_debug_enable(const char *names)
{
	static const char *const bit_names[] = {
#define X(name) #name,
		LOG_BITS(X)
#undef X
	};

	while (*names) {
		size_t len = strcspn(names, ",");
		unsigned bit = 0;

		while (bit < LOG_BIT_COUNT && (strlen(bit_names[bit]) != len ||
					       memcmp(bit_names[bit], names, len) != 0))
			bit++;
		if (bit == LOG_BIT_COUNT)
			return -KILN_EINVAL;
		log_bits |= 1u << bit;
		names += len + (names[len] == ',');
	}
	log_max = LOG_DEBUG;
	return 0;
}

/* Copies text to out with every byte outside printable ASCII as \xNN; returns the length. */
static size_t escape(char *out, size_t cap, const char *text)
{
	size_t n = 0;

	for (; *text && n + 5 < cap; text++) {
		unsigned char c = (unsigned char)*text;

		if (c >= 0x20 && c < 0x7f)
			out[n++] = (char)c;
		else
			n += (size_t)snprintf(out + n, cap - n, "\\x%02x", c);
	}
	return n;
}

void log_line(enum log_level level, const char *fmt, ...)
{
	static const char *const level_names[] = { "error", "warning", "info", "debug" };
	char text[LINE_MAX_BYTES], line[LINE_MAX_BYTES + 64];
	struct timespec now;
	struct tm tm;
	va_list ap;
	size_t n;

	if (level > log_max)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (log_sink) {
		line[escape(line, sizeof line, text)] = '\0';
		log_sink(level, line);
		return;
	}
	now = clock_wall();
	gmtime_r(&now.tv_sec, &tm);
	n = strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%S", &tm);
	n += (size_t)snprintf(line + n, sizeof line - n, ".%03ldZ %s ", now.tv_nsec / 1000000,
			      level_names[level]);
	n += escape(line + n, sizeof line - n - 1, text);
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, n) < 0) {
		/* nowhere left to say it */
	}
}

/* Sizes, counts and times: text to numbers and back. */
#ifndef CLI_UNITS_H
#define CLI_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* units_size: "4096", "64K", "10G", "1TiB": bytes, powers of 1024.  -KILN_EINVAL if it is not a
 * size, -KILN_ERANGE beyond 2^63 - 1. */
int units_size(const char *text, uint64_t *out);
/* units_number: decimal digits only; -KILN_EINVAL, -KILN_ERANGE. */
int units_number(const char *text, uint64_t *out);
/* units_time: a decimal number, a fraction allowed, times unit_ns: nanoseconds. */
int units_time(const char *text, uint64_t unit_ns, uint64_t *out);

/* Printing; each returns buf.  UNITS_TEXT bytes are enough. */
enum { UNITS_TEXT = 32 };
char *units_print_size(char *buf, uint64_t bytes);          /* "1.5 GiB" */
char *units_print_count(char *buf, uint64_t n);             /* "1,234,567" */
char *units_print_many(char *buf, uint64_t n, const char *one, const char *many); /* "1 sync" */
char *units_print_time(char *buf, uint64_t ns);             /* "1.2 ms", "3 d 4 h" */

#endif

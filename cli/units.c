#include "cli/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"

static const char prefixes[] = "KMGTPE";

/* digits: the number at the start of text; *end is what follows. */
static int digits(const char *text, const char **end, uint64_t *out)
{
	char *tail;

	if (!isdigit((unsigned char)*text))
		return -KILN_EINVAL;
	errno = 0;
	*out = strtoull(text, &tail, 10);
	*end = tail;
	return errno == ERANGE || *out > INT64_MAX ? -KILN_ERANGE : 0;
}

int units_number(const char *text, uint64_t *out)
{
	const char *end;
	int err = digits(text, &end, out);

	return err ? err : *end ? -KILN_EINVAL : 0;
}

/* suffix: "", "K", "KB", "KiB", "B": the power of 1024, or an error. */
static int suffix(const char *text)
{
	const char *at;
	int power = 0;

	if (*text && (at = strchr(prefixes, toupper((unsigned char)*text)))) {
		power = (int)(at - prefixes) + 1;
		text++;
		if (*text == 'i' && text[1])
			text++;
	}
	if (*text == 'B' || *text == 'b')
		text++;
	return *text ? -KILN_EINVAL : power;
}

int units_size(const char *text, uint64_t *out)
{
	const char *end;
	int err = digits(text, &end, out);
	int power;

	if (err)
		return err;
	power = suffix(end);
	if (power < 0)
		return power;
	if (*out > (uint64_t)INT64_MAX >> 10 * power)
		return -KILN_ERANGE;
	*out <<= 10 * power;
	return 0;
}

int units_time(const char *text, uint64_t unit_ns, uint64_t *out)
{
	char *end;
	double value;

	if (!isdigit((unsigned char)*text) || strpbrk(text, "xXpP"))
		return -KILN_EINVAL;
	value = strtod(text, &end);
	if (*end)
		return -KILN_EINVAL;
	value *= (double)unit_ns;
	if (value >= (double)INT64_MAX)
		return -KILN_ERANGE;
	*out = (uint64_t)(value + 0.5);
	return 0;
}

char *units_print_size(char *buf, uint64_t bytes)
{
	double value = (double)bytes;
	int power = 0;

	while (value >= 1023.95 && power < 6) {
		value /= 1024;
		power++;
	}
	if (!power)
		snprintf(buf, UNITS_TEXT, "%" PRIu64 " B", bytes);
	else
		snprintf(buf, UNITS_TEXT, "%.*f %ciB", value < 99.95, value, prefixes[power - 1]);
	return buf;
}

char *units_print_count(char *buf, uint64_t n)
{
	char plain[UNITS_TEXT];
	int len = snprintf(plain, sizeof plain, "%" PRIu64, n), at = 0;

	for (int i = 0; i < len; i++) {
		buf[at++] = plain[i];
		if ((len - i - 1) % 3 == 0 && i + 1 < len)
			buf[at++] = ',';
	}
	buf[at] = '\0';
	return buf;
}

char *units_print_many(char *buf, uint64_t n, const char *one, const char *many)
{
	char count[UNITS_TEXT];

	snprintf(buf, UNITS_TEXT, "%.*s %s", 20, units_print_count(count, n), n == 1 ? one : many);
	return buf;
}

/* print_long: the two largest units: "3 d 4 h". */
static void print_long(char *buf, uint64_t s)
{
	static const struct {
		const char *name;
		uint64_t seconds;
	} units[] = { { "d", 86400 }, { "h", 3600 }, { "min", 60 }, { "s", 1 } };
	size_t i = 0;

	while (i < 3 && s < units[i].seconds)
		i++;
	if (i == 3)
		snprintf(buf, UNITS_TEXT, "%" PRIu64 " s", s);
	else
		snprintf(buf, UNITS_TEXT, "%" PRIu64 " %s %" PRIu64 " %s", s / units[i].seconds,
			 units[i].name, s % units[i].seconds / units[i + 1].seconds,
			 units[i + 1].name);
}

char *units_print_time(char *buf, uint64_t ns)
{
	if (ns >= 10 * NS_PER_S)
		print_long(buf, ns / NS_PER_S);
	else if (ns >= NS_PER_S)
		snprintf(buf, UNITS_TEXT, "%.1f s", (double)ns / NS_PER_S);
	else if (ns >= NS_PER_MS)
		snprintf(buf, UNITS_TEXT, "%.*f ms", ns < 100 * NS_PER_MS, (double)ns / NS_PER_MS);
	else
		snprintf(buf, UNITS_TEXT, "%.*f us", ns < 100 * NS_PER_US, (double)ns / NS_PER_US);
	return buf;
}

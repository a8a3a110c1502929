#include "bench/options.h"

#include "base/err.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
	const char *name;
	size_t offset;
	enum option_type type;
	double initial, min, max;
	unsigned commands;
	const char *metavar, *text;
};

static const struct row rows[] = {
#define X(field, type, initial, min, max, commands, metavar, text) \
	{ #field, offsetof(struct options, field), OPT_##type, initial, min, max, commands, \
	  metavar, text },
	OPTIONS(X)
#undef X
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

static void spell(const struct row *row, char out[32])
{
	snprintf(out, 32, "--%s", row->name);
	for (char *c = out + 2; *c; c++)
		if (*c == '_')
			*c = '-';
}

static const struct row *find(const char *word, size_t len)
{
	char name[32];

	for (unsigned i = 0; i < N_ROWS; i++) {
		spell(&rows[i], name);
		if (strlen(name) == len && memcmp(name, word, len) == 0)
			return &rows[i];
	}
	return NULL;
}

static int complain(const char *what, const char *word)
{
	fprintf(stderr, "kiln-bench: %s '%s'; try 'kiln-bench help'\n", what, word);
	return -KILN_EINVAL;
}

/* "90", "1.5s", "200ms", "2m", "3%" */
static int parse_value(const struct row *row, const char *text, double *out)
{
	static const struct {
		const char *suffix;
		double factor;
		enum option_type type;
	} units[] = { { "ms", 1e-3, OPT_SECONDS }, { "s", 1, OPT_SECONDS },
		      { "m", 60, OPT_SECONDS },	   { "h", 3600, OPT_SECONDS },
		      { "%", 1, OPT_PERCENT } };
	char *end;
	bool known = false;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return complain("not a number:", text);
	*out = strtod(text, &end);
	for (unsigned i = 0; *end && i < sizeof units / sizeof units[0]; i++)
		if (units[i].type == row->type && strcmp(units[i].suffix, end) == 0) {
			*out *= units[i].factor;
			known = true;
		}
	if (*end && !known)
		return complain("not a number of the right unit:", text);
	if (*out < row->min || *out > row->max)
		return complain("out of range:", text);
	return 0;
}

static int store(struct options *o, const struct row *row, const char *value)
{
	char *at = (char *)o + row->offset;
	double number = 0;
	int rc = 0;

	if (row->type == OPT_TEXT) {
		memcpy(at, &value, sizeof value);
		return 0;
	}
	if (row->type == OPT_FLAG) {
		*(bool *)at = true;
		return 0;
	}
	rc = parse_value(row, value, &number);
	if (rc == 0 && row->type == OPT_COUNT) {
		uint64_t n = (uint64_t)number;

		if ((double)n < number)
			return complain("not a whole number:", value);
		memcpy(at, &n, sizeof n);
	} else if (rc == 0) {
		memcpy(at, &number, sizeof number);
	}
	return rc;
}

static void set_initial(struct options *o)
{
	for (unsigned i = 0; i < N_ROWS; i++) {
		char *at = (char *)o + rows[i].offset;
		uint64_t n = (uint64_t)rows[i].initial;

		if (rows[i].type == OPT_COUNT)
			memcpy(at, &n, sizeof n);
		if (rows[i].type == OPT_SECONDS || rows[i].type == OPT_PERCENT)
			memcpy(at, &rows[i].initial, sizeof rows[i].initial);
	}
}

/* One option and, unless it stands behind '=', its value from the next word. */
static int take(struct options *o, int argc, char **argv, int *i, unsigned command)
{
	const char *word = argv[*i], *equals = strchr(word, '=');
	const struct row *row = find(word, equals ? (size_t)(equals - word) : strlen(word));
	const char *value = equals ? equals + 1 : NULL;

	if (!row || !(row->commands & command))
		return complain(row ? "this command has no option" : "unknown option", word);
	if (row->type == OPT_FLAG)
		return equals ? complain("takes no value:", word) : store(o, row, NULL);
	if (!value && *i + 1 < argc)
		value = argv[++*i];
	return value ? store(o, row, value) : complain("needs a value:", word);
}

int options_parse(struct options *o, int argc, char **argv, int first, unsigned command)
{
	bool only_words = false;
	int rc = 0;

	memset(o, 0, sizeof *o);
	set_initial(o);
	for (int i = first; rc == 0 && i < argc; i++) {
		if (!only_words && strcmp(argv[i], "--") == 0)
			only_words = true;
		else if (!only_words && strncmp(argv[i], "--", 2) == 0)
			rc = take(o, argc, argv, &i, command);
		else if (o->n_words == OPTIONS_WORDS)
			rc = complain("too many arguments at", argv[i]);
		else
			o->word[o->n_words++] = argv[i];
	}
	return rc;
}

void options_print(unsigned command)
{
	char name[32], full[64];

	for (unsigned i = 0; i < N_ROWS; i++) {
		if (!(rows[i].commands & command))
			continue;
		spell(&rows[i], name);
		snprintf(full, sizeof full, "%s %s", name, rows[i].metavar);
		printf("  %-20s %s", full, rows[i].text);
		if (rows[i].type != OPT_TEXT && rows[i].type != OPT_FLAG && rows[i].initial > 0)
			printf(" [%g]", rows[i].initial);
		printf("\n");
	}
}

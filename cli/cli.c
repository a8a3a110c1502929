#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/units.h"

enum cli_exit cli_exit_of(int err)
{
	switch (err < 0 ? -err : err) {
	case KILN_OK:
		return CLI_OK;
	case KILN_ENOVOLUME:
		return CLI_NO_VOLUME;
	case KILN_EVOLBUSY:
	case KILN_EVOLEXIST:
	case KILN_ELOCKED:
		return CLI_IN_USE;
	case KILN_EPERM:
	case KILN_EACCES:
		return CLI_NO_PERMISSION;
	case KILN_EVERSION:
		return CLI_VERSION;
	case KILN_ECORRUPT:
	case KILN_EBADSTORE:
		return CLI_DAMAGED;
	case KILN_ENOSPC:
	case KILN_EQUOTA:
		return CLI_NO_SPACE;
	case KILN_ECLOSED:
	case KILN_ESHUTDOWN:
		return CLI_NO_SERVER;
	case KILN_EVOLNAME:
	case KILN_EINVAL:
		return CLI_USAGE;
	default:
		return CLI_FAILED;
	}
}

static void __attribute__((format(printf, 1, 0))) say(const char *fmt, va_list args)
{
	fflush(stdout);
	fputs("kiln: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
}

void cli_warn(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
}

void cli_die(enum cli_exit code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
	exit(code);
}

void cli_usage(const struct cli_command *command, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
	fprintf(stderr, "usage: kiln %s%s%s\nSee 'kiln %s --help'.\n", command->name,
		*command->usage ? " " : "", command->usage, command->name);
	exit(CLI_USAGE);
}

void cli_server(const char *option, struct address *out)
{
	char why[512];
	int err = option ? address_parse(out, option, why, sizeof why)
			 : address_default(out, why, sizeof why);

	if (err)
		cli_die(CLI_USAGE, "%s", why);
}

/* --- help ---------------------------------------------------------------------------- */

enum { HELP_COLUMN = 28, HELP_WIDTH = 80 };

/* wrap: text in columns [column, HELP_WIDTH), the cursor being at column already. */
static void wrap(const char *text, int column)
{
	int at = column;

	while (*text) {
		int len = (int)strcspn(text, " ");

		if (at + len > HELP_WIDTH && at > column) {
			printf("\n%*s", column, "");
			at = column;
		}
		printf("%.*s", len, text);
		at += len;
		text += len;
		if (*text == ' ') {
			text++;
			if (at + 1 + (int)strcspn(text, " ") <= HELP_WIDTH) {
				putchar(' ');
				at++;
			} else {
				at = HELP_WIDTH + 1;
			}
		}
	}
	putchar('\n');
}

static void help_option(const struct cli_option *o)
{
	char left[64], right[256];
	const char *unit = o->type == CLI_CHOICE ? o->choices : o->unit;

	snprintf(left, sizeof left, "  %s%c%s--%s%s%s%s", o->letter ? "-" : " ",
		 o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name, unit ? " " : "",
		 unit ? unit : "", o->type == CLI_LIST ? " ..." : "");
	snprintf(right, sizeof right, "%s%s%s%s", o->text, o->preset ? " (default: " : "",
		 o->preset ? o->preset : "", o->preset ? ")" : "");
	if (strlen(left) + 2 > HELP_COLUMN)
		printf("%s\n%*s", left, HELP_COLUMN, "");
	else
		printf("%-*s", HELP_COLUMN, left);
	wrap(right, HELP_COLUMN);
}

void cli_help(const struct cli_command *command, const struct cli_option *options)
{
	static const struct cli_option help = { .name = "help", .letter = 'h',
						.text = "show this help" };

	printf("Usage: kiln %s%s%s\n\n", command->name, *command->usage ? " " : "", command->usage);
	wrap(command->text, 0);
	if (command->more)
		printf("\n%s\n", command->more);
	printf("\nOptions:\n");
	for (const struct cli_option *o = options; o && o->name; o++)
		help_option(o);
	help_option(&help);
}

/* --- parsing ------------------------------------------------------------------------- */

struct parse {
	const struct cli_command *command;
	const struct cli_option *options;
	void *values;
	int argc;
	char **argv;
	int at;       /* next word to look at */
	int operands; /* found so far, moved to argv[0..operands) */
};

static bool choice_allowed(const char *choices, const char *word)
{
	size_t len = strlen(word);

	for (const char *c = choices;; c++) {
		size_t n = strcspn(c, "|");

		if (n == len && !memcmp(c, word, n))
			return true;
		c += n;
		if (!*c)
			return false;
	}
}

static void store_number(const struct parse *p, const struct cli_option *o, const char *text,
			 uint64_t *out)
{
	int err = o->type == CLI_SIZE      ? units_size(text, out)
		  : o->type == CLI_SECONDS ? units_time(text, NS_PER_S, out)
		  : o->type == CLI_MILLIS  ? units_time(text, NS_PER_MS, out)
		  : o->type == CLI_MICROS  ? units_time(text, NS_PER_US, out)
					   : units_number(text, out);

	if (err == -KILN_ERANGE || (!err && o->max && *out > o->max))
		cli_usage(p->command, "--%s: %s is too large", o->name, text);
	if (!err)
		return;
	if (o->type == CLI_SIZE)
		cli_usage(p->command,
			  "--%s: '%s' is not a size: a whole number of bytes, or one with K, M, "
			  "G, T or P behind it (powers of 1024)", o->name, text);
	cli_usage(p->command, "--%s: '%s' is not a number%s", o->name, text,
		  o->type == CLI_SECONDS  ? " of seconds"
		  : o->type == CLI_MILLIS ? " of milliseconds"
		  : o->type == CLI_MICROS ? " of microseconds"
					  : "");
}

static void store(const struct parse *p, const struct cli_option *o, const char *text)
{
	void *at = (char *)p->values + o->offset;
	struct cli_list *list = at;

	switch (o->type) {
	case CLI_FLAG:
		*(bool *)at = true;
		break;
	case CLI_CHOICE:
		if (!choice_allowed(o->choices, text))
			cli_usage(p->command, "--%s: '%s' is not one of %s", o->name, text,
				  o->choices);
		*(const char **)at = text;
		break;
	case CLI_STRING:
		*(const char **)at = text;
		break;
	case CLI_LIST:
		if (list->count == CLI_LIST_MAX)
			cli_usage(p->command, "--%s: given more than %d times", o->name,
				  CLI_LIST_MAX);
		list->item[list->count++] = text;
		break;
	case CLI_SIZE:
	case CLI_NUMBER:
	case CLI_SECONDS:
	case CLI_MILLIS:
	case CLI_MICROS:
		store_number(p, o, text, at);
		break;
	}
}

static const char *take_word(struct parse *p, const struct cli_option *o)
{
	if (p->at == p->argc)
		cli_usage(p->command, "--%s needs a value: %s", o->name,
			  o->type == CLI_CHOICE ? o->choices : o->unit);
	return p->argv[p->at++];
}

static void help_and_exit(const struct parse *p)
{
	cli_help(p->command, p->options);
	exit(fflush(stdout) ? CLI_FAILED : CLI_OK);
}

static void unknown_long(const struct parse *p, const char *word)
{
	const char *names[64];
	size_t count = 0;
	int best;

	for (const struct cli_option *o = p->options; o && o->name && count < 64; o++)
		names[count++] = o->name;
	best = cli_suggest(word, names, count);
	if (best >= 0)
		cli_usage(p->command, "no option --%s; did you mean --%s?", word, names[best]);
	cli_usage(p->command, "no option --%s", word);
}

static void parse_long(struct parse *p, char *word)
{
	char *value = strchr(word, '=');
	const struct cli_option *o = p->options;

	if (value)
		*value++ = '\0';
	if (!strcmp(word, "help"))
		help_and_exit(p);
	while (o && o->name && strcmp(o->name, word))
		o++;
	if (!o || !o->name) {
		unknown_long(p, word);
		return;
	}
	if (o->type == CLI_FLAG && value)
		cli_usage(p->command, "--%s takes no value", word);
	store(p, o, o->type == CLI_FLAG ? NULL : value ? value : take_word(p, o));
}

static void parse_short(struct parse *p, const char *letters)
{
	for (; *letters; letters++) {
		const struct cli_option *o = p->options;

		if (*letters == 'h')
			help_and_exit(p);
		while (o && o->name && o->letter != *letters)
			o++;
		if (!o || !o->name) {
			cli_usage(p->command, "no option -%c", *letters);
		} else if (o->type == CLI_FLAG) {
			store(p, o, NULL);
		} else {
			store(p, o, letters[1] ? letters + 1 : take_word(p, o));
			return;
		}
	}
}

int cli_parse(const struct cli_command *command, const struct cli_option *options, void *values,
	      int argc, char **argv, int min, int max)
{
	struct parse p = { command, options, values, argc, argv, 1, 0 };
	bool only_operands = false;

	while (p.at < argc) {
		char *word = argv[p.at++];

		if (only_operands || word[0] != '-' || !word[1])
			argv[p.operands++] = word;
		else if (!strcmp(word, "--"))
			only_operands = true;
		else if (word[1] == '-')
			parse_long(&p, word + 2);
		else
			parse_short(&p, word + 1);
	}
	if (p.operands < min)
		cli_usage(command, "too few arguments");
	if (max >= 0 && p.operands > max)
		cli_usage(command, "one argument too many: '%s'", argv[max]);
	return p.operands;
}

/* --- suggestions --------------------------------------------------------------------- */

enum { SUGGEST_LEN = 32 };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* distance: insertions, deletions and changes that make a into b; both shorter than SUGGEST_LEN. */
static size_t distance(const char *a, const char *b)
{
	size_t row[SUGGEST_LEN + 1], n = strlen(b);

	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t change = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			row[j] = least(change, least(row[j], row[j - 1]) + 1);
		}
	}
	return row[n];
}

int cli_suggest(const char *word, const char *const *names, size_t count)
{
	size_t best = 3;
	int found = -1;

	if (strlen(word) >= SUGGEST_LEN)
		return -1;
	for (size_t i = 0; i < count; i++) {
		size_t d = strlen(names[i]) < SUGGEST_LEN ? distance(word, names[i]) : best;

		if (d < best && d < strlen(word)) {
			best = d;
			found = (int)i;
		}
	}
	return found;
}

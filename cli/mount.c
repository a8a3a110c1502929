/* kiln mount, and mount.kiln, which mount(8) calls for `mount -t kiln` and for fstab. */
#include "client/mount.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/cli.h"

struct values {
	struct cli_list lists;
	bool foreground, relay;
	const char *soft, *log, *server;
};

static const struct cli_option options[] = {
	{ .name = "options", .letter = 'o', .type = CLI_LIST,
	  .offset = offsetof(struct values, lists), .unit = "LIST",
	  .text = "mount options, separated by commas" },
	{ .name = "foreground", .letter = 'f', .type = CLI_FLAG,
	  .offset = offsetof(struct values, foreground),
	  .text = "stay in the foreground and log to standard error" },
	{ .name = "soft", .type = CLI_STRING, .offset = offsetof(struct values, soft),
	  .unit = "SECONDS", .preset = "wait for ever",
	  .text = "give errors after so long without a server" },
	{ .name = "relay", .type = CLI_FLAG, .offset = offsetof(struct values, relay),
	  .text = "pass messages on instead of handing /dev/fuse over" },
	{ .name = "log", .type = CLI_STRING, .offset = offsetof(struct values, log),
	  .unit = "FILE", .preset = "the system's log",
	  .text = "where the background process logs" },
	CLI_OPTION_SERVER(struct values),
	{ 0 },
};

static int run(const struct mount_request *q)
{
	char why[1024];
	int err = mount_run(q, why, sizeof why);

	if (err)
		cli_die(cli_exit_of(err), "%s", why);
	return CLI_OK;
}

static void add_list(struct mount_options *o, const char *list)
{
	char why[512];
	int err = options_parse(o, list, why, sizeof why);

	if (err)
		cli_die(CLI_USAGE, "%s", why);
}

/* A word option in the form of its row in the table of mount options. */
static void add_value(struct mount_options *o, const char *name, const char *value)
{
	char word[512];

	if (!value)
		return;
	if (strchr(value, ',') || strlen(value) > 400)
		cli_die(CLI_USAGE, "--%s: '%s' cannot be right", name, value);
	snprintf(word, sizeof word, "%s=%s", name, value);
	add_list(o, word);
}

int cli_mount(const struct cli_command *command, int argc, char **argv)
{
	struct values v = { .foreground = false };
	struct mount_request q = { .source = NULL };

	cli_parse(command, options, &v, argc, argv, 2, 2);
	for (unsigned i = 0; i < v.lists.count; i++)
		add_list(&q.options, v.lists.item[i]);
	add_value(&q.options, "soft", v.soft);
	add_value(&q.options, "server", v.server);
	q.options.relay |= v.relay;
	q.foreground = v.foreground;
	q.log_file = v.log;
	q.source = argv[0];
	q.dir = argv[1];
	return run(&q);
}

static void __attribute__((noreturn)) helper_usage(void)
{
	cli_die(CLI_USAGE, "usage: mount.kiln SOURCE DIR [-sfnv] [-N NAMESPACE] [-t TYPE] "
			   "[-o OPTIONS]");
}

/* One word of mount(8)'s: letters without a value may stand together. */
static void helper_letters(struct mount_request *q, const char *word, char **argv, int *i)
{
	const char *value;

	for (const char *c = word + 1; *c; c++) {
		switch (*c) {
		case 's':
			q->options.sloppy = true;
			break;
		case 'f':
			q->fake = true;
			break;
		case 'n': /* there is no mtab */
		case 'v':
			break;
		case 'o':
		case 't':
		case 'N': /* mount(8) has entered the name space already */
			value = c[1] ? c + 1 : argv[++*i];
			if (!value)
				helper_usage();
			if (*c == 'o')
				add_list(&q->options, value);
			return;
		default:
			helper_usage();
		}
	}
}

/* Looked for first: it changes what -o means. */
static bool has_sloppy(char **argv)
{
	for (int i = 1; argv[i]; i++)
		if (argv[i][0] == '-' && strspn(argv[i] + 1, "sfnv") == strlen(argv[i] + 1) &&
		    strchr(argv[i], 's'))
			return true;
	return false;
}

int cli_mount_helper(int argc, char **argv)
{
	struct mount_request q = { .options.sloppy = has_sloppy(argv) };
	const char *operand[2];
	int count = 0;

	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-' && argv[i][1])
			helper_letters(&q, argv[i], argv, &i);
		else if (count < 2)
			operand[count++] = argv[i];
		else
			helper_usage();
	}
	if (count < 2)
		helper_usage();
	q.source = operand[0];
	q.dir = operand[1];
	return run(&q);
}

/* kiln check: whether what lies in a data directory is in order.  Beside serve.c the one command
 * that opens a store itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/cli.h"
#include "cli/units.h"
#include "store/check.h"
#include "store/schema.h"
#include "store/store.h"

static const struct cli_option options[] = { { 0 } };

/* What is found over all volumes. */
struct found {
	struct txn *reader;
	char volume[VOLUME_NAME_MAX + 1]; /* being checked; empty: none yet */
	unsigned volumes;
	uint64_t problems;
};

static void print_problem(void *context, const char *text)
{
	const struct found *f = context;

	printf("%s: %s\n", f->volume, text);
}

static void print_volume(const struct found *f, const struct check *c)
{
	char inodes[UNITS_TEXT], names[UNITS_TEXT], size[UNITS_TEXT], problems[UNITS_TEXT];

	printf("%s: %s, %s, %s: %s\n", f->volume,
	       units_print_many(inodes, c->inodes, "inode", "inodes"),
	       units_print_many(names, c->names, "name", "names"),
	       units_print_size(size, c->blocks * 512),
	       c->problems ? units_print_many(problems, c->problems, "problem", "problems")
			   : "in order");
}

static int check_volume(void *context, const struct volume_record *r)
{
	struct found *f = context;
	struct check c = { .told = print_problem, .context = f };
	int err;

	if (r->deleting) /* goes away bit by bit */
		return 0;
	memcpy(f->volume, r->name, sizeof(f->volume)); /* r is gone when an error is told */
	f->volumes++;
	txn_look(f->reader, r->brick, NULL);
	err = check_brick(f->reader, &c);
	if (!err)
		print_volume(f, &c);
	f->problems += c.problems;
	return err;
}

static void end_in_error(const char *dir, const struct found *f, int err)
{
	if (f->volume[0])
		cli_die(cli_exit_of(err), "volume %s of %s cannot be read to the end: %s", f->volume, dir,
			err_text(err));
	cli_die(cli_exit_of(err), "the list of volumes of %s cannot be read: %s", dir, err_text(err));
}

/* check_all: volumes one by one; the reader of the list is another, as it is in use meanwhile. */
static int check_all(struct store *s, struct found *f)
{
	struct txn *list = txn_reader_new(s);
	int err = -KILN_ENOMEM;

	f->reader = txn_reader_new(s);
	if (list && f->reader) {
		txn_may_block(list, true);
		txn_may_block(f->reader, true);
		txn_look(list, 0, NULL);
		err = volume_record_each(list, check_volume, f);
	}
	txn_free(f->reader);
	txn_free(list);
	return err;
}

int cli_check(const struct cli_command *command, int argc, char **argv)
{
	struct store_options o = { .create = false };
	struct found f = { 0 };
	struct store *s;
	const char *dir;
	char text[UNITS_TEXT], *why;
	int err;

	cli_parse(command, options, NULL, argc, argv, 1, 1);
	dir = argv[0];
	err = store_open(dir, &o, &s, &why);
	if (err)
		cli_die(cli_exit_of(err), "%s", why ? why : err_text(err));
	err = check_all(s, &f);
	store_close(s);
	if (err)
		end_in_error(dir, &f, err);
	if (f.problems)
		cli_die(CLI_DAMAGED, "%s is damaged: %s; copy what you need from a mount, or go back "
			"to a backup", dir, units_print_many(text, f.problems, "problem", "problems"));
	printf("%s: %s, all in order\n", dir,
	       units_print_many(text, f.volumes, "volume", "volumes"));
	return CLI_OK;
}

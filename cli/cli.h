/* What every sub-command of `kiln` shares: exit codes, the option tables, errors.
 *
 * A command is one row in kiln.c and one function; its options are one table, from which
 * `--help`, parsing and its complaints are made.  Everything here is for one thread. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address.h"

/* Exit codes, the only place that states them (kiln.1 repeats the table).
 *        name           code  meaning */
#define CLI_EXITS(X) \
	X(OK,            0, "done") \
	X(FAILED,        1, "failed; the message says why") \
	X(USAGE,         2, "the command line is wrong") \
	X(NO_SERVER,     3, "no server answers at the address") \
	X(NO_VOLUME,     4, "no such volume") \
	X(IN_USE,        5, "in use: volume mounted, name taken, data directory or mount point busy") \
	X(NO_PERMISSION, 6, "no permission") \
	X(VERSION,       7, "written or spoken by a newer version of kiln") \
	X(DAMAGED,       8, "stored data is damaged, or the store has failed") \
	X(NO_SPACE,      9, "no space left")

enum cli_exit {
#define X(name, code, text) CLI_##name = code,
	CLI_EXITS(X)
#undef X
};

/* cli_exit_of: the exit code for a -KILN_Exxx (either sign). */
enum cli_exit cli_exit_of(int err);

/* cli_die: "kiln: ..." on standard error, then exit(code).  cli_warn: the line alone. */
void cli_die(enum cli_exit code, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));
void cli_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

enum cli_type {
	CLI_FLAG,    /* bool */
	CLI_STRING,  /* const char *, into argv */
	CLI_LIST,    /* struct cli_list: the option may be given again */
	CLI_SIZE,    /* uint64_t: bytes, with K M G T P */
	CLI_NUMBER,  /* uint64_t */
	CLI_SECONDS, /* uint64_t: nanoseconds, given in seconds, fractions allowed */
	CLI_MILLIS,  /* uint64_t: nanoseconds, given in milliseconds */
	CLI_MICROS,  /* uint64_t: nanoseconds, given in microseconds */
	CLI_CHOICE,  /* const char *: one of `choices` */
};

enum { CLI_LIST_MAX = 32 };
struct cli_list {
	const char *item[CLI_LIST_MAX + 1]; /* into argv; NULL behind the last */
	unsigned count;
};

/* One option.  A table ends with a row whose name is NULL. */
struct cli_option {
	const char *name;    /* without the two dashes */
	char letter;         /* short form, or 0 */
	enum cli_type type;
	size_t offset;       /* of its member in the command's struct of values */
	const char *unit;    /* what help writes behind it: "SIZE"; NULL for a flag */
	const char *preset;  /* default, for help; NULL if there is none worth saying */
	const char *text;
	const char *choices; /* CLI_CHOICE: "fsync|op" */
	uint64_t max;        /* CLI_NUMBER: largest value; 0: no limit */
};
/* The options of every command that talks to a server.  server: offset of a const char *. */
#define CLI_OPTION_SERVER(values) \
	{ .name = "server", .letter = 's', .type = CLI_STRING, .offset = offsetof(values, server), \
	  .unit = "ADDRESS", .preset = "$KILN_SERVER", \
	  .text = "the server's socket, unix:PATH" }
#define CLI_OPTION_JSON(values) \
	{ .name = "json", .type = CLI_FLAG, .offset = offsetof(values, json), \
	  .text = "print JSON instead of text" }
#define CLI_OPTION_BYTES(values) \
	{ .name = "bytes", .letter = 'b', .type = CLI_FLAG, .offset = offsetof(values, bytes), \
	  .text = "print sizes exactly, in bytes" }

/* One row of kiln.c's table.  run gets argv with argv[0] the command's (last) name and returns
 * an exit code. */
struct cli_command {
	const char *name;  /* one or two words: "status", "volume create" */
	const char *usage; /* what follows the name: "VOLUME DIR [-o OPTIONS]" */
	const char *text;  /* one line for the list of commands */
	int (*run)(const struct cli_command *command, int argc, char **argv);
	const char *more;  /* further paragraphs for --help, or NULL */
};

/* cli_parse: options into *values (a struct the table's offsets speak of, zeroed or preset by
 * the caller), everything else into argv[0..n), whose count it returns.  --help and -h print the
 * command's help and exit; anything wrong is said and exits with CLI_USAGE.  Fewer operands
 * than min or more than max (-1: any) is wrong. */
int cli_parse(const struct cli_command *command, const struct cli_option *options, void *values,
	      int argc, char **argv, int min, int max);
/* cli_usage: says what is wrong with this command's line, points to its --help, exits. */
void cli_usage(const struct cli_command *command, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));
void cli_help(const struct cli_command *command, const struct cli_option *options);

/* cli_suggest: index of the word most like `word`, -1 if none is near.  names: count words. */
int cli_suggest(const char *word, const char *const *names, size_t count);
/* cli_server: the server to use: what --server said, or the default (base/address.h); exits
 * with CLI_USAGE if that is not an address. */
void cli_server(const char *option, struct address *out);

/* --- commands; kiln.c has the table -------------------------------------------------- */
int cli_serve(const struct cli_command *command, int argc, char **argv);
int cli_volume_create(const struct cli_command *command, int argc, char **argv);
int cli_volume_list(const struct cli_command *command, int argc, char **argv);
int cli_volume_info(const struct cli_command *command, int argc, char **argv);
int cli_volume_set(const struct cli_command *command, int argc, char **argv);
int cli_volume_rename(const struct cli_command *command, int argc, char **argv);
int cli_volume_delete(const struct cli_command *command, int argc, char **argv);
int cli_mount(const struct cli_command *command, int argc, char **argv);
/* cli_mount_helper: the whole command line of mount.kiln. */
int cli_mount_helper(int argc, char **argv);
int cli_umount(const struct cli_command *command, int argc, char **argv);
int cli_status(const struct cli_command *command, int argc, char **argv);
int cli_check(const struct cli_command *command, int argc, char **argv);
int cli_bench(const struct cli_command *command, int argc, char **argv);

#endif

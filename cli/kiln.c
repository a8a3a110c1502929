/* kiln: one binary, one table of commands. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static int cli_version(const struct cli_command *command, int argc, char **argv);
static int cli_help_command(const struct cli_command *command, int argc, char **argv);

static const struct cli_command commands[] = {
	{ "serve", "DIR [--listen ADDRESS ...] [OPTION...]",
	  "Serve the volumes of the data directory DIR.", cli_serve,
	  "DIR is made if it is missing, and a new store in it if it is empty. The server\n"
	  "stays in the foreground and prints one line when clients can connect. SIGTERM\n"
	  "and SIGINT stop it, SIGHUP opens the log anew." },
	{ "volume create", "NAME [OPTION...]", "Create a volume.", cli_volume_create, NULL },
	{ "volume list", "[OPTION...]", "List the volumes.", cli_volume_list, NULL },
	{ "volume info", "NAME [OPTION...]", "Show one volume: settings, use, clients.",
	  cli_volume_info, NULL },
	{ "volume set", "NAME KEY=VALUE...", "Change a volume's settings, also while it is in use.",
	  cli_volume_set,
	  "Settings:\n"
	  "  durability=fsync|op  cache=ttl|none  read-only=yes|no  quota=SIZE|none\n"
	  "  inodes=N|none" },
	{ "volume rename", "OLD NEW", "Give a volume another name; mounts go on.",
	  cli_volume_rename, NULL },
	{ "volume delete", "NAME [--force] [--yes]",
	  "Delete a volume and everything in it.", cli_volume_delete,
	  "The name is free at once; the space comes back over the next minutes." },
	{ "mount", "VOLUME DIR [OPTION...]", "Mount a volume on a directory.", cli_mount,
	  "VOLUME may name its server: unix:PATH/VOLUME, tcp:HOST:PORT/VOLUME. It returns\n"
	  "when the mount answers. While the server is away, operations wait for it.\n\n"
	  "Mount options: ro rw dev nodev suid nosuid exec noexec atime noatime diratime\n"
	  "nodiratime relatime strictatime sync dirsync allow_other, and server=ADDRESS\n"
	  "soft=SECONDS hard relay fsname=TEXT; those for fstab alone are ignored." },
	{ "umount", "DIR [OPTION...]", "Unmount, and wait until the mount's process has ended.",
	  cli_umount, NULL },
	{ "status", "[OPTION...]", "Show the server, its store, volumes and clients.", cli_status,
	  NULL },
	{ "check", "DIR", "Check the data directory DIR, while no server has it.",
	  cli_check,
	  "All of the database is read. What a server would do when it starts is done\n"
	  "first: changes that are in the journal only are brought into the database.\n"
	  "Nothing is repaired. The bytes of files larger than 64 KiB are files of the file\n"
	  "system below, and are not looked at." },
	{ "bench", "[ARGUMENT...]", "Measure any mounted file system: runs kiln-bench.", cli_bench,
	  NULL },
	{ "version", "", "Print the version.", cli_version, NULL },
	{ "help", "[COMMAND]", "Show this list, or the help of a command.", cli_help_command,
	  NULL },
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_commands(const char *group)
{
	size_t len = strlen(group);

	for (size_t i = 0; i < COMMANDS; i++)
		if (!strncmp(commands[i].name, group, len))
			printf("  %-15s %s\n", commands[i].name, commands[i].text);
}

static void print_overview(void)
{
	printf("kiln serves many small durable volumes from one process.\n\n"
	       "Usage: kiln COMMAND [ARGUMENT...]\n\nCommands:\n");
	print_commands("");
	printf("\n'kiln COMMAND --help' shows a command's options; kiln(1) has all of it.\n"
	       "The server is $KILN_SERVER, or unix:/run/kiln/kiln.sock for root and\n"
	       "unix:$XDG_RUNTIME_DIR/kiln/kiln.sock for others.\n\nExit codes:\n");
#define X(name, code, text) printf("  %d  %s\n", code, text);
	CLI_EXITS(X)
#undef X
}

static int cli_version(const struct cli_command *command, int argc, char **argv)
{
	static const struct cli_option options[] = { { 0 } };

	cli_parse(command, options, NULL, argc, argv, 0, 0);
	printf("kiln %s\n", KILN_VERSION);
	return CLI_OK;
}

/* is_group: `word` is the first word of two-word commands. */
static bool is_group(const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i < COMMANDS; i++)
		if (!strncmp(commands[i].name, word, len) && commands[i].name[len] == ' ')
			return true;
	return false;
}

static void __attribute__((noreturn)) unknown(const char *what, const char *word)
{
	const char *names[COMMANDS + 1];
	int best;

	for (size_t i = 0; i < COMMANDS; i++)
		names[i] = commands[i].name;
	names[COMMANDS] = "volume";
	best = cli_suggest(word, names, COMMANDS + 1);
	if (best >= 0)
		cli_die(CLI_USAGE, "no %s '%s'; did you mean 'kiln %s'?", what, word, names[best]);
	cli_die(CLI_USAGE, "no %s '%s'; 'kiln --help' lists them", what, word);
}

/* find: the command that argv[0..argc) begins with; *words: how many words its name has. */
static const struct cli_command *find(int argc, char **argv, int *words)
{
	char name[64];

	*words = argc > 1 && is_group(argv[0]) ? 2 : 1;
	snprintf(name, sizeof name, "%s%s%s", argv[0], *words == 2 ? " " : "",
		 *words == 2 ? argv[1] : "");
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	unknown("command", name);
}

static int print_group(const char *group)
{
	printf("Usage: kiln %s COMMAND [ARGUMENT...]\n\nCommands:\n", group);
	print_commands(group);
	printf("\n'kiln %s COMMAND --help' shows a command's options.\n", group);
	return CLI_OK;
}

static bool asks_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help");
}

static int run(int argc, char **argv)
{
	const struct cli_command *command;
	int words;

	if (is_group(argv[0])) {
		if (argc == 1)
			cli_die(CLI_USAGE, "'kiln %s' needs a command; 'kiln %s --help' lists them",
				argv[0], argv[0]);
		if (asks_help(argv[1]))
			return print_group(argv[0]);
	}
	command = find(argc, argv, &words);
	return command->run(command, argc - words + 1, argv + words - 1);
}

static int cli_help_command(const struct cli_command *command, int argc, char **argv)
{
	static char help[] = "--help";
	char *line[4] = { 0 };

	if (argc == 1) {
		print_overview();
		return CLI_OK;
	}
	if (argc > 3)
		cli_usage(command, "one argument too many: '%s'", argv[3]);
	memcpy(line, argv + 1, sizeof *line * (size_t)(argc - 1));
	line[argc - 1] = help;
	if (asks_help(line[0]))
		cli_help(command, NULL);
	else
		return run(argc, line);
	return CLI_OK;
}

int main(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	int code;

	if (argc > 0 && !strcmp(slash ? slash + 1 : argv[0], "mount.kiln"))
		return cli_mount_helper(argc, argv);
	if (argc < 2)
		cli_die(CLI_USAGE, "a command is missing; 'kiln --help' lists them");
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		return cli_version(&commands[COMMANDS - 2], 1, argv);
	if (asks_help(argv[1]) && argc == 2) {
		print_overview();
		code = CLI_OK;
	} else {
		code = run(argc - 1, argv + 1);
	}
	if (fflush(stdout) || ferror(stdout))
		cli_die(CLI_FAILED, "cannot write to standard output");
	return code;
}

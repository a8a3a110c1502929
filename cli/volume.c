/* kiln volume create, list, info, set, rename, delete. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/http.h"
#include "cli/units.h"

struct values {
	const char *server, *durability, *cache;
	uint64_t quota, inodes;
	bool read_only, json, bytes, force, yes;
};

static const struct cli_option server_only[] = { CLI_OPTION_SERVER(struct values), { 0 } };

/* call: one request about volume `name`, or about all (NULL). */
static json_t *call(const struct values *v, const char *method, const char *name, json_t *body)
{
	struct address server;
	char *path = name ? http_volume_path(name) : NULL;
	json_t *answer;

	cli_server(v->server, &server);
	answer = http_call(&server, method, name ? path : "/v1/volumes", body);
	free(path);
	return answer;
}

/* size: as text, exact with --bytes; zero: what a missing limit is called, or NULL. */
static const char *size(char *buf, const struct values *v, uint64_t bytes, const char *zero)
{
	if (!bytes && zero)
		return zero;
	if (!v->bytes)
		return units_print_size(buf, bytes);
	snprintf(buf, UNITS_TEXT, "%" PRIu64, bytes);
	return buf;
}

static const char *count(char *buf, const struct values *v, uint64_t n, const char *zero)
{
	if (!n && zero)
		return zero;
	if (!v->bytes)
		return units_print_count(buf, n);
	snprintf(buf, UNITS_TEXT, "%" PRIu64, n);
	return buf;
}

/* --- create -------------------------------------------------------------------------- */

static const struct cli_option create_options[] = {
	{ .name = "durability", .letter = 'd', .type = CLI_CHOICE,
	  .offset = offsetof(struct values, durability), .preset = "fsync",
	  .choices = "fsync|op",
	  .text = "what is durable when it is answered: with fsync, what fsync(2) and O_SYNC ask for; "
		  "with op, every change of names and attributes too" },
	{ .name = "quota", .letter = 'q', .type = CLI_SIZE,
	  .offset = offsetof(struct values, quota), .unit = "SIZE", .preset = "no limit",
	  .text = "most bytes it may use" },
	{ .name = "inodes", .letter = 'i', .type = CLI_NUMBER,
	  .offset = offsetof(struct values, inodes), .unit = "N", .preset = "no limit",
	  .text = "most files, directories and so on it may hold" },
	{ .name = "cache", .type = CLI_CHOICE, .offset = offsetof(struct values, cache),
	  .preset = "ttl", .choices = "ttl|none",
	  .text = "what clients may cache: names and attributes for a second, or nothing" },
	{ .name = "read-only", .letter = 'r', .type = CLI_FLAG,
	  .offset = offsetof(struct values, read_only), .text = "take no changes" },
	CLI_OPTION_JSON(struct values),
	CLI_OPTION_SERVER(struct values),
	{ 0 },
};

int cli_volume_create(const struct cli_command *command, int argc, char **argv)
{
	struct values v = { .durability = "fsync", .cache = "ttl" };
	json_t *answer;

	cli_parse(command, create_options, &v, argc, argv, 1, 1);
	answer = call(&v, "PUT", argv[0],
		      json_pack("{s:s, s:s, s:b, s:I, s:I}", "durability", v.durability, "cache",
				v.cache, "read_only", (int)v.read_only, "quota_bytes",
				(json_int_t)v.quota, "quota_inodes", (json_int_t)v.inodes));
	if (v.json)
		http_print(answer);
	else
		printf("Volume '%s' created.\n", argv[0]);
	json_decref(answer);
	return CLI_OK;
}

/* --- list ---------------------------------------------------------------------------- */

static const struct cli_option list_options[] = {
	CLI_OPTION_JSON(struct values),
	CLI_OPTION_BYTES(struct values),
	CLI_OPTION_SERVER(struct values),
	{ 0 },
};

static void print_row(const struct values *v, const json_t *volume, int width)
{
	char used[UNITS_TEXT], quota[UNITS_TEXT], inodes[UNITS_TEXT];

	printf("%-*s  %-10s  %12s  %10s  %10s  %7" PRIu64 "%s\n", width, http_text(volume, "name"),
	       http_text(volume, "durability"),
	       count(inodes, v, http_number(volume, "used_inodes"), NULL),
	       size(used, v, http_number(volume, "used_bytes"), NULL),
	       size(quota, v, http_number(volume, "quota_bytes"), "-"),
	       http_number(volume, "clients"), http_flag(volume, "read_only") ? "  read-only" : "");
}

static int name_width(const json_t *list)
{
	const json_t *volume;
	size_t i, width = 4;

	json_array_foreach (list, i, volume) {
		size_t len = strlen(http_text(volume, "name"));

		if (len > width)
			width = len;
	}
	return (int)width;
}

int cli_volume_list(const struct cli_command *command, int argc, char **argv)
{
	struct values v = { 0 };
	json_t *answer, *list, *volume;
	size_t i;
	int width;

	cli_parse(command, list_options, &v, argc, argv, 0, 0);
	answer = call(&v, "GET", NULL, NULL);
	list = json_object_get(answer, "volumes");
	width = name_width(list);
	if (v.json) {
		http_print(answer);
	} else if (!json_array_size(list)) {
		printf("No volumes yet; 'kiln volume create NAME' makes one.\n");
	} else {
		printf("%-*s  %-10s  %12s  %10s  %10s  %7s\n", width, "NAME", "DURABILITY",
		       "INODES", "USED", "QUOTA", "CLIENTS");
		json_array_foreach (list, i, volume)
			print_row(&v, volume, width);
	}
	json_decref(answer);
	return CLI_OK;
}

/* --- info ---------------------------------------------------------------------------- */

static void print_created(const json_t *volume)
{
	time_t t = (time_t)json_integer_value(json_object_get(volume, "created"));
	char text[64] = "?";
	struct tm tm;

	if (localtime_r(&t, &tm))
		strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &tm);
	printf("created     %s\n", text);
}

static void print_use(const struct values *v, const json_t *volume)
{
	char a[UNITS_TEXT], b[UNITS_TEXT];

	printf("bytes       %s used, quota %s\n", size(a, v, http_number(volume, "used_bytes"), NULL),
	       size(b, v, http_number(volume, "quota_bytes"), "none"));
	printf("inodes      %s used, quota %s\n",
	       count(a, v, http_number(volume, "used_inodes"), NULL),
	       count(b, v, http_number(volume, "quota_inodes"), "none"));
	printf("operations  %s reads, ", count(a, v, http_number(volume, "reads"), NULL));
	printf("%s changes since the server started\n",
	       count(a, v, http_number(volume, "changes"), NULL));
	printf("open files  %s", count(a, v, http_number(volume, "opens"), NULL));
	printf(", %s of them without a name\n", count(a, v, http_number(volume, "orphans"), NULL));
}

static void print_client(const json_t *client)
{
	char away[UNITS_TEXT];

	printf("client      %s, %s, %" PRIu64 " open", http_text(client, "host"),
	       http_text(client, "kind"), http_number(client, "opens"));
	if (!http_flag(client, "connected"))
		printf(", away for %s",
		       units_print_time(away, (uint64_t)(http_real(client, "away_s") * NS_PER_S)));
	putchar('\n');
}

int cli_volume_info(const struct cli_command *command, int argc, char **argv)
{
	struct values v = { 0 };
	json_t *volume, *client;
	size_t i;

	cli_parse(command, list_options, &v, argc, argv, 1, 1);
	volume = call(&v, "GET", argv[0], NULL);
	if (v.json) {
		http_print(volume);
	} else {
		printf("name        %s\nuuid        %s\n", http_text(volume, "name"),
		       http_text(volume, "uuid"));
		print_created(volume);
		printf("durability  %s\ncache       %s\nread-only   %s\n",
		       http_text(volume, "durability"), http_text(volume, "cache"),
		       http_flag(volume, "read_only") ? "yes" : "no");
		print_use(&v, volume);
		json_array_foreach (json_object_get(volume, "sessions"), i, client)
			print_client(client);
	}
	json_decref(volume);
	return CLI_OK;
}

/* --- set ----------------------------------------------------------------------------- */

static bool is_none(const char *value)
{
	return !strcmp(value, "none") || !strcmp(value, "0");
}

static json_t *value_word(const char *value)
{
	return json_string(value);
}

static json_t *value_size(const char *value)
{
	uint64_t n = 0;

	return is_none(value) || !units_size(value, &n) ? json_integer((json_int_t)n) : NULL;
}

static json_t *value_count(const char *value)
{
	uint64_t n = 0;

	return is_none(value) || !units_number(value, &n) ? json_integer((json_int_t)n) : NULL;
}

static json_t *value_flag(const char *value)
{
	static const char *const yes[] = { "yes", "true", "on" }, *const no[] = { "no", "false",
										  "off" };

	for (size_t i = 0; i < 3; i++) {
		if (!strcmp(value, yes[i]))
			return json_true();
		if (!strcmp(value, no[i]))
			return json_false();
	}
	return NULL;
}

/* What can be set: its name here, the API's member, how its value is read and described. */
static const struct key {
	const char *name, *member;
	json_t *(*read)(const char *value);
	const char *values;
} keys[] = {
	{ "durability", "durability", value_word, "fsync or op" },
	{ "cache", "cache", value_word, "ttl or none" },
	{ "read-only", "read_only", value_flag, "yes or no" },
	{ "quota", "quota_bytes", value_size, "a size such as 10G, or none" },
	{ "inodes", "quota_inodes", value_count, "a number, or none" },
};
enum { KEYS = sizeof keys / sizeof *keys };

static const struct key *find_key(const struct cli_command *command, const char *word, size_t len)
{
	const char *names[KEYS];
	char name[64];
	int best;

	snprintf(name, sizeof name, "%.*s", (int)len, word);
	for (size_t i = 0; i < KEYS; i++) {
		names[i] = keys[i].name;
		if (!strcmp(name, keys[i].name))
			return &keys[i];
	}
	if (!strcmp(name, "name"))
		cli_usage(command, "a volume's name is changed with 'kiln volume rename OLD NEW'");
	best = cli_suggest(name, names, KEYS);
	if (best >= 0)
		cli_usage(command, "no setting '%s'; did you mean '%s'?", name, names[best]);
	cli_usage(command, "no setting '%s'; there are durability, cache, read-only, quota, inodes",
		  name);
}

static void add_setting(const struct cli_command *command, json_t *body, const char *word)
{
	const char *equals = strchr(word, '=');
	const struct key *key;
	json_t *value;

	if (!equals)
		cli_usage(command, "'%s' is not KEY=VALUE", word);
	key = find_key(command, word, (size_t)(equals - word));
	value = key->read(equals + 1);
	if (!value)
		cli_usage(command, "%s: '%s' is not allowed: give %s", key->name, equals + 1,
			  key->values);
	json_object_set_new(body, key->member, value);
}

int cli_volume_set(const struct cli_command *command, int argc, char **argv)
{
	struct values v = { 0 };
	json_t *body = json_object();
	int n = cli_parse(command, server_only, &v, argc, argv, 2, -1);

	for (int i = 1; i < n; i++)
		add_setting(command, body, argv[i]);
	json_decref(call(&v, "PATCH", argv[0], body));
	return CLI_OK;
}

/* --- rename, delete ------------------------------------------------------------------ */

int cli_volume_rename(const struct cli_command *command, int argc, char **argv)
{
	struct values v = { 0 };

	cli_parse(command, server_only, &v, argc, argv, 2, 2);
	json_decref(call(&v, "PATCH", argv[0], json_pack("{s:s}", "name", argv[1])));
	return CLI_OK;
}

static const struct cli_option delete_options[] = {
	{ .name = "force", .letter = 'f', .type = CLI_FLAG,
	  .offset = offsetof(struct values, force),
	  .text = "even while clients use it; their operations fail from then on" },
	{ .name = "yes", .letter = 'y', .type = CLI_FLAG, .offset = offsetof(struct values, yes),
	  .text = "do not ask; without a terminal it never asks" },
	CLI_OPTION_SERVER(struct values),
	{ 0 },
};

static bool confirmed(const struct values *v, const char *name)
{
	json_t *volume = call(v, "GET", name, NULL);
	char used[UNITS_TEXT], inodes[UNITS_TEXT], answer[80] = "";

	printf("Volume '%s' holds %s inodes and %s. Type its name to delete it for good: ", name,
	       count(inodes, v, http_number(volume, "used_inodes"), NULL),
	       size(used, v, http_number(volume, "used_bytes"), NULL));
	fflush(stdout);
	json_decref(volume);
	if (!fgets(answer, sizeof answer, stdin))
		return false;
	answer[strcspn(answer, "\n")] = '\0';
	return !strcmp(answer, name);
}

int cli_volume_delete(const struct cli_command *command, int argc, char **argv)
{
	struct values v = { 0 };
	char *path, *full;
	struct address server;

	cli_parse(command, delete_options, &v, argc, argv, 1, 1);
	if (!v.yes && isatty(STDIN_FILENO) && !confirmed(&v, argv[0]))
		cli_die(CLI_FAILED, "nothing deleted");
	path = http_volume_path(argv[0]);
	if (asprintf(&full, "%s%s", path, v.force ? "?force=true" : "") < 0)
		cli_die(CLI_FAILED, "%s", err_text(-KILN_ENOMEM));
	cli_server(v.server, &server);
	json_decref(http_call(&server, "DELETE", full, NULL));
	free(full);
	free(path);
	return CLI_OK;
}

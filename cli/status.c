/* kiln status: one screen, whether there are 3 volumes or 3,000. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/http.h"
#include "cli/units.h"

enum { TOP_DEFAULT = 10 };

struct values {
	const char *server;
	uint64_t top;
	bool json, bytes;
};

static const struct cli_option options[] = {
	{ .name = "top", .letter = 'n', .type = CLI_NUMBER, .offset = offsetof(struct values, top),
	  .unit = "N", .preset = "10", .max = 100000,
	  .text = "volumes and clients to list, the most used first" },
	CLI_OPTION_JSON(struct values),
	CLI_OPTION_BYTES(struct values),
	CLI_OPTION_SERVER(struct values),
	{ 0 },
};

static const char *size(char *buf, const struct values *v, uint64_t bytes)
{
	if (!v->bytes)
		return units_print_size(buf, bytes);
	snprintf(buf, UNITS_TEXT, "%" PRIu64 " B", bytes);
	return buf;
}

static void print_server(const json_t *status)
{
	const json_t *address;
	char up[UNITS_TEXT];
	size_t i;

	printf("server   kiln %s, pid %" PRIu64 ", up %s,", http_text(status, "version"),
	       http_number(status, "pid"),
	       units_print_time(up, (uint64_t)(http_real(status, "uptime_s") * NS_PER_S)));
	json_array_foreach (json_object_get(status, "addresses"), i, address)
		printf(" %s", json_string_value(address));
	putchar('\n');
}

static void print_store(const struct values *v, const json_t *store)
{
	char a[UNITS_TEXT], b[UNITS_TEXT];
	const char *broken = json_string_value(json_object_get(store, "broken"));

	printf("store    %s (%s, %s): %s free of %s", http_text(store, "dir"),
	       http_text(store, "backend"), http_text(store, "layout"),
	       size(a, v, http_number(store, "free_bytes")),
	       size(b, v, http_number(store, "total_bytes")));
	if (json_is_integer(json_object_get(store, "database_bytes")))
		printf(", database %s", size(a, v, http_number(store, "database_bytes")));
	putchar('\n');
	if (broken)
		printf("         FAILED, takes no changes until the server is restarted: %s\n", broken);
}

static void print_commits(const json_t *commits)
{
	uint64_t applied = http_number(commits, "applied");
	uint64_t durable = http_number(commits, "durable");
	const json_t *sync = json_object_get(commits, "sync_ms");
	const json_t *waiters = json_object_get(commits, "waiters");
	char a[UNITS_TEXT], b[UNITS_TEXT];

	printf("commits  %s of %.2f ms (99 %% below %.2f ms) for %s (%.1f each, at most %.0f);\n"
	       "         ", units_print_many(a, http_number(commits, "syncs"), "sync", "syncs"),
	       http_real(commits, "sync_average_ms"), http_real(sync, "p99"),
	       units_print_many(b, http_number(commits, "waits"), "answer", "answers"),
	       http_real(commits, "waits_per_sync"), http_real(waiters, "max"));
	if (applied > durable)
		printf("%s not yet durable\n",
		       units_print_many(a, applied - durable, "batch", "batches"));
	else
		printf("everything is durable\n");
}

/* print_operations: of a class with answers: how many, and how long they took. */
static void print_operations(const json_t *operations)
{
	static const char *const classes[] = { "read", "change", "data" };
	char n[UNITS_TEXT];

	printf("answers ");
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
		const json_t *c = json_object_get(operations, classes[i]);

		printf(" %s %s", classes[i], units_print_count(n, http_number(c, "count")));
		if (http_number(c, "count"))
			printf(" (%.0f us, p99 %.0f)", http_real(c, "p50"), http_real(c, "p99"));
		putchar(i + 1 < sizeof classes / sizeof *classes ? ',' : '\n');
	}
}

static void print_totals(const struct values *v, const json_t *volumes)
{
	char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT], d[UNITS_TEXT];
	uint64_t removing = http_number(volumes, "removing");

	printf("volumes  %s, %s in use by %s; %s,",
	       units_print_count(a, http_number(volumes, "count")),
	       units_print_count(b, http_number(volumes, "in_use")),
	       units_print_many(c, http_number(volumes, "clients"), "client", "clients"),
	       units_print_many(d, http_number(volumes, "used_inodes"), "inode", "inodes"));
	printf(" %s", size(a, v, http_number(volumes, "used_bytes")));
	if (removing)
		printf("; %" PRIu64 " deleted, being removed", removing);
	putchar('\n');
}

static void print_volume(const struct values *v, const json_t *volume)
{
	char used[UNITS_TEXT], inodes[UNITS_TEXT];

	printf("  %-24s %7" PRIu64 " %7" PRIu64 " %12s %11s %11" PRIu64 " %11" PRIu64 "\n",
	       http_text(volume, "name"), http_number(volume, "clients"),
	       http_number(volume, "opens"),
	       units_print_count(inodes, http_number(volume, "used_inodes")),
	       size(used, v, http_number(volume, "used_bytes")), http_number(volume, "reads"),
	       http_number(volume, "changes"));
}

static void print_more(uint64_t all, size_t shown, const char *what)
{
	char n[UNITS_TEXT];

	if (all > shown)
		printf("  and %s more %s\n", units_print_count(n, all - shown), what);
}

static void print_volumes(const struct values *v, const json_t *status)
{
	const json_t *top = json_object_get(status, "top_volumes"), *volume;
	const json_t *totals = json_object_get(status, "volumes");
	size_t i;

	if (json_array_size(top))
		printf("\n  %-24s %7s %7s %12s %11s %11s %11s\n", "VOLUME", "CLIENTS", "OPEN",
		       "INODES", "USED", "READS", "CHANGES");
	json_array_foreach (top, i, volume)
		print_volume(v, volume);
	print_more(http_number(totals, "count"), json_array_size(top), "volumes");
}

static void print_client(const json_t *client)
{
	char away[UNITS_TEXT];
	uint64_t away_ns = (uint64_t)(http_real(client, "away_s") * NS_PER_S);

	printf("  %-24s %-24s %-14s %7" PRIu64 "  %s%s\n", http_text(client, "volume"),
	       http_text(client, "host"), http_text(client, "kind"), http_number(client, "opens"),
	       http_flag(client, "connected") ? "connected" : "away for ",
	       http_flag(client, "connected") ? "" : units_print_time(away, away_ns));
}

static void print_clients(const json_t *status)
{
	const json_t *list = json_object_get(status, "clients"), *client;
	const json_t *totals = json_object_get(status, "volumes");
	size_t i;

	if (json_array_size(list))
		printf("\n  %-24s %-24s %-14s %7s  %s\n", "VOLUME", "CLIENT", "KIND", "OPEN", "STATE");
	json_array_foreach (list, i, client)
		print_client(client);
	print_more(http_number(totals, "clients"), json_array_size(list), "clients");
}

int cli_status(const struct cli_command *command, int argc, char **argv)
{
	struct values v = { .top = TOP_DEFAULT };
	struct address server;
	json_t *status;
	char path[64];

	cli_parse(command, options, &v, argc, argv, 0, 0);
	cli_server(v.server, &server);
	snprintf(path, sizeof path, "/v1/status?top=%" PRIu64, v.top);
	status = http_call(&server, "GET", path, NULL);
	if (v.json) {
		http_print(status);
	} else {
		print_server(status);
		print_store(&v, json_object_get(status, "store"));
		print_commits(json_object_get(status, "commits"));
	print_operations(json_object_get(status, "operations_us"));
		print_totals(&v, json_object_get(status, "volumes"));
		print_volumes(&v, status);
		print_clients(status);
	}
	json_decref(status);
	return CLI_OK;
}

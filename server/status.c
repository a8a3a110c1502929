#include "server/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/loop.h"
#include "server/pool.h"
#include "server/server.h"
#include "server/volume_json.h"
#include "server/volumes.h"

/* --- all volumes at one moment ------------------------------------------------------- */

struct row {
	struct volume *volume; /* referred to until rows_free */
	struct volume_record record;
	struct volume_info info;
	int err; /* of volume_info */
};

struct rows {
	struct row *row;
	size_t count, cap;
	bool failed; /* out of memory */
	struct volumes *volumes;
	struct volume_info sum;
	size_t in_use;
};

static void add_row(void *context, struct volume *v)
{
	struct rows *rows = context;
	struct row *r;

	if (rows->count == rows->cap) {
		size_t cap = rows->cap ? 2 * rows->cap : 64;
		struct row *more = realloc(rows->row, cap * sizeof *more);

		if (!more) {
			rows->failed = true;
			return;
		}
		rows->row = more;
		rows->cap = cap;
	}
	r = &rows->row[rows->count++];
	memset(r, 0, sizeof *r);
	volume_record(v, &r->record);
	r->err = volume_info(v, &r->info);
	if (r->err) /* its counters cannot be read: it counts as a volume, with no figures */
		r->info = (struct volume_info){ 0 };
	rows->sum.inodes += r->info.inodes;
	rows->sum.blocks += r->info.blocks;
	rows->sum.sessions += r->info.sessions;
	rows->sum.reads += r->info.reads;
	rows->sum.changes += r->info.changes;
	rows->in_use += r->info.sessions > 0;
}

static int rows_fill(struct rows *rows, struct server *s)
{
	int err = volumes_each(s->volumes, add_row, rows);

	return err ? err : rows->failed ? -KILN_ENOMEM : 0;
}

static int by_use(const void *x, const void *y)
{
	const struct row *a = x, *b = y;
	uint64_t a_ops = a->info.reads + a->info.changes, b_ops = b->info.reads + b->info.changes;

	if (!a->info.sessions != !b->info.sessions)
		return a->info.sessions ? -1 : 1;
	if (a_ops != b_ops)
		return a_ops > b_ops ? -1 : 1;
	return strverscmp(a->record.name, b->record.name);
}

enum { CLASSES = 4 };

/* --- JSON ---------------------------------------------------------------------------- */

struct fill {
	struct server *server;
	struct rows rows;
	size_t top;
	struct commit_hists hists;
	struct hist latency[CLASSES]; /* us by op_class, of all workers */
	uint64_t errors, to_pool, groups, grouped;
};

static json_t *fill_version(struct fill *f)
{
	return json_string(KILN_VERSION);
}

static json_t *fill_pid(struct fill *f)
{
	return json_integer(getpid());
}

static json_t *fill_uptime(struct fill *f)
{
	return json_real((double)(clock_mono() - f->server->started_ns) / 1e9);
}

static json_t *fill_addresses(struct fill *f)
{
	json_t *list = json_array();

	for (const char *const *a = f->server->options.listen; list && a && *a; a++)
		json_array_append_new(list, volume_json_text(*a));
	return list;
}

static json_t *fill_store(struct fill *f)
{
	struct store *store = f->server->store;
	uint64_t total = 0, avail = 0;
	char *size = kv_property(store_kv(store), "size_bytes");
	int err = store_space(store, &total, &avail);
	const char *broken = kv_broken(store_kv(store));
	json_t *j = json_pack(
		"{s:o, s:s, s:s, s:o, s:o, s:o, s:o}", "dir", volume_json_text(store_dir(store)),
		"backend", store_backend(store), "layout", store_layout(store), "broken",
		broken ? volume_json_text(broken) : json_null(), "database_bytes",
		size ? json_integer(atoll(size)) : json_null(), "total_bytes",
		err ? json_null() : json_integer((json_int_t)total), "free_bytes",
		err ? json_null() : json_integer((json_int_t)avail));

	free(size);
	return j;
}

static double per(uint64_t sum, uint64_t count)
{
	return count ? (double)sum / (double)count : 0;
}

/* spread: a histogram in the unit that is `unit` of its own. */
static json_t *spread(const struct hist *h, double unit)
{
	return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:f}", "count", (json_int_t)h->count, "mean",
			 hist_mean(h) / unit, "p50", (double)hist_quantile(h, 0.5) / unit, "p90",
			 (double)hist_quantile(h, 0.9) / unit, "p99",
			 (double)hist_quantile(h, 0.99) / unit, "p999",
			 (double)hist_quantile(h, 0.999) / unit, "max", (double)h->max / unit);
}

static json_t *fill_commits(struct fill *f)
{
	struct commit_stats c;

	commit_stats(store_committer(f->server->store), &c);
	commit_hists(store_committer(f->server->store), &f->hists);
	return json_pack("{s:I, s:I, s:I, s:f, s:f, s:I, s:I, s:o, s:o, s:o}", "syncs", (json_int_t)c.syncs,
			 "waits", (json_int_t)c.waits, "data_files", (json_int_t)c.data_files,
			 "sync_average_ms", per(c.sync_ns_total, c.syncs) / 1e6, "waits_per_sync",
			 per(c.waits, c.syncs), "applied", (json_int_t)c.applied, "durable",
			 (json_int_t)c.durable, "waiters", spread(&f->hists.waiters, 1),
			 "sync_ms", spread(&f->hists.sync_ns, 1e6), "gather_ms",
			 spread(&f->hists.gather_ns, 1e6));
}

/* --- latencies and queues ------------------------------------------------------------- */

static void merge_stats(struct fill *f, const struct worker_stats *stats)
{
	for (int c = 0; c < CLASSES; c++)
		hist_merge(&f->latency[c], &stats->latency[c]);
	f->errors += __atomic_load_n(&stats->errors, __ATOMIC_RELAXED);
	f->to_pool += __atomic_load_n(&stats->to_pool, __ATOMIC_RELAXED);
	f->groups += __atomic_load_n(&stats->groups, __ATOMIC_RELAXED);
	f->grouped += __atomic_load_n(&stats->grouped, __ATOMIC_RELAXED);
}

static void merge_worker(void *context, const struct worker *w)
{
	merge_stats(context, &w->stats);
}

static json_t *fill_operations(struct fill *f)
{
	static const char *const names[CLASSES] = { "local", "read", "change", "data" };
	struct server *s = f->server;
	json_t *j = json_object();

	for (unsigned i = 0; i < s->loop_count; i++)
		merge_worker(f, loop_worker(s->loops[i]));
	pool_each_worker(s->pool, merge_worker, f);
	if (s->committer_stats)
		merge_stats(f, s->committer_stats);
	for (int c = 0; j && c < CLASSES; c++)
		json_object_set_new(j, names[c], spread(&f->latency[c], 1e3));
	if (j)
		json_object_set_new(j, "groups", json_pack("{s:I, s:f}", "count",
				    (json_int_t)f->groups, "changes_each",
				    per(f->grouped, f->groups)));
	json_object_set_new(j, "errors", json_integer((json_int_t)f->errors));
	json_object_set_new(j, "to_pool", json_integer((json_int_t)f->to_pool));
	return j;
}

static json_t *fill_queues(struct fill *f)
{
	struct server *s = f->server;

	return json_pack("{s:I, s:I, s:I}", "readers", (json_int_t)pool_queued(s->pool, POOL_READ),
			 "writers", (json_int_t)pool_queued(s->pool, POOL_WRITE), "in_flight",
			 (json_int_t)__atomic_load_n(&s->inflight, __ATOMIC_RELAXED));
}

static json_t *fill_threads(struct fill *f)
{
	const struct server *s = f->server;

	return json_pack("{s:I, s:I, s:I}", "loops", (json_int_t)s->loop_count, "readers",
			 (json_int_t)s->options.readers, "writers",
			 (json_int_t)s->options.writers);
}

static json_t *fill_volumes(struct fill *f)
{
	const struct rows *r = &f->rows;

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "count",
			 (json_int_t)r->count, "in_use", (json_int_t)r->in_use, "removing",
			 (json_int_t)volumes_removing(f->server->volumes), "clients",
			 (json_int_t)r->sum.sessions, "used_inodes", (json_int_t)r->sum.inodes,
			 "used_bytes", (json_int_t)r->sum.blocks * 512, "reads",
			 (json_int_t)r->sum.reads, "changes", (json_int_t)r->sum.changes);
}

static json_t *fill_top(struct fill *f)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < f->rows.count && i < f->top; i++)
		json_array_append_new(list, volume_json_write(&f->rows.row[i].record,
							      &f->rows.row[i].info));
	return list;
}

/* The members of the status, in the order in which they are written. */
static const struct {
	const char *name;
	json_t *(*fill)(struct fill *f);
} members[] = {
	{ "version", fill_version },
	{ "pid", fill_pid },
	{ "uptime_s", fill_uptime },
	{ "addresses", fill_addresses },
	{ "store", fill_store },
	{ "commits", fill_commits },
	{ "operations_us", fill_operations },
	{ "queues", fill_queues },
	{ "threads", fill_threads },
	{ "volumes", fill_volumes },
	{ "top_volumes", fill_top },
};

/* fill_clients: of the most used volumes, as many as fit. */
struct add_clients {
	json_t *list;
	size_t top;
};

static void add_clients(void *context, struct volume *v)
{
	struct add_clients *add = context;
	struct volume_record r;
	json_t *clients, *one;
	size_t i;

	if (json_array_size(add->list) >= add->top)
		return;
	volume_record(v, &r);
	clients = volume_json_clients(v, add->top - json_array_size(add->list));
	json_array_foreach (clients, i, one) {
		json_object_set_new(one, "volume", json_string(r.name));
		json_array_append(add->list, one);
	}
	json_decref(clients);
}

json_t *status_fill(struct server *s, size_t top)
{
	struct fill *f = calloc(1, sizeof *f); /* its histograms are too large for a stack */
	struct add_clients add = { json_array(), top };
	json_t *status = json_object();
	int err = -KILN_ENOMEM;

	if (f && status && add.list) {
		f->server = s;
		f->top = top;
		err = rows_fill(&f->rows, s);
	}
	if (!err && f->rows.count)
		qsort(f->rows.row, f->rows.count, sizeof *f->rows.row, by_use);
	for (size_t i = 0; !err && i < sizeof members / sizeof *members; i++)
		if (json_object_set_new(status, members[i].name, members[i].fill(f)))
			err = -KILN_ENOMEM;
	if (!err)
		err = volumes_each(s->volumes, add_clients, &add);
	if (f)
		free(f->rows.row);
	free(f);
	if (!err && !json_object_set(status, "clients", add.list)) {
		json_decref(add.list);
		return status;
	}
	json_decref(add.list);
	json_decref(status);
	return NULL;
}

/* --- Prometheus ---------------------------------------------------------------------- */

static void metric(FILE *f, const char *name, const char *type, const char *help, double value)
{
	fprintf(f, "# HELP %s %s\n# TYPE %s %s\n%s %.17g\n", name, help, name, type, name, value);
}

static void write_server(FILE *f, struct server *s)
{
	uint64_t total = 0, avail = 0;
	struct commit_stats c;

	commit_stats(store_committer(s->store), &c);
	metric(f, "kiln_uptime_seconds", "gauge", "Time since the server started.",
	       (double)(clock_mono() - s->started_ns) / 1e9);
	metric(f, "kiln_commit_syncs_total", "counter", "Syncs of the store.", (double)c.syncs);
	metric(f, "kiln_commit_waits_total", "counter", "Replies that waited for a sync.",
	       (double)c.waits);
	metric(f, "kiln_commit_sync_seconds_total", "counter", "Time spent in syncs.",
	       (double)c.sync_ns_total / 1e9);
	metric(f, "kiln_commit_data_files_total", "counter", "Data files synced.",
	       (double)c.data_files);
	metric(f, "kiln_commit_behind", "gauge", "Batches applied and not yet durable.",
	       (double)(c.applied - c.durable));
	metric(f, "kiln_store_broken", "gauge", "1 when the store takes no changes any more.",
	       kv_broken(store_kv(s->store)) != NULL);
	if (store_space(s->store, &total, &avail))
		return;
	metric(f, "kiln_store_total_bytes", "gauge", "Size of the store's file system.",
	       (double)total);
	metric(f, "kiln_store_free_bytes", "gauge", "Free space there.", (double)avail);
}

/* One family of per-volume samples: value is read at offset of struct volume_info. */
static const struct family {
	const char *name, *type, *help;
	size_t offset;
	bool wide;       /* uint64_t, else unsigned */
	unsigned factor;
} families[] = {
#define WIDE(member) offsetof(struct volume_info, member), true
#define NARROW(member) offsetof(struct volume_info, member), false
	{ "kiln_volume_used_bytes", "gauge", "Bytes used.", WIDE(blocks), 512 },
	{ "kiln_volume_used_inodes", "gauge", "Inodes used.", WIDE(inodes), 1 },
	{ "kiln_volume_clients", "gauge", "Sessions.", NARROW(sessions), 1 },
	{ "kiln_volume_opens", "gauge", "Open files.", NARROW(opens), 1 },
	{ "kiln_volume_reads_total", "counter", "Reading operations answered.", WIDE(reads), 1 },
	{ "kiln_volume_changes_total", "counter", "Changes answered.", WIDE(changes), 1 },
};

static uint64_t sample(const struct family *family, const struct volume_info *info)
{
	const void *at = (const char *)info + family->offset;

	return family->factor * (family->wide ? *(const uint64_t *)at : *(const unsigned *)at);
}

static void write_family(FILE *f, const struct family *family, const struct rows *rows)
{
	fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help, family->name,
		family->type);
	for (size_t i = 0; i < rows->count; i++)
		if (!rows->row[i].err)
			fprintf(f, "%s{volume=\"%s\"} %" PRIu64 "\n", family->name,
				rows->row[i].record.name, sample(family, &rows->row[i].info));
}

char *status_metrics(struct server *s)
{
	struct rows rows = { 0 };
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fprintf(f, "# HELP kiln_info Version.\n# TYPE kiln_info gauge\n"
		   "kiln_info{version=\"%s\"} 1\n", KILN_VERSION);
	write_server(f, s);
	if (!rows_fill(&rows, s))
		for (size_t i = 0; i < sizeof families / sizeof *families; i++)
			write_family(f, &families[i], &rows);
	metric(f, "kiln_volumes", "gauge", "Volumes.", (double)rows.count);
	free(rows.row);
	if (ferror(f) | fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

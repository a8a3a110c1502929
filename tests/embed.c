#include "tests/embed.h"

#include "base/err.h"
#include "server/volumes.h"
#include "tests/unit/tmpdir.h"

#include <string.h>
#include <unistd.h>

static void die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	abort();
}

/* Data files are really synced, which a memory file system makes cheap. */
struct embed *embed_new(void)
{
	struct embed *e = calloc(1, sizeof(*e));

	if (!e)
		abort();
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 0);
	e->dir = tmpdir_make();
	snprintf(e->address, sizeof(e->address), "unix:%s/sock", e->dir);
	e->listen[0] = e->address;
	e->plug = plug_new();
	e->disk = fault_disk_new();
	return e;
}

void embed_free(struct embed *e)
{
	if (e->server)
		embed_stop(e);
	plug_free(e->plug);
	fault_disk_free(e->disk);
	tmpdir_remove(e->dir);
	free(e);
}

static struct store_options options(struct embed *e, char *path, size_t cap)
{
	snprintf(path, cap, "%s/store", e->dir);
	return (struct store_options){
		.kv = plug_kv(e->plug),
		.disk = fault_disk(e->disk),
		.commit = e->commit,
		.create = true,
	};
}

void embed_start(struct embed *e)
{
	char path[160], *why;
	struct server_options o = {
		.dir = path,
		.store = options(e, path, sizeof(path)),
		.listen = e->listen,
		.loops = e->loops ? e->loops : 2,
		.readers = 2,
		.writers = 2,
		.session_timeout_ns = e->session_timeout_ns,
	};

	if (server_start(&o, &e->server, &why))
		die("server_start", why);
}

void embed_stop(struct embed *e)
{
	server_stop(e->server);
	e->server = NULL;
}

struct store *embed_store(struct embed *e)
{
	char path[160], *why;
	struct store_options o = options(e, path, sizeof(path));
	struct store *s;

	if (store_open(path, &o, &s, &why))
		die("store_open", why);
	return s;
}

/* The store before the disk: what is synced on the disk alone is only more than was promised. */
void embed_pull(struct embed *e)
{
	plug_hold(e->plug);
	fault_disk_hold(e->disk);
}

void embed_fail(struct embed *e)
{
	plug_fail(e->plug);
	fault_disk_fail_syncs(e->disk);
}

void embed_cut(struct embed *e, uint64_t index)
{
	plug_cut(e->plug, index);
	fault_disk_crash(e->disk);
}

void embed_volume(struct embed *e, const char *name, int durability)
{
	struct volume_record r = { .durability = (uint8_t)durability };
	int err;

	snprintf(r.name, sizeof(r.name), "%s", name);
	err = volumes_create(e->server->volumes, &r);
	if (err)
		die("volumes_create", err_text(err));
}

uint32_t embed_brick(struct embed *e, const char *name)
{
	struct volume *v;
	uint32_t brick;

	if (volumes_find(e->server->volumes, name, &v))
		die("volumes_find", name);
	brick = volume_brick(v);
	volumes_put(e->server->volumes, v);
	return brick;
}

struct kiln *embed_connect(struct embed *e, const char *volume, uint32_t pid)
{
	struct kiln_options o = { .pid = pid, .soft_seconds = 20 };
	char target[256], why[256];
	struct kiln *k;

	snprintf(target, sizeof(target), "%s/%s", e->address, volume);
	if (kiln_connect(&k, target, &o, why, sizeof(why)))
		die("kiln_connect", why);
	return k;
}

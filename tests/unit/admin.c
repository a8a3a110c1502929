/* server/volumes.c, admin.c, status.c, volume_json.c over a real store in memory; the running
 * half of a volume (server/volume.c) is a small stand-in here. */
#include "base/clock.h"
#include "base/err.h"
#include "base/hello.h"
#include "base/log.h"
#include "server/server.h"
#include "server/loop.h"
#include "server/pool.h"
#include "server/volumes.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* --- the stand-in -------------------------------------------------------------------- */

struct volume {
	struct volume_record record;
	unsigned sessions;
	bool retired;
	bool under_way; /* [atomic] a request of an ended session still runs */
};

static unsigned volumes_alive; /* made and not freed; [atomic] the wiper frees too */

int volume_new(struct server *server, const struct volume_record *record, struct volume **out)
{
	struct volume *v = calloc(1, sizeof *v);

	assert_non_null(v);
	v->record = *record;
	__atomic_add_fetch(&volumes_alive, 1, __ATOMIC_RELAXED);
	*out = v;
	return 0;
}

void volume_free(struct volume *v)
{
	__atomic_sub_fetch(&volumes_alive, 1, __ATOMIC_RELAXED);
	free(v);
}

/* The server of these tests has no threads of its own. */
struct worker *loop_worker(struct loop *l)
{
	return NULL;
}

unsigned pool_queued(struct pool *p, enum pool_kind kind)
{
	return 0;
}

void pool_each_worker(struct pool *p, void (*fn)(void *context, const struct worker *w),
		      void *context)
{
}

int volume_update(struct volume *v, const struct volume_record *record)
{
	v->record = *record;
	return 0;
}

void volume_record(struct volume *v, struct volume_record *out)
{
	*out = v->record;
}

uint32_t volume_brick(const struct volume *v)
{
	return v->record.brick;
}

int volume_retire(struct volume *v, bool force)
{
	if (v->sessions && !force)
		return -KILN_EVOLBUSY;
	v->retired = true;
	v->sessions = 0;
	return 0;
}

bool volume_quiet(struct volume *v)
{
	return !__atomic_load_n(&v->under_way, __ATOMIC_ACQUIRE);
}

int volume_info(struct volume *v, struct volume_info *out)
{
	*out = (struct volume_info){ .inodes = 10 * v->record.brick, .blocks = 8, .reads = 5,
				     .changes = v->record.brick, .sessions = v->sessions };
	return 0;
}

void volume_each_session(struct volume *v, void (*fn)(void *context, const struct session_info *),
			 void *context)
{
	struct session_info s = { .client = 0xabc, .host = "h\xffst\"", .kind = HELLO_RELAY,
				  .connected = false, .away_ns = 1500 * NS_PER_MS, .opens = 3 };

	for (unsigned i = 0; i < v->sessions; i++)
		fn(context, &s);
}

/* --- a server without connections ---------------------------------------------------- */

struct fixture {
	char dir[64];
	struct server server;
};

static void open_server(struct fixture *f)
{
	const struct store_options options = { .backend = "mem", .create = true };
	char *why;

	assert_int_equal(store_open(f->dir, &options, &f->server.store, &why), 0);
	assert_int_equal(volumes_open(&f->server, &f->server.volumes), 0);
	f->server.started_ns = clock_mono();
}

static void close_server(struct fixture *f)
{
	volumes_close(f->server.volumes);
	store_close(f->server.store);
	assert_int_equal(volumes_alive, 0);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	snprintf(f->dir, sizeof f->dir, "/tmp/kiln-admin-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	open_server(f);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char command[128];

	close_server(f);
	snprintf(command, sizeof command, "rm -rf %s", f->dir);
	assert_int_equal(system(command), 0);
	free(f);
	return 0;
}

static int create(struct fixture *f, const char *name)
{
	struct volume_record r = { 0 };

	snprintf(r.name, sizeof r.name, "%s", name);
	return volumes_create(f->server.volumes, &r);
}

static uint32_t brick_of(struct fixture *f, const char *name)
{
	struct volume *v;
	uint32_t brick;

	assert_int_equal(volumes_find(f->server.volumes, name, &v), 0);
	brick = volume_brick(v);
	volumes_put(f->server.volumes, v);
	return brick;
}

/* until: waits for what other threads do; a test that waits longer fails. */
static void until(struct fixture *f, bool (*so)(struct fixture *f))
{
	uint64_t end = clock_mono() + 30 * NS_PER_S;

	while (!so(f)) {
		assert_true(clock_mono() < end);
		poll(NULL, 0, 1);
	}
}

static bool all_removed(struct fixture *f)
{
	return volumes_removing(f->server.volumes) == 0;
}

static bool one_left(struct fixture *f)
{
	return volumes_removing(f->server.volumes) == 1;
}

/* --- the table ----------------------------------------------------------------------- */

static void names(void *context, struct volume *v)
{
	strcat(context, v->record.name);
	strcat(context, " ");
}

static void volumes_are_listed_by_name(void **state)
{
	struct fixture *f = *state;
	char text[256] = "";

	assert_int_equal(create(f, "beta"), 0);
	assert_int_equal(create(f, "alpha"), 0);
	assert_int_equal(create(f, "a.b_c-9"), 0);
	assert_int_equal(create(f, "alpha"), -KILN_EVOLEXIST);
	assert_int_equal(volumes_each(f->server.volumes, names, text), 0);
	assert_string_equal(text, "a.b_c-9 alpha beta ");
}

static void bad_names_are_refused(void **state)
{
	static const char *const bad[] = { "", ".", ".x", "-x", "a b", "a/b", "\xc3\xa4" };

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(create(*state, bad[i]), -KILN_EVOLNAME);
}

static void a_rename_keeps_brick_and_uuid(void **state)
{
	struct fixture *f = *state;
	struct volume_record r, after;
	struct volume *v;

	assert_int_equal(create(f, "old"), 0);
	assert_int_equal(create(f, "other"), 0);
	assert_int_equal(volumes_find(f->server.volumes, "old", &v), 0);
	volume_record(v, &r);
	snprintf(r.name, sizeof r.name, "other");
	assert_int_equal(volumes_set(f->server.volumes, "old", &r), -KILN_EVOLEXIST);
	snprintf(r.name, sizeof r.name, "new");
	r.brick = 77;
	r.quota_bytes = 4096;
	assert_int_equal(volumes_set(f->server.volumes, "old", &r), 0);
	volume_record(v, &after);
	assert_string_equal(after.name, "new");
	assert_int_equal(after.brick, 1);
	assert_int_equal(after.quota_bytes, 4096);
	volumes_put(f->server.volumes, v);
	assert_int_equal(volumes_find_id(f->server.volumes, after.uuid, &v), 0);
	assert_int_equal(volume_brick(v), 1);
	volumes_put(f->server.volumes, v);
	after.uuid[0] ^= 1;
	assert_int_equal(volumes_find_id(f->server.volumes, after.uuid, &v), -KILN_ENOVOLUME);
	assert_int_equal(volumes_find(f->server.volumes, "old", &v), -KILN_ENOVOLUME);
	assert_int_equal(brick_of(f, "new"), 1);
}

/* fill: keys and a data file in a brick, as a volume would leave them. */
static void fill(struct fixture *f, uint32_t brick, uint64_t count)
{
	struct txn *t = txn_group_new(f->server.store, brick);
	uint64_t seq;

	txn_may_block(t, true);
	for (uint64_t i = 1; i <= count; i++) {
		txn_mark(t);
		assert_int_equal(inode_put(t, &(struct inode){ .handle = i, .mode = S_IFREG,
							       .nlink = 1 }), 0);
	}
	assert_int_equal(txn_apply(t, &seq), 0);
	txn_free(t);
	assert_int_equal(data_write(store_data(f->server.store),
				    (struct data_id){ .handle = 1, .brick = brick, .gen = 1 }, "x",
				    1, 0, false), 0);
}

static bool is_empty(struct fixture *f, uint32_t brick)
{
	struct txn *t = txn_reader_new(f->server.store);
	struct inode inode;
	char path[128];
	int err;

	txn_look(t, brick, NULL);
	txn_may_block(t, true);
	err = inode_get(t, 1, &inode);
	txn_free(t);
	snprintf(path, sizeof path, "%s/data/%u", f->dir, brick);
	return err == -KILN_ESTALE && access(path, F_OK);
}

static void a_deleted_volume_leaves_nothing(void **state)
{
	struct fixture *f = *state;
	struct volume *v;

	assert_int_equal(create(f, "gone"), 0);
	assert_int_equal(create(f, "stays"), 0);
	fill(f, 1, 2000);
	fill(f, 2, 10);
	assert_int_equal(volumes_delete(f->server.volumes, "gone", false), 0);
	assert_int_equal(volumes_find(f->server.volumes, "gone", &v), -KILN_ENOVOLUME);
	assert_int_equal(volumes_delete(f->server.volumes, "gone", false), -KILN_ENOVOLUME);
	until(f, all_removed);
	assert_true(is_empty(f, 1));
	assert_false(is_empty(f, 2));
}

static void a_brick_number_is_never_reused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(create(f, "a"), 0);
	assert_int_equal(brick_of(f, "a"), 1);
	assert_int_equal(volumes_delete(f->server.volumes, "a", false), 0);
	until(f, all_removed);
	assert_int_equal(create(f, "a"), 0);
	assert_int_equal(brick_of(f, "a"), 2);
}

static void a_volume_in_use_is_deleted_by_force_only(void **state)
{
	struct fixture *f = *state;
	struct volume *v;

	assert_int_equal(create(f, "busy"), 0);
	fill(f, 1, 10);
	assert_int_equal(volumes_find(f->server.volumes, "busy", &v), 0);
	v->sessions = 1;
	assert_int_equal(volumes_delete(f->server.volumes, "busy", false), -KILN_EVOLBUSY);
	assert_int_equal(volumes_delete(f->server.volumes, "busy", true), 0);
	/* as long as somebody refers to it, nothing of it is touched */
	assert_int_equal(volumes_removing(f->server.volumes), 1);
	assert_true(v->retired);
	assert_false(is_empty(f, 1));
	/* nor as long as a request of its clients is under way */
	v->under_way = true;
	volumes_put(f->server.volumes, v);
	assert_int_equal(create(f, "other"), 0);
	assert_int_equal(volumes_delete(f->server.volumes, "other", false), 0);
	until(f, one_left);
	assert_false(is_empty(f, 1));
	__atomic_store_n(&v->under_way, false, __ATOMIC_RELEASE);
	until(f, all_removed);
	assert_true(is_empty(f, 1));
}

/* table_put: a record as a server that was killed would have left it. */
static void table_put(struct fixture *f, const struct volume_record *r)
{
	struct txn *t = txn_group_new(f->server.store, 0);
	uint64_t seq;

	txn_may_block(t, true);
	txn_mark(t);
	assert_int_equal(volume_record_put(t, r), 0);
	assert_int_equal(txn_apply(t, &seq), 0);
	txn_free(t);
}

static void a_deletion_cut_short_goes_on(void **state)
{
	struct fixture *f = *state;
	struct volume_record r = { .name = "half", .brick = 5, .deleting = 1 };
	struct volume *v;

	fill(f, 5, 600);
	table_put(f, &r);
	r = (struct volume_record){ .name = "kept", .brick = 6, .quota_inodes = 9 };
	table_put(f, &r);
	volumes_close(f->server.volumes);
	assert_int_equal(volumes_open(&f->server, &f->server.volumes), 0);
	assert_int_equal(volumes_find(f->server.volumes, "half", &v), -KILN_ENOVOLUME);
	assert_int_equal(volumes_find(f->server.volumes, "kept", &v), 0);
	assert_int_equal(v->record.quota_inodes, 9);
	volumes_put(f->server.volumes, v);
	until(f, all_removed);
	assert_true(is_empty(f, 5));
}

static void what_was_created_is_there_after_a_restart(void **state)
{
	struct fixture *f = *state;
	char name[16];

	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof name, "v%d", i * 7 % 200);
		assert_int_equal(create(f, name), 0);
	}
	volumes_close(f->server.volumes);
	assert_int_equal(volumes_open(&f->server, &f->server.volumes), 0);
	for (uint32_t i = 0; i < 200; i++) {
		snprintf(name, sizeof name, "v%u", i * 7 % 200);
		assert_int_equal(brick_of(f, name), i + 1);
	}
	assert_int_equal(create(f, "one-more"), 0);
	assert_int_equal(brick_of(f, "one-more"), 201);
}

/* --- HTTP ---------------------------------------------------------------------------- */

struct answer {
	int status;
	char text[65536];
	json_t *json;
};

static void write_all(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EPIPE)
			return; /* the server has heard enough; its answer is still there */
		assert_true(n > 0);
		bytes += n;
		len -= (size_t)n;
	}
}

/* exchange: raw bytes as a peer of that uid would send them; the whole answer. */
static void exchange(struct fixture *f, uint32_t uid, const char *bytes, size_t len,
		     struct answer *a)
{
	size_t got = 0;
	ssize_t n;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	admin_accept(f->server.admin, ends[1], uid);
	write_all(ends[0], bytes, len);
	while ((n = read(ends[0], a->text + got, sizeof a->text - 1 - got)) > 0)
		got += (size_t)n;
	a->text[got] = '\0';
	close(ends[0]);
	assert_int_equal(sscanf(a->text, "HTTP/1.1 %d", &a->status), 1);
	a->json = json_loads(strstr(a->text, "\r\n\r\n") + 4, 0, NULL);
}

static void ask_as(struct fixture *f, uint32_t uid, const char *method, const char *path,
		   const char *body, struct answer *a)
{
	char *bytes;
	int len = asprintf(&bytes, "%s %s HTTP/1.1\r\nHost: kiln\r\nConnection: close\r\n"
			   "Content-Length: %zu\r\n\r\n%s", method, path, strlen(body), body);

	assert_true(len > 0);
	exchange(f, uid, bytes, (size_t)len, a);
	free(bytes);
}

static struct answer answer;

/* ask: as root; the answer's status.  What it says is in `answer`. */
static int ask(struct fixture *f, const char *method, const char *path, const char *body)
{
	json_decref(answer.json);
	ask_as(f, 0, method, path, body, &answer);
	return answer.status;
}

static const char *error_text(void)
{
	const char *text = json_string_value(
		json_object_get(json_object_get(answer.json, "error"), "text"));

	assert_non_null(text);
	return text;
}

static int set_up_admin(void **state)
{
	struct fixture *f;

	set_up(state);
	f = *state;
	assert_int_equal(admin_start(&f->server, &f->server.admin), 0);
	return 0;
}

static int tear_down_admin(void **state)
{
	struct fixture *f = *state;

	json_decref(answer.json);
	answer.json = NULL;
	admin_stop(f->server.admin);
	admin_free(f->server.admin);
	return tear_down(state);
}

static void a_volume_is_made_changed_and_deleted(void **state)
{
	struct fixture *f = *state;
	struct volume *v;

	assert_int_equal(ask(f, "PUT", "/v1/volumes/home",
			     "{\"durability\":\"op\",\"quota_bytes\":1073741824}"), 201);
	assert_string_equal(json_string_value(json_object_get(answer.json, "durability")), "op");
	assert_int_equal(ask(f, "PUT", "/v1/volumes/home", ""), 409);
	assert_non_null(strstr(error_text(), "'home'"));
	assert_int_equal(ask(f, "PATCH", "/v1/volumes/home",
			     "{\"name\":\"house\",\"read_only\":true,\"cache\":\"none\"}"), 200);
	assert_int_equal(ask(f, "GET", "/v1/volumes/home", ""), 404);
	assert_int_equal(ask(f, "GET", "/v1/volumes/house", ""), 200);
	assert_true(json_is_true(json_object_get(answer.json, "read_only")));
	assert_int_equal(json_integer_value(json_object_get(answer.json, "quota_bytes")), 1 << 30);
	assert_int_equal(volumes_find(f->server.volumes, "house", &v), 0);
	v->sessions = 2;
	volumes_put(f->server.volumes, v);
	assert_int_equal(ask(f, "DELETE", "/v1/volumes/house", ""), 409);
	assert_int_equal(ask(f, "DELETE", "/v1/volumes/house?force=maybe", ""), 400);
	assert_int_equal(ask(f, "DELETE", "/v1/volumes/house?force=true", ""), 200);
	assert_int_equal(ask(f, "GET", "/v1/volumes", ""), 200);
	assert_int_equal(json_array_size(json_object_get(answer.json, "volumes")), 0);
}

static void bodies_are_checked(void **state)
{
	static const struct {
		const char *body, *says;
	} bad[] = {
		{ "{", "not JSON" },
		{ "[]", "must be a JSON object" },
		{ "{\"quota\":1}", "no field 'quota'" },
		{ "{\"durability\":\"never\"}", "\"fsync\" or \"op\"" },
		{ "{\"durability\":1}", "\"fsync\" or \"op\"" },
		{ "{\"cache\":null}", "\"ttl\" or \"none\"" },
		{ "{\"read_only\":1}", "true or false" },
		{ "{\"quota_bytes\":-1}", "whole number" },
		{ "{\"quota_bytes\":1.5}", "whole number" },
		{ "{\"quota_bytes\":\"1G\"}", "whole number" },
		{ "{\"quota_inodes\":99999999999999999999}", "not JSON" },
		{ "{\"name\":\"x\"}", "no field 'name'" },
		{ "{\"cache\":\"ttl\",\"cache\":\"none\"}", "not JSON" },
		{ "{\"cache\":\"ttl\"} x", "not JSON" },
		{ "{\"cache\":\"\xff\"}", "not JSON" },
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(ask(*state, "PUT", "/v1/volumes/v", bad[i].body), 400);
		assert_non_null(strstr(error_text(), bad[i].says));
	}
	assert_int_equal(ask(*state, "GET", "/v1/volumes/v", ""), 404);
	assert_int_equal(ask(*state, "PUT", "/v1/volumes/v", "{}"), 201);
	assert_int_equal(ask(*state, "PATCH", "/v1/volumes/v", "{\"name\":\"../x\"}"), 400);
	assert_int_equal(ask(*state, "PATCH", "/v1/volumes/v", "{\"name\":7}"), 400);
}

static void paths_and_methods_are_checked(void **state)
{
	static const struct {
		const char *method, *path;
		int status;
	} rows[] = {
		{ "GET", "/", 404 },
		{ "GET", "/v1/volumes/", 404 },
		{ "GET", "/v1/statusx", 404 },
		{ "POST", "/v1/volumes", 405 },
		{ "PUT", "/v1/status", 405 },
		{ "BREW", "/v1/volumes/x", 405 },
		{ "PUT", "/v1/volumes/a%2Fb", 400 },
		{ "PUT", "/v1/volumes/-x", 400 },
		{ "PUT", "/v1/volumes/a%00b", 400 },
		{ "PUT", "/v1/volumes/ok?x=1", 400 },
		{ "GET", "/v1/status?top=x", 400 },
		{ "GET", "/v1/status?top=-1", 400 },
		{ "GET", "/v1/status?top=99999999999999999999", 400 },
		{ "GET", "/v1/status?other=1", 400 },
		{ "GET", "/metrics?x", 400 },
		{ "DELETE", "/v1/volumes/none", 404 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(ask(*state, rows[i].method, rows[i].path, ""), rows[i].status);
		assert_true(strlen(error_text()) > 10);
	}
}

static void others_are_refused(void **state)
{
	static const uint32_t strangers[] = { 1, 65534, UINT32_MAX };
	struct answer a;

	for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
		if (strangers[i] == geteuid())
			continue;
		ask_as(*state, strangers[i], "PUT", "/v1/volumes/v", "{}", &a);
		assert_int_equal(a.status, 403);
		assert_non_null(strstr(a.text, "no permission"));
		json_decref(a.json);
	}
	assert_int_equal(ask(*state, "GET", "/v1/volumes/v", ""), 404);
}

/* As many silent connections as somebody may like to open keep out nobody who may administer. */
static void strangers_do_not_fill_the_house(void **state)
{
	enum { MANY = 100 };
	struct fixture *f = *state;
	int ends[MANY][2], open = 0;
	char byte;

	for (int i = 0; i < MANY; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]), 0);
		admin_accept(f->server.admin, ends[i][1], 65534);
	}
	assert_int_equal(ask(f, "GET", "/v1/volumes/v", ""), 404);
	for (int i = 0; i < MANY; i++) {
		open += recv(ends[i][0], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
		close(ends[i][0]);
	}
	assert_in_range(open, 1, 20);
}

/* ... and their places are free again when they have gone. */
static void strangers_come_again(void **state)
{
	struct fixture *f = *state;
	uint64_t end = clock_mono() + 30 * NS_PER_S;
	int ends[2];
	char byte;

	strangers_do_not_fill_the_house(state);
	do {
		assert_true(clock_mono() < end);
		poll(NULL, 0, 1);
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
		admin_accept(f->server.admin, ends[1], 65534);
		byte = recv(ends[0], &byte, 1, MSG_DONTWAIT) == 0;
		close(ends[0]);
	} while (byte);
}

static void a_body_has_a_limit(void **state)
{
	size_t len = 200000;
	char *body = malloc(len + 1);

	memset(body, ' ', len);
	body[len] = '\0';
	assert_int_equal(ask(*state, "PUT", "/v1/volumes/v", body), 413);
	free(body);
	assert_int_equal(ask(*state, "GET", "/v1/volumes/v", ""), 404);
}

static void headers_have_a_limit(void **state)
{
	size_t len = 100000;
	char *bytes = malloc(len);
	struct answer a;
	int n = snprintf(bytes, len, "GET /v1/status HTTP/1.1\r\nHost: kiln\r\nX: ");

	memset(bytes + n, 'x', len - (size_t)n);
	exchange(*state, 0, bytes, 40000, &a);
	assert_true(a.status >= 400 && a.status < 500);
	json_decref(a.json);
	free(bytes);
}

static void status_lists_the_most_used(void **state)
{
	struct fixture *f = *state;
	struct volume *v;
	json_t *top, *clients, *totals;
	char name[16];

	for (int i = 1; i <= 5; i++) {
		snprintf(name, sizeof name, "v%d", i);
		assert_int_equal(create(f, name), 0);
	}
	assert_int_equal(volumes_find(f->server.volumes, "v2", &v), 0);
	v->sessions = 3;
	volumes_put(f->server.volumes, v);
	assert_int_equal(ask(f, "GET", "/v1/status?top=2", ""), 200);
	top = json_object_get(answer.json, "top_volumes");
	assert_int_equal(json_array_size(top), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(top, 0), "name")), "v2");
	assert_string_equal(json_string_value(json_object_get(json_array_get(top, 1), "name")), "v5");
	totals = json_object_get(answer.json, "volumes");
	assert_int_equal(json_integer_value(json_object_get(totals, "count")), 5);
	assert_int_equal(json_integer_value(json_object_get(totals, "in_use")), 1);
	assert_int_equal(json_integer_value(json_object_get(totals, "clients")), 3);
	assert_int_equal(json_integer_value(json_object_get(totals, "used_inodes")), 150);
	clients = json_object_get(answer.json, "clients");
	assert_int_equal(json_array_size(clients), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(clients, 0), "host")),
			    "h?st\"");
	assert_string_equal(json_string_value(json_object_get(json_array_get(clients, 0), "volume")),
			    "v2");
	assert_true(json_is_null(json_object_get(json_object_get(answer.json, "store"), "broken")));
}

static void metrics_are_prometheus_text(void **state)
{
	struct fixture *f = *state;
	char *text;

	assert_int_equal(create(f, "home"), 0);
	assert_int_equal(ask(f, "GET", "/metrics", ""), 200);
	text = strstr(answer.text, "\r\n\r\n") + 4;
	assert_non_null(strstr(answer.text, "Content-Type: text/plain; version=0.0.4"));
	assert_non_null(strstr(text, "\nkiln_volume_used_inodes{volume=\"home\"} 10\n"));
	assert_non_null(strstr(text, "\nkiln_volume_used_bytes{volume=\"home\"} 4096\n"));
	assert_non_null(strstr(text, "\nkiln_volumes 1\n"));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(line[0] == '#' || (!strncmp(line, "kiln_", 5) && strchr(line, ' ')));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TABLE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define ADMIN(test) cmocka_unit_test_setup_teardown(test, set_up_admin, tear_down_admin)
		TABLE(volumes_are_listed_by_name),
		TABLE(bad_names_are_refused),
		TABLE(a_rename_keeps_brick_and_uuid),
		TABLE(a_deleted_volume_leaves_nothing),
		TABLE(a_brick_number_is_never_reused),
		TABLE(a_volume_in_use_is_deleted_by_force_only),
		TABLE(a_deletion_cut_short_goes_on),
		TABLE(what_was_created_is_there_after_a_restart),
		ADMIN(a_volume_is_made_changed_and_deleted),
		ADMIN(bodies_are_checked),
		ADMIN(paths_and_methods_are_checked),
		ADMIN(others_are_refused),
		ADMIN(strangers_do_not_fill_the_house),
		ADMIN(strangers_come_again),
		ADMIN(a_body_has_a_limit),
		ADMIN(headers_have_a_limit),
		ADMIN(status_lists_the_most_used),
		ADMIN(metrics_are_prometheus_text),
	};

	log_level_set(LOG_WARN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

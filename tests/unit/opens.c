/* How many files a client is said to have open: against a model, in random steps of two clients, with
 * restarts of the server in between. */
#include "tests/embed.h"

#include "base/log.h"
#include "server/volumes.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

enum { CLIENTS = 2, FILES = 4, STEPS = 300, A_RESTART = 100, OPENS_MAX = 8, PATIENCE_S = 60 };

struct fixture {
	struct embed *e;
	struct kiln *k[CLIENTS];
	uint64_t file[FILES];
	unsigned opens[CLIENTS][FILES]; /* the model */
};

struct told {
	unsigned sessions, opens[CLIENTS];
};

static void note_session(void *context, const struct session_info *info)
{
	struct told *t = context;

	assert_true(t->sessions < CLIENTS);
	t->opens[t->sessions++] = info->opens;
}

static struct told ask(struct embed *e)
{
	struct told t = { 0 };
	struct volume *v;

	assert_int_equal(volumes_find(e->server->volumes, "v", &v), 0);
	volume_each_session(v, note_session, &t);
	volumes_put(e->server->volumes, v);
	return t;
}

static unsigned sum(const struct fixture *f, unsigned client)
{
	unsigned opens = 0;

	for (unsigned i = 0; i < FILES; i++)
		opens += f->opens[client][i];
	return opens;
}

/* Sessions come in no order that a client would know. */
static void check(struct fixture *f)
{
	struct told t = ask(f->e);
	unsigned a = sum(f, 0), b = sum(f, 1);

	assert_int_equal(t.sessions, CLIENTS);
	if (t.opens[0] == a)
		assert_int_equal(t.opens[1], b);
	else
		assert_true(t.opens[0] == b && t.opens[1] == a);
}

static unsigned dice(unsigned sides)
{
	static uint64_t seed = 88172645463325252ull;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % sides;
}

static void step(struct fixture *f)
{
	unsigned client = dice(CLIENTS), file = dice(FILES), *opens = &f->opens[client][file];
	struct kiln *k = f->k[client];
	struct fuse_open_out out;

	if (*opens < OPENS_MAX && dice(2)) {
		assert_int_equal(kiln_open(k, f->file[file], O_RDONLY, &out), 0);
		++*opens;
	} else if (*opens > 0) {
		assert_int_equal(kiln_release(k, f->file[file], 0, 0, 0, false), 0);
		--*opens;
	}
}

/* Both have come back once both have been answered. */
static void restart(struct fixture *f)
{
	struct fuse_attr_out attr;

	embed_stop(f->e);
	embed_start(f->e);
	for (unsigned i = 0; i < CLIENTS; i++)
		assert_int_equal(kiln_getattr(f->k[i], KILN_ROOT, &attr), 0);
}

static void begin(struct fixture *f)
{
	struct kiln_created made;
	char name[16];

	f->e = embed_new();
	embed_start(f->e);
	embed_volume(f->e, "v", DURABILITY_FSYNC);
	for (unsigned i = 0; i < CLIENTS; i++)
		f->k[i] = embed_connect(f->e, "v", i + 1);
	for (unsigned i = 0; i < FILES; i++) {
		snprintf(name, sizeof name, "f%u", i);
		assert_int_equal(kiln_create(f->k[0], KILN_ROOT, name, 0644, O_RDWR, &made), 0);
		f->file[i] = made.entry.nodeid;
		f->opens[0][i] = 1;
	}
	check(f);
}

static void as_many_are_told_as_are_open(void **state)
{
	struct fixture f = { 0 };

	alarm(PATIENCE_S);
	begin(&f);
	for (unsigned i = 1; i <= STEPS; i++) {
		step(&f);
		if (i % A_RESTART == 0)
			restart(&f);
		check(&f);
	}
	for (unsigned i = 0; i < CLIENTS; i++)
		kiln_close(f.k[i]);
	embed_free(f.e);
	alarm(0);
}

static void hush(enum log_level level, const char *text)
{
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_are_told_as_are_open),
	};

	log_sink_set(hush);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

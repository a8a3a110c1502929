/* The client library against a scripted server: what it sends, what it believes, how it comes
 * back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/address.h"
#include "base/err.h"
#include "client/kiln.h"
#include "client/options.h"
#include "tests/unit/fakeserver.h"

#include <sys/mount.h>

#define RESENT (1ull << 63)

/* --- addresses --- */

static void check_target(const char *text, const char *server, const char *volume)
{
	struct target t;
	char why[512], out[ADDRESS_TEXT];
	int err = address_parse_target(&t, text, why, sizeof why);

	if (!server) {
		assert_int_equal(err, -KILN_EINVAL);
		assert_non_null(strstr(why, volume));
		return;
	}
	assert_int_equal(err, 0);
	assert_string_equal(address_text(&t.server, out), server);
	assert_string_equal(t.volume, volume);
}

static void test_addresses(void **state)
{
	static const char *const rows[][3] = {
		{ "unix:/run/x.sock/v", "unix:/run/x.sock", "v" },
		{ "/run/x.sock/v", "unix:/run/x.sock", "v" },
		{ "kiln:///run/x.sock/a.b-c_D", "unix:/run/x.sock", "a.b-c_D" },
		{ "tcp:host:7000/v", "tcp:host:7000", "v" },
		{ "kiln://host:7000/v", "tcp:host:7000", "v" },
		{ "tcp:[::1]:1/v", "tcp:[::1]:1", "v" },
		{ "home", "unix:/somewhere", "home" },
		{ "kiln:home", "unix:/somewhere", "home" },
		{ "tcp:::1:7000/v", NULL, "brackets" },
		{ "tcp:[::1]/v", NULL, "HOST:PORT" },
		{ "tcp:host/v", NULL, "HOST:PORT" },
		{ "tcp::7000/v", NULL, "HOST:PORT" },
		{ "tcp:host:0/v", NULL, "1 to 65535" },
		{ "tcp:host:65536/v", NULL, "1 to 65535" },
		{ "tcp:host:7x/v", NULL, "1 to 65535" },
		{ "unix:run/v", NULL, "absolute" },
		{ "http://host:1/v", NULL, "unix:PATH or tcp:HOST:PORT" },
		{ "unix:/run/x.sock/", NULL, "volume's name" },
		{ ".hidden", NULL, "volume's name" },
		{ "", NULL, "volume's name" },
	};

	setenv("KILN_SERVER", "unix:/somewhere", 1);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		check_target(rows[i][0], rows[i][1], rows[i][2]);
	unsetenv("KILN_SERVER");
}

static void test_address_too_long(void **state)
{
	char text[600], why[64];
	struct target t;

	memset(text, 'a', sizeof text);
	text[0] = '/';
	memcpy(text + 200, "/v", 3);
	assert_int_equal(address_parse_target(&t, text, why, sizeof why), -KILN_EINVAL);
	text[200] = 'a';
	text[201] = 'a';
	text[202] = 'a';
	memcpy(text + 590, "/v", 3);
	assert_int_equal(address_parse_target(&t, text, why, sizeof why), -KILN_EINVAL);
}

/* --- mount options --- */

static void test_options(void **state)
{
	struct mount_options o = { .flags = 0 };
	char why[256], names[256];

	assert_int_equal(options_parse(&o,
				       "ro,nosuid,,noatime,x-systemd.automount,_netdev,user=me,"
				       "soft=5,relay,fsname=a b,server=unix:/s",
				       why, sizeof why),
			 0);
	assert_int_equal(o.flags, MS_RDONLY | MS_NOSUID | MS_NOATIME);
	assert_int_equal(o.soft_seconds, 5);
	assert_true(o.relay);
	assert_string_equal(o.fsname, "a b");
	assert_string_equal(o.server, "unix:/s");
	assert_string_equal(options_flag_names(o.flags, names, sizeof names), "ro,nosuid,noatime");
	assert_int_equal(options_parse(&o, "rw,suid,hard", why, sizeof why), 0);
	assert_int_equal(o.flags, MS_NOATIME);
	assert_int_equal(o.soft_seconds, 0);
}

static void test_options_refused(void **state)
{
	static const char *const bad[] = { "nosuch", "soft", "soft=", "soft=0", "soft=x", "soft=-1",
					   "fsname=", "server=", "rox", "soft=99999999999" };
	char why[256];

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct mount_options o = { .flags = 0 };

		why[0] = '\0';
		assert_int_equal(options_parse(&o, bad[i], why, sizeof why), -KILN_EINVAL);
		assert_non_null(strstr(why, bad[i]));
	}
	struct mount_options sloppy = { .sloppy = true };
	assert_int_equal(options_parse(&sloppy, "nosuch,ro", why, sizeof why), 0);
	assert_int_equal(sloppy.flags, MS_RDONLY);
}

/* --- the library --- */

static struct kiln *connect_to(struct fake *f, const struct kiln_options *o)
{
	struct kiln *k;
	char why[256] = "";
	int err = kiln_connect(&k, fake_target(f), o, why, sizeof why);

	if (err)
		fail_msg("kiln_connect: %s", why);
	return k;
}

static void script_refuse(struct fake *f)
{
	fake_refuse(f, ENOENT, "no volume of that name");
}

static void test_refused(void **state)
{
	struct fake *f = fake_start(script_refuse);
	struct kiln *k;
	char why[256];

	assert_int_equal(kiln_connect(&k, fake_target(f), NULL, why, sizeof why), -ENOENT);
	assert_null(k);
	assert_string_equal(why, "no volume of that name");
	fake_join(f);
}

static void test_nobody_there(void **state)
{
	struct kiln *k;
	char why[256];

	assert_int_equal(kiln_connect(&k, "unix:/nowhere/at/all/v", NULL, why, sizeof why),
			 -ECONNRESET);
	assert_non_null(strstr(why, "kiln serve"));
}

static void script_lookup(struct fake *f)
{
	struct fuse_entry_out e = { .nodeid = 7 };
	struct fuse_in_header *h;

	fake_begin(f);
	h = fake_read(f);
	must(h->opcode == FUSE_LOOKUP && h->nodeid == 1 && h->uid == 5 && h->gid == 6);
	must(h->len == sizeof *h + 4 && strcmp((char *)(h + 1), "abc") == 0);
	must(h->padding < 65);
	fake_answer(f, h, 0, &e, sizeof e);
	h = fake_read(f);
	fake_answer(f, h, ENOENT, NULL, 0);
	h = fake_read(f); /* forgets ride ahead of the next call */
	must(h->opcode == FUSE_BATCH_FORGET && h->len == sizeof *h + 8 + 16);
	h = fake_read(f);
	must(h->opcode == FUSE_GETATTR);
	fake_answer(f, h, ESTALE, NULL, 0);
	h = fake_read(f);
	must(h->opcode == FUSE_DESTROY);
	fake_ended(f);
}

static void test_lookup(void **state)
{
	struct fake *f = fake_start(script_lookup);
	struct kiln_options o = { .uid = 5, .gid = 6 };
	struct kiln *k = connect_to(f, &o);
	struct fuse_entry_out e;
	struct fuse_attr_out a;
	char name[300];

	assert_int_equal(kiln_lookup(k, 1, "abc", &e), 0);
	assert_int_equal(e.nodeid, 7);
	assert_int_equal(kiln_lookup(k, 1, "abd", &e), -ENOENT);
	memset(name, 'n', sizeof name);
	name[256] = '\0';
	assert_int_equal(kiln_lookup(k, 1, name, &e), -ENAMETOOLONG);
	kiln_forget(k, 7, 1);
	assert_int_equal(kiln_getattr(k, 7, &a), -ESTALE);
	kiln_close(k);
	fake_join(f);
}

/* Answers in the reverse order, all in one piece. */
enum { MANY = 50 };
static void script_many(struct fake *f)
{
	struct fuse_in_header in[MANY];
	bool slot_used[65] = { false };

	fake_begin(f);
	for (int i = 0; i < MANY; i++) {
		in[i] = *fake_read(f);
		must(in[i].padding < 65 && !slot_used[in[i].padding]);
		slot_used[in[i].padding] = true;
		must(i == 0 || in[i].unique > in[i - 1].unique);
	}
	for (int i = MANY; i-- > 0;)
		fake_answer(f, &in[i], i % 2 ? EEXIST : 0, NULL, 0);
}

static void test_many(void **state)
{
	struct fake *f = fake_start(script_many);
	struct kiln *k = connect_to(f, NULL);
	struct kiln_result r[MANY];
	bool seen[MANY] = { false };
	unsigned got = 0;
	struct kiln_op op;

	for (intptr_t i = 0; i < MANY; i++) {
		kiln_prep_unlink(&op, 1, "x");
		op.tag = (void *)i;
		assert_int_equal(kiln_submit(k, &op, NULL), 0);
	}
	assert_int_equal(kiln_in_flight(k), MANY);
	while (got < MANY)
		got += kiln_collect(k, r + got, 1, MANY - got);
	for (int i = 0; i < MANY; i++) {
		intptr_t tag = (intptr_t)r[i].tag;

		assert_false(seen[tag]);
		seen[tag] = true;
		assert_int_equal(r[i].error, tag % 2 ? -EEXIST : 0);
	}
	assert_int_equal(kiln_in_flight(k), 0);
	assert_int_equal(kiln_collect(k, r, 1, 1), 0);
	kiln_close(k);
	fake_join(f);
}

static void test_out_of_slots(void **state)
{
	struct fake *f = fake_start(fake_begin);
	struct kiln_options o = { .slots = 3 };
	struct kiln *k = connect_to(f, &o);
	struct kiln_op op;

	kiln_prep_unlink(&op, 1, "x");
	for (int i = 0; i < 3; i++)
		assert_int_equal(kiln_submit(k, &op, NULL), 0);
	assert_int_equal(kiln_submit(k, &op, NULL), -EAGAIN);
	kiln_close(k);
	fake_join(f);
}

/* A megabyte, with a small answer before and behind, cut into odd pieces. */
static uint8_t megabyte[1 << 20];
static void script_read(struct fake *f)
{
	static uint8_t all[sizeof megabyte + 4 * sizeof(struct fuse_out_header)];
	struct fuse_out_header h = { .len = sizeof h + sizeof megabyte };
	struct fuse_in_header first, *in;
	size_t n = 0;

	fake_begin(f);
	first = *fake_read(f);
	in = fake_read(f);
	h.unique = in->unique;
	memcpy(all, &h, sizeof h);
	memcpy(all + sizeof h, megabyte, sizeof megabyte);
	n = sizeof h + sizeof megabyte;
	h = (struct fuse_out_header){ .len = sizeof h, .error = -ENOENT, .unique = first.unique };
	memcpy(all + n, &h, sizeof h);
	n += sizeof h;
	for (size_t at = 0, step = 1; at < n; at += step, step = step * 3 + 1)
		fake_send(f, all + at, step < n - at ? step : n - at);
}

static void test_long_read(void **state)
{
	struct fake *f;
	struct kiln *k;
	struct kiln_op op;
	struct kiln_result r;
	uint8_t *out = malloc(sizeof megabyte);

	for (size_t i = 0; i < sizeof megabyte; i++)
		megabyte[i] = (uint8_t)(i * 7 + i / 4096);
	f = fake_start(script_read);
	k = connect_to(f, NULL);
	kiln_prep_unlink(&op, 1, "x");
	assert_int_equal(kiln_submit(k, &op, NULL), 0);
	assert_int_equal(kiln_read(k, 2, 0, out, 2 * sizeof megabyte, 0), sizeof megabyte);
	assert_memory_equal(out, megabyte, sizeof megabyte);
	assert_int_equal(kiln_collect(k, &r, 1, 1), 1);
	assert_int_equal(r.error, -ENOENT);
	free(out);
	kiln_close(k);
	fake_join(f);
}

/* Killed with three calls unanswered: they come again, in order, marked; the answers count once. */
static void script_restart(struct fake *f)
{
	uint64_t unique[3];
	uint16_t slot[3];
	struct hello first, again;
	struct fuse_in_header *h;

	fake_hello(f, &first, 0);
	must(!(first.flags & HELLO_RESUME) && first.client != 0 && first.secret != 0);
	fake_init(f);
	for (int i = 0; i < 3; i++) {
		h = fake_read(f);
		unique[i] = h->unique;
		slot[i] = h->padding;
	}
	fake_hang_up(f);
	fake_hello(f, &again, HELLO_RESUME);
	must(again.flags & HELLO_RESUME);
	must(again.client == first.client && again.secret == first.secret);
	for (int i = 0; i < 3; i++) {
		h = fake_read(f);
		must(h->unique == (unique[i] | RESENT) && h->padding == slot[i]);
		fake_answer(f, h, 0, NULL, 0);
	}
}

static unsigned collect_all(struct kiln *k, struct kiln_result *r, unsigned want)
{
	unsigned got = 0;

	while (got < want)
		got += kiln_collect(k, r + got, want - got, want - got);
	return got;
}

static void test_restart(void **state)
{
	struct fake *f = fake_start(script_restart);
	struct kiln *k = connect_to(f, NULL);
	struct kiln_result r[3];
	struct kiln_op op;

	for (int i = 0; i < 3; i++) {
		kiln_prep_rmdir(&op, 1, "x");
		assert_int_equal(kiln_submit(k, &op, NULL), 0);
	}
	assert_int_equal(collect_all(k, r, 3), 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(r[i].error, 0);
	kiln_close(k);
	fake_join(f);
}

/* A server that has forgotten the client: what cannot be repeated fails, the rest goes on. */
static void script_forgotten(struct fake *f)
{
	struct fuse_attr_out a = { .attr.ino = 1 };
	struct fuse_in_header *h;

	fake_begin(f);
	fake_read(f);
	fake_read(f);
	fake_hang_up(f);
	fake_hello(f, NULL, 0);
	h = fake_read(f);
	must(h->opcode == FUSE_GETATTR);
	fake_answer(f, h, 0, &a, sizeof a);
}

static void test_forgotten(void **state)
{
	struct fake *f = fake_start(script_forgotten);
	struct kiln *k = connect_to(f, NULL);
	struct kiln_result r[2];
	struct fuse_attr_out a;
	struct kiln_op op;

	kiln_prep_unlink(&op, 1, "x");
	op.tag = &op;
	assert_int_equal(kiln_submit(k, &op, NULL), 0);
	kiln_prep_getattr(&op, 1, &a);
	op.tag = NULL;
	assert_int_equal(kiln_submit(k, &op, NULL), 0);
	assert_int_equal(collect_all(k, r, 2), 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(r[i].error, r[i].tag ? -EIO : 0);
	kiln_close(k);
	fake_join(f);
}

/* Answers that must not be believed.  Each ends the connection and the call comes again. */
struct lie {
	uint32_t len;
	int32_t error;
	uint64_t unique; /* added to the right one */
	size_t body;
};
static const struct lie lies[] = {
	{ 0, 0, 0, 0 },
	{ 15, 0, 0, 0 },
	{ UINT32_MAX, 0, 0, 0 },
	{ 16, 0, 0, 0 },                    /* an attribute's answer is longer */
	{ 16 + 104 + 8, 0, 0, 112 },        /* ... and not so long */
	{ 16 + 104, -2, 0, 104 },           /* an error has no body */
	{ 16, 5, 0, 0 },                    /* errors are negative */
	{ 16, -600, 0, 0 },
	{ 16, -2, 2, 0 },                   /* another slot */
	{ 16, -2, 1 << 11, 0 },             /* another call */
	{ 16, -2, RESENT, 0 },
	{ 16, -2, 1, 0 },
	{ 1 << 20, 3, UINT64_MAX, 0 },      /* a notification of a megabyte */
};
enum { LIES = sizeof lies / sizeof *lies };
static const struct lie *lie;

static void script_lie(struct fake *f)
{
	static const uint8_t body[256];
	struct fuse_out_header out = { .len = lie->len, .error = lie->error };
	struct fuse_in_header *h;

	fake_begin(f);
	h = fake_read(f);
	must(h->opcode == FUSE_GETATTR && !(h->unique & RESENT));
	out.unique = lie->unique == UINT64_MAX ? 0 : h->unique + lie->unique;
	fake_send(f, &out, sizeof out);
	fake_send(f, body, lie->body);
	fake_ended(f);
	fake_hello(f, NULL, HELLO_RESUME);
	h = fake_read(f);
	must(h->unique & RESENT);
	fake_answer(f, h, ENODATA, NULL, 0);
}

static void test_lies(void **state)
{
	for (lie = lies; lie < lies + LIES; lie++) {
		struct fake *f = fake_start(script_lie);
		struct kiln *k = connect_to(f, NULL);
		struct fuse_attr_out a;

		assert_int_equal(kiln_getattr(k, 1, &a), -ENODATA);
		kiln_close(k);
		fake_join(f);
	}
}

static void script_vanish(struct fake *f)
{
	fake_begin(f);
	fake_read(f);
	fake_hang_up(f);
	unlink(fake_socket(f));
}

static void test_soft(void **state)
{
	struct fake *f = fake_start(script_vanish);
	struct kiln_options o = { .soft_seconds = 1 };
	struct kiln *k = connect_to(f, &o);
	struct fuse_attr_out a;

	assert_int_equal(kiln_getattr(k, 1, &a), -EIO);
	assert_int_equal(kiln_getattr(k, 1, &a), -EIO);
	kiln_close(k);
	fake_join(f);
}

/* --- listings --- */

/* Sends one listing: records with these name lengths, cut after `cut` bytes (0: whole). */
static void send_listing(struct fake *f, const unsigned *lengths, size_t count, size_t cut)
{
	uint8_t body[4096] = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		struct fuse_dirent d = { .ino = i + 2, .off = i + 1, .namelen = lengths[i] };

		memcpy(body + n, &d, FUSE_NAME_OFFSET);
		memset(body + n + FUSE_NAME_OFFSET, 'a', lengths[i] < 300 ? lengths[i] : 0);
		n += FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + (lengths[i] < 300 ? lengths[i] : 0));
	}
	fake_answer(f, fake_read(f), 0, body, cut ? cut : n);
}

static void script_listing(struct fake *f)
{
	static const unsigned good[] = { 1, 255, 8 }, huge[] = { 1, UINT32_MAX }, none[] = { 0 };

	fake_begin(f);
	send_listing(f, good, 3, 0);
	send_listing(f, good, 3, FUSE_NAME_OFFSET + 8 + 20);
	send_listing(f, good, 3, FUSE_NAME_OFFSET + 8 + FUSE_NAME_OFFSET + 254);
	send_listing(f, huge, 2, 0);
	send_listing(f, none, 1, 0);
	send_listing(f, none, 0, 0);
}

static int count_entry(void *context, const struct kiln_entry *e)
{
	assert_int_equal(strlen(e->name), e->name_len);
	++*(int *)context;
	return 0;
}

static void test_listing(void **state)
{
	struct fake *f = fake_start(script_listing);
	struct kiln *k = connect_to(f, NULL);
	uint64_t off = 0;
	int seen = 0;

	assert_int_equal(kiln_readdir(k, 1, 0, &off, count_entry, &seen), 3);
	assert_int_equal(off, 3);
	assert_int_equal(seen, 3);
	for (int i = 0; i < 4; i++)
		assert_int_equal(kiln_readdir(k, 1, 0, &off, count_entry, &seen), -EPROTO);
	assert_int_equal(kiln_readdir(k, 1, 0, &off, count_entry, &seen), 0);
	kiln_close(k);
	fake_join(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_address_too_long),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_options_refused),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_nobody_there),
		cmocka_unit_test(test_lookup),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_out_of_slots),
		cmocka_unit_test(test_long_read),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_soft),
		cmocka_unit_test(test_listing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Clients that misbehave, or merely go away at the wrong moment, against a whole server: it keeps
 * its descriptors, its memory and its processor, and others notice nothing. */
#include "tests/embed.h"

#include "base/clock.h"
#include "base/hello.h"
#include "base/log.h"
#include "server/session.h"
#include "server/volumes.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_MS = 20000, IO = 1 << 20 };

static struct embed *begin(void)
{
	struct embed *e = embed_new();

	embed_start(e);
	embed_volume(e, "v", DURABILITY_FSYNC);
	return e;
}

static int dial(const struct embed *e)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(sun.sun_path, sizeof sun.sun_path, "%.100s", e->address + strlen("unix:"));
	assert_int_equal(connect(fd, (struct sockaddr *)(void *)&sun, sizeof sun), 0);
	return fd;
}

static void say_hello_with(int fd, unsigned kind, uint64_t client, unsigned flags)
{
	struct hello h = { .magic = HELLO_MAGIC, .version = HELLO_VERSION, .kind = (uint16_t)kind,
			   .flags = flags, .slots = 8, .client = client, .secret = 1,
			   .volume = "v", .host = "h" };

	assert_int_equal(send(fd, &h, sizeof h, MSG_NOSIGNAL), sizeof h);
}

static void say_hello(int fd, unsigned kind, uint64_t client)
{
	say_hello_with(fd, kind, client, 0);
}

/* True: the server knew the client. */
static bool hear_reply(int fd)
{
	struct hello_reply r;

	assert_int_equal(recv(fd, &r, sizeof r, MSG_WAITALL), sizeof r);
	assert_int_equal(r.error, 0);
	return r.flags & HELLO_RESUME;
}

static void settle(void)
{
	poll(NULL, 0, 1);
}

/* --- somebody who hangs up before he is answered ------------------------------------------------ */

struct count {
	unsigned sessions, connected;
};

static void count_session(void *context, const struct session_info *info)
{
	struct count *c = context;

	c->sessions++;
	c->connected += info->connected;
}

static struct count sessions_of(struct embed *e)
{
	struct count c = { 0 };
	struct volume *v;

	assert_int_equal(volumes_find(e->server->volumes, "v", &v), 0);
	volume_each_session(v, count_session, &c);
	volumes_put(e->server->volumes, v);
	return c;
}

static void hanging_up_leaves_nobody_connected(void **state)
{
	struct embed *e = begin();
	struct count c = { 0 };

	for (unsigned i = 0; i < 400; i++) {
		int fd = dial(e);

		say_hello(fd, HELLO_LIBRARY, 1 + i % 8);
		close(fd);
	}
	for (int ms = 0; ms < PATIENCE_MS; ms++) {
		c = sessions_of(e);
		if (c.sessions == 8 && !c.connected)
			break;
		settle();
	}
	assert_int_equal(c.connected, 0);
	assert_int_equal(c.sessions, 8);
	embed_free(e);
}

/* What remains of a client that stayed away too long is removed at once, and others' changes go on:
 * neither waits for its loop to have something else to do, which takes up to a second. */
static uint64_t expiry_ns(struct embed *e, uint64_t client)
{
	uint64_t applied, began;
	int fd = dial(e);

	say_hello(fd, HELLO_LIBRARY, client);
	hear_reply(fd);
	applied = plug_applied(e->plug);
	close(fd);
	while (sessions_of(e).sessions > 0)
		settle();
	began = clock_mono();
	while (plug_applied(e->plug) == applied)
		settle();
	return clock_mono() - began;
}

static void who_stays_away_holds_up_nobody(void **state)
{
	struct embed *e = embed_new();
	uint64_t least = UINT64_MAX;

	e->session_timeout_ns = NS_PER_MS;
	embed_start(e);
	embed_volume(e, "v", DURABILITY_FSYNC);
	for (unsigned i = 0; i < 3 && least > NS_PER_S / 2; i++) {
		uint64_t took = expiry_ns(e, 1 + i);

		least = took < least ? took : least;
	}
	assert_true(least < NS_PER_S / 2);
	embed_free(e);
}

struct looking {
	struct server *server;
	bool stop; /* atomic */
};

static void *keep_looking(void *context)
{
	struct looking *l = context;

	while (!__atomic_load_n(&l->stop, __ATOMIC_RELAXED))
		session_tick(l->server);
	return NULL;
}

/* Clients come and go while it is looked for who has been away too long: nobody has. */
static void who_comes_just_now_is_not_late(void **state)
{
	struct embed *e = begin();
	struct looking l = { .server = e->server };
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, keep_looking, &l), 0);
	for (unsigned i = 0; i < 400; i++) {
		int fd = dial(e);

		say_hello(fd, HELLO_LIBRARY, 1 + i);
		hear_reply(fd);
		close(fd);
	}
	__atomic_store_n(&l.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_int_equal(sessions_of(e).sessions, 400);
	embed_free(e);
}

static bool is_known(struct embed *e, uint64_t client)
{
	int fd = dial(e);
	bool known;

	say_hello_with(fd, HELLO_LIBRARY, client, HELLO_RESUME);
	known = hear_reply(fd);
	close(fd);
	return known;
}

/* The server has forgotten a client, who comes back and goes on, and opens and locks files: the
 * next start must know whose they are, although he does not say INIT again. */
static void who_was_forgotten_is_known_from_then_on(void **state)
{
	struct embed *e = begin();
	uint64_t applied;
	int fd = dial(e);

	say_hello(fd, HELLO_LIBRARY, 1); /* the volume is loaded, which applies something too */
	hear_reply(fd);
	close(fd);
	applied = plug_applied(e->plug);
	assert_false(is_known(e, 2));
	for (int ms = 0; ms < PATIENCE_MS && plug_applied(e->plug) == applied; ms++)
		settle();
	embed_stop(e);
	embed_start(e);
	assert_true(is_known(e, 2));
	embed_free(e);
}

/* --- descriptors ----------------------------------------------------------------------------------- */

static unsigned descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void send_descriptors(int to, int fd, unsigned count)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * 64)];
	} control = { .bytes = { 0 } };
	char byte = 'F';
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = CMSG_SPACE(sizeof(int) * count) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * count);
	for (unsigned i = 0; i < count; i++)
		memcpy(CMSG_DATA(c) + i * sizeof fd, &fd, sizeof fd);
	assert_int_equal(sendmsg(to, &m, MSG_NOSIGNAL), 1);
}

static void hand_over(struct embed *e, unsigned count)
{
	int fd = dial(e), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char byte;

	say_hello(fd, HELLO_FUSE_FD, 7);
	hear_reply(fd);
	send_descriptors(fd, null, count);
	assert_true(recv(fd, &byte, 1, 0) <= 0); /* it wants none of that */
	close(null);
	close(fd);
}

static void descriptors_that_are_not_wanted_are_closed(void **state)
{
	struct embed *e = begin();
	unsigned before, now = 0;

	hand_over(e, 1);
	before = descriptors();
	for (unsigned i = 0; i < 20; i++)
		hand_over(e, 1 + i % 5);
	for (int ms = 0; ms < PATIENCE_MS && (now = descriptors()) > before; ms++)
		settle();
	assert_true(now <= before);
	embed_free(e);
}

/* --- the processor ---------------------------------------------------------------------------------- */

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* A loop that spins uses all the processor it can get; one that has just become idle does not
 * for longer than a moment. */
static void assert_idle(void)
{
	uint64_t cpu = 0;

	for (int tries = 0; tries < 50; tries++) {
		cpu = cpu_ns();
		poll(NULL, 0, 20);
		cpu = cpu_ns() - cpu;
		if (cpu < 3 * NS_PER_MS)
			return;
	}
	fail_msg("%lu ms of processor time in 20", (unsigned long)(cpu / NS_PER_MS));
}

static void a_silent_client_that_ends_costs_nothing(void **state)
{
	struct embed *e = begin();
	struct kiln *half[2];
	int fd[2];

	for (int i = 0; i < 2; i++) /* connections go to the loops in turn */
		half[i] = embed_connect(e, "v", 1);
	for (int i = 0; i < 2; i++) {
		fd[i] = dial(e);
		say_hello(fd[i], HELLO_FUSE_FD, 70 + (unsigned)i);
		hear_reply(fd[i]);
	}
	/* every loop has looked in vain for the rest of a message */
	for (int i = 0; i < 2; i++)
		assert_int_equal(kiln_raw_send(half[i], "half a message", 14), 0);
	poll(NULL, 0, 20);
	for (int i = 0; i < 2; i++)
		close(fd[i]);
	assert_idle();
	for (int i = 0; i < 2; i++)
		kiln_close(half[i]);
	embed_free(e);
}

/* --- large replies ------------------------------------------------------------------------------------ */

static uint64_t make_file(struct embed *e)
{
	struct kiln *k = embed_connect(e, "v", 1);
	static char bytes[IO];
	struct kiln_created made;

	memset(bytes, 'x', sizeof bytes);
	assert_int_equal(kiln_create(k, KILN_ROOT, "large", 0644, O_RDWR, &made), 0);
	assert_int_equal(kiln_write(k, made.entry.nodeid, made.open.fh, bytes, IO, 0, 0), IO);
	assert_int_equal(kiln_fsync(k, made.entry.nodeid, made.open.fh, false), 0);
	kiln_close(k);
	return made.entry.nodeid;
}

struct ask {
	struct fuse_in_header in;
	struct fuse_read_in read;
};

static void ask_read(struct kiln *k, uint64_t node, unsigned count, uint32_t size)
{
	struct ask *asks = calloc(count, sizeof *asks);

	for (unsigned i = 0; i < count; i++)
		asks[i] = (struct ask){
			.in = { .len = sizeof *asks, .opcode = FUSE_READ, .nodeid = node,
				.unique = 1000 + 2 * i },
			.read = { .size = size },
		};
	assert_int_equal(kiln_raw_send(k, asks, count * sizeof *asks), 0);
	free(asks);
}

static void hear_reads(struct kiln *k, unsigned count, uint32_t size)
{
	static char reply[IO + 16];

	for (unsigned i = 0; i < count; i++)
		assert_int_equal(kiln_raw_recv(k, reply, sizeof reply), size + 16);
}

struct taker {
	struct kiln *k;
	unsigned small; /* replies taken among the large ones: they come in any order */
	bool done;      /* atomic */
};

enum { LARGE = 6, LARGE_BYTES = 100000, SMALL = 40, SMALL_BYTES = 10, ROUNDS = 60 };

static void *take_large(void *context)
{
	static char reply[LARGE_BYTES + 16];
	struct taker *t = context;
	unsigned large = 0;

	while (large < LARGE) {
		if (kiln_raw_recv(t->k, reply, sizeof reply) == SMALL_BYTES + 16)
			t->small++;
		else
			large++;
	}
	__atomic_store_n(&t->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Replies are taken while more is asked for, so that what waits for a full connection leaves now
 * when it can be written again, now with the next replies. */
static void a_full_connection_that_drains_is_quiet(void **state)
{
	struct embed *e = begin();
	uint64_t node = make_file(e);
	struct kiln *k = embed_connect(e, "v", 1);

	for (int round = 0; round < ROUNDS; round++) {
		struct taker t = { .k = k };
		pthread_t thread;
		unsigned small = 0;

		ask_read(k, node, LARGE, LARGE_BYTES);
		settle();
		assert_int_equal(pthread_create(&thread, NULL, take_large, &t), 0);
		do
			ask_read(k, node, 1, SMALL_BYTES);
		while (++small < SMALL || (small < SMALL * 10 &&
					   !__atomic_load_n(&t.done, __ATOMIC_ACQUIRE)));
		pthread_join(thread, NULL);
		hear_reads(k, small - t.small, SMALL_BYTES);
		assert_idle();
	}
	kiln_close(k);
	embed_free(e);
}

static size_t resident_mib(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long size, resident;

	assert_int_equal(fscanf(f, "%lu %lu", &size, &resident), 2);
	fclose(f);
	return resident * 4096 >> 20;
}

/* It is read from no more once that much waits for it, and goes on when it has taken it. */
static void who_does_not_read_is_not_served(void **state)
{
	enum { READS = 600 };
	struct embed *e = begin();
	uint64_t node = make_file(e);
	struct kiln *k = embed_connect(e, "v", 1), *other = embed_connect(e, "v", 2);
	struct fuse_attr_out attr;
	size_t before = resident_mib();

	ask_read(k, node, READS, IO);
	for (int ms = 0; ms < 300; ms += 20) {
		poll(NULL, 0, 20);
		assert_int_equal(kiln_getattr(other, KILN_ROOT, &attr), 0);
	}
	assert_true(resident_mib() < before + 200);
	hear_reads(k, READS, IO);
	ask_read(k, node, 1, 100);
	hear_reads(k, 1, 100);
	assert_idle();
	kiln_close(other);
	kiln_close(k);
	embed_free(e);
}

/* --- loading ----------------------------------------------------------------------------------------- */

/* A client of before with a file that has no name any more, a lock and a big file removed: all that
 * a load restores. */
static void leave_behind(struct embed *e)
{
	struct kiln *k = embed_connect(e, "v", 1);
	struct fuse_file_lock lock = { .end = INT64_MAX, .type = F_WRLCK, .pid = 1 };
	struct kiln_created kept, gone;

	assert_int_equal(kiln_create(k, KILN_ROOT, "kept", 0644, O_RDWR, &kept), 0);
	assert_int_equal(kiln_setlk(k, kept.entry.nodeid, kept.open.fh, 1, &lock, false, false), 0);
	assert_int_equal(kiln_create(k, KILN_ROOT, "gone", 0644, O_RDWR, &gone), 0);
	assert_int_equal(kiln_unlink(k, KILN_ROOT, "gone"), 0);
	embed_stop(e);
	kiln_close(k);
}

static bool comes_in(struct embed *e)
{
	int fd = dial(e);
	struct hello_reply r;

	say_hello(fd, HELLO_LIBRARY, 77);
	assert_int_equal(recv(fd, &r, sizeof r, MSG_WAITALL), sizeof r);
	close(fd);
	return r.error == 0;
}

static void a_load_that_failed_is_done_again_whole(void **state)
{
	bool failed = true;

	for (unsigned nth = 1; failed; nth++) {
		struct embed *e = begin();
		struct count c;

		leave_behind(e);
		embed_start(e);
		plug_fail_read(e->plug, nth);
		failed = !comes_in(e);
		assert_int_equal(plug_fail_read(e->plug, 0), failed);
		alarm(PATIENCE_MS / 1000);
		assert_true(comes_in(e));
		alarm(0);
		c = sessions_of(e);
		assert_int_equal(c.sessions, 2); /* the one of before, and this */
		embed_free(e);
		assert_true(failed || nth > 5);
	}
}

/* --- the end -------------------------------------------------------------------------------------------- */

static long given_up = -1; /* atomic: requests that a stop has not waited for any longer; -1: none */

static void listen_for_that(enum log_level level, const char *text)
{
	unsigned long count;

	if (sscanf(text, "stopping with %lu requests unanswered", &count) == 1)
		__atomic_store_n(&given_up, (long)count, __ATOMIC_RELEASE);
}

static struct fuse_file_lock whole_file(uint32_t type)
{
	return (struct fuse_file_lock){ .end = INT64_MAX, .type = type, .pid = 1 };
}

/* a holds a lock, b waits for it. */
static struct kiln_created hold_and_wait(struct embed *e, struct kiln *a, struct kiln *b)
{
	struct fuse_file_lock lock = whole_file(F_WRLCK);
	struct fuse_lk_in in = { .owner = 2, .lk = lock };
	struct kiln_op op = { .opcode = FUSE_SETLKW, .arg_len = sizeof in };
	struct kiln_created made;
	struct kiln_result none;

	assert_int_equal(kiln_create(a, KILN_ROOT, "f", 0644, O_RDWR, &made), 0);
	assert_int_equal(kiln_setlk(a, made.entry.nodeid, made.open.fh, 1, &lock, false, false), 0);
	op.node = made.entry.nodeid;
	memcpy(op.arg, &in, sizeof in);
	assert_int_equal(kiln_submit(b, &op, NULL), 0);
	assert_int_equal(kiln_collect(b, &none, 0, 1), 0); /* sends it */
	while (!__atomic_load_n(&e->server->lock_waits, __ATOMIC_RELAXED))
		settle();
	return made;
}

/* It lets go of them as of somebody who is not answered in time, but at once; the next server is
 * asked again and grants what this one did not. */
static void a_stop_does_not_wait_for_who_waits_for_a_lock(void **state)
{
	struct embed *e = begin();
	struct kiln *a = embed_connect(e, "v", 1), *b = embed_connect(e, "v", 2);
	struct fuse_file_lock unlock = whole_file(F_UNLCK);
	struct kiln_created made;
	struct kiln_result result;

	alarm(PATIENCE_MS / 1000);
	made = hold_and_wait(e, a, b);
	__atomic_store_n(&given_up, -1, __ATOMIC_RELAXED);
	embed_stop(e);
	assert_int_equal(given_up, -1);
	embed_start(e);
	assert_int_equal(kiln_setlk(a, made.entry.nodeid, made.open.fh, 1, &unlock, false, false), 0);
	assert_int_equal(kiln_collect(b, &result, 1, 1), 1);
	assert_int_equal(result.error, 0);
	alarm(0);
	kiln_close(a);
	kiln_close(b);
	embed_free(e);
}

static void *stop_it(void *context)
{
	embed_stop(context);
	return NULL;
}

static void a_stop_waits_for_others_all_the_same(void **state)
{
	struct embed *e = begin();
	struct kiln *a = embed_connect(e, "v", 1), *b = embed_connect(e, "v", 2);
	struct kiln *c = embed_connect(e, "v", 3);
	struct fuse_entry_out out;
	struct kiln_op op = { 0 };
	struct kiln_result result;
	pthread_t thread;

	alarm(PATIENCE_MS / 1000);
	hold_and_wait(e, a, b);
	plug_hold_apply(e->plug);
	kiln_prep_mkdir(&op, KILN_ROOT, "d", 0755, &out);
	assert_int_equal(kiln_submit(c, &op, NULL), 0);
	assert_int_equal(kiln_collect(c, &result, 0, 1), 0);
	plug_await_apply(e->plug);
	__atomic_store_n(&given_up, -1, __ATOMIC_RELAXED);
	assert_int_equal(pthread_create(&thread, NULL, stop_it, e), 0);
	while (__atomic_load_n(&given_up, __ATOMIC_ACQUIRE) < 0)
		settle();
	assert_int_equal(given_up, 1);
	plug_go_apply(e->plug);
	pthread_join(thread, NULL);
	alarm(0);
	kiln_close(a);
	kiln_close(b);
	kiln_close(c);
	embed_free(e);
}

/* An argument: only the tests whose names it matches. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hanging_up_leaves_nobody_connected),
		cmocka_unit_test(who_stays_away_holds_up_nobody),
		cmocka_unit_test(who_comes_just_now_is_not_late),
		cmocka_unit_test(who_was_forgotten_is_known_from_then_on),
		cmocka_unit_test(descriptors_that_are_not_wanted_are_closed),
		cmocka_unit_test(a_silent_client_that_ends_costs_nothing),
		cmocka_unit_test(a_full_connection_that_drains_is_quiet),
		cmocka_unit_test(who_does_not_read_is_not_served),
		cmocka_unit_test(a_load_that_failed_is_done_again_whole),
		cmocka_unit_test(a_stop_does_not_wait_for_who_waits_for_a_lock),
		cmocka_unit_test(a_stop_waits_for_others_all_the_same),
	};

	log_sink_set(listen_for_that);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

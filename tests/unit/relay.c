/* The relay between a kernel and a server that are both played by the test: a packet socket, which
 * keeps messages whole as /dev/fuse does, and a scripted server. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/outbox.h"
#include "client/relay.h"
#include "client/session.h"
#include "tests/unit/fakeserver.h"

#define RESENT (1ull << 63)

struct kernel {
	struct fake *server;
	struct csession session;
	pthread_t thread;
	int fd, dev;
	unsigned soft_seconds;
	int result;
};

static void *run_relay(void *arg)
{
	struct kernel *k = arg;
	int conn = csession_connect(&k->session);

	must(conn >= 0);
	k->result = relay_run(&k->session, conn, k->dev, k->soft_seconds);
	return NULL;
}

static void kernel_start(struct kernel *k, fake_script *script)
{
	struct target t;
	char why[256];
	int pair[2];

	k->server = fake_start(script);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	k->fd = pair[0];
	k->dev = pair[1];
	assert_int_equal(fcntl(k->dev, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(address_parse_target(&t, fake_target(k->server), why, sizeof why), 0);
	assert_int_equal(csession_init(&k->session, &t, HELLO_RELAY, RELAY_SLOTS), 0);
	assert_int_equal(pthread_create(&k->thread, NULL, run_relay, k), 0);
}

/* Unmounts, and waits for both. */
static void kernel_stop(struct kernel *k)
{
	close(k->fd);
	pthread_join(k->thread, NULL);
	assert_int_equal(k->result, 0);
	fake_join(k->server);
}

static void kernel_ask(struct kernel *k, uint32_t opcode, uint64_t unique, size_t body)
{
	static uint8_t message[100000];
	struct fuse_in_header h = { .len = (uint32_t)(sizeof h + body), .opcode = opcode,
				    .unique = unique, .nodeid = 1, .pid = (uint32_t)getpid() };

	memcpy(message, &h, sizeof h);
	memset(message + sizeof h, (int)unique, body);
	assert_int_equal(send(k->fd, message, h.len, 0), h.len);
}

static void kernel_interrupt(struct kernel *k, uint64_t unique)
{
	struct {
		struct fuse_in_header h;
		struct fuse_interrupt_in in;
	} m = { .h = { .len = sizeof m, .opcode = FUSE_INTERRUPT, .unique = unique | 1 },
		.in.unique = unique };

	assert_int_equal(send(k->fd, &m, sizeof m, 0), sizeof m);
}

/* The next reply; its length must fit its header. */
static struct fuse_out_header kernel_hear(struct kernel *k, size_t body)
{
	static uint8_t message[100000];
	struct fuse_out_header h;

	assert_int_equal(recv(k->fd, message, sizeof message, 0), sizeof h + body);
	memcpy(&h, message, sizeof h);
	assert_int_equal(h.len, sizeof h + body);
	return h;
}

static void kernel_hears(struct kernel *k, uint64_t unique, int error, size_t body)
{
	struct fuse_out_header h = kernel_hear(k, body);

	assert_int_equal(h.unique, unique);
	assert_int_equal(h.error, -error);
}

/* --- passing on --- */

static void expect_destroy(struct fake *f)
{
	must(fake_read(f)->opcode == FUSE_DESTROY);
	fake_ended(f);
}

static void script_pass(struct fake *f)
{
	static const uint8_t body[50000] = { 1 };
	struct fuse_in_header *h;

	fake_hello(f, NULL, 0);
	fake_init(f);
	h = fake_read(f);
	must(h->opcode == FUSE_WRITE && h->len == sizeof *h + 60000 && h->unique == 4);
	must(h->padding < RELAY_SLOTS && ((uint8_t *)(h + 1))[59999] == 4);
	fake_answer(f, h, 0, body, sizeof body);
	h = fake_read(f);
	must(h->opcode == FUSE_FORGET);
	fake_answer(f, fake_read(f), ENOENT, NULL, 0);
	expect_destroy(f);
}

static void test_pass(void **state)
{
	struct kernel k = { .soft_seconds = 0 };

	kernel_start(&k, script_pass);
	kernel_ask(&k, FUSE_INIT, 2, sizeof(struct fuse_init_in));
	kernel_hears(&k, 2, 0, sizeof(struct fuse_init_out));
	kernel_ask(&k, FUSE_WRITE, 4, 60000);
	kernel_hears(&k, 4, 0, 50000);
	kernel_ask(&k, FUSE_FORGET, 6, 8);
	kernel_ask(&k, FUSE_GETATTR, 8, 16);
	kernel_hears(&k, 8, ENOENT, 0);
	kernel_stop(&k);
}

/* --- a server killed --- */

enum { UNANSWERED = 20 };

static void script_restart(struct fake *f)
{
	struct fuse_in_header *h;
	uint16_t slot[UNANSWERED];

	fake_hello(f, NULL, 0);
	for (int i = 0; i < UNANSWERED; i++) {
		h = fake_read(f);
		must(h->unique == (uint64_t)(i + 1) * 2);
		slot[i] = h->padding;
	}
	must(fake_read(f)->opcode == FUSE_FORGET);
	must(fake_read(f)->opcode == FUSE_INTERRUPT);
	fake_hang_up(f);
	fake_hello(f, NULL, HELLO_RESUME);
	for (int i = 0; i < UNANSWERED; i++) {
		h = fake_read(f);
		must(h->unique == ((uint64_t)(i + 1) * 2 | RESENT) && h->padding == slot[i]);
		must(h->opcode == FUSE_MKDIR && ((uint8_t *)(h + 1))[2] == (i + 1) * 2);
		fake_answer(f, h, 0, NULL, 0);
		if (i == 4) { /* the one that was interrupted */
			h = fake_read(f);
			must(h->opcode == FUSE_INTERRUPT && h->unique == 11);
		}
	}
	expect_destroy(f);
}

static void test_restart(void **state)
{
	struct kernel k = { .soft_seconds = 0 };

	kernel_start(&k, script_restart);
	for (int i = 0; i < UNANSWERED; i++)
		kernel_ask(&k, FUSE_MKDIR, (uint64_t)(i + 1) * 2, 3);
	kernel_ask(&k, FUSE_FORGET, 1000, 8);
	kernel_interrupt(&k, 10);
	for (int i = 0; i < UNANSWERED; i++)
		kernel_hears(&k, (uint64_t)(i + 1) * 2, 0, 0);
	kernel_stop(&k);
}

static void script_forgotten(struct fake *f)
{
	struct fuse_in_header *h;

	fake_hello(f, NULL, 0);
	fake_read(f);
	fake_read(f);
	fake_hang_up(f);
	fake_hello(f, NULL, 0);
	h = fake_read(f);
	must(h->opcode == FUSE_GETATTR && h->unique == (4 | RESENT));
	fake_answer(f, h, ENOENT, NULL, 0);
	expect_destroy(f);
}

static void test_forgotten(void **state)
{
	struct kernel k = { .soft_seconds = 0 };

	kernel_start(&k, script_forgotten);
	kernel_ask(&k, FUSE_MKDIR, 2, 3);
	kernel_ask(&k, FUSE_GETATTR, 4, 16);
	kernel_hears(&k, 2, EIO, 0);
	kernel_hears(&k, 4, ENOENT, 0);
	kernel_stop(&k);
}

/* --- a server that lies --- */

struct lie {
	uint32_t len;
	int32_t error;
	uint64_t unique;
};
static const struct lie lies[] = {
	{ 0, 0, 2 },
	{ 15, 0, 2 },
	{ UINT32_MAX, 0, 2 },
	{ MESSAGE_MAX + 1, 0, 2 },
	{ 16, 5, 2 },
	{ 16, -600, 2 },
	{ 17, -2, 2 },
	{ 16, -2, 4 },
	{ 16, -2, 3 },
	{ 16, -2, 2 | RESENT },
	{ 16, 1, 0 },  /* a notification nobody here asked for */
	{ 16, 5, 0 },  /* the kernel would answer this one */
	{ 16, 7, 0 },  /* the kernel would send everything again */
	{ 16, -2, 0 },
};
enum { LIES = sizeof lies / sizeof *lies };
static const struct lie *lie;

static void script_lie(struct fake *f)
{
	struct fuse_out_header out = { lie->len, lie->error, lie->unique };

	fake_hello(f, NULL, 0);
	must(fake_read(f)->unique == 2);
	fake_send(f, &out, sizeof out);
	fake_send(f, &out, 1);
	fake_ended(f);
	fake_hello(f, NULL, HELLO_RESUME);
	must(fake_read(f)->unique == (2 | RESENT));
	fake_answer(f, &(struct fuse_in_header){ .unique = 2 }, ENOENT, NULL, 0);
	expect_destroy(f);
}

static void test_lies(void **state)
{
	for (lie = lies; lie < lies + LIES; lie++) {
		struct kernel k = { .soft_seconds = 0 };

		kernel_start(&k, script_lie);
		kernel_ask(&k, FUSE_LOOKUP, 2, 3);
		kernel_hears(&k, 2, ENOENT, 0);
		kernel_stop(&k);
	}
}

/* What the kernel may be told reaches it, and in order. */
static void script_notify(struct fake *f)
{
	struct {
		struct fuse_out_header h;
		struct fuse_notify_inval_inode_out out;
	} n = { .h = { .len = sizeof n, .error = FUSE_NOTIFY_INVAL_INODE }, .out.ino = 1 };

	fake_hello(f, NULL, 0);
	for (n.out.off = 0; n.out.off < 3; n.out.off++)
		fake_send(f, &n, sizeof n);
	expect_destroy(f);
}

static void test_notify(void **state)
{
	struct kernel k = { .soft_seconds = 0 };
	struct {
		struct fuse_out_header h;
		struct fuse_notify_inval_inode_out out;
	} n;

	kernel_start(&k, script_notify);
	for (int64_t i = 0; i < 3; i++) {
		assert_int_equal(recv(k.fd, &n, sizeof n, 0), sizeof n);
		assert_int_equal(n.h.unique, 0);
		assert_int_equal(n.out.off, i);
	}
	kernel_stop(&k);
}

static void script_init_lie(struct fake *f)
{
	struct fuse_init_out out = { .major = 7, .minor = 38, .max_write = 2 << 20 };

	fake_hello(f, NULL, 0);
	fake_answer(f, fake_read(f), 0, &out, sizeof out);
	fake_ended(f);
	fake_hello(f, NULL, HELLO_RESUME);
	fake_init(f);
	expect_destroy(f);
}

static void test_init_lie(void **state)
{
	struct kernel k = { .soft_seconds = 0 };

	kernel_start(&k, script_init_lie);
	kernel_ask(&k, FUSE_INIT, 2, sizeof(struct fuse_init_in));
	kernel_hears(&k, 2, 0, sizeof(struct fuse_init_out));
	kernel_stop(&k);
}

/* --- a server away --- */

static void script_vanish(struct fake *f)
{
	fake_hello(f, NULL, 0);
	fake_read(f);
	unlink(fake_socket(f));
	fake_hang_up(f);
}

static void test_soft(void **state)
{
	struct kernel k = { .soft_seconds = 1 };

	kernel_start(&k, script_vanish);
	kernel_ask(&k, FUSE_MKDIR, 2, 3);
	kernel_hears(&k, 2, EIO, 0);
	kernel_ask(&k, FUSE_GETATTR, 4, 16);
	kernel_hears(&k, 4, EIO, 0);
	kernel_stop(&k);
}

/* Who is being killed is let go while the server is away; who merely handles a signal waits on. */
static void test_killed(void **state)
{
	struct kernel k = { .soft_seconds = 0 };
	struct fuse_in_header h = { .len = sizeof h, .opcode = FUSE_RMDIR, .unique = 6 };
	struct pollfd p = { .events = POLLIN };
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	h.pid = (uint32_t)child; /* gone, as good as killed */
	kernel_start(&k, script_vanish);
	kernel_ask(&k, FUSE_MKDIR, 2, 3);
	kernel_interrupt(&k, 2);
	assert_int_equal(send(k.fd, &h, sizeof h, 0), sizeof h);
	kernel_interrupt(&k, 6);
	kernel_hears(&k, 6, EINTR, 0);
	p.fd = k.fd;
	assert_int_equal(poll(&p, 1, 0), 0);
	kernel_stop(&k);
}

/* --- more than there are slots --- */

enum { CROWD = RELAY_SLOTS + 200, STRIDE = 50 };
static int crowd_heard; /* atomic */

/* A packet socket, unlike the kernel, takes only so many answers that nobody has read. */
static void crowd_answer(struct fake *f, const struct fuse_in_header *in, int done)
{
	fake_answer(f, in, ENOENT, NULL, 0);
	while (done - __atomic_load_n(&crowd_heard, __ATOMIC_ACQUIRE) >= STRIDE)
		sched_yield();
}

static void script_crowd(struct fake *f)
{
	static bool taken[RELAY_SLOTS];
	static struct fuse_in_header held[RELAY_SLOTS];
	struct pollfd p = { .events = POLLIN };
	int done = 0;

	fake_hello(f, NULL, 0);
	for (int i = 0; i < RELAY_SLOTS; i++) {
		held[i] = *fake_read(f);
		must(held[i].padding < RELAY_SLOTS && !taken[held[i].padding]);
		taken[held[i].padding] = true;
	}
	p.fd = fake_fd(f);
	must(poll(&p, 1, 50) == 0); /* the rest waits in the kernel */
	for (int i = 0; i < RELAY_SLOTS; i++, done++)
		crowd_answer(f, &held[i], done);
	for (; done < CROWD; done++)
		crowd_answer(f, fake_read(f), done);
	expect_destroy(f);
}

static void *hear_crowd(void *arg)
{
	struct kernel *k = arg;
	struct fuse_out_header h;

	for (int i = 1; i <= CROWD; i++) {
		must(recv(k->fd, &h, sizeof h, 0) == sizeof h && h.error == -ENOENT);
		__atomic_store_n(&crowd_heard, i, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void test_crowd(void **state)
{
	struct kernel k = { .soft_seconds = 0 };
	pthread_t hearer;

	kernel_start(&k, script_crowd);
	assert_int_equal(pthread_create(&hearer, NULL, hear_crowd, &k), 0);
	for (int i = 0; i < CROWD; i++)
		kernel_ask(&k, FUSE_LOOKUP, (uint64_t)(i + 1) * 2, 3);
	pthread_join(hearer, NULL);
	kernel_stop(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pass),      cmocka_unit_test(test_restart),
		cmocka_unit_test(test_forgotten), cmocka_unit_test(test_lies),
		cmocka_unit_test(test_notify),    cmocka_unit_test(test_init_lie),
		cmocka_unit_test(test_soft),
		     cmocka_unit_test(test_killed),
		cmocka_unit_test(test_crowd),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/unit/fakeserver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct fake {
	pthread_t thread;
	fake_script *script;
	int listener, fd;
	char dir[64], path[80], target[96];
	_Alignas(8) uint8_t message[2 << 20];
};

void fake_must(bool ok, const char *text, const char *file, int line)
{
	if (ok)
		return;
	fprintf(stderr, "%s:%d: the fake server expected: %s\n", file, line, text);
	abort();
}

static void *run(void *arg)
{
	struct fake *f = arg;

	f->script(f);
	return NULL;
}

struct fake *fake_start(fake_script *script)
{
	struct fake *f = calloc(1, sizeof *f);
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	must(f != NULL);
	f->script = script;
	f->fd = -1;
	strcpy(f->dir, "/tmp/kiln-fake-XXXXXX");
	must(mkdtemp(f->dir) != NULL);
	snprintf(f->path, sizeof f->path, "%s/s", f->dir);
	snprintf(f->target, sizeof f->target, "unix:%s/v", f->path);
	strcpy(sun.sun_path, f->path);
	f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(bind(f->listener, (const struct sockaddr *)&sun, sizeof sun) == 0);
	must(listen(f->listener, 8) == 0);
	must(pthread_create(&f->thread, NULL, run, f) == 0);
	return f;
}

void fake_join(struct fake *f)
{
	pthread_join(f->thread, NULL);
	fake_hang_up(f);
	close(f->listener);
	unlink(f->path);
	rmdir(f->dir);
	free(f);
}

const char *fake_target(const struct fake *f)
{
	return f->target;
}

const char *fake_socket(const struct fake *f)
{
	return f->path;
}

int fake_fd(const struct fake *f)
{
	return f->fd;
}

void fake_hang_up(struct fake *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

static void read_exactly(struct fake *f, void *out, size_t n)
{
	must(n == 0 || recv(f->fd, out, n, MSG_WAITALL) == (ssize_t)n);
}

static void take(struct fake *f, struct hello *got)
{
	struct hello h;

	fake_hang_up(f);
	f->fd = accept(f->listener, NULL, NULL);
	must(f->fd >= 0);
	read_exactly(f, &h, sizeof h);
	must(h.magic == HELLO_MAGIC && h.version == HELLO_VERSION);
	must(strcmp(h.volume, "v") == 0);
	if (got)
		*got = h;
}

void fake_hello(struct fake *f, struct hello *got, uint32_t flags)
{
	struct hello_reply r = { .magic = HELLO_MAGIC, .version = HELLO_VERSION, .flags = flags };

	take(f, got);
	fake_send(f, &r, sizeof r);
}

void fake_refuse(struct fake *f, int eno, const char *text)
{
	struct hello_reply r = { .magic = HELLO_MAGIC, .version = HELLO_VERSION, .error = eno };

	take(f, NULL);
	snprintf(r.text, sizeof r.text, "%s", text);
	fake_send(f, &r, sizeof r);
	fake_hang_up(f);
}

struct fuse_in_header *fake_read(struct fake *f)
{
	struct fuse_in_header *h = (struct fuse_in_header *)(void *)f->message;

	read_exactly(f, h, sizeof *h);
	must(h->len >= sizeof *h && h->len <= sizeof f->message);
	read_exactly(f, f->message + sizeof *h, h->len - sizeof *h);
	return h;
}

void fake_send(struct fake *f, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n > 0) {
		ssize_t done = send(f->fd, p, n, MSG_NOSIGNAL);

		if (done <= 0)
			return; /* the client has hung up, as it may on nonsense */
		p += done;
		n -= (size_t)done;
	}
}

void fake_answer(struct fake *f, const struct fuse_in_header *in, int error, const void *body,
		 size_t n)
{
	struct fuse_out_header h = { .len = (uint32_t)(sizeof h + n), .error = -error,
				     .unique = in->unique & ~(1ull << 63) };

	fake_send(f, &h, sizeof h);
	fake_send(f, body, n);
}

void fake_init(struct fake *f)
{
	struct fuse_init_out out = { .major = 7, .minor = 38, .max_write = 1 << 20,
				     .flags = FUSE_SETXATTR_EXT | FUSE_BIG_WRITES };
	struct fuse_in_header *h = fake_read(f);

	must(h->opcode == FUSE_INIT);
	fake_answer(f, h, 0, &out, sizeof out);
}

void fake_begin(struct fake *f)
{
	fake_hello(f, NULL, 0);
	fake_init(f);
}

void fake_ended(struct fake *f)
{
	char byte;

	must(recv(f->fd, &byte, 1, 0) <= 0);
}

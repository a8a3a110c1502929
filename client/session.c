#include "client/session.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/hello.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define LASTED_NS (100 * NS_PER_MS)

enum { HELLO_TIMEOUT_MS = 5000, DELAY_FIRST_MS = 10, DELAY_MAX_MS = 1000 };

int csession_forget(struct csession *s)
{
	uint64_t random[2];

	if (getrandom(random, sizeof random, 0) != sizeof random)
		return -KILN_ESYS;
	s->client = random[0];
	s->secret = random[1];
	s->opened = s->known = false;
	return 0;
}

int csession_init(struct csession *s, const struct target *t, uint32_t kind, uint32_t slots)
{
	memset(s, 0, sizeof *s);
	s->target = *t;
	s->kind = kind;
	s->slots = slots;
	return csession_forget(s);
}

void csession_broke(struct csession *s)
{
	s->tries = clock_mono() - s->since_ns > LASTED_NS ? 0 : s->tries + 1;
}

int csession_delay_ms(const struct csession *s)
{
	if (s->tries >= 8)
		return DELAY_MAX_MS;
	return s->tries ? DELAY_FIRST_MS << (s->tries - 1) : 0;
}

static void hello_fill(struct hello *h, const struct csession *s)
{
	memset(h, 0, sizeof *h);
	h->magic = HELLO_MAGIC;
	h->version = HELLO_VERSION;
	h->kind = (uint16_t)s->kind;
	h->flags = s->opened ? HELLO_RESUME : 0;
	h->slots = s->slots;
	h->client = s->client;
	h->secret = s->secret;
	snprintf(h->volume, sizeof h->volume, "%s", s->target.volume);
	if (s->opened)
		memcpy(h->volume_id, s->volume_id, sizeof h->volume_id);
	if (gethostname(h->host, sizeof h->host - 1) != 0)
		strcpy(h->host, "unknown");
}

static int send_all(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n > 0) {
		ssize_t done = send(fd, p, n, MSG_NOSIGNAL);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -KILN_ECLOSED;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

static int recv_all(int fd, void *data, size_t n)
{
	char *p = data;

	while (n > 0) {
		ssize_t done = recv(fd, p, n, 0);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -KILN_ECLOSED;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

static int refusal_code(int eno)
{
	switch (eno) {
	case ENOENT:
		return -KILN_ENOVOLUME;
	case EPROTO:
		return -KILN_EVERSION;
	case EBUSY:
		return -KILN_EVOLBUSY;
	case ESTALE:
		return -KILN_EEXPIRED;
	case EACCES:
	case EPERM:
		return -KILN_EACCES;
	default:
		return -KILN_ECLOSED;
	}
}

/* Takes the server's answer; its text is cut at its first NUL and never trusted to have one. */
static int reply_take(struct csession *s, const struct hello_reply *r)
{
	if (r->magic != HELLO_MAGIC) {
		snprintf(s->text, sizeof s->text, "what answers there is not a kiln server");
		return -KILN_EVERSION;
	}
	if (r->error != 0) {
		snprintf(s->text, sizeof s->text, "%.*s", (int)sizeof r->text,
			 r->text[0] ? r->text : "the server refused without a reason");
		return refusal_code(r->error);
	}
	if (r->version != HELLO_VERSION) {
		snprintf(s->text, sizeof s->text,
			 "the server speaks protocol version %u, this client version %u",
			 r->version, HELLO_VERSION);
		return -KILN_EVERSION;
	}
	memcpy(s->volume_id, r->volume_id, sizeof s->volume_id);
	s->known = r->flags & HELLO_RESUME;
	s->read_only = r->flags & HELLO_READ_ONLY;
	s->timeout_ns = r->session_timeout_ns;
	return 0;
}

static int hello_exchange(struct csession *s, int fd)
{
	struct hello h;
	struct hello_reply r;
	char text[ADDRESS_TEXT];
	int err;

	hello_fill(&h, s);
	err = send_all(fd, &h, sizeof h);
	if (err == 0)
		err = recv_all(fd, &r, sizeof r);
	if (err == 0)
		return reply_take(s, &r);
	snprintf(s->text, sizeof s->text, "the server at %s closed the connection or did not "
		 "answer the hello", address_text(&s->target.server, text));
	return err;
}

int csession_connect(struct csession *s)
{
	static const struct timeval forever;
	int fd = address_connect(&s->target.server, HELLO_TIMEOUT_MS, s->text, sizeof s->text);
	int err = fd < 0 ? fd : hello_exchange(s, fd);

	if (err) {
		if (fd >= 0)
			close(fd);
		s->tries++;
		log_debug(client, "connect: %s", s->text);
		return err;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &forever, sizeof forever);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof forever);
	s->opened = true;
	s->since_ns = clock_mono();
	return fd;
}

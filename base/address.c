#include "base/address.h"

#include "base/err.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static bool skip(const char **text, const char *prefix)
{
	size_t n = strlen(prefix);

	if (strncmp(*text, prefix, n) != 0)
		return false;
	*text += n;
	return true;
}

int address_volume_check(const char *name)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789._-";
	size_t n = strlen(name);

	if (n < 1 || n > 64 || name[0] == '.' || name[0] == '-' || strspn(name, allowed) != n)
		return -KILN_EVOLNAME;
	return 0;
}

static int parse_path(struct address *a, const char *path, char *why, size_t cap)
{
	a->kind = ADDRESS_UNIX;
	if (path[0] != '/') {
		snprintf(why, cap, "the socket's path '%s' must be absolute", path);
		return -KILN_EINVAL;
	}
	if (strlen(path) >= sizeof a->path) {
		snprintf(why, cap, "the socket's path is longer than %zu bytes: '%s'",
			 sizeof a->path - 1, path);
		return -KILN_EINVAL;
	}
	strcpy(a->path, path);
	return 0;
}

static int parse_port(struct address *a, const char *text, char *why, size_t cap)
{
	char *end;
	unsigned long port = 0;

	if (text[0] >= '0' && text[0] <= '9')
		port = strtoul(text, &end, 10);
	if (port < 1 || port > 65535 || *end) {
		snprintf(why, cap, "the port '%s' is not a number from 1 to 65535", text);
		return -KILN_EINVAL;
	}
	a->port = (uint16_t)port;
	return 0;
}

static int parse_host(struct address *a, const char *text, char *why, size_t cap)
{
	const char *host = text, *end = strrchr(text, ':'), *port = end ? end + 1 : "";

	a->kind = ADDRESS_TCP;
	if (text[0] == '[') {
		host = text + 1;
		end = strchr(host, ']');
		port = end && end[1] == ':' ? end + 2 : NULL;
	}
	if (!end || !port || end == host || (size_t)(end - host) >= sizeof a->host) {
		snprintf(why, cap, "'%s' is not HOST:PORT (an IPv6 address goes in brackets: "
				   "[::1]:7000)", text);
		return -KILN_EINVAL;
	}
	if (text[0] != '[' && memchr(host, ':', (size_t)(end - host))) {
		snprintf(why, cap, "an IPv6 address goes in brackets: [%.*s]:%s",
			 (int)(end - host), host, port);
		return -KILN_EINVAL;
	}
	memcpy(a->host, host, (size_t)(end - host));
	a->host[end - host] = '\0';
	return parse_port(a, port, why, cap);
}

int address_parse(struct address *a, const char *text, char *why, size_t cap)
{
	memset(a, 0, sizeof *a);
	if (skip(&text, "tcp:"))
		return parse_host(a, text, why, cap);
	if (skip(&text, "unix:") || text[0] == '/')
		return parse_path(a, text, why, cap);
	if (skip(&text, "kiln://"))
		return text[0] == '/' ? parse_path(a, text, why, cap) :
					parse_host(a, text, why, cap);
	snprintf(why, cap, "'%s' is not a server: write unix:PATH or tcp:HOST:PORT", text);
	return -KILN_EINVAL;
}

int address_default(struct address *a, char *why, size_t cap)
{
	const char *env = getenv("KILN_SERVER"), *dir = getenv("XDG_RUNTIME_DIR");
	char path[4096];

	if (env && env[0])
		return address_parse(a, env, why, cap);
	if (geteuid() == 0)
		return address_parse(a, "unix:/run/kiln/kiln.sock", why, cap);
	if (!dir || !dir[0]) {
		snprintf(why, cap, "no server was named: set KILN_SERVER, or XDG_RUNTIME_DIR for "
				   "the server of this user");
		return -KILN_EINVAL;
	}
	memset(a, 0, sizeof *a);
	snprintf(path, sizeof path, "%s/kiln/kiln.sock", dir);
	return parse_path(a, path, why, cap);
}

static int set_volume(struct target *t, const char *name, char *why, size_t cap)
{
	if (address_volume_check(name) == 0) {
		strcpy(t->volume, name);
		return 0;
	}
	snprintf(why, cap, "'%s' is not a volume's name: %s", name, err_text(-KILN_EVOLNAME));
	return -KILN_EINVAL;
}

int address_parse_target(struct target *t, const char *text, char *why, size_t cap)
{
	const char *slash = strrchr(text, '/');
	char server[512];
	int err;

	if (!slash) {
		skip(&text, "kiln:");
		err = set_volume(t, text, why, cap);
		return err ? err : address_default(&t->server, why, cap);
	}
	if ((size_t)(slash - text) >= sizeof server) {
		snprintf(why, cap, "the volume's address is longer than %zu bytes",
			 sizeof server - 1);
		return -KILN_EINVAL;
	}
	memcpy(server, text, (size_t)(slash - text));
	server[slash - text] = '\0';
	err = address_parse(&t->server, server, why, cap);
	return err ? err : set_volume(t, slash + 1, why, cap);
}

const char *address_text(const struct address *a, char out[ADDRESS_TEXT])
{
	if (a->kind == ADDRESS_UNIX)
		snprintf(out, ADDRESS_TEXT, "unix:%s", a->path);
	else if (strchr(a->host, ':'))
		snprintf(out, ADDRESS_TEXT, "tcp:[%s]:%u", a->host, a->port);
	else
		snprintf(out, ADDRESS_TEXT, "tcp:%s:%u", a->host, a->port);
	return out;
}

/* The send timeout bounds connect(2) too. */
static void set_timeouts(int fd, unsigned timeout_ms)
{
	struct timeval tv = { .tv_sec = timeout_ms / 1000,
			      .tv_usec = (suseconds_t)(timeout_ms % 1000) * 1000 };

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
}

/* A connected socket, or a negated errno. */
static int connect_one(int family, const struct sockaddr *sa, socklen_t len, unsigned timeout_ms)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), eno;

	if (fd < 0)
		return -errno;
	set_timeouts(fd, timeout_ms);
	if (connect(fd, sa, len) == 0)
		return fd;
	eno = errno == EINPROGRESS || errno == EAGAIN ? ETIMEDOUT : errno;
	close(fd);
	return -eno;
}

static int connect_unix(const struct address *a, unsigned timeout_ms)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	memcpy(sun.sun_path, a->path, sizeof sun.sun_path);
	return connect_one(AF_UNIX, (const struct sockaddr *)&sun, sizeof sun, timeout_ms);
}

/* A machine that has vanished without a word is noticed within half a minute. */
static void tune_tcp(int fd)
{
	int one = 1, idle_s = 10, interval_s = 5, count = 4;
	unsigned unacknowledged_ms = 30000;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
}

static int connect_tcp(const struct address *a, unsigned timeout_ms, const char **why_name)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV }, *list;
	char port[8];
	int rc, fd = -EHOSTUNREACH;

	snprintf(port, sizeof port, "%u", a->port);
	rc = getaddrinfo(a->host, port, &hints, &list);
	if (rc != 0) {
		*why_name = gai_strerror(rc);
		return -EHOSTUNREACH;
	}
	for (const struct addrinfo *ai = list; ai && fd < 0; ai = ai->ai_next)
		fd = connect_one(ai->ai_family, ai->ai_addr, ai->ai_addrlen, timeout_ms);
	freeaddrinfo(list);
	if (fd >= 0)
		tune_tcp(fd);
	return fd;
}

int address_connect(const struct address *a, unsigned timeout_ms, char *why, size_t cap)
{
	char text[ADDRESS_TEXT];
	const char *reason = NULL, *advice = "";
	int fd = a->kind == ADDRESS_UNIX ? connect_unix(a, timeout_ms) :
					   connect_tcp(a, timeout_ms, &reason);

	if (fd >= 0)
		return fd;
	if (fd == -ENOENT || fd == -ECONNREFUSED)
		advice = "; start one with 'kiln serve DIR', or name another";
	if (fd == -EACCES)
		advice = ": this user may not use that socket";
	snprintf(why, cap, "no server at %s (%s)%s", address_text(a, text),
		 reason ? reason : strerror(-fd), advice);
	return fd == -EACCES || fd == -EPERM ? -KILN_EACCES : -KILN_ECLOSED;
}

#include "server/listen.h"

#include "base/address.h"
#include "base/err.h"
#include "base/log.h"
#include "server/conn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { LISTEN_MAX = 16, BACKLOG = 1024 };

struct listener {
	struct server *server;
	pthread_t thread;
	bool running;
	int stop_fd;
	unsigned count, next_loop;
	struct pollfd fds[LISTEN_MAX + 1]; /* the last in use is stop_fd */
	struct address address[LISTEN_MAX];
	ino_t inode[LISTEN_MAX];           /* of a Unix socket, so that only ours is removed */
};

static int explain(char **why, int err, const char *what, const struct address *a, const char *todo)
{
	char text[ADDRESS_TEXT];

	if (asprintf(why, "cannot listen on %s: %s%s", address_text(a, text), what, todo) < 0)
		*why = NULL;
	return err;
}

static bool is_loopback(const struct sockaddr *sa)
{
	if (sa->sa_family == AF_INET)
		return (ntohl(((const struct sockaddr_in *)(const void *)sa)->sin_addr.s_addr) >>
			24) == 127;
	return sa->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr);
}

/* A socket nobody answers on is what a killed server leaves behind. */
static int remove_stale(const struct address *a, const struct sockaddr_un *sun, char **why)
{
	struct stat st;
	int fd, rc;

	if (lstat(a->path, &st) != 0)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return explain(why, -KILN_EEXIST, "something that is no socket is there already", a,
			       "; choose another path");
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return explain(why, -KILN_ESYS, strerrordesc_np(errno), a, "");
	rc = connect(fd, (const struct sockaddr *)(const void *)sun, sizeof *sun);
	close(fd);
	if (rc == 0)
		return explain(why, -KILN_ELOCKED, "another server listens there", a,
			       "; choose another address or stop that one");
	unlink(a->path);
	return 0;
}

static int listen_unix(struct listener *l, const struct address *a, char **why)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct stat st;
	int err, fd;

	memcpy(sun.sun_path, a->path, sizeof sun.sun_path);
	err = remove_stale(a, &sun, why);
	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)(void *)&sun, sizeof sun) != 0 ||
	    chmod(a->path, 0666) != 0 || listen(fd, BACKLOG) != 0 || lstat(a->path, &st) != 0) {
		err = errno == EACCES ? -KILN_EACCES : -KILN_ESYS;
		explain(why, err, strerrordesc_np(errno), a, "");
		if (fd >= 0)
			close(fd);
		return err;
	}
	/* everybody may connect: what a peer may do is decided by its credentials */
	l->inode[l->count] = st.st_ino;
	l->address[l->count] = *a;
	l->fds[l->count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	return 0;
}

static int listen_on(struct listener *l, const struct address *a, const struct addrinfo *ai,
		     char **why)
{
	int one = 1, fd;

	if (!is_loopback(ai->ai_addr) && !l->server->options.insecure)
		return explain(why, -KILN_EINVAL,
			       "that address is not loopback, and whoever reaches it could use every "
			       "volume as any user", a, "; add --insecure if that is what you want");
	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
	    bind(fd, ai->ai_addr, ai->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
		int err = errno == EADDRINUSE ? -KILN_ELOCKED
			  : errno == EACCES   ? -KILN_EACCES
					      : -KILN_ESYS;

		explain(why, err, strerrordesc_np(errno), a, "");
		if (fd >= 0)
			close(fd);
		return err;
	}
	l->address[l->count] = *a;
	l->fds[l->count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	return 0;
}

static int listen_tcp(struct listener *l, const struct address *a, char **why)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *list;
	char port[8];
	int err;

	snprintf(port, sizeof port, "%u", a->port);
	err = getaddrinfo(a->host, port, &hints, &list);
	if (err)
		return explain(why, -KILN_EINVAL, gai_strerror(err), a, "");
	err = listen_on(l, a, list, why);
	freeaddrinfo(list);
	return err;
}

static int listen_one(struct listener *l, const char *text, char **why)
{
	struct address a;
	char reason[512];

	if (l->count == LISTEN_MAX || address_parse(&a, text, reason, sizeof reason) != 0) {
		if (asprintf(why, "cannot listen on %s: %s", text,
			     l->count == LISTEN_MAX ? "too many addresses" : reason) < 0)
			*why = NULL;
		return -KILN_EINVAL;
	}
	return a.kind == ADDRESS_UNIX ? listen_unix(l, &a, why) : listen_tcp(l, &a, why);
}

static uint32_t peer_uid(int fd, const struct address *a)
{
	struct ucred cred;
	socklen_t len = sizeof cred;

	if (a->kind != ADDRESS_UNIX)
		return UINT32_MAX;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0)
		return UINT32_MAX - 1; /* nobody: may do nothing */
	return cred.uid;
}

static void accept_one(struct listener *l, unsigned i)
{
	int fd = accept4(l->fds[i].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), one = 1;
	struct server *s = l->server;

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE) {
			log_error("a client was turned away: %s", strerrordesc_np(errno));
			poll(NULL, 0, 100); /* the connection stays pending: do not spin on it */
		}
		return;
	}
	if (l->address[i].kind == ADDRESS_TCP)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (conn_accept(s, s->loops[l->next_loop++ % s->loop_count], fd,
			peer_uid(fd, &l->address[i])) != 0)
		log_error("a client was turned away: out of memory or descriptors");
}

static void *listener_main(void *arg)
{
	struct listener *l = arg;

	pthread_setname_np(pthread_self(), "listener");
	while (poll(l->fds, l->count + 1, -1) > 0 || errno == EINTR) {
		if (l->fds[l->count].revents)
			return NULL;
		for (unsigned i = 0; i < l->count; i++)
			if (l->fds[i].revents)
				accept_one(l, i);
	}
	return NULL;
}

int listener_start(struct server *server, struct listener **out, char **why)
{
	struct listener *l = calloc(1, sizeof *l);
	int err = 0;

	if (!l)
		return -KILN_ENOMEM;
	l->server = server;
	l->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (l->stop_fd < 0)
		err = err_from_errno(errno);
	for (const char *const *text = server->options.listen; !err && text && *text; text++)
		err = listen_one(l, *text, why);
	l->fds[l->count] = (struct pollfd){ .fd = l->stop_fd, .events = POLLIN };
	if (!err && pthread_create(&l->thread, NULL, listener_main, l) != 0)
		err = -KILN_ENOTHREAD;
	l->running = !err;
	if (err)
		listener_stop(l);
	else
		*out = l;
	return err;
}

static void remove_socket(struct listener *l, unsigned i)
{
	struct stat st;

	if (l->address[i].kind == ADDRESS_UNIX && lstat(l->address[i].path, &st) == 0 &&
	    st.st_ino == l->inode[i])
		unlink(l->address[i].path);
}

void listener_stop(struct listener *l)
{
	uint64_t one = 1;

	if (l->running) {
		if (write(l->stop_fd, &one, sizeof one) < 0)
			log_error("listener: cannot be told to stop: %s", strerrordesc_np(errno));
		pthread_join(l->thread, NULL);
	}
	for (unsigned i = 0; i < l->count; i++) {
		remove_socket(l, i);
		close(l->fds[i].fd);
	}
	if (l->stop_fd >= 0)
		close(l->stop_fd);
	free(l);
}

/* Handed-over descriptors of /dev/fuse, each with the silent socket it came over, its companion. */
#include "server/conn_inner.h"

#include "base/log.h"
#include "server/session.h"
#include "server/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
	FUSE_MAJOR = 10, FUSE_DEV_MINOR = 229, /* Documentation/admin-guide/devices.txt */
	FUSE_NOTIFY_RESEND_CODE = 7, /* since Linux 6.9; Debian 12's header lacks it */
};

void fuse_ready(struct conn *c, struct worker *w)
{
	void *buffer = buffer_get();
	bool ok = buffer != NULL, unmounted = false;

	for (int i = 0; ok && i < BATCH_MAX; i++) {
		ssize_t n = read(c->fd, buffer, WIRE_MESSAGE_MAX);

		if (n < 0 && (errno == EINTR || errno == ENOENT))
			continue; /* ENOENT: the request went away before it was read */
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			unmounted = errno == ENODEV;
		if (n < 0 && !unmounted)
			log_error("reading /dev/fuse: %s", strerrordesc_np(errno));
		w->stolen = false;
		ok = n >= 0 && conn_message(c, w, buffer, (size_t)n, true);
		if (w->stolen)
			buffer = buffer_get();
		ok = ok && buffer;
	}
	buffer_put(buffer);
	if (!ok)
		conn_end(c, unmounted);
}

static void close_all(const struct cmsghdr *cmsg)
{
	size_t count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof fd, sizeof fd);
		close(fd);
	}
}

/* A descriptor, or a code.  There is room for more than one, so more than one may come. */
static int receive_descriptor(int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof control };
	struct cmsghdr *cmsg;
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int got;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -KILN_EWOULDBLOCK;
	if (n <= 0)
		return -KILN_ECLOSED;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!cmsg || cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
		return -KILN_EBADMSG;
	if (cmsg->cmsg_len != CMSG_LEN(sizeof(int))) {
		close_all(cmsg);
		return -KILN_EBADMSG;
	}
	memcpy(&got, CMSG_DATA(cmsg), sizeof got);
	return got;
}

static bool is_fuse_device(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && major(st.st_rdev) == FUSE_MAJOR &&
	       minor(st.st_rdev) == FUSE_DEV_MINOR;
}

/* Asks the kernel to send again what the server before us had read but not answered. */
static void ask_resend(struct conn *c)
{
	struct fuse_out_header out = { .len = sizeof out, .error = FUSE_NOTIFY_RESEND_CODE };

	if (write(c->fd, &out, sizeof out) < 0)
		log_warn("the kernel cannot send requests again (%s): what was under way when the "
			 "server before this one ended stays unanswered", strerrordesc_np(errno));
}

static int fuse_attach(struct conn *companion, int fd)
{
	struct conn *c = conn_new(companion->server, companion->loop, fd, companion->peer_uid,
				  CONN_FUSE);
	int err;

	if (!c) {
		close(fd);
		return -KILN_ENOMEM;
	}
	session_get(companion->session);
	c->session = companion->session;
	conn_get(companion);
	c->companion = companion;
	session_connected(c->session, c);
	if (session_init_done(c->session))
		ask_resend(c);
	err = loop_add(c->loop, c->fd, &c->source, EPOLLIN);
	if (err) {
		session_disconnected(c->session, c, false);
		conn_put(c);
	}
	return err;
}

void companion_ready(struct conn *c)
{
	int fd = receive_descriptor(c->fd);

	if (fd == -KILN_EWOULDBLOCK)
		return;
	if (fd >= 0 && is_fuse_device(fd) && fcntl(fd, F_SETFL, O_NONBLOCK) == 0) {
		if (fuse_attach(c, fd) == 0)
			return;
	} else if (fd >= 0) {
		log_warn("client %016lx handed over something that is not /dev/fuse",
			 (unsigned long)session_client(c->session));
		close(fd);
	}
	conn_end(c, false);
}

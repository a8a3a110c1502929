/* In order: the hello, so that an unknown volume or a missing server is told before anything is
 * mounted; the mount; a process that keeps it (handover.c or relay.c); and, in the one that was
 * called, a look at the root, which is answered only when the server has taken the mount up. */
#include "client/mount.h"

#include "base/err.h"
#include "base/hello.h"
#include "base/log.h"
#include "client/fusedev.h"
#include "client/handover.h"
#include "client/mountpoint.h"
#include "client/relay.h"
#include "client/session.h"
#include "client/syslog.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

struct mounting {
	const struct mount_request *request;
	struct csession session;
	char real[PATH_MAX];
	char source[300];
	int conn, dev, beacon;
};

/* For the signal handler alone. */
static const char *signal_dir;

/* A process of its own: unmounting may write pages back, which this one must serve. */
static void on_signal(int number)
{
	int eno = errno;

	if (fork() == 0) {
		if (geteuid() == 0)
			umount2(signal_dir, MNT_DETACH | UMOUNT_NOFOLLOW);
		else
			execlp("fusermount3", "fusermount3", "-u", "-z", "--", signal_dir, NULL);
		_exit(0);
	}
	errno = eno;
}

/* SIGTERM and SIGINT unmount; the process ends when the last user has let go. */
static void set_signals(const struct mounting *m)
{
	struct sigaction unmount = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction reap = { .sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT };

	signal_dir = m->real;
	sigaction(SIGTERM, &unmount, NULL);
	sigaction(SIGINT, &unmount, NULL);
	sigaction(SIGHUP, &ignore, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGCHLD, &reap, NULL);
}

/* ---- hello and mount ---- */

static int connect_as(struct mounting *m, uint32_t kind)
{
	m->session.kind = kind;
	m->conn = csession_connect(&m->session);
	return m->conn < 0 ? m->conn : 0;
}

/* -o server=ADDRESS goes with a source that is a volume's name alone. */
static int find_target(const struct mount_request *q, struct target *t, char *why, size_t cap)
{
	const char *volume = strncmp(q->source, "kiln:", 5) == 0 ? q->source + 5 : q->source;
	char text[512];

	if (!q->options.server[0])
		return address_parse_target(t, q->source, why, cap);
	if (strchr(volume, '/')) {
		snprintf(why, cap, "'%s' names a server already, so server=%s is one too many",
			 q->source, q->options.server);
		return -KILN_EINVAL;
	}
	snprintf(text, sizeof text, "%s/%s", q->options.server, volume);
	return address_parse_target(t, text, why, cap);
}

static int say_hello(struct mounting *m, char *why, size_t cap)
{
	const struct mount_request *q = m->request;
	struct target t;
	int err = find_target(q, &t, why, cap);

	if (err)
		return err;
	err = csession_init(&m->session, &t, HELLO_RELAY, RELAY_SLOTS);
	if (err == 0)
		err = connect_as(m, t.server.kind == ADDRESS_UNIX && !q->options.relay ?
				HELLO_FUSE_FD : HELLO_RELAY);
	if (err)
		snprintf(why, cap, "%s", m->session.text[0] ? m->session.text : err_text(err));
	snprintf(m->source, sizeof m->source, "kiln:%s", t.volume);
	return err;
}

static int attach(struct mounting *m, char *why, size_t cap)
{
	const struct mount_options *o = &m->request->options;

	m->dev = mountpoint_attach(m->real, o->fsname[0] ? o->fsname : m->source, o, why, cap);
	if (m->dev < 0)
		return m->dev;
	if (m->session.kind == HELLO_RELAY || fusedev_resend(m->dev))
		return 0;
	/* A kernel that cannot resend would lose requests with the server.  A server does not let a
	 * client change its kind, so this is a new one. */
	close(m->conn);
	m->conn = -1;
	if (csession_forget(&m->session) == 0 && connect_as(m, HELLO_RELAY) == 0)
		return 0;
	mountpoint_detach(m->real, DETACH_LAZY, why, cap);
	snprintf(why, cap, "%s", m->session.text);
	return -KILN_ECLOSED;
}

/* ---- the process that keeps the mount ---- */

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Closes every descriptor but the standard three and these. */
static void close_others(const struct mounting *m)
{
	int keep[] = { m->conn, m->dev, m->beacon };
	unsigned from = STDERR_FILENO + 1;

	qsort(keep, 3, sizeof *keep, by_value);
	for (int i = 0; i < 3; i++) {
		if (keep[i] < (int)from)
			continue;
		if (keep[i] > (int)from)
			close_range(from, (unsigned)keep[i] - 1, 0);
		from = (unsigned)keep[i] + 1;
	}
	close_range(from, ~0u, 0);
}

static void set_output(const char *log_file)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), log = -1;

	if (log_file)
		log = open(log_file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	else
		syslog_begin();
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(log >= 0 ? log : null, STDERR_FILENO);
}

static int keep_mount(struct mounting *m)
{
	struct mountpoint mp;
	int err;

	m->beacon = mountpoint_find(m->real, &mp) ? mountpoint_beacon(&mp) : -1;
	set_signals(m);
	if (chdir("/") != 0)
		log_warn("cannot leave the working directory: %s", strerror(errno));
	close_others(m);
	if (m->session.kind == HELLO_FUSE_FD)
		err = handover_run(&m->session, m->conn, m->dev, m->request->options.soft_seconds);
	else
		err = relay_run(&m->session, m->conn, m->dev, m->request->options.soft_seconds);
	if (err)
		log_error("%s: %s", m->real, err_text(err));
	else
		log_info("%s: unmounted", m->real);
	return err;
}

/* The root answers once the server has; the kernel answers for a keeper that died. */
static int await_answer(struct mounting *m, char *why, size_t cap)
{
	struct statfs sf;
	int eno;

	while (statfs(m->real, &sf) != 0) {
		if (errno == EINTR)
			continue;
		eno = errno;
		mountpoint_detach(m->real, DETACH_LAZY, why, cap);
		snprintf(why, cap, "%s: the server did not take the mount up: %s", m->real,
			 strerror(eno));
		return -KILN_ESYS;
	}
	return 0;
}

static int keep_in_background(struct mounting *m, char *why, size_t cap)
{
	pid_t pid = fork();

	if (pid < 0) {
		snprintf(why, cap, "cannot start a process: %s", strerror(errno));
		mountpoint_detach(m->real, DETACH_LAZY, why, cap);
		return -KILN_ESYS;
	}
	if (pid == 0) {
		setsid();
		set_output(m->request->log_file);
		_exit(keep_mount(m) ? 1 : 0);
	}
	close(m->dev);
	close(m->conn);
	m->dev = m->conn = -1;
	return await_answer(m, why, cap);
}

/* The background process has nobody to complain to, so its log is tried first. */
static int check_log(const char *path, char *why, size_t cap)
{
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : -1;

	if (path && fd < 0) {
		snprintf(why, cap, "cannot write the log %s: %s", path, strerror(errno));
		return -KILN_ESYS;
	}
	if (path)
		close(fd);
	return 0;
}

int mount_run(const struct mount_request *request, char *why, size_t cap)
{
	struct mounting m = { .request = request, .conn = -1, .dev = -1, .beacon = -1 };
	int err = mountpoint_check(request->dir, m.real, why, cap);

	if (err == 0)
		err = check_log(request->log_file, why, cap);
	if (err == 0)
		err = say_hello(&m, why, cap);
	if (err == 0 && !request->fake)
		err = attach(&m, why, cap);
	if (err || request->fake)
		goto out;
	if (request->foreground) {
		err = keep_mount(&m);
		if (err)
			snprintf(why, cap, "%s: %s", m.real, err_text(err));
		return err;
	}
	err = keep_in_background(&m, why, cap);
out:
	if (m.dev >= 0)
		close(m.dev);
	if (m.conn >= 0)
		close(m.conn);
	return err;
}

/* In order: the hello, so that an unknown volume or a missing server is told before anything is
 * mounted; the mount; a process that keeps it (keeper.c); and, in the one that was
 * called, a look at the root, which is answered only when the server has taken the mount up. */
#include "client/mount.h"

#include "base/err.h"
#include "base/hello.h"
#include "client/fusedev.h"
#include "client/keeper.h"
#include "client/mountpoint.h"
#include "client/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

struct mounting {
	const struct mount_request *request;
	struct keeper keeper;
	char source[300];
};

/* ---- hello and mount ---- */

static int connect_as(struct keeper *k, uint32_t kind)
{
	k->session.kind = kind;
	k->conn = csession_connect(&k->session);
	return k->conn < 0 ? k->conn : 0;
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
	struct keeper *k = &m->keeper;
	const struct mount_request *q = m->request;
	struct target t;
	int err = find_target(q, &t, why, cap);

	if (err)
		return err;
	err = csession_init(&k->session, &t, HELLO_RELAY, RELAY_SLOTS);
	if (err == 0)
		err = connect_as(k, t.server.kind == ADDRESS_UNIX && !q->options.relay ?
				HELLO_FUSE_FD : HELLO_RELAY);
	if (err)
		snprintf(why, cap, "%s", k->session.text[0] ? k->session.text : err_text(err));
	snprintf(m->source, sizeof m->source, "kiln:%s", t.volume);
	return err;
}

static int attach(struct mounting *m, char *why, size_t cap)
{
	struct keeper *k = &m->keeper;
	const struct mount_options *o = &m->request->options;

	k->dev = mountpoint_attach(k->real, o->fsname[0] ? o->fsname : m->source, o, why, cap);
	if (k->dev < 0)
		return k->dev;
	if (k->session.kind == HELLO_RELAY || fusedev_resend(k->dev))
		return 0;
	/* A kernel that cannot resend would lose requests with the server.  A server does not let a
	 * client change its kind, so this is a new one. */
	close(k->conn);
	k->conn = -1;
	if (csession_forget(&k->session) == 0 && connect_as(k, HELLO_RELAY) == 0)
		return 0;
	mountpoint_detach(k->real, DETACH_LAZY, why, cap);
	snprintf(why, cap, "%s", k->session.text);
	return -KILN_ECLOSED;
}

/* ---- the process that keeps the mount ---- */

/* The root answers once the server has; the kernel answers for a keeper that died. */
static int await_answer(const struct keeper *k, char *why, size_t cap)
{
	struct statfs sf;
	int eno;

	while (statfs(k->real, &sf) != 0) {
		if (errno == EINTR)
			continue;
		eno = errno;
		mountpoint_detach(k->real, DETACH_LAZY, why, cap);
		snprintf(why, cap, "%s: the server did not take the mount up: %s", k->real,
			 strerror(eno));
		return -KILN_ESYS;
	}
	mountpoint_readahead(k->real);
	return 0;
}

static int keep_in_background(struct keeper *k, char *why, size_t cap)
{
	pid_t pid = fork();

	if (pid < 0) {
		snprintf(why, cap, "cannot start a process: %s", strerror(errno));
		mountpoint_detach(k->real, DETACH_LAZY, why, cap);
		return -KILN_ESYS;
	}
	if (pid == 0) {
		setsid();
		keeper_exec(k);
		_exit(keeper_run(k) ? 1 : 0);
	}
	close(k->dev);
	close(k->conn);
	k->dev = k->conn = -1;
	return await_answer(k, why, cap);
}

/* The background process has nobody to complain to, so its log is tried first. */
static int open_log(struct mounting *m, char *why, size_t cap)
{
	struct keeper *k = &m->keeper;
	const char *path = m->request->log_file;

	k->background = !m->request->foreground;
	k->soft_seconds = m->request->options.soft_seconds;
	if (!path)
		return 0;
	k->log = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (k->log >= 0)
		return 0;
	snprintf(why, cap, "cannot write the log %s: %s", path, strerror(errno));
	return -KILN_ESYS;
}

int mount_run(const struct mount_request *request, char *why, size_t cap)
{
	struct mounting m = { .request = request, .keeper = { .conn = -1, .dev = -1, .log = -1 } };
	int err = mountpoint_check(request->dir, m.keeper.real, why, cap);

	if (err == 0)
		err = open_log(&m, why, cap);
	if (err == 0)
		err = say_hello(&m, why, cap);
	if (err == 0 && !request->fake)
		err = attach(&m, why, cap);
	if (err || request->fake)
		goto out;
	if (request->foreground) {
		err = keeper_run(&m.keeper);
		if (err)
			snprintf(why, cap, "%s: %s", m.keeper.real, err_text(err));
		return err;
	}
	err = keep_in_background(&m.keeper, why, cap);
out:
	if (m.keeper.dev >= 0)
		close(m.keeper.dev);
	if (m.keeper.conn >= 0)
		close(m.keeper.conn);
	if (m.keeper.log >= 0)
		close(m.keeper.log);
	return err;
}

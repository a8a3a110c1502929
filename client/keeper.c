#include "client/keeper.h"

#include "base/err.h"
#include "base/hello.h"
#include "base/log.h"
#include "client/handover.h"
#include "client/mountpoint.h"
#include "client/relay.h"
#include "client/syslog.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

/* ---- signals ---- */

/* For the signal handler alone. */
static const char *signal_dir;

/* A process of its own: unmounting may write pages back, which this one must serve.  _Fork, as
 * fork takes the locks of malloc and stdio, which the interrupted thread may hold; for the same
 * reason nothing here allocates (execlp does not in the C libraries that have _Fork). */
static void on_signal(int number)
{
	int eno = errno;

	if (_Fork() == 0) {
		if (geteuid() == 0)
			umount2(signal_dir, MNT_DETACH | UMOUNT_NOFOLLOW);
		else
			execlp("fusermount3", "fusermount3", "-u", "-z", "--", signal_dir, NULL);
		_exit(0);
	}
	errno = eno;
}

/* SIGTERM and SIGINT unmount; the process ends when the last user has let go. */
static void set_signals(const struct keeper *k)
{
	struct sigaction unmount = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction reap = { .sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT };

	signal_dir = k->real;
	sigaction(SIGTERM, &unmount, NULL);
	sigaction(SIGINT, &unmount, NULL);
	sigaction(SIGHUP, &ignore, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGCHLD, &reap, NULL);
}

/* ---- descriptors ---- */

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Closes every descriptor but the standard three and these. */
static void close_others(const struct keeper *k, int beacon)
{
	int keep[] = { k->conn, k->dev, beacon };
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

static void set_output(const struct keeper *k)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (k->background) {
		if (k->log < 0)
			syslog_begin();
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	if (k->log >= 0)
		dup2(k->log, STDERR_FILENO);
}

/* ---- serving ---- */

int keeper_run(struct keeper *k)
{
	struct mountpoint mp;
	int beacon = mountpoint_find(k->real, &mp) ? mountpoint_beacon(&mp) : -1, err;

	set_output(k);
	set_signals(k);
	if (chdir("/") != 0)
		log_warn("cannot leave the working directory: %s", strerror(errno));
	close_others(k, beacon);
	if (k->session.kind == HELLO_FUSE_FD)
		err = handover_run(&k->session, k->conn, k->dev, k->soft_seconds);
	else
		err = relay_run(&k->session, k->conn, k->dev, k->soft_seconds);
	if (err)
		log_error("%s: %s", k->real, err_text(err));
	else
		log_info("%s: unmounted", k->real);
	return err;
}

/* ---- becoming kiln-mount ---- */

struct state {
	char version[64];
	uint64_t size;
	struct keeper keeper;
};

/* Beside kiln itself, as in the build directory, or where it is installed. */
static int program_path(char out[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - sizeof "-mount");

	if (n <= 0)
		return -KILN_ESYS;
	strcpy(out + n, "-mount");
	if (access(out, X_OK) == 0)
		return 0;
	snprintf(out, PATH_MAX, "%s/kiln-mount", KILN_LIBEXECDIR);
	return access(out, X_OK) == 0 ? 0 : -KILN_ENOENT;
}

static void keep_over_exec(int fd)
{
	if (fd >= 0)
		fcntl(fd, F_SETFD, 0);
}

void keeper_exec(const struct keeper *k)
{
	struct state s = { .version = KILN_VERSION, .size = sizeof s, .keeper = *k };
	char path[PATH_MAX], number[16];
	char *argv[] = { (char[]){ "kiln-mount" }, number, s.keeper.session.target.volume,
			 s.keeper.real, NULL };
	int fd;

	if (program_path(path) != 0)
		return;
	fd = memfd_create("kiln-mount", 0);
	if (fd < 0 || write(fd, &s, sizeof s) != sizeof s)
		return;
	keep_over_exec(k->conn);
	keep_over_exec(k->dev);
	keep_over_exec(k->log);
	snprintf(number, sizeof number, "%d", fd);
	execv(path, argv);
}

int keeper_load(struct keeper *k, int fd)
{
	struct state s;

	if (pread(fd, &s, sizeof s, 0) != sizeof s || s.size != sizeof s ||
	    memcmp(s.version, KILN_VERSION, sizeof KILN_VERSION) != 0)
		return -KILN_EVERSION;
	*k = s.keeper;
	return 0;
}

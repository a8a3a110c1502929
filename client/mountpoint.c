#include "client/mountpoint.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- what is mounted where ---- */

/* mountinfo writes blanks, tabs, newlines and backslashes as \ooo. */
static void unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*out++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
}

/* "36 35 98:0 /root /mnt opts shared:1 - type source superopts" */
static bool line_parse(char *line, const char *real, struct mountpoint *out)
{
	char *dash = strstr(line, " - "), *field[5], *type, *source;

	for (int i = 0; i < 5; i++)
		field[i] = strsep(&line, " ");
	if (!dash || !field[4])
		return false;
	unescape(field[4]);
	if (strcmp(field[4], real) != 0)
		return false;
	dash += 3;
	type = strsep(&dash, " ");
	source = dash ? strsep(&dash, " ") : NULL;
	if (!source || sscanf(field[2], "%u:%u", &out->major, &out->minor) != 2)
		return false;
	unescape(source);
	out->kiln = strcmp(type, "fuse.kiln") == 0;
	snprintf(out->source, sizeof out->source, "%s", source);
	return true;
}

bool mountpoint_find(const char *real, struct mountpoint *out)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t cap = 0;
	struct mountpoint one;
	bool found = false;

	if (!f)
		return false;
	while (getline(&line, &cap, f) > 0) {
		if (line_parse(line, real, &one)) {
			*out = one;
			found = true;
		}
	}
	free(line);
	fclose(f);
	return found;
}

/* ---- mounting ---- */

static int refuse(int code, char *why, size_t cap, const char *dir, const char *text)
{
	snprintf(why, cap, "%s: %s", dir, text);
	return -code;
}

int mountpoint_check(const char *dir, char real[PATH_MAX], char *why, size_t cap)
{
	struct mountpoint mp;
	struct stat st;

	if (!realpath(dir, real)) {
		switch (errno) {
		case ENOENT:
			return refuse(KILN_ENOENT, why, cap, dir,
				      "there is no such directory; make it with mkdir");
		case EACCES:
			return refuse(KILN_EACCES, why, cap, dir,
				      "this user may not look there");
		case ENOTDIR:
			return refuse(KILN_ENOTDIR, why, cap, dir, "is not a directory");
		default:
			return refuse(KILN_ESYS, why, cap, dir, strerror(errno));
		}
	}
	/* Before stat, which would ask the server behind that mount and might wait for it. */
	if (mountpoint_find(real, &mp) && mp.kiln) {
		snprintf(why, cap, "%s: %s is mounted there already", dir, mp.source);
		return -KILN_EVOLBUSY;
	}
	if (stat(real, &st) != 0)
		return refuse(KILN_ESYS, why, cap, dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return refuse(KILN_ENOTDIR, why, cap, dir, "is not a directory");
	return 0;
}

static int device_open(char *why, size_t cap)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0)
		return fd;
	switch (errno) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
		snprintf(why, cap, "there is no /dev/fuse: the kernel's FUSE module is not "
				   "loaded (modprobe fuse), or this container may not use it");
		return -KILN_ESYS;
	case EACCES:
	case EPERM:
		snprintf(why, cap, "this user may not open /dev/fuse");
		return -KILN_EACCES;
	default:
		snprintf(why, cap, "cannot open /dev/fuse: %s", strerror(errno));
		return -KILN_ESYS;
	}
}

static int mount_failed(int eno, const char *real, char *why, size_t cap)
{
	switch (eno) {
	case EBUSY:
		return refuse(KILN_EVOLBUSY, why, cap, real, "the mount point is busy");
	case EPERM:
	case EACCES:
		return refuse(KILN_EACCES, why, cap, real,
			      "this process may not mount (CAP_SYS_ADMIN is missing)");
	case ENODEV:
		return refuse(KILN_ESYS, why, cap, real,
			      "the kernel does not know FUSE; load it with modprobe fuse");
	default:
		return refuse(KILN_ESYS, why, cap, real, strerror(eno));
	}
}

static int attach_as_root(const char *real, const char *source, const struct mount_options *o,
			  char *why, size_t cap)
{
	char data[128];
	int err, fd = device_open(why, cap);

	if (fd < 0)
		return fd;
	snprintf(data, sizeof data, "fd=%d,rootmode=40000,user_id=0,group_id=0,"
		 "default_permissions,allow_other", fd);
	if (mount(source, real, "fuse.kiln", o->flags, data) == 0)
		return fd;
	err = mount_failed(errno, real, why, cap);
	close(fd);
	return err;
}

/* fusermount3 passes the descriptor over the socket named in _FUSE_COMMFD. */
static int receive_fd(int sock)
{
	char byte;
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof control };
	struct cmsghdr *c;
	int fd;

	while (recvmsg(sock, &m, MSG_CMSG_CLOEXEC) < 0)
		if (errno != EINTR)
			return -1;
	c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN(sizeof fd))
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof fd);
	return fd;
}

/* Runs fusermount3 with its standard error going to err_fd; its pid, or -errno. */
static pid_t helper_start(char *const argv[], int err_fd)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int rc;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, err_fd, STDERR_FILENO);
	rc = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return rc ? -rc : pid;
}

/* The first line the helper complained with. */
static void first_line(int fd, char *out, size_t cap)
{
	ssize_t n = read(fd, out, cap - 1);

	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

/* fusermount3's exit code is 1 whatever it was. */
static int complaint_code(const char *text)
{
	static const char *const denied[] = {
	    "ermission",   "ermitted", "only allowed", "no write access", "not found in /etc/mtab",
	    "not owned by"};

	for (size_t i = 0; i < sizeof denied / sizeof *denied; i++)
		if (strstr(text, denied[i]))
			return -KILN_EACCES;
	return strstr(text, "busy") ? -KILN_EVOLBUSY : -KILN_ESYS;
}

/* Runs fusermount3 to its end: 0, or a code with its complaint in why. */
static int helper_run(char *const argv[], int keep_fd, char *why, size_t cap)
{
	char text[512];
	int pipe_fd[2], status = 0;
	pid_t pid;

	if (pipe2(pipe_fd, O_CLOEXEC) != 0)
		return refuse(KILN_ESYS, why, cap, argv[0], strerror(errno));
	pid = helper_start(argv, pipe_fd[1]);
	close(pipe_fd[1]);
	if (keep_fd >= 0)
		close(keep_fd);
	if (pid < 0) {
		close(pipe_fd[0]);
		return refuse(KILN_ESYS, why, cap, "cannot run fusermount3",
			      pid == -ENOENT ? "it is not installed (package fuse3)" :
					       strerror(-pid));
	}
	first_line(pipe_fd[0], text, sizeof text);
	close(pipe_fd[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	snprintf(why, cap, "%s", text[0] ? text : "fusermount3 failed");
	return complaint_code(text);
}

static int attach_as_user(const char *real, const char *source, const struct mount_options *o,
			  char *why, size_t cap)
{
	char flags[256], data[700], number[16];
	char *argv[] = { (char[]){ "fusermount3" }, (char[]){ "-o" }, data, (char[]){ "--" },
			 (char *)(uintptr_t)real, NULL };
	int sock[2], err, fd;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sock) != 0)
		return refuse(KILN_ESYS, why, cap, real, strerror(errno));
	fcntl(sock[0], F_SETFD, FD_CLOEXEC);
	snprintf(data, sizeof data, "%s,fsname=%s,subtype=kiln,default_permissions%s",
		 options_flag_names(o->flags, flags, sizeof flags), source,
		 o->allow_other ? ",allow_other" : "");
	snprintf(number, sizeof number, "%d", sock[1]);
	setenv("_FUSE_COMMFD", number, 1);
	err = helper_run(argv, sock[1], why, cap);
	unsetenv("_FUSE_COMMFD");
	fd = err ? err : receive_fd(sock[0]);
	close(sock[0]);
	if (fd < 0 && !err)
		return refuse(KILN_ESYS, why, cap, real, "fusermount3 gave no descriptor");
	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	return fd;
}

int mountpoint_attach(const char *real, const char *source, const struct mount_options *o,
		      char *why, size_t cap)
{
	return geteuid() == 0 ? attach_as_root(real, source, o, why, cap) :
				attach_as_user(real, source, o, why, cap);
}

/* Measured, reading a file from front to back: a quarter more with the descriptor handed over, half
 * more relayed; nothing more beyond this. */
enum { READAHEAD_KIB = 512 };

void mountpoint_readahead(const char *real)
{
	struct mountpoint mp;
	char path[64];
	unsigned now = 0;
	FILE *f;

	if (!mountpoint_find(real, &mp))
		return;
	snprintf(path, sizeof path, "/sys/class/bdi/%u:%u/read_ahead_kb", mp.major, mp.minor);
	f = fopen(path, "r+e");
	if (!f)
		return;
	if (fscanf(f, "%u", &now) == 1 && now < READAHEAD_KIB) {
		rewind(f);
		fprintf(f, "%u\n", READAHEAD_KIB);
	}
	fclose(f);
}

/* ---- unmounting ---- */

static int detach_failed(int eno, const char *dir, char *why, size_t cap)
{
	if (eno == EBUSY)
		return refuse(KILN_EVOLBUSY, why, cap, dir,
			      "is in use (fuser -m shows by whom; -l detaches it anyway)");
	if (eno == EPERM)
		return refuse(KILN_EACCES, why, cap, dir, "this user may not unmount it");
	return refuse(KILN_ESYS, why, cap, dir, strerror(eno));
}

/* Force ends the FUSE connection: everything that waited gets an error, but who had files open
 * still has them, so a busy mount is then detached lazily. */
static int detach_as_root(const char *real, unsigned how)
{
	int flags = UMOUNT_NOFOLLOW | (how & DETACH_LAZY ? MNT_DETACH : 0);

	if (how & DETACH_FORCE && umount2(real, UMOUNT_NOFOLLOW | MNT_FORCE) == 0)
		return 0;
	if (umount2(real, flags) == 0)
		return 0;
	if (errno == EBUSY && how & DETACH_FORCE && umount2(real, flags | MNT_DETACH) == 0)
		return 0;
	return errno;
}

static int detach_as_user(const char *real, unsigned how, char *why, size_t cap)
{
	char *argv[] = { (char[]){ "fusermount3" }, (char[]){ "-u" }, (char[]){ "--" },
			 (char *)(uintptr_t)real, NULL };
	char *lazy[] = { argv[0], argv[1], (char[]){ "-z" }, argv[2], argv[3], NULL };

	return helper_run(how ? lazy : argv, -1, why, cap);
}

int mountpoint_detach(const char *dir, unsigned how, char *why, size_t cap)
{
	struct mountpoint mp;
	char real[PATH_MAX];
	int eno;

	if (!realpath(dir, real))
		return refuse(KILN_ENOENT, why, cap, dir, strerror(errno));
	if (!mountpoint_find(real, &mp) || !mp.kiln)
		return refuse(KILN_ENOENT, why, cap, dir, "no kiln volume is mounted there");
	if (geteuid() != 0)
		return detach_as_user(real, how, why, cap);
	eno = detach_as_root(real, how);
	return eno ? detach_failed(eno, dir, why, cap) : 0;
}

/* ---- the beacon ---- */

static socklen_t beacon_name(struct sockaddr_un *sun, const struct mountpoint *mp)
{
	memset(sun, 0, sizeof *sun);
	sun->sun_family = AF_UNIX;
	/* A leading NUL: the name lives in the kernel, not on a disk. */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)snprintf(sun->sun_path + 1, sizeof sun->sun_path - 1,
					    "kiln-mount/%u:%u", mp->major, mp->minor));
}

int mountpoint_beacon(const struct mountpoint *mp)
{
	struct sockaddr_un sun;
	socklen_t len = beacon_name(&sun, mp);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -KILN_ESYS;
	if (bind(fd, (const struct sockaddr *)&sun, len) == 0 && listen(fd, 8) == 0)
		return fd;
	close(fd);
	return -KILN_ESYS;
}

int mountpoint_beacon_watch(const struct mountpoint *mp)
{
	struct sockaddr_un sun;
	socklen_t len = beacon_name(&sun, mp);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -KILN_ESYS;
	if (connect(fd, (const struct sockaddr *)&sun, len) == 0)
		return fd;
	close(fd);
	return -KILN_ECLOSED;
}

bool mountpoint_beacon_wait(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n;

	do
		n = poll(&p, 1, timeout_ms);
	while (n < 0 && errno == EINTR);
	close(fd);
	return n > 0;
}

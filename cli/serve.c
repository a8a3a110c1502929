/* kiln serve: options, and what a process needs around a server: signals, log, readiness. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "cli/cli.h"
#include "server/server.h"

#define UNSET UINT64_MAX

struct values {
	struct cli_list listen;
	const char *backend, *layout, *debug, *log;
	uint64_t cache, commit_ns, session_ns, loops, min_batch_ns, max_batch_ns;
	bool insecure, daemon, one_queue, sync_each;
};

static const struct cli_option options[] = {
	{ .name = "listen", .letter = 'l', .type = CLI_LIST,
	  .offset = offsetof(struct values, listen), .unit = "ADDRESS",
	  .preset = "the default server's socket",
	  .text = "where clients connect: unix:PATH or tcp:HOST:PORT" },
	{ .name = "insecure", .type = CLI_FLAG, .offset = offsetof(struct values, insecure),
	  .text = "allow TCP addresses other than loopback: anybody who can reach them can use "
		  "every volume as any user" },
	{ .name = "backend", .type = CLI_CHOICE, .offset = offsetof(struct values, backend),
	  .preset = "what DIR has, rocksdb for a new one", .choices = "rocksdb|mem",
	  .text = "what holds the data; mem forgets all of it at exit" },
	{ .name = "layout", .type = CLI_CHOICE, .offset = offsetof(struct values, layout),
	  .preset = "what DIR has, split for a new one", .choices = "single|split",
	  .text = "one key space, or one for each kind of record" },
	{ .name = "cache", .type = CLI_SIZE, .offset = offsetof(struct values, cache),
	  .unit = "SIZE", .preset = "16M", .text = "memory for the store's cache" },
	{ .name = "commit-interval", .type = CLI_MILLIS,
	  .offset = offsetof(struct values, commit_ns), .unit = "MS", .preset = "1000",
	  .text = "everything is durable after at most so many milliseconds" },
	{ .name = "min-batch-time", .type = CLI_MICROS,
	  .offset = offsetof(struct values, min_batch_ns), .unit = "US", .preset = "0",
	  .text = "a commit waits at least so long for others to join, as in ext4(5)" },
	{ .name = "max-batch-time", .type = CLI_MICROS,
	  .offset = offsetof(struct values, max_batch_ns), .unit = "US", .preset = "15000",
	  .text = "and at most so long, and no longer than an average commit; 0: never" },
	{ .name = "session-timeout", .type = CLI_SECONDS,
	  .offset = offsetof(struct values, session_ns), .unit = "S", .preset = "300",
	  .text = "a client away for so many seconds loses its open files and locks" },
	{ .name = "loops", .type = CLI_NUMBER, .offset = offsetof(struct values, loops),
	  .unit = "N", .preset = "by the number of processors", .max = LOOPS_MAX,
	  .text = "event loops" },
	{ .name = "one-queue", .type = CLI_FLAG, .offset = offsetof(struct values, one_queue),
	  .text = "for comparison: one thread does everything, one request after the other, and "
		  "waits for each sync" },
	{ .name = "sync-each", .type = CLI_FLAG, .offset = offsetof(struct values, sync_each),
	  .text = "for comparison: one sync for each answer that needs one" },
	{ .name = "debug", .type = CLI_STRING, .offset = offsetof(struct values, debug),
	  .unit = "BITS",
#define X(name) " " #name
	  .text = "log more; a list with commas of" LOG_BITS(X) },
#undef X
	{ .name = "log", .type = CLI_STRING, .offset = offsetof(struct values, log),
	  .unit = "FILE", .preset = "standard error", .text = "append the log to FILE" },
	{ .name = "daemon", .letter = 'D', .type = CLI_FLAG,
	  .offset = offsetof(struct values, daemon),
	  .text = "go into the background once clients can connect; needs --log" },
	{ 0 },
};

/* What of this process must be put back, or told, once the server runs or has failed. */
struct process {
	int terminal; /* copy of the first standard error while the log is elsewhere, or -1 */
	int parent;   /* --daemon: a byte written here lets the waiting parent go; or -1 */
};

/* --- addresses ----------------------------------------------------------------------- */

/* default_listen: the address that clients try by default; its directory is made. */
static const char *default_listen(void)
{
	static char text[ADDRESS_TEXT];
	char dir[ADDRESS_TEXT], *slash;
	struct address a;

	cli_server(NULL, &a);
	snprintf(dir, sizeof dir, "%s", a.path);
	slash = strrchr(dir, '/');
	if (a.kind == ADDRESS_UNIX && slash && slash != dir) {
		*slash = '\0';
		if (mkdir(dir, 0755) && errno != EEXIST)
			cli_die(errno == EACCES ? CLI_NO_PERMISSION : CLI_FAILED,
				"cannot make %s for the default socket: %s", dir, strerror(errno));
	}
	address_text(&a, text);
	return text;
}

static void check_listen(const struct cli_command *command, struct cli_list *list)
{
	struct address a;
	char why[512];

	for (unsigned i = 0; i < list->count; i++)
		if (address_parse(&a, list->item[i], why, sizeof why))
			cli_usage(command, "--listen: %s", why);
	if (!list->count)
		list->item[list->count++] = default_listen();
}

/* --- the process --------------------------------------------------------------------- */

/* raise_files: every mount and every open data file takes a descriptor. */
static void raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		log_warn("cannot raise the limit of open files: %s", strerror(errno));
}

/* block_signals: before any thread starts, so that only the main thread's sigwait sees them. */
static void block_signals(sigset_t *set)
{
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, set, NULL);
}

/* open_log: standard error becomes FILE; again for SIGHUP. */
static int open_log(const char *file)
{
	int fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);

	if (fd < 0)
		return -errno;
	if (dup2(fd, STDERR_FILENO) < 0) {
		close(fd);
		return -errno;
	}
	close(fd);
	return 0;
}

static void start_log(struct process *p, const char *file)
{
	int err;

	if (!file)
		return;
	p->terminal = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	err = open_log(file);
	if (err)
		cli_die(err == -EACCES ? CLI_NO_PERMISSION : CLI_FAILED, "cannot write the log %s: %s",
			file, strerror(-err));
}

/* wait_for_child: what the parent of a daemon does: it ends when the child is ready (one byte)
 * or with the child's exit code. */
static void __attribute__((noreturn)) wait_for_child(pid_t child, int ready)
{
	char byte;
	int status;
	ssize_t n;

	do
		n = read(ready, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		_exit(CLI_OK);
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		_exit(CLI_FAILED);
	_exit(WEXITSTATUS(status));
}

static void detach(struct process *p)
{
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		cli_die(CLI_FAILED, "cannot make a pipe: %s", strerror(errno));
	child = fork();
	if (child < 0)
		cli_die(CLI_FAILED, "cannot start a process: %s", strerror(errno));
	if (child) {
		close(ends[1]);
		wait_for_child(child, ends[0]);
	}
	close(ends[0]);
	setsid();
	p->parent = ends[1];
}

/* leave_terminal: nothing of the starting shell is held any longer. */
static void leave_terminal(struct process *p)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		close(null);
	}
	if (write(p->parent, "", 1) != 1)
		log_warn("the starting process is gone");
	close(p->parent);
}

/* notify: one line for a service manager that asked for it (sd_notify(3)'s protocol). */
static void notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (!len || len >= sizeof to.sun_path || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(to.sun_path, path, len);
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
		log_warn("cannot tell the service manager '%s': %s", state, strerror(errno));
	close(fd);
}

/* --- start, run, stop ---------------------------------------------------------------- */

static void __attribute__((noreturn)) start_failed(const struct process *p, int err, char *why)
{
	if (p->terminal >= 0) {
		log_error("cannot start: %s", why ? why : err_text(err));
		dup2(p->terminal, STDERR_FILENO);
	}
	cli_die(cli_exit_of(err), "%s", why ? why : err_text(err));
}

static void say_ready(const struct server_options *o, struct process *p)
{
	printf("kiln %s ready:", KILN_VERSION);
	for (const char *const *a = o->listen; *a; a++)
		printf(" %s", *a);
	printf(" (data directory %s, pid %d)\n", o->dir, (int)getpid());
	fflush(stdout);
	if (p->terminal >= 0)
		close(p->terminal);
	if (p->parent >= 0)
		leave_terminal(p);
	notify("READY=1");
}

/* wait_for_end: until SIGTERM or SIGINT. */
static void wait_for_end(const sigset_t *set, const char *log)
{
	int sig = 0, err;

	while (sig != SIGTERM && sig != SIGINT) {
		if (sigwait(set, &sig) || sig != SIGHUP || !log)
			continue;
		err = open_log(log);
		if (err)
			log_error("cannot open the log %s anew: %s", log, strerror(-err));
	}
	log_info("stopping: %s", sig == SIGTERM ? "SIGTERM" : "SIGINT");
}

static void fill_options(const struct values *v, const char *dir, struct server_options *o)
{
	*o = (struct server_options){
		.dir = dir,
		.store = { .backend = v->backend, .layout = v->layout, .cache_bytes = v->cache,
			   .commit = { .interval_ns = v->commit_ns,
				       .min_batch_ns = v->min_batch_ns,
				       .max_batch_ns = v->max_batch_ns == UNSET ? 0
									       : v->max_batch_ns,
				       .no_wait = v->max_batch_ns == 0,
				       .sync_each = v->sync_each },
			   .create = true },
		.listen = v->listen.item,
		.insecure = v->insecure,
		.one_queue = v->one_queue,
		.loops = (unsigned)v->loops,
		.session_timeout_ns = v->session_ns,
	};
}

int cli_serve(const struct cli_command *command, int argc, char **argv)
{
	struct process p = { -1, -1 };
	struct values v = { .max_batch_ns = UNSET };
	struct server_options o;
	struct server *server;
	char *why = NULL;
	sigset_t signals;
	int err;

	cli_parse(command, options, &v, argc, argv, 1, 1);
	if (v.debug && log_debug_enable(v.debug))
		cli_usage(command, "--debug: '%s' has an unknown name", v.debug);
	if (v.daemon && !v.log)
		cli_usage(command, "--daemon needs --log FILE");
	check_listen(command, &v.listen);
	fill_options(&v, argv[0], &o);
	raise_files();
	block_signals(&signals);
	if (v.daemon)
		detach(&p);
	start_log(&p, v.log);
	err = server_start(&o, &server, &why);
	if (err)
		start_failed(&p, err, why);
	say_ready(&o, &p);
	wait_for_end(&signals, v.log);
	notify("STOPPING=1");
	server_stop(server);
	return CLI_OK;
}

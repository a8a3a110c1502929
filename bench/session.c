#include "bench/session.h"

#include "base/clock.h"
#include "base/err.h"
#include "bench/env.h"
#include "bench/render.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

void session_complain(const char *fmt, ...)
{
	va_list ap;

	fputs("kiln-bench: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* Every client holds a few descriptors; the soft limit of 1,024 is soon reached. */
static void raise_limits(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

static int load_profile(struct session *s, const char *default_profile)
{
	char why[WHY_MAX];
	int rc = profile_load(s->o.profile ? s->o.profile : default_profile, &s->profile, why);

	if (rc == 0 && s->o.suite)
		rc = profile_select(&s->profile, s->o.suite, why);
	if (rc < 0) {
		session_complain("%s", why);
		profile_free(&s->profile);
	}
	return rc;
}

static int start_processes(struct session *s, int *argc, char ***argv)
{
	int rc = janitor_start(&s->janitor);

	if (rc == 0) {
		rc = ranks_start(argc, argv, (unsigned)s->o.procs, &s->ranks);
		if (rc < 0)
			janitor_end(s->janitor);
	}
	if (rc < 0) {
		session_complain("cannot start its processes: %s", err_text(rc));
		profile_free(&s->profile);
	}
	return rc;
}

int session_start(struct session *s, int argc, char **argv, unsigned command,
		  const char *default_profile, double default_budget_s)
{
	int rc;

	memset(s, 0, sizeof *s);
	if (options_parse(&s->o, argc, argv, 2, command) < 0)
		return EXIT_USAGE;
	if (load_profile(s, default_profile) < 0)
		return EXIT_USAGE;
	s->budget_s = s->o.budget > 0 ? s->o.budget : default_budget_s;
	raise_limits();
	fflush(NULL);
	if (start_processes(s, &argc, &argv) < 0)
		return EXIT_FAILED;
	bench_catch_signals();
	if (ranks_id(s->ranks) == 0)
		return 0;
	janitor_leave(s->janitor);
	rc = bench_serve(s->ranks, &s->profile);
	ranks_end(s->ranks);
	profile_free(&s->profile);
	_exit(rc < 0 ? EXIT_FAILED : 0);
}

int session_open(struct session *s, const char *const *where, unsigned n, struct bench **out)
{
	static unsigned serial;
	struct bench_options bo = { .threads = (unsigned)s->o.threads,
				    .server = (pid_t)s->o.server_pid };
	char why[WHY_MAX] = "too many targets";
	int rc;

	snprintf(bo.run_name, sizeof bo.run_name, ".kiln-bench-%d-%u-%llx", (int)getpid(), serial++,
		 (unsigned long long)clock_wall().tv_nsec);
	for (unsigned t = 0; t < n; t++)
		janitor_note_dir(s->janitor, where[t], bo.run_name);
	rc = bench_open(s->ranks, &s->profile, where, n, &bo, out, why);
	if (rc < 0)
		session_complain("%s", why);
	return rc;
}

int session_close(struct session *s, struct bench *b)
{
	int rc = bench_close(b);

	if (rc < 0)
		session_complain("cleaning up: %s", err_text(rc));
	return rc;
}

void session_end(struct session *s)
{
	session_progress(s, "%s", "");
	bench_dismiss(s->ranks);
	ranks_end(s->ranks);
	janitor_end(s->janitor);
	profile_free(&s->profile);
}

void session_progress(struct session *s, const char *fmt, ...)
{
	char line[160];
	va_list ap;

	if (s->o.quiet || !isatty(STDERR_FILENO) || (!*fmt && !s->progress_shown))
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\r\033[K%s", line);
	fflush(stderr);
	s->progress_shown = true;
}

int session_output(const struct options *o, const json_t *doc)
{
	char why[WHY_MAX];
	int rc = 0;

	if (!o->quiet)
		render_screen(doc, stdout, o->per_client);
	if (o->json)
		rc = doc_save(doc, o->json, why);
	if (rc == 0)
		rc = render_files(doc, o, why);
	if (rc < 0)
		session_complain("%s", why);
	return rc < 0 ? EXIT_FAILED : 0;
}

void session_environment(json_t *doc, const char *const *where, unsigned n)
{
	json_t *targets = json_array(), *machine = env_machine(), *warnings;

	for (unsigned t = 0; t < n; t++)
		json_array_append_new(targets, env_target(where[t]));
	warnings = env_warnings(machine, targets);
	json_object_set_new(doc, "machine", machine);
	json_object_set_new(doc, "targets", targets);
	json_object_set_new(doc, "warnings", warnings);
}

/* What every measuring command needs around its measurements: profile, ranks, janitor, signals,
 * the progress line, and writing the document to where the user asked. */
#ifndef BENCH_SESSION_H
#define BENCH_SESSION_H

#include "bench/bench.h"
#include "bench/doc.h"
#include "bench/janitor.h"
#include "bench/options.h"

/* Exit codes of the program, documented in kiln-bench(1). */
enum { EXIT_SAME = 0, EXIT_WORSE = 1, EXIT_UNDECIDED = 2, EXIT_USAGE = 3, EXIT_FAILED = 4,
       EXIT_INTERRUPTED = 130 };

struct session {
	struct options o;
	struct profile profile;
	struct ranks *ranks;
	struct janitor *janitor;
	double budget_s;
	bool progress_shown;
};

/* session_start: exit code, 0 to go on (session_end undoes it), another if it has said why not
 * and nothing is left of it.  Ranks other than 0 do not return from it. */
int session_start(struct session *s, int argc, char **argv, unsigned command,
		  const char *default_profile, double default_budget_s);
/* session_open: bench_open with a fresh name, noted with the janitor; says what is wrong. */
int session_open(struct session *s, const char *const *where, unsigned n, struct bench **out);
/* session_close: bench_close; the janitor keeps its note if files could not be removed. */
int session_close(struct session *s, struct bench *b);
void session_end(struct session *s);
/* session_progress: one line that overwrites itself, on a terminal only. */
void session_progress(struct session *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* session_output: screen and files, as the options say. */
int session_output(const struct options *o, const json_t *doc);
void session_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* session_targets: environment of the targets and warnings, into doc. */
void session_environment(json_t *doc, const char *const *where, unsigned n);

#endif

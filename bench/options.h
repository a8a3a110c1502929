/* The command line, from one table: name, type, limits, default, unit, text. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Bits that say which command knows an option. */
enum { CMD_RUN = 1, CMD_AB = 2, CMD_AA = 4, CMD_COMPARE = 8, CMD_BASELINE = 16, CMD_SELFTEST = 32,
       CMD_REPORT = 64, CMD_MEASURE = CMD_RUN | CMD_AB | CMD_AA,
       CMD_DECIDE = CMD_AB | CMD_AA | CMD_COMPARE | CMD_BASELINE,
       CMD_TRIAL = CMD_AB | CMD_AA, CMD_OUTPUT = CMD_RUN | CMD_AB | CMD_AA | CMD_COMPARE | CMD_REPORT };

enum option_type { OPT_TEXT, OPT_COUNT, OPT_SECONDS, OPT_PERCENT, OPT_FLAG };

/*        field          type         initial min   max     commands       metavar  text */
#define OPTIONS(X) \
	X(profile,      TEXT,     0,  0, 0,        CMD_MEASURE,  "NAME",  "built-in profile or a file (run: standard; ab, aa: quick)") \
	X(suite,        TEXT,     0,  0, 0,        CMD_MEASURE,  "A,B",   "only these suites or tests (suite, suite.test, with * as wildcard)") \
	X(budget,       SECONDS,  0,  0.1, 86400,    CMD_MEASURE | CMD_SELFTEST, "TIME", "time for everything (run: 60s; ab, aa: 180s; selftest: 120s)") \
	X(threads,      COUNT,    4,  1, 4096,     CMD_MEASURE,  "N",     "clients in each process, where a test leaves it open") \
	X(procs,        COUNT,    1,  1, 1024,     CMD_RUN | CMD_AB | CMD_AA, "N", "processes on this machine (under mpirun: its ranks)") \
	X(server_pid,   COUNT,    0,  1, 4194304,  CMD_RUN | CMD_AB | CMD_AA, "PID", "count this server's processor time too") \
	X(passes,       COUNT,    1,  1, 1000,     CMD_RUN,      "N",     "measure every test so many times, spread over the run") \
	X(margin,       PERCENT,  3,  0.1, 50,     CMD_DECIDE,   "PCT",   "differences smaller than this do not matter") \
	X(alpha,        PERCENT,  5,  0.1, 20,     CMD_DECIDE,   "PCT",   "rate of false alarms that is acceptable, for all tests together") \
	X(slice,        SECONDS,  0,  0.001, 60,   CMD_TRIAL,   "TIME",  "length of one measurement of one test (0.03s; 0.25s where sides take turns)") \
	X(a,            TEXT,     0,  0, 0,        CMD_AB,       "CMD",   "sets side A up") \
	X(b,            TEXT,     0,  0, 0,        CMD_AB,       "CMD",   "sets side B up") \
	X(a_down,       TEXT,     0,  0, 0,        CMD_AB,       "CMD",   "takes side A down") \
	X(b_down,       TEXT,     0,  0, 0,        CMD_AB,       "CMD",   "takes side B down") \
	X(dir,          TEXT,     0,  0, 0,        CMD_AB,       "DIR",   "where both sides are found, one at a time") \
	X(all,          FLAG,     0,  0, 0,        CMD_TRIAL,   "",      "do not stop before every test is decided") \
	X(seed,         COUNT,    0,  0, 1e15,     CMD_TRIAL,   "N",     "of the order of the blocks (0: from the clock)") \
	X(json,         TEXT,     0,  0, 0,        CMD_OUTPUT,   "FILE",  "write everything, each sample, as JSON") \
	X(csv,          TEXT,     0,  0, 0,        CMD_OUTPUT,   "FILE",  "write the table as CSV") \
	X(md,           TEXT,     0,  0, 0,        CMD_OUTPUT,   "FILE",  "write the table as Markdown") \
	X(junit,        TEXT,     0,  0, 0,        CMD_OUTPUT,   "FILE",  "write the verdicts as JUnit XML") \
	X(html,         TEXT,     0,  0, 0,        CMD_OUTPUT,   "FILE",  "write a report as one HTML page") \
	X(label,        TEXT,     0,  0, 0,        CMD_OUTPUT | CMD_BASELINE, "TEXT", "kept with the results (a commit, a machine)") \
	X(per_client,   FLAG,     0,  0, 0,        CMD_RUN | CMD_REPORT, "", "list the clients in the table too") \
	X(quiet,        FLAG,     0,  0, 0,        CMD_OUTPUT,   "",      "no progress line and no table")

#define OPT_C_TEXT const char *
#define OPT_C_COUNT uint64_t
#define OPT_C_SECONDS double
#define OPT_C_PERCENT double
#define OPT_C_FLAG bool

enum { OPTIONS_WORDS = 64 };

struct options {
#define X(field, type, ...) OPT_C_##type field;
	OPTIONS(X)
#undef X
	const char *word[OPTIONS_WORDS]; /* what is not an option */
	unsigned n_words;
};

/* options_parse: argv[first...]; command is one CMD_ bit.  0, or -KILN_EINVAL after having
 * said on standard error what is wrong. */
int options_parse(struct options *o, int argc, char **argv, int first, unsigned command);
void options_print(unsigned command);

#endif

/* A trial compares two sides: blocks of paired measurements, each pair in an order drawn by
 * lot, looked at as they come in, until the answer is clear or the budget is used up. */
#ifndef BENCH_TRIAL_H
#define BENCH_TRIAL_H

#include "bench/result.h"
#include "bench/session.h"
#include "bench/stats.h"

/* One side.  The strings are borrowed. */
struct trial_side {
	const char *up, *down;	  /* commands, or NULL */
	const char *where;	  /* target; NULL: what up prints on its last line */
	char printed[BENCH_PATH]; /* what it printed */
	struct bench *bench;	  /* while open */
	bool is_up;
};

enum { SIDE_A, SIDE_B };

/* One pair of one figure. */
struct sample {
	unsigned block;
	char order; /* which side was first: 'a' or 'b' */
	double rate[2], begin_s[2];
};

/* One compared figure, with what it takes to show it. */
struct track {
	char metric[3 * PROFILE_NAME];
	unsigned test, series;
	struct sample *sample;
	size_t n;
	struct tally *tally[2];	     /* all blocks merged */
	struct counters counters[2]; /* of the whole test, on its first series only */
	char note[WHY_MAX];	     /* skipped, and why */
};

struct trial {
	struct session *s;
	struct trial_side side[2];
	bool together; /* both sides are up at once: pairs are taken test by test */
	double slice_s, budget_s, begin_s, block_s; /* block_s: how long a block takes, last seen */
	bool to_the_end; /* do not stop early */
	bool same;	 /* A against A: any "changed" is a false alarm */
	unsigned blocks; /* complete, the first (warm-up) not counted */
	struct track *track;
	size_t n_tracks;
	struct figure *figure; /* [0] is the headline, [i + 1] belongs to track[i] */
	struct decision decision;
	json_t *looks;
	uint64_t rng;
};

/* trial_run: the sides are set up, measured and taken down.  0, or a negative code when the
 * trial could not go on; said on standard error. */
int trial_run(struct trial *t);
void trial_free(struct trial *t);
/* trial_doc: result, figures and every sample, into doc. */
void trial_doc(struct trial *t, json_t *doc);
/* trial_exit: 0 same or better, 1 worse, 2 undecided. */
int trial_exit(const struct trial *t);
/* trial_seconds_more: how much longer until the headline is decided; 0 or INFINITY too. */
double trial_seconds_more(const struct trial *t);
const char *trial_verdict_text(enum verdict v);

/* Commands of a side: run by /bin/sh with KILN_BENCH_SIDE=a|b in the environment. */
int side_up(struct session *s, struct trial_side *side, char name);
int side_down(struct session *s, struct trial_side *side, char name);

/* The pass-through library of the self-test, if it is loaded, slows the chosen side down. */
void trial_select_side(char name);

#endif

/* The janitor: a process that outlives the benchmark, whatever kills it, by as long as it takes
 * to remove what the benchmark left in its targets and to take down what ab set up.  It waits
 * on a pipe; when the benchmark is gone without having said goodbye, it works off its list. */
#ifndef BENCH_JANITOR_H
#define BENCH_JANITOR_H

struct janitor;

/* janitor_start: forks it, or leaves nothing; call before threads and ranks exist.  It leads a session of its
 * own, so that an interrupt from the terminal does not reach it. */
int janitor_start(struct janitor **out);
/* janitor_note_dir: remove run_name below target, if the benchmark cannot. */
void janitor_note_dir(struct janitor *j, const char *target, const char *run_name);
/* janitor_note_command: run command by /bin/sh, if the benchmark cannot. */
void janitor_note_command(struct janitor *j, const char *command);
/* janitor_forget: all is cleaned up; the list is empty again. */
void janitor_forget(struct janitor *j);
/* janitor_leave: what a forked rank calls: its end is not the benchmark's. */
void janitor_leave(struct janitor *j);
/* janitor_end: lets the janitor work off what is on its list, waits for it, frees j. */
void janitor_end(struct janitor *j);

#endif

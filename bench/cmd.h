/* The commands; each returns the program's exit code. */
#ifndef BENCH_CMD_H
#define BENCH_CMD_H

int cmd_run(int argc, char **argv);
int cmd_ab(int argc, char **argv);
int cmd_aa(int argc, char **argv);
int cmd_selftest(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_baseline(int argc, char **argv);
int cmd_report(int argc, char **argv);

#endif

/* From document to what people and other programs read.  Every renderer takes any kind of
 * document and writes to out; the caller closes. */
#ifndef BENCH_RENDER_H
#define BENCH_RENDER_H

#include "bench/options.h"

#include <jansson.h>
#include <stdio.h>

void render_screen(const json_t *doc, FILE *out, bool per_client);
/* render_files: the --csv, --md, --junit and --html that the options name. */
int render_files(const json_t *doc, const struct options *o, char *why);

/* render_per_op: a counter of a test (of kind run) per operation of all its series; below 0 if
 * the system did not give it. */
double render_per_op(const json_t *test, const char *counter);
/* render_duration: "1.23 ms"; render_rate: "12,3 k" style: three digits and a unit. */
void render_duration(double ns, char out[16]);
void render_rate(double per_s, char out[16]);

#endif

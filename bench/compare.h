/* Comparing results that were stored.  They are not interleaved, so what drifted between them
 * counts as a difference; prefer ab where both sides can be had at once. */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H

#include <jansson.h>
#include <stdio.h>

/* compare_docs: two results of run into a document of kind "compare".  Samples are the rates of
 * repeated passes (run --passes), else of eighths of each test.  0, 1 or 2 as for ab; -KILN_ENOENT
 * if nothing is common. */
int compare_docs(const json_t *a, const json_t *b, double alpha, double margin, json_t *doc);
/* compare_history: results of a series of commits, oldest first: a line for each figure, and
 * where its level shifted, with Holm's correction over the figures.  0; 1 if a level fell. */
int compare_history(const json_t *docs, double alpha, double margin, FILE *out);

#endif

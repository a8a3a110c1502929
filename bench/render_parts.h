/* Private to the renderers. */
#ifndef BENCH_RENDER_PARTS_H
#define BENCH_RENDER_PARTS_H

#include "bench/render.h"

void render_csv(const json_t *doc, FILE *out);
void render_md(const json_t *doc, FILE *out);
void render_junit(const json_t *doc, FILE *out);
void render_html(const json_t *doc, FILE *out);

/* One sentence: what a trial found; an interval as "+1.0 .. +3.0 %". */
void render_answer(const json_t *doc, char *out, size_t cap);
void render_interval(const json_t *f, char *out, size_t cap);
void render_xml_text(FILE *out, const char *text);

/* The plots, as inline SVG; colours are classes that the page's style sheet defines for light,
 * dark and paper. */
void plot_effects(const json_t *doc, FILE *out);
void plot_blocks(const json_t *doc, FILE *out);
void plot_rates(const json_t *doc, FILE *out);
void plot_distribution(const json_t *hist_a, const json_t *hist_b, const char *title, FILE *out);
void plot_timeline(const json_t *series, double slot_s, FILE *out);

#endif

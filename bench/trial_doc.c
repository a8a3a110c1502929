/* A trial as a JSON document; see docs/bench-schema.md. */
#include "bench/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RELABELLINGS = 400 };

/* JSON has no infinity: what is unbounded is null. */
static json_t *finite_or_null(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static json_t *figure_doc(const struct trial *t, const struct figure *f, const char *metric)
{
	json_t *o = json_object();
	double more = decision_more(&t->decision, f);

	json_object_set_new(o, "metric", json_string(metric));
	json_object_set_new(o, "n", json_integer((json_int_t)f->n));
	json_object_set_new(o, "estimate", json_real(f->estimate));
	json_object_set_new(o, "low", finite_or_null(f->n ? f->low : -INFINITY));
	json_object_set_new(o, "high", finite_or_null(f->n ? f->high : INFINITY));
	json_object_set_new(o, "p", json_real(f->p));
	json_object_set_new(o, "p_adjusted", json_real(f->p_adjusted));
	json_object_set_new(o, "verdict", json_string(trial_verdict_text(f->verdict)));
	json_object_set_new(o, "more_s",
			    more > 0 ? finite_or_null((more - (double)f->n) * t->block_s) :
				       json_real(0));
	return o;
}

static json_t *samples_doc(const struct track *track)
{
	json_t *list = json_array();

	for (size_t i = 0; i < track->n; i++) {
		const struct sample *s = &track->sample[i];
		char order[2] = { s->order, 0 };

		json_array_append_new(list, json_pack("{s:i, s:s, s:f, s:f, s:f, s:f}", "block",
						      (int)s->block, "first", order, "a", s->rate[0],
						      "b", s->rate[1], "a_at_s", s->begin_s[0],
						      "b_at_s", s->begin_s[1]));
	}
	return list;
}

static double median_rate(const struct track *track, int side)
{
	double *x = calloc(track->n + 1, sizeof *x), m = 0;

	for (size_t i = 0; x && i < track->n; i++)
		x[i] = track->sample[i].rate[side];
	if (x)
		m = stats_median(x, track->n);
	free(x);
	return m;
}

static json_t *counters_doc(const struct counters *c, double ops)
{
	json_t *o = json_object();

	if (ops <= 0)
		return o;
#define X(field, ...) \
	if ((strncmp(#field, "server", 6) != 0 || c->has_server) && \
	    (strncmp(#field, "device", 6) != 0 || c->has_device)) \
		json_object_set_new(o, #field, json_real((double)c->field / ops));
	COUNTERS(X)
#undef X
	return o;
}

static json_t *side_doc(const struct track *track, int side)
{
	const struct tally *tally = track->tally[side];

	return json_pack("{s:f, s:I, s:I, s:o, s:o, s:o}", "rate", median_rate(track, side), "ops",
			 (json_int_t)tally->hist.count, "bytes", (json_int_t)tally->bytes,
			 "latency_ns", doc_latency(&tally->hist), "histogram_ns",
			 doc_histogram(&tally->hist), "per_op",
			 counters_doc(&track->counters[side], (double)tally->hist.count));
}

static void noise(const struct trial *t, json_t *o)
{
	uint64_t seed = 20110101;
	double floor = 0;

	for (size_t i = 1; i <= t->n_tracks; i++)
		if (isfinite(t->figure[i].low) && t->figure[i].n)
			floor = fmax(floor, (t->figure[i].high - t->figure[i].low) / 2);
	json_object_set_new(o, "noise_floor_headline",
			    finite_or_null((t->figure[0].high - t->figure[0].low) / 2));
	json_object_set_new(o, "noise_floor_worst", json_real(floor));
	json_object_set_new(o, "false_alarm_rate",
			    json_real(stats_false_alarms(t->figure, t->n_tracks + 1,
							 t->decision.alpha, t->decision.margin,
							 RELABELLINGS, seed)));
}

void trial_doc(struct trial *t, json_t *doc)
{
	json_t *o = json_object(), *list = json_array();

	json_object_set_new(doc, "result", o);
	json_object_set_new(doc, "figures", list);
	json_object_set_new(o, "blocks", json_integer(t->blocks));
	json_object_set_new(o, "block_s", json_real(t->block_s));
	json_object_set_new(o, "slice_s", json_real(t->slice_s));
	json_object_set_new(o, "together", json_boolean(t->together));
	json_object_set_new(o, "margin", json_real(log1p(t->s->o.margin / 100)));
	json_object_set_new(o, "alpha", json_real(t->s->o.alpha / 100));
	json_object_set_new(o, "exit", json_integer(trial_exit(t)));
	json_object_set(o, "looks", t->looks);
	if (!t->figure)
		return;
	json_object_set_new(o, "headline", figure_doc(t, &t->figure[0], "all tests"));
	json_object_set_new(o, "more_s", finite_or_null(trial_seconds_more(t)));
	noise(t, o);
	for (size_t i = 0; i < t->n_tracks; i++) {
		json_t *f = figure_doc(t, &t->figure[i + 1], t->track[i].metric);

		json_object_set_new(f, "note", json_string(t->track[i].note));
		json_object_set_new(f, "a", side_doc(&t->track[i], SIDE_A));
		json_object_set_new(f, "b", side_doc(&t->track[i], SIDE_B));
		json_object_set_new(f, "samples", samples_doc(&t->track[i]));
		json_array_append_new(list, f);
	}
}

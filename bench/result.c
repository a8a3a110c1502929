#include "bench/result.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

int result_init(struct result *r)
{
	memset(r, 0, sizeof *r);
	r->series = calloc(SERIES_MAX, sizeof *r->series);
	return r->series ? 0 : -KILN_ENOMEM;
}

void result_free(struct result *r)
{
	free(r->series);
	free(r->clients);
	r->series = NULL;
	r->clients = NULL;
}

void tally_merge(struct tally *into, const struct tally *from)
{
	hist_merge(&into->hist, &from->hist);
	into->bytes += from->bytes;
	for (unsigned i = 0; i < SLOTS; i++)
		into->slots[i] += from->slots[i];
}

int result_client(struct result *r, unsigned series, unsigned worker, const struct tally *t)
{
	const struct hist *h = &t->hist;
	struct client *grown = realloc(r->clients, (r->n_clients + 1) * sizeof *grown);

	if (!grown)
		return -KILN_ENOMEM;
	r->clients = grown;
	grown[r->n_clients++] = (struct client){
		.worker = worker,
		.series = series,
		.ops = h->count,
		.busy_ns = h->sum,
		.min_ns = h->count ? h->min : 0,
		.max_ns = h->max,
		.p50_ns = hist_quantile(h, 0.5),
		.p99_ns = hist_quantile(h, 0.99),
	};
	tally_merge(&r->series[series].tally, t);
	if (h->sum)
		r->series[series].rate += (double)h->count * 1e9 / (double)h->sum;
	return 0;
}

int result_pack(const struct result *r, void **data, size_t *len)
{
	size_t head = sizeof *r, series = r->n_series * sizeof *r->series;
	size_t clients = r->n_clients * sizeof *r->clients;
	char *out = malloc(head + series + clients);

	if (!out)
		return -KILN_ENOMEM;
	memcpy(out, r, head);
	memcpy(out + head, r->series, series);
	if (clients)
		memcpy(out + head + series, r->clients, clients);
	*data = out;
	*len = head + series + clients;
	return 0;
}

static int merge_clients(struct result *into, const struct client *from, unsigned n)
{
	struct client *grown;

	if (!n)
		return 0;
	grown = realloc(into->clients, (into->n_clients + n) * sizeof *grown);
	if (!grown)
		return -KILN_ENOMEM;
	memcpy(grown + into->n_clients, from, n * sizeof *from);
	into->clients = grown;
	into->n_clients += n;
	return 0;
}

int result_merge(struct result *into, const void *data, size_t len)
{
	const struct result *from = data;
	const struct series *series = (const void *)(from + 1);
	const struct client *clients;

	if (len < sizeof *from || from->n_series > SERIES_MAX ||
	    len != sizeof *from + from->n_series * sizeof *series +
			    from->n_clients * sizeof(struct client))
		return -KILN_EBADMSG;
	clients = (const void *)(series + from->n_series);
	for (unsigned i = 0; i < from->n_series; i++) {
		tally_merge(&into->series[i].tally, &series[i].tally);
		into->series[i].rate += series[i].rate;
		memcpy(into->series[i].name, series[i].name, sizeof series[i].name);
	}
	if (from->n_series > into->n_series)
		into->n_series = from->n_series;
	if (from->status > into->status) {
		into->status = from->status;
		into->rc = from->rc;
		memcpy(into->why, from->why, sizeof into->why);
	}
	if (from->elapsed_ns > into->elapsed_ns)
		into->elapsed_ns = from->elapsed_ns;
	counters_add_own(&into->counters, &from->counters);
	return merge_clients(into, clients, from->n_clients);
}

void result_add_pass(struct result *into, struct result *pass, unsigned passes)
{
	struct result old = *into;

	*into = *pass;
	memset(pass, 0, sizeof *pass);
	if (passes == 1)
		return;
	for (unsigned i = 0; i < into->n_series && i < old.n_series; i++) {
		struct series *s = &into->series[i];

		tally_merge(&s->tally, &old.series[i].tally);
		s->rate += (old.series[i].rate - s->rate) * (passes - 1) / passes;
	}
	into->prepare_ns += old.prepare_ns;
	into->elapsed_ns += old.elapsed_ns;
	counters_add(&into->counters, &old.counters);
	if (old.status > into->status) {
		into->status = old.status;
		into->rc = old.rc;
		memcpy(into->why, old.why, sizeof into->why);
	}
	result_free(&old);
}

double result_rate(const struct result *r, unsigned series)
{
	return series < r->n_series ? r->series[series].rate : 0;
}

double result_trend(const struct result *r, unsigned series, unsigned n)
{
	const uint32_t *slots = r->series[series].tally.slots;
	unsigned part = SLOTS / n ? SLOTS / n : 1;
	double first = 0, last = 0;

	for (unsigned i = 0; i < part; i++) {
		first += slots[i];
		last += slots[SLOTS - 1 - i];
	}
	return first > 0 ? last / first : 0;
}

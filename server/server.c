/* Starting and stopping a server; server.h names the parts in the order of starting. */
#include "server/server.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "server/conn.h"
#include "server/listen.h"
#include "server/loop.h"
#include "server/openfile.h"
#include "server/pool.h"
#include "server/session.h"
#include "server/volume.h"
#include "server/volumes.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	READERS = 4,
	WRITERS = 4,
	SESSION_TIMEOUT_S = 300,
	DRAIN_MS = 2000, /* how long a stop waits for answers under way; the rest is sent again */
};

static void set_defaults(struct server_options *o)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!o->loops)
		o->loops = cpus > LOOPS_MAX ? LOOPS_MAX : cpus < 1 ? 1 : (unsigned)cpus;
	if (!o->readers)
		o->readers = READERS;
	if (o->one_queue)
		o->writers = 1;
	if (!o->writers)
		o->writers = WRITERS;
	if (!o->session_timeout_ns)
		o->session_timeout_ns = SESSION_TIMEOUT_S * NS_PER_S;
}

static void tick(struct server *s)
{
	conn_tick();
	session_tick(s);
}

static int start_loops(struct server *s)
{
	int err = 0;

	for (unsigned i = 0; i < s->options.loops && !err; i++) {
		err = loop_start(s, i, &s->loops[i]);
		if (!err)
			s->loop_count++;
	}
	return err;
}

/* start_parts: *what names the part that did not come to be. */
static int start_parts(struct server *s, const char **what, char **why)
{
	int err;

	*what = "its store";
	err = store_open(s->options.dir, &s->options.store, &s->store, why);
	if (err)
		return err;
	*what = "its record of open files";
	err = openfile_start(s->options.dir, &s->openfile);
	if (err)
		return err;
	*what = "its pool of threads";
	err = pool_start(s, s->options.readers, s->options.writers, &s->pool);
	if (err)
		return err;
	*what = "its volumes";
	err = volumes_open(s, &s->volumes);
	if (err)
		return err;
	*what = "its event loops";
	err = start_loops(s);
	if (err)
		return err;
	*what = "its administration";
	err = admin_start(s, &s->admin);
	if (err)
		return err;
	*what = "listening";
	return listener_start(s, &s->listener, why);
}

int server_start(const struct server_options *options, struct server **out, char **why)
{
	struct server *s = calloc(1, sizeof *s);
	const char *what;
	int err;

	*why = NULL;
	if (!s)
		return -KILN_ENOMEM;
	s->options = *options;
	set_defaults(&s->options);
	s->started_ns = clock_mono();
	s->committer_stats = calloc(1, sizeof *s->committer_stats);
	if (!s->committer_stats) {
		free(s);
		return -KILN_ENOMEM;
	}
	err = start_parts(s, &what, why);
	if (err) {
		if (!*why && asprintf(why, "%s: the server cannot start %s: %s", options->dir, what,
				      err_text(err)) < 0)
			*why = NULL;
		server_stop(s);
		return err;
	}
	loop_tick(s->loops[0], tick);
	*out = s;
	return 0;
}

/* Whom a stop still has to answer: not those who wait for a lock, which may take for ever.  Looked at
 * in this order, a request that has just got its lock is still counted. */
static uint64_t unanswered(const struct server *s)
{
	uint64_t inflight = __atomic_load_n(&s->inflight, __ATOMIC_ACQUIRE);
	uint64_t waits = __atomic_load_n(&s->lock_waits, __ATOMIC_RELAXED);

	return inflight > waits ? inflight - waits : 0;
}

/* Connections are read no more; what has been read is answered, as far as that takes no longer
 * than a commit.  Clients send the rest again to the next server. */
static void drain(struct server *s)
{
	__atomic_store_n(&s->stopping, true, __ATOMIC_RELAXED);
	for (int ms = 0; ms < DRAIN_MS; ms++) {
		if (unanswered(s) == 0)
			return;
		poll(NULL, 0, 1);
	}
	log_info("stopping with %lu requests unanswered; their clients will send them again",
		 (unsigned long)unanswered(s));
}

/* What threads that have ended had still been given: this thread runs it in their place. */
static void sweep(struct server *s)
{
	bool more = true;

	if (!s->loop_count)
		return;
	worker_enter(loop_worker(s->loops[0]));
	while (more) {
		more = s->pool && pool_sweep(s->pool, loop_worker(s->loops[0]));
		for (unsigned i = 0; i < s->loop_count; i++)
			more |= loop_sweep(s->loops[i]);
	}
}

static void stop_threads(struct server *s)
{
	if (s->listener)
		listener_stop(s->listener);
	if (s->admin)
		admin_stop(s->admin);
	if (s->loop_count)
		drain(s);
	if (s->store)
		commit_quiesce(store_committer(s->store));
	for (unsigned i = 0; i < s->loop_count; i++)
		loop_stop(s->loops[i]);
	if (s->pool)
		pool_stop(s->pool);
}

void server_stop(struct server *s)
{
	stop_threads(s);
	sweep(s);
	if (s->volumes && volumes_each(s->volumes, volume_abandon, NULL) != 0)
		log_error("stopping: no memory to let go of who waits for a lock");
	conn_close_all();
	if (s->volumes)
		volumes_close(s->volumes);
	sweep(s);
	worker_enter(NULL);
	for (unsigned i = 0; i < s->loop_count; i++)
		loop_free(s->loops[i]);
	if (s->admin)
		admin_free(s->admin);
	if (s->pool)
		pool_free(s->pool);
	openfile_stop(s->openfile);
	if (s->store)
		store_close(s->store);
	free(s->committer_stats);
	free(s);
}

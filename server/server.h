/* The server as a whole: what a process that serves one store is made of, and how to embed one
 * in a test.  main.c starts the parts in the order of the fields and stops them in reverse. */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

struct admin;
struct listener;
struct loop;
struct openfile;
struct pool;
struct volumes;
struct worker_stats;

enum { LOOPS_MAX = 16 };

struct server_options {
	const char *dir;
	struct store_options store;
	const char *const *listen; /* "unix:PATH", "tcp:ADDR:PORT"; NULL-terminated */
	bool insecure;             /* allow TCP addresses that are not loopback */
	unsigned loops, readers, writers; /* 0: defaults from the number of processors */
	uint64_t session_timeout_ns;      /* 0: default 300 s */
	bool one_queue;            /* for comparison: as servers did before they had a read thread */
};

struct server {
	struct server_options options;
	struct store *store;
	struct openfile *openfile;
	struct pool *pool;
	struct volumes *volumes;
	struct loop *loops[LOOPS_MAX];
	unsigned loop_count;
	struct admin *admin;
	struct listener *listener;
	uint64_t started_ns;
	bool stopping;        /* atomic: connections are read no more */
	struct worker_stats *committer_stats; /* of answers the committer gives itself; its thread */
	uint64_t inflight;    /* atomic: requests of clients not yet answered */
	uint64_t lock_waits;  /* atomic: those of them that wait for a lock */
};

static inline bool server_stopping(const struct server *s)
{
	return __atomic_load_n(&s->stopping, __ATOMIC_RELAXED);
}

/* server_start: on failure *why is a malloc'd sentence.  server_stop: answers what is under way, commits, closes; clients see the
 * connection end and wait for the next server. */
int server_start(const struct server_options *options, struct server **out, char **why);
void server_stop(struct server *s);

/* admin.c: HTTP/JSON.  admin_accept takes over fd, an accepted connection on which a HTTP request
 * is arriving; peer_uid: who is at the other end, UINT32_MAX if it came over TCP.  Only root and
 * the server's own user may change or see anything: others get 403, TCP always. */
int admin_start(struct server *s, struct admin **out);
/* admin_stop: answers what is under way; connections that come later are closed.  admin_free: once
 * nobody can call admin_accept any more. */
void admin_stop(struct admin *a);
void admin_free(struct admin *a);
void admin_accept(struct admin *a, int fd, uint32_t peer_uid);

#endif

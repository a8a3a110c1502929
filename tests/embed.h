/* A whole server inside a test, over a plug (tests/plug.h) and a faulty disk (tests/fault.h). */
#ifndef TESTS_EMBED_H
#define TESTS_EMBED_H

#include "client/kiln.h"
#include "server/server.h"
#include "tests/fault.h"
#include "tests/plug.h"

struct embed {
	char *dir, address[160];  /* address: unix:... */
	const char *listen[2];
	struct plug *plug;
	struct fault_disk *disk;
	struct server *server;
	/* of the next embed_start; 0: default, of loops: two */
	struct commit_options commit;
	unsigned loops;
	uint64_t session_timeout_ns;
};

struct embed *embed_new(void);
void embed_free(struct embed *e); /* stops the server if it runs */
void embed_start(struct embed *e);
void embed_stop(struct embed *e);
/* embed_store: the store alone, while the server does not run; the caller closes it. */
struct store *embed_store(struct embed *e);
/* embed_pull: nothing becomes durable any more.  embed_fail: ... and every sync says so. */
void embed_pull(struct embed *e);
void embed_fail(struct embed *e);
/* embed_cut: the server is stopped, the power gone and back; of the batches those up to index are
 * left, of files' bytes what was synced. */
void embed_cut(struct embed *e, uint64_t index);
/* embed_volume: makes one; durability: DURABILITY_xxx. */
void embed_volume(struct embed *e, const char *name, int durability);
uint32_t embed_brick(struct embed *e, const char *name);
struct kiln *embed_connect(struct embed *e, const char *volume, uint32_t pid);

#endif

#include "server/worker.h"

#include "base/lock.h"
#include "server/server.h"
#include "server/wire.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
	BUFFER_BYTES = (WIRE_MESSAGE_MAX + 4095) & ~4095,
	BUFFERS_KEPT = 8, /* more than a few idle megabytes are given back to the system */
};

static _Thread_local struct worker *self;

static struct {
	pthread_mutex_t mutex; /* a leaf that calls nothing, hence not one of base/lock.h */
	void *kept[BUFFERS_KEPT];
	unsigned count;
} buffers = { .mutex = PTHREAD_MUTEX_INITIALIZER };

void *buffer_get(void)
{
	void *b = NULL;

	pthread_mutex_lock(&buffers.mutex);
	if (buffers.count > 0)
		b = buffers.kept[--buffers.count];
	pthread_mutex_unlock(&buffers.mutex);
	if (b)
		return b;
	b = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return b == MAP_FAILED ? NULL : b;
}

void buffer_put(void *buffer)
{
	bool kept = false;

	if (!buffer)
		return;
	pthread_mutex_lock(&buffers.mutex);
	if (buffers.count < BUFFERS_KEPT) {
		buffers.kept[buffers.count++] = buffer;
		kept = true;
	}
	pthread_mutex_unlock(&buffers.mutex);
	if (!kept)
		munmap(buffer, BUFFER_BYTES);
}

int worker_init(struct worker *w, struct server *server, struct loop *loop)
{
	*w = (struct worker){ .server = server, .loop = loop, .may_block = !loop };
	w->body = buffer_get();
	w->reader = txn_reader_new(server->store);
	if (!w->body || !w->reader) {
		worker_destroy(w);
		return -KILN_ENOMEM;
	}
	txn_may_block(w->reader, w->may_block);
	return 0;
}

void worker_destroy(struct worker *w)
{
	buffer_put(w->body);
	if (w->reader)
		txn_free(w->reader);
	w->body = NULL;
	w->reader = NULL;
}

void worker_enter(struct worker *w)
{
	self = w;
}

struct worker *worker_self(void)
{
	return self;
}

/* A request's life: made by a connection or by the server itself, freed once it is answered. */
#include "server/schedule_inner.h"

#include "server/conn.h"
#include "server/dispatch.h"
#include "server/session.h"
#include "server/wire.h"

#include <stdlib.h>
#include <string.h>

enum { COPY_MAX = 65536 }; /* larger messages are taken over rather than copied */

struct request *request_new(struct volume *v, struct session *s, struct conn *c)
{
	struct request *req = calloc(1, sizeof *req);

	if (!req)
		return NULL;
	req->volume = v;
	req->session = s;
	req->conn = c;
	req->slot = SLOT_NONE;
	if (v)
		volume_get(v);
	if (s)
		session_get(s);
	if (c && s)
		__atomic_add_fetch(&s->server->inflight, 1, __ATOMIC_RELAXED);
	if (c)
		conn_get(c);
	return req;
}

void request_free(struct request *req)
{
	if (req->buffer) {
		if (req->in.len > COPY_MAX)
			buffer_put(req->buffer);
		else
			free(req->buffer);
	}
	if (req->conn && req->session)
		__atomic_sub_fetch(&req->session->server->inflight, 1, __ATOMIC_RELEASE);
	if (req->conn)
		conn_put(req->conn);
	if (req->session)
		session_put(req->session);
	if (req->volume)
		volume_put(req->volume);
	free(req);
}

void *request_body(struct request *req)
{
	return req->worker->body;
}

int request_keep(struct worker *w, struct request *req)
{
	void *from = req->message;

	if (!from)
		return 0;
	if (req->in.len > COPY_MAX && req->may_steal) {
		req->buffer = from;
		w->stolen = true;
	} else {
		req->buffer = req->in.len > COPY_MAX ? buffer_get() : malloc(req->in.len);
		if (!req->buffer)
			return -KILN_ENOMEM;
		if (req->in.len > COPY_MAX)
			conn_owe(req->conn, req, req->in.len);
		memcpy(req->buffer, from, req->in.len);
		wire_rebase(req, from, req->buffer);
	}
	req->message = NULL;
	return 0;
}

void request_reset_reply(struct request *req)
{
	req->out_len = 0;
	req->body = NULL;
	req->body_len = 0;
}

struct request *request_internal(struct volume *v, const struct op *op, uint64_t nodeid)
{
	struct request *req = request_new(v, NULL, NULL);

	if (!req)
		return NULL;
	req->op = op;
	req->in.nodeid = nodeid;
	req->no_reply = true;
	return req;
}

void request_undo_open(struct request *req)
{
	if (req->opened)
		open_drop(req->session, req->opened);
	req->opened = 0;
}

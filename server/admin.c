/* Administration: HTTP and JSON on connections that the listener has found to be HTTP.
 *
 * One thread of libmicrohttpd does all of it, so commands never run at once and a slow one
 * (a commit) delays only other administrators.  The walk: admin_accept hands the connection
 * over with its peer's uid; on_request refuses strangers, collects the body (bounded), and
 * hands it to route_request; a route's function fills an answer; send_answer writes it.
 *
 * docs/admin-api.md describes the requests. */
#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/lock.h"
#include "base/log.h"
#include "server/server.h"
#include "server/status.h"
#include "server/volume_json.h"
#include "server/volumes.h"

enum {
	BODY_MAX = 64 * 1024,
	CONNECTIONS_MAX = 64,
	STRANGERS_MAX = 16, /* of those; who may not administer cannot keep out who may */
	CONNECTION_MEMORY = 32 * 1024, /* headers included */
	TIMEOUT_S = 30,
	WHY_MAX = 512,
	TOP_DEFAULT = 20,
	TOP_MAX = 100000,
};
#define VOLUME_PATH "/v1/volumes/"

struct admin {
	struct server *server;
	struct lock lock;
	struct MHD_Daemon *daemon; /* [lock] NULL once it stops; MHD's own calls take no lock of ours */
	unsigned strangers;        /* [atomic] connections of users who may not administer */
};

/* What MHD keeps as the connection's address: it only copies it, we read it back. */
struct peer {
	sa_family_t family;
	uint32_t uid;
};

/* One request, from its headers to its answer; owned by the admin thread. */
struct call {
	struct server *server;
	struct MHD_Connection *connection;
	char *body;
	size_t len;
	bool too_large;
	unsigned status; /* the answer: an HTTP status and one of json, text */
	json_t *json;
	char *text;
};

/* --- answers ------------------------------------------------------------------------- */

static unsigned status_of(int err)
{
	switch (err_errno(err)) {
	case ENOENT:
		return MHD_HTTP_NOT_FOUND;
	case EEXIST:
	case EBUSY:
		return MHD_HTTP_CONFLICT;
	case EINVAL:
	case ERANGE:
		return MHD_HTTP_BAD_REQUEST;
	case EPERM:
	case EACCES:
		return MHD_HTTP_FORBIDDEN;
	case E2BIG:
		return MHD_HTTP_CONTENT_TOO_LARGE;
	case ENOSPC:
		return MHD_HTTP_INSUFFICIENT_STORAGE;
	case ESHUTDOWN:
		return MHD_HTTP_SERVICE_UNAVAILABLE;
	default:
		return MHD_HTTP_INTERNAL_SERVER_ERROR;
	}
}

static void answer_error(struct call *c, unsigned status, int err, const char *why)
{
	c->status = status;
	c->json = json_pack("{s:{s:s, s:s}}", "error", "code", err_name(err), "text", why);
}

static void answer_err(struct call *c, int err)
{
	answer_error(c, status_of(err), err, err_text(err));
}

/* answer_volume_err: the sentence names the volume. */
static void answer_volume_err(struct call *c, const char *name, int err)
{
	char why[WHY_MAX];

	snprintf(why, sizeof why, "volume '%.128s': %s", name, err_text(err));
	answer_error(c, status_of(err), err, why);
}

static void answer_json(struct call *c, unsigned status, json_t *json)
{
	if (!json)
		answer_err(c, -KILN_ENOMEM);
	else
		*c = (struct call){ c->server, c->connection, c->body, c->len, c->too_large, status,
				    json, NULL };
}

static enum MHD_Result send_answer(struct call *c)
{
	static char empty[] = "{}\n";
	char *text = c->json ? json_dumps(c->json, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : c->text;
	struct MHD_Response *response;
	enum MHD_Result result;

	c->text = NULL;
	if (text)
		response = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
	else
		response = MHD_create_response_from_buffer(strlen(empty), empty,
							   MHD_RESPMEM_PERSISTENT);
	if (!response) {
		free(text);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
				c->json || !text ? "application/json" : "text/plain; version=0.0.4");
	result = MHD_queue_response(c->connection, c->status, response);
	MHD_destroy_response(response);
	return result;
}

/* --- arguments ----------------------------------------------------------------------- */

struct query {
	const char *key, *value; /* the one argument allowed, and what it says; NULL: not given */
	bool unknown;
};

static enum MHD_Result see_argument(void *context, enum MHD_ValueKind kind, const char *key,
				    const char *value)
{
	struct query *q = context;

	if (q->key && !strcmp(key, q->key) && value)
		q->value = value;
	else
		q->unknown = true;
	return MHD_YES;
}

/* argument: false, and answered, if there is any argument but `key` (NULL: none at all). */
static bool argument(struct call *c, const char *key, const char **value)
{
	struct query q = { .key = key };
	char why[WHY_MAX];

	MHD_get_connection_values(c->connection, MHD_GET_ARGUMENT_KIND, see_argument, &q);
	*value = q.value;
	if (!q.unknown)
		return true;
	snprintf(why, sizeof why, key ? "the only argument of this request is '%s'"
				      : "this request takes no argument", key);
	answer_error(c, MHD_HTTP_BAD_REQUEST, -KILN_EINVAL, why);
	return false;
}

/* --- routes -------------------------------------------------------------------------- */

static void get_status(struct call *c, const char *name)
{
	unsigned long top = TOP_DEFAULT;
	const char *value;
	char *end = NULL;

	if (!argument(c, "top", &value))
		return;
	if (value)
		top = strtoul(value, &end, 10);
	if (value && (*value < '0' || *value > '9' || *end || top > TOP_MAX))
		answer_error(c, MHD_HTTP_BAD_REQUEST, -KILN_EINVAL,
			     "'top' is a number from 0 to 100000");
	else
		answer_json(c, MHD_HTTP_OK, status_fill(c->server, top));
}

static void get_metrics(struct call *c, const char *name)
{
	const char *value;

	if (!argument(c, NULL, &value))
		return;
	c->text = status_metrics(c->server);
	c->status = MHD_HTTP_OK;
	if (!c->text)
		answer_err(c, -KILN_ENOMEM);
}

static json_t *volume_json(struct volume *v, bool clients)
{
	struct volume_record r;
	struct volume_info info;
	json_t *j;
	int err;

	volume_record(v, &r);
	err = volume_info(v, &info);
	j = volume_json_write(&r, err ? NULL : &info);
	if (j && clients)
		json_object_set_new(j, "sessions", volume_json_clients(v, 0));
	return j;
}

static void add_volume(void *context, struct volume *v)
{
	json_array_append_new(context, volume_json(v, false));
}

static void get_volumes(struct call *c, const char *name)
{
	json_t *list;
	const char *value;
	int err;

	if (!argument(c, NULL, &value))
		return;
	list = json_array();
	err = list ? volumes_each(c->server->volumes, add_volume, list) : -KILN_ENOMEM;
	if (err) {
		json_decref(list);
		answer_err(c, err);
	} else {
		answer_json(c, MHD_HTTP_OK, json_pack("{s:o}", "volumes", list));
	}
}

static void answer_volume(struct call *c, unsigned status, const char *name, bool clients)
{
	struct volume *v;
	int err = volumes_find(c->server->volumes, name, &v);

	if (err) {
		answer_volume_err(c, name, err);
		return;
	}
	answer_json(c, status, volume_json(v, clients));
	volumes_put(c->server->volumes, v);
}

static void get_volume(struct call *c, const char *name)
{
	const char *value;

	if (argument(c, NULL, &value))
		answer_volume(c, MHD_HTTP_OK, name, true);
}

/* read_body: the body's members into *r; false, and answered, if something is wrong. */
static bool read_body(struct call *c, bool rename, struct volume_record *r)
{
	char why[WHY_MAX];
	json_error_t error;
	json_t *body;
	int err;

	body = json_loadb(c->len ? c->body : "{}", c->len ? c->len : 2, JSON_REJECT_DUPLICATES,
			  &error);
	if (!body) {
		snprintf(why, sizeof why, "the body is not JSON: %s (line %d)", error.text,
			 error.line);
		answer_error(c, MHD_HTTP_BAD_REQUEST, -KILN_EINVAL, why);
		return false;
	}
	err = volume_json_read(body, rename, r, why, sizeof why);
	json_decref(body);
	if (err)
		answer_error(c, MHD_HTTP_BAD_REQUEST, err, why);
	return !err;
}

static void put_volume(struct call *c, const char *name)
{
	struct volume_record r = { 0 };
	const char *value;
	int err;

	if (!argument(c, NULL, &value) || !read_body(c, false, &r))
		return;
	if (address_volume_check(name)) {
		answer_volume_err(c, name, -KILN_EVOLNAME);
		return;
	}
	memcpy(r.name, name, strlen(name));
	err = volumes_create(c->server->volumes, &r);
	if (err)
		answer_volume_err(c, name, err);
	else
		answer_volume(c, MHD_HTTP_CREATED, name, false);
}

static void patch_volume(struct call *c, const char *name)
{
	struct volume_record r;
	struct volume *v;
	const char *value;
	int err;

	if (!argument(c, NULL, &value))
		return;
	err = volumes_find(c->server->volumes, name, &v);
	if (err) {
		answer_volume_err(c, name, err);
		return;
	}
	volume_record(v, &r);
	if (read_body(c, true, &r)) {
		err = volumes_set(c->server->volumes, name, &r);
		if (err) /* the new name may be what is wrong */
			answer_volume_err(c, r.name, err);
		else
			answer_json(c, MHD_HTTP_OK, volume_json(v, false));
	}
	volumes_put(c->server->volumes, v);
}

static void delete_volume(struct call *c, const char *name)
{
	const char *value;
	int err;

	if (!argument(c, "force", &value))
		return;
	if (value && strcmp(value, "true") && strcmp(value, "false")) {
		answer_error(c, MHD_HTTP_BAD_REQUEST, -KILN_EINVAL, "'force' is true or false");
		return;
	}
	err = volumes_delete(c->server->volumes, name, value && !strcmp(value, "true"));
	if (err)
		answer_volume_err(c, name, err);
	else
		answer_json(c, MHD_HTTP_OK, json_object());
}

static const struct route {
	const char *method, *path; /* a path that ends with '/' is followed by a volume's name */
	void (*run)(struct call *c, const char *name);
} routes[] = {
	{ "GET", "/v1/status", get_status },
	{ "GET", "/metrics", get_metrics },
	{ "GET", "/v1/volumes", get_volumes },
	{ "GET", VOLUME_PATH, get_volume },
	{ "PUT", VOLUME_PATH, put_volume },
	{ "PATCH", VOLUME_PATH, patch_volume },
	{ "DELETE", VOLUME_PATH, delete_volume },
};

/* path_name: the name behind the route's path ("" if it takes none), NULL if it is another's. */
static const char *path_name(const struct route *r, const char *url)
{
	size_t len = strlen(r->path);

	if (r->path[len - 1] != '/')
		return strcmp(url, r->path) ? NULL : "";
	return !strncmp(url, r->path, len) && url[len] ? url + len : NULL;
}

static void route_request(struct call *c, const char *method, const char *url)
{
	bool path_known = false;

	for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
		const char *name = path_name(&routes[i], url);

		path_known |= name != NULL;
		if (name && !strcmp(method, routes[i].method)) {
			routes[i].run(c, name);
			return;
		}
	}
	if (path_known)
		answer_error(c, MHD_HTTP_METHOD_NOT_ALLOWED, -KILN_ENOTSUP,
			     "this path does not take that method");
	else
		answer_error(c, MHD_HTTP_NOT_FOUND, -KILN_ENOENT, "no such path; see /v1/status, "
								  "/v1/volumes, /metrics");
}

/* --- requests ------------------------------------------------------------------------ */

static uint32_t peer_uid(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	struct peer peer;

	if (!info || !info->client_addr)
		return UINT32_MAX;
	memcpy(&peer, info->client_addr, sizeof peer);
	return peer.uid;
}

static bool may_administer(uint32_t uid)
{
	return uid == 0 || uid == geteuid();
}

/* collect: more of the body; what exceeds the limit is dropped, the answer will say so. */
static void collect(struct call *c, const char *bytes, size_t len)
{
	char *body;

	if (c->too_large || len > BODY_MAX - c->len) {
		c->too_large = true;
		return;
	}
	body = realloc(c->body, c->len + len);
	if (!body) {
		c->too_large = true;
		return;
	}
	memcpy(body + c->len, bytes, len);
	c->body = body;
	c->len += len;
}

/* begin: a request's headers are there. */
static enum MHD_Result begin(struct admin *a, struct MHD_Connection *connection, void **state)
{
	uint32_t uid = peer_uid(connection);
	struct call *c = calloc(1, sizeof *c);

	if (!c)
		return MHD_NO;
	*state = c;
	c->server = a->server;
	c->connection = connection;
	if (may_administer(uid))
		return MHD_YES;
	log_debug(admin, "refused uid %u", uid);
	answer_error(c, MHD_HTTP_FORBIDDEN, -KILN_EPERM,
		     uid == UINT32_MAX
			     ? "no permission: a server is administered over its Unix socket only"
			     : "no permission: only root and the user who runs the server may "
			       "administer it");
	return send_answer(c);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
				  const char *url, const char *method, const char *version,
				  const char *upload, size_t *upload_len, void **state)
{
	struct call *c = *state;

	if (!c)
		return begin(context, connection, state);
	if (*upload_len) {
		collect(c, upload, *upload_len);
		*upload_len = 0;
		return MHD_YES;
	}
	log_debug(admin, "%s %s", method, url);
	if (c->too_large)
		answer_err(c, -KILN_ETOOBIG);
	else
		route_request(c, method, url);
	return send_answer(c);
}

static void on_end(void *context, struct MHD_Connection *connection, void **state,
		   enum MHD_RequestTerminationCode why)
{
	struct call *c = *state;

	if (!c)
		return;
	json_decref(c->json);
	free(c->text);
	free(c->body);
	free(c);
	*state = NULL;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **state,
			  enum MHD_ConnectionNotificationCode code)
{
	struct admin *a = context;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED && !may_administer(peer_uid(connection)))
		__atomic_sub_fetch(&a->strangers, 1, __ATOMIC_RELAXED);
}

/* on_unescape: a NUL would cut a name short unseen; left as %00 it is refused as a name. */
static size_t on_unescape(void *context, struct MHD_Connection *connection, char *text)
{
	return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}

int admin_start(struct server *s, struct admin **out)
{
	enum {
		FLAGS = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_NO_LISTEN_SOCKET |
			MHD_USE_ITC,
	};
	struct MHD_OptionItem limits[] = {
		{ MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, NULL },
		{ MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S, NULL },
		{ MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, NULL },
		{ MHD_OPTION_END, 0, NULL },
	};
	struct admin *a = calloc(1, sizeof *a);

	if (!a)
		return -KILN_ENOMEM;
	a->server = s;
	lock_init(&a->lock, LOCK_RANK_LEAF, "admin");
	errno = 0;
	/* no MHD_USE_ERROR_LOG: it says of every answer that a Unix socket has no TCP options */
	a->daemon = MHD_start_daemon(FLAGS, 0, NULL, NULL, on_request, a,
				     MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL,
				     MHD_OPTION_NOTIFY_CONNECTION, on_connection, a,
				     MHD_OPTION_UNESCAPE_CALLBACK, on_unescape, NULL,
				     MHD_OPTION_ARRAY, limits, MHD_OPTION_END);
	if (!a->daemon) { /* made of a few descriptors and a thread */
		int err = errno && errno != EAGAIN ? err_from_errno(errno) : -KILN_ENOTHREAD;

		admin_free(a);
		return err;
	}
	*out = a;
	return 0;
}

void admin_stop(struct admin *a)
{
	struct MHD_Daemon *daemon;

	lock_take(&a->lock);
	daemon = a->daemon;
	a->daemon = NULL;
	lock_give(&a->lock);
	MHD_stop_daemon(daemon);
}

void admin_free(struct admin *a)
{
	lock_destroy(&a->lock);
	free(a);
}

/* stranger_admit: counts it, unless there are enough of them.  (Where MHD is full it may drop a
 * connection without a word: strangers then have a place less.) */
static bool stranger_admit(struct admin *a)
{
	if (__atomic_add_fetch(&a->strangers, 1, __ATOMIC_RELAXED) <= STRANGERS_MAX)
		return true;
	__atomic_sub_fetch(&a->strangers, 1, __ATOMIC_RELAXED);
	return false;
}

void admin_accept(struct admin *a, int fd, uint32_t uid)
{
	struct sockaddr_storage address = { 0 };
	struct peer peer = { AF_UNSPEC, uid };
	bool stranger = !may_administer(uid);

	memcpy(&address, &peer, sizeof peer);
	lock_guard(&a->lock); /* across a system call: it only adds to a list and wakes a thread */
	if (!a->daemon || (stranger && !stranger_admit(a))) {
		close(fd);
		return;
	}
	if (MHD_add_connection(a->daemon, fd, (struct sockaddr *)&address, sizeof address) == MHD_YES)
		return;
	log_warn("administration: a connection was turned away: too many at once");
	if (stranger)
		__atomic_sub_fetch(&a->strangers, 1, __ATOMIC_RELAXED);
}

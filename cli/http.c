#include "cli/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum { ANSWER_MAX = 256 << 20, CONNECT_TIMEOUT_S = 10, TIMEOUT_S = 120 };

struct answer {
	char *text;
	size_t len;
};

static size_t on_bytes(char *bytes, size_t size, size_t count, void *context)
{
	struct answer *a = context;
	size_t len = size * count;
	char *text;

	if (len > ANSWER_MAX - a->len)
		return 0;
	text = realloc(a->text, a->len + len);
	if (!text)
		return 0;
	memcpy(text + a->len, bytes, len);
	a->text = text;
	a->len += len;
	return len;
}

static CURL *new_request(const struct address *server, const char *method, const char *path,
			 struct answer *answer)
{
	CURL *curl = curl_easy_init();
	char url[1024];

	if (!curl)
		cli_die(CLI_FAILED, "%s", err_text(-KILN_ENOMEM));
	snprintf(url, sizeof url, "http://kiln%s", path);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, server->path);
	curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_TIMEOUT_S);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)TIMEOUT_S);
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	return curl;
}

/* die_unreached: there was no answer at all; eno: connect(2)'s, or 0. */
static void __attribute__((noreturn)) die_unreached(CURLcode code, int eno,
						    const struct address *server)
{
	char text[ADDRESS_TEXT];

	address_text(server, text);
	if (code != CURLE_COULDNT_CONNECT)
		cli_die(CLI_NO_SERVER, "the server at %s gave no answer: %s", text,
			curl_easy_strerror(code));
	if (eno == EACCES || eno == EPERM)
		cli_die(CLI_NO_PERMISSION, "no permission to use the server's socket %s; run this "
			"as root or as the server's user", server->path);
	cli_die(CLI_NO_SERVER, "no server at %s (%s); start one with 'kiln serve DIR', or name "
		"another with --server or KILN_SERVER", text,
		eno ? strerror(eno) : curl_easy_strerror(code));
}

static enum cli_exit exit_of_name(const char *name)
{
	for (int code = 1; name && code < KILN_ERR_COUNT; code++)
		if (!strcmp(err_name(code), name))
			return cli_exit_of(code);
	return CLI_FAILED;
}

/* die_refused: the server said no; its own sentence is the best there is. */
static void __attribute__((noreturn)) die_refused(long status, json_t *json)
{
	const json_t *error = json_object_get(json, "error");
	const char *text = json_string_value(json_object_get(error, "text"));
	enum cli_exit code = exit_of_name(json_string_value(json_object_get(error, "code")));
	char said[1024];

	snprintf(said, sizeof said, "%s", text ? text : "");
	json_decref(json);
	if (!*said)
		cli_die(CLI_FAILED, "the server answered with HTTP status %ld", status);
	cli_die(code, "%s", said);
}

/* perform: one exchange; *status is the answer's.  Takes body over. */
static void perform(const struct address *server, const char *method, const char *path,
		    json_t *body, struct answer *answer, long *status)
{
	char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	CURL *curl = new_request(server, method, path, answer);
	CURLcode code = CURLE_OUT_OF_MEMORY;
	long eno = 0;

	if (text)
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, text);
	if (text || !body)
		code = curl_easy_perform(curl);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, status);
	curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &eno);
	curl_easy_cleanup(curl);
	json_decref(body);
	free(text);
	if (code)
		die_unreached(code, (int)eno, server);
}

json_t *http_call(const struct address *server, const char *method, const char *path,
		  json_t *body)
{
	struct answer answer = { 0 };
	long status = 0;
	json_t *json;

	if (server->kind != ADDRESS_UNIX)
		cli_die(CLI_USAGE, "a server is administered over its Unix socket only: name it with "
			"--server unix:PATH");
	perform(server, method, path, body, &answer, &status);
	json = json_loadb(answer.text ? answer.text : "", answer.len, 0, NULL);
	free(answer.text);
	if (status / 100 != 2)
		die_refused(status, json);
	if (!json_is_object(json))
		cli_die(CLI_FAILED, "the server at %s does not answer as a kiln server does",
			server->path);
	return json;
}

char *http_volume_path(const char *name)
{
	char *escaped = curl_easy_escape(NULL, name, (int)strlen(name)), *path;

	if (!*name)
		cli_die(CLI_USAGE, "%s", err_text(-KILN_EVOLNAME));
	if (!escaped || asprintf(&path, "/v1/volumes/%s", escaped) < 0)
		cli_die(CLI_FAILED, "%s", err_text(-KILN_ENOMEM));
	curl_free(escaped);
	return path;
}

const char *http_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "?";
}

uint64_t http_number(const json_t *object, const char *name)
{
	json_int_t n = json_integer_value(json_object_get(object, name));

	return n > 0 ? (uint64_t)n : 0;
}

double http_real(const json_t *object, const char *name)
{
	return json_number_value(json_object_get(object, name));
}

bool http_flag(const json_t *object, const char *name)
{
	return json_is_true(json_object_get(object, name));
}

void http_print(const json_t *json)
{
	if (json_dumpf(json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9)))
		cli_die(CLI_FAILED, "cannot write the answer: %s", strerror(errno));
	putchar('\n');
}

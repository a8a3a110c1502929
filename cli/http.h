/* Talking to the server's administration: one request, one JSON answer. */
#ifndef CLI_HTTP_H
#define CLI_HTTP_H

#include <jansson.h>

#include "cli/cli.h"

/* http_call: METHOD on path.  body: NULL or an object, which is taken over.  Returns the answer's
 * object, for the caller to json_decref; in any other case says what is wrong and what to do,
 * and exits with the code that fits. */
json_t *http_call(const struct address *server, const char *method, const char *path,
		  json_t *body);
/* http_volume_path: "/v1/volumes/NAME", malloc'd. */
char *http_volume_path(const char *name);

/* Members of an answer; a missing or wrong one reads as "?", 0, false, an empty list. */
const char *http_text(const json_t *object, const char *name);
uint64_t http_number(const json_t *object, const char *name);
double http_real(const json_t *object, const char *name);
bool http_flag(const json_t *object, const char *name);

/* http_print: as indented JSON on standard output. */
void http_print(const json_t *json);

#endif

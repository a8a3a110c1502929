/* Volumes as JSON: what the administration sends and takes (docs/admin-api.md). */
#ifndef SERVER_VOLUME_JSON_H
#define SERVER_VOLUME_JSON_H

#include <jansson.h>

#include "server/volume.h"

/* volume_json_read: applies an object's members to *r.  Every member is checked for its name,
 * type and range; -KILN_EINVAL or -KILN_EVOLNAME with a sentence in why (cap bytes), and *r is
 * then half changed.  rename: "name" is allowed. */
int volume_json_read(json_t *body, bool rename, struct volume_record *r, char *why, size_t cap);
/* volume_json_write: a new object; info may be NULL.  NULL when out of memory. */
json_t *volume_json_write(const struct volume_record *r, const struct volume_info *info);
/* volume_json_text: a new string; text that is not UTF-8 (a client's own word, a path) gets '?' for
 * every byte outside printable ASCII. */
json_t *volume_json_text(const char *text);
/* volume_json_clients: a new array of the volume's sessions, at most max (0: all). */
json_t *volume_json_clients(struct volume *v, size_t max);

#endif

#include "server/volume_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/address.h"
#include "base/hello.h"

struct into {
	struct volume_record *record;
	char *why;
	size_t cap;
};

/* A member: its name, and the function that takes its value. */
struct member {
	const char *name;
	int (*read)(const struct into *t, const json_t *value);
};

static int read_name(const struct into *t, const json_t *value)
{
	const char *name = json_string_value(value);

	if (name && !address_volume_check(name)) {
		memset(t->record->name, 0, sizeof t->record->name);
		memcpy(t->record->name, name, strlen(name));
		return 0;
	}
	snprintf(t->why, t->cap, "volume '%.128s': %s", name ? name : "?",
		 err_text(-KILN_EVOLNAME));
	return -KILN_EVOLNAME;
}

/* read_choice: one of two words, the first being 0. */
static int read_choice(const struct into *t, const json_t *value, const char *name,
		       const char *const words[2], uint8_t *out)
{
	const char *word = json_string_value(value);

	for (uint8_t i = 0; i < 2; i++) {
		if (word && !strcmp(word, words[i])) {
			*out = i;
			return 0;
		}
	}
	snprintf(t->why, t->cap, "'%s' must be \"%s\" or \"%s\"", name, words[0], words[1]);
	return -KILN_EINVAL;
}

static const char *const durability_words[2] = {
	[DURABILITY_FSYNC] = "fsync",
	[DURABILITY_OP] = "op",
};
static const char *const cache_words[2] = {
	[CACHE_TTL] = "ttl",
	[CACHE_NONE] = "none",
};

static int read_durability(const struct into *t, const json_t *value)
{
	return read_choice(t, value, "durability", durability_words, &t->record->durability);
}

static int read_cache(const struct into *t, const json_t *value)
{
	return read_choice(t, value, "cache", cache_words, &t->record->cache);
}

static int read_read_only(const struct into *t, const json_t *value)
{
	if (json_is_boolean(value)) {
		t->record->read_only = json_is_true(value);
		return 0;
	}
	snprintf(t->why, t->cap, "'read_only' must be true or false");
	return -KILN_EINVAL;
}

static int read_amount(const struct into *t, const json_t *value, const char *name,
		       uint64_t *out)
{
	json_int_t n = json_integer_value(value);

	if (json_is_integer(value) && n >= 0) {
		*out = (uint64_t)n;
		return 0;
	}
	snprintf(t->why, t->cap, "'%s' must be a whole number from 0 (no limit) to 2^63 - 1", name);
	return -KILN_EINVAL;
}

static int read_quota_bytes(const struct into *t, const json_t *value)
{
	return read_amount(t, value, "quota_bytes", &t->record->quota_bytes);
}

static int read_quota_inodes(const struct into *t, const json_t *value)
{
	return read_amount(t, value, "quota_inodes", &t->record->quota_inodes);
}

static const struct member members[] = {
	{ "durability", read_durability },
	{ "cache", read_cache },
	{ "read_only", read_read_only },
	{ "quota_bytes", read_quota_bytes },
	{ "quota_inodes", read_quota_inodes },
	{ "name", read_name }, /* last: only where renaming is allowed */
};
enum { MEMBERS = sizeof members / sizeof *members };

static int read_member(const struct into *t, const char *key, const json_t *value, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(members[i].name, key))
			return members[i].read(t, value);
	snprintf(t->why, t->cap, "no field '%.64s'; the fields are durability, cache, read_only, "
		 "quota_bytes, quota_inodes%s", key, count == MEMBERS ? ", name" : "");
	return -KILN_EINVAL;
}

int volume_json_read(json_t *body, bool rename, struct volume_record *r, char *why, size_t cap)
{
	struct into t = { r, why, cap };
	const char *key;
	json_t *value;
	int err = 0;

	if (!json_is_object(body)) {
		snprintf(why, cap, "the body must be a JSON object");
		return -KILN_EINVAL;
	}
	json_object_foreach (body, key, value) {
		err = read_member(&t, key, value, rename ? MEMBERS : MEMBERS - 1);
		if (err)
			break;
	}
	return err;
}

static void print_uuid(char out[37], const uint8_t uuid[16])
{
	char *at = out;

	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*at++ = '-';
		at += sprintf(at, "%02x", uuid[i]);
	}
}

json_t *volume_json_write(const struct volume_record *r, const struct volume_info *info)
{
	char uuid[37];
	json_t *use;

	print_uuid(uuid, r->uuid);
	json_t *j = json_pack("{s:s, s:s, s:I, s:s, s:s, s:b, s:I, s:I}", "name", r->name, "uuid",
			      uuid, "created", (json_int_t)r->created, "durability",
			      durability_words[r->durability == DURABILITY_OP], "cache",
			      cache_words[r->cache == CACHE_NONE], "read_only", r->read_only != 0,
			      "quota_bytes", (json_int_t)r->quota_bytes, "quota_inodes",
			      (json_int_t)r->quota_inodes);
	if (!j || !info)
		return j;
	use = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "used_bytes",
			(json_int_t)info->blocks * 512, "used_inodes", (json_int_t)info->inodes,
			"clients", (json_int_t)info->sessions, "opens", (json_int_t)info->opens,
			"orphans", (json_int_t)info->orphans, "reads", (json_int_t)info->reads,
			"changes", (json_int_t)info->changes);
	if (!use || json_object_update(j, use)) {
		json_decref(j);
		j = NULL;
	}
	json_decref(use);
	return j;
}

json_t *volume_json_text(const char *text)
{
	json_t *j = json_string(text);
	char *plain = j ? NULL : strdup(text);

	if (!plain)
		return j;
	for (char *at = plain; *at; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
	j = json_string(plain);
	free(plain);
	return j;
}

struct clients {
	json_t *array;
	size_t max;
};

static const char *kind_word(unsigned kind)
{
	return kind == HELLO_FUSE_FD ? "mount" : kind == HELLO_RELAY ? "relayed mount" : "library";
}

static void add_client(void *context, const struct session_info *s)
{
	struct clients *c = context;
	char id[17];

	if (c->max && json_array_size(c->array) >= c->max)
		return;
	snprintf(id, sizeof id, "%016" PRIx64, s->client);
	json_array_append_new(c->array, json_pack("{s:s, s:o, s:s, s:b, s:f, s:I}", "client", id,
						  "host", volume_json_text(s->host), "kind", kind_word(s->kind),
						  "connected", (int)s->connected, "away_s",
						  (double)s->away_ns / 1e9, "opens",
						  (json_int_t)s->opens));
}

json_t *volume_json_clients(struct volume *v, size_t max)
{
	struct clients c = { json_array(), max };

	if (c.array)
		volume_each_session(v, add_client, &c);
	return c.array;
}

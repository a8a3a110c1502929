#include "bench/profile.h"

#include "base/err.h"
#include "bench/shape.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHY = 256 };
enum param_type { COUNT, SIZE, FLAG };

struct param {
	const char *name;
	size_t offset;
	enum param_type type;
	uint64_t initial, min, max;
	const char *unit, *text;
};

static const struct param role_params[] = {
#define X(field, type, initial, min, max, unit, text) \
	{ #field, offsetof(struct role, field), type, initial, min, max, unit, text },
	ROLE_PARAMS(X)
#undef X
};

static const struct param test_params[] = {
#define X(field, type, initial, min, max, unit, text) \
	{ #field, offsetof(struct test, field), type, initial, min, max, unit, text },
	TEST_PARAMS(X)
#undef X
};

#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

/* What the parser carries from line to line. */
struct parser {
	struct profile *p;
	struct test suite; /* defaults of the suite at hand, roles[0] those of its roles */
	struct test *test; /* the test at hand, or NULL */
	bool explicit_roles;
	int line;
	char *why;
};

static uint64_t *field(void *base, const struct param *param)
{
	return (uint64_t *)(void *)((char *)base + param->offset);
}

static int fail(struct parser *ps, const char *what, const char *word)
{
	snprintf(ps->why, WHY, "%s, line %d: %s%s%s%s", ps->p->name, ps->line, what,
		 *word ? " '" : "", word, *word ? "'" : "");
	return -KILN_EINVAL;
}

static const struct param *find_param(const struct param *table, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	return NULL;
}

static void set_defaults(void *base, const struct param *table, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*field(base, &table[i]) = table[i].initial;
}

/* 16k, 4M, 1G, or a plain number; false if it is none. */
static bool parse_number(const char *text, uint64_t *out)
{
	static const char units[] = "kmgt";
	char *end;
	const char *unit;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*out = strtoull(text, &end, 10);
	if (errno || !*end)
		return errno == 0;
	unit = strchr(units, tolower((unsigned char)*end));
	if (!unit || end[1])
		return false;
	*out <<= 10 * (unsigned)(unit - units + 1);
	return true;
}

static bool parse_flag(const char *text, uint64_t *out)
{
	*out = strcmp(text, "yes") == 0;
	return *out || strcmp(text, "no") == 0;
}

static int set_param(struct parser *ps, void *base, const struct param *param, const char *value)
{
	uint64_t v;
	bool good = param->type == FLAG ? parse_flag(value, &v) : parse_number(value, &v);

	if (!good)
		return fail(ps, param->type == FLAG ? "not yes or no:" : "not a number:", value);
	if (v < param->min || v > param->max)
		return fail(ps, "value out of range for", param->name);
	*field(base, param) = v;
	return 0;
}

/* "create:3,lookup" */
static int set_mix(struct parser *ps, struct role *role, char *value)
{
	char *save = NULL;

	role->n_mix = 0;
	for (char *item = strtok_r(value, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		char *colon = strchr(item, ':');
		uint64_t weight = 1;

		if (colon)
			*colon = 0;
		if (role->n_mix == MIX_MAX)
			return fail(ps, "too many shapes in a mix", "");
		if (colon && (!parse_number(colon + 1, &weight) || weight < 1 || weight > 1000))
			return fail(ps, "a weight is 1 to 1000, not", colon + 1);
		role->mix[role->n_mix].shape = shape_find(item);
		if (!role->mix[role->n_mix].shape)
			return fail(ps, "no such shape:", item);
		role->mix[role->n_mix++].weight = (unsigned)weight;
	}
	return role->n_mix ? 0 : fail(ps, "an empty mix", "");
}

static int set_word(struct parser *ps, struct test *test, struct role *role, char *word)
{
	char *value = strchr(word, '=');
	const struct param *param;

	if (!value)
		return fail(ps, "expected PARAM=VALUE, not", word);
	*value++ = 0;
	if (strcmp(word, "shape") == 0)
		return set_mix(ps, role, value);
	if (strcmp(word, "set") == 0) {
		snprintf(role->set, sizeof role->set, "%s", value);
		return 0;
	}
	param = find_param(role_params, N_OF(role_params), word);
	if (param)
		return set_param(ps, role, param, value);
	param = test ? find_param(test_params, N_OF(test_params), word) : NULL;
	if (param)
		return set_param(ps, test, param, value);
	return fail(ps, "no such parameter:", word);
}

static int set_words(struct parser *ps, struct test *test, struct role *role, char **save)
{
	char *word;
	int rc = 0;

	while (rc == 0 && (word = strtok_r(NULL, " \t", save)))
		rc = set_word(ps, test, role, word);
	return rc;
}

static bool name_ok(const char *name)
{
	return name && *name && strlen(name) < PROFILE_NAME &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
		       strlen(name);
}

/* The test at hand is complete: is there something to run in every role? */
static int end_test(struct parser *ps)
{
	for (unsigned i = 0; ps->test && i < ps->test->n_roles; i++) {
		struct role *role = &ps->test->roles[i];

		if (!role->n_mix)
			return fail(ps, "no shape= for test", ps->test->name);
		role->block = (role->block + 4095) & ~4095ull;
	}
	return 0;
}

static int on_suite(struct parser *ps, char **save)
{
	const char *name = strtok_r(NULL, " \t", save);

	if (!name_ok(name))
		return fail(ps, "not a suite's name:", name ? name : "");
	memset(&ps->suite, 0, sizeof ps->suite);
	set_defaults(&ps->suite, test_params, N_OF(test_params));
	set_defaults(&ps->suite.roles[0], role_params, N_OF(role_params));
	snprintf(ps->suite.suite, PROFILE_NAME, "%s", name);
	ps->test = NULL;
	return set_words(ps, &ps->suite, &ps->suite.roles[0], save);
}

static int on_test(struct parser *ps, char **save)
{
	const char *name = strtok_r(NULL, " \t", save);
	struct test *grown;

	if (!ps->suite.suite[0])
		return fail(ps, "a test before the first suite", "");
	if (!name_ok(name))
		return fail(ps, "not a test's name:", name ? name : "");
	grown = realloc(ps->p->tests, (ps->p->n_tests + 1) * sizeof *grown);
	if (!grown)
		return -KILN_ENOMEM;
	ps->p->tests = grown;
	ps->test = &grown[ps->p->n_tests++];
	*ps->test = ps->suite;
	snprintf(ps->test->name, PROFILE_NAME, "%s", name);
	snprintf(ps->test->roles[0].name, PROFILE_NAME, "%s", name);
	ps->test->n_roles = 1;
	ps->explicit_roles = false;
	return set_words(ps, ps->test, &ps->test->roles[0], save);
}

/* The first role line replaces the implied role but keeps what the test line said. */
static int on_role(struct parser *ps, char **save)
{
	const char *name = strtok_r(NULL, " \t", save);
	struct role *role;

	if (!ps->test)
		return fail(ps, "a role before the first test", "");
	if (!name_ok(name))
		return fail(ps, "not a role's name:", name ? name : "");
	if (ps->explicit_roles && ps->test->n_roles == ROLES_MAX)
		return fail(ps, "too many roles in test", ps->test->name);
	if (ps->explicit_roles) {
		ps->test->roles[ps->test->n_roles] = ps->test->roles[0];
		ps->test->n_roles++;
	}
	ps->explicit_roles = true;
	role = &ps->test->roles[ps->test->n_roles - 1];
	snprintf(role->name, PROFILE_NAME, "%s", name);
	return set_words(ps, NULL, role, save);
}

static int on_line(struct parser *ps, char *line)
{
	char *save = NULL, *word;
	int rc;

	line += strspn(line, " \t");
	if (*line == 0 || *line == '#')
		return 0;
	word = strtok_r(line, " \t", &save);
	if (strcmp(word, "about") == 0) {
		snprintf(ps->p->about, sizeof ps->p->about, "%s", save);
		return 0;
	}
	if (strcmp(word, "role") == 0)
		return on_role(ps, &save);
	rc = end_test(ps);
	if (rc < 0)
		return rc;
	if (strcmp(word, "suite") == 0)
		return on_suite(ps, &save);
	if (strcmp(word, "test") == 0)
		return on_test(ps, &save);
	return fail(ps, "a line starts with about, suite, test or role, not", word);
}

/* Cuts the next line off *text, joining lines that end in a backslash; NULL at the end. */
static char *next_line(char **text, int *number)
{
	char *start = *text, *at = start;

	if (!*start)
		return NULL;
	for (;;) {
		at += strcspn(at, "\n");
		++*number;
		if (*at && at > start && at[-1] == '\\')
			at[-1] = *at = ' ';
		else
			break;
	}
	*text = *at ? at + 1 : at;
	*at = 0;
	return start;
}

int profile_parse(const char *name, const char *text, struct profile *p, char *why)
{
	struct parser ps = { .p = p, .why = why };
	char *copy = strdup(text), *rest = copy, *line;
	int rc = 0;

	memset(p, 0, sizeof *p);
	snprintf(p->name, sizeof p->name, "%s", name);
	snprintf(why, WHY, "out of memory");
	p->text = strdup(text);
	if (!copy || !p->text)
		rc = -KILN_ENOMEM;
	while (rc == 0 && (line = next_line(&rest, &ps.line)))
		rc = on_line(&ps, line);
	if (rc == 0)
		rc = end_test(&ps);
	if (rc == 0 && !p->n_tests)
		rc = fail(&ps, "no test in it", "");
	free(copy);
	if (rc < 0)
		profile_free(p);
	return rc;
}

static int read_file(const char *path, char **text, char *why)
{
	enum { CAP = 1 << 20 };
	FILE *f = fopen(path, "re");
	size_t n;
	int rc = 0;

	if (!f) {
		snprintf(why, WHY, "no built-in profile '%.60s', and no such file (%s)", path,
			 strerror(errno));
		return -KILN_ENOENT;
	}
	*text = malloc(CAP);
	if (!*text) {
		rc = -KILN_ENOMEM;
		goto out;
	}
	n = fread(*text, 1, CAP - 1, f);
	(*text)[n] = 0;
	if (ferror(f) || !feof(f) || strlen(*text) != n) {
		snprintf(why, WHY, "'%.60s' is not a profile (unreadable, too long or not text)", path);
		free(*text);
		rc = -KILN_EINVAL;
	}
out:
	fclose(f);
	return rc;
}

int profile_load(const char *name_or_path, struct profile *p, char *why)
{
	const char *base = strrchr(name_or_path, '/');
	char *text;
	int rc;

	for (const struct profile_builtin *b = profile_builtins; b->name; b++)
		if (strcmp(b->name, name_or_path) == 0)
			return profile_parse(b->name, b->text, p, why);
	rc = read_file(name_or_path, &text, why);
	if (rc < 0)
		return rc;
	rc = profile_parse(base ? base + 1 : name_or_path, text, p, why);
	free(text);
	return rc;
}

void profile_free(struct profile *p)
{
	free(p->text);
	free(p->tests);
	p->text = NULL;
	p->tests = NULL;
	p->n_tests = 0;
}

static bool item_matches(const char *item, const struct test *t)
{
	char full[2 * PROFILE_NAME + 1];

	snprintf(full, sizeof full, "%s.%s", t->suite, t->name);
	return fnmatch(item, t->suite, 0) == 0 || fnmatch(item, full, 0) == 0;
}

int profile_select(struct profile *p, const char *list, char *why)
{
	bool *keep = calloc(p->n_tests, sizeof *keep);
	char *copy = strdup(list), *save = NULL;
	size_t n = 0;
	int rc = keep && copy ? 0 : -KILN_ENOMEM;

	for (char *item = rc < 0 ? NULL : strtok_r(copy, ",", &save); item;
	     item = strtok_r(NULL, ",", &save)) {
		bool any = false;

		for (size_t i = 0; i < p->n_tests; i++)
			if (item_matches(item, &p->tests[i]))
				keep[i] = any = true;
		if (!any) {
			snprintf(why, WHY, "profile %s has no suite or test '%.80s'", p->name, item);
			rc = -KILN_ENOENT;
		}
	}
	for (size_t i = 0; rc == 0 && i < p->n_tests; i++)
		if (keep[i])
			p->tests[n++] = p->tests[i];
	if (rc == 0)
		p->n_tests = n;
	free(copy);
	free(keep);
	return rc;
}

static void print_table(const struct param *table, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("  %-8s %-8s default %-10llu %s\n", table[i].name,
		       table[i].type == FLAG ? "yes|no" : table[i].unit,
		       (unsigned long long)table[i].initial, table[i].text);
}

void profile_print_params(void)
{
	printf("Parameters of a role (a test has one, or names several):\n");
	print_table(role_params, N_OF(role_params));
	printf("  shape    A[:W],B[:W] what each client does; several are mixed by weight\n"
	       "  set      NAME       the files it works on; tests of a suite with one set share\n"
	       "Parameters of a test:\n");
	print_table(test_params, N_OF(test_params));
}

/* kiln-bench report, compare and baseline: what is done with stored results. */
#include "bench/cmd.h"

#include "base/err.h"
#include "bench/compare.h"
#include "bench/doc.h"
#include "bench/session.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int load(const char *path, json_t **doc)
{
	char why[WHY_MAX];
	int rc = doc_load(path, doc, why);

	if (rc < 0)
		session_complain("%s", why);
	return rc;
}

int cmd_report(int argc, char **argv)
{
	struct options o;
	json_t *doc;
	int code;

	if (options_parse(&o, argc, argv, 2, CMD_REPORT) < 0)
		return EXIT_USAGE;
	if (o.n_words != 1) {
		session_complain("report needs one result file");
		return EXIT_USAGE;
	}
	if (load(o.word[0], &doc) < 0)
		return EXIT_USAGE;
	code = session_output(&o, doc);
	json_decref(doc);
	return code;
}

int cmd_compare(int argc, char **argv)
{
	struct options o;
	json_t *a, *b, *doc;
	int code;

	if (options_parse(&o, argc, argv, 2, CMD_COMPARE) < 0)
		return EXIT_USAGE;
	if (o.n_words != 2) {
		session_complain("compare needs two result files of 'run': A.json B.json");
		return EXIT_USAGE;
	}
	if (load(o.word[0], &a) < 0)
		return EXIT_USAGE;
	if (load(o.word[1], &b) < 0) {
		json_decref(a);
		return EXIT_USAGE;
	}
	doc = doc_new("compare", o.label, argc, argv);
	code = compare_docs(a, b, o.alpha / 100, log1p(o.margin / 100), doc);
	if (code < 0) {
		session_complain("the two have no test in common, or are not results of 'run'");
		code = EXIT_USAGE;
	} else if (session_output(&o, doc) != 0) {
		code = EXIT_FAILED;
	}
	json_decref(a);
	json_decref(b);
	json_decref(doc);
	return code;
}

/* -- baseline ------------------------------------------------------------------------------- */

/* A store is a directory of results, numbered in the order they were added. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_result(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return n > 5 && strcmp(e->d_name + n - 5, ".json") == 0;
}

static int read_store(const char *dir, json_t *list)
{
	struct dirent **entry;
	char path[4096];
	int n = scandir(dir, &entry, is_result, by_name), rc = 0;
	json_t *doc;

	if (n < 0) {
		session_complain("cannot read the store '%s': %s", dir, strerror(errno));
		return -KILN_ENOENT;
	}
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, entry[i]->d_name);
		if (rc == 0)
			rc = load(path, &doc);
		if (rc == 0)
			json_array_append_new(list, doc);
		free(entry[i]);
	}
	free(entry);
	return rc;
}

static int baseline_add(const char *dir, const char *file, const char *label)
{
	json_t *list = json_array(), *doc;
	char path[4096], why[WHY_MAX];
	int rc;

	if (mkdir(dir, 0755) < 0 && errno != EEXIST) {
		session_complain("cannot make the store '%s': %s", dir, strerror(errno));
		return EXIT_USAGE;
	}
	rc = read_store(dir, list);
	if (rc == 0)
		rc = load(file, &doc);
	if (rc < 0) {
		json_decref(list);
		return EXIT_USAGE;
	}
	if (label)
		json_object_set_new(doc, "label", json_string(label));
	snprintf(path, sizeof path, "%s/%06zu.json", dir, json_array_size(list) + 1);
	rc = doc_save(doc, path, why);
	if (rc < 0)
		session_complain("%s", why);
	else
		printf("%s: %s\n", path, doc_text(doc, "label"));
	json_decref(doc);
	json_decref(list);
	return rc < 0 ? EXIT_FAILED : 0;
}

int cmd_baseline(int argc, char **argv)
{
	struct options o;
	json_t *list;
	int code;

	if (options_parse(&o, argc, argv, 2, CMD_BASELINE) < 0)
		return EXIT_USAGE;
	if (o.n_words == 3 && strcmp(o.word[0], "add") == 0)
		return baseline_add(o.word[1], o.word[2], o.label);
	if (o.n_words != 2 || strcmp(o.word[0], "show") != 0) {
		session_complain("baseline add STORE RESULT.json [--label TEXT], or baseline show STORE");
		return EXIT_USAGE;
	}
	list = json_array();
	code = read_store(o.word[1], list) < 0 ? EXIT_USAGE :
						 compare_history(list, o.alpha / 100,
								 log1p(o.margin / 100), stdout);
	json_decref(list);
	return code;
}

#include "bench/render_parts.h"

#include "base/err.h"
#include "bench/result.h"

#include <errno.h>
#include <string.h>

static int to_file(const json_t *doc, const char *path, void (*render)(const json_t *, FILE *),
		   char *why)
{
	FILE *f;
	int rc = 0;

	if (!path)
		return 0;
	f = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
	if (!f) {
		snprintf(why, WHY_MAX, "cannot write '%.180s': %s", path, strerror(errno));
		return -KILN_EIO;
	}
	render(doc, f);
	if (ferror(f))
		rc = -KILN_EIO;
	if (f != stdout && fclose(f) != 0)
		rc = -KILN_EIO;
	if (rc < 0)
		snprintf(why, WHY_MAX, "writing '%.180s' failed", path);
	return rc;
}

int render_files(const json_t *doc, const struct options *o, char *why)
{
	int rc = to_file(doc, o->csv, render_csv, why);

	if (rc == 0)
		rc = to_file(doc, o->md, render_md, why);
	if (rc == 0)
		rc = to_file(doc, o->junit, render_junit, why);
	if (rc == 0)
		rc = to_file(doc, o->html, render_html, why);
	return rc;
}

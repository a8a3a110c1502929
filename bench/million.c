/* kiln-million: a directory of N files through the client library: does creation keep its rate
 * from the first tenth to the last, and how fast does the directory list with attributes?
 *
 *   kiln-million TARGET [N]        TARGET as in kiln_connect, e.g. unix:/run/kiln/kiln.sock/v */
#include "base/clock.h"
#include "client/kiln.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PARTS = 10 };

static int count_entry(void *context, const struct kiln_entry *entry)
{
	uint64_t *seen = context;

	*seen += entry->entry != NULL && entry->entry->nodeid != 0;
	return 0;
}

static int create_part(struct kiln *k, uint64_t dir, uint64_t from, uint64_t to)
{
	struct fuse_entry_out entry;
	char name[32];
	int err = 0;

	for (uint64_t i = from; i < to && !err; i++) {
		snprintf(name, sizeof name, "file-%08" PRIu64, i);
		err = kiln_mknod(k, dir, name, S_IFREG | 0644, 0, &entry);
	}
	return err;
}

static int create_all(struct kiln *k, uint64_t dir, uint64_t files)
{
	double first = 0;

	for (int part = 0; part < PARTS; part++) {
		uint64_t begun = clock_mono(), n = files / PARTS;
		int err = create_part(k, dir, n * (uint64_t)part, n * (uint64_t)(part + 1));
		double rate;

		if (err)
			return err;
		rate = (double)n * NS_PER_S / (double)(clock_mono() - begun);
		first = part ? first : rate;
		printf("create %d/%d: %.0f files/s (%.2f of the first)\n", part + 1, PARTS, rate,
		       rate / first);
		fflush(stdout);
	}
	return 0;
}

static int list_all(struct kiln *k, uint64_t dir)
{
	uint64_t begun = clock_mono(), seen = 0, off = 0;
	struct fuse_open_out open;
	int n = kiln_opendir(k, dir, &open);

	if (n < 0)
		return n;
	while ((n = kiln_readdirplus(k, dir, open.fh, &off, count_entry, &seen)) > 0)
		;
	printf("listed %" PRIu64 " entries with attributes: %.0f/s\n", seen,
	       (double)seen * NS_PER_S / (double)(clock_mono() - begun));
	return n;
}

int main(int argc, char **argv)
{
	uint64_t files = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
	struct fuse_entry_out dir;
	struct kiln *k;
	char why[512];
	int err;

	if (argc < 2 || files < PARTS) {
		fprintf(stderr, "usage: kiln-million TARGET [N]\n");
		return 2;
	}
	err = kiln_connect(&k, argv[1], NULL, why, sizeof why);
	if (err) {
		fprintf(stderr, "kiln-million: %s\n", why);
		return 1;
	}
	err = kiln_mkdir(k, KILN_ROOT, "million", 0755, &dir);
	if (!err)
		err = create_all(k, dir.nodeid, files);
	for (int i = 0; i < 3 && !err; i++)
		err = list_all(k, dir.nodeid);
	kiln_close(k);
	if (err)
		fprintf(stderr, "kiln-million: %s\n", strerror(-err));
	return err ? 1 : 0;
}

/* The whole back end over power cuts: what is left is a prefix of what was applied, with all in it
 * that was synced.  A child applies and syncs with small memory and small segments, so that all is
 * on its way somewhere at any moment, and is killed; then the journal loses at random what was
 * written to it since the last sync.  The database's files stay as they are: what counts as being
 * in them RocksDB has synced.
 *
 * KILN_CUTS: how many cuts, KILN_CUT_SEED: which. */
#include "tests/unit/kv_fixture.h"
#include "tests/unit/segments.h"

#include "base/err.h"

#include <signal.h>
#include <sys/wait.h>

enum { SMALL_SEGMENT = 64 << 10, SMALL_BUFFER = 128 << 10, CUTS = 6, MORE = 4000, BIG_KEYS = 64 };

#define SYNCED (1u << 31) /* beside a number that a child says: all up to it; it waits to go on */

static struct kv *open_small(const char *dir, const char *layout, uint64_t buffer_bytes)
{
	struct kv_options o = { .backend = "rocksdb", .layout = layout,
				.segment_bytes = SMALL_SEGMENT, .buffer_bytes = buffer_bytes };
	struct kv *kv;
	char *why;

	if (kv_open(dir, &o, &kv, &why)) {
		print_error("%s: %s\n", dir, why);
		abort();
	}
	return kv;
}

/* --- the child ---------------------------------------------------------------------------------- */

static void say(uint32_t number)
{
	char go;

	if (write(STDOUT_FILENO, &number, sizeof(number)) != sizeof(number) ||
	    (number & SYNCED && read(STDIN_FILENO, &go, 1) != 1))
		_exit(1);
}

/* batch_of: n<i> and "last" are i, and a key of many rounds has that many bytes of it. */
static void batch_of(struct kv_batch *b, uint32_t i, size_t bytes)
{
	static uint32_t value[2000];
	char key[16], big[16];
	size_t len = (size_t)snprintf(key, sizeof(key), "n%08u", i);
	size_t big_len = (size_t)snprintf(big, sizeof(big), "b%02u", i % BIG_KEYS);

	for (size_t k = 0; k < bytes / sizeof(i); k++)
		value[k] = i;
	kv_batch_clear(b);
	if (kv_batch_put(b, KV_INODE, key, len, &i, sizeof(i)) ||
	    kv_batch_put(b, KV_DIRENT, big, big_len, value, bytes) ||
	    kv_batch_put(b, KV_REST, "last", 4, &i, sizeof(i)))
		_exit(1);
}

/* It is executed anew, because RocksDB's threads do not survive a fork. */
static void apply_until_killed(const char *layout, const char *dir, unsigned seed)
{
	struct kv *kv = open_small(dir, layout, SMALL_BUFFER);
	struct kv_batch *b = kv_batch_new();
	uint32_t last = 0;
	uint64_t seq;
	size_t len;

	(void)kv_get(kv, NULL, KV_REST, "last", 4, &last, sizeof(last), &len, 0);
	say(last | SYNCED);
	for (uint32_t i = last + 1;; i++) {
		struct kv_view *view = rand_r(&seed) % 300 ? NULL : kv_view_new(kv);
		bool large = rand_r(&seed) % 16 == 0;

		kv_view_free(kv, view);
		batch_of(b, i, 4 * (unsigned)(1 + rand_r(&seed) % (large ? 1999 : 9)));
		if (kv_apply(kv, b, 0, &seq))
			_exit(1);
		say(i);
		if (rand_r(&seed) % 200 == 0) {
			if (kv_sync(kv, &seq))
				_exit(1);
			say(i | SYNCED);
		}
	}
}

/* --- the judge ---------------------------------------------------------------------------------- */

struct trial {
	struct fixture *f;
	char journal[300];
	struct files synced; /* the journal at the last sync */
	uint32_t durable, answered;
	unsigned seed;
	uint64_t lost; /* batches, of all cuts */
};

static pid_t child_begin(struct trial *t, int *from, int *to)
{
	int out[2], in[2];
	char seed[16];
	pid_t child;

	snprintf(seed, sizeof(seed), "%d", rand_r(&t->seed));
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(out[1], STDOUT_FILENO);
		dup2(in[0], STDIN_FILENO);
		execl("/proc/self/exe", "kv_cut", t->f->layout, t->f->dir, seed, NULL);
		_exit(1);
	}
	close(out[1]);
	close(in[0]);
	*from = out[0];
	*to = in[1];
	return child;
}

/* heard: false at the end of what the child has said. */
static bool heard(struct trial *t, int from, int to)
{
	uint32_t number;

	if (read(from, &number, sizeof(number)) != sizeof(number))
		return false;
	t->answered = number & ~SYNCED;
	if (!(number & SYNCED))
		return true;
	t->durable = t->answered;
	files_drop(&t->synced);
	files_load(&t->synced, t->journal);
	return write(to, "", 1) == 1;
}

static void run_child(struct trial *t)
{
	uint32_t until = t->answered + 1 + (uint32_t)rand_r(&t->seed) % MORE;
	int from, to, status;
	pid_t child = child_begin(t, &from, &to);

	while (t->answered < until && heard(t, from, to))
		;
	kill(child, SIGKILL);
	close(to);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	for (uint32_t number; read(from, &number, sizeof(number)) == sizeof(number);) {
		t->answered = number & ~SYNCED;
		if (number & SYNCED) /* nothing has been applied since: it waits */
			t->durable = t->answered;
	}
	if (t->durable == t->answered) {
		files_drop(&t->synced);
		files_load(&t->synced, t->journal);
	}
	close(from);
}

/* check_prefix: 1..last are there and nothing after; what is written again and again is of the last
 * round that did. */
static uint32_t check_prefix(struct kv *kv)
{
	uint32_t last = 0, value;
	char key[16];
	size_t len;

	(void)kv_get(kv, NULL, KV_REST, "last", 4, &last, sizeof(last), &len, 0);
	for (uint32_t i = 1; i <= last + 10; i++) {
		size_t key_len = (size_t)snprintf(key, sizeof(key), "n%08u", i);
		int err = kv_get(kv, NULL, KV_INODE, key, key_len, &value, sizeof(value), &len, 0);

		assert_int_equal(err, i <= last ? 0 : -KILN_ENOENT);
		assert_true(err || value == i);
	}
	for (uint32_t i = last; i > 0 && i + BIG_KEYS > last; i--) {
		size_t key_len = (size_t)snprintf(key, sizeof(key), "b%02u", i % BIG_KEYS);
		int err = kv_get(kv, NULL, KV_DIRENT, key, key_len, &value, sizeof(value), &len, 0);

		assert_true(err == 0 || err == -KILN_ERANGE);
		assert_int_equal(value, i);
	}
	return last;
}

static void one_cut(struct trial *t)
{
	uint32_t last;

	run_child(t);
	power_cut(t->journal, &t->synced, &t->seed);
	t->f->kv = open_small(t->f->dir, t->f->layout, 0);
	last = check_prefix(t->f->kv);
	close_kv(t->f);
	assert_in_range(last, t->durable, t->answered + 1);
	t->lost += t->answered > last ? t->answered - last : 0;
	t->answered = last;
}

static void power_cuts_leave_a_prefix(void **state)
{
	const char *cuts = getenv("KILN_CUTS"), *seed = getenv("KILN_CUT_SEED");
	int count = cuts ? atoi(cuts) : CUTS;
	struct trial t = { .f = *state, .seed = seed ? (unsigned)atoi(seed) : 11 };

	close_kv(t.f);
	snprintf(t.journal, sizeof(t.journal), "%s/journal", t.f->dir);
	for (int i = 0; i < count; i++)
		one_cut(&t);
	files_drop(&t.synced);
	assert_true(t.lost > 0);
	print_message("%d power cuts: %u batches, %llu lost\n", count, t.answered,
		      (unsigned long long)t.lost);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { ON_ROCKS(power_cuts_leave_a_prefix) };

	if (argc == 4)
		apply_until_killed(argv[1], argv[2], (unsigned)atoi(argv[3]));
	return cmocka_run_group_tests(tests, NULL, NULL);
}

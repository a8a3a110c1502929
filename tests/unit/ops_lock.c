/* File locks: each behaviour once, then random operations against a model that keeps, for every
 * owner, one state per byte, and looks everything over after each step.  What lock_store was told
 * last must be what the model says is held. */
#include "server/conn.h"
#include "server/locktable.h"
#include "server/ops.h"
#include "server/session.h"
#include "server/volume.h"

#include "base/lock.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CLIENTS = 3, OWNERS = 2, FILES = 2, BYTES = 12, KINDS = 2, PARKED_MAX = 64 };
enum { ANSWERED_NOT = 1 };

struct session {
	uint64_t client;
	bool dead;
};

struct volume {
	struct locktable *locks;
};

static struct volume the_volume;
static struct session sessions[CLIENTS];
static struct lock_record stored[FILES][CLIENTS][64];
static size_t stored_count[FILES][CLIENTS];
static int store_error;
static unsigned stores;
static uint64_t waiting_count;

/* --- in place of the server ------------------------------------------------------------- */

bool session_dead(const struct session *s)
{
	return s->dead;
}

uint64_t session_client(const struct session *s)
{
	return s->client;
}

struct locktable *volume_locks(struct volume *v)
{
	return v->locks;
}

void lock_store(struct volume *v, uint64_t handle, uint64_t client,
		const struct lock_record *locks, size_t count, struct request *answers)
{
	size_t f = handle - 1, c = client - 100;

	assert_true(f < FILES && c < CLIENTS && count <= 64);
	memcpy(stored[f][c], locks, count * sizeof *locks);
	stored_count[f][c] = count;
	stores++;
	request_answer_all(answers, store_error);
}

static struct conn *const the_conn = (struct conn *)&the_volume; /* only handed on */
static bool others_wrote;
static unsigned forgets;

bool volume_others_wrote(struct volume *v, struct session *s, uint64_t handle)
{
	return others_wrote;
}

void conn_forget_attr(struct conn *c, uint64_t handle)
{
	assert_ptr_equal(c, the_conn);
	forgets++;
}

/* Requests live in a table here; the table tells which have been answered, and how. */
static struct parked {
	struct request req;
	struct fuse_lk_in arg;
	int answer; /* ANSWERED_NOT, or what it was */
	bool used;
} table[PARKED_MAX];

void request_answer(struct request *req, int error)
{
	struct parked *p = (struct parked *)((char *)req - offsetof(struct parked, req));

	assert_true(p->used);
	assert_int_equal(p->answer, ANSWERED_NOT);
	p->answer = error;
}

static int setup(void **state)
{
	memset(table, 0, sizeof table);
	memset(stored_count, 0, sizeof stored_count);
	store_error = 0;
	stores = 0;
	others_wrote = false;
	forgets = 0;
	for (uint64_t i = 0; i < CLIENTS; i++)
		sessions[i].client = 100 + i;
	the_volume.locks = locktable_new(&the_volume, &waiting_count);
	return the_volume.locks ? 0 : -1;
}

static int teardown(void **state)
{
	for (int i = 0; i < CLIENTS; i++)
		locktable_drop_session(the_volume.locks, &sessions[i]);
	locktable_free(the_volume.locks);
	assert_int_equal(waiting_count, 0);
	return 0;
}

struct who {
	int client, owner;
	bool flock;
};

static struct parked *ask(int opcode, struct who who, int file, uint32_t type, uint64_t start,
			  uint64_t end)
{
	struct parked *p = table;

	while (p < table + PARKED_MAX && p->used)
		p++;
	assert_true(p < table + PARKED_MAX);
	memset(p, 0, sizeof *p);
	p->used = true;
	p->answer = ANSWERED_NOT;
	p->arg = (struct fuse_lk_in){ .owner = (uint64_t)who.owner,
				      .lk = { .start = start, .end = end, .type = type, .pid = 7 },
				      .lk_flags = who.flock ? FUSE_LK_FLOCK : 0 };
	p->req.in.opcode = (uint32_t)opcode;
	p->req.in.nodeid = (uint64_t)file + 1;
	p->req.in.unique = (uint64_t)(p - table) + 1;
	p->req.volume = &the_volume;
	p->req.conn = the_conn;
	p->req.session = &sessions[who.client];
	p->req.arg = &p->arg;
	return p;
}

/* The answer; ANSWERED_NOT: it waits, and *waits says where. */
static int lock_op(int opcode, struct who who, int file, uint32_t type, uint64_t start,
		   uint64_t end, struct parked **waits)
{
	struct parked *p = ask(opcode, who, file, type, start, end);
	int err = op_setlk(&p->req);

	if (err != -KILN_EPARKED) {
		assert_int_equal(p->answer, ANSWERED_NOT);
		p->answer = err;
	}
	if (waits)
		*waits = p;
	err = p->answer;
	if (err != ANSWERED_NOT)
		p->used = false;
	return err;
}

static int try_lock(struct who who, uint32_t type, uint64_t start, uint64_t end)
{
	return lock_op(FUSE_SETLK, who, 0, type, start, end, NULL);
}

static struct fuse_file_lock getlk(struct who who, int file, uint32_t type, uint64_t start,
				   uint64_t end)
{
	struct parked *p = ask(FUSE_GETLK, who, file, type, start, end);

	assert_int_equal(op_getlk(&p->req), 0);
	p->used = false;
	assert_int_equal(p->req.out_len, sizeof p->req.out.lk);
	return p->req.out.lk.lk;
}

static const struct who a = { 0, 1, false }, b = { 1, 1, false }, c = { 2, 1, false };
static const struct who a_again = { 0, 2, false };
static const struct who fa = { 0, 1, true }, fb = { 1, 1, true };

/* --- one behaviour each -------------------------------------------------------------------- */

static void test_exclude(void **state)
{
	assert_int_equal(try_lock(a, F_WRLCK, 10, 19), 0);
	assert_int_equal(try_lock(b, F_RDLCK, 19, 30), -KILN_EAGAIN);
	assert_int_equal(try_lock(b, F_WRLCK, 0, 9), 0);
	assert_int_equal(try_lock(a_again, F_WRLCK, 15, 15), -KILN_EAGAIN);
	assert_int_equal(try_lock(fb, F_WRLCK, 0, 0), 0);
	assert_int_equal(try_lock(b, F_RDLCK, 20, 30), 0);
	assert_int_equal(try_lock(c, F_RDLCK, 20, UINT64_MAX), 0);
}

static void test_getlk(void **state)
{
	struct fuse_file_lock lk;

	try_lock(a, F_WRLCK, 10, INT64_MAX);
	lk = getlk(b, 0, F_RDLCK, 0, 100);
	assert_int_equal(lk.type, F_WRLCK);
	assert_int_equal(lk.start, 10);
	assert_int_equal(lk.end, INT64_MAX);
	assert_int_equal(lk.pid, 0); /* another client's means nothing here */
	assert_int_equal(getlk(a_again, 0, F_RDLCK, 0, 100).pid, 7);
	assert_int_equal(getlk(a, 0, F_WRLCK, 0, 100).type, F_UNLCK);
	assert_int_equal(getlk(b, 0, F_RDLCK, 0, 9).type, F_UNLCK);
	assert_int_equal(getlk(b, 1, F_RDLCK, 0, 100).type, F_UNLCK);
}

static void test_split_and_merge(void **state)
{
	try_lock(a, F_WRLCK, 0, 99);
	assert_int_equal(stored_count[0][0], 1);
	try_lock(a, F_UNLCK, 40, 59);
	assert_int_equal(stored_count[0][0], 2);
	assert_int_equal(try_lock(b, F_WRLCK, 40, 59), 0);
	assert_int_equal(try_lock(b, F_WRLCK, 39, 59), -KILN_EAGAIN);
	try_lock(b, F_UNLCK, 0, UINT64_MAX);
	try_lock(a, F_WRLCK, 40, 59);
	assert_int_equal(stored_count[0][0], 1);
	try_lock(a, F_RDLCK, 50, UINT64_MAX);
	assert_int_equal(stored_count[0][0], 2);
	assert_int_equal(try_lock(b, F_RDLCK, 50, 60), 0);
	try_lock(a, F_UNLCK, 0, UINT64_MAX);
	assert_int_equal(stored_count[0][0], 0);
}

static void test_same_again_stores_nothing(void **state)
{
	unsigned before;

	try_lock(a, F_WRLCK, 0, 99);
	before = stores;
	assert_int_equal(try_lock(a, F_WRLCK, 10, 20), 0);
	assert_int_equal(try_lock(b, F_UNLCK, 0, UINT64_MAX), 0);
	assert_int_equal(stores, before);
}

static void test_wait_in_order(void **state)
{
	struct parked *first, *second;

	try_lock(a, F_WRLCK, 0, 9);
	assert_int_equal(lock_op(FUSE_SETLKW, b, 0, F_WRLCK, 0, 9, &first), ANSWERED_NOT);
	assert_int_equal(lock_op(FUSE_SETLKW, c, 0, F_WRLCK, 5, 5, &second), ANSWERED_NOT);
	try_lock(a, F_UNLCK, 0, 9);
	assert_int_equal(first->answer, 0);
	assert_int_equal(second->answer, ANSWERED_NOT);
	try_lock(b, F_UNLCK, 0, 9);
	assert_int_equal(second->answer, 0);
	assert_int_equal(stored_count[0][2], 1);
}

static void test_downgrade_wakes(void **state)
{
	struct parked *w;

	try_lock(a, F_WRLCK, 0, 9);
	lock_op(FUSE_SETLKW, b, 0, F_RDLCK, 0, 9, &w);
	assert_int_equal(try_lock(a, F_RDLCK, 0, 9), 0);
	assert_int_equal(w->answer, 0);
}

static void test_interrupt(void **state)
{
	struct parked *w;

	try_lock(a, F_WRLCK, 0, 9);
	lock_op(FUSE_SETLKW, b, 0, F_RDLCK, 0, 9, &w);
	assert_false(locktable_interrupt(the_volume.locks, &sessions[0], w->req.in.unique));
	assert_true(locktable_interrupt(the_volume.locks, &sessions[1], w->req.in.unique));
	assert_int_equal(w->answer, -KILN_EINTR);
	try_lock(a, F_UNLCK, 0, 9);
	assert_int_equal(stored_count[0][1], 0);
}

static void test_deadlock(void **state)
{
	struct parked *w1, *w2;

	try_lock(a, F_WRLCK, 0, 0);
	try_lock(b, F_WRLCK, 1, 1);
	lock_op(FUSE_SETLK, c, 1, F_WRLCK, 2, 2, NULL);
	assert_int_equal(lock_op(FUSE_SETLKW, a, 0, F_WRLCK, 1, 1, &w1), ANSWERED_NOT);
	assert_int_equal(lock_op(FUSE_SETLKW, b, 1, F_WRLCK, 2, 2, &w2), ANSWERED_NOT);
	assert_int_equal(lock_op(FUSE_SETLKW, c, 0, F_RDLCK, 0, 0, NULL), -KILN_EDEADLK);
	assert_int_equal(lock_op(FUSE_SETLKW, c, 0, F_RDLCK, 5, 5, NULL), 0);
	lock_op(FUSE_SETLK, c, 1, F_UNLCK, 0, 9, NULL);
	assert_int_equal(w2->answer, 0);
	try_lock(b, F_UNLCK, 1, 1);
	assert_int_equal(w1->answer, 0);
}

/* Both hold a shared lock and want it exclusive: neither waits for ever. */
static void test_flock_convert(void **state)
{
	struct parked *w;

	assert_int_equal(try_lock(fa, F_RDLCK, 3, 5), 0);
	assert_int_equal(try_lock(fb, F_RDLCK, 0, 0), 0);
	assert_int_equal(try_lock(fb, F_WRLCK, 0, 0), -KILN_EAGAIN);
	assert_int_equal(stored_count[0][1], 0); /* as on Linux: the old one is gone */
	assert_int_equal(try_lock(fb, F_RDLCK, 0, 0), 0);
	assert_int_equal(lock_op(FUSE_SETLKW, fa, 0, F_WRLCK, 0, 0, &w), ANSWERED_NOT);
	assert_int_equal(try_lock(fb, F_WRLCK, 0, 0), 0);
	try_lock(fb, F_UNLCK, 0, 0);
	assert_int_equal(w->answer, 0);
}

static void test_drop_owner(void **state)
{
	try_lock(a, F_WRLCK, 0, 9);
	try_lock(a_again, F_WRLCK, 10, 19);
	try_lock(fa, F_WRLCK, 0, 0);
	locktable_drop_owner(the_volume.locks, &sessions[0], 1, 1, false);
	assert_int_equal(stored_count[0][0], 2);
	assert_int_equal(try_lock(b, F_WRLCK, 0, 9), 0);
	assert_int_equal(try_lock(fb, F_WRLCK, 0, 0), -KILN_EAGAIN);
	locktable_drop_owner(the_volume.locks, &sessions[0], 1, 1, true);
	assert_int_equal(try_lock(fb, F_WRLCK, 0, 0), 0);
	assert_int_equal(try_lock(b, F_WRLCK, 10, 10), -KILN_EAGAIN);
}

static void test_drop_session(void **state)
{
	struct parked *own, *others;

	try_lock(a, F_WRLCK, 0, 9);
	lock_op(FUSE_SETLK, b, 1, F_WRLCK, 0, 9, NULL);
	lock_op(FUSE_SETLKW, a, 1, F_WRLCK, 0, 9, &own);
	lock_op(FUSE_SETLKW, c, 0, F_WRLCK, 0, 9, &others);
	locktable_drop_session(the_volume.locks, &sessions[0]);
	assert_int_equal(own->answer, -KILN_EINTR);
	assert_int_equal(others->answer, 0);
	assert_int_equal(stored_count[0][0], 0);
}

/* What it asked for on its last connection may still come when all it had has been dropped. */
static void test_ended_session(void **state)
{
	struct parked *w;

	try_lock(b, F_WRLCK, 20, 29);
	locktable_drop_session(the_volume.locks, &sessions[0]);
	sessions[0].dead = true;
	assert_int_equal(try_lock(a, F_WRLCK, 0, 9), -KILN_ESTALE);
	w = ask(FUSE_SETLKW, a, 0, F_WRLCK, 20, 29);
	assert_int_equal(op_setlk(&w->req), -KILN_ESTALE);
	sessions[0].dead = false;
	assert_int_equal(try_lock(b, F_WRLCK, 0, 9), 0);
}

static void test_abandon(void **state)
{
	struct parked *w;
	struct request *left;

	try_lock(a, F_WRLCK, 0, 9);
	lock_op(FUSE_SETLKW, b, 0, F_WRLCK, 0, 9, &w);
	assert_int_equal(waiting_count, 1);
	left = locktable_abandon(the_volume.locks);
	assert_ptr_equal(left, &w->req);
	assert_null(left->next);
	assert_null(locktable_abandon(the_volume.locks));
	assert_int_equal(w->answer, ANSWERED_NOT);
	w->answer = 0; /* it stays so */
}

static void test_sent_again(void **state)
{
	struct parked *w, *again;

	try_lock(a, F_WRLCK, 0, 9);
	lock_op(FUSE_SETLKW, b, 0, F_WRLCK, 0, 9, &w);
	again = ask(FUSE_SETLKW, b, 0, F_WRLCK, 0, 9);
	again->req.in.unique = w->req.in.unique;
	assert_int_equal(op_setlk(&again->req), -KILN_EPARKED);
	assert_int_equal(w->answer, -KILN_EINTR);
	try_lock(a, F_UNLCK, 0, 9);
	assert_int_equal(again->answer, 0);
}

static void test_restore(void **state)
{
	struct lock_record kept[] = {
		{ .owner = 1, .start = 0, .end = 9, .type = F_WRLCK },
		{ .owner = 1, .start = 0, .end = UINT64_MAX, .type = F_RDLCK, .flock = 1 },
	};
	struct lock_record wrong = { .owner = 1, .start = 9, .end = 3, .type = F_WRLCK };

	assert_int_equal(locktable_restore(the_volume.locks, &sessions[0], 1, kept, 2), 0);
	assert_int_equal(try_lock(b, F_RDLCK, 9, 9), -KILN_EAGAIN);
	assert_int_equal(try_lock(fb, F_WRLCK, 0, 0), -KILN_EAGAIN);
	assert_int_equal(try_lock(a, F_WRLCK, 0, 9), 0);
	assert_int_equal(locktable_restore(the_volume.locks, &sessions[0], 1, &wrong, 1),
			 -KILN_ECORRUPT);
}

static void test_reads_anew_under_the_lock(void **state)
{
	struct parked *w;

	assert_int_equal(try_lock(a, F_WRLCK, 0, 9), 0);
	assert_int_equal(forgets, 0);
	others_wrote = true;
	lock_op(FUSE_SETLKW, b, 0, F_WRLCK, 0, 9, &w);
	assert_int_equal(forgets, 0);
	try_lock(a, F_UNLCK, 0, 9);
	assert_int_equal(w->answer, 0);
	assert_true(forgets >= 1);
}

static void test_bad_arguments(void **state)
{
	assert_int_equal(try_lock(a, F_WRLCK, 9, 8), -KILN_EINVAL);
	assert_int_equal(try_lock(a, 77, 0, 8), -KILN_EINVAL);
	assert_int_equal(try_lock(a, F_WRLCK, 1ull << 63, UINT64_MAX), -KILN_EINVAL);
	assert_int_equal(stores, 0);
}

static void test_store_fails(void **state)
{
	store_error = -KILN_EBADSTORE;
	assert_int_equal(try_lock(a, F_WRLCK, 0, 8), -KILN_EBADSTORE);
}

/* --- the model ------------------------------------------------------------------------------ */

static uint8_t held[FILES][KINDS][CLIENTS][OWNERS][BYTES]; /* F_UNLCK, F_RDLCK, F_WRLCK */

static struct waiting {
	struct who who;
	int file;
	uint32_t type;
	uint64_t start, end;
	struct parked *parked;
} queue[PARKED_MAX]; /* in the order of arrival */
static size_t queue_len;

static unsigned dice(unsigned sides)
{
	static uint64_t seed = 88172645463325252ull;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % sides;
}

static bool blocks(struct who by, struct who who, int file, uint32_t type, uint64_t start,
		   uint64_t end)
{
	if (by.client == who.client && by.owner == who.owner)
		return false;
	for (uint64_t i = start; i <= end && i < BYTES; i++) {
		uint8_t h = held[file][who.flock][by.client][by.owner][i];

		if (h == F_WRLCK || (h == F_RDLCK && type == F_WRLCK))
			return true;
	}
	return false;
}

static bool blocked(struct who who, int file, uint32_t type, uint64_t start, uint64_t end)
{
	for (int cl = 0; cl < CLIENTS; cl++)
		for (int o = 0; o < OWNERS; o++)
			if (blocks((struct who){ cl, o, who.flock }, who, file, type, start, end))
				return true;
	return false;
}

static bool reaches(struct waiting from, struct who goal, bool seen[CLIENTS][OWNERS])
{
	for (int cl = 0; cl < CLIENTS; cl++) {
		for (int o = 0; o < OWNERS; o++) {
			struct who by = { cl, o, false };

			if (seen[cl][o] ||
			    !blocks(by, from.who, from.file, from.type, from.start, from.end))
				continue;
			if (cl == goal.client && o == goal.owner)
				return true;
			seen[cl][o] = true;
			for (size_t i = 0; i < queue_len; i++)
				if (!queue[i].who.flock && queue[i].who.client == cl &&
				    queue[i].who.owner == o && reaches(queue[i], goal, seen))
					return true;
		}
	}
	return false;
}

static bool cycle(struct waiting w)
{
	bool seen[CLIENTS][OWNERS] = { 0 };

	if (w.who.flock)
		return false;
	/* the walk may come back to the one who asks, as somebody in the way of others */
	return reaches(w, w.who, seen);
}

static void model_set(struct who who, int file, uint32_t type, uint64_t start, uint64_t end)
{
	for (uint64_t i = start; i <= end && i < BYTES; i++)
		held[file][who.flock][who.client][who.owner][i] = (uint8_t)type;
}

static void queue_remove(size_t i)
{
	queue[i].parked->used = false;
	memmove(&queue[i], &queue[i + 1], (queue_len - i - 1) * sizeof *queue);
	queue_len--;
}

static bool model_grant_file(int file)
{
	bool granted = false;
	size_t i = 0;

	while (i < queue_len) {
		struct waiting w = queue[i];

		if (w.file != file || blocked(w.who, file, w.type, w.start, w.end)) {
			i++;
			continue;
		}
		model_set(w.who, file, w.type, w.start, w.end);
		assert_int_equal(w.parked->answer, 0);
		queue_remove(i);
		granted = true;
		i = 0;
	}
	return granted;
}

static void model_fail_cycles(int file)
{
	for (size_t i = 0; i < queue_len;) {
		if (queue[i].file != file || !cycle(queue[i])) {
			i++;
			continue;
		}
		assert_int_equal(queue[i].parked->answer, -KILN_EDEADLK);
		queue_remove(i);
	}
}

static void model_grant(int file)
{
	if (model_grant_file(file))
		model_fail_cycles(file);
}

static bool holds(struct who who, int file, uint32_t type, uint64_t start, uint64_t end)
{
	for (uint64_t i = start; i <= end && i < BYTES; i++)
		if (held[file][who.flock][who.client][who.owner][i] != type)
			return false;
	return true;
}

/* What the answer has to be; the model is as after it. */
static int model_lock(bool wait, struct waiting w)
{
	if (holds(w.who, w.file, w.type, w.start, w.end))
		return 0;
	if (w.type != F_UNLCK && blocked(w.who, w.file, w.type, w.start, w.end)) {
		if (w.who.flock && !holds(w.who, w.file, F_UNLCK, w.start, w.end)) {
			model_set(w.who, w.file, F_UNLCK, w.start, w.end);
			model_grant(w.file);
		}
		if (!wait)
			return -KILN_EAGAIN;
		if (!blocked(w.who, w.file, w.type, w.start, w.end))
			return model_lock(wait, w);
		return cycle(w) ? -KILN_EDEADLK : ANSWERED_NOT;
	}
	model_set(w.who, w.file, w.type, w.start, w.end);
	model_grant(w.file);
	return 0;
}

static void check_stored(void)
{
	static uint8_t told[FILES][KINDS][CLIENTS][OWNERS][BYTES];

	memset(told, F_UNLCK, sizeof told);
	for (int f = 0; f < FILES; f++) {
		for (int cl = 0; cl < CLIENTS; cl++) {
			for (size_t i = 0; i < stored_count[f][cl]; i++) {
				struct lock_record *r = &stored[f][cl][i];

				for (uint64_t at = r->start; at <= r->end && at < BYTES; at++) {
					uint8_t *byte = &told[f][r->flock][cl][r->owner][at];

					assert_int_equal(*byte, F_UNLCK); /* never twice */
					*byte = (uint8_t)r->type;
				}
			}
		}
	}
	assert_memory_equal(told, held, sizeof told);
	assert_int_equal(waiting_count, queue_len);
	for (size_t i = 0; i < queue_len; i++)
		assert_int_equal(queue[i].parked->answer, ANSWERED_NOT);
}

/* The model's last byte stands for all that follow. */
static void random_range(bool flock, uint64_t *start, uint64_t *end)
{
	*start = flock ? 0 : dice(BYTES);
	*end = flock ? UINT64_MAX : *start + dice(BYTES - (unsigned)*start);
	if (*end == BYTES - 1)
		*end = UINT64_MAX;
}

static void step_lock(struct waiting w)
{
	static const uint32_t types[] = { F_RDLCK, F_WRLCK, F_UNLCK };
	bool wait = dice(3) == 0;
	struct parked *parked;
	int got, want;

	w.type = types[dice(3)];
	random_range(w.who.flock, &w.start, &w.end);
	wait = wait && queue_len < PARKED_MAX / 2;
	got = lock_op(wait ? FUSE_SETLKW : FUSE_SETLK, w.who, w.file, w.type, w.start, w.end,
		      &parked);
	want = model_lock(wait, w);
	assert_int_equal(got, want);
	if (want == ANSWERED_NOT) {
		w.parked = parked;
		queue[queue_len++] = w;
	}
}

static void step_getlk(struct waiting w)
{
	struct fuse_file_lock lk;
	bool is;

	w.type = dice(2) ? F_RDLCK : F_WRLCK;
	random_range(w.who.flock, &w.start, &w.end);
	lk = getlk(w.who, w.file, w.type, w.start, w.end);
	is = blocked(w.who, w.file, w.type, w.start, w.end);
	assert_int_equal(lk.type != F_UNLCK, is);
}

static void step_drop_owner(struct waiting w)
{
	locktable_drop_owner(the_volume.locks, &sessions[w.who.client], (uint64_t)w.file + 1,
			     (uint64_t)w.who.owner, w.who.flock);
	if (holds(w.who, w.file, F_UNLCK, 0, BYTES))
		return;
	model_set(w.who, w.file, F_UNLCK, 0, BYTES);
	model_grant(w.file);
}

static void step_interrupt(void)
{
	size_t i;

	if (queue_len == 0)
		return;
	i = dice((unsigned)queue_len);
	assert_true(locktable_interrupt(the_volume.locks, &sessions[queue[i].who.client],
					queue[i].parked->req.in.unique));
	assert_int_equal(queue[i].parked->answer, -KILN_EINTR);
	queue_remove(i);
}

/* If that brings about a cycle anew, who is told depends on the order of files in the table: so
 * the model believes the answer, if there is a cycle. */
static void step_drop_session(int client)
{
	locktable_drop_session(the_volume.locks, &sessions[client]);
	for (size_t i = 0; i < queue_len;) {
		if (queue[i].who.client == client) {
			assert_int_equal(queue[i].parked->answer, -KILN_EINTR);
			queue_remove(i);
		} else {
			i++;
		}
	}
	for (int f = 0; f < FILES; f++)
		for (int k = 0; k < KINDS; k++)
			memset(held[f][k][client], F_UNLCK, sizeof held[f][k][client]);
	for (int f = 0; f < FILES; f++)
		model_grant_file(f);
	for (size_t i = 0; i < queue_len; i++)
		if (queue[i].parked->answer == -KILN_EDEADLK)
			assert_true(cycle(queue[i]));
	for (size_t i = 0; i < queue_len;) {
		if (queue[i].parked->answer == -KILN_EDEADLK) {
			queue_remove(i);
		} else {
			i++;
		}
	}
}

static void test_model(void **state)
{
	memset(held, F_UNLCK, sizeof held);
	queue_len = 0;
	for (int i = 0; i < 200000; i++) {
		struct waiting w = { .who = { (int)dice(CLIENTS), (int)dice(OWNERS), dice(4) == 0 },
				     .file = (int)dice(FILES) };
		unsigned what = dice(100);

		if (what < 80)
			step_lock(w);
		else if (what < 88)
			step_getlk(w);
		else if (what < 94)
			step_drop_owner(w);
		else if (what < 98)
			step_interrupt();
		else if (what == 98)
			step_drop_session(w.who.client);
		check_stored();
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_exclude),
		TEST(test_getlk),
		TEST(test_split_and_merge),
		TEST(test_same_again_stores_nothing),
		TEST(test_wait_in_order),
		TEST(test_downgrade_wakes),
		TEST(test_interrupt),
		TEST(test_deadlock),
		TEST(test_flock_convert),
		TEST(test_drop_owner),
		TEST(test_drop_session),
		TEST(test_ended_session),
		TEST(test_abandon),
		TEST(test_sent_again),
		TEST(test_restore),
		TEST(test_reads_anew_under_the_lock),
		TEST(test_bad_arguments),
		TEST(test_store_fails),
		TEST(test_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

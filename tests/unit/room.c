/* store/room.h: what is refused, when, and what the reserve does.  The disk is the real one; that it
 * is full is played by a debt that no disk has room for (tests/cases/60-full-*.sh fill real ones). */
#include "store/room.h"

#include "base/err.h"
#include "tests/unit/tmpdir.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define HUGE_DEBT (1ull << 50)

struct fixture {
	char *dir;
	int dir_fd;
	struct room *room;
	uint64_t debt;    /* atomic, as the rest */
	unsigned reliefs;
	bool collecting, pays; /* pays: what is asked for is done */
};

static uint64_t debt(void *context)
{
	return __atomic_load_n(&((struct fixture *)context)->debt, __ATOMIC_ACQUIRE);
}

static void relieve(void *context)
{
	struct fixture *f = context;

	__atomic_add_fetch(&f->reliefs, 1, __ATOMIC_ACQ_REL);
	if (__atomic_load_n(&f->pays, __ATOMIC_ACQUIRE))
		__atomic_store_n(&f->debt, 0, __ATOMIC_RELEASE);
}

static bool collecting(void *context)
{
	return __atomic_load_n(&((struct fixture *)context)->collecting, __ATOMIC_ACQUIRE);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct room_owner owner = { debt, relieve, collecting, f };

	f->dir = tmpdir_make();
	f->dir_fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(room_open(f->dir, f->dir_fd, &f->room), 0);
	assert_int_equal(room_watch(f->room, &owner), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	room_close(f->room);
	close(f->dir_fd);
	tmpdir_remove(f->dir);
	free(f);
	return 0;
}

static off_t reserve_blocks(const struct fixture *f)
{
	struct stat st;

	assert_int_equal(fstatat(f->dir_fd, "reserve", &st, 0), 0);
	return st.st_blocks;
}

/* owe: and a look has seen it: a look that is waited for comes after what the thread was told. */
static void owe(struct fixture *f, uint64_t bytes)
{
	__atomic_store_n(&f->debt, bytes, __ATOMIC_RELEASE);
	room_took(f->room, INT64_MAX / 2);
	while (bytes ? room_left(f->room) != 0 : room_left(f->room) == 0)
		sched_yield();
}

static void test_plenty(void **state)
{
	struct fixture *f = *state;

	assert_true(room_left(f->room) > 0);
	assert_true(reserve_blocks(f) > 0);
	assert_int_equal(room_admit(f->room, ROOM_BYTES, false), 0);
	assert_int_equal(room_admit(NULL, ROOM_BYTES, false), 0);
	room_took(NULL, 1);
}

static void test_full(void **state)
{
	struct fixture *f = *state;

	owe(f, HUGE_DEBT);
	assert_int_equal(room_admit(f->room, ROOM_BYTES, true), -KILN_ENOSPC);
	assert_true(__atomic_load_n(&f->reliefs, __ATOMIC_ACQUIRE) > 0);
	assert_int_equal(room_admit(f->room, ROOM_BYTES, false), -KILN_ENOSPC);
	assert_int_equal(room_admit(f->room, ROOM_LITTLE, false), -KILN_ENOSPC);
	assert_int_equal(room_admit(f->room, ROOM_NONE, false), 0);
	assert_int_equal(room_left(f->room), 0);
	assert_int_equal(reserve_blocks(f), 0);
	owe(f, 0);
	assert_int_equal(room_admit(f->room, ROOM_BYTES, true), 0);
	while (reserve_blocks(f) == 0)
		sched_yield();
}

static void test_paid(void **state)
{
	struct fixture *f = *state;

	__atomic_store_n(&f->pays, true, __ATOMIC_RELEASE);
	__atomic_store_n(&f->debt, HUGE_DEBT, __ATOMIC_RELEASE);
	room_took(f->room, INT64_MAX / 2);
	assert_int_equal(room_admit(f->room, ROOM_BYTES, true), 0);
	assert_true(__atomic_load_n(&f->reliefs, __ATOMIC_ACQUIRE) > 0);
}

static void test_collecting(void **state)
{
	struct fixture *f = *state;

	__atomic_store_n(&f->collecting, true, __ATOMIC_RELEASE);
	owe(f, HUGE_DEBT);
	assert_int_equal(room_admit(f->room, ROOM_BYTES, false), -KILN_EWOULDBLOCK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_plenty, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_paid, setup, teardown),
		cmocka_unit_test_setup_teardown(test_collecting, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

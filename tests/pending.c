#include "tests/pending.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

void pending_begin(struct pending *p, struct kiln *k)
{
	struct kiln_result none;

	p->k = k;
	assert_int_equal(kiln_submit(k, &p->op, NULL), 0);
	assert_int_equal(kiln_collect(k, &none, 0, 1), 0); /* sends it */
}

bool pending_answered(struct pending *p)
{
	struct kiln_result r;

	return kiln_collect(p->k, &r, 0, 1) > 0;
}

int pending_end(struct pending *p)
{
	struct kiln_result r;

	assert_int_equal(kiln_collect(p->k, &r, 1, 1), 1);
	return r.error;
}

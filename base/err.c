#include "base/err.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

struct row {
	const char *name;
	int eno;
	const char *text;
};

static const struct row rows[KILN_ERR_COUNT] = {
	[KILN_OK] = { "OK", 0, "no error" },
#define X(name, eno, text) [KILN_E##name] = { #name, eno, text },
	KILN_ERRORS(X)
#undef X
};

static const struct row *row_of(int code)
{
	code = abs(code);
	return &rows[code < KILN_ERR_COUNT ? code : KILN_EIO];
}

int err_errno(int code)
{
	return row_of(code)->eno;
}

const char *err_text(int code)
{
	return row_of(code)->text;
}

const char *err_name(int code)
{
	return row_of(code)->name;
}

int err_from_errno(int eno)
{
	if (eno == 0)
		return 0;
	if (eno == ENOSPC || eno == EDQUOT)
		return -KILN_ENOSPC;
	if (eno == EIO)
		return -KILN_EIO;
	if (eno == EAGAIN)
		return -KILN_EWOULDBLOCK;
	for (int code = 1; code < KILN_ESYS; code++)
		if (rows[code].eno == eno)
			return -code;
	return -KILN_ESYS;
}

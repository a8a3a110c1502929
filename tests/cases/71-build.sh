# A C project, this one's own base and tests, is configured and built on the volume with make -j.
# carriers: all
# timeout: 180
. "$KILN_TESTS/lib.sh"
need_cmd gcc make
setup
mkdir "$MNT/src"
cp -r "$KILN_TOP/base" "$KILN_TOP/store" "$MNT/src/"
cd "$MNT/src"
cat >Makefile <<'MAKE'
CFLAGS = -std=gnu17 -O1 -g -D_GNU_SOURCE -I. -MMD
OBJECTS = $(patsubst %.c,%.o,$(wildcard base/*.c))
all: libbase.a hello
libbase.a: $(OBJECTS)
	$(AR) rcs $@ $^
hello: hello.o libbase.a
	$(CC) -o $@ $^ -lpthread
-include $(OBJECTS:.o=.d)
MAKE
cat >hello.c <<'C'
#include "base/err.h"
#include <stdio.h>
int main(void) { return puts(err_text(KILN_ENOENT)) < 0; }
C
make -s -j4
expect_eq "$(./hello)" "no such name"
expect_eq "$(make -s -j4 --question && echo fresh)" fresh "nothing is out of date after a build"
touch base/err.h
! make -s --question || fail "make does not see a newer header"
make -s -j4
make -s -j4 --question
cd /
finish

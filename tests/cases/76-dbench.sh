# dbench: a file server's load from several clients.
# carriers: all
# timeout: 120
. "$KILN_TESTS/lib.sh"
need_cmd dbench
setup
load=$(find /usr/share/dbench -name client.txt | head -n 1)
[ -n "$load" ] || skip "needs dbench's client.txt"
dbench -c "$load" -D "$MNT" -t 8 4 >"$KILN_TMP/dbench.out" 2>&1 || fail "$(tail "$KILN_TMP/dbench.out")"
# "barrier semaphore": dbench takes the first identifier, 0, for a failure
! grep -Ei 'failed|error' "$KILN_TMP/dbench.out" | grep -v 'barrier semaphore' || fail "see above"
grep Throughput "$KILN_TMP/dbench.out"
finish

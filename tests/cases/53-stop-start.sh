# An orderly stop with work under way: clients wait, the next server goes on.
# carriers: all
. "$KILN_TESTS/lib.sh"
setup
py <<'PY' &
end = time.monotonic() + 4
i = 0
while time.monotonic() < end:
    write_file('f%d' % i, b'%d' % i)
    same(read_file('f%d' % i), b'%d' % i)
    i += 1
write_file('count', b'%d' % i)
PY
work=$!
wait_for 20 test -e "$MNT/f20"
server_stop
server_start
wait $work
expect_eq "$(ls "$MNT" | wc -l)" $(($(cat "$MNT/count") + 1))

# Who waits for a lock gets it from the next server; the stop gives up on nobody else.
somebody_waits() {
	"$KILN" status --json |
		python3 -c 'import json, sys; assert json.load(sys.stdin)["queues"]["in_flight"] == 1'
}
held() {
	! flock -n "$MNT/held" true
}
mkfifo "$KILN_TMP/go"
flock "$MNT/held" cat "$KILN_TMP/go" &
holder=$!
wait_for 20 held
flock "$MNT/held" echo granted >"$KILN_TMP/waiter" &
waiter=$!
wait_for 20 somebody_waits
server_stop
server_start
wait_for 20 somebody_waits
expect_eq "$(cat "$KILN_TMP/waiter")" ""
echo >"$KILN_TMP/go"
wait $holder
wait $waiter
expect_eq "$(cat "$KILN_TMP/waiter")" granted
! grep 'requests unanswered' "$KILN_TMP/server.log" || fail "the stop waited for a lock"
finish

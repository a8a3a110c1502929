# While the server is away a program waits and can be killed; --soft gives EIO; umount works.
# carriers: all
. "$KILN_TESTS/lib.sh"
setup
echo x >"$MNT/f"
volume_create s
mount_volume s "$MNT2" --soft 1
echo x >"$MNT2/f"
server_kill
# soft: an error, soon
code=0
timeout 20 ls "$MNT2/nothing-cached" >"$KILN_TMP/out" 2>&1 || code=$?
[ "$code" != 124 ] || fail "--soft 1 did not give up"
grep -q 'Input/output error' "$KILN_TMP/out" || fail "not EIO: $(cat "$KILN_TMP/out")"
# hard: waits, but a signal ends it
mkdir "$MNT/new" &
waiter=$!
wait_for 5 grep -q '^State:.[SD]' "/proc/$waiter/status"
kill -0 $waiter || fail "a hard mount did not wait"
kill -KILL $waiter
wait $waiter 2>/dev/null || true
! kill -0 $waiter 2>/dev/null
# and goes on when the server is back
touch "$MNT/later" &
waiter=$!
server_start
wait $waiter || fail "the waiting program saw an error"
[ -e "$MNT/later" ]
server_kill
timeout 10 umount -f "$MNT" || fail "umount -f"
timeout 10 umount -l "$MNT2" || fail "umount -l"
server_start
finish

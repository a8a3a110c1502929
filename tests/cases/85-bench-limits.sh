# timeout: 120
# The server that does nothing serves a mount and the library, and kiln-million counts what it made.
. "$KILN_TESTS/lib.sh"
need_root
need_fuse
BENCH=$KILN_BUILD/bench/kiln-bench
"$KILN_BUILD/bench/kiln-null" "$SOCK" >"$KILN_TMP/null.log" 2>&1 &
SERVER_PID=$!
socket_there() {
	[ -S "$SOCK" ]
}
wait_for 20 socket_there
mount_over handover any "$MNT"
mkdir "$MNT/dir1"
touch "$MNT/dir1/file"
[ -f "$MNT/dir1/file" ] || fail "what was created is not there"
! mkdir "$MNT/dir1" 2>/dev/null || fail "a directory twice"
"$BENCH" run --budget 2s --suite meta "$MNT" >"$KILN_TMP/bench.out" || fail "$(cat "$KILN_TMP/bench.out")"
"$BENCH" run --budget 2s --suite meta "kiln://$SOCK/any" >"$KILN_TMP/bench.out" || fail "$(cat "$KILN_TMP/bench.out")"
! grep -q 'not what was written' "$KILN_TMP/bench.out" || fail "$(cat "$KILN_TMP/bench.out")"
kill -0 "$SERVER_PID"
umount_volume "$MNT"
server_kill

rm "$SOCK"
server_start
volume_create v
"$KILN_BUILD/bench/kiln-million" "kiln://$SOCK/v" 2000 >"$KILN_TMP/million"
expect_eq "$(grep -c '^create' "$KILN_TMP/million")" 10
grep -q '^listed 2000 entries' "$KILN_TMP/million" || fail "$(cat "$KILN_TMP/million")"
server_stop

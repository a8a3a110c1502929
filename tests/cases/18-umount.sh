# Unmounting: ordinary, busy, lazily, by force, by a signal, with and without a server.
# carriers: all
. "$KILN_TESTS/lib.sh"
keepers() { pgrep -fc "kiln-mount .* $MNT\$" || true; }
setup
expect_eq "$(keepers)" 1
echo x >"$MNT/f"

# busy; then lazily: it lives as long as somebody has a file open
exec 9<"$MNT/f"
expect_fail 5 'in use' "$KILN" umount "$MNT"
"$KILN" umount -l "$MNT"
! mountpoint -q "$MNT" || fail "still mounted"
expect_eq "$(cat <&9)" x
expect_eq "$(keepers)" 1
exec 9<&-
wait_for 5 sh -c "! pgrep -f 'kiln-mount .* $MNT\$'"

# SIGTERM to the process that keeps it
mount_volume v "$MNT"
pkill -TERM -f "kiln-mount .* $MNT\$"
wait_for 5 sh -c "! mountpoint -q '$MNT'"
wait_for 5 sh -c "! pgrep -f 'kiln-mount .* $MNT\$'"

# umount(8) ends the process as well
mount_volume v "$MNT"
umount "$MNT"
wait_for 5 sh -c "! pgrep -f 'kiln-mount .* $MNT\$'"

# without a server: an ordinary umount works if nobody waits, -f also if somebody does
mount_volume v "$MNT"
server_kill
timeout 20 "$KILN" umount "$MNT"
expect_eq "$(keepers)" 0
server_start
mount_volume v "$MNT"
server_kill
stat "$MNT/waits" 2>"$KILN_TMP/waits.err" &
waiter=$!
wait_for 5 grep -q request_wait_answer "/proc/$waiter/stack"
timeout 20 "$KILN" umount -f "$MNT"
! wait $waiter || fail "the waiting program saw no error"
! mountpoint -q "$MNT" || fail "still mounted"
wait_for 5 sh -c "! pgrep -f 'kiln-mount .* $MNT\$'"
server_start
finish

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
finish

# Orphans of a client that is gone for good, and locks, are gone after a restart; the rest stays.
. "$KILN_TESTS/lib.sh"
setup
py <<'PY'
write_file('stay', b'stay')
os.mkdir('d')
PY
umount_volume "$MNT"
server_kill
server_start
mount_volume v "$MNT"
base=$(df --output=iused "$MNT" | tail -n 1)
py <<'PY'
same(read_file('stay'), b'stay')
fds = []
for i in range(20):
    write_file('o%d' % i, b'x' * 100000)
    fds.append(os.open('o%d' % i, os.O_RDONLY))
    os.unlink('o%d' % i)
result(libc.syncfs(fds[0]))
PY
wait_for 10 sh -c "[ \$(df --output=iused '$MNT' | tail -n 1) -le $base ]"
finish

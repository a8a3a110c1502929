# Others fill the disk that the store lies on: the server goes on with what needs no room, ends in
# order and begins again with what it has held back; without that it says why it cannot, and it has
# everything that was there once there is room.
# allow-log: no space left
. "$KILN_TESTS/lib.sh"
need_root
need_fuse
mkdir "$DATA"
mount -t tmpfs -o size=100m tmpfs "$DATA"
setup
py <<'PY'
for i in range(100):
    write_file('f%d' % i, b'f' * 5000)
os.sync()
PY
fill() {
	! dd if=/dev/zero bs=64k 2>/dev/null >>"$DATA/theirs" || fail "the disk is not full"
}
fill
py <<'PY'
def full():
    try:
        write_file('more', b'x')
    except OSError as e:
        return e.errno == ENOSPC
until(full, 5, 'new bytes to be refused')
if exists('more'):
    os.unlink('more')
for i in range(50):
    os.unlink('f%d' % i)
    os.rename('f%d' % (50 + i), 'g%d' % i)
same(sorted(os.listdir('.')), sorted('g%d' % i for i in range(50)))
same(read_file('g7'), b'f' * 5000)
PY
umount_volume "$MNT"
server_stop
fill # what the end has freed
server_start
mount_volume v "$MNT"
py <<'PY'
same(sorted(os.listdir('.')), sorted('g%d' % i for i in range(50)))
os.unlink('g49')
PY
umount_volume "$MNT"
server_stop
rm "$DATA/reserve"
fill
expect_fail 9 'no space left for .*make room there' "$KILN" serve "$DATA" --listen "unix:$SOCK"
rm "$DATA/theirs"
server_start
mount_volume v "$MNT"
py <<'PY'
same(sorted(os.listdir('.')), sorted('g%d' % i for i in range(49)))
same(read_file('g7'), b'f' * 5000)
write_file('more', b'x')
PY
finish
umount "$DATA"

# The disk under the store is full: ENOSPC, deletes still work, and then there is room again.
# allow-log: No space left|no space left|ENOSPC
# timeout: 120
. "$KILN_TESTS/lib.sh"
need_fuse
small_disk 200M
setup
py <<'PY'
write_file('precious', b'precious' * 1000)
made = 0
def fill():
    global made
    while made < 1000:
        fd = os.open('big%d' % made, os.O_CREAT | os.O_WRONLY, 0o644)
        made += 1
        try:
            for _ in range(4):
                os.write(fd, os.urandom(1 << 20))
            os.fsync(fd)
        finally:
            os.close(fd)
expect(ENOSPC, fill)
check(20 < made < 60, 'files of 4 MiB on 200 MiB: %d' % made)
def fill_small():
    for i in range(200000):
        write_file('small%d' % i, b'y' * 4000)
expect(ENOSPC, fill_small)
same(read_file('precious'), b'precious' * 1000)
os.listdir('.')
for i in range(made):
    if exists('big%d' % i):
        os.unlink('big%d' % i)
os.sync()
def room():
    try:
        write_file('after', b'z' * 100000)
        fd = os.open('after', os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)
        return True
    except OSError as e:
        same(e.errno, ENOSPC)
        return False
until(room, 20, 'room after deleting')
same(read_file('precious'), b'precious' * 1000)
PY
umount_volume "$MNT"
server_stop
server_start
mount_volume v "$MNT"
expect_eq "$(head -c 8 "$MNT/precious")" precious
finish
umount "$DATA"

# statfs: what df shows follows what is used, and a quota is what df shows and what holds.
# carriers: all
. "$KILN_TESTS/lib.sh"
setup
py <<'PY'
base = os.statvfs('.')
same(base.f_namemax, 255)
for i in range(100):
    write_file('f%d' % i)
now = os.statvfs('.')
same((base.f_files - base.f_ffree) + 100, now.f_files - now.f_ffree, 'inodes used')
write_file('big', os.urandom(4 << 20))
os.sync()
now2 = os.statvfs('.')
used = lambda s: (s.f_blocks - s.f_bfree) * s.f_frsize
check(3 << 20 <= used(now2) - used(now) <= 6 << 20, 'bytes used', used(now2) - used(now))
os.unlink('big')
for i in range(100):
    os.unlink('f%d' % i)
def back():
    s = os.statvfs('.')
    return s.f_files - s.f_ffree == base.f_files - base.f_ffree and used(s) - used(base) < 1 << 16
until(back, 10, 'what is deleted to be free again')
PY
volume_create q --quota 10M --inodes 50
mount_volume q "$MNT2"
PY_DIR=$MNT2 py <<'PY'
s = os.statvfs('.')
check(9 << 20 <= s.f_blocks * s.f_frsize <= 10 << 20, 'df shows the quota', s.f_blocks * s.f_frsize)
def fill():
    for i in range(100):
        write_file('n%d' % i)
expect(ENOSPC, fill)
n = len(os.listdir('.'))
check(40 <= n <= 50, n)
for i in range(n):
    os.unlink('n%d' % i)
def fill_bytes():
    fd = os.open('big', os.O_CREAT | os.O_WRONLY, 0o644)
    try:
        for i in range(20):
            os.write(fd, b'x' * (1 << 20))
        os.fsync(fd)
    finally:
        os.close(fd)
expect(ENOSPC, fill_bytes)
os.unlink('big')
write_file('again', b'x' * 100000)
PY
finish

# Files beyond 4 GiB that are mostly holes.
# carriers: all
. "$KILN_TESTS/lib.sh"
setup
py <<'PY'
fd = os.open('big', os.O_CREAT | os.O_RDWR, 0o644)
places = [0, 1 << 16, (1 << 31) - 3, (1 << 32) - 3, (1 << 32) + 50, (1 << 40) + 1]
for p in places:
    os.pwrite(fd, b'<%d>' % p, p)
same(os.fstat(fd).st_size, (1 << 40) + 1 + len(b'<%d>' % places[-1]))
check(os.fstat(fd).st_blocks * 512 < 1 << 24, 'sparse', os.fstat(fd).st_blocks)
for p in places:
    want = b'<%d>' % p
    same(os.pread(fd, len(want), p), want)
same(os.pread(fd, 8, 1 << 33), b'\0' * 8)
os.fsync(fd)
os.ftruncate(fd, (1 << 32) + 51)
same(os.pread(fd, 100, (1 << 32) + 50), b'<')
os.ftruncate(fd, 1 << 41)
same(os.pread(fd, 4, (1 << 40) + 1), b'\0' * 4, 'cut off and grown again')
os.close(fd)
os.truncate('big', 0)
same(os.stat('big').st_blocks, 0)

# only grown, never written
fd = os.open('hole', os.O_CREAT | os.O_RDWR, 0o644)
os.ftruncate(fd, 5 << 30)
same(os.pread(fd, 3, (5 << 30) - 3), b'\0\0\0')
check(os.fstat(fd).st_blocks < 16)
os.close(fd)
PY
finish

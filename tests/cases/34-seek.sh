# SEEK_HOLE and SEEK_DATA: every byte that is not zero lies in what is called data.
# carriers: all
. "$KILN_TESTS/lib.sh"
setup
py <<'PY'
def seek(fd, at, whence):
    try:
        return os.lseek(fd, at, whence)
    except OSError as e:
        same(e.errno, ENXIO)
        return None

def extents(fd, size):
    found, at = [], 0
    while at < size:
        start = seek(fd, at, os.SEEK_DATA)
        if start is None:
            break
        end = seek(fd, start, os.SEEK_HOLE)
        check(at <= start < end <= size, at, start, end)
        found.append((start, end))
        at = end
    return found

for size, pieces in ((50000, [0, 24576]), (65536, []), (1 << 20, [0, 300000, (1 << 20) - 10]),
                     (5 << 30, [1 << 32]), (100, [0]), (0, [])):
    fd = os.open('f', os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o644)
    os.ftruncate(fd, size)
    for p in pieces:
        os.pwrite(fd, b'data!', p)
    got = extents(fd, size)
    for p in pieces:
        check(any(a <= p and p + 5 <= b for a, b in got), 'data at %d is in %r' % (p, got))
    if size > 1 << 19:
        check(sum(b - a for a, b in got) < size // 2, 'holes are found', got)
    if size:
        check(seek(fd, size - 1, os.SEEK_HOLE) is not None)
    for at in size, size + 1:
        same(seek(fd, at, os.SEEK_DATA), None)
        same(seek(fd, at, os.SEEK_HOLE), None)
    os.close(fd)

fd = os.open('f', os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o644)
os.write(fd, b'0123456789')
same(os.lseek(fd, 0, os.SEEK_END), 10)
same(os.lseek(fd, -3, os.SEEK_CUR), 7)
expect(EINVAL, os.lseek, fd, -1, os.SEEK_SET)
same(os.lseek(fd, 100, os.SEEK_SET), 100)
PY
finish

# fallocate(2): allocate, keep the size, punch, zero; the other modes are refused.
# carriers: all
. "$KILN_TESTS/lib.sh"
setup
py <<'PY'
for size in 1000, 20000, 65536, 300000:
    data = os.urandom(size)
    write_file('f', data)
    fd = os.open('f', os.O_RDWR)

    fallocate(fd, KEEP_SIZE, 0, size * 2)
    same(os.fstat(fd).st_size, size)
    check(os.pread(fd, 1 << 20, 0) == data)
    fallocate(fd, 0, size, 5000)
    same(os.fstat(fd).st_size, size + 5000)
    data += bytes(5000)
    check(os.pread(fd, 1 << 20, 0) == data, 'allocated bytes are zeros')

    at, n = size // 4, size // 3
    fallocate(fd, PUNCH_HOLE | KEEP_SIZE, at, n)
    data = data[:at] + bytes(n) + data[at + n:]
    check(os.pread(fd, 1 << 20, 0) == data, 'punched, %d' % size)
    fallocate(fd, PUNCH_HOLE | KEEP_SIZE, size, size * 4)
    data = data[:size] + bytes(len(data) - size)
    same(os.fstat(fd).st_size, len(data))

    at, n = size // 2, size // 5
    fallocate(fd, ZERO_RANGE | KEEP_SIZE, at, n)
    data = data[:at] + bytes(n) + data[at + n:]
    check(os.pread(fd, 1 << 20, 0) == data, 'zeroed, %d' % size)
    fallocate(fd, ZERO_RANGE, len(data) - 10, 30)
    data = data[:-10] + bytes(30)
    same(os.fstat(fd).st_size, len(data))
    check(os.pread(fd, 1 << 20, 0) == data)

    for mode in COLLAPSE, INSERT:
        expect(EOPNOTSUPP, fallocate, fd, mode, 4096, 4096)
    expect(EOPNOTSUPP, fallocate, fd, PUNCH_HOLE, 0, 10)
    expect(EINVAL, fallocate, fd, 0, 0, 0)
    expect(EINVAL, fallocate, fd, 0, -1, 10)
    expect(EFBIG, fallocate, fd, 0, (1 << 63) - 10, 100)
    check(os.pread(fd, 1 << 20, 0) == data)
    os.fsync(fd)
    os.close(fd)
    check(read_file('f') == data)

fd = os.open('f', os.O_RDONLY)
expect(EBADF, fallocate, fd, 0, 0, 10)
os.close(fd)
# punching gives space back
write_file('big', b'x' * (4 << 20))
fd = os.open('big', os.O_RDWR)
os.fsync(fd)
before = os.fstat(fd).st_blocks
fallocate(fd, PUNCH_HOLE | KEEP_SIZE, 0, 3 << 20)
check(os.fstat(fd).st_blocks < before - 4000, 'blocks', before, os.fstat(fd).st_blocks)
# mtime and setuid
os.fchmod(fd, 0o4777)
before = os.fstat(fd).st_mtime_ns
time.sleep(0.02)
fallocate(fd, PUNCH_HOLE | KEEP_SIZE, 0, 4096)
check(os.fstat(fd).st_mtime_ns > before)
PY
finish

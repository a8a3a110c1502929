# Files and directories: the calls every program makes, and the errors it relies on.
# carriers: all
. "$KILN_TESTS/lib.sh"
setup
py <<'PY'
write_file('a', b'hello')
same(read_file('a'), b'hello')
st = os.stat('a')
same(stat.S_IMODE(st.st_mode), 0o644)
same((st.st_size, st.st_nlink, st.st_uid, st.st_gid), (5, 1, 0, 0))
check(st.st_blocks >= 1, 'blocks')

# open modes
expect(EEXIST, os.open, 'a', os.O_CREAT | os.O_EXCL | os.O_WRONLY)
expect(ENOENT, os.open, 'missing', os.O_RDONLY)
expect(ENOTDIR, os.open, 'a/b', os.O_RDONLY)
expect(ENOTDIR, os.open, 'a', os.O_RDONLY | os.O_DIRECTORY)
os.symlink('a', 'l')
expect(ELOOP, os.open, 'l', os.O_RDONLY | os.O_NOFOLLOW)
fd = os.open('a', os.O_RDONLY)
expect(EBADF, os.write, fd, b'x')
os.close(fd)
fd = os.open('a', os.O_WRONLY)
expect(EBADF, os.read, fd, 1)
os.close(fd)

# overwrite, extend, truncate; what was cut off reads as zeros when it comes back
fd = os.open('a', os.O_RDWR)
os.pwrite(fd, b'J', 0)
os.pwrite(fd, b'!', 9)
same(read_file('a'), b'Jello\0\0\0\0!')
os.ftruncate(fd, 3)
os.ftruncate(fd, 6)
same(os.pread(fd, 100, 0), b'Jel\0\0\0')
same(os.pread(fd, 10, 6), b'')
expect(EINVAL, os.ftruncate, fd, -1)
os.close(fd)
os.truncate('a', 0)
same(os.stat('a').st_size, 0)
same(os.stat('a').st_blocks, 0)

# sizes around the place where a file moves out of the database
for size in 1, 4095, 4096, 8191, 8192, 8193, 65535, 65536, 65537, 200000, 3000001:
    data = os.urandom(size)
    write_file('s', data)
    same(os.stat('s').st_size, size)
    check(read_file('s') == data, 'contents of %d bytes' % size)
    fd = os.open('s', os.O_RDWR)
    os.pwrite(fd, b'ZZ', size // 2)
    data = data[:size // 2] + b'ZZ' + data[size // 2 + 2:]
    check(os.pread(fd, size + 9, 0) == data, 'overwritten, %d bytes' % size)
    os.ftruncate(fd, size // 3)
    check(os.pread(fd, size, 0) == data[:size // 3], 'shortened, %d bytes' % size)
    os.fsync(fd)
    os.fdatasync(fd)
    os.close(fd)

# one file that grows byte by byte and in odd pieces over the threshold
want = bytearray()
fd = os.open('grow', os.O_CREAT | os.O_RDWR, 0o600)
step = 1
while len(want) < 300000:
    piece = os.urandom(step)
    os.write(fd, piece)
    want += piece
    step = step * 3 % 7919 + 1
check(os.pread(fd, len(want) + 1, 0) == want, 'grown file')
os.close(fd)

# directories
os.mkdir('d', 0o750)
same(stat.S_IMODE(os.stat('d').st_mode), 0o750)
same(os.stat('d').st_nlink, 2)
os.mkdir('d/e')
same(os.stat('d').st_nlink, 3)
expect(EEXIST, os.mkdir, 'd')
expect(EEXIST, os.mkdir, 'a')
expect(ENOTEMPTY, os.rmdir, 'd')
expect(ENOTDIR, os.rmdir, 'a')
expect(EISDIR, os.unlink, 'd')
expect(EINVAL, os.rmdir, 'd/.')
expect(ENOTEMPTY, os.rmdir, 'd/e/..')
expect(EISDIR, os.open, 'd', os.O_WRONLY)
expect(ENOENT, os.mkdir, 'x/y')
os.rmdir('d/e')
same(os.stat('d').st_nlink, 2)
os.rmdir('d')
check(not exists('d'))
expect(ENOENT, os.stat, 'd')

# the times and the size of a parent change with its names
os.mkdir('p')
before = os.stat('p')
time.sleep(0.02)
write_file('p/x')
after = os.stat('p')
check(after.st_mtime_ns > before.st_mtime_ns, 'mtime of the parent')
check(after.st_ctime_ns > before.st_ctime_ns, 'ctime of the parent')
before = os.stat('p/x')
time.sleep(0.02)
os.chmod('p/x', 0o600)
after = os.stat('p/x')
check(after.st_ctime_ns > before.st_ctime_ns and after.st_mtime_ns == before.st_mtime_ns)
time.sleep(0.02)
write_file('p/x', b'1')
check(os.stat('p/x').st_mtime_ns > after.st_mtime_ns, 'mtime after a write')
os.sync()
fd = os.open('p', os.O_RDONLY)
os.fsync(fd)
result(libc.syncfs(fd))
os.close(fd)

# the umask
os.umask(0o027)
fd = os.open('u', os.O_CREAT | os.O_WRONLY, 0o777)
os.close(fd)
os.mkdir('ud', 0o777)
same(stat.S_IMODE(os.stat('u').st_mode), 0o750)
same(stat.S_IMODE(os.stat('ud').st_mode), 0o750)
PY
finish

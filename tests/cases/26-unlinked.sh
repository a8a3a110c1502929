# What is unlinked but open lives on: files and directories, by descriptor only.
# carriers: all
. "$KILN_TESTS/lib.sh"
setup
py <<'PY'
for size in 10, 100000, 1 << 22:
    data = os.urandom(size)
    write_file('f', data)
    fd = os.open('f', os.O_RDWR)
    other = os.open('f', os.O_RDONLY)
    os.unlink('f')
    check(not exists('f'))
    same(os.listdir('.'), [], 'no placeholder name')
    same(os.fstat(fd).st_nlink, 0)
    check(os.pread(fd, size, 0) == data)
    os.pwrite(fd, b'more', size)
    same(os.fstat(fd).st_size, size + 4)
    os.fchmod(fd, 0o600)
    os.ftruncate(fd, size // 2)
    os.close(fd)
    check(os.pread(other, size, 0) == data[:size // 2], 'the second descriptor')
    os.close(other)

# the name is free for another inode at once
write_file('f', b'one')
fd = os.open('f', os.O_RDONLY)
os.unlink('f')
write_file('f', b'two')
same(os.read(fd, 9), b'one')
same(read_file('f'), b'two')
os.close(fd)
os.unlink('f')

# a directory: . and .. work as they can, nothing can be created in it
os.mkdir('d')
dfd = os.open('d', os.O_RDONLY)
os.rmdir('d')
same(os.fstat(dfd).st_nlink, 0)
expect(ENOENT, os.open, 'x', os.O_CREAT | os.O_WRONLY, dir_fd=dfd)
expect(ENOENT, os.mkdir, 'x', dir_fd=dfd)
same(os.listdir(dfd), [])
os.close(dfd)

# the space comes back after the last close
def used():
    s = os.statvfs('.')
    return s.f_files - s.f_ffree
base = used()
fds = []
for i in range(50):
    write_file('t%d' % i, b'x')
    fds.append(os.open('t%d' % i, os.O_RDONLY))
    os.unlink('t%d' % i)
for fd in fds:
    os.close(fd)
until(lambda: used() <= base, 10, 'inodes of unlinked files to be freed')
PY
finish

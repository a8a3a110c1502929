# On a volume of durability `op` readers are shown what is durable; a program must still see what it
# has been told is done.
# carriers: all
. "$KILN_TESTS/lib.sh"
need_root
need_fuse
server_start
volume_create v --durability op
mount_volume v "$MNT"
py <<'PY'
os.chmod('.', 0o755)
ROUNDS = 20

def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)

def write(path):
    fd = os.open(path, os.O_WRONLY)
    os.write(fd, b'y')
    same(stat.S_IMODE(os.fstat(fd).st_mode), 0o777, 'fstat behind the write')
    os.close(fd)

# a write takes setuid and setgid away, in small files and in those with a data file
write_file('small', b'x' * 10)
write_file('large', b'x' * 100000)
for path in 'small', 'large':
    for _ in range(ROUNDS):
        os.chmod(path, 0o6777)
        same(mode(path), 0o6777)
        as_user(1002, lambda: write(path))
        same(mode(path), 0o777)

# and capabilities
caps = bytes.fromhex('0100000200040000000000000000000000000000')
for path in 'small', 'large':
    for _ in range(ROUNDS):
        os.setxattr(path, 'security.capability', caps)
        same(os.getxattr(path, 'security.capability'), caps)
        fd = os.open(path, os.O_WRONLY)
        os.write(fd, b'z')
        expect(ENODATA, os.getxattr, fd, 'security.capability')
        os.close(fd)

# names, sizes and times as on any volume
for i in range(ROUNDS):
    name = 'f%d' % i
    fd = os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR)
    for size in 0, 5000, 65536, 70000, 100:
        os.ftruncate(fd, size)
        same(os.fstat(fd).st_size, size)
        os.pwrite(fd, b'end', size)
        same(os.fstat(fd).st_size, size + 3)
        same(os.pread(fd, 10, size), b'end')
    os.utime(fd, ns=(i, i))
    same(os.fstat(fd).st_mtime_ns, i)
    os.rename(name, name + '.new')
    check(not os.path.exists(name))
    os.unlink(name + '.new')
    same(os.fstat(fd).st_nlink, 0)
    same(os.listdir('.').count(name + '.new'), 0)
    os.close(fd)
PY
finish

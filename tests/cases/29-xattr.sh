# Extended attributes in all four name spaces.
# carriers: all
. "$KILN_TESTS/lib.sh"
setup
py <<'PY'
XCREATE, XREPLACE = os.XATTR_CREATE, os.XATTR_REPLACE
write_file('f')
os.mkdir('d')
os.symlink('f', 'l')
for path in 'f', 'd':
    same(os.listxattr(path), [])
    for name in 'user.one', 'trusted.two', 'security.three':
        for value in b'', b'v', b'\0\xff' * 50, b'x' * 4000, b'y' * 65536:
            os.setxattr(path, name, value)
            check(os.getxattr(path, name) == value, name, len(value))
    same(sorted(os.listxattr(path)), ['security.three', 'trusted.two', 'user.one'])
    expect(EEXIST, os.setxattr, path, 'user.one', b'', XCREATE)
    expect(ENODATA, os.setxattr, path, 'user.new', b'', XREPLACE)
    os.setxattr(path, 'user.new', b'1', XCREATE)
    os.setxattr(path, 'user.new', b'2', XREPLACE)
    same(os.getxattr(path, 'user.new'), b'2')
    os.removexattr(path, 'user.new')
    expect(ENODATA, os.getxattr, path, 'user.new')
    expect(ENODATA, os.removexattr, path, 'user.new')
os.setxattr('f', 'user.' + 'n' * 250, b'long name')
same(os.getxattr('f', 'user.' + 'n' * 250), b'long name')
expect(ERANGE, os.setxattr, 'f', 'user.' + 'n' * 251, b'')
expect(E2BIG, os.setxattr, 'f', 'user.big', b'x' * 65537)
expect(EOPNOTSUPP, os.setxattr, 'f', 'nonsense.x', b'')

# sizes and short buffers
libc.getxattr.restype = libc.listxattr.restype = ctypes.c_ssize_t
buf = ctypes.create_string_buffer(4)
os.setxattr('f', 'user.ten', b'0123456789')
same(libc.getxattr(b'f', b'user.ten', None, 0), 10)
same(libc.getxattr(b'f', b'user.ten', buf, 4), -1)
same(ctypes.get_errno(), ERANGE)
same(libc.listxattr(b'f', buf, 4), -1)
same(ctypes.get_errno(), ERANGE)

# many
for i in range(300):
    os.setxattr('f', 'user.n%d' % i, b'%d' % i)
same(len([n for n in os.listxattr('f') if n.startswith('user.n') and n[6:].isdigit()]), 300)

# a user's attributes belong on files and directories; trusted. is root's
expect(EPERM, os.setxattr, 'l', 'user.x', b'', follow_symlinks=False)
os.setxattr('l', 'trusted.x', b'on the link', follow_symlinks=False)
same(os.getxattr('l', 'trusted.x', follow_symlinks=False), b'on the link')
expect(ENODATA, os.getxattr, 'f', 'trusted.x')
os.chmod('.', 0o777)
os.chown('f', 1001, 1001)

def user():
    os.setxattr('f', 'user.mine', b'1')
    expect(EPERM, os.setxattr, 'f', 'trusted.mine', b'1')
    check('trusted.two' not in os.listxattr('f'), 'trusted. is hidden from users')
as_user(1001, user)

def stranger():
    expect(EACCES, os.setxattr, 'f', 'user.theirs', b'1')
    same(os.getxattr('f', 'user.mine'), b'1')
as_user(1002, stranger)

# go with the inode, come not back with the name
os.unlink('f')
write_file('f')
same(os.listxattr('f'), [])
before = os.stat('f').st_ctime_ns
time.sleep(0.02)
os.setxattr('f', 'user.t', b'')
check(os.stat('f').st_ctime_ns > before, 'ctime')
PY
finish

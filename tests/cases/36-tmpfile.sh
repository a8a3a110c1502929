# O_TMPFILE: a file without a name, and linkat to give it one.
# carriers: all
. "$KILN_TESTS/lib.sh"
setup
py <<'PY'
def used():
    s = os.statvfs('.')
    return s.f_files - s.f_ffree # the free ones go with the space that others leave

before = used()
fd = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o640)
os.write(fd, b'nameless')
same(os.fstat(fd).st_nlink, 0)
same(os.listdir('.'), [])
link_fd(fd, 'named')
same(os.fstat(fd).st_nlink, 1)
same(read_file('named'), b'nameless')
same(stat.S_IMODE(os.stat('named').st_mode), 0o640)
os.close(fd)
same(read_file('named'), b'nameless')

fd = os.open('.', os.O_TMPFILE | os.O_RDWR | os.O_EXCL, 0o600)
expect(ENOENT, link_fd, fd, 'never')
os.close(fd)
expect(EINVAL, os.open, '.', os.O_TMPFILE | os.O_RDONLY)

for i in range(20):
    fd = os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o600)
    os.write(fd, b'x' * 100000)
    os.close(fd)
until(lambda: used() <= before + 1, 10, 'the inodes of closed files')
# a file whose last name is gone cannot come back
fd = os.open('named', os.O_RDONLY)
os.unlink('named')
expect(ENOENT, link_fd, fd, 'again')
PY
finish

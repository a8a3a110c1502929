# Names are bytes: any but NUL and '/', 1 to 255 of them, told apart exactly.
# carriers: all
. "$KILN_TESTS/lib.sh"
setup
py <<'PY'
names = [bytes([b]) for b in range(1, 256) if b not in (0x2f, 0x2e)]
names += [b'\xff\xfe', b'a\nb', b' ', b'  ', b'...', b'-rf', b'*', b'\xc3\xa9', b'e\xcc\x81', b'A', b'a']
names += [b'n' * 255, b'\xff' * 255, b'.' + b'x' * 254]
names = sorted(set(names))
for n in names:
    write_file(n, n)
same(sorted(os.listdir(b'.')), names)
for n in names:
    same(read_file(n), n)
for call in (lambda n: os.mkdir(n), lambda n: write_file(n), lambda n: os.symlink('x', n),
             lambda n: os.mkfifo(n), lambda n: os.link(b'A', n), lambda n: os.rename(b'A', n),
             lambda n: os.stat(n), lambda n: os.unlink(n), lambda n: os.rmdir(n)):
    expect(ENAMETOOLONG, call, b'n' * 256)
    expect(ENAMETOOLONG, call, b'n' * 300)
for n in names:
    os.unlink(n)
same(os.listdir(b'.'), [])

# a path deeper than PATH_MAX, walked step by step
fd = os.open('.', os.O_RDONLY)
for i in range(40):
    os.mkdir('deep' * 50, dir_fd=fd)
    sub = os.open('deep' * 50, os.O_RDONLY, dir_fd=fd)
    os.close(fd)
    fd = sub
os.fchdir(fd)
for i in range(40):
    os.chdir('..')
    os.rmdir('deep' * 50)
same(os.listdir('.'), [])
PY
finish

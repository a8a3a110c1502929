# O_APPEND from two mounts: no byte is lost, each write lands whole.
. "$KILN_TESTS/lib.sh"
setup_two
py "$MNT" "$MNT2" <<'PY'
a, b = sys.argv[1], sys.argv[2]
N = 400
write_file(a + '/log')

def writer(path, tag):
    fd = os.open(path + '/log', os.O_WRONLY | os.O_APPEND)
    for i in range(N):
        os.write(fd, b'%s%06d %s\n' % (tag, i, b'.' * (i * 37 % 500)))
    os.close(fd)

together(lambda: writer(a, b'a'), lambda: writer(b, b'b'), lambda: writer(a, b'c'))

def lines():
    return sorted(line.split()[0] for line in read_file(a + '/log').splitlines() if line.split())
want = sorted(b'%s%06d' % (t, i) for t in (b'a', b'b', b'c') for i in range(N))
until(lambda: lines() == want, 5, 'all lines: %d of %d' % (len(lines()), len(want)))
for line in read_file(b + '/log').splitlines():
    tag, dots = line.split(b' ')
    same(len(dots), int(tag[1:]) * 37 % 500)
PY
finish

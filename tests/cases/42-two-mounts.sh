# Two mounts of one volume, one handed over and one relayed, see each other's changes within
# the cache time (1 s), whole.
. "$KILN_TESTS/lib.sh"
setup_two
py "$MNT" "$MNT2" <<'PY'
for a, b in (sys.argv[1:], sys.argv[2:0:-1]):
    LIMIT = 2.0  # one second of cache and some for a busy machine
    write_file(a + '/f', b'one')
    until(lambda: exists(b + '/f'), LIMIT, 'a new name')
    same(read_file(b + '/f'), b'one')
    for i in range(20):
        data = (b'%03d' % i) * (1000 if i % 2 else 40000)
        write_file(a + '/g', data)
        os.rename(a + '/g', a + '/f')
        def whole():
            got = read_file(b + '/f')
            check(got == got[:3] * (len(got) // 3), 'a mixture of two contents')
            return got == data
        until(whole, LIMIT, 'new contents %d' % i)
    os.chmod(a + '/f', 0o600)
    until(lambda: stat.S_IMODE(os.stat(b + '/f').st_mode) == 0o600, LIMIT, 'a new mode')
    os.truncate(a + '/f', 5)
    until(lambda: os.stat(b + '/f').st_size == 5, LIMIT, 'a new size')
    fd = os.open(b + '/f', os.O_RDONLY)
    os.unlink(a + '/f')
    until(lambda: not exists(b + '/f'), LIMIT, 'a name gone')
    same(len(os.read(fd, 100)), 5, 'open on one side, unlinked on the other')
    os.close(fd)
    os.mkdir(a + '/d')
    until(lambda: os.path.isdir(b + '/d'), LIMIT, 'a directory')
    for i in range(50):
        write_file((a, b)[i % 2] + '/d/%d' % i)
    want = sorted('%d' % i for i in range(50))
    for side in a, b:
        until(lambda: sorted(os.listdir(side + '/d')) == want, LIMIT, 'the same listing')
    # in place, open on both sides: an open after the change's close sees it
    write_file(a + '/h', b'x' * 10000)
    until(lambda: exists(b + '/h'), LIMIT)
    for i in range(10):
        fd = os.open((a, b)[i % 2] + '/h', os.O_RDWR)
        os.pwrite(fd, b'%05d' % i, 5 * i)
        os.close(fd)
        other = (b, a)[i % 2] + '/h'
        until(lambda: read_file(other)[5 * i:5 * i + 5] == b'%05d' % i, LIMIT, 'a change in place')
    for side in a, b:
        until(lambda: read_file(side + '/h').startswith(b''.join(b'%05d' % i for i in range(10))), LIMIT, 'all changes')
    for i in range(50):
        try:
            os.unlink((b, a)[i % 2] + '/d/%d' % i)
        except FileNotFoundError:
            check(False, 'lost name')
    os.rmdir(a + '/d')
    os.unlink(a + '/h')
    until(lambda: os.listdir(b) == [], LIMIT)
# the same name created on both sides: one wins each time
def race(side, tag, wins):
    for i in range(200):
        try:
            os.close(os.open(side + '/r%d' % i, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            os.write(wins, tag)
        except FileExistsError:
            pass
r, w = os.pipe()
together(lambda: race(sys.argv[1], b'a', w), lambda: race(sys.argv[2], b'b', w))
same(len(os.read(r, 1000)), 200, 'each name was created once')
PY
finish

# Times: nanoseconds, before 1970 and beyond 2038 and 2106, NOW, OMIT, who may set them.
# carriers: all
. "$KILN_TESTS/lib.sh"
setup
py <<'PY'
os.chmod('.', 0o777)
write_file('f')
def times():
    s = os.stat('f')
    return s.st_atime_ns, s.st_mtime_ns
for sec, ns in ((0, 0), (1, 999999999), (-1, 1), (-5000000000, 7), (2**31 - 1, 5), (2**31, 5),
                (2**32 + 3, 123456789), (2**34, 1), (2**40, 0), (-2**40, 3)):
    utimensat('f', (sec, ns), (sec + 1, ns))
    same(times(), (sec * 10**9 + ns, (sec + 1) * 10**9 + ns))
utimensat('f', (1, 1), (2, 2))
utimensat('f', (0, UTIME_OMIT), (5, 5))
same(times(), (10**9 + 1, 5 * 10**9 + 5))
utimensat('f', (7, 7), (0, UTIME_OMIT))
same(times(), (7 * 10**9 + 7, 5 * 10**9 + 5))
ctime = os.stat('f').st_ctime_ns
utimensat('f', (0, UTIME_OMIT), (0, UTIME_OMIT))
same(times(), (7 * 10**9 + 7, 5 * 10**9 + 5))
same(os.stat('f').st_ctime_ns, ctime, 'both omitted: no change at all')
now = time.time_ns()
utimensat('f', (0, UTIME_NOW), (3, 3))
check(abs(times()[0] - now) < 5 * 10**9 and times()[1] == 3 * 10**9 + 3)
expect(EINVAL, utimensat, 'f', (0, 10**9), (0, 0))

# anyone who may write may say "now"; other times are the owner's
os.chmod('f', 0o666)
def stranger():
    utimensat('f', (0, UTIME_NOW), (0, UTIME_NOW))
    expect(EPERM, utimensat, 'f', (1, 0), (1, 0))
    expect(EPERM, utimensat, 'f', (0, UTIME_NOW), (1, 0))
as_user(1001, stranger)
os.chmod('f', 0o644)
as_user(1001, lambda: expect(EACCES, utimensat, 'f', (0, UTIME_NOW), (0, UTIME_NOW)))

# what moves which time
def moved(call, path='f'):
    before = os.stat(path)
    time.sleep(0.02)
    call()
    after = os.stat(path)
    return ''.join(c for c in 'mc' if getattr(after, 'st_%ctime_ns' % c) > getattr(before, 'st_%ctime_ns' % c))
def append():
    fd = os.open('f', os.O_WRONLY | os.O_APPEND)
    os.write(fd, b'x')
    os.close(fd)
same(moved(append), 'mc')
same(moved(lambda: os.chmod('f', 0o600)), 'c')
same(moved(lambda: os.link('f', 'g')), 'c')
same(moved(lambda: os.truncate('f', 0)), 'mc')
same(moved(lambda: os.chown('f', 3, 3)), 'c')
same(moved(lambda: read_file('f')), '')
os.mkdir('d')
same(moved(lambda: write_file('d/x'), 'd'), 'mc')
same(moved(lambda: write_file('d/x', b'again'), 'd'), '')
same(moved(lambda: os.unlink('d/x'), 'd'), 'mc')

# a birth time that stays
out = os.popen('stat -c %W f').read().strip()
check(abs(int(out) - time.time()) < 60, 'birth time', out)

# times set are what another stat sees after the cache is gone
utimensat('f', (11, 11), (12, 12))
fd = os.open('f', os.O_RDWR)
os.write(fd, b'data')
os.utime(fd, ns=(13, 14))
os.close(fd)
same(times(), (13, 14), 'a write before utimes does not come after it')
PY
finish

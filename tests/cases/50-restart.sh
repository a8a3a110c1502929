# The server is killed again and again while programs work: they pause and see no error, and
# everything they were told is there; nothing is there twice.
# carriers: all
# timeout: 120
. "$KILN_TESTS/lib.sh"
setup
py <<'PY' &
def worker(tag):
    os.mkdir(tag)
    end = time.monotonic() + 12
    i = 0
    while time.monotonic() < end:
        name = '%s/%d' % (tag, i)
        fd = os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644)
        os.write(fd, b'%d' % i * 100)
        os.close(fd)
        os.mkdir(name + '.d')
        os.rename(name, name + '.d/f')
        os.link(name + '.d/f', name + '.l')
        same(os.stat(name + '.l').st_nlink, 2)
        os.unlink(name + '.l')
        if i % 3 == 0:
            os.unlink(name + '.d/f')
            os.rmdir(name + '.d')
        i += 1
    print(tag, 'made', i, flush=True)
    write_file(tag + '/count', b'%d' % i)

def appender():
    fd = os.open('log', os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
    end = time.monotonic() + 12
    i = 0
    while time.monotonic() < end:
        same(os.write(fd, b'%09d\n' % i), 10)
        i += 1
    os.close(fd)
    write_file('log.count', b'%d' % i)

together(lambda: worker('a'), lambda: worker('b'), appender)
PY
work=$!
kills=0
while kill -0 $work 2>/dev/null && [ $kills -lt 6 ]; do
	# let it work for a random while: that the moment differs is the point of the case
	sleep "0.$((RANDOM % 9 + 1))"
	server_kill
	server_start
	kills=$((kills + 1))
done
wait $work
[ $kills -ge 3 ] || fail "only $kills kills"
py <<'PY'
for tag in 'a', 'b':
    n = int(read_file(tag + '/count'))
    want = {'%d.d' % i for i in range(n) if i % 3} | {'count'}
    same(set(os.listdir(tag)), want)
    for i in range(n):
        if i % 3:
            same(read_file('%s/%d.d/f' % (tag, i)), b'%d' % i * 100)
            same(os.stat('%s/%d.d/f' % (tag, i)).st_nlink, 1)
n = int(read_file('log.count'))
check(read_file('log') == b''.join(b'%09d\n' % i for i in range(n)), 'each append exactly once')
PY
finish

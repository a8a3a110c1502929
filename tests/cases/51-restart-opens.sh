# What a client has open, unlinked and locked survives the server's sudden end.
# carriers: all
. "$KILN_TESTS/lib.sh"
setup
mkfifo "$KILN_TMP/go" "$KILN_TMP/ready"
py "$KILN_TMP/ready" "$KILN_TMP/go" <<'PY' &
import locks_common as L
big = os.urandom(300000)
write_file('plain', b'plain')
plain = os.open('plain', os.O_RDWR)
write_file('orphan', big)
orphan = os.open('orphan', os.O_RDWR)
os.unlink('orphan')
small = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o600)
os.write(small, b'nameless')
os.mkdir('gone')
gone = os.open('gone', os.O_RDONLY)
os.rmdir('gone')
os.mkdir('list')
for i in range(2000):
    write_file('list/%d' % i)
it = os.scandir('list')
first = [next(it).name for _ in range(10)]
write_file('locked')
locked = os.open('locked', os.O_RDWR)
L.lock(locked, L.W, 10, 10)
flocked = os.open('locked', os.O_RDWR)
fcntl.flock(flocked, fcntl.LOCK_EX)
mapped = mmap.mmap(plain, 5)
os.write(plain, b'PLAIN')
for round in range(2):
    with open(sys.argv[1], 'w') as f:
        f.write('ready')
    read_file(sys.argv[2])
    same(os.pread(plain, 9, 0), b'PLAIN')
    check(os.pread(orphan, 1 << 20, 0) == big, 'an unlinked file')
    os.pwrite(orphan, b'more', len(big))
    big += b'more'
    same(os.fstat(orphan).st_nlink, 0)
    same(os.pread(small, 20, 0), b'nameless')
    same(os.fstat(gone).st_nlink, 0)
    check(L.probe('locked', L.W), 'an fcntl lock')
    fd = os.open('locked', os.O_RDWR)
    expect(EWOULDBLOCK, fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(fd)  # closes a descriptor: this process's fcntl locks on it go
    L.lock(locked, L.W, 10, 10)
    same(mapped[0:5], b'PLAIN')
names = first + [e.name for e in it]
same(sorted(names), sorted('%d' % i for i in range(2000)), 'a listing under way')
link_fd(small, 'now-named')
same(read_file('now-named'), b'nameless')
for fd in orphan, gone, plain:
    os.close(fd)
PY
work=$!
for _ in 1 2; do
	expect_eq "$(cat "$KILN_TMP/ready")" ready
	server_kill
	server_start
	echo >"$KILN_TMP/go"
done
wait $work
expect_eq "$(ls "$MNT" | tr '\n' ' ')" "list locked now-named plain "
finish

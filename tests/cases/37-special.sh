# FIFOs, sockets and devices.
# carriers: all
. "$KILN_TESTS/lib.sh"
setup
py <<'PY'
import socket
os.mkfifo('fifo', 0o644)
check(stat.S_ISFIFO(os.stat('fifo').st_mode))
r = os.open('fifo', os.O_RDONLY | os.O_NONBLOCK)
w = os.open('fifo', os.O_WRONLY)
os.write(w, b'through')
same(os.read(r, 20), b'through')
os.close(r), os.close(w)

s = socket.socket(socket.AF_UNIX)
s.bind('sock')
s.listen()
check(stat.S_ISSOCK(os.stat('sock').st_mode))
c = socket.socket(socket.AF_UNIX)
c.connect('sock')
c.send(b'hello')
same(s.accept()[0].recv(9), b'hello')

for mode, dev in ((stat.S_IFCHR, os.makedev(1, 3)), (stat.S_IFBLK, os.makedev(7, 200)),
                  (stat.S_IFCHR, os.makedev(4095, 1048575))):
    os.mknod('dev', mode | 0o600, dev)
    st = os.lstat('dev')
    same((stat.S_IFMT(st.st_mode), st.st_rdev), (mode, dev))
    os.unlink('dev')
os.mknod('plain', stat.S_IFREG | 0o604)
same(os.stat('plain').st_mode, stat.S_IFREG | 0o604)
expect(EEXIST, os.mkfifo, 'plain')
os.chmod('.', 0o777)
as_user(1001, lambda: expect(EPERM, os.mknod, 'dev', stat.S_IFCHR | 0o600, os.makedev(1, 3)))
as_user(1001, lambda: os.mkfifo('theirs'))
same(os.stat('theirs').st_uid, 1001)
same(sorted((e.name, e.is_file(follow_symlinks=False)) for e in os.scandir('.')),
     [('fifo', False), ('plain', True), ('sock', False), ('theirs', False)])
PY
finish

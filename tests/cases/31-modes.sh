# Permission bits that carry meaning: sticky and setgid directories, setuid and setgid cleared,
# access by group and supplementary group.
# carriers: all
. "$KILN_TESTS/lib.sh"
setup
py <<'PY'
os.chmod('.', 0o755)

# sticky: only the owner of the name or of the directory removes or renames
os.mkdir('tmp')
os.chmod('tmp', 0o1777)
os.mkdir('free')
os.chmod('free', 0o777)
def owner():
    for d in 'tmp', 'free':
        write_file(d + '/mine')
        write_file(d + '/mine2')
        os.mkdir(d + '/dir')
as_user(1001, owner)
def stranger():
    for n in 'mine', 'mine2':
        expect(EPERM, os.unlink, 'tmp/' + n)
        expect(EPERM, os.rename, 'tmp/' + n, 'tmp/stolen')
    expect(EPERM, os.rmdir, 'tmp/dir')
    write_file('tmp/other')
    expect(EPERM, os.rename, 'tmp/other', 'tmp/mine')
    os.unlink('free/mine')
    os.rename('free/mine2', 'free/stolen')
    os.rmdir('free/dir')
as_user(1002, stranger)
as_user(1001, lambda: os.unlink('tmp/mine'))

# setgid directory: its group is inherited, and by directories the bit too
os.mkdir('sg')
os.chown('sg', 0, 3000)
os.chmod('sg', 0o2777)
def inside():
    write_file('sg/f')
    os.mkdir('sg/d')
    os.symlink('x', 'sg/l')
as_user(1001, inside)
for n in 'f', 'd', 'l':
    same(os.lstat('sg/' + n).st_gid, 3000, n)
same(stat.S_IMODE(os.stat('sg/d').st_mode) & 0o2000, 0o2000)
same(stat.S_IMODE(os.stat('sg/f').st_mode) & 0o2000, 0)
write_file('plain')
same(os.stat('plain').st_gid, 0)

# setuid and setgid go when somebody without privilege writes or truncates, and at chown
write_file('s', b'x' * 10)
os.chown('s', 1001, 1001)
def mode():
    return stat.S_IMODE(os.stat('s').st_mode)
def write():
    fd = os.open('s', os.O_WRONLY)
    os.write(fd, b'y')
    os.close(fd)
def grow():
    os.truncate('s', 20)
for act in write, grow:
    os.chmod('s', 0o6777)
    same(mode(), 0o6777)
    as_user(1002, act)
    same(mode(), 0o777, act.__name__)
os.chmod('s', 0o6777)
os.chown('s', 1001, 1001)
check(mode() & 0o4000 == 0, 'setuid after chown')
os.chmod('s', 0o4755)
same(read_file('s')[:1], b'y')
same(mode(), 0o4755, 'reading changes nothing')

# chmod by the owner in a foreign group drops setgid; chown and chmod are the owner's
os.chown('s', 1001, 3000)
os.chmod('s', 0o755)
as_user(1001, lambda: os.chmod('s', 0o2755))
same(mode(), 0o755)
as_user(1001, lambda: os.chmod('s', 0o2755), groups=(3000,))
same(mode(), 0o2755)
as_user(1002, lambda: expect(EPERM, os.chmod, 's', 0o777))
as_user(1002, lambda: expect(EPERM, os.chown, 's', 1002, -1))
as_user(1001, lambda: expect(EPERM, os.chown, 's', 1002, -1))
as_user(1001, lambda: expect(EPERM, os.chown, 's', -1, 3001))
as_user(1001, lambda: os.chown('s', -1, 3001), groups=(3001,))
same(os.stat('s').st_gid, 3001)

# who may read: owner, group, supplementary group, others, one class decides
write_file('g', b'g')
os.chown('g', 1001, 4000)
os.chmod('g', 0o040)
as_user(1001, lambda: expect(EACCES, os.open, 'g', os.O_RDONLY))
as_user(1002, lambda: expect(EACCES, os.open, 'g', os.O_RDONLY))
as_user(1002, lambda: read_file('g'), groups=(5, 4000, 7))
as_user(1002, lambda: read_file('g'), gid=4000)
many = tuple(range(5000, 5100)) + (4000,)
as_user(1002, lambda: read_file('g'), groups=many)
os.chmod('g', 0o004)
as_user(1002, lambda: expect(EACCES, os.open, 'g', os.O_RDONLY), groups=(4000,))

# creating and removing needs write and search in the directory
os.mkdir('ro')
write_file('ro/f')
os.chmod('ro', 0o555)
def in_ro():
    expect(EACCES, write_file, 'ro/new')
    expect(EACCES, os.unlink, 'ro/f')
    expect(EACCES, os.mkdir, 'ro/d')
    expect(EACCES, os.rename, 'ro/f', 'ro/g')
    read_file('ro/f')
as_user(1001, in_ro)
os.chmod('ro', 0o444)
as_user(1001, lambda: expect(EACCES, os.stat, 'ro/f'))
as_user(1001, lambda: os.listdir('ro'))
check(os.access('ro', os.W_OK))
as_user(1001, lambda: check(not os.access('ro', os.W_OK)))
PY
finish

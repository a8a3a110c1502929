# rename(2): every pair of kinds, NOREPLACE, EXCHANGE, into oneself, over open files.
# carriers: all
. "$KILN_TESTS/lib.sh"
setup
py <<'PY'
def make(path, kind):
    if kind == 'file':
        write_file(path, path.encode())
    elif kind == 'dir':
        os.mkdir(path)
    elif kind == 'full':
        os.mkdir(path)
        write_file(path + '/x')
    elif kind == 'link':
        os.symlink('nowhere', path)
    elif kind == 'fifo':
        os.mkfifo(path)

def clear(path):
    if not exists(path):
        return
    if os.path.isdir(path) and not os.path.islink(path):
        for n in os.listdir(path):
            os.unlink(path + '/' + n)
        os.rmdir(path)
    else:
        os.unlink(path)

os.mkdir('A')
os.mkdir('B')
kinds = 'file', 'dir', 'full', 'link', 'fifo', 'none'
for old in kinds:
    for new in kinds:
        make('A/o', old)
        make('B/n', new)
        ino = os.lstat('A/o').st_ino if old != 'none' else 0
        is_dir = old in ('dir', 'full')
        if old == 'none':
            expect(ENOENT, os.rename, 'A/o', 'B/n')
        elif new == 'full' and is_dir:
            expect(ENOTEMPTY, os.rename, 'A/o', 'B/n')
        elif new in ('dir', 'full') and not is_dir:
            expect(EISDIR, os.rename, 'A/o', 'B/n')
        elif new in ('file', 'link', 'fifo') and is_dir:
            expect(ENOTDIR, os.rename, 'A/o', 'B/n')
        else:
            os.rename('A/o', 'B/n')
            check(not exists('A/o'), old, new)
            same(os.lstat('B/n').st_ino, ino)
        for d in 'A', 'B':
            want = 2 + sum(os.path.isdir(d + '/' + n) and not os.path.islink(d + '/' + n)
                           for n in os.listdir(d))
            same(os.stat(d).st_nlink, want, 'links of %s after %s to %s' % (d, old, new))
        clear('A/o')
        clear('B/n')

# to itself, and between two links of one inode: nothing happens
write_file('f')
os.rename('f', 'f')
os.link('f', 'g')
os.rename('f', 'g')
check(exists('f') and exists('g'), 'rename between two links of one inode keeps both')
os.unlink('g')

# never into oneself, nor '.', nor '..'
os.makedirs('d/e/f')
expect(EINVAL, os.rename, 'd', 'd/e/f/g')
expect(EINVAL, os.rename, 'd', 'd/x')
expect(ENOTEMPTY, os.rename, 'd/e/f', 'd')
for bad in 'd/.', 'd/..':
    try:
        os.rename(bad, 'q')
        check(False, 'renamed ' + bad)
    except OSError as e:
        check(e.errno in (EBUSY, EINVAL, ENOTEMPTY), bad, e.errno)
os.rename('d/e/f', 'top')
same(os.stat('d/e').st_nlink, 2)
same(os.stat('top/..').st_ino, os.stat('.').st_ino)

# NOREPLACE
write_file('n1', b'1')
write_file('n2', b'2')
expect(EEXIST, rename2, 'n1', 'n2', NOREPLACE)
rename2('n1', 'n3', NOREPLACE)
same(read_file('n3'), b'1')

# EXCHANGE, of a file and a directory with different parents too
rename2('n2', 'n3', EXCHANGE)
same((read_file('n2'), read_file('n3')), (b'1', b'2'))
os.makedirs('p/sub')
os.mkdir('q')
write_file('q/file', b'f')
rename2('p/sub', 'q/file', EXCHANGE)
check(os.path.isdir('q/file') and read_file('p/sub') == b'f')
same((os.stat('p').st_nlink, os.stat('q').st_nlink), (2, 3))
same(os.stat('q/file/..').st_ino, os.stat('q').st_ino)
expect(ENOENT, rename2, 'n2', 'nothing', EXCHANGE)
os.makedirs('x/y')
expect(EINVAL, rename2, 'x', 'x/y', EXCHANGE)
expect(EINVAL, rename2, 'x/y', 'x', EXCHANGE)
expect(EINVAL, rename2, 'n2', 'n3', EXCHANGE | NOREPLACE)

# over a file that is open: its bytes stay readable
write_file('old', b'old bytes')
write_file('new', b'new bytes')
fd = os.open('old', os.O_RDWR)
os.rename('new', 'old')
same(os.read(fd, 100), b'old bytes')
same(os.fstat(fd).st_nlink, 0)
os.pwrite(fd, b'OLD', 0)
same(os.pread(fd, 3, 0), b'OLD')
same(read_file('old'), b'new bytes')
os.close(fd)

# times: both parents change, and the ctime of what was renamed
os.makedirs('t1')
os.makedirs('t2')
write_file('t1/f')
a, b, c = os.stat('t1'), os.stat('t2'), os.stat('t1/f')
time.sleep(0.02)
os.rename('t1/f', 't2/f')
check(os.stat('t1').st_mtime_ns > a.st_mtime_ns and os.stat('t2').st_mtime_ns > b.st_mtime_ns)
check(os.stat('t2/f').st_ctime_ns > c.st_ctime_ns)
PY
finish

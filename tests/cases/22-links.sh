# Hard links and symbolic links.
# carriers: all
. "$KILN_TESTS/lib.sh"
setup
py <<'PY'
write_file('a', b'x')
os.link('a', 'b')
os.mkdir('d')
os.link('a', 'd/c')
sa, sb = os.stat('a'), os.stat('d/c')
same((sa.st_ino, sa.st_nlink), (sb.st_ino, 3))
write_file('b', b'through b')
same(read_file('a'), b'through b')
os.chmod('d/c', 0o600)
same(stat.S_IMODE(os.stat('a').st_mode), 0o600)
before = os.stat('a').st_ctime_ns
time.sleep(0.02)
os.unlink('a')
after = os.stat('b')
same(after.st_nlink, 2)
check(after.st_ctime_ns > before, 'ctime after unlink of another link')
expect(EEXIST, os.link, 'b', 'd/c')
expect(ENOENT, os.link, 'zzz', 'y')
expect(EPERM, os.link, 'd', 'e')
os.unlink('b')
same(os.stat('d/c').st_nlink, 1)
same(read_file('d/c'), b'through b')

# many links to one inode
write_file('m')
for i in range(1000):
    os.link('m', 'm%d' % i)
same(os.stat('m').st_nlink, 1001)
for i in range(1000):
    os.unlink('m%d' % i)
same(os.stat('m').st_nlink, 1)

# symbolic links: any bytes, up to 4095, relative, absolute, dangling, loops
for target in b'd/c', b'/', b'..', b'nowhere', b'\xff\x01 \n', b'x' * 4095, b'a//b/../c/':
    os.symlink(target, b's')
    same(os.readlink(b's'), target)
    same(os.lstat(b's').st_size, len(target))
    check(stat.S_ISLNK(os.lstat(b's').st_mode))
    os.unlink(b's')
expect(ENAMETOOLONG, os.symlink, b'x' * 4096, b's')
expect(ENOENT, os.symlink, '', 's')
os.symlink('d', 's')
same(read_file('s/c'), b'through b')
os.symlink('self', 'self')
expect(ELOOP, os.stat, 'self')
expect(EEXIST, os.symlink, 'x', 's')
expect(EINVAL, os.readlink, 'd/c')
expect(ENOTDIR, os.rmdir, 's')
# a hard link to a symbolic link
os.link('s', 's2', follow_symlinks=False)
same(os.readlink('s2'), 'd')
same(os.lstat('s').st_nlink, 2)
# owner and times of the link itself
os.lchown('s', 12, 34)
same((os.lstat('s').st_uid, os.stat('s').st_uid), (12, 0))
os.utime('s', ns=(5, 7), follow_symlinks=False)
same((os.lstat('s').st_atime_ns, os.lstat('s').st_mtime_ns), (5, 7))
PY
finish

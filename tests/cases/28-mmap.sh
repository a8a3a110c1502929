# Mapped files, shared and private.
# carriers: all
. "$KILN_TESTS/lib.sh"
setup
py <<'PY'
size = 1 << 20
write_file('m', b'a' * size)
fd = os.open('m', os.O_RDWR)
shared = mmap.mmap(fd, size)
private = mmap.mmap(fd, size, flags=mmap.MAP_PRIVATE)
shared[5000:5005] = b'hello'
same(os.pread(fd, 5, 5000), b'hello', 'read(2) sees the mapping')
os.pwrite(fd, b'world', 9000)
same(shared[9000:9005], b'world', 'the mapping sees write(2)')
private[0:3] = b'zzz'
same(os.pread(fd, 3, 0), b'aaa', 'a private mapping changes nothing')
shared.flush()
shared.close()
private.close()
os.fsync(fd)
os.close(fd)
data = read_file('m')
check(data[5000:5005] == b'hello' and data[9000:9005] == b'world' and len(data) == size)

# stays valid after close and unlink
fd = os.open('m', os.O_RDWR)
shared = mmap.mmap(fd, size)
os.close(fd)
os.unlink('m')
shared[0:4] = b'gone'
same(shared[0:4], b'gone')
shared.close()

# an executable
import shutil, subprocess
shutil.copy('/bin/echo', 'echo')
os.chmod('echo', 0o755)
same(subprocess.run(['./echo', 'runs'], stdout=subprocess.PIPE).stdout, b'runs\n')
PY
finish

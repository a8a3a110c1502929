"""What the cases' Python parts share: system calls Python lacks, and expectations."""
import ctypes, errno, fcntl, mmap, os, signal, stat, struct, sys, threading, time, traceback
from errno import *

libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
libc.mmap.restype = ctypes.c_void_p
AT_FDCWD = -100
NOREPLACE, EXCHANGE, WHITEOUT = 1, 2, 4
KEEP_SIZE, PUNCH_HOLE, COLLAPSE, ZERO_RANGE, INSERT, UNSHARE = 1, 2, 8, 16, 32, 64
UTIME_NOW, UTIME_OMIT = (1 << 30) - 1, (1 << 30) - 2


def check(condition, *text):
    if not condition:
        raise AssertionError(*text)


def same(got, want, text=''):
    check(got == want, '%s: got %r, expected %r' % (text, got, want))


def expect(number, call, *args, **named):
    """call must fail with that errno."""
    try:
        value = call(*args, **named)
    except OSError as e:
        check(e.errno == number, '%s%r: %s, expected %s' % (
            call.__name__, args, errno.errorcode[e.errno], errno.errorcode[number]))
        return
    raise AssertionError('%s%r gave %r, expected %s' % (
        call.__name__, args, value, errno.errorcode[number]))


def result(value):
    if value < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return value


def path_bytes(path):
    return path if isinstance(path, bytes) else path.encode()


def rename2(old, new, flags):
    return result(libc.renameat2(AT_FDCWD, path_bytes(old), AT_FDCWD, path_bytes(new), flags))


def fallocate(fd, mode, offset, length):
    return result(libc.fallocate(fd, mode, offset, length))


def utimensat(path, atime, mtime, flags=0):
    """atime and mtime are (seconds, nanoseconds)."""
    times = struct.pack('qqqq', *atime, *mtime)
    return result(libc.utimensat(AT_FDCWD, path_bytes(path), times, flags))


def link_fd(fd, path):
    follow = 0x400
    return result(libc.linkat(AT_FDCWD, b'/proc/self/fd/%d' % fd, AT_FDCWD, path_bytes(path), follow))


def write_file(path, data=b'', mode=0o644):
    fd = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, mode)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view):]
    finally:
        os.close(fd)


def read_file(path):
    with open(path, 'rb') as f:
        return f.read()


def exists(path):
    return os.path.lexists(path)


def until(condition, seconds=10, text='condition'):
    """Waits for a condition; what is promised at once is not waited for with this."""
    end = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < end, 'waited in vain for ' + text)
        time.sleep(0.01)


class Child:
    """A function in a process of its own, perhaps as another user; wait() raises if it did."""

    def __init__(self, call, *args, uid=0, gid=0, groups=()):
        self.pid = os.fork()
        if self.pid:
            return
        code = 1
        try:
            if uid or gid:
                os.setgroups(groups)
                os.setresgid(gid, gid, gid)
                os.setresuid(uid, uid, uid)
            call(*args)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def running(self):
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def wait(self):
        _, status = os.waitpid(self.pid, 0)
        check(status == 0, 'a child failed: status %d' % status)


def as_user(uid, call, *args, gid=None, groups=()):
    Child(call, *args, uid=uid, gid=uid if gid is None else gid, groups=groups).wait()


def together(*calls):
    """Each call in its own process, all at once."""
    for child in [Child(call) for call in calls]:
        child.wait()


class Turn:
    """Lets processes take turns: one side waits for what the other says."""

    def __init__(self):
        self.r, self.w = os.pipe()

    def say(self):
        os.write(self.w, b'x')

    def wait(self, seconds=20):
        import select
        check(select.select([self.r], [], [], seconds)[0], 'nobody said so')
        os.read(self.r, 1)


class Interrupted(Exception):
    pass


def interruptible():
    """SIGUSR1 raises in the main thread instead of restarting the call."""
    def handler(number, frame):
        raise Interrupted()
    signal.signal(signal.SIGUSR1, handler)

"""Locks taken through path a by one process and through path b by another; a and b may be the
same mount or two mounts of one volume."""
from kfs import *


def lock(fd, kind, start=0, length=0, wait=False):
    fcntl.fcntl(fd, fcntl.F_SETLKW if wait else fcntl.F_SETLK,
                struct.pack('hhqqi4x', kind, os.SEEK_SET, start, length, 0))


def holder(fd, kind, start=0, length=0):
    got = fcntl.fcntl(fd, fcntl.F_GETLK, struct.pack('hhqqi4x', kind, os.SEEK_SET, start, length, 0))
    return struct.unpack('hhqqi4x', got)


R, W, U = fcntl.F_RDLCK, fcntl.F_WRLCK, fcntl.F_UNLCK


def busy(fd, kind, start=0, length=0):
    try:
        lock(fd, kind, start, length)
    except OSError as e:
        check(e.errno in (EAGAIN, EACCES), e.errno)
        return True
    lock(fd, U, start, length)
    return False


def other(path, call):
    """call(fd) in a child that has opened path anew."""
    def run():
        fd = os.open(path, os.O_RDWR)
        call(fd)
    Child(run).wait()


def ranges(a, b):
    fd = os.open(a, os.O_RDWR)
    lock(fd, W, 100, 50)
    other(b, lambda o: check(busy(o, W, 100, 1) and busy(o, R, 149, 1)))
    other(b, lambda o: check(not busy(o, W, 99, 1) and not busy(o, W, 150, 1)))
    other(b, lambda o: check(busy(o, W, 0, 0), 'to the end of the file'))

    def tell(o):
        kind, _, start, length, _ = holder(o, W, 0, 0)
        same((kind, start, length), (W, 100, 50), 'F_GETLK')
    other(b, tell)
    lock(fd, U, 120, 10)  # a hole in the middle
    other(b, lambda o: check(not busy(o, W, 120, 10) and busy(o, W, 119, 1) and busy(o, W, 130, 1)))
    lock(fd, R, 100, 20)  # downgraded
    other(b, lambda o: check(not busy(o, R, 100, 20) and busy(o, W, 100, 20)))
    lock(fd, U)
    other(b, lambda o: check(not busy(o, W)))
    lock(fd, W, (1 << 62), 10)
    other(b, lambda o: check(busy(o, W, (1 << 62) + 9, 1) and not busy(o, W, 1 << 61, 1)))
    # all of a process's locks on a file go when it closes any descriptor of it
    os.close(os.open(a, os.O_RDONLY))
    until(lambda: not probe(b, W), 5, 'locks to go at close')
    os.close(fd)


def probe(path, kind):
    """Whether another process finds the file locked."""
    r, w = os.pipe()

    def run():
        fd = os.open(path, os.O_RDWR)
        os.write(w, b'1' if busy(fd, kind) else b'0')
    Child(run).wait()
    answer = os.read(r, 1)
    os.close(r)
    os.close(w)
    return answer == b'1'


def shared(a, b):
    fd = os.open(a, os.O_RDWR)
    lock(fd, R)
    held, go = Turn(), Turn()

    def reader():
        o = os.open(b, os.O_RDWR)
        lock(o, R)
        held.say()
        go.wait()
    c = Child(reader)
    held.wait()
    check(busy(fd, W), 'an upgrade waits for the other reader')
    go.say()
    c.wait()
    until(lambda: not busy(fd, W), 5, 'the lock of a process that ended')
    os.close(fd)


def blocking(a, b):
    fd = os.open(a, os.O_RDWR)
    lock(fd, W)
    waiting, got = Turn(), Turn()

    def waiter():
        o = os.open(b, os.O_RDWR)
        waiting.say()
        lock(o, W, wait=True)
        got.say()
    c = Child(waiter)
    waiting.wait()
    import select
    check(not select.select([got.r], [], [], 0.3)[0], 'the lock was given while held')
    lock(fd, U)
    got.wait()
    c.wait()
    os.close(fd)


def interrupted(a, b):
    fd = os.open(a, os.O_RDWR)
    lock(fd, W)
    waiting, out = Turn(), Turn()

    def waiter():
        interruptible()
        o = os.open(b, os.O_RDWR)
        waiting.say()
        try:
            lock(o, W, wait=True)
        except Interrupted:
            out.say()
            return
        check(False, 'the lock was given')
    c = Child(waiter)
    waiting.wait()

    def asleep():
        with open('/proc/%d/stat' % c.pid) as f:
            return f.read().rsplit(')', 1)[1].split()[0] in 'SD'
    until(asleep, 5, 'the waiter to wait')
    end = time.monotonic() + 10
    while c.running():
        check(time.monotonic() < end, 'a signal does not end the wait')
        os.kill(c.pid, signal.SIGUSR1)
        time.sleep(0.05)
    out.wait()
    c.wait()
    # the interrupted waiter left nothing in the queue
    lock(fd, U)
    check(not probe(b, W))
    os.close(fd)


def flocks(a, b):
    fd = os.open(a, os.O_RDWR)
    twin = os.dup(fd)
    again = os.open(b, os.O_RDWR)
    fcntl.flock(fd, fcntl.LOCK_EX)
    fcntl.flock(twin, fcntl.LOCK_EX | fcntl.LOCK_NB)
    expect(EWOULDBLOCK, fcntl.flock, again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    expect(EWOULDBLOCK, fcntl.flock, again, fcntl.LOCK_SH | fcntl.LOCK_NB)
    check(not probe(b, W), 'flock and fcntl do not see each other')
    fcntl.flock(fd, fcntl.LOCK_SH)
    fcntl.flock(again, fcntl.LOCK_SH | fcntl.LOCK_NB)
    expect(EWOULDBLOCK, fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(again, fcntl.LOCK_UN)
    fcntl.flock(fd, fcntl.LOCK_EX)
    os.close(fd)
    expect(EWOULDBLOCK, fcntl.flock, again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(twin)
    until_free(again)
    # blocking, and inherited by a child
    ready, done = Turn(), Turn()

    def waiter():
        o = os.open(a, os.O_RDWR)
        ready.say()
        fcntl.flock(o, fcntl.LOCK_EX)
        done.say()
    c = Child(waiter)
    ready.wait()
    fcntl.flock(again, fcntl.LOCK_UN)
    done.wait()
    c.wait()
    os.close(again)


def until_free(fd):
    def free():
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            return False
    until(free, 5, 'the flock to go with its last descriptor')


def killed(a, b):
    held = Turn()

    def victim():
        o = os.open(b, os.O_RDWR)
        lock(o, W)
        f = os.open(b, os.O_RDWR)
        fcntl.flock(f, fcntl.LOCK_EX)
        held.say()
        time.sleep(60)
    c = Child(victim)
    held.wait()
    check(probe(a, W))
    os.kill(c.pid, signal.SIGKILL)
    os.waitpid(c.pid, 0)
    until(lambda: not probe(a, W), 5, 'the lock of a killed process')
    fd = os.open(a, os.O_RDWR)
    until_free(fd)
    os.close(fd)


def many(a, b, counted=None):
    """Four processes in turn: nobody is inside while another is.  Through one mount no count is
    lost either; what another mount reads may be as old as its cache, unless it has none."""
    path_a, path_b = a + '.count', b + '.count'
    write_file(path_a, b'0')
    rounds = 60
    inside = mmap.mmap(-1, 1)  # shared between the processes, outside the volume

    def count(path):
        fd = os.open(path, os.O_RDWR)
        for _ in range(rounds):
            lock(fd, W, wait=True)
            check(inside[0] == 0, 'two are inside')
            inside[0] = 1
            n = int(os.pread(fd, 20, 0))
            os.pwrite(fd, b'%d' % (n + 1), 0)
            check(inside[0] == 1)
            inside[0] = 0
            lock(fd, U)
    until(lambda: exists(path_b), 5)
    together(*[lambda p=p: count(p) for p in (path_a, path_b, path_a, path_b)])
    if a == b if counted is None else counted:
        same(int(read_file(path_a)), 4 * rounds)


def run(dir_a, dir_b):
    a, b = dir_a + '/lock', dir_b + '/lock'
    write_file(a, b'x' * 10)
    until(lambda: exists(b), 5)
    for test in ranges, shared, blocking, interrupted, flocks, killed, many:
        test(a, b)

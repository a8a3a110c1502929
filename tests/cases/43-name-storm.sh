# Every operation on names at once, from two mounts, in one small tree, while the server is killed
# now and then: afterwards the tree is one tree, every count is right, and what has neither a name
# nor an open file is gone.  Both mounts are made anew before the tree is looked at: a kernel that
# removed one directory while it took the name for another's keeps believing the other one dead.
# timeout: 120
. "$KILN_TESTS/lib.sh"
setup_two
cat >"$KILN_TMP/storm.py" <<'PY'
from kfs import *
import random

# what such an operation may meet when others work on the same names (EPERM: link of a directory)
MAY = {EPERM, ENOENT, EEXIST, ENOTDIR, EISDIR, ENOTEMPTY, EINVAL, ESTALE, ELOOP, EBUSY}
NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'n' * 255]


def any_path(r):
    return '/'.join(r.choice(NAMES) for _ in range(r.choice((1, 1, 2, 2, 3))))


def close_some(r, held):
    while len(held) > r.randrange(20):
        os.close(held.pop(r.randrange(len(held))))


def hold(held, path, flags):
    held.append(os.open(path, flags, 0o644))
    os.fstat(held[-1])


def name_tmpfile(r, held):
    fd = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o644)
    held.append(fd)
    same(os.fstat(fd).st_nlink, 0)
    link_fd(fd, any_path(r))


def write_held(r, held):
    fd = r.choice(held)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        os.pwrite(fd, b'x' * r.choice((1, 9000, 100000)), 0)


def list_all(path):
    with os.scandir(path) as entries:
        names = [e.name for e in entries]
    same(len(names), len(set(names)), 'a name twice')


def storm(side, seed, seconds):
    os.chdir(side)
    r = random.Random(seed)
    held, done = [], 0
    path = lambda: any_path(r)
    acts = [
        lambda: os.mkdir(path()), lambda: os.mkdir(path()), lambda: os.rmdir(path()),
        lambda: os.mknod(path(), stat.S_IFREG | 0o644), lambda: os.mkfifo(path()),
        lambda: os.symlink('a/b', path()), lambda: os.link(path(), path(), follow_symlinks=False),
        lambda: os.unlink(path()), lambda: os.unlink(path()), lambda: os.rename(path(), path()),
        lambda: os.rename(path(), path()), lambda: rename2(path(), path(), NOREPLACE),
        lambda: rename2(path(), path(), EXCHANGE),
        lambda: hold(held, path(), os.O_CREAT | os.O_RDWR | os.O_NONBLOCK),
        lambda: hold(held, path(), os.O_CREAT | os.O_EXCL | os.O_RDWR),
        lambda: hold(held, path(), os.O_RDONLY | os.O_DIRECTORY),
        lambda: name_tmpfile(r, held), lambda: held and write_held(r, held),
        lambda: list_all(path()), lambda: close_some(r, held),
    ]
    end = time.monotonic() + seconds
    while time.monotonic() < end or done < 100:  # also where all is slow
        try:
            r.choice(acts)()
            done += 1
        except OSError as e:
            check(e.errno in MAY, e)
    for fd in held:
        os.close(fd)
    print(side, seed, done, flush=True)


sides, seconds = sys.argv[2:], float(sys.argv[1])
seed = int(os.environ.get('KILN_TEST_SEED', time.time()))
print('KILN_TEST_SEED=%d' % seed, flush=True)
together(*[lambda s=s, i=i: storm(s, seed + i, seconds)
           for i in range(2) for s in sides])
PY
cat >"$KILN_TMP/whole.py" <<'PY'
from kfs import *


def survey(top):
    """Every inode: how many links it claims, and all its names, each as its directory's inode and
    the name there (paths may be longer than PATH_MAX).  Checks `..` and directories' links."""
    seen = {}
    for _, dirs, files, fd in os.fwalk(os.fsencode(top)):
        here = os.fstat(fd)
        subdirs = 0
        for name in dirs + files:
            st = os.lstat(name, dir_fd=fd)
            seen.setdefault(st.st_ino, (st.st_nlink, stat.S_ISDIR(st.st_mode), set()))[2].add(
                (here.st_ino, name))
            if stat.S_ISDIR(st.st_mode):
                subdirs += 1
                same(os.stat(name + b'/..', dir_fd=fd).st_ino, here.st_ino, '..')
        same(here.st_nlink, 2 + subdirs, 'links of a directory')
    for nlink, is_dir, names in seen.values():
        same(1 if is_dir else nlink, len(names), names)
    return seen


seen = survey(sys.argv[1])
same(survey(sys.argv[2]), seen, 'both mounts')
print(1 + len(seen), file=open(sys.argv[3], 'w'))
PY
python3 "$KILN_TMP/storm.py" 12 "$MNT" "$MNT2" &
work=$!
for _ in 1 2 3; do
	sleep "2.$((RANDOM % 9))"
	server_kill
	server_start
done
wait $work
umount_volume "$MNT"
umount_volume "$MNT2"
info() {
	"$KILN" volume info v --json | python3 -c "import json, sys; print(json.load(sys.stdin)['$1'])"
}
no_orphans() {
	[ "$(info orphans)" = 0 ]
}
wait_for 10 no_orphans || fail "$(info orphans) orphans, and nobody is there to have them open"
mount_over handover v "$MNT"
mount_over relay v "$MNT2"
python3 "$KILN_TMP/whole.py" "$MNT" "$MNT2" "$KILN_TMP/count"
expect_eq "$(info used_inodes)" "$(cat "$KILN_TMP/count")"
finish

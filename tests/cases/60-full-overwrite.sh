# The disk under the store is full and its small files are overwritten in place, which takes room
# though no file grows: that works or gives ENOSPC, and nothing else; what was acknowledged is there
# after a killed server's restart on the full disk; removing works, and makes room by itself.
# allow-log: No space left|no space left
# timeout: 240
. "$KILN_TESTS/lib.sh"
need_fuse
small_disk 400M
setup
cat >"$KILN_TMP/full.py" <<'PY'
from kfs import *
import json, random, time
STATE = os.environ['KILN_TMP'] + '/state.json'
SIZES = [1000, 4000, 16000, 30000, 65536]
def content(i, version):
    return b'%08d.%08d.' % (i, version) + random.Random(i * 1000003 + version).randbytes(SIZES[i % 5])
def put(i, version, sync):
    fd = os.open('f%d' % i, os.O_CREAT | os.O_WRONLY, 0o644)
    try:
        os.pwrite(fd, content(i, version), 0)
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)
def load():
    with open(STATE) as f:
        return {int(k): v for k, v in json.load(f).items()}
def save(versions):
    with open(STATE, 'w') as f:
        json.dump(versions, f)
def overwrite(versions, seconds):
    """Only ENOSPC or success; how often each.  A refused one has changed nothing."""
    done = refused = 0
    names, end = list(versions), time.monotonic() + seconds
    while time.monotonic() < end:
        i = random.choice(names)
        try:
            put(i, versions[i] + 1, done % 8 == 0)
            versions[i] += 1
            done += 1
        except OSError as e:
            same(e.errno, ENOSPC)
            refused += 1
    return done, refused
def verify(versions):
    for i, version in versions.items():
        check(read_file('f%d' % i) == content(i, version), 'bytes of f%d' % i)
PY
export PYTHONPATH=$PYTHONPATH:$KILN_TMP
py <<'PY'
from full import *
versions = {}
def fill():
    for i in range(len(versions), 1000000):
        put(i, 0, i % 50 == 0)
        versions[i] = 0
def full():
    expect(ENOSPC, fill)
    s = os.statvfs('.')
    return s.f_bavail * s.f_frsize < 8 << 20
until(full, 20, 'df to show that nothing can be written')
check(len(versions) > 4000, 'files on 400 MiB: %d' % len(versions))
overwrite(versions, 5)
save(versions)
PY
full_restart() {
	server_kill
	server_start
	py <<-'PY'
		from full import *
		versions = load()
		verify(versions)
		overwrite(versions, 2)
		save(versions)
	PY
}
full_restart
! cat /dev/zero 2>/dev/null >"$DATA/other" || fail "the disk is not full"
full_restart
py <<'PY'
from full import *
versions = load()
for i in random.sample(list(versions), len(versions) * 2 // 3):
    os.unlink('f%d' % i)
    del versions[i]
save(versions)
def room():
    try:
        put(1000000, 1, True)
        return True
    except OSError as e:
        same(e.errno, ENOSPC)
        return False
until(room, 30, 'room after deleting, with what others have left')
PY
rm "$DATA/other"
py <<'PY'
from full import *
versions = load()
until(lambda: overwrite(versions, 0.5)[1] == 0, 30, 'all goes on by itself')
done, refused = overwrite(versions, 3)
check(done > 100 and refused == 0, 'overwriting goes on', done, refused)
verify(versions)
PY
[ "$(grep -c 'no space left for' "$KILN_TMP/server.log")" -le 12 ] || fail "it says so too often"
finish
umount "$DATA"

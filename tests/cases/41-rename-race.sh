# Renames from many sides at once never make a directory its own ancestor and lose nothing.
# carriers: all
# timeout: 90
. "$KILN_TESTS/lib.sh"
setup
py <<'PY'
import random
N = 24
for i in range(N):
    os.mkdir('d%d' % i)
    write_file('d%d/id' % i, b'%d' % i)

def paths():
    return [root for root, _, _ in os.walk('.') if root != '.']

def shuffle(seed):
    r = random.Random(seed)
    end = time.monotonic() + 4
    while time.monotonic() < end:
        all_paths = paths()
        if len(all_paths) < 2:
            continue
        a, b = r.sample(all_paths, 2)
        name = os.path.basename(a)
        try:
            if r.random() < 0.2:
                rename2(a, b, EXCHANGE)
            elif r.random() < 0.5:
                os.rename(a, b + '/' + name)
            else:
                os.rename(a, './' + name)
        except OSError as e:
            check(e.errno in (EINVAL, ENOENT, ENOTEMPTY, EEXIST, ENOTDIR, EISDIR, ESTALE, EBUSY), e)

together(*[lambda s=s: shuffle(s) for s in range(4)])
seen = set()
for root, dirs, files in os.walk('.'):
    same(os.stat(root).st_nlink, 2 + len(dirs), 'links of ' + root)
    for f in files:
        seen.add(int(read_file(root + '/' + f)))
    for d in dirs:
        same(os.stat(root + '/' + d + '/..').st_ino, os.stat(root).st_ino)
same(seen, set(range(N)), 'every directory is still reachable')
PY
finish

# Listing a large directory while others create and delete in it: each name that stays is seen
# exactly once, and no name that never was.
# carriers: all
# timeout: 120
. "$KILN_TESTS/lib.sh"
setup
py <<'PY'
N = 20000
os.mkdir('big')
for i in range(N):
    os.close(os.open('big/stay%d' % i, os.O_CREAT | os.O_WRONLY))
stay = {'stay%d' % i for i in range(N)}

def churn(tag, done):
    i = 0
    while not os.path.exists(done):
        for k in range(20):
            write_file('big/%s%d' % (tag, i + k))
        for k in range(20):
            os.unlink('big/%s%d' % (tag, i + k))
        i += 20

children = [Child(churn, tag, 'done') for tag in ('x', 'y')]
for _ in range(8):
    seen = os.listdir('big')
    same(len(seen), len(set(seen)), 'names seen twice')
    check(stay <= set(seen), 'names missing')
    check(all(n in stay or n[0] in 'xy' for n in seen), 'names that never were')
write_file('done')
for c in children:
    c.wait()
same(set(os.listdir('big')), stay)

# with attributes, and by position
total = 0
with os.scandir('big') as it:
    for e in it:
        same(e.inode(), e.stat().st_ino)
        total += 1
same(total, N)

# deleting what was listed while listing, the way rm -r does
removed = 0
with os.scandir('big') as it:
    for e in it:
        os.unlink(e.path)
        removed += 1
same(removed, N)
same(os.listdir('big'), [])
os.rmdir('big')

# seek: back to the start shows what is new; a position stays good
libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
libc.telldir.restype = ctypes.c_long
for f in libc.readdir, libc.rewinddir, libc.telldir, libc.closedir:
    f.argtypes = [ctypes.c_void_p]
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
os.mkdir('s')
for i in range(500):
    write_file('s/%d' % i)

def name_at(entry):
    return ctypes.string_at(entry + 19)

d = libc.opendir(b's')
seen, places = [], []
while True:
    places.append(libc.telldir(d))
    e = libc.readdir(d)
    if not e:
        break
    seen.append(name_at(e))
same(len(seen), 502)
check(b'.' in seen and b'..' in seen)
for i in 0, 1, 2, 100, 250, 501:
    libc.seekdir(d, places[i])
    same(name_at(libc.readdir(d)), seen[i], 'entry at position %d' % i)
write_file('s/new')
libc.rewinddir(d)
again = []
while True:
    e = libc.readdir(d)
    if not e:
        break
    again.append(name_at(e))
same(sorted(again), sorted(seen + [b'new']))
libc.closedir(d)
PY
finish

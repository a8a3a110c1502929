# open(O_CREAT) of a name that another user creates at the same moment: one of them makes the
# file, the others are checked against its mode as for any open, and nobody sees ESTALE.
# timeout: 60
. "$KILN_TESTS/lib.sh"
setup_two
chmod 755 "$KILN_TMP"
py "$MNT" "$MNT2" <<'PY'
N = 500
os.mkdir('race')
os.chmod('race', 0o777)


def opener(side, opened):
    for i in range(N):
        try:
            fd = os.open('%s/race/%d' % (side, i), os.O_CREAT | os.O_RDWR, 0o600)
        except PermissionError:
            continue
        same(os.fstat(fd).st_uid, os.getuid(), 'owner of what was opened')
        os.close(fd)
        os.write(opened, b'x')


r, w = os.pipe()
sides = sys.argv[1], sys.argv[2], sys.argv[1]
children = [Child(opener, side, w, uid=1000 + i, gid=1000) for i, side in enumerate(sides)]
for child in children:
    child.wait()
same(len(os.read(r, 10000)), N, 'each file belongs to one')
owners = {os.stat('race/%d' % i).st_uid for i in range(N)}
print('owners', owners)
PY
finish

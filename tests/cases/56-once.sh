# However often the server is killed, each change takes effect once: a name made twice would give
# EEXIST, one removed twice ENOENT, an append done twice shows.
# carriers: all
# timeout: 120
. "$KILN_TESTS/lib.sh"
setup
for worker in 1 2; do
	py "$worker" "$KILN_TMP/enough" <<'PY' &
import random
seed, enough = sys.argv[1:]
random.seed(seed)
os.mkdir('w' + seed)
os.chdir('w' + seed)
n, lines, names = 0, 0, {}
log = os.open('log', os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND)
def some():
    return random.choice(list(names))
while not os.path.exists(enough):
    n += 1
    kind = random.randrange(6)
    if kind == 0:
        os.mkdir('d%d' % n)
        names['d%d' % n] = None
    elif kind == 1:
        fd = os.open('f%d' % n, os.O_CREAT | os.O_EXCL | os.O_RDWR)
        os.write(fd, b'x' * n)
        os.close(fd)
        names['f%d' % n] = n
    elif kind == 2 and names:
        name = some()
        (os.rmdir if names.pop(name) is None else os.unlink)(name)
    elif kind == 3 and names:
        name = some()
        os.rename(name, 'r%d' % n)
        names['r%d' % n] = names.pop(name)
    elif kind == 4:
        os.write(log, b'%08d\n' % lines)
        lines += 1
    elif kind == 5 and names:
        name = some()
        if names[name] is not None:
            os.link(name, 'l%d' % n)
            names['l%d' % n] = names[name]
same(sorted(os.listdir('.')), sorted(list(names) + ['log']))
same(read_file('log'), b''.join(b'%08d\n' % i for i in range(lines)))
for name, size in names.items():
    if size is not None:
        same(os.stat(name).st_size, size)
PY
	workers[worker]=$!
done
kills=0
end=$((SECONDS + 9))
while [ "$SECONDS" -lt "$end" ] || [ "$kills" -lt 3 ]; do
	sleep "0.$((RANDOM % 5 + 1))" # when it strikes is to be any moment
	server_kill
	kills=$((kills + 1))
	server_start
done
touch "$KILN_TMP/enough"
wait "${workers[1]}"
wait "${workers[2]}"
finish

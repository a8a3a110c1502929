# Nonsense on the socket closes that connection, with one line in the log; nobody else notices.
# allow-log: .
. "$KILN_TESTS/lib.sh"
setup
echo hello >"$MNT/f"
py "$SOCK" "$TCP_PORT" <<'PY'
import random, socket
r = random.Random(7)
def hello(kind=3, version=1, volume=b'v', slots=8):
    return struct.pack('<IHHIIQQ72s64s24x', 0x4e4c494b, version, kind, 0, slots, r.getrandbits(64), 5, volume, b'test')
def header(length, opcode, node=1):
    return struct.pack('<IIQQIIIHH', length, opcode, 1, node, 0, 0, 0, 0, 0)
samples = [b'', b'x', b'\0' * 500, os.urandom(1000), b'GET / HTTP/1.0\r\n\r\n', hello()[:100],
           hello(version=99), hello(kind=77), hello(volume=b'nothere'), hello(volume=b'x' * 72),
           hello() + header(0, 1), hello() + header(39, 26), hello() + header(0xffffffff, 26),
           hello() + header(40, 26), hello() + header(48, 1) + b'abcdefgh',
           hello() + header(40, 9999), hello(slots=0), hello(slots=1 << 31)]
samples += [hello() + os.urandom(r.randrange(1, 400)) for _ in range(100)]
for i, data in enumerate(samples):
    for family, address in ((socket.AF_UNIX, sys.argv[1]), (socket.AF_INET, ('127.0.0.1', int(sys.argv[2])))):
        s = socket.socket(family)
        s.settimeout(10)
        s.connect(address)
        try:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            while s.recv(4096):
                pass
        except (BrokenPipeError, ConnectionResetError, OSError) as e:
            check(not isinstance(e, socket.timeout), 'sample %d: the connection stays open' % i)
        s.close()
    if i % 20 == 0:
        same(read_file('f'), b'hello\n')
write_file('g')
same(sorted(os.listdir('.')), ['f', 'g'])
PY
finish
! grep -E 'Sanitizer|assert|lock: ' "$KILN_TMP/server.log" || fail "the server's log has more than refusals"

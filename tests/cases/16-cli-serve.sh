# What a process needs around a server: one line when it is ready, readiness for a service manager,
# background, a log that can be moved away, an orderly end, and no server where there can be none.
. "$KILN_TESTS/lib.sh"
need_root
need_cmd python3

# the ready line names every address, and whoever reads it can connect
mkfifo "$KILN_TMP/out"
"$KILN" serve "$DATA" --listen "unix:$SOCK" --listen "unix:$KILN_TMP/second" \
	>"$KILN_TMP/out" 2>"$KILN_TMP/server.log" </dev/null &
SERVER_PID=$!
read -r line <"$KILN_TMP/out"
[[ $line =~ ^kiln\ [0-9.]+\ ready:\ unix:$SOCK\ unix:$KILN_TMP/second\  ]] || fail "ready line: $line"
"$KILN" volume create kept
KILN_SERVER=unix:$KILN_TMP/second "$KILN" volume info kept >/dev/null
kill -INT "$SERVER_PID"
wait "$SERVER_PID" || fail "SIGINT: exit code $?"
SERVER_PID=
[ ! -e "$SOCK" ] || fail "the socket is left behind"
expect_fail 3 'no server' "$KILN" status

# in the background; the command ends when clients can connect
"$KILN" serve "$DATA" --listen "unix:$SOCK" --daemon --log "$KILN_TMP/server.log" \
	--debug admin >"$KILN_TMP/ready"
grep -q '^kiln .* ready: ' "$KILN_TMP/ready" || fail "no ready line from --daemon"
SERVER_PID=$(sed 's/.*pid \([0-9]*\)).*/\1/' "$KILN_TMP/ready")
"$KILN" volume info kept >/dev/null
# the log can be moved away
mv "$KILN_TMP/server.log" "$KILN_TMP/server-1.log"
kill -HUP "$SERVER_PID"
wait_for 10 test -e "$KILN_TMP/server.log"
"$KILN" volume list >/dev/null
wait_for 10 grep -q 'GET /v1/volumes' "$KILN_TMP/server.log"
# a second one says why not, in front as in the background
expect_fail 5 "in use.*$SERVER_PID" "$KILN" serve "$DATA" --listen "unix:$KILN_TMP/other"
expect_fail 5 "in use.*$SERVER_PID" "$KILN" serve "$DATA" --listen "unix:$KILN_TMP/other" --daemon \
	--log "$KILN_TMP/other.log"
rm "$KILN_TMP/other.log"
kill -TERM "$SERVER_PID"
gone() { ! kill -0 "$SERVER_PID"; }
wait_for 20 gone
SERVER_PID=

# a service manager is told
NOTIFY=$KILN_TMP/notify
python3 - "$NOTIFY" "$KILN_TMP/states" <<'PY' &
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
s.settimeout(30)
with open(sys.argv[2], 'w', 1) as out:
    for _ in range(2):
        out.write(s.recv(100).decode() + '\n')
PY
manager=$!
wait_for 10 test -S "$NOTIFY"
NOTIFY_SOCKET=$NOTIFY "$KILN" serve "$DATA" --listen "unix:$SOCK" >>"$KILN_TMP/server.log" 2>&1 &
SERVER_PID=$!
wait_for 20 grep -q READY=1 "$KILN_TMP/states"
server_stop
wait "$manager"
expect_eq "$(tail -n 1 "$KILN_TMP/states")" STOPPING=1

# where there can be none
serve() { timeout -s KILL 20 "$KILN" serve "$@" --listen "unix:$SOCK"; }
expect_fail 1 . serve "$KILN_TMP/no/such/parent"
expect_fail 1 . serve "$KILN_TMP/ready"
expect_fail 1 'no socket' timeout -s KILL 20 "$KILN" serve "$DATA" --listen "unix:$KILN_TMP/ready"
expect_fail 2 'rocksdb' serve "$DATA" --backend mem
expect_fail 2 'layout' serve "$DATA" --layout single
expect_fail 1 'log' serve "$DATA" --log "$KILN_TMP/no/such/log"
mkdir "$KILN_TMP/tiny"
mount -t tmpfs -o size=512k none "$KILN_TMP/tiny"
expect_fail 9 'space' serve "$KILN_TMP/tiny/data"
umount "$KILN_TMP/tiny"

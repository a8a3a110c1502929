# Administration from the command line: what it asks, prints, refuses; by force, by hand.
# carriers: all
. "$KILN_TESTS/lib.sh"
need_root
need_cmd curl
server_start
json() { python3 -c "import json, sys; v = json.load(sys.stdin); print($1)"; }

# settings, as given and as stored
volume_create home --durability op --quota 10G --inodes 1000 --cache none --read-only
expect_eq "$("$KILN" volume info home --json | json \
	"v['durability'], v['quota_bytes'], v['quota_inodes'], v['cache'], v['read_only']")" \
	"op 10737418240 1000 none True"
"$KILN" volume set home durability=fsync quota=none inodes=5 cache=ttl read-only=off
expect_eq "$("$KILN" volume info home --json | json \
	"v['durability'], v['quota_bytes'], v['quota_inodes'], v['cache'], v['read_only']")" \
	"fsync 0 5 ttl False"
"$KILN" volume set home quota=1536K
"$KILN" volume list | grep -q '^home .* 1.5 MiB ' || fail "$("$KILN" volume list)"
"$KILN" volume list --bytes | grep -q '^home .* 1572864 ' || fail "$("$KILN" volume list --bytes)"
expect_eq "$("$KILN" status --json | json "v['volumes']['count'], v['top_volumes'][0]['name']")" \
	"1 home"
expect_eq "$("$KILN" volume create other --json | json "v['name'], len(v['uuid'])")" "other 36"

# what is wrong is said, and nothing happens
expect_fail 2 "'1.5G' is not a size" "$KILN" volume create x --quota 1.5G
expect_fail 2 'too large' "$KILN" volume create x --quota 8E
expect_fail 2 'not one of fsync|op' "$KILN" volume create x --durability none
expect_fail 2 "did you mean 'quota'" "$KILN" volume set home qouta=1G
expect_fail 2 'yes or no' "$KILN" volume set home read-only=maybe
expect_fail 2 '"fsync" or "op"' "$KILN" volume set home durability=maybe
expect_fail 2 'KEY=VALUE' "$KILN" volume set home read-only
expect_fail 2 'volume rename' "$KILN" volume set home name=x
expect_fail 4 "'nothere'" "$KILN" volume set nothere quota=1G
expect_fail 4 "'nothere'" "$KILN" volume rename nothere x
expect_fail 4 "'nothere'" "$KILN" volume delete nothere
expect_fail 5 "'other'.*exists" "$KILN" volume rename home other
expect_fail 2 "'-x'" "$KILN" volume rename home -- -x
expect_fail 3 'no server' "$KILN" volume list --server "unix:$KILN_TMP/nobody"
expect_fail 2 'Unix socket' "$KILN" volume list --server "tcp:127.0.0.1:$TCP_PORT"
expect_fail 2 'not a server' "$KILN" volume list --server nonsense
expect_eq "$("$KILN" volume list | wc -l)" 3

# over TCP nobody administers
expect_eq "$(curl -s -o "$KILN_TMP/out" -w '%{http_code}' "http://127.0.0.1:$TCP_PORT/v1/volumes")" 403
grep -q 'Unix socket' "$KILN_TMP/out" || fail "$(cat "$KILN_TMP/out")"
# by hand, as documented
expect_eq "$(curl -s --unix-socket "$SOCK" -X PUT http://kiln/v1/volumes/hand -d '{"quota_bytes": 4096}' |
	json "v['quota_bytes']")" 4096
curl -s --unix-socket "$SOCK" http://kiln/metrics | grep -q '^kiln_volume_used_inodes{volume="hand"} 1$' ||
	fail "no metrics of the volume"

# on a terminal it asks
ask() {
	python3 - "$1" "$KILN" volume delete hand <<'PY'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
seen = b''
while b'Type its name' not in seen:
    seen += os.read(fd, 1000)
os.write(fd, sys.argv[1].encode() + b'\n')
try:
    while os.read(fd, 1000):
        pass
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
}
! ask no || fail "deleted although the answer was no"
"$KILN" volume info hand >/dev/null
ask hand || fail "not deleted although its name was typed"
expect_fail 4 hand "$KILN" volume info hand

# by force: the client gets errors, its mount can be taken away, all of the volume goes
need_fuse
"$KILN" volume set home inodes=none quota=none
mount_volume home "$MNT"
echo x >"$MNT/file"
mkdir "$MNT/dir"
expect_eq "$("$KILN" volume info home --json | json "v['clients'], v['sessions'][0]['connected']")" \
	"1 True"
"$KILN" status | grep -Eq '^  home .* connected' || fail "the client is not listed: $("$KILN" status)"
expect_fail 5 'in use' "$KILN" volume delete home
expect_eq "$(cat "$MNT/file")" x
# renamed under a mount: it goes on, also over a restart, and whatever has its old name now
"$KILN" volume rename home house
volume_create home
echo y >"$MNT/file"
server_stop
server_start
expect_eq "$(cat "$MNT/file")" y
mount_volume home "$MNT2"
expect_eq "$(ls -A "$MNT2")" ""
umount_volume "$MNT2"
# a relayed client's farewell may arrive behind its umount
wait_for 10 "$KILN" volume delete home
"$KILN" volume delete house --force
# a new volume of the name is another one, which the old mount never sees
volume_create house
mkdir "$KILN_TMP/new"
mount_volume house "$KILN_TMP/new"
mkdir "$KILN_TMP/new/dir"
for _ in 1 2; do
	code=0
	timeout 20 ls "$MNT/dir" 2>"$KILN_TMP/err" || code=$?
	expect_eq "$code" 2 "ls of a deleted volume: $(cat "$KILN_TMP/err")"
	umount_volume "$KILN_TMP/new"
	server_stop
	server_start
	mount_volume house "$KILN_TMP/new"
done
"$KILN" umount "$MNT"
removed() { [ "$("$KILN" status --json | json "v['volumes']['removing']")" = 0 ]; }
wait_for 20 removed
umount_volume "$KILN_TMP/new"
finish

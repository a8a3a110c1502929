#!/bin/bash
# After a restart the server still knows who has what open: what nobody has open is gone at once
# when its last name goes, though another client is mounted; what somebody has open stays readable
# until the last close, and goes then.
. "$KILN_TESTS/lib.sh"
need_root
need_fuse

server_start
volume_create v
mount_volume v "$MNT"
mount_volume v "$MNT2"

inodes_are() {
	"$KILN" volume info v --json |
		python3 -c 'import json,sys; sys.exit(json.load(sys.stdin)["used_inodes"] != int(sys.argv[1]))' "$1"
}

for i in $(seq 20); do head -c 100000 /dev/urandom >"$MNT/f$i"; done
echo kept >"$MNT/kept"

# The holder is a process of its own: a server started by one that has files of its mount open
# would inherit them.
mkfifo "$KILN_TMP/ask" "$KILN_TMP/told"
python3 - "$MNT/kept" "$KILN_TMP/ask" "$KILN_TMP/told" <<'END' &
import os, sys
kept = os.open(sys.argv[1], os.O_RDONLY)
with open(sys.argv[2]) as ask, open(sys.argv[3], "w", buffering=1) as told:
    for line in ask:
        os.posix_fadvise(kept, 0, 0, os.POSIX_FADV_DONTNEED)
        told.write(os.pread(kept, 100, 0).decode())
END
holder=$!
exec 8>"$KILN_TMP/ask" 9<"$KILN_TMP/told"
kept_is_whole() {
	local line
	echo >&8
	read -r -t 20 line <&9
	[ "$line" = kept ] || fail "an open file lost its bytes with its name: '$line'"
}
kept_is_whole
wait_for 10 inodes_are 22

server_kill
server_start
rm "$MNT"/f*
wait_for 10 inodes_are 2
rm "$MNT2/kept"
kept_is_whole

server_kill
server_start
kept_is_whole
inodes_are 2 || fail "the open file is not counted"
kill "$holder"
wait_for 10 inodes_are 1

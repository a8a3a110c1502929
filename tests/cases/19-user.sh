# A user who is not root serves, creates, mounts and writes, as the manual shows it.
. "$KILN_TESTS/lib.sh"
need_root
need_fuse
need_cmd setpriv fusermount3
as_user() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}
dir=$(mktemp -d /tmp/kiln-user-XXXXXX)
pid=
server_ended() {
	[ ! -e "/proc/$pid" ]
}
server_end() {
	kill "$pid"
	wait_for 30 server_ended
	pid=
}
end() {
	! mountpoint -q "$dir/mnt" || as_user "$KILN" umount --force "$dir/mnt" || true
	[ -z "$pid" ] || server_end
	rm -rf --one-file-system "$dir"
	cleanup
}
trap end EXIT
chown 65534:65534 "$dir"
as_user mkdir "$dir/mnt"
as_user "$KILN" version || skip "the build is in a directory that others cannot use"
export KILN_SERVER=unix:$dir/sock
install -o 65534 -g 65534 /dev/null "$KILN_TMP/server.log"
install -o 65534 -g 65534 /dev/null "$KILN_TMP/mount.log"
as_user "$KILN" serve "$dir/volumes" --listen "$KILN_SERVER" --daemon --log "$KILN_TMP/server.log"
pid=$(cat "$dir/volumes/lock")
as_user "$KILN" volume create scratch
as_user "$KILN" mount scratch "$dir/mnt" --log "$KILN_TMP/mount.log"
expect_eq "$(as_user stat -c %u:%g:%a "$dir/mnt")" 65534:65534:755
as_user sh -c "echo hello >'$dir/mnt/file' && mkdir '$dir/mnt/d' && mv '$dir/mnt/file' '$dir/mnt/d/'"
expect_eq "$(as_user cat "$dir/mnt/d/file")" hello
expect_eq "$(as_user stat -c %u:%g "$dir/mnt/d/file")" 65534:65534
as_user "$KILN" umount "$dir/mnt"
server_end

# Mount options, what df shows, what is refused, for root and for others.
. "$KILN_TESTS/lib.sh"
setup
shown() { grep " $MNT fuse.kiln " /proc/mounts; }
expect_eq "$(df --output=source "$MNT" | tail -n 1)" kiln:v
! shown | grep -Eq 'nosuid|nodev|noexec' || fail "unasked for: $(shown)"
bdi=/sys/class/bdi/$(mountpoint -d "$MNT")/read_ahead_kb
[ ! -w "$bdi" ] || expect_eq "$(cat "$bdi")" 512 "read-ahead"
expect_fail 5 'already' "$KILN" mount v "$MNT"
umount_volume "$MNT"

mount_volume v "$MNT" -o nosuid,nodev,noexec,noatime,_netdev,x-any.thing=1,user=me,fsname=other
shown | grep -q '^other .*nosuid,nodev,noexec,noatime' || fail "options: $(shown)"
cp /bin/true "$MNT/true"
! "$MNT/true" 2>/dev/null || fail "noexec executes"
umount_volume "$MNT"

mount_volume v "$MNT" -o ro
! touch "$MNT/x" 2>/dev/null || fail "a read-only mount took a file"
umount_volume "$MNT"

expect_fail 2 "unknown mount option 'nosuch'" "$KILN" mount v "$MNT" -o ro,nosuch
expect_fail 2 'seconds' "$KILN" mount v "$MNT" -o soft=soon
expect_fail 2 'seconds' "$KILN" mount v "$MNT" --soft 0
expect_fail 2 "volume's name" "$KILN" mount .v "$MNT"
expect_fail 2 'brackets' "$KILN" mount tcp:::1:7000/v "$MNT"
expect_fail 2 'one too many' "$KILN" mount "unix:$SOCK/v" "$MNT" -o "server=unix:$SOCK"
expect_fail 3 'kiln serve' "$KILN" mount "unix:$KILN_TMP/nobody/v" "$MNT"
expect_fail 1 'mkdir' "$KILN" mount v "$MNT/none"
expect_fail 1 'no kiln volume' "$KILN" umount "$MNT"
! mountpoint -q "$MNT" || fail "something is mounted after all"

# somebody else: fusermount3, and only on what the volume's owner owns
if command -v fusermount3 >/dev/null && [ -u "$(command -v fusermount3)" ]; then
	mknod -m 666 "$KILN_TMP/fuse" c 10 229
	mount --bind "$KILN_TMP/fuse" /dev/fuse # in this case's own name space
	chmod 711 "$KILN_TMP"
	chmod 666 "$SOCK"
	other() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
	mkdir -p "$MNT2"
	chown 65534:65534 "$MNT2"
	if other test -w /dev/fuse && other test -x "$KILN"; then
		expect_fail 6 'owner' other "$KILN" mount "unix:$SOCK/v" "$MNT2"
		mount_volume v "$MNT"
		chown 65534:65534 "$MNT"
		umount_volume "$MNT"
		other "$KILN" mount "unix:$SOCK/v" "$MNT2"
		grep -q " $MNT2 fuse.kiln .*nosuid,nodev.*user_id=65534" /proc/mounts || fail "not nosuid,nodev"
		other touch "$MNT2/mine"
		other "$KILN" umount "$MNT2"
		mount_volume v "$MNT"
		expect_fail 6 . other "$KILN" umount "$MNT"
	else
		echo "not tried as another user: the program is not theirs to run"
	fi
fi
finish

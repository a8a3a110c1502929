# mount -t kiln and its fstab form; umount by umount(8).
. "$KILN_TESTS/lib.sh"
need_root
need_fuse
server_start
volume_create v
mkdir -p "$MNT" "$MNT2"
# mount(8) looks for helpers in /sbin only: this name space gets one there
mkdir "$KILN_TMP/sbin" "$KILN_TMP/work"
mount -t overlay overlay -o "lowerdir=/usr/sbin,upperdir=$KILN_TMP/sbin,workdir=$KILN_TMP/work" \
	/usr/sbin 2>/dev/null || skip "needs an overlay to put mount.kiln into /usr/sbin"
ln -sf "$KILN" /usr/sbin/mount.kiln
mount -t kiln v "$MNT" -o "server=unix:$SOCK"
mountpoint -q "$MNT"
echo x >"$MNT/f"
umount "$MNT"
mount -t kiln v "$MNT" -o "ro,noatime,server=unix:$SOCK"
grep " $MNT " /proc/mounts | grep -Eq '[ ,]ro[, ]' || fail "not read-only: $(grep "$MNT" /proc/mounts)"
expect_eq "$(cat "$MNT/f")" x
! touch "$MNT/g" 2>/dev/null || fail "a read-only mount took a file"
umount "$MNT"
finish

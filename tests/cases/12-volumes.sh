# Volumes are created, listed, changed, renamed and deleted while the server runs and others
# are in use.
. "$KILN_TESTS/lib.sh"
setup
echo keep >"$MNT/keep"
volume_create a
volume_create b
expect_fail 5 'exists' "$KILN" volume create a
for bad in '' .x -x 'a b' a/b "$(printf '%065d' 0)"; do
	expect_fail 2 . "$KILN" volume create -- "$bad"
done
"$KILN" volume list --json | python3 -c '
import json, sys
rows = json.load(sys.stdin)
rows = rows if isinstance(rows, list) else rows["volumes"]
assert sorted(r["name"] for r in rows) == ["a", "b", "v"], rows'
"$KILN" volume info a --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["name"] == "a"'
mount_volume a "$MNT2"
echo in-a >"$MNT2/f"
expect_fail 5 . "$KILN" volume delete --yes a
umount_volume "$MNT2"
"$KILN" volume rename a c
expect_fail 4 'a' "$KILN" volume info a
mount_volume c "$MNT2"
expect_eq "$(cat "$MNT2/f")" in-a
umount_volume "$MNT2"
"$KILN" volume delete --yes c
expect_fail 4 'c' "$KILN" volume info c
"$KILN" volume delete --yes b
volume_create c
mount_volume c "$MNT2"
expect_eq "$(ls -A "$MNT2")" "" "a new volume of an old name is empty"
umount_volume "$MNT2"
expect_eq "$(cat "$MNT/keep")" keep

# read-only, and back
"$KILN" volume set c read-only=yes
mount_volume c "$MNT2"
py "$MNT2" <<'PY'
expect(EROFS, os.mkdir, sys.argv[1] + '/x')
PY
umount_volume "$MNT2"
"$KILN" volume set c read-only=no
mount_volume c "$MNT2"
mkdir "$MNT2/x"
umount_volume "$MNT2"
expect_fail 2 'colour' "$KILN" volume set c colour=blue
finish

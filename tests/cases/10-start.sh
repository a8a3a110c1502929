# The first thing anyone does: serve, create, mount, use, stop, start again; it is all there.
# carriers: all
. "$KILN_TESTS/lib.sh"
setup
echo hello >"$MNT/file"
mkdir "$MNT/dir"
cp -r "$KILN_TOP/tests" "$KILN_TMP/" # what is compared must not be edited meanwhile
cp -r "$KILN_TMP/tests" "$MNT/dir/"
df "$MNT" | tail -n 1 | grep -q kiln || fail "df does not name kiln: $(df "$MNT")"
df -h "$MNT"
"$KILN" status
"$KILN" volume list
"$KILN" volume list | grep -Eq '(^|[^a-z])v($|[^a-z])' || fail "the volume is not listed"
umount_volume "$MNT"
server_stop
server_start
mount_volume v "$MNT"
expect_eq "$(cat "$MNT/file")" hello
diff -r "$KILN_TMP/tests" "$MNT/dir/tests"
finish

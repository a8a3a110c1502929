# What cannot be is refused with one plain sentence and the documented exit code.
# allow-log: .
. "$KILN_TESTS/lib.sh"
need_root
serve() { timeout -s KILL 20 "$KILN" serve "$@"; }
one_sentence() { expect_eq "$(grep -c . "$KILN_TMP/expect.out")" 1 "lines: $(cat "$KILN_TMP/expect.out")"; }

# no server
expect_fail 3 'server' "$KILN" status
one_sentence
expect_fail 3 'server' "$KILN" volume list
mkdir -p "$MNT"
if [ -c /dev/fuse ]; then
	expect_fail 3 'server' "$KILN" mount v "$MNT"
fi

server_start
volume_create v
# in use
expect_fail 5 'in use' serve "$DATA" --listen "unix:$KILN_TMP/other"
grep -q "$SERVER_PID" "$KILN_TMP/expect.out" || fail "the holder is not named: $(cat "$KILN_TMP/expect.out")"
# the address is taken
expect_fail 5 . serve "$KILN_TMP/data2" --listen "unix:$SOCK"
# TCP beyond loopback
expect_fail 2 'insecure' serve "$KILN_TMP/data3" --listen tcp:0.0.0.0:7999
# unknown volume
expect_fail 4 'nothere' "$KILN" volume info nothere
if [ -c /dev/fuse ]; then
	expect_fail 4 'nothere' "$KILN" mount nothere "$MNT"
	expect_fail 1 . "$KILN" mount v "$KILN_TMP/no-such-directory"
	echo >"$KILN_TMP/file"
	expect_fail 1 . "$KILN" mount v "$KILN_TMP/file"
fi
# no permission: somebody else may not administer
chmod 755 "$KILN_TMP"
expect_fail 6 'permi' setpriv --reuid 65534 --regid 65534 --clear-groups "$KILN" volume list
expect_fail 6 'permi' setpriv --reuid 65534 --regid 65534 --clear-groups "$KILN" volume create x
server_stop

# not a kiln directory
mkdir "$KILN_TMP/foreign"
echo >"$KILN_TMP/foreign/file"
expect_fail 1 'no kiln store' serve "$KILN_TMP/foreign" --listen "unix:$SOCK"
one_sentence
# no permission on the directory
chmod 700 "$DATA"
chown -R 0:0 "$DATA"
expect_fail 6 . setpriv --reuid 65534 --regid 65534 --clear-groups "$KILN" serve "$DATA" \
	--listen "unix:$KILN_TMP/s2"
# written by a newer version
cp -r "$DATA" "$KILN_TMP/newer"
sed -i '1s/store [0-9]*/store 99/' "$KILN_TMP/newer/format"
expect_fail 7 'version|newer' serve "$KILN_TMP/newer" --listen "unix:$SOCK"
one_sentence
# damaged
cp -r "$DATA" "$KILN_TMP/damaged"
echo garbage >"$KILN_TMP/damaged/db/CURRENT"
expect_fail 8 'damaged|corrupt' serve "$KILN_TMP/damaged" --listen "unix:$SOCK"
one_sentence
cp -r "$DATA" "$KILN_TMP/damaged2"
echo nonsense >"$KILN_TMP/damaged2/format"
code=0
serve "$KILN_TMP/damaged2" --listen "unix:$SOCK" >"$KILN_TMP/expect.out" 2>&1 || code=$?
[ "$code" = 8 ] || [ "$code" = 1 ] || fail "a damaged format file: exit code $code"
# and the original still opens
server_start
server_stop

# make demo, twice in a row, and make demo-stop leave nothing behind, also when the server died.
. "$KILN_TESTS/lib.sh"
need_fuse
need_cmd git
# in a copy: a demo of the developer's own may be running in the tree
mkdir "$KILN_TMP/t"
cp -r "$KILN_TOP"/{base,store,server,tools} "$KILN_TMP/t/"
mkdir "$KILN_TMP/t/build"
cp "$KILN" "$KILN_TMP/t/build/kiln"
cd "$KILN_TMP/t"
for _ in 1 2; do
	env -u KILN_BUILD tools/demo.sh start >"$KILN_TMP/demo.out" 2>&1 || fail "$(cat "$KILN_TMP/demo.out")"
	mountpoint -q .demo/mnt
	grep -q 'demo-stop' "$KILN_TMP/demo.out"
done
cat "$KILN_TMP/demo.out"
# the worst that can be left: a mount that waits for a server that is gone
pid=$(cat .demo/pid)
kill -KILL "$pid"
server_gone() {
	! readlink "/proc/$pid/exe"
}
wait_for 10 server_gone
env -u KILN_BUILD timeout 60 tools/demo.sh stop || fail "demo-stop hangs or fails"
[ ! -e .demo ] || fail ".demo is still there"
! grep -q "$KILN_TMP/t" /proc/mounts || fail "a mount is left"
! pgrep -f "$KILN_TMP/t/build/kiln" || fail "a process is left"
env -u KILN_BUILD tools/demo.sh stop

# and for an ordinary user
[ "$(id -u)" = 0 ] && command -v fusermount3 >/dev/null || exit 0
cp -r "$KILN_TMP/t" "$KILN_TMP/user"
chown -R nobody: "$KILN_TMP/user"
cd "$KILN_TMP/user"
as_user() {
	setpriv --reuid nobody --regid nogroup --clear-groups env -u KILN_BUILD HOME="$KILN_TMP/user" \
		PATH=/usr/bin:/bin:/usr/sbin:/sbin "$@"
}
as_user tools/demo.sh start >"$KILN_TMP/demo.out" 2>&1 || fail "$(cat "$KILN_TMP/demo.out")"
as_user tools/demo.sh stop
! grep -q "$PWD" /proc/mounts || fail "a mount is left"
! pgrep -f "$PWD/build/kiln" || fail "a process is left"

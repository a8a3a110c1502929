# make demo, twice in a row, and make demo-stop leave nothing behind; for root and for a user.
# sanitizers: no
. "$KILN_TESTS/lib.sh"
need_fuse
need_cmd git
# in copies: a demo of the developer's own may be running in the tree
copy() {
	mkdir -p "$1/build"
	cp -r "$KILN_TOP"/{base,store,server,tools} "$1/"
	cp "$KILN" "$1/build/kiln"
}
# demo DIR COMMAND...: with COMMAND in front of each call
demo() {
	cd "$1"
	shift
	for _ in 1 2; do
		"$@" tools/demo.sh start >"$KILN_TMP/demo.out" 2>&1 || fail "$(cat "$KILN_TMP/demo.out")"
		grep -q " $PWD/.demo/mnt " /proc/mounts || fail "not mounted"
		grep -q 'demo-stop' "$KILN_TMP/demo.out"
	done
	"$@" tools/demo.sh stop
	[ ! -e .demo ] || fail ".demo is still there"
	! grep -q "$PWD" /proc/mounts || fail "a mount is left"
	! pgrep -f "$PWD/build/kiln" || fail "a process is left"
	"$@" tools/demo.sh stop
}
copy "$KILN_TMP/t"
demo "$KILN_TMP/t" env -u KILN_BUILD
[ "$(id -u)" = 0 ] && command -v fusermount3 >/dev/null || exit 0
copy "$KILN_TMP/user"
chown -R nobody: "$KILN_TMP/user"
demo "$KILN_TMP/user" setpriv --reuid nobody --regid nogroup --clear-groups env -u KILN_BUILD \
	HOME="$KILN_TMP/user" PATH=/usr/bin:/bin:/usr/sbin:/sbin

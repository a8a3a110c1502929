# Without /dev/fuse, or without the right to use it, mounting says so.
. "$KILN_TESTS/lib.sh"
need_root
need_fuse
unshare -m true 2>/dev/null || skip "needs a mount name space"
server_start
volume_create v
mkdir -p "$MNT"
# shellcheck disable=SC2016 # expanded inside
unshare -m --propagation private sh -c '
	touch "$KILN_TMP/nothing" && rm -f "$KILN_TMP/devfuse"
	mkdir "$KILN_TMP/dev" && mount -t tmpfs none "$KILN_TMP/dev" &&
	for d in null zero urandom tty; do [ ! -c /dev/$d ] || cp -a /dev/$d "$KILN_TMP/dev/$d"; done
	mount --bind "$KILN_TMP/dev" /dev && exec "$@"' sh "$KILN" mount v "$MNT" \
	>"$KILN_TMP/expect.out" 2>&1 </dev/null && fail "mounted without /dev/fuse"
grep -q '/dev/fuse' "$KILN_TMP/expect.out" || fail "not said: $(cat "$KILN_TMP/expect.out")"
expect_eq "$(grep -c . "$KILN_TMP/expect.out")" 1
server_stop

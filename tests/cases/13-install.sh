# An installation has the helper where mount(8) looks, pointing at the program.
. "$KILN_TESTS/lib.sh"
need_cmd meson
meson introspect "$KILN_BUILD" --buildoptions | python3 -c '
import json, sys
sys.exit({o["name"]: o["value"] for o in json.load(sys.stdin)}["prefix"] != "/usr/local")
' || skip "the prefix is not /usr/local"
root=$KILN_TMP/root
DESTDIR=$root meson install -C "$KILN_BUILD" --no-rebuild --quiet
expect_eq "$(readlink "$root/sbin/mount.kiln")" /usr/local/bin/kiln
[ -x "$root/usr/local/bin/kiln" ] || fail "kiln is not installed"
[ -x "$root/usr/local/libexec/kiln-mount" ] || fail "kiln-mount is not installed"
[ -s "$root/usr/local/share/man/man8/mount.kiln.8" ] || fail "a manual page is not installed"

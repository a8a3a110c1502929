# kiln check: nothing wrong after kills and with files held open; what is damaged is told.
. "$KILN_TESTS/lib.sh"
setup
expect_fail 5 "in use by another server" "$KILN" check "$DATA"
mkdir "$MNT/d"
for i in $(seq 300); do echo "$i" >"$MNT/d/f$i"; done
ln "$MNT/d/f1" "$MNT/link"
ln -s d "$MNT/symlink"
truncate -s 1M "$MNT/d/f2"
rm "$MNT"/d/f2?
sleep 300 8>"$MNT/held" & # another process: who closes a file waits for the server
holder=$!
wait_for 20 test -e "$MNT/held"
rm "$MNT/held"
server_kill
"$KILN" check "$DATA" >"$KILN_TMP/out"
grep -q '^v: .* inodes, .* names, .*: in order$' "$KILN_TMP/out" || fail "$(cat "$KILN_TMP/out")"
server_start
kill $holder
wait $holder || true
[ "$(ls "$MNT/d" | wc -l)" = 290 ]
finish
"$KILN" check "$DATA"

expect_fail 2 "too few arguments" "$KILN" check
expect_fail 1 "no directory" "$KILN" check "$KILN_TMP/nowhere"
mkdir "$KILN_TMP/empty"
expect_fail 1 "no kiln store" "$KILN" check "$KILN_TMP/empty"

# a byte of the database's files is another: told, and not taken for what it is not
file=$(ls -S "$DATA"/db/*.sst | head -n 1)
python3 - "$file" <<'PY'
import os, sys
with open(sys.argv[1], 'r+b') as f:
    for at in range(16, os.path.getsize(sys.argv[1]) // 2, 32):
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 0xff]))
PY
expect_fail 8 "volume v of .* cannot be read to the end|is damaged: " "$KILN" check "$DATA"

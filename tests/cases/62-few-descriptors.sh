# A server that may not have enough descriptors says so, whatever part of it they fail.
# timeout: 120
. "$KILN_TESTS/lib.sh"

few() {
	(
		ulimit -n "$1"
		exec "$KILN" serve "$KILN_TMP/few" --listen "unix:$SOCK"
	)
}

for n in $(seq 6 40); do
	rm -rf "$KILN_TMP/few"
	few "$n" >"$KILN_TMP/out" 2>&1 &
	pid=$!
	ready() { grep -q ready "$KILN_TMP/out" || ! kill -0 "$pid" 2>/dev/null; }
	wait_for 20 ready || fail "with $n descriptors it neither starts nor ends"
	kill "$pid" 2>/dev/null && { wait "$pid" || true; break; }
	code=0
	wait "$pid" || code=$?
	expect_eq "$code" 1 "exit code with $n descriptors"
	grep -qi 'too many open files' "$KILN_TMP/out" ||
		fail "with $n descriptors it says: $(cat "$KILN_TMP/out")"
	expect_eq "$(grep -c "^kiln: " "$KILN_TMP/out")" 1 "sentences with $n descriptors: $(cat "$KILN_TMP/out")"
done
[ "$n" -gt 20 ] || fail "it starts with $n descriptors"
[ "$n" -lt 40 ] || fail "it does not start with fewer than $n descriptors"

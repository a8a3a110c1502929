# The unit tests and the cases with most threads at work, with ThreadSanitizer.
# `make test-tsan` runs all of them.
# timeout: 900
# alone
# sanitizers: no, it starts such runs itself
. "$KILN_TESTS/lib.sh"
cases=(unit 10-start 18-umount@relay 27-append 39-locks-two-mounts 41-rename-race@handover
	42-two-mounts 50-restart@relay 53-stop-start@handover)
cd "$KILN_TOP"
make -s RUN_OPTIONS=--quick CASES="${cases[*]}" test-tsan >"$KILN_TMP/out" 2>&1 || {
	tail -n 100 "$KILN_TMP/out"
	fail "see above"
}
tail -n 1 "$KILN_TMP/out"

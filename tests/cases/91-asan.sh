# The unit tests and the cases that reach most code, with AddressSanitizer and
# UndefinedBehaviorSanitizer.  `make test-asan` runs all of them.
# timeout: 900
# alone
# sanitizers: no, it starts such runs itself
. "$KILN_TESTS/lib.sh"
cases=(unit 10-start 20-file 21-rename@handover 26-unlinked@relay 29-xattr@handover
	30-acl@handover 33-fallocate@handover 38-locks@relay 51-restart-opens 63-bad-peer)
cd "$KILN_TOP"
make -s RUN_OPTIONS=--quick CASES="${cases[*]}" test-asan >"$KILN_TMP/out" 2>&1 || {
	tail -n 100 "$KILN_TMP/out"
	fail "see above"
}
tail -n 1 "$KILN_TMP/out"

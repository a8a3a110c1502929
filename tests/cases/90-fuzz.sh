# A minute of fuzzing of the wire decoder, the journal and what is stored; `make fuzz` does an hour.
# timeout: 400
# sanitizers: no, it has its own build with AddressSanitizer
# alone
. "$KILN_TESTS/lib.sh"
need_cmd clang meson ninja
cd "$KILN_TOP"
make -s fuzz FUZZ_SECONDS=60 >"$KILN_TMP/out" 2>&1 || { tail -n 80 "$KILN_TMP/out"; fail "see above"; }
tail -n 3 "$KILN_TMP/out"

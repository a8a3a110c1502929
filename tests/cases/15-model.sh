# The model of the commit and view protocol holds, and each step broken on purpose is found.
# timeout: 300
# sanitizers: no, it runs the model, no code of this build
. "$KILN_TESTS/lib.sh"
need_cmd spin cc
"$KILN_TESTS/model/run" >"$KILN_TMP/out" 2>&1 || { cat "$KILN_TMP/out"; fail "see above"; }
expect_eq "$(grep -c ' holds ' "$KILN_TMP/out")" 6 "bounds checked"

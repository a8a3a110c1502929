# clang builds the tree without a warning.
# timeout: 300
# sanitizers: no, it only builds, another tree
. "$KILN_TESTS/lib.sh"
need_cmd clang meson ninja
cd "$KILN_TOP"
make -s check-clang >"$KILN_TMP/out" 2>&1 || { tail -n 60 "$KILN_TMP/out"; fail "clang"; }

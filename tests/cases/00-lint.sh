# The scripts of the tree are clean: shellcheck where it is installed, else a syntax check.
# timeout: 240
. "$KILN_TESTS/lib.sh"
cd "$KILN_TOP"
scripts=(.ci/run tools/install tests/lib.sh tests/cases/*.sh)
for f in tools/*.sh tests/fuzz/run tests/model/run; do
	[ ! -f "$f" ] || scripts+=("$f")
done
if command -v shellcheck >/dev/null; then
	shellcheck -x -s bash -e SC1090,SC1091,SC2154,SC2164,SC2012,SC2013 "${scripts[@]}"
else
	for f in "${scripts[@]}"; do bash -n "$f"; done
fi
python3 - tests/run tests/helpers/*.py <<'PY'
import ast, sys
for path in sys.argv[1:]:
    ast.parse(open(path).read(), path)
PY

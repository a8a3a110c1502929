# Locks exclude between two mounts of one volume, over different carriers.
. "$KILN_TESTS/lib.sh"
setup_two
py "$MNT" "$MNT2" <<'PY'
import locks_common
locks_common.run(sys.argv[1], sys.argv[2])
PY
finish

# fcntl and flock locks: ranges, upgrades, and the rules of who loses them when.
# carriers: all
. "$KILN_TESTS/lib.sh"
setup
py "$MNT" "$MNT" <<'PY'
import locks_common
locks_common.run(sys.argv[1], sys.argv[2])
PY
finish

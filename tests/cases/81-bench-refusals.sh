# timeout: 120
# kiln-bench on what cannot be measured: one plain sentence, a documented exit code, nothing left.
. "$KILN_TESTS/lib.sh"
BENCH=$KILN_BUILD/bench/kiln-bench
D=$KILN_TMP/d
mkdir "$D"
touch "$KILN_TMP/file"
expect_fail 3 'needs a directory' "$BENCH" run
expect_fail 3 'unknown command' "$BENCH" frobnicate
expect_fail 3 'unknown option' "$BENCH" run --frobnicate "$D"
expect_fail 3 'no option' "$BENCH" run --margin 3 "$D"
expect_fail 3 'not a number' "$BENCH" run --threads many "$D"
expect_fail 3 'out of range' "$BENCH" run --threads 0 "$D"
expect_fail 3 'no such name' "$BENCH" run "$D/nowhere"
expect_fail 3 'not a directory' "$BENCH" run "$KILN_TMP/file"
expect_fail 3 'no suite or test' "$BENCH" run --suite nothing "$D"
expect_fail 3 'no built-in profile' "$BENCH" run --profile nothing "$D"
expect_fail 3 'no server at' "$BENCH" run "kiln://$KILN_TMP/no-socket/v"
expect_fail 3 'two directories' "$BENCH" ab "$D"
# shellcheck disable=SC2016
expect_fail 4 'cannot start its processes' sh -c 'ulimit -n 12; exec "$@"' - \
	"$BENCH" run --procs 16 "$D"
! pgrep -f "$BENCH" || fail "a process is left"
printf 'suite s\ntest t shape=create threads=x\n' >"$KILN_TMP/bad.profile"
expect_fail 3 'bad.profile, line 2: not a number' "$BENCH" run --profile "$KILN_TMP/bad.profile" "$D"
printf 'suite s\ntest t shape=dance\n' >"$KILN_TMP/bad.profile"
expect_fail 3 "no such shape: 'dance'" "$BENCH" run --profile "$KILN_TMP/bad.profile" "$D"

# Features that the file system lacks are skipped, and said so.
KILN_SLOW=link=EPERM,setxattr=EOPNOTSUPP slowed \
	"$BENCH" run --budget 2s --suite extra "$D" >"$KILN_TMP/out"
grep -q 'hard_link .*skipped: this file system has no such thing' "$KILN_TMP/out" ||
	fail "hard links were not skipped: $(cat "$KILN_TMP/out")"
grep -q 'set_xattr .*skipped' "$KILN_TMP/out" || fail "attributes were not skipped"
grep -q 'symbolic_link.*[0-9]' "$KILN_TMP/out" || fail "symbolic links were not measured"
# A write that fails is a failure.
KILN_SLOW=fsync=EIO \
	expect_fail 1 'input/output error' slowed "$BENCH" run --budget 2s --suite syncwrite.writers_1 "$D"
expect_eq "$(ls -A "$D")" "" "left behind"

need_root
mount -t tmpfs -o size=3m tmpfs "$D"
trap 'umount "$D"' EXIT
expect_fail 1 'no space left' "$BENCH" run --budget 3s --suite files.smallfiles_create,meta.CREATE_SUC "$D"
expect_eq "$(ls -A "$D")" "" "left behind on a full file system"
mount -o remount,ro "$D"
expect_fail 3 'read-only' "$BENCH" run "$D"
mount -o remount,rw "$D"
mkdir "$D/closed"
chmod 755 "$D" "$KILN_TMP"
expect_fail 3 'permission denied' setpriv --reuid 65534 --regid 65534 --clear-groups "$BENCH" run "$D/closed"

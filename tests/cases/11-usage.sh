# Every command has --help; what is wrong with a command line is said, with exit code 2.
. "$KILN_TESTS/lib.sh"
"$KILN" --help >"$KILN_TMP/help"
"$KILN" version | grep -Eq '[0-9]+\.[0-9]+\.[0-9]+'
for cmd in serve 'volume create' 'volume list' 'volume info' 'volume set' 'volume rename' \
	'volume delete' mount umount status version; do
	# shellcheck disable=SC2086 # two words
	"$KILN" $cmd --help >"$KILN_TMP/out" || fail "kiln $cmd --help"
	grep -q "${cmd##* }" "$KILN_TMP/out" || fail "kiln $cmd --help does not name it"
	grep -q "${cmd%% *}" "$KILN_TMP/help" || fail "kiln --help does not name ${cmd%% *}"
	# shellcheck disable=SC2086
	expect_fail 2 'nonsense' "$KILN" $cmd --nonsense
done
expect_fail 2 . "$KILN" nonsense
expect_fail 2 . "$KILN"
expect_fail 2 . "$KILN" volume nonsense
expect_fail 2 . "$KILN" mount

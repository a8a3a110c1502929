# What the program says of itself is what its manual page and its completion say.
. "$KILN_TESTS/lib.sh"
manual=$(sed "s,\\\\-,-,g" "$KILN_TOP"/docs/kiln.1 "$KILN_TOP"/docs/mount.kiln.8)
"$KILN" --help | sed -n 's/^  \([a-z].*[a-z]\)   *[A-Z].*/\1/p' >"$KILN_TMP/commands"
[ "$(wc -l <"$KILN_TMP/commands")" -ge 11 ] || fail "few commands: $(cat "$KILN_TMP/commands")"

while read -r command; do
	[ "$command" != bench ] || continue # a program and a page of its own
	# shellcheck disable=SC2086 # two words
	"$KILN" $command --help >"$KILN_TMP/help"
	grep -q "^Usage: kiln $command" "$KILN_TMP/help" || fail "no usage of $command"
	! grep -E '^.{81}' "$KILN_TMP/help" || fail "help of $command is wider than 80 columns"
	[[ $manual == *"kiln $command"* || $manual == *".B $command"* ]] ||
		fail "the manual page does not describe $command"
	for option in $(grep -Eo -- '^ .{0,5}--[a-z-]+' "$KILN_TMP/help" | grep -Eo -- '--[a-z-]+'); do
		[ "$option" = --help ] || [[ $manual == *"$option"* ]] ||
			fail "the manual page does not describe $option of $command"
	done
done <"$KILN_TMP/commands"
! "$KILN" --help | grep -E '^.{81}' || fail "kiln --help is wider than 80 columns"

# every exit code, in the same words
"$KILN" --help | sed -n 's/^  \([0-9]\)  \(.*\)/\1 \2/p' >"$KILN_TMP/codes"
expect_eq "$(wc -l <"$KILN_TMP/codes")" 10 "exit codes"
while read -r code text; do
	[[ $manual == *".B $code
$text"* ]] || fail "the manual page does not have exit code $code as '$text'"
done <"$KILN_TMP/codes"

# the manual pages are clean
if command -v groff >/dev/null; then
	for page in "$KILN_TOP"/docs/*.[1-8]; do
		groff -man -Tutf8 -ww -z "$page" >"$KILN_TMP/groff" 2>&1
		[ ! -s "$KILN_TMP/groff" ] || fail "$page: $(cat "$KILN_TMP/groff")"
	done
fi

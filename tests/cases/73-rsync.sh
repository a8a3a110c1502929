# The same tree with rsync -aHAX, twice: the second time there is nothing left to do.
# carriers: all
# timeout: 120
. "$KILN_TESTS/lib.sh"
need_cmd rsync setfacl
. "$KILN_TESTS/helpers/tree.sh"
setup
tree_make "$KILN_TMP/tree"
rsync -aHAXS --modify-window=-1 "$KILN_TMP/tree/" "$MNT/"
tree_same "$KILN_TMP/tree" "$MNT"
expect_eq "$(rsync -aHAXS --modify-window=-1 --itemize-changes --delete "$KILN_TMP/tree/" "$MNT/")" "" "a second run"
rsync -aHAXS --modify-window=-1 "$MNT/" "$KILN_TMP/back/"
tree_same "$KILN_TMP/tree" "$KILN_TMP/back"
echo more >>"$KILN_TMP/tree/d1/file7"
rm "$KILN_TMP/tree/d2/file3"
rsync -aHAXS --modify-window=-1 --inplace --delete "$KILN_TMP/tree/" "$MNT/"
tree_same "$KILN_TMP/tree" "$MNT"
finish

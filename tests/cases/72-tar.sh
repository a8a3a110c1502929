# A tree with everything a file can have goes through tar onto the volume and back, unchanged.
# carriers: all
# timeout: 120
. "$KILN_TESTS/lib.sh"
need_cmd tar setfacl rsync
. "$KILN_TESTS/helpers/tree.sh"
setup
tree_make "$KILN_TMP/tree"
tar --format=posix --xattrs --xattrs-include='*' --acls --sparse -C "$KILN_TMP/tree" -cf - . |
	tar --format=posix --xattrs --xattrs-include='*' --acls -C "$MNT" -xpf -
tree_same "$KILN_TMP/tree" "$MNT"
mkdir "$KILN_TMP/back"
tar --format=posix --xattrs --xattrs-include='*' --acls --sparse -C "$MNT" -cf - . |
	tar --format=posix --xattrs --xattrs-include='*' --acls -C "$KILN_TMP/back" -xpf -
tree_same "$KILN_TMP/tree" "$KILN_TMP/back"
finish

# shellcheck shell=bash
# A tree with one of everything, and a comparison that sees everything.

tree_make() {
	mkdir -p "$1"
	(
		cd "$1"
		for d in d1 d2 'with space' d1/deep/er/still; do
			mkdir -p "$d"
			for i in $(seq 12); do
				head -c $((i * i * 977)) /dev/urandom >"$d/file$i"
			done
		done
		printf 'x' >"$(printf 'odd \001\377\nname')"
		ln d1/file1 d2/hard1
		ln d1/file1 'with space/hard2'
		ln -s d1/file2 relative
		ln -s /nowhere absolute
		mkfifo fifo
		mknod device c 1 3
		truncate -s 20M sparse
		printf 'end' >>sparse
		chmod 4755 d1/file3
		chmod 2750 d2
		chmod 1777 'with space'
		chmod 000 d1/file4
		chown 1001:1002 d1/file5
		chown -h 77:88 relative
		setfattr -n user.color -v blue d1/file6
		setfattr -n user.bin -v 0x00ff00 d2
		setfattr -n trusted.t -v root d1/file6
		setfacl -m u:1003:rw,g:1004:r d1/file7
		setfacl -m d:u:1003:rwx,u:1005:x d1/deep
		touch -d '1931-02-03 04:05:06.789012345' d1/file8
		touch -d '2071-02-03 04:05:06.7' d1/file9
		touch -h -d '2001-01-01 01:01:01.123456789' absolute
		touch -d '2011-11-11 11:11:11.111111111' d1/deep d1 .
	)
}

# tree_list DIR: everything but the bytes, one line per file.
tree_list() {
	(
		cd "$1"
		# a directory's own size is the file system's business
		find . -name lost+found -prune -o ! -type d -printf '%P %y %m %U:%G %n %s %T@ %l\n' \
			-o -printf '%P %y %m %U:%G %T@\n' | LC_ALL=C sort
		find . -name lost+found -prune -o ! -type l -print0 | LC_ALL=C sort -z |
			xargs -0 getfacl -n --absolute-names
		find . -name lost+found -prune -o -print0 | LC_ALL=C sort -z |
			xargs -0 getfattr -h -d -m '^(user|trusted)\.' -e hex --absolute-names
		echo "links: $(stat -c %i d1/file1 d2/hard1 'with space/hard2' | uniq | wc -l)"
		find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
	)
}

tree_same() {
	tree_list "$1" >"$KILN_TMP/list1"
	tree_list "$2" >"$KILN_TMP/list2"
	diff "$KILN_TMP/list1" "$KILN_TMP/list2" >"$KILN_TMP/list.diff" || {
		head -n 40 "$KILN_TMP/list.diff"
		fail "$1 and $2 differ"
	}
}

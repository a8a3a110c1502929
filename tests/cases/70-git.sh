# git clone, fsck, gc, checkout and status of a local repository on the volume.
# carriers: all
# timeout: 120
. "$KILN_TESTS/lib.sh"
need_cmd git
setup
export GIT_CONFIG_GLOBAL=$KILN_TMP/gitconfig
cat >"$GIT_CONFIG_GLOBAL" <<'CONF'
[user]
	name = test
	email = test@example.invalid
[safe]
	directory = *
[init]
	defaultBranch = main
CONF
source=$KILN_TMP/source
git init -q "$source"
cp -r "$KILN_TOP"/{tests,tools,base,store,server,client,cli} "$source/" 2>/dev/null || true
git -C "$source" add -A
git -C "$source" commit -qm one
for i in $(seq 20); do
	echo "$i" >"$source/file$((i % 5))"
	git -C "$source" add -A
	git -C "$source" commit -qm "change $i"
done
cd "$MNT"
git clone -q --no-local "$source" clone
git -C clone fsck --strict --full
expect_eq "$(git -C clone rev-parse HEAD)" "$(git -C "$source" rev-parse HEAD)"
expect_eq "$(git -C clone status --porcelain)" ""
git clone -q clone second # hard links within the volume
git -C second checkout -q HEAD~10
echo changed >>second/file0
git -C second commit -qam "on the volume"
git -C second gc -q --aggressive --prune=now
git -C second fsck --strict --full
git -C second checkout -q main
git -C second rm -q file1
git -C second stash -q
git -C second stash pop -q
git -C clone repack -adq
git -C clone worktree add -q ../third
diff -r --exclude=.git clone third
cd /
finish

# stress-ng's file-system stressors, each for a moment.  A real run, by hand:
# KILN_STRESS_SECONDS=60 KILN_CARRIER=relay tests/run --patience 10 78-stress
# timeout: 400
. "$KILN_TESTS/lib.sh"
need_cmd stress-ng
setup
seconds=${KILN_STRESS_SECONDS:-1}
known=$(stress-ng --class filesystem? 2>&1 | sed 's/.*: //')
mkdir "$MNT/stress"
for s in access chattr chdir chmod chown copy-file dentry dir dirdeep dirmany dup fallocate fcntl \
	fiemap file-ioctl filename flock fpunch fstat getdent hdd inode-flags inotify io \
	lease link locka lockf lockofd mknod open readahead rename revio seek sendfile symlink \
	sync-file touch unlink utime verity xattr; do
	case " $known " in *" $s "*) ;; *) continue ;; esac
	code=0
	stress-ng --"$s" 2 --temp-path "$MNT/stress" -t "$seconds" --verify --oom-avoid \
		--hdd-bytes 32M --fallocate-bytes 32M --copy-file-bytes 128M --seek-size 8M \
		--readahead-bytes 32M --sync-file-bytes 32M --revio-bytes 32M --dentries 1000 \
		--dirdeep-inodes 2000 >"$KILN_TMP/stress.out" 2>&1 || code=$?
	# 3: not supported here; 4: no resources
	case $code in
	0) ;;
	3 | 4) echo "$s: skipped by stress-ng" ;;
	*)
		cat "$KILN_TMP/stress.out"
		fail "stressor $s: exit code $code"
		;;
	esac
	expect_eq "$(find "$MNT/stress" -mindepth 1 | head -n 3)" "" "$s left files"
done
finish

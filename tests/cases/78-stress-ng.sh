# stress-ng's stressors that use files, each for a moment.  A real run, by hand:
# KILN_STRESS_SECONDS=60 tests/run --verbose 78-stress
# and some of them: KILN_STRESS='rename xattr'
# carriers: all
# timeout: 300 + 80 * KILN_STRESS_SECONDS
. "$KILN_TESTS/lib.sh"
need_cmd stress-ng
setup
seconds=${KILN_STRESS_SECONDS:-1}

# Those of its class "filesystem".  Left out are eventfd, getdent, handle and procfs, which use none
# of the files they are told to use, and binderfs, which needs the volume for its mount point only.
class="access bind-mount chattr chdir chmod chown copy-file dentry dir dirdeep dirmany
	dnotify dup fallocate fanotify fcntl fiemap file-ioctl filename flock fpunch fsize fstat hdd
	inode-flags inotify io iomix ioprio lease link locka lockf lockofd mknod open rename symlink
	sync-file touch unlink utime verity xattr"
# Those of other classes that use files there.  Left out is swap: FUSE has no swap files.  And
# io-uring, whose statx fails on every file system of a current kernel; fio uses io_uring instead.
other="aio aiol chroot close exec fault fifo landlock loop madvise mcontend mincore mmap
	msync msyncmany ramfs readahead revio rlimit rmap seek sendfile stackmmap tlb-shootdown
	umount"

known=$(stress-ng --stressors)
dir=$MNT/stress
mkdir -m 777 "$dir" "$MNT/some"
mkfifo "$MNT/some/fifo"
touch "$MNT/some/"{1..40}
ln -s 1 "$MNT/some/symlink"

stress() {
	local as=()
	# refuses to run as root
	[ "$1" != exec ] || as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	# with mounts of its own, as it does nothing else than mount the root, below the volume
	[ "$1" != bind-mount ] || as=(unshare -m --propagation private)
	(cd "$dir" && "${as[@]}" stress-ng --"$1" 2 --temp-path "$dir" -t "$seconds" --verify --oom-avoid \
		--pathological --copy-file-bytes 128M --dentries 1000 --dirdeep-inodes 2000 \
		--fallocate-bytes 32M \
		--fstat-dir "$MNT/some" --hdd-bytes 32M --iomix-bytes 32M --mmap-bytes 32M --mmap-file \
		--readahead-bytes 32M --revio-bytes 32M --seek-size 8M --sync-file-bytes 32M)
}

# judge STRESSOR EXIT-CODE
judge() {
	case $2 in
	# 3: not supported here; 4: no resources
	3 | 4) verdict=skipped ;;
	0) verdict=passed ;;
	*) verdict=failed ;;
	esac
	if [ "$verdict" = passed ] && ! grep -q 'successful run completed' "$KILN_TMP/stress.out"; then
		verdict=failed # to run anything
	fi
	if [ -n "$(find "$dir" -mindepth 1 | head -n 3)" ]; then
		find "$dir" -mindepth 1 | head -n 3
		verdict=failed # to remove its files
		find "$dir" -mindepth 1 -delete
	fi
	[ "$verdict" = passed ] || cat "$KILN_TMP/stress.out"
	echo "$verdict: $1"
}

failed=
for s in ${KILN_STRESS:-$class $other}; do
	case " $known " in *" $s "*) ;; *) continue ;; esac
	code=0
	stress "$s" >"$KILN_TMP/stress.out" 2>&1 || code=$?
	judge "$s" "$code"
	[ "$verdict" != failed ] || failed+=" $s"
done
[ -z "$failed" ] || fail "stressors:$failed"
finish

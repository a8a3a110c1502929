# On a volume without caching, what was written under a lock is what the next holder reads,
# whichever mount it comes from.
. "$KILN_TESTS/lib.sh"
need_cmd sqlite3
setup_two
volume_create n --cache none
umount_volume "$MNT2"
umount_volume "$MNT"
mount_over handover n "$MNT"
mount_over relay n "$MNT2"
py "$MNT" "$MNT2" <<'PY'
import locks_common
locks_common.many(sys.argv[1] + '/c', sys.argv[2] + '/c', counted=True)
PY
# and so a database file can be shared
sqlite3 "$MNT/db" 'create table t (who, n)'
pids=()
for dir in "$MNT" "$MNT2"; do
	for n in $(seq 40); do
		echo "insert into t values ('$dir', $n);"
	done | sqlite3 -bail -cmd '.timeout 60000' "$dir/db" &
	pids+=($!)
done
for p in "${pids[@]}"; do wait "$p"; done
expect_eq "$(sqlite3 "$MNT2/db" 'pragma integrity_check; select count(*) from t')" $'ok\n80'
finish

# SQLite in both journal modes, several processes at once.
# carriers: all
# timeout: 120
. "$KILN_TESTS/lib.sh"
need_cmd sqlite3
setup
for mode in delete wal; do
	db=$MNT/$mode.db
	expect_eq "$(sqlite3 "$db" "pragma journal_mode=$mode; create table t (who, n); create index i on t (n);")" $mode
	pids=()
	for who in 1 2 3; do
		(
			for batch in $(seq 10); do
				{
					echo '.timeout 60000'
					echo 'begin immediate;'
					for n in $(seq 50); do echo "insert into t values ($who, $batch * 1000 + $n);"; done
					echo 'commit;'
				} | sqlite3 -bail "$db" >/dev/null
			done
		) &
		pids+=($!)
	done
	for p in "${pids[@]}"; do wait "$p"; done
	expect_eq "$(sqlite3 "$db" 'pragma integrity_check; select count(*), count(distinct n) from t;')" $'ok\n1500|500'
	printf '%s\n' '.timeout 60000' 'begin;' 'delete from t;' 'rollback;' 'vacuum;' | sqlite3 -bail "$db"
	expect_eq "$(sqlite3 "$db" 'select count(*) from t')" 1500
done
umount_volume "$MNT"
mount_volume v "$MNT"
for mode in delete wal; do
	expect_eq "$(sqlite3 "$MNT/$mode.db" 'pragma integrity_check; select count(*) from t')" $'ok\n1500'
done
finish

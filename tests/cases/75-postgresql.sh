# PostgreSQL: initdb and pgbench with the data directory on the volume, and a hard stop of it.
# carriers: all
# timeout: 240
. "$KILN_TESTS/lib.sh"
need_root
bin=$(find /usr/lib/postgresql/*/bin -maxdepth 0 2>/dev/null | sort -V | tail -n 1)
[ -n "$bin" ] || skip "needs postgresql"
id postgres >/dev/null 2>&1 || skip "needs the user postgres"
setup
mkdir "$MNT/pg" "$KILN_TMP/run"
chown postgres "$MNT/pg" "$KILN_TMP/run"
pg() {
	(cd "$KILN_TMP/run" && setpriv --reuid postgres --regid postgres --init-groups \
		env HOME="$KILN_TMP/run" PGHOST="$KILN_TMP/run" PGDATA="$MNT/pg" "$bin/$1" "${@:2}")
}
pg initdb -A trust -E UTF8 --no-locale >"$KILN_TMP/initdb.out" 2>&1 || {
	tail "$KILN_TMP/initdb.out"
	fail initdb
}
start() {
	pg pg_ctl -w -t 60 -l "$KILN_TMP/run/pg.out" -o "-k '$KILN_TMP/run' -c listen_addresses=''" start >/dev/null || {
		tail "$KILN_TMP/run/pg.out"
		fail "postgres does not start"
	}
}
start
pg createdb bench
pg pgbench -i -s 3 -q bench >"$KILN_TMP/pgbench.out" 2>&1 || fail "$(tail "$KILN_TMP/pgbench.out")"
pg pgbench -c 4 -j 2 -T 10 bench 2>&1 | grep -E 'processed|failed|tps'
expect_eq "$(pg psql -Atc 'select sum(abalance) = (select sum(delta) from pgbench_history) from pgbench_accounts' bench)" t
done_before=$(pg psql -Atc 'select count(*) from pgbench_history' bench)
[ "$done_before" -gt 50 ]
pg pg_ctl -m immediate -w stop >/dev/null
start
expect_eq "$(pg psql -Atc 'select count(*) from pgbench_history' bench)" "$done_before" "after its crash recovery"
pg psql -Atc 'vacuum full' bench
pg pg_ctl -m fast -w stop >/dev/null
finish

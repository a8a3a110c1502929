# timeout: 120
# However and whenever kiln-bench is ended, it leaves no file and no process behind, and ab takes
# its sides down.
. "$KILN_TESTS/lib.sh"
BENCH=$KILN_BUILD/bench/kiln-bench
D=$KILN_TMP/d
mkdir "$D"

clean() {
	[ -z "$(ls -A "$D")" ]
}

nobody() {
	! pgrep -f "kiln-bench run .*$D"
}

# end SIGNAL CODE WHEN OPTION...: WHEN is a number of polls after the run's directory appeared.
end() {
	local signal=$1 want=$2 when=$3 code=0
	shift 3
	"$BENCH" run --quiet --budget 30s "$@" "$D" >/dev/null 2>&1 &
	local pid=$!
	until ! clean; do kill -0 $pid; done
	while [ "$when" -gt 0 ]; do
		when=$((when - 1))
		find "$D" >/dev/null 2>&1 || true
	done
	kill -"$signal" $pid
	{ wait $pid || code=$?; } 2>/dev/null
	[ "$code" = "$want" ] || fail "$signal: exit code $code, not $want"
	wait_for 20 clean
	wait_for 20 nobody
}

for when in 0 3 20 60; do
	end INT 130 $when
	end TERM 130 $when --procs 3
	end KILL 137 $when
	end KILL 137 $when --procs 2
done

# ab: interrupted in the middle, both sides are down again; killed, the down command runs too.
# shellcheck disable=SC2016
UP='touch "$KILN_TMP/up-$KILN_BENCH_SIDE"' DOWN='rm -f "$KILN_TMP"/up-*'
for signal in INT KILL; do
	"$BENCH" ab --quiet --a "$UP" --b "$UP" --a-down "$DOWN" --b-down "$DOWN" --dir "$D" \
		>/dev/null 2>&1 &
	pid=$!
	until ls "$KILN_TMP"/up-* >/dev/null 2>&1; do kill -0 $pid; done
	until ! clean; do kill -0 $pid; done
	kill -$signal $pid
	{ wait $pid || true; } 2>/dev/null
	wait_for 20 clean
	down() { ! ls "$KILN_TMP"/up-* >/dev/null 2>&1; }
	wait_for 20 down
done

#!/bin/bash
# How often does kiln-bench say "changed" when nothing has, and how often does it find a known
# slow-down of 10 %?  Many short comparisons of one directory with itself; in the second half
# every file call of side B takes 10 % longer (libkiln-slow.so).
#
#   bench/validate.sh BUILD [RUNS [BUDGET [DIR [aa|slow]]]]   prints Markdown; 100 runs of at most 30 s
#
# DIR "" is a new directory in /dev/shm; aa or slow runs one half alone.
# Budgets are upper bounds: a trial stops when its answer is clear.
set -eu
BUILD=$1 RUNS=${2:-100} BUDGET=${3:-30} DIR=${4:-} ONLY=${5:-}
BENCH=$BUILD/bench/kiln-bench SLOW=$(realpath "$BUILD/bench/libkiln-slow.so")
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
if [ -z "$DIR" ]; then
	DIR=$(mktemp -d /dev/shm/kiln-bench-validate.XXXXXX)
	trap 'rm -rf "$TMP"; rmdir "$DIR"' EXIT
fi

# trials NAME SLOW_B BUDGET: RUNS results into $TMP/NAME-*.json
trials() {
	local i code
	for i in $(seq "$RUNS"); do
		code=0
		KILN_SLOW_B=$2 LD_PRELOAD=$SLOW "$BENCH" ab --quiet --profile selftest --slice 2.5ms \
			--budget "$3" --json "$TMP/$1-$i.json" "$DIR" "$DIR" || code=$?
		[ "$code" -le 2 ] || exit "$code"
	done
}

[ "$ONLY" = slow ] || trials aa '' "$(python3 -c "print(min(5, $BUDGET))")"
[ "$ONLY" = aa ] || trials slow all=10% "$BUDGET"
python3 - "$TMP" "$RUNS" <<'PY'
import glob, json, math, sys
tmp, runs = sys.argv[1], int(sys.argv[2])

def load(kind):
    return [json.load(open(p)) for p in glob.glob("%s/%s-*.json" % (tmp, kind))]

def upper(k, n):  # exact 95 % upper bound of a share
    lo, hi = 0.0, 1.0
    for _ in range(60):
        p = (lo + hi) / 2
        tail = sum(math.comb(n, i) * p ** i * (1 - p) ** (n - i) for i in range(k + 1))
        lo, hi = (p, hi) if tail > 0.05 else (lo, p)
    return hi

def lower(k, n):
    return 1 - upper(n - k, n)

def changed(d):
    figures = d["figures"] + [d["result"]["headline"]]
    return any(f["verdict"] in ("faster", "slower") for f in figures)

def median(x):
    x = sorted(x)
    return (x[(len(x) - 1) // 2] + x[len(x) // 2]) / 2

def half(d):
    h = d["result"]["headline"]
    return None if h["low"] is None else 100 * math.expm1((h["high"] - h["low"]) / 2)

aa, slow = load("aa"), load("slow")
alarms = sum(map(changed, aa))
found = sum(d["result"]["headline"]["verdict"] == "slower" for d in slow)
any_found = sum(d["result"]["exit"] == 1 for d in slow)
load_before = [d["machine"]["load"][0] for d in aa + slow]
m = (aa + slow)[0]["machine"]
print("| | runs | result | 95 % bound | blocks | seconds | interval +- |")
print("|---|--:|--:|--:|--:|--:|--:|")
for name, docs, k, bound in (
        ("A/A: any figure called changed", aa, alarms, "at most %.1f %%" % (100 * upper(alarms, len(aa) or 1))),
        ("10 % slow-down: called worse", slow, any_found, "at least %.1f %%" % (100 * lower(any_found, len(slow) or 1))),
        ("10 % slow-down: headline slower", slow, found, "at least %.1f %%" % (100 * lower(found, len(slow) or 1)))):
    if not docs:
        continue
    h = [half(d) for d in docs if half(d) is not None]
    print("| %s | %d | %d | %s | %.0f | %.1f | %.1f %% |" % (
        name, len(docs), k, bound, median([d["result"]["blocks"] for d in docs]),
        median([d["took_s"] for d in docs]), median(h) if h else float("nan")))
print()
print("Load before the runs: median %.1f on %d processors (%s, %s); medians of blocks, seconds "
      "and half intervals." % (median(load_before), m["processors"], m["processor"], m["kernel"]))
PY

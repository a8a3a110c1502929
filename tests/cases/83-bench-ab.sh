# timeout: 180
# alone
# kiln-bench ab: a gross slow-down is found and stops the trial early; commands set sides up and
# down; results render and compare.
. "$KILN_TESTS/lib.sh"
BENCH=$KILN_BUILD/bench/kiln-bench
D=$KILN_TMP/d
mkdir "$D"
cd "$KILN_TMP"

KILN_SLOW_B=open=300us,unlink=300us expect_fail 1 'worse' \
	slowed "$BENCH" ab --profile selftest --slice 20ms --budget 60s --json ab.json --csv ab.csv \
	--md ab.md --junit ab.xml --html ab.html --label 'a <b> & "c"' "$D" "$D"
python3 - <<'PY'
import csv, json, xml.etree.ElementTree as ET
d = json.load(open("ab.json"))
assert d["exit"] == 1 and d["took_s"] < 55, (d["exit"], d["took_s"])
assert d["result"]["headline"]["verdict"] == "slower"
f = {x["metric"]: x for x in d["figures"]}
assert f["selftest.create"]["verdict"] == "slower" or f["selftest.delete"]["verdict"] == "slower"
assert f["selftest.lookup"]["verdict"] != "slower", f["selftest.lookup"]
s = f["selftest.create"]["samples"]
assert len(s) == d["result"]["blocks"] and {x["first"] for x in s} == {"a", "b"}, s
rows = list(csv.DictReader(open("ab.csv")))
assert len(rows) == 5 and rows[0]["verdict"] == "slower"
assert int(ET.parse("ab.xml").getroot().get("failures")) >= 2
html = open("ab.html").read()
assert "a &lt;b&gt; &amp; &quot;c&quot;" in html and "<b> &" not in html
for svg in html.split("<svg")[1:]:
    ET.fromstring("<svg" + svg.split("</svg>")[0] + "</svg>")
assert "src=" not in html and "http" not in html  # nothing is fetched
PY
"$BENCH" report --quiet --html again.html ab.json
cmp ab.html again.html

# Sides by command: each is set up and taken down in turn, never both at once; the target is what
# the command prints.
# shellcheck disable=SC2016
UP='mkdir "$KILN_TMP/up" && echo "$KILN_TMP/d"' DOWN='rmdir "$KILN_TMP/up"; echo "$KILN_BENCH_SIDE" >>"$KILN_TMP/sides"'
code=0
"$BENCH" ab --quiet --profile selftest --slice 10ms --budget 4s --all --a "$UP" --b "$UP" \
	--a-down "$DOWN" --b-down "$DOWN" 2>/dev/null || code=$?
[ $code -le 2 ] || fail "ab by commands: exit code $code"
expect_eq "$(sort -u sides | tr -d '\n')" ab
[ ! -e up ] || fail "a side is still up"
expect_fail 4 "'false' failed" "$BENCH" ab --a false --b true --dir "$D"

# Stored runs.
for i in 1 2; do
	"$BENCH" run --quiet --budget 4s --passes 5 --profile selftest --json r$i.json --label "run $i" "$D"
	"$BENCH" baseline add store r$i.json
done
code=0
"$BENCH" compare --quiet r1.json r2.json || code=$?
[ $code -le 2 ] || fail "compare: exit code $code"
"$BENCH" baseline show store | grep -q 'selftest.create' || fail "baseline show"
python3 - <<'PY'
import json
d = json.load(open("r1.json"))
assert len(d["tests"][0]["series"][0]["passes"]) == 5
for i in range(3, 15):  # a level shift at result 9, by a quarter
    for t in d["tests"]:
        for s in t["series"]:
            s["rate"] = (1000 if i < 9 else 750) + i % 3
    d["label"] = "made %d" % i
    json.dump(d, open("store/%06d.json" % i, "w"))
PY
rm store/000001.json store/000002.json
expect_fail 1 "from 'made 9' on" "$BENCH" baseline show store
echo "{}" >no.json
expect_fail 3 "is not a result" "$BENCH" report no.json

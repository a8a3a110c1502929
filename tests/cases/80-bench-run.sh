# timeout: 120
# alone
# kiln-bench run: every test of the standard profile works on a directory, one process or three,
# stays within its budget, verifies, and leaves nothing behind.
. "$KILN_TESTS/lib.sh"
BENCH=$KILN_BUILD/bench/kiln-bench
mkdir "$KILN_TMP/d" "$KILN_TMP/e"
"$BENCH" run --quiet --budget 8s --threads 2 --json "$KILN_TMP/r.json" "$KILN_TMP/d"
expect_eq "$(ls -A "$KILN_TMP/d")" "" "left behind"
"$BENCH" run --quiet --budget 4s --procs 3 --suite meta,load,create --json "$KILN_TMP/p.json" \
	"$KILN_TMP/d" "$KILN_TMP/e"
expect_eq "$(find "$KILN_TMP/d" "$KILN_TMP/e" -name "*kiln-bench*")" "" "left behind"
python3 - "$KILN_TMP/r.json" "$KILN_TMP/p.json" <<'PY'
import json, sys
one, three = (json.load(open(p)) for p in sys.argv[1:])
assert one["format"] == "kiln-bench/1" and one["took_s"] < 40, one["took_s"]
names = {t["suite"] + "." + t["test"]: t for t in one["tests"]}
for want in ("meta.CREATE_SUC", "meta.CREATE_ERR", "meta.LOOKUP_SUC", "meta.LOOKUP_ERR",
             "meta.DELETE_SUC", "meta.DELETE_ERR", "files.emptyfiles_create",
             "files.emptyfiles_delete", "files.smallfiles_create", "files.smallfiles_rewrite",
             "files.smallfiles_read", "files.smallfiles_reread", "files.smallfiles_delete",
             "files.largefile_create", "files.largefile_rewrite", "files.largefile_read",
             "files.largefile_reread", "files.largefile_delete",
             "files.directory_crawl_create", "files.directory_crawl",
             "files.directory_recrawl", "files.metadata_modify",
             "files.directory_crawl_delete", "load.load", "create.create", "create.churn",
             "syncwrite.writers_16", "mixed.busy"):
    assert names[want]["status"] in ("ok", "skipped"), (want, names[want]["why"])
for t in one["tests"] + three["tests"]:
    assert t["status"] != "failed", t
    for s in t["series"]:
        ops = sum(n for _, n in s["histogram_ns"])
        assert ops == s["ops"] == sum(s["timeline"]) == sum(c["ops"] for c in s["clients"]), s["metric"]
        assert s["ops"] > 0, s["metric"]
create = next(t for t in three["tests"] if t["test"] == "CREATE_SUC")["series"][0]
assert len({c["client"] for c in create["clients"]}) == 12, create["clients"]
PY

# timeout: 120
# kiln-bench through the client library: every test works against a kiln volume without a mount.
. "$KILN_TESTS/lib.sh"
BENCH=$KILN_BUILD/bench/kiln-bench
server_start
volume_create v
"$BENCH" run --budget 8s --threads 2 --json "$KILN_TMP/r.json" "kiln://$SOCK/v"
python3 - "$KILN_TMP/r.json" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
for t in d["tests"]:
    assert t["status"] == "ok", (t["suite"], t["test"], t["why"])
PY
"$BENCH" run --quiet --budget 2s --procs 2 --suite meta "kiln://$SOCK/v"
expect_fail 3 "no volume 'w'" "$BENCH" run "kiln://$SOCK/w"
mount_volume v "$MNT"
expect_eq "$(ls -A "$MNT")" "" "left behind"
umount_volume "$MNT"
server_stop

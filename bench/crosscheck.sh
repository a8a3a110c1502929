#!/bin/bash
# The same loads by kiln-bench and by fio, fs_mark and dbench, in turn, on one directory: do the
# rates agree?
#
#   bench/crosscheck.sh BUILD DIR [ROUNDS [SECONDS]]      prints Markdown; 7 rounds of 2 s each
#
# Debian: fio fsmark dbench.  Every round measures each pair side by side; the median ratio counts.
# fio also tells the median time of an operation, which a busy machine disturbs less than the mean.
set -eu
BUILD=$1 DIR=$2 ROUNDS=${3:-7} SECS=${4:-2}
BENCH=$BUILD/bench/kiln-bench
for cmd in fio fs_mark dbench python3; do
	command -v $cmd >/dev/null || { echo "needs $cmd" >&2; exit 77; }
done
export BENCH SECS
DIR=$(mktemp -d "$DIR/kiln-crosscheck.XXXXXX")
TMP=$(mktemp -d)
trap 'rm -rf "$DIR" "$TMP"' EXIT

python3 - "$DIR" "$TMP" "$ROUNDS" <<'PY'
import json, os, re, shutil, subprocess, sys
top, tmp, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
bench, secs = os.environ["BENCH"], float(os.environ["SECS"])
whole = str(max(1, round(secs)))  # fio and dbench know whole seconds

def run(*argv):
    return subprocess.run(argv, check=True, text=True, capture_output=True, timeout=120).stdout

def fresh():
    path = os.path.join(top, "w")
    shutil.rmtree(path, ignore_errors=True)
    os.mkdir(path)
    return path

medians = [0, 0]  # of the last operations seen: ours, theirs; 0 where the other does not tell

def ours(test, unit="rate"):
    # 0.72 of the budget is measured
    run(bench, "run", "--quiet", "--profile", "crosscheck", "--suite", "cross." + test,
        "--budget", str(secs / 0.72), "--json", tmp + "/r.json", fresh())
    series = json.load(open(tmp + "/r.json"))["tests"][0]["series"][0]
    medians[0] = series["latency_ns"]["p50"]
    return series[unit]

def fs_mark(threads):
    # as many files as fit the time, at the rate just seen
    n = max(50, int(ours_last * secs / threads))
    out = run("fs_mark", "-d", fresh(), "-s", "16384", "-n", str(n), "-S", "1", "-t",
              str(threads), "-L", "1", "-l", tmp + "/fs_log")
    return float([line.split() for line in out.splitlines() if re.match(r"\s+\d", line)][-1][3])

def fio(*args):
    out = run("fio", "--name=f", "--directory=" + fresh(), "--output-format=json", *args)
    job = json.loads(out[out.index("{"):])["jobs"][0]
    medians[1] = sum(job[k][l]["percentile"]["50.000000"] for k, l in
                     (("read", "clat_ns"), ("write", "clat_ns"), ("sync", "lat_ns"))
                     if "percentile" in job[k][l])
    return job

def fio_append():
    # a write and the fsync after it are one of our operations
    return fio("--rw=write", "--bs=4k", "--size=64m", "--ioengine=psync", "--fsync=1",
               "--file_append=1", "--fallocate=none", "--time_based", "--runtime=" + whole)["write"]["iops"]

def fio_create():
    n = max(200, int(ours_last * secs))
    job = fio("--ioengine=filecreate", "--nrfiles=%d" % n, "--filesize=4k", "--openfiles=1",
              "--fallocate=none", "--create_on_open=1", "--rw=write", "--bs=4k")
    return 1e9 / job["write"]["clat_ns"]["mean"]

def fio_stream(kind):
    # aligned buffers, as ours are: fio's own, 16 bytes off a page, copy at half the speed here
    job = fio("--rw=" + kind, "--bs=1m", "--size=128m", "--ioengine=psync", "--invalidate=0", "--scramble_buffers=0", "--iomem_align=4096",
              "--time_based", "--runtime=" + whole)
    return job[kind]["bw_bytes"]

def dbench():
    c = '"\\clients\\client1%s"'
    with open(tmp + "/load.txt", "w") as f:
        f.write('Mkdir "\\clients" NT_STATUS_OK\nDeltree %s NT_STATUS_OK\nNTCreateX %s 0x1 0x2 '
                '16385 NT_STATUS_OK\nClose 16385 NT_STATUS_OK\n' % (c % "", c % ""))
        for i in range(200):
            name = c % ("\\f%d" % (i % 8))
            f.write("NTCreateX %s 0x40 0x2 %d NT_STATUS_OK\nWriteX %d 0 16384 16384 NT_STATUS_OK\n"
                    "Flush %d NT_STATUS_OK\nClose %d NT_STATUS_OK\nUnlink %s 0x6 NT_STATUS_OK\n"
                    % (name, 1000 + i, 1000 + i, 1000 + i, 1000 + i, name))
    out = run("dbench", "-c", tmp + "/load.txt", "-D", fresh(), "-t", whole, "1")
    rows = dict((r[0], (int(r[1]), float(r[2]))) for r in re.findall(
        r"^ (\w+)\s+(\d+)\s+([\d.]+)\s+[\d.]+$", out, re.M))
    ops = ("NTCreateX", "WriteX", "Flush", "Close", "Unlink")
    return rows["Flush"][0] / sum(rows[o][0] * rows[o][1] / 1000 for o in ops)

pairs = [
    ("fs_mark -S 1, 1 thread", "writers_1", "rate", lambda: fs_mark(1)),
    ("fs_mark -S 1, 4 threads", "writers_4", "rate", lambda: fs_mark(4)),
    ("dbench: create, write, flush, close, unlink", "churn_sync", "rate", dbench),
    ("fio write 4 KiB + fsync", "append", "rate", fio_append),
    ("fio filecreate (open alone)", "create", "rate", fio_create),
    ("fio rewrite 1 MiB, cached", "rewrite", "bytes_per_s", lambda: fio_stream("write")),
    ("fio read 1 MiB, cached", "reread", "bytes_per_s", lambda: fio_stream("read")),
]
rows = [([], [], [], []) for _ in pairs]
for _ in range(rounds):
    for (name, test, unit, other), row in zip(pairs, rows):
        ours_last = ours(test, unit)
        medians[1] = 0
        theirs = other()
        again = ours(test, unit)  # theirs stands between two of ours: drift cancels out
        mean = (ours_last * again) ** 0.5
        for column, value in zip(row, (mean, theirs, mean / theirs)):
            column.append(value)
        if medians[1]:
            row[3].append(medians[1] / medians[0])

def median(x):
    x = sorted(x)
    return (x[(len(x) - 1) // 2] + x[len(x) // 2]) / 2

print("| other program | kiln-bench test | kiln-bench | other | ratio | least .. most | ratio of medians |")
print("|---|---|--:|--:|--:|--:|--:|")
for (name, test, unit, _), (a, b, r, m) in zip(pairs, rows):
    scale, suffix = (1 << 20, " MiB/s") if unit == "bytes_per_s" else (1, "/s")
    print("| %s | cross.%s | %.0f%s | %.0f%s | %.2f | %.2f .. %.2f | %s |" % (
        name, test, median(a) / scale, suffix, median(b) / scale, suffix, median(r), min(r), max(r),
        "%.2f" % median(m) if m else ""))
PY

#!/usr/bin/env python3
"""Row 3 of the origin, PVFS2's storage back ends and layouts: 51,200 creates into one directory by
1, 5 and 25 clients, seconds a create, for each back end, layout, disk and cache; then ten rounds
of creating and deleting, which must not slow down.  A create opens nothing (MKNOD), as the
origin's; with --shape create it is three requests, the file being opened and closed.

    bench/origin/layouts.py [--quick] [--shape mknod] [DISK ...]     DISK: ext4 ram"""

import argparse
import os

from common import Disk, Server, bars, bench, machine, median, say, table

FILES = 51200
KINDS = [("mem", "single"), ("rocksdb", "single"), ("rocksdb", "split")]
CONFIGURATIONS = [(b, l, c) for b, l in KINDS for c in ([None] if b == "mem" else ["1M", "16M", None])]


def profile(clients, files, shape):
    return f"suite c\ntest create dirs=1 threads={clients} count={files // clients} shape={shape}\n"


CHURN = "suite c\ntest churn dirs=1 threads=5 files=1024 rounds=10 shape=churn\n"


def one(disk, backend, layout, cache, clients, files, shape):
    options = ["--backend", backend] + (["--layout", layout] if backend == "rocksdb" else [])
    options += ["--cache", cache] if cache else []
    with Server(disk, *options) as s:
        series = bench(profile(clients, files, shape), [s.volume("v")], 60, s, clients)["create"]
        size = s.status()["store"]["database_bytes"] or 0
        return series["elapsed_s"] / series["ops"], size, series["counters"]["server_ns"] / series["ops"]


def churn(disk, backend, layout, seconds):
    options = ["--backend", backend] + (["--layout", layout] if backend == "rocksdb" else [])
    with Server(disk, *options) as s:
        return bench(CHURN, [s.volume("v")], seconds, s, 5)["churn"].get("last_to_first")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--quick", action="store_true")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--shape", default="mknod", choices=["mknod", "create"])
    p.add_argument("--svg", help="folder for plots")
    p.add_argument("disks", nargs="*", default=["ext4", "ram"])
    a = p.parse_args()
    files, rounds = (5000, 1) if a.quick else (FILES, a.rounds)
    say(machine() + "\n")
    for kind in a.disks:
        with Disk(kind) as disk:
            rows = []
            for clients in (1, 5, 25):
                # a round has them all, and what is compared is compared within it
                done = [{c: one(disk, *c, clients, files, a.shape) for c in CONFIGURATIONS} for _ in range(rounds)]
                for c in CONFIGURATIONS:
                    backend, layout, cache = c
                    runs = [r[c] for r in done]
                    rows.append([clients, backend, layout if backend == "rocksdb" else "-", cache or "default",
                                 f"{median([r[0] for r in runs]):.6f}",
                                 f"{median([r[c][0] / r[CONFIGURATIONS[0]][0] for r in done]):.2f}",
                                 f"{median([r[2] for r in runs]) / 1e3:.1f}", f"{runs[0][1] / 1e6:.1f}"])
            say(f"### {disk.name}, {files} creates\n\n" + table(
                ["clients", "back end", "layout", "cache", "seconds a create", "times mem", "server us a create",
                 "database MB"], rows))
            if a.svg:
                bars(os.path.join(a.svg, f"layouts-{kind}.svg"), f"{files} creates, {disk.name}",
                     [(f"{r[0]} clients, {r[1]} {r[2]}, cache {r[3]}", float(r[4]) * 1e6) for r in rows], "us a create")
            rows = [[b, l, f"{churn(disk, b, l, 4 if a.quick else 20):.2f}"] for b, l in KINDS]
            say("Ten rounds of churn, rate of the last over the first:\n\n" +
                table(["back end", "layout", "last / first"], rows))


if __name__ == "__main__":
    main()

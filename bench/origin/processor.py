#!/usr/bin/env python3
"""Processor time of the server, all its threads together, for a create and a lookup by 1, 5 and 25
library clients over a Unix socket; and the limit: the store alone and the device alone.

    bench/origin/processor.py [--quick] [DISK ...]     DISK: ext4 ram"""

import argparse
import os

from common import BUILD, Disk, Server, bench, machine, median, run, say, table

FILES = 51200
SHAPES = [("mknod", "create (MKNOD)"), ("create", "create, flush, release"), ("lookup", "lookup"),
          ("lookup_missing", "lookup of a missing name")]


def one(disk, clients, shape, files):
    work = f"count={files // clients}" if shape in ("mknod", "create") else f"files={2000 // clients} count={files // clients}"
    with Server(disk) as s:
        series = bench(f"suite c\ntest t dirs=1 threads={clients} {work} shape={shape}\n", [s.volume("v")], 60, s,
                       clients)["t"]
        return series["counters"]["server_ns"] / series["ops"] / 1e3, series["throughput"]


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--quick", action="store_true")
    p.add_argument("disks", nargs="*", default=["ext4"])
    a = p.parse_args()
    files, rounds = (10000, 1) if a.quick else (FILES, 3)
    say(machine() + "\n")
    for kind in a.disks:
        with Disk(kind) as disk:
            rows = []
            for shape, text in SHAPES:
                for clients in (1, 5, 25):
                    runs = [one(disk, clients, shape, files) for _ in range(rounds)]
                    rows.append([text, clients, f"{median([r[0] for r in runs]):.1f}", f"{median([r[1] for r in runs]):.0f}"])
            say(f"### {disk.name}\n\n" + table(["operation", "clients", "server us each", "a second"], rows))
            where = os.path.join(disk.dir, "alone")
            say(run(os.path.join(BUILD, "bench", "kiln-alone"), where, str(files)).stdout)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Row 2 of the origin, GlusterFS's brick multiplexing: twenty volumes of one server, each mounted,
and a hundred client threads that create, write, read and delete files; beside the same load on one
volume, and on the local file system.  And what volumes cost that nobody uses.

    bench/origin/bricks.py [--quick]"""

import argparse
import os

from common import Disk, Server, bench, machine, median, say, table

VOLUMES, THREADS = 20, 100
PROFILE = f"suite s\ntest load threads={THREADS} files=5 size=8k shape=create:2,read:2,unlink:2 total=yes\n"


def load(disk, volumes, seconds):
    with Server(disk) as s:
        targets = []
        for i in range(volumes):
            s.volume(f"v{i}")
            targets.append(s.mount(f"v{i}"))
        one = next(iter(bench(PROFILE, targets, seconds, s, THREADS).values()))
        return one["throughput"], one["counters"]["server_ns"] / one["ops"] / 1e3, s.resident_kib()


def local(disk, seconds):
    where = [os.path.join(disk.dir, f"l{i}") for i in range(VOLUMES)]
    for w in where:
        os.makedirs(w, exist_ok=True)
    return next(iter(bench(PROFILE, where, seconds, None, THREADS).values()))["throughput"]


def idle(disk, count):
    with Server(disk) as s:
        before = s.resident_kib()
        for i in range(count):
            s.volume(f"v{i}")
        return before, s.resident_kib()


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--quick", action="store_true")
    a = p.parse_args()
    rounds, seconds = (1, 8) if a.quick else (3, 15)
    say(machine() + "\n")
    with Disk("ext4") as disk:
        many = [load(disk, VOLUMES, seconds) for _ in range(rounds)]
        one = [load(disk, 1, seconds) for _ in range(rounds)]
        here = [local(disk, seconds) for _ in range(rounds)]
        say(table(["100 threads on", "operations/s", "server us an operation", "server resident MiB"], [
            ["20 volumes, 20 mounts", f"{median([r[0] for r in many]):.0f}", f"{median([r[1] for r in many]):.1f}",
             f"{median([r[2] for r in many]) / 1024:.1f}"],
            ["1 volume, 1 mount", f"{median([r[0] for r in one]):.0f}", f"{median([r[1] for r in one]):.1f}",
             f"{median([r[2] for r in one]) / 1024:.1f}"],
            ["20 directories of the local ext4", f"{median(here):.0f}", "", ""]]))
        count = 200 if a.quick else 3000
        before, after = idle(disk, count)
        say(f"{count} volumes that nobody uses: {(after - before) / count:.2f} KiB each "
            f"({before / 1024:.1f} to {after / 1024:.1f} MiB resident).\n")


if __name__ == "__main__":
    main()

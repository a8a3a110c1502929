#!/usr/bin/env python3
"""kiln beside a server that does nothing (bench/null.c) behind the same carrier, in one run, in
turn, as ratios of medians: the README's table.

    bench/origin/null.py [--quick]"""

import argparse
import os
import sys
import time

from common import Disk, Server, bench, machine, median, say, table

PROFILE = """suite s
test create threads={t} shape=create
test getattr threads={t} shape=getattr
test lookup threads={t} shape=lookup_missing
test small threads={t} set=small size=8k shape=create
"""


def measure(target, threads, seconds):
    return {k: v["throughput"] for k, v in bench(PROFILE.format(t=threads), [target], seconds, None, threads).items()}


def stream(where, size=1 << 30):
    """Writes and reads a file of a GiB in 1 MiB calls: bytes/s in, bytes/s out (not from the client's cache)."""
    path, block = os.path.join(where, "stream"), os.urandom(1 << 20)
    os.sync()  # nobody else's dirty pages
    start = time.time()
    fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    for _ in range(size >> 20):
        os.write(fd, block)
    os.fsync(fd)
    wrote = time.time() - start
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)
    with open("/proc/sys/vm/drop_caches", "w") as f:
        f.write("1")
    start = time.time()
    fd = os.open(path, os.O_RDONLY)
    while os.read(fd, 1 << 20):
        pass
    read = time.time() - start
    os.close(fd)
    os.unlink(path)
    return size / wrote, size / read


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--quick", action="store_true")
    p.add_argument("--streams", action="store_true", help="only the streams")
    a = p.parse_args()
    rounds, seconds = (3, 3) if a.quick else (5, 6)
    say(machine() + "\n")
    rows = []
    with Disk("ext4") as disk:
        for carrier, options in () if a.streams else (("handed over", []), ("relayed", ["--relay"])):
            for threads in (1, 4):
                got = {"kiln": [], "null": []}
                for _ in range(rounds):
                    for side in ("null", "kiln"):
                        with Server(disk, null=side == "null") as s:
                            if side == "kiln":
                                s.volume("v")
                            got[side].append(measure(s.mount("v", *options), threads, seconds))
                for op in got["kiln"][0]:
                    k, n = (median([r[op] for r in got[side]]) for side in ("kiln", "null"))
                    rows.append([carrier, threads, op, f"{k:.0f}", f"{n:.0f}", f"{k / n:.2f}"])
        say(table(["carrier", "threads", "operation", "kiln /s", "null /s", "kiln / null"], rows))
        rows = []
        local, kiln = [], []
        for _ in range(rounds):
            local.append(stream(disk.dir))
            with Server(disk) as s:
                s.volume("v")
                kiln.append(stream(s.mount("v")))
        for i, what in enumerate(("1 GiB in, fsync", "1 GiB out, cold cache")):
            k, n = median([r[i] for r in kiln]), median([r[i] for r in local])
            rows.append([what, f"{k / 1e6:.0f}", f"{n / 1e6:.0f}", f"{k / n:.2f}"])
        say(table(["stream", "kiln MB/s", "local ext4 MB/s", "kiln / local"], rows))


if __name__ == "__main__":
    sys.exit(main())

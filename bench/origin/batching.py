#!/usr/bin/env python3
"""Row 4 of the origin, ext4/jbd2's transaction batching: N writers, each create + write 16 KiB +
fsync + close.  Library clients and mounts, beside the local ext4 underneath and a bare
write + fdatasync of the same bytes.

    bench/origin/batching.py [--quick] [--threads 1,2,4] [DISK ...]     DISK: ext4 ext4+2 ext4+10 ram"""

import argparse
import os
import sys
import time

from common import Disk, Server, bench, lines, machine, median, say, table


def profile(n):
    return f"suite w\ntest w threads={n} size=16k fsync=yes shape=create\n"


def bare(disk, seconds):
    """One writer: pwrite of 16 KiB + fdatasync, overwriting a preallocated file in turn."""
    path = os.path.join(disk.dir, "bare")
    fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    block, slots = os.urandom(16384), 256
    for i in range(slots):
        os.pwrite(fd, block, i * 16384)
    os.fsync(fd)
    end, n = time.time() + seconds, 0
    while time.time() < end:
        os.pwrite(fd, block, n % slots * 16384)
        os.fdatasync(fd)
        if disk.delay_ms:
            time.sleep(disk.delay_ms / 1000)
        n += 1
    os.close(fd)
    os.unlink(path)
    return n / seconds


def dirs(base, n):
    made = [os.path.join(base, f"d{i}") for i in range(n)]
    for d in made:
        os.makedirs(d, exist_ok=True)
    return made


def one_round(disk, counts, seconds, fuse):
    rates = {"bare": bare(disk, seconds)}
    for n in counts:
        if not disk.delay_ms:
            local = os.path.join(disk.dir, "local")
            rates["ext4", n] = bench(profile(n), dirs(local, n), seconds)["w"]["throughput"]
        with Server(disk) as s:
            target = s.volume("v")
            before = s.status()["commits"]
            rates["kiln", n] = bench(profile(n), [target], seconds, s)["w"]["throughput"]
            after = s.status()["commits"]
            syncs = after["syncs"] - before["syncs"]
            rates["per sync", n] = (after["waits"] - before["waits"]) / max(syncs, 1)
        if fuse:
            with Server(disk) as s:
                s.volume("v")
                rates["one mount", n] = bench(profile(n), dirs(s.mount("v"), n), seconds)["w"]["throughput"]
            with Server(disk) as s:
                targets = []
                for i in range(n):
                    s.volume(f"v{i}")
                    targets.append(s.mount(f"v{i}"))
                rates["mount each", n] = bench(profile(n), targets, seconds)["w"]["throughput"]
    return rates


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--quick", action="store_true", help="one short round")
    p.add_argument("--threads", default="1,2,4,8,16,64")
    p.add_argument("--no-fuse", action="store_true")
    p.add_argument("--svg", help="folder for plots")
    p.add_argument("disks", nargs="*", default=["ext4", "ext4+2", "ext4+10", "ram"])
    a = p.parse_args()
    counts = [int(n) for n in a.threads.split(",")]
    say(machine() + "\n")
    for kind in a.disks:
        name, _, delay = kind.partition("+")
        with Disk(name, int(delay or 0)) as disk:
            rounds = [one_round(disk, counts, 2 if a.quick else 4, not a.no_fuse and not delay)
                      for _ in range(1 if a.quick else 3)]
            mid = {k: median([r[k] for r in rounds]) for k in rounds[0]}
            say(f"### {disk.name}: bare write + fdatasync {mid['bare']:.0f}/s\n")
            rows = []
            for n in counts:
                k = mid["kiln", n]
                row = [n, f"{k:.0f}", f"{k / mid['kiln', counts[0]]:.1f}", f"{mid['per sync', n]:.1f}"]
                for other in ("one mount", "mount each", "ext4"):
                    v = mid.get((other, n))
                    row.append("" if v is None else f"{v:.0f}")
                rows.append(row)
            say(table(["writers", "kiln, library: files/s", "times one writer", "operations a sync", "one mount",
                       "a mount each", "local ext4"], rows))
            if a.svg:
                names = {"kiln": "kiln, library", "one mount": "kiln, one mount", "mount each": "kiln, a mount each",
                         "ext4": "local ext4"}
                series = {text: [mid.get((k, n)) for n in counts] for k, text in names.items()}
                lines(os.path.join(a.svg, f"batching-{kind}.svg"), f"create + write 16 KiB + fsync + close, {disk.name}",
                      counts, {k: v for k, v in series.items() if any(v)}, "writers (files a second)")
            if 1 in counts:
                say(f"One writer takes {mid['bare'] / mid['kiln', 1]:.2f} times the bare write's time.\n")


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Row 1 of the origin, PVFS2's separate thread for reads: 15 clients of an `op` volume, lookups
beside creates and deletes, each succeeding and failing; against the same clients without the
others, and against one queue for everything.  A create opens nothing (MKNOD), as the origin's.

    bench/origin/lookups.py [--quick] [DISK ...]     DISK: ram ext4 ext4+2 ext4+10"""

import argparse
import os

from common import Disk, Server, bars, bench, machine, median, say, table

LOOK = "role look threads=5 set=look files=133 shape=lookup,lookup_missing\n"
CHANGE = "role change threads=5 set=change files=20 shape=mknod,unlink\n"
FAIL = "role fail threads=5 set=fail files=133 shape=create_exist,unlink_missing\n"
MIXED = f"suite s\ntest mixed\n{LOOK}{CHANGE}{FAIL}"
# a test of one role names its series by shape alone, so alone means: with the failing ones too
QUIET = f"suite s\ntest quiet\n{LOOK}{FAIL}"
BUSY = f"suite s\ntest busy\n{CHANGE}{FAIL}"
NULL = "suite s\ntest null dirs=1 threads=15 shape=lookup_missing\n"
SHAPES = ["mknod", "create_exist", "lookup", "lookup_missing", "unlink", "unlink_missing"]
NAMES = {"mknod": "CREATE_SUC", "create_exist": "CREATE_ERR", "lookup": "LOOKUP_SUC", "lookup_missing": "LOOKUP_ERR",
         "unlink": "DELETE_SUC", "unlink_missing": "DELETE_ERR"}


def find(series, shape):
    return next((v for k, v in series.items() if k.split(".")[-1] == shape), None)


def run_one(disk, profile, seconds, *options):
    with Server(disk, *options) as s:
        target = s.volume("v", "op")
        return {k.split(".")[-1]: v for k, v in bench(profile, [target], seconds, s, 15).items()}


def worst_of_nothing(disk, seconds):
    """What the machine does to 15 clients of a server that does nothing (bench/null.c)."""
    with Server(disk, null=True) as s:
        return bench(NULL, [f"kiln://{s.socket}/v"], seconds, None, 15)["null"]["latency_ns"]["max"]


def ms(ns):
    return f"{ns / 1e6:.3f}"


def rows_of(series):
    for shape in SHAPES:
        v = series.get(shape)
        if v:
            lat = v["latency_ns"]
            yield [NAMES[shape], ms(lat["min"]), ms(lat["max"]), ms(lat["mean"]), ms(lat["p50"]), ms(lat["p99"]),
                   f"{1e9 / lat['mean']:.1f}"]


def rate(series, *shapes):
    return sum(series[s]["throughput"] for s in shapes)


def compare(disk, kind, rounds, seconds, folder):
    runs = [{"mixed": run_one(disk, MIXED, seconds), "quiet": run_one(disk, QUIET, seconds),
             "busy": run_one(disk, BUSY, seconds), "queue": run_one(disk, MIXED, seconds, "--one-queue"),
             "null": worst_of_nothing(disk, seconds)}
            for _ in range(rounds)]
    head = ["operation", "min ms", "max ms", "average ms", "median ms", "p99 ms", "rate per client"]
    say(f"### {disk.name}\n\nkiln:\n\n" + table(head, rows_of(runs[0]["mixed"])))
    say("One queue for everything (`--one-queue`):\n\n" + table(head, rows_of(runs[0]["queue"])))

    if folder:
        bars(os.path.join(folder, f"lookups-{kind}.svg"), f"15 clients, {disk.name}",
             [(f"{NAMES[s]}{text}", runs[0][side][s]["latency_ns"]["mean"] / 1e6)
              for s in SHAPES for side, text in (("mixed", ""), ("queue", ", one queue"))], "ms on average")

    def mid(fn):
        return median([fn(r) for r in runs])

    looks = ("lookup", "lookup_missing")
    sync = mid(lambda r: r["mixed"]["mknod"]["latency_ns"]["p50"])
    say(table(["what", "measured", "wanted"], [
        ["lookups beside changes / without", f"{mid(lambda r: rate(r['mixed'], *looks) / rate(r['quiet'], *looks)):.2f}",
         ">= 0.8"],
        ["p99 of lookups beside changes / without",
         f"{mid(lambda r: r['mixed']['lookup']['latency_ns']['p99'] / r['quiet']['lookup']['latency_ns']['p99']):.2f}",
         "<= 2"],
        ["worst lookup of a server that does nothing, ms", ms(mid(lambda r: r["null"])), ""],
        ["worst lookup without changes, ms", ms(mid(lambda r: max(r['quiet'][s]['latency_ns']['max'] for s in looks))), ""],
        ["worst lookup, ms", ms(mid(lambda r: max(r['mixed'][s]['latency_ns']['max'] for s in looks))),
         f"< {ms(max(sync, 10 * mid(lambda r: r['mixed']['lookup']['latency_ns']['p50'])))} (a commit, or ten medians)"],
        ["failing create / lookup (averages)",
         f"{mid(lambda r: r['mixed']['create_exist']['latency_ns']['mean'] / r['mixed']['lookup']['latency_ns']['mean']):.2f}",
         "<= 1.5"],
        ["failing delete / lookup (averages)",
         f"{mid(lambda r: r['mixed']['unlink_missing']['latency_ns']['mean'] / r['mixed']['lookup']['latency_ns']['mean']):.2f}",
         "<= 1.5"],
        ["creates and deletes beside lookups / without",
         f"{mid(lambda r: rate(r['mixed'], 'mknod', 'unlink') / rate(r['busy'], 'mknod', 'unlink')):.2f}", ">= 0.9"],
        ["lookups / with one queue", f"{mid(lambda r: rate(r['mixed'], *looks) / rate(r['queue'], *looks)):.1f}", ">= 10"],
    ]))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--quick", action="store_true")
    p.add_argument("--svg", help="folder for plots")
    p.add_argument("disks", nargs="*", default=["ram", "ext4", "ext4+2", "ext4+10"])
    a = p.parse_args()
    say(machine() + "\n")
    for kind in a.disks:
        name, _, delay = kind.partition("+")
        with Disk(name, int(delay or 0), autogroup=False) as disk:
            compare(disk, kind, 1 if a.quick else 3, 3 if a.quick else 5, a.svg)


if __name__ == "__main__":
    main()

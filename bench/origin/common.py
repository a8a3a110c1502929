"""What the comparisons of docs/results.md share: a server on a disk of a kind, a kiln-bench run,
tables.  Load shapes and statistics are kiln-bench's; here is only what surrounds them."""

import json
import os
import shutil
import subprocess
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("KILN_BUILD", os.path.join(TOP, "build"))
KILN = os.path.join(BUILD, "kiln")
NULL = os.path.join(BUILD, "bench", "kiln-null")
BENCH = os.path.join(BUILD, "bench", "kiln-bench")
SLOW = os.path.join(BUILD, "bench", "libkiln-slow.so")


def run(*command, **kw):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=600, **kw)


class Disk:
    """A directory on a RAM file system ("ram") or on a journalled ext4 in a loop image ("ext4"),
    with delay_ms added to each sync by a preloaded library."""

    def __init__(self, kind="ext4", delay_ms=0, size="6G"):
        self.kind, self.delay_ms = kind, delay_ms
        self.base = tempfile.mkdtemp(prefix="kiln-origin-", dir="/dev/shm" if kind == "ram" else "/var/tmp")
        self.dir = os.path.join(self.base, "disk")
        os.mkdir(self.dir)
        if kind == "ext4":
            image = os.path.join(self.base, "image")
            run("truncate", "-s", size, image)
            run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", image)
            run("mount", "-o", "loop", image, self.dir)

    @property
    def name(self):
        return self.kind + (f" + {self.delay_ms} ms" if self.delay_ms else "")

    def env(self):
        if not self.delay_ms:
            return dict(os.environ)
        return dict(os.environ, LD_PRELOAD=SLOW, KILN_SLOW=f"fdatasync={self.delay_ms}ms,fsync={self.delay_ms}ms")

    def close(self):
        if self.kind == "ext4":
            run("umount", self.dir)
        shutil.rmtree(self.base, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Server:
    def __init__(self, disk, *options, null=False):
        self.work = tempfile.mkdtemp(prefix="kiln-origin-")
        self.socket = os.path.join(self.work, "s")
        self.env = dict(os.environ, KILN_SERVER="unix:" + self.socket)
        self.mounts = []
        self.log = open(os.path.join(self.work, "log"), "w")
        if null:
            command, env = [NULL, self.socket], None
        else:
            data = tempfile.mkdtemp(prefix="data-", dir=disk.dir)
            os.rmdir(data)
            command = [KILN, "serve", data, "--listen", "unix:" + self.socket, *map(str, options)]
            env = disk.env()
            self.data = data
        self.process = subprocess.Popen(command, env=env, stdout=self.log, stderr=self.log)
        end = time.time() + 60
        while not self.listens():
            if self.process.poll() is not None or time.time() > end:
                raise SystemExit(open(self.log.name).read())
            time.sleep(0.02)

    def listens(self):
        import socket
        with socket.socket(socket.AF_UNIX) as s:
            try:
                s.connect(self.socket)
                return True
            except OSError:
                return False

    def kiln(self, *args):
        return run(KILN, *args, env=self.env).stdout

    def volume(self, name, durability="fsync"):
        self.kiln("volume", "create", name, "--durability", durability)
        return f"kiln://{self.socket}/{name}"

    def mount(self, name, *options):
        where = os.path.join(self.work, f"m{len(self.mounts)}")
        os.mkdir(where)
        self.kiln("mount", name, where, *options)
        self.mounts.append(where)
        return where

    def status(self):
        return json.loads(self.kiln("status", "--json"))

    def resident_kib(self):
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith("VmRSS"):
                return int(line.split()[1])

    def close(self):
        for where in self.mounts:
            run("umount", where)
        self.process.terminate()
        self.process.wait(60)
        self.log.close()
        shutil.rmtree(self.work, ignore_errors=True)
        if getattr(self, "data", None):
            shutil.rmtree(self.data, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def bench(profile, targets, budget, server=None, threads=4):
    """One kiln-bench run; {test or test.role: series} with its counters."""
    with tempfile.TemporaryDirectory() as d:
        text, out = os.path.join(d, "p.profile"), os.path.join(d, "o.json")
        open(text, "w").write(profile)
        command = [BENCH, "run", "--quiet", "--profile", text, "--budget", f"{budget}s", "--json", out,
                   "--threads", str(threads)]
        if server:
            command += ["--server-pid", str(server.process.pid)]
        done = subprocess.run(command + list(targets), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=budget * 4 + 120)
        if not os.path.exists(out):
            raise SystemExit(done.stdout + done.stderr)
        doc = json.load(open(out))
    found = {}
    for test in doc["tests"]:
        if test["status"] != "ok":
            raise SystemExit(f"{test['test']}: {test['status']}: {test['why']}")
        for series in test["series"]:
            name = test["test"] + ("" if len(test["series"]) == 1 else "." + series["name"])
            found[name] = dict(series, counters=test["counters"], elapsed_s=test["elapsed_s"])
    return found


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(c) for c in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def median(values):
    values = sorted(values)
    n = len(values)
    return values[n // 2] if n % 2 else (values[n // 2 - 1] + values[n // 2]) / 2


def machine():
    cpu = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "?")
    return f"{os.cpu_count()} processors ({cpu}), Linux {os.uname().release}, {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}"


def say(text):
    print(text, flush=True)

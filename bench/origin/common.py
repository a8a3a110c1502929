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


AUTOGROUP = "/proc/sys/kernel/sched_autogroup_enabled"


def read(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return None


def write(path, text):
    if text is not None:
        with open(path, "w") as f:
            f.write(text)


class Disk:
    """A directory on a RAM file system ("ram") or on a journalled ext4 in a loop image ("ext4"),
    with delay_ms added to each sync by a preloaded library.

    A loop device is served by threads of the kernel.  With as many clients as keep all processors
    busy, autogroup scheduling can leave those waiting (Linux 6.18: single syncs of up to 2.4 s),
    which no disk does; with autogroup=False it is off while there is the Disk."""

    def __init__(self, kind="ext4", delay_ms=0, size="6G", autogroup=True):
        self.kind, self.delay_ms = kind, delay_ms
        self.base = tempfile.mkdtemp(prefix="kiln-origin-", dir="/dev/shm" if kind == "ram" else "/var/tmp")
        self.dir = os.path.join(self.base, "disk")
        os.mkdir(self.dir)
        self.autogroup = None if autogroup else read(AUTOGROUP)
        if self.autogroup:
            write(AUTOGROUP, "0")
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
        write(AUTOGROUP, self.autogroup)
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
    os.sync()  # nobody pays for the dirty pages of who ran before
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
    poll = read("/sys/module/haltpoll/parameters/guest_halt_poll_ns")
    return (f"{os.cpu_count()} processors ({cpu}), Linux {os.uname().release}, "
            + (f"guest_halt_poll_ns {poll.strip()}, " if poll else "")
            + time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()))


def say(text):
    print(text, flush=True)


# --- plots: plain SVG that reads in light and dark ----------------------------------------------

COLOURS = ["#2f6fde", "#d9822b", "#3a9d5d", "#a04fbf", "#777777"]
STYLE = ("<style>text{font:12px sans-serif;fill:#555}.t{font-size:14px;font-weight:600}"
         "@media(prefers-color-scheme:dark){text{fill:#bbb}}</style>")


def svg(path, width, height, parts):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w") as f:
        f.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                f'height="{height}">{STYLE}\n' + "\n".join(parts) + "\n</svg>\n")


def lines(path, title, xs, series, unit):
    """One line a series over xs; both axes logarithmic.  series: {name: [y or None]}"""
    import math
    ys = [y for v in series.values() for y in v if y]
    low, high = 10 ** math.floor(math.log10(min(ys))), 10 ** math.ceil(math.log10(max(ys)))
    w, h, left, top, plot_w, plot_h = 760, 340, 70, 40, 500, 250

    def px(x):
        return left + plot_w * math.log(x / xs[0]) / math.log(xs[-1] / xs[0])

    def py(y):
        return top + plot_h * (1 - math.log(y / low) / math.log(high / low))

    parts = [f'<text class="t" x="{left}" y="22">{title}</text>']
    for x in xs:
        parts.append(f'<text x="{px(x):.0f}" y="{top + plot_h + 18}" text-anchor="middle">{x}</text>')
    y = low
    while y <= high:
        parts.append(f'<line x1="{left}" x2="{left + plot_w}" y1="{py(y):.0f}" y2="{py(y):.0f}" stroke="#8884"/>'
                     f'<text x="{left - 6}" y="{py(y) + 4:.0f}" text-anchor="end">{y:g}</text>')
        y *= 10
    parts.append(f'<text x="{left + plot_w / 2}" y="{h - 8}" text-anchor="middle">{unit}</text>')
    for i, (name, v) in enumerate(series.items()):
        c = COLOURS[i % len(COLOURS)]
        dots = [(px(x), py(y)) for x, y in zip(xs, v) if y]
        parts.append(f'<polyline fill="none" stroke="{c}" stroke-width="2" points="' +
                     " ".join(f"{x:.1f},{y:.1f}" for x, y in dots) + '"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{c}"/>' for x, y in dots]
        parts.append(f'<text x="{left + plot_w + 14}" y="{top + 14 + 18 * i}" style="fill:{c}">{name}</text>')
    svg(path, w, h, parts)


def bars(path, title, rows, unit):
    """rows: [(label, value)]; bars from zero, the value behind each."""
    w, left, plot_w, step = 760, 260, 400, 22
    most = max(v for _, v in rows)
    parts = [f'<text class="t" x="10" y="22">{title}, {unit}</text>']
    for i, (label, v) in enumerate(rows):
        y = 40 + step * i
        parts.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{label}</text>'
                     f'<rect x="{left}" y="{y}" height="16" width="{plot_w * v / most:.1f}" fill="{COLOURS[0]}"/>'
                     f'<text x="{left + plot_w * v / most + 6:.1f}" y="{y + 13}">{v:.4g}</text>')
    svg(path, w, 50 + step * len(rows), parts)

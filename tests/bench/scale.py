"""What grows with the model, and what must not: starting, names, memory."""

import os
import pathlib
import re
import tempfile

import measure
import model
import mounting
from measure import TIME
from mounting import IS_ROOT, PROGRAM, SAMPLE_MAKER, run
from setting import READER, Null, read, seconds


class Started:
    """A mount, and what it took to make: seconds of CPU time in all its processes, and by the
    clock."""

    def __init__(self, folder, source):
        point = tempfile.mkdtemp(prefix="started-", dir=folder)
        pid = os.posix_spawn(PROGRAM, [PROGRAM, source, point], os.environ)
        self.wall = seconds(lambda: setattr(self, "ended", os.wait4(pid, 0)))
        _, status, usage = self.ended
        assert status == 0
        self.pids = mounting.processes_of(point)
        self.cpu = usage.ru_utime + usage.ru_stime + sum(map(cpu_seconds, self.pids))
        self.point = pathlib.Path(point)
        parents = {pid: mounting.status(pid, "PPid") for pid in self.pids}
        self.worker = next(pid for pid, parent in parents.items() if int(parent) in self.pids)

    def close(self):
        mounting.clear(self.point)


def cpu_seconds(pid):
    """Of all threads that are still there."""
    tasks = pathlib.Path(f"/proc/{pid}/task")
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9


def anonymous(pid):
    """Bytes of anonymous memory."""
    return int(re.match(r"\d+", mounting.status(pid, "RssAnon"))[0]) * 1024


def make(models, name, *options):
    path = models / f"{name}.gguf"
    if not path.exists():
        done = run(SAMPLE_MAKER, *options, path, timeout=300)
        assert done.returncode == 0, done.stderr
    return path


def starting(table, models, folder):
    for what, options, cpu, wall in (
            ("the sample", [], None, None),
            ("262,144 tokens and merges", ["--tokens=262144"], 8, None),
            ("1,000,000 tensors", ["--tensors=1000000"], None, 500),
            ("100,000 keys", ["--keys=100000"], None, 500),
            ("1,000,000 tensors, 100,000 keys", ["--tensors=1000000", "--keys=100000"], None, 500),
            ("4 TiB, sparse", [f"--size={4 << 40}"], None, None)):
        names = [f"start to mounted, {what}, {kind}" for kind in ("CPU time", "time")]
        if not table.wants(*names):
            continue
        path = make(models, "-".join(["scale", *[option.strip("-") for option in options]]), *options)
        times = []
        for _ in range(table.n_pairs + 1):
            started = Started(folder, path)
            times.append((started.cpu * 1e3, started.wall * 1e3))
            started.close()
        for name, values, target in zip(names, zip(*times[1:]), (cpu, wall), strict=True):
            table.value(name, values, "ms", target)


def names(table, models, folder):
    """A lookup, a getattr, an open, an entry of a listing: from 10^3 to 10^6 tensors."""
    kinds = ("lookup", "getattr", "open and close", "entry of a listing")
    first = {}
    for n in (1000, 10_000, 100_000, 1_000_000):
        what = [f"{kind}, {n:,} tensors" for kind in kinds]
        if not table.wants(*what, "memory a tensor"):
            continue
        path = make(models, f"scale-tensors={n}", f"--tensors={n}")
        null = Null(folder, {}, f"--entries={n}")
        got = ([], [])
        for _ in range(max(3, table.n_pairs // 3)):
            started = Started(folder, path)
            memory = anonymous(started.worker)
            for side, point in enumerate((started.point / "tensors/f32", null.point)):
                if IS_ROOT:
                    pathlib.Path("/proc/sys/vm/drop_caches").write_text("2")
                done = run(READER, "names", "--count=5000", point)
                assert done.returncode == 0, done.stderr
                got[side].append(list(map(float, done.stdout.split())))
            started.close()
        null.close()
        for name, kind, ours, other in zip(what, kinds, zip(*got[0]), zip(*got[1]), strict=True):
            row = measure.Row(name, TIME, list(ours), list(other), "null filesystem")
            table.add(row)
        table.value(f"memory a tensor, {n:,} tensors", [memory / n], "bytes",
                    100 if n == 1_000_000 else None)


def reading_all(table, source, folder):
    """Anonymous memory before and after every byte of every view was read."""
    what = "anonymous memory after reading everything"
    if not table.wants(what):
        return
    started = Started(folder, source)
    before = anonymous(started.worker)
    n_bytes = 0

    def read_all():
        nonlocal n_bytes
        for top, _, files in os.walk(started.point):
            for file in files:
                path = os.path.join(top, file)
                if os.path.islink(path):
                    continue
                with open(path, "rb", buffering=0) as stream:
                    os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                    buffer = bytearray(1 << 20)
                    while got := stream.readinto(buffer):
                        n_bytes += got
                    os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    taken = seconds(read_all)
    after = anonymous(started.worker)
    read(started.point / f"tensors/f32/{model.name_of('Q4_K')}", "--direct", "--threads=64")
    after_64 = anonymous(started.worker)
    started.close()
    table.value("anonymous memory before reading", [before / 2**20], "MiB")
    table.value(f"{what} ({n_bytes / 2**30:.1f} GiB in {taken:.1f} s)", [after / 2**20], "MiB", 16)
    table.value("anonymous memory after 64 readers at once", [after_64 / 2**20], "MiB")

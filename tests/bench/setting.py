"""Our mount and the null filesystem, side by side, and what reads both."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

import model
import mounting
from measure import RATE, TIME
from mounting import BUILD, run

NULLFS, READER = BUILD / "tests/bench/nullfs", BUILD / "tests/bench/bench-reader"


class Null:
    """The null filesystem, with a file of the same size for each of `files`."""

    def __init__(self, folder, files, *options):
        self.point = pathlib.Path(tempfile.mkdtemp(prefix="null-", dir=folder))
        words = [f"{name}={size}" for name, size in files.items()]
        self.process = subprocess.Popen([NULLFS, *options, self.point, *words])
        mounting.wait_for_mount(self.point, True, self.process.pid)

    def __truediv__(self, path):
        return self.point / path

    def close(self):
        mounting.clear(self.point)
        self.process.wait(20)


class Setting:
    """Our mount and the null filesystem, side by side."""

    def __init__(self, folder, source, *, direct=False):
        options = ["-o", "cache=never"] if direct else []
        point = pathlib.Path(tempfile.mkdtemp(prefix="ours-", dir=folder))
        self.ours = mounting.Mount(source, point, *options)
        self.paths = {f"{view}-{kind}": f"tensors/{view}/{model.name_of(kind)}"
                      for view in ("f32", "raw") for kind in (*model.MAIN, "F32")}
        sizes = {name: os.stat(self.ours / path).st_size for name, path in self.paths.items()}
        sizes["f32-other"] = model.OTHER_ELEMENTS * 4
        options = ["--direct"] if direct else []
        self.null = Null(folder, sizes, *options)
        self.null_own = Null(folder, sizes, "--loop", *options)  # with our threads

    def close(self):
        mounting.clear(self.ours.point)
        self.null.close()
        self.null_own.close()

    def set_readahead(self, kib):
        for point in (self.ours.point, self.null.point, self.null_own.point):
            device = os.stat(point).st_dev
            name = f"{os.major(device)}:{os.minor(device)}"
            pathlib.Path(f"/sys/class/bdi/{name}/read_ahead_kb").write_text(str(kib))

    def both(self, name):
        return self.ours / self.paths[name], self.null / name


def read(path, *options, mode="read"):
    """What the reader says, as a rate in GB/s or as times in µs."""
    done = run(READER, mode, *options, path)
    if done.returncode != 0:
        sys.exit(done.stderr)
    first, second = map(float, done.stdout.split())
    if mode == "random":
        return first, second
    return second / first / 1e9 if mode in ("read", "mmap") else first / second * 1e6


def compare(table, what, setting, name, *options, mode="read", **more):
    ours, null = setting.both(name)
    unit = RATE if mode in ("read", "mmap") else TIME
    table.pairs(what, lambda: read(ours, *options, mode=mode),
                lambda: read(null, *options, mode=mode), unit, "null filesystem", **more)


def seconds(work):
    start = time.monotonic()
    work()
    return time.monotonic() - start


def make_cold(path):
    """Takes a file out of the page cache."""
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

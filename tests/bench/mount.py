"""mount.gguf against a filesystem that only answers: throughput, latency, scale, memory.

    scripts/bench mount [--pairs N] [--only WORD] [--realtime]

On a machine that has other work --realtime (root only) puts what is measured before it, and gives
it back as much time as each measurement took.
"""

import argparse
import contextlib
import os
import pathlib
import tempfile

import disk
import mounting
import model
import scale
from arrays import measure_arrays
from exports import measure_exports
from measure import RATE, TIME, Table
from mounting import BUILD, IS_ROOT, run
from setting import Null, Setting, compare, make_cold, read, seconds

READAHEADS = (128, 1024, 4096)  # KiB
F32_TARGETS = {128: 0.95, 1024: 0.85}
RAW_TARGETS = {128: 0.9, 1024: 0.8}
DIRECT_TARGETS = {"F16": 0.65}


def sequential(table, cached, direct):
    for kib in READAHEADS if IS_ROOT else (128,):
        if IS_ROOT:
            cached.set_readahead(kib)
        for kind in model.MAIN:
            compare(table, f"f32 {kind}, cold, {kib} KiB ahead", cached, f"f32-{kind}", "--cold",
                    target=F32_TARGETS.get(kib))
        for kind in ("F16", "F32"):
            compare(table, f"raw {kind}, cold, {kib} KiB ahead", cached, f"raw-{kind}", "--cold",
                    target=RAW_TARGETS.get(kib))
    if IS_ROOT:
        cached.set_readahead(1024)
    for name in ("f32-Q4_K", "raw-F16"):
        view, kind = name.split("-")
        compare(table, f"{view} {kind}, cold, two readers", cached, name, "--cold", "--threads=2")
        compare(table, f"{view} {kind}, cold, 64 readers", cached, name, "--cold", "--threads=64")
        compare(table, f"{view} {kind}, O_DIRECT", cached, name, "--direct")
        for path in cached.both(name):
            read(path)
        compare(table, f"{view} {kind}, warm", cached, name, target=0.97)
        compare(table, f"{view} {kind}, mmap in order, cold", cached, name, "--cold", mode="mmap")
        compare(table, f"{view} {kind}, mmap at random, cold, a touch", cached, name, "--cold",
                mode="touch")
    for name in [f"f32-{kind}" for kind in model.MAIN] + ["raw-F16", "raw-F32"]:
        view, kind = name.split("-")
        for path in direct.both(name):
            read(path)  # the second pass over the source is measured
        target = 0.7 if view == "raw" else DIRECT_TARGETS.get(kind, 0.75)
        compare(table, f"{view} {kind}, direct_io", direct, name, target=target)
        compare(table, f"{view} {kind}, direct_io, two readers", direct, name, "--threads=2")


def threads(table, cached, direct):
    """The null filesystem with our threads against the same with libfuse's: what these do alone."""
    def compare_nulls(what, setting, *options):
        table.pairs(f"null filesystem with our threads, {what}",
                    lambda: read(setting.null_own / "f32-Q4_K", *options),
                    lambda: read(setting.null / "f32-Q4_K", *options), RATE, "null filesystem")

    for kib in READAHEADS[:2] if IS_ROOT else (128,):
        if IS_ROOT:
            cached.set_readahead(kib)
        compare_nulls(f"cold, {kib} KiB ahead", cached, "--cold")
        compare_nulls(f"cold, two readers, {kib} KiB ahead", cached, "--cold", "--threads=2")
    compare_nulls("direct_io", direct)
    compare_nulls("direct_io, two readers", direct, "--threads=2")


def at_random(table, cached, direct):
    for name in ("f32-Q4_K", "f32-Q6_K", "raw-F16"):
        view, kind = name.split("-")
        for what, setting, options in (("cold", cached, ["--cold"]), ("direct_io", direct, [])):
            names = [f"{view} {kind}, 4 KiB at random, {what}, {p}" for p in ("p50", "p99")]
            compare(table, names, setting, name, "--block=4096", *options, mode="random",
                    target=[1.1 if view == "f32" else None, None], at_most=True)


def copying(table, cached):
    """cp of one tensor, to memory."""
    if not os.path.isdir("/dev/shm"):
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        def copy(path):
            make_cold(path)
            size = os.stat(path).st_size
            return size / seconds(lambda: run("cp", path, f"{memory}/copy")) / 1e9

        ours, null = cached.both("f32-Q4_K")
        table.pairs("f32 Q4_K, cp, cold", lambda: copy(ours), lambda: copy(null), RATE,
                    "null filesystem")


def listing(table, folder):
    """find and ls -lR of a whole tree, of 10,000 tensors."""
    if not table.wants("find, an entry", "ls -lR, an entry"):
        return
    ours = scale.Started(folder, scale.make(BUILD, "scale-tensors=10000", "--tensors=10000"))
    n = run("find", ours.point).stdout.count("\n")
    null = Null(folder, {}, f"--entries={n}")
    for command in (["find"], ["ls", "-lR"]):
        def list_all(point):
            if IS_ROOT:
                pathlib.Path("/proc/sys/vm/drop_caches").write_text("2")
            return seconds(lambda: run(*command, point)) / n * 1e6

        table.pairs(f"{' '.join(command)}, an entry", lambda: list_all(ours.point),
                    lambda: list_all(null.point), TIME, "null filesystem, one directory")
    null.close()
    ours.close()


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench mount")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--only", default="", help="only rows whose name holds this")
    parser.add_argument("--realtime", action="store_true", help="go before all other processes")
    arguments = parser.parse_args()
    source = BUILD / "bench-model.gguf"
    model.make(source)
    if arguments.realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    table = Table(arguments.pairs, arguments.only, pause=arguments.realtime)
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        folder.chmod(0o755)
        stack.callback(mounting.clear_below, folder)
        cached, direct = Setting(folder, source), Setting(folder, source, direct=True)
        stack.callback(cached.close)
        stack.callback(direct.close)
        sequential(table, cached, direct)
        threads(table, cached, direct)
        at_random(table, cached, direct)
        copying(table, cached)
        measure_arrays(table, cached, direct, source, folder)
        disk.measure_disk(table, source, folder)
        measure_exports(table, folder)
        listing(table, folder)
        scale.starting(table, BUILD, folder)
        scale.names(table, BUILD, folder)
        scale.reading_all(table, source, folder)
        table.print()
        table.save(BUILD / "bench-mount.tsv")


if __name__ == "__main__":
    main()

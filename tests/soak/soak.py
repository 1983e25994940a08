"""A long time under load: processes that read random ranges of random files of several mounts and
compare them with the bytes known beforehand, while mounts come and go, a source is cut and made
whole again, readers are killed and memory is short. Run by scripts/soak."""

import argparse
import collections
import contextlib
import dataclasses
import errno
import mmap
import multiprocessing
import os
import pathlib
import random
import re
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "lib"))

import limits  # noqa: E402
import mounting  # noqa: E402

READERS = 16
CHANGING = {"problems.txt"}
PATIENCE = 300  # seconds that a mount, a killed process may take on a busy machine
STUCK = 1000000  # reads of the others while a reader does none: that is no lack of a processor
MEMORY = 256 << 20  # bytes for everything, page cache included
GROWTH = 4 << 20  # bytes that a worker may need more in the end than after the warm-up
LOST = {errno.EIO, errno.ENOTCONN, errno.ENOENT, errno.ECONNABORTED, errno.ENXIO, errno.ESTALE,
        errno.ENODEV}


@dataclasses.dataclass
class Target:
    """A mount to read from. A steady one has no excuse for an error."""
    point: pathlib.Path
    is_steady: bool


class Expected:
    """What the files contain: from --print, which takes no way through the kernel."""

    def __init__(self, source, folder):
        self.files = {}
        for path in self._paths(source):
            copy = folder / str(len(self.files))
            with open(copy, "wb") as out:
                done = mounting.run(mounting.PROGRAM, "--print", path, source, capture_output=False,
                                    stdout=out, text=False)
            assert done.returncode == 0, path
            size = copy.stat().st_size
            if size > 0:
                with open(copy, "rb") as file:
                    self.files[path] = mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ)

    def _paths(self, source, folder=""):
        names = mounting.mount_gguf("--print", folder or "/", source).stdout.splitlines()
        for name in names:
            path = f"{folder}/{name}".strip("/")
            if name.endswith("/"):
                if path != "layers":
                    yield from self._paths(source, path)
            elif path not in CHANGING:
                yield path


class Counters:
    """Numbers that a reader keeps where all see them: bytes, reads, errors. Each is written in one
    go, so that nobody sees half of it."""
    EACH = 3

    def __init__(self):
        self.memory = memoryview(mmap.mmap(-1, READERS * self.EACH * 8)).cast("Q")

    def get(self, reader):
        return tuple(self.memory[reader * self.EACH:(reader + 1) * self.EACH])

    def add(self, reader, *numbers):
        for i, number in enumerate(numbers, reader * self.EACH):
            self.memory[i] += number

    def sums(self):
        return [sum(column) for column in zip(*map(self.get, range(READERS)))]


class Reader:
    """Reads until it is killed, or finds a difference."""

    def __init__(self, number, targets, expected, counters, findings, seed):
        self.number, self.targets, self.expected = number, targets, expected
        self.counters, self.findings = counters, findings
        self.dice = random.Random(seed)
        self.paths = list(expected.files)

    def run(self):
        while True:
            target = self.dice.choice(self.targets)
            path = self.dice.choice(self.paths)
            n_bytes = n_reads = n_errors = 0
            try:
                for got, offset in self.read_some(target.point / path, self.expected.files[path]):
                    wanted = self.expected.files[path][offset:offset + len(got)]
                    if got != wanted:
                        self.report(target, path, offset, got, wanted)
                    n_bytes += len(got)
                    n_reads += 1
            except OSError as error:
                n_errors += 1
                if target.is_steady or error.errno not in LOST:
                    self.report(target, path, 0, str(error).encode(), b"")
            self.counters.add(self.number, n_bytes, n_reads, n_errors)

    def read_some(self, path, wanted):
        """(bytes, offset) of a few reads through one descriptor."""
        flags = self.dice.choice([0, 0, os.O_DIRECT])
        descriptor = os.open(path, os.O_RDONLY | flags)
        try:
            for _ in range(self.dice.randrange(1, 6)):
                offset = self.dice.randrange(len(wanted))
                size = self.dice.choice([1, 100, 4096, 70000, 1 << 20])
                size = min(size, len(wanted) - offset)
                got = os.pread(descriptor, size, offset)
                yield got, offset
                if not got:
                    raise OSError(errno.EBADMSG, "nothing was read")
        finally:
            os.close(descriptor)

    def report(self, target, path, offset, got, wanted):
        differs = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), None)
        with open(self.findings, "a") as out:
            print(f"{target.point}/{path}: offset {offset}, {len(got)} bytes, differs at {differs}: "
                  f"{got[differs or 0:][:40]!r}", file=out)


def footprint(pid):
    """Anonymous memory in bytes, descriptors, of a process."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    memory = int(re.search(r"^RssAnon:\s*(\d+)", status, re.MULTILINE)[1]) * 1024
    swapped = int(re.search(r"^VmSwap:\s*(\d+)", status, re.MULTILINE)[1]) * 1024
    return memory + swapped, len(os.listdir(f"/proc/{pid}/fd"))


def where_it_waits(pid):
    """Of each thread of a process its state and where in the kernel it is; what it has open."""
    found = []
    for thread in sorted(os.listdir(f"/proc/{pid}/task")):
        folder = pathlib.Path(f"/proc/{pid}/task/{thread}")
        with contextlib.suppress(OSError):
            state = (folder / "stat").read_text().rsplit(") ", 1)[1][0]
            stack = [line.split()[-1] for line in (folder / "stack").read_text().splitlines()]
            times = (folder / "schedstat").read_text().split()[:2]  # on a processor, waiting for one
            found.append(f"{state} {times} {' < '.join(stack[:6])}")
    files = []
    for file in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            name = os.readlink(f"/proc/{pid}/fd/{file}")
            if name.startswith("/") and "/expected/" not in name:
                files.append(name)
    return f"{found}, {files}"


class Soak:
    def __init__(self, folder, seconds):
        self.folder, self.seconds = folder, seconds
        self.dice = random.Random(1)
        self.findings = folder / "findings"
        self.findings.touch()
        self.counters = Counters()
        self.done = collections.Counter()
        self.source = folder / "sample.gguf"
        mounting.run(mounting.SAMPLE_MAKER, "--tokens=20000", self.source)
        (folder / "cut-here").mkdir()  # under the same name, which some files tell
        self.copy = pathlib.Path(shutil.copy(self.source, folder / "cut-here"))
        (folder / "expected").mkdir()
        self.expected = Expected(self.source, folder / "expected")
        self.steady = [self.mount(self.source, f"steady{i}") for i in range(2)]
        self.cut = self.mount(self.copy, "cut")
        self.coming = [folder / f"coming{i}" for i in range(2)]
        for point in self.coming:
            point.mkdir()
        self.targets = [*(Target(m.point, True) for m in self.steady), Target(self.cut.point, False),
                        *(Target(point, False) for point in self.coming)]
        self.readers = [None] * READERS
        self.seen = [(-1, 0)] * READERS  # of each, what it had done when all had done how much

    def mount(self, source, name):
        point = self.folder / name
        point.mkdir(exist_ok=True)
        return mounting.Mount(source, point)

    def start_reader(self, i):
        reader = Reader(i, self.targets, self.expected, self.counters, self.findings,
                        self.dice.random())
        self.seen[i] = (-1, 0)
        self.readers[i] = multiprocessing.get_context("fork").Process(target=reader.run, daemon=True)
        self.readers[i].start()

    def kill_reader(self):
        i = self.dice.randrange(READERS)
        self.readers[i].kill()
        self.readers[i].join(PATIENCE)
        self.expect(self.readers[i].exitcode is not None, f"reader {i} cannot be killed")
        self.start_reader(i)
        self.done["readers killed"] += 1

    def cut_and_restore(self):
        """The bytes that come back are those that were there."""
        whole = self.source.stat().st_size
        os.truncate(self.copy, self.dice.randrange(whole))
        time.sleep(self.dice.random() / 20)
        with open(self.source, "rb") as source, open(self.copy, "r+b") as copy:
            at = copy.seek(0, os.SEEK_END)
            source.seek(at)
            shutil.copyfileobj(source, copy)
        self.done["cuts of a source"] += 1

    def come_or_go(self):
        point = self.dice.choice(self.coming)
        pids = mounting.processes_of(str(point))
        if not mounting.is_mounted(point):
            for pid in pids:
                mounting.wait_for_end(pid, PATIENCE)
            mounting.Mount(self.source, point)
            self.done["mounts"] += 1
            return
        how = self.dice.choice(["umount", "SIGTERM", "SIGKILL of a worker"])
        if how == "umount":
            mounting.run("umount", "-l", point)
        else:
            supervisor = mounting.supervisor_of(pids)
            worker = next(pid for pid in pids if pid != supervisor)
            os.kill(*((supervisor, signal.SIGTERM) if how == "SIGTERM"
                      else (worker, signal.SIGKILL)))
        mounting.wait_for_mount(point, False, seconds=PATIENCE)
        self.done[f"ends by {how}"] += 1

    def expect(self, is_so, sentence):
        if not is_so:
            with open(self.findings, "a") as out:
                print(sentence, file=out)

    def look_after_readers(self):
        done = [sum(self.counters.get(i)[1:]) for i in range(READERS)]
        for i, reader in enumerate(self.readers):
            self.expect(reader.is_alive(), f"reader {i} ended: {reader.exitcode}")
            if done[i] != self.seen[i][0]:
                self.seen[i] = (done[i], sum(done))
            elif sum(done) - self.seen[i][1] > STUCK:
                self.expect(False, f"reader {i} is stuck: {where_it_waits(reader.pid)}")
                for worker in self.workers():
                    self.expect(False, f"worker {worker}: {where_it_waits(worker)}")

    def workers(self):
        return [mount.worker for mount in (*self.steady, self.cut)]

    def run(self):
        for i in range(READERS):
            self.start_reader(i)
        start = time.monotonic()
        baseline, told = None, start
        while (now := time.monotonic()) - start < self.seconds and not self.findings.stat().st_size:
            self.dice.choices([self.kill_reader, self.cut_and_restore, self.come_or_go],
                              [1, 10, 2])[0]()
            self.look_after_readers()
            if baseline is None and now - start > self.seconds / 5:
                baseline = [footprint(pid) for pid in self.workers()]
            if now - told > 60:
                told = now
                self.tell()
        for reader in self.readers:
            reader.kill()
            reader.join(PATIENCE)
        self.compare_footprints(baseline)
        self.leave()
        self.tell()

    def compare_footprints(self, before):
        after = [footprint(pid) for pid in self.workers()]
        for (old_memory, old_files), (memory, files) in zip(before or [], after):
            self.done["bytes of memory, most"] = max(self.done["bytes of memory, most"], memory)
            self.expect(memory < old_memory + GROWTH, f"memory grew from {old_memory} to {memory}")
            self.expect(files == old_files, f"descriptors: {old_files}, then {files}")

    def leave(self):
        for mount in (*self.steady, self.cut):
            mount.unmount()
        for point in self.coming:
            pids = mounting.processes_of(str(point))
            while mounting.is_mounted(point):
                mounting.run("umount", "-l", point)
            for pid in pids:
                mounting.wait_for_end(pid, PATIENCE)
        left = [pid for pid in os.listdir("/proc") if pid.isdigit()
                and str(self.folder) in _command_of(pid) and "mount.gguf" in _command_of(pid)]
        self.expect(not left, f"processes are left: {left}")

    def tell(self):
        n_bytes, n_reads, n_errors = self.counters.sums()
        numbers = ", ".join(f"{name}: {n}" for name, n in sorted(self.done.items()))
        print(f"bytes compared: {n_bytes}, reads: {n_reads}, errors where they are due: {n_errors}, "
              f"{numbers}", flush=True)


def _command_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("minutes", nargs="?", type=float, default=30)
    minutes = parser.parse_args().minutes
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    limit = None
    try:
        limit = limits.ControlGroup("memory", MEMORY)
    except OSError as error:
        print(f"no memory limit: {error}")
    with tempfile.TemporaryDirectory(prefix="mnt-soak-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        try:
            if limit:
                limit.enter()
            soak = Soak(folder, minutes * 60)
            soak.run()
            findings = soak.findings.read_text()
        finally:
            mounting.clear_below(name)
            if limit:
                limit.close()
    print(findings[:20000] or "no difference, no leak, nothing stuck")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()

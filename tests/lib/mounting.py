"""Mounts of mount.gguf, and what becomes of them: waiting by events, never by sleeping."""

import os
import pathlib
import re
import select
import shlex
import signal
import subprocess
import time

BUILD = pathlib.Path(os.environ.get("PN_BUILD", pathlib.Path(__file__).parents[2] / "build"))
PROGRAM = BUILD / "src/mount/mount.gguf"
SAMPLE_MAKER = BUILD / "tests/sample/gguf-sample"
PROGRAM_NAMES = (b"mount.gguf", b"mount.fuse.gguf")
DATA = pathlib.Path(__file__).parents[1] / "data"
# To run the program otherwise: PN_WRAPPER="valgrind -q", PN_ARGUMENTS="-o sandbox=no".
WRAPPER = shlex.split(os.environ.get("PN_WRAPPER", ""))
COMMAND = [*WRAPPER, str(PROGRAM), *shlex.split(os.environ.get("PN_ARGUMENTS", ""))]
IS_ROOT = os.getuid() == 0
# How many times as long as usual all may take: for tools that make the program slow.
PATIENCE = float(os.environ.get("PN_PATIENCE", 1))


def run(*command, timeout=60, **options):
    """A command to its end: its exit status, stdout and stderr as text."""
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, **options}
    return subprocess.run([str(word) for word in command], timeout=timeout * PATIENCE, **options)


def mount_gguf(*arguments, **options):
    return run(*COMMAND, *arguments, **options)


def mounts(process="self"):
    """(mount point, type, source) of what is mounted where the process lives, in order."""
    with open(f"/proc/{process}/mountinfo", errors="surrogateescape") as table:
        return _parse_mounts(table.read())


def _parse_mounts(text):
    def plain(field):
        return re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), field)

    found = []
    for line in text.splitlines():
        left, right = line.split(" - ", 1)
        kind, source = right.split(" ")[:2]
        found.append((plain(left.split(" ")[4]), kind, plain(source)))
    return found


def is_mounted(point):
    return any(where == str(point) for where, _, _ in mounts())


def wait_for_mount(point, wanted, process=None, seconds=20):
    """Waits until something is (wanted) or nothing is mounted at point; not past the end of the
    process that is to mount it."""
    end = time.monotonic() + seconds * PATIENCE
    handle = os.pidfd_open(process) if process else -1
    with open("/proc/self/mountinfo", errors="surrogateescape") as table:
        poller = select.poll()
        poller.register(table, select.POLLERR | select.POLLPRI)
        if process:
            poller.register(handle, select.POLLIN)
        while any(where == str(point) for where, _, _ in _parse_mounts(table.read())) != wanted:
            left = end - time.monotonic()
            assert left > 0, f"{point}: still {'not ' if wanted else ''}mounted"
            woken = dict(poller.poll(left * 1000))
            assert handle not in woken, f"{point}: process {process} ended"
            table.seek(0)
    if process:
        os.close(handle)


def wait_for_end(pid, seconds=20):
    """Waits until the process, which may be no child of ours, has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        assert poller.poll(seconds * 1000 * PATIENCE), f"process {pid} does not end"
    finally:
        os.close(handle)


def status(pid, field):
    with open(f"/proc/{pid}/status") as status:
        return re.search(rf"^{field}:\s*(.*)$", status.read(), re.MULTILINE)[1]


def _is_program(command):
    return any(os.path.basename(word) in PROGRAM_NAMES for word in command[:len(WRAPPER) + 1])


def processes_of(word):
    """The pids of mount.gguf that have this word (a path) on their command line."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            words = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
            running = status(entry, "State")[0] not in "ZX"
        except (FileNotFoundError, ProcessLookupError):
            continue
        if running and _is_program(words) and os.fsencode(word) in words:
            found.append(int(entry))
    return found


def supervisor_of(pids):
    """Of the two processes of a mount the one that is not the other's child."""
    return next(pid for pid in pids if int(status(pid, "PPid")) not in pids)


class Mount:
    """One mount, started in the background unless foreground is asked for. before: words that
    stand before the command."""

    def __init__(self, source, point, *options, foreground=False, stderr=None, before=()):
        self.source, self.point = pathlib.Path(source), pathlib.Path(point)
        self.foreground = None
        command = [*before, *COMMAND, *options, str(source), str(point)]
        if foreground:
            self.foreground = subprocess.Popen([*command, "-f"], stdin=subprocess.DEVNULL,
                                               stderr=stderr)
            try:
                wait_for_mount(point, True, self.foreground.pid)
            except AssertionError:
                self.foreground.kill()
                raise
        else:
            started = run(*command)
            assert started.returncode == 0, started.stderr
            self.message = started.stderr
        pids = processes_of(str(point))
        children = {pid for pid in pids if int(status(pid, "PPid")) in pids}
        assert len(pids) == 2 and len(children) == 1, f"supervisor and worker expected, not {pids}"
        self.worker = children.pop()
        self.supervisor = next(pid for pid in pids if pid != self.worker)

    def __truediv__(self, path):
        return self.point / path

    def files(self):
        """The paths of all regular files, relative to the root."""
        return [path for path in self._leaves() if not os.path.islink(self.point / path)]

    def links(self):
        return [path for path in self._leaves() if os.path.islink(self.point / path)]

    def _leaves(self):
        return [os.path.relpath(os.path.join(folder, name), self.point)
                for folder, _, names in os.walk(self.point, onerror=_raise) for name in names]

    def unmount(self, *command):
        """Unmounts, and waits until both processes have ended."""
        command = command or (["umount"] if IS_ROOT else ["fusermount3", "-u"])
        end = time.monotonic() + 5
        done = run(*command, self.point)
        while "busy" in done.stderr and time.monotonic() < end:  # somebody looks at all mounts
            done = run(*command, self.point)
        assert done.returncode == 0, done.stderr
        self.wait_until_gone()

    def wait_until_gone(self):
        wait_for_mount(self.point, False)
        if self.foreground:
            self.foreground.wait(20 * PATIENCE)
        wait_for_end(self.worker)
        wait_for_end(self.supervisor)

    def close(self):
        """The end of a test: whatever state it is in, nothing is left."""
        try:
            if is_mounted(self.point):
                self.unmount()
            else:
                self.wait_until_gone()
        finally:
            clear(self.point)
            if self.foreground:
                self.foreground.kill()
                self.foreground.wait(20 * PATIENCE)


def _raise(error):
    raise error


def clear(point):
    """Kills what serves point, and unmounts it lazily, as often as needed."""
    for pid in processes_of(str(point)):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    while is_mounted(point):
        command = ["umount", "-l"] if IS_ROOT else ["fusermount3", "-u", "-z"]
        assert run(*command, point).returncode == 0


def clear_below(folder):
    for pid in _serving_below(folder):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    for point in {where for where, _, _ in mounts() if where.startswith(f"{folder}/")}:
        clear(point)


def _serving_below(folder):
    found = set()
    for entry in os.listdir("/proc"):
        try:
            words = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, NotADirectoryError, ProcessLookupError):
            continue
        if _is_program(words) and any(
                word.startswith(os.fsencode(f"{folder}/")) for word in words):
            found.add(int(entry))
    return found

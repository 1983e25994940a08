"""Control groups: processes under a limit of memory or number; versions 1 and 2."""

import contextlib
import itertools
import os
import pathlib
import subprocess
import sys
import time

MIB = 1 << 20
ENTER = 'echo $$ > "$1" && shift && exec "$@"'
NUMBERS = itertools.count()


def _folders(controller):
    """Where a group with this controller can be made, perhaps."""
    yield pathlib.Path("/sys/fs/cgroup", controller)
    base = pathlib.Path("/sys/fs/cgroup")
    with contextlib.suppress(OSError):
        if controller in (base / "cgroup.controllers").read_text().split():
            (base / "cgroup.subtree_control").write_text(f"+{controller}")
        yield base


class ControlGroup:
    """Raises OSError when there can be none. To be closed when its processes have ended."""

    def __init__(self, controller, limit):
        self.path = None
        problem = OSError(f"no control groups for {controller}")
        for folder in _folders(controller):
            try:
                self._make(folder, controller, limit)
                return
            except OSError as error:
                problem = error
        raise problem

    def _make(self, folder, controller, limit):
        self.path = folder / f"mount-gguf-{os.getpid()}-{next(NUMBERS)}"
        self.path.mkdir()
        self.file = self.path / f"{controller}.max"
        if not self.file.exists():
            self.file = self.path / "memory.limit_in_bytes"
        try:
            self.limit(limit)
        except OSError:
            self.path.rmdir()
            raise

    def limit(self, number):
        self.file.write_text(str(number))

    def forbid_swap(self):
        """From now on; without swap on the machine there is nothing to forbid."""
        with contextlib.suppress(OSError):
            (self.path / "memory.swap.max").write_text("0")
        with contextlib.suppress(OSError):
            (self.path / "memory.swappiness").write_text("0")

    def enter(self, pid=None):
        (self.path / "cgroup.procs").write_text(str(pid or os.getpid()))

    def prefix(self):
        """The beginning of a command that is to run in it."""
        return ["sh", "-c", ENTER, "sh", self.path / "cgroup.procs"]

    def used(self):
        name = {"pids.max": "pids.current", "memory.max": "memory.current",
                "memory.limit_in_bytes": "memory.usage_in_bytes"}[self.file.name]
        return int((self.path / name).read_text())

    def run_out(self):
        """Of memory: another process takes more than is left, which ends the largest one."""
        self.limit(self.used() + 32 * MIB)
        take = f"b'x' * {40 * MIB}"  # it may have to end as well
        subprocess.run([*self.prefix(), sys.executable, "-c", take], check=False)

    def close(self, seconds=20):
        """What still runs in it goes to the group above."""
        end = time.monotonic() + seconds
        parent = self.path.parent / "cgroup.procs"
        for pid in (self.path / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                parent.write_text(pid)
        while True:  # processes that are about to end keep it for a moment
            try:
                self.path.rmdir()
                return
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

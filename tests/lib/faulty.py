"""A file on a file system that fails on command (tests/mount/faultfs.c), and who reads of it."""

import subprocess

from mounting import BUILD, PATIENCE, clear, wait_for_mount


class Faulty:
    """A file on a file system that fails on command."""

    def __init__(self, source, point):
        self.point, self.file = point, point / "file"
        point.mkdir()
        self.process = subprocess.Popen([BUILD / "tests/mount/faultfs", source, point], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        wait_for_mount(point, True, self.process.pid)

    def tell(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        assert self.process.stdout.readline() == "ok\n"

    def die(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.process.kill()
        self.process.communicate()
        clear(self.point)


class Reader:
    """A process that reads a file whole, in the background."""

    def __init__(self, path):
        self.process = subprocess.Popen(["cat", path], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def is_waiting(self):
        try:
            self.process.wait(0.3 * PATIENCE)
        except subprocess.TimeoutExpired:
            return True
        return False

    def finish(self):
        out, _ = self.process.communicate(timeout=30 * PATIENCE)
        return out if self.process.returncode == 0 else None

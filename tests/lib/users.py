"""Other users, and a mount namespace where they may mount too."""

import os
import shutil
import subprocess

import mounting

SETTLE = r"""
set -eu
mknod "$1/fuse" c 10 229
chmod 666 "$1/fuse"
mount --bind "$1/fuse" /dev/fuse
mount --bind "$1/fuse.conf" /etc/fuse.conf
echo settled
exec cat
"""


def become(user, *groups):
    """The beginning of a command that a user runs; uid and gid are the same number."""
    more = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
    return ["setpriv", "--reuid", user, "--regid", user, *more]


def denied(done):
    """Whether a command failed for want of permission; nothing else may have gone wrong."""
    assert done.returncode == 0 or "Permission denied" in done.stderr, done.stderr
    return done.returncode != 0


class Namespace:
    """Lives until it is closed. Everybody may open /dev/fuse in it; /etc/fuse.conf is to choice."""

    def __init__(self, own, fuse_conf=""):
        (own / "fuse.conf").write_text(fuse_conf)
        self.program = shutil.copy(mounting.PROGRAM, own)  # that all may run
        self.keeper = subprocess.Popen(["unshare", "-m", "sh", "-c", SETTLE, "sh", own],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.keeper.stdout.readline() == "settled\n"

    def run(self, user, *command, before=()):
        """before: words that root runs first, such as a ControlGroup's prefix()."""
        return mounting.run("nsenter", "-t", self.keeper.pid, "-m", *before, *become(user),
                            *command, env={**os.environ, "LC_ALL": "C"})

    def mount(self, user, source, point, *options):
        return self.run(user, self.program, *options, source, point)

    def is_mounted(self, point):
        return any(where == str(point) for where, _, _ in mounting.mounts(self.keeper.pid))

    def close(self):
        self.keeper.communicate(timeout=20)

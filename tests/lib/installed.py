"""mount.gguf installed, in a mount namespace of its own: mount(8) finds its helpers in /sbin there,
and nothing of it is seen outside."""

import os
import subprocess

import mounting

SETTLE = r"""
set -eu
own=$1
mount --bind /usr/sbin "$own/real-sbin"
for program in "$own"/real-sbin/*; do ln -sf "$program" "$own/sbin/"; done
cp -Pf "$own"/dest/sbin/* "$own/sbin/"
mount --bind "$own/sbin" /usr/sbin
mount --bind "$own/dest/usr/local" /usr/local
mount --bind "$own/fstab" /etc/fstab
mkdir -p /run/mount
mount -t tmpfs tmpfs /run/mount
mknod "$own/fuse" c 10 229
chmod 666 "$own/fuse"
mount --bind "$own/fuse" /dev/fuse
echo settled
exec cat
"""


def install(dest):
    """meson install, below dest. Paths are those of a prefix /usr/local."""
    done = mounting.run("meson", "install", "-C", mounting.BUILD, "--no-rebuild", "--destdir", dest)
    assert done.returncode == 0, done.stdout + done.stderr


def can_be_made(own):
    """Whether namespaces and device files are allowed here; only root may make them."""
    probe = mounting.run("unshare", "-m", "sh", "-c",
                         f"mknod {own}/probe c 10 229 && exec 3<>{own}/probe")
    return probe.returncode == 0


class Namespace:
    """Lives until it is closed. The current directory of what runs in it is /."""

    def __init__(self, own):
        self.fstab = own / "fstab"
        self.fstab.touch()
        for folder in ("real-sbin", "sbin"):
            (own / folder).mkdir()
        install(own / "dest")
        self.keeper = subprocess.Popen(
            ["unshare", "-m", "--propagation", "private", "sh", "-c", SETTLE, "sh", own],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.keeper.stdout.readline() == "settled\n"

    def run(self, *command, user=None, **options):
        become = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups"] if user else []
        return mounting.run("nsenter", "-t", self.keeper.pid, "-m", *become, *command, **options)

    def mounts(self, point):
        """(type, source) of what is mounted at point."""
        return [(kind, source) for where, kind, source in mounting.mounts(self.keeper.pid)
                if where == str(point)]

    def close(self):
        self.keeper.communicate(timeout=20)


def in_background(namespace, *command):
    """A command that goes on; to be ended by the caller."""
    return subprocess.Popen(["nsenter", "-t", str(namespace.keeper.pid), "-m",
                             *map(os.fspath, command)], stdin=subprocess.DEVNULL)

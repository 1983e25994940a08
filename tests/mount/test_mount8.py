"""mount(8), umount(8), findmnt(8) and /etc/fstab, with the program installed as meson does it."""

import json
import os
import pathlib
import shutil
import tempfile

import pytest

import installed
from mounting import IS_ROOT, clear_below, processes_of, wait_for_end

pytestmark = pytest.mark.skipif(not IS_ROOT, reason="mount(8) in a namespace needs root")

USER = 1  # daemon: any user with a name will do
GONE = 20  # seconds


@pytest.fixture(scope="module")
def host(folder):
    """The namespace with everything installed."""
    own = folder / "host"
    own.mkdir(mode=0o755)
    if not installed.can_be_made(own):
        pytest.skip("mount namespaces or device files cannot be made here")
    space = installed.Namespace(own)
    yield space
    clear_below(own)
    space.close()


class Place:
    """A model and a mount point, and mount(8) on them."""

    def __init__(self, host, own, model):
        self.host, self.model, self.point = host, model, own / "point"
        self.point.mkdir()

    def fstab(self, options):
        words = [str(word).replace(" ", r"\040") for word in (self.model, self.point)]
        self.host.fstab.write_text(" ".join([*words, "gguf", options, "0", "0\n"]))

    def mount(self, *arguments, **options):
        return self.host.run("mount", *arguments, **options)

    @property
    def mounted(self):
        return self.host.mounts(self.point)

    def read(self, path):
        done = self.host.run("cat", self.point / path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def umount(self, **options):
        pids = processes_of(str(self.point))
        done = self.host.run("umount", self.point, **options)
        assert done.returncode == 0, done.stderr
        assert not self.mounted
        for pid in pids:
            wait_for_end(pid, GONE)


@pytest.fixture
def place(host, own, sample):
    yield Place(host, own, shutil.copy(sample, own / "model.gguf"))
    clear_below(own)
    host.fstab.write_text("")


def shown_right(place, kind="fuse.gguf"):
    assert place.mounted == [(kind, str(place.model))]
    assert place.read("metadata/general.name") == "Sample Llama\n"


@pytest.mark.parametrize("kind", ["gguf", "fuse.gguf"])
def test_mount_and_umount(place, kind):
    done = place.mount("-t", kind, place.model, place.point)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    shown_right(place)
    place.umount()


@pytest.mark.parametrize("name", ["a,b.gguf", "a b.gguf", r"back\slash.gguf", "ünïcödé.gguf", "=,=.gguf"])
def test_odd_names(place, name):
    """findmnt shows the path as it is."""
    place.model = place.model.rename(place.model.parent / name)
    assert place.mount("-t", "gguf", place.model, place.point).returncode == 0
    shown_right(place)
    shown = place.host.run("findmnt", "-J", "-o", "SOURCE,FSTYPE", "--mountpoint", place.point)
    assert json.loads(shown.stdout)["filesystems"] == [
        {"source": str(place.model), "fstype": "fuse.gguf"}]
    place.umount()


def test_options(place):
    done = place.mount("-t", "gguf", place.model, place.point, "-o", "views=metadata,noexec,noatime")
    assert done.returncode == 0, done.stderr
    assert sorted(place.host.run("ls", place.point).stdout.split()) == ["metadata"]
    flags = place.host.run("findmnt", "-n", "-o", "OPTIONS", place.point).stdout.strip().split(",")
    assert {"ro", "nosuid", "nodev", "noexec", "noatime"} <= set(flags)
    place.umount()


def test_read_only_and_verbose(place):
    done = place.mount("-r", "-v", "-t", "gguf", place.model, place.point)
    assert done.returncode == 0 and "is mounted on" in done.stderr
    shown_right(place)
    place.umount()


def test_fake(place):
    """mount -f does all but mount; what would fail says so."""
    done = place.mount("-f", "-n", "-v", "-t", "gguf", place.model, place.point)
    assert done.returncode == 0, done.stderr
    assert not place.mounted and not processes_of(str(place.point))
    assert place.mount("-f", "-t", "gguf", place.model.parent / "none", place.point).returncode == 32


def test_an_unknown_option(place):
    done = place.mount("-t", "gguf", place.model, place.point, "-o", "vews=f32")
    assert done.returncode == 1 and "vews=f32; did you mean views" in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not place.mounted
    assert place.mount("-s", "-t", "gguf", place.model, place.point, "-o", "vews=f32").returncode == 0
    shown_right(place)
    place.umount()


def test_remount_is_refused(place):
    assert place.mount("-t", "gguf", place.model, place.point).returncode == 0
    for arguments in (["-o", "remount,ro", place.point],
                      ["-t", "gguf", "-o", "remount,noexec", place.model, place.point]):
        done = place.mount(*arguments)
        assert done.returncode == 1
        assert done.stderr == ("mount.gguf: remount is not possible: unmount, and mount again "
                               "(see mount.gguf --help)\n")
    shown_right(place)
    place.umount()


def test_failures(place):
    """The exit status is mount(8)'s: 32 for a mount that failed, 1 for a wrong use."""
    (place.point.parent / "no.gguf").write_bytes(b"PK\3\4 no model")
    done = place.mount("-t", "gguf", place.point.parent / "no.gguf", place.point)
    assert done.returncode == 32 and "no.gguf" in done.stderr
    done = place.mount("-t", "gguf", place.model, place.point, "-o", "views=nonsense")
    assert done.returncode == 1 and "nonsense" in done.stderr
    assert not place.mounted


def test_another_namespace(place, host):
    """mount -N: the paths are those of the namespace, and so is the mount."""
    done = host.run("unshare", "-m", "--propagation", "private", "mount", "-N", host.keeper.pid,
                    "-t", "gguf", place.model, place.point)
    assert done.returncode == 0, done.stderr
    shown_right(place)
    place.umount()


class TestFstab:
    LINES = ["noauto,user,nofail,_netdev,x-systemd.automount", "defaults",
             "ro,noauto,users,x-systemd.idle-timeout=60,comment=model,nofail", "views=metadata:f32"]

    @pytest.mark.parametrize("options", LINES)
    def test_a_line(self, place, options):
        place.fstab(options)
        done = place.mount(place.point)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        shown_right(place)
        place.umount()

    def test_verified_by_findmnt(self, place):
        place.fstab(self.LINES[0])
        done = place.host.run("findmnt", "--verify")
        assert done.returncode == 0 and " 0 errors" in done.stderr, done.stdout

    def test_all(self, place):
        """mount -a mounts once, and again does nothing."""
        place.fstab("defaults")
        for _ in range(2):
            done = place.mount("-a")
            assert done.returncode == 0, done.stderr
        shown_right(place)
        place.umount()

    def test_all_with_nofail(self, place):
        place.model.unlink()
        place.fstab("nofail")
        place.mount("-a")
        assert not place.mounted

    def test_a_user(self, place):
        """`user` lets an ordinary user mount it by its line, and unmount it again."""
        place.fstab("noauto,user")
        os.chown(place.point, USER, USER)
        done = place.mount(place.point, user=USER)
        assert done.returncode == 0, done.stderr
        assert place.mounted == [("fuse.gguf", str(place.model))]
        shown = place.host.run("cat", place.point / "metadata/general.name", user=USER)
        assert shown.stdout == "Sample Llama\n"
        place.umount(user=USER)

    def test_a_user_without_a_line(self, place):
        assert place.mount("-t", "gguf", place.model, place.point, user=USER).returncode == 1
        assert not place.mounted

    def test_blanks(self, place):
        with tempfile.TemporaryDirectory(prefix="with blanks ", dir=place.point.parent) as other:
            place.model = pathlib.Path(shutil.move(place.model, other))
            place.fstab("noauto")
            assert place.mount(place.point).returncode == 0
            shown_right(place)
            place.umount()

"""What a service manager and a forgetful user see: readiness, pidfile, the log, unmounting when
idle, and a mount point that nobody named."""

import contextlib
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import time

import pytest

import installed
from mounting import (IS_ROOT, PROGRAM, clear_below, is_mounted, mount_gguf, processes_of, run,
                      supervisor_of, wait_for_end, wait_for_mount)

NAME = "metadata/general.name"


def call_umount(point):
    done = run(*(["umount"] if IS_ROOT else ["fusermount3", "-u"]), point)
    assert done.returncode == 0, done.stderr


def unmount(point, word=None):
    """word: what the processes have on their command line, if that is not the mount point."""
    pids = processes_of(str(word or point))
    assert len(pids) == 2
    call_umount(point)
    for pid in pids:
        wait_for_end(pid)


@pytest.fixture
def point(own):
    point = own / "point"
    point.mkdir()
    return point


# ── Readiness ──


@pytest.fixture(params=["path", "abstract"])
def manager(request, own, monkeypatch):
    """The socket of a service manager."""
    name = f"{own}/notify" if request.param == "path" else f"\0pn-notify-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(name)
        listener.settimeout(20)
        monkeypatch.setenv("NOTIFY_SOCKET", name.replace("\0", "@"))
        yield listener


def told(manager):
    return manager.recv(4096).decode().splitlines()


@pytest.mark.parametrize("end", ["umount", "TERM"])
def test_notify(manager, mounted, sample, end):
    mount = mounted(sample, foreground=True)
    lines = told(manager)
    assert lines[0] == "READY=1" and f"MAINPID={mount.supervisor}" in lines
    assert (mount / NAME).read_text() == "Sample Llama\n"
    manager.setblocking(False)
    with pytest.raises(BlockingIOError):
        manager.recv(1)
    manager.settimeout(20)
    if end == "TERM":
        os.kill(mount.supervisor, signal.SIGTERM)
        mount.wait_until_gone()
    else:
        mount.unmount()
    assert told(manager) == ["STOPPING=1"]


def test_notify_from_the_background(manager, mounted, sample):
    mount = mounted(sample)
    assert f"MAINPID={mount.supervisor}" in told(manager)
    mount.unmount()
    assert told(manager) == ["STOPPING=1"]


def test_a_name_forges_no_line(manager, own, sample):
    """A service manager believes each line: of a name it gets none."""
    model, point = own / "x\nMAINPID=1\nz.gguf", own / "p\nMAINPID=2\n\u00e9"
    point.mkdir()
    model.symlink_to(sample)
    assert mount_gguf("-q", model, point).returncode == 0
    pids = processes_of(str(point))
    lines = told(manager)
    unmount(point)
    assert lines == ["READY=1", f"MAINPID={supervisor_of(pids)}",
                     f"STATUS={own}/x%0AMAINPID=1%0Az.gguf is mounted on {own}/p%0AMAINPID=2%0A\u00e9"]


def test_nothing_is_notified_of_a_failure(manager, own, point):
    assert mount_gguf(own / "none.gguf", point).returncode == 32
    manager.setblocking(False)
    with pytest.raises(BlockingIOError):
        manager.recv(1)


@pytest.mark.parametrize("name", ["", "/nobody/listens", "nonsense", "@" + 200 * "x"])
def test_no_manager(mounted, sample, monkeypatch, name):
    monkeypatch.setenv("NOTIFY_SOCKET", name)
    mounted(sample).unmount()


def test_a_manager_that_does_not_listen(mounted, sample, own, monkeypatch):
    """Its queue is full, and stays so; the mount is made, and ends."""
    with (socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener,
          socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other):
        listener.bind(f"{own}/notify")
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            while True:
                other.sendto(b"x", f"{own}/notify")
        monkeypatch.setenv("NOTIFY_SOCKET", f"{own}/notify")
        mount = mounted(sample)
        os.kill(mount.supervisor, signal.SIGTERM)
        mount.wait_until_gone()


def test_libsystemd_is_loaded_only_to_tell(mounted, sample, monkeypatch):
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    mount = mounted(sample)
    for pid in (mount.supervisor, mount.worker):
        assert "libsystemd" not in pathlib.Path(f"/proc/{pid}/maps").read_text()


def test_libsystemd_is_missing(mounted, sample, own, monkeypatch):
    (own / "libsystemd.so.0").write_text("no library\n")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(own))
    monkeypatch.setenv("NOTIFY_SOCKET", f"{own}/notify")
    point = own / "point"
    point.mkdir()
    result = mount_gguf(sample, point)
    assert result.returncode == 0 and f"{point}: the service manager is not told" in result.stderr
    assert (point / NAME).read_text() == "Sample Llama\n"
    unmount(point)


# ── The pidfile ──


@pytest.mark.parametrize("foreground", [False, True])
def test_pidfile(mounted, sample, own, foreground):
    path = own / "pid"
    mount = mounted(sample, "--pidfile", path, foreground=foreground)
    if foreground:  # the mount is seen a little before it answers
        assert (mount / NAME).read_bytes()
        deadline = time.monotonic() + 20
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert path.read_text() == f"{mount.supervisor}\n"
    os.kill(int(path.read_text()), signal.SIGTERM)
    mount.wait_until_gone()
    assert not path.exists()


def test_a_relative_pidfile(own, sample, point):
    assert mount_gguf("--pidfile", "pid", sample, point, cwd=own).returncode == 0
    assert int((own / "pid").read_text()) in processes_of(str(point))
    unmount(point)
    assert not (own / "pid").exists()


def test_a_pidfile_that_cannot_be_written(own, sample, point):
    done = mount_gguf("--pidfile", own / "none/pid", sample, point)
    assert done.returncode == 32 and len(done.stderr.splitlines()) == 1
    assert "pidfile" in done.stderr and "none/pid" in done.stderr
    assert not is_mounted(point) and not processes_of(str(point))


# ── Idle ──


def test_unmounted_when_idle(mounted, sample, own):
    begin = time.monotonic()
    mount = mounted(sample, "-o", "idle_timeout=1")
    mount.wait_until_gone()
    assert time.monotonic() - begin >= 1


def test_use_postpones(mounted, sample):
    """A request now and then keeps it; so do an open file and a working directory."""
    mount = mounted(sample, "-o", "idle_timeout=1", "-v")
    for _ in range(5):
        assert (mount / NAME).read_text() == "Sample Llama\n"
        os.listdir(mount.point)
        time.sleep(0.3)
    with open(mount / "tensors/f32/token_embd.weight", "rb") as file:
        time.sleep(1.6)
        assert is_mounted(mount.point)
        assert len(file.read()) == 295 * 256 * 4
    with subprocess.Popen(["cat"], cwd=mount.point, stdin=subprocess.PIPE) as lodger:
        time.sleep(1.6)
        assert is_mounted(mount.point)
        lodger.communicate()
    mount.wait_until_gone()


def test_never_idle_by_default(mounted, sample):
    for options in ([], ["-o", "idle_timeout=0"]):
        mount = mounted(sample, *options)
        time.sleep(0.3)
        mount.unmount()


# ── The mount point left out ──


def made(own, name, *arguments, status=0):
    """mount.gguf in own makes the directory `name`, says so, and mounts there."""
    done = mount_gguf(*arguments, cwd=own)
    assert done.returncode == status, done.stderr
    said, command = done.stderr.split("; unmount it with: ")
    assert said == f"mount.gguf: {arguments[-1]} is mounted on {own}/{name}"
    assert shlex.split(command) == [*(["umount"] if IS_ROOT else ["fusermount3", "-u"]), f"{own}/{name}"]
    assert is_mounted(own / name)
    return own / name


def test_a_mount_point_is_made(own, sample):
    (own / "below").mkdir()
    (own / "below/model.gguf").symlink_to(sample)
    first = made(own, "model", "below/model.gguf")
    second = made(own, "model (1)", "below/model.gguf")
    assert (first / NAME).read_text() == (second / NAME).read_text() == "Sample Llama\n"
    pids = processes_of("below/model.gguf")
    assert len(pids) == 4
    for point in (first, second):
        call_umount(point)
    for pid in pids:
        wait_for_end(pid)
    assert os.listdir(own) == ["below"]


def test_the_directory_of_the_mount_before_is_no_clash(own, sample):
    """umount returns a moment before it is removed."""
    (own / "model.gguf").symlink_to(sample)
    for _ in range(10):
        point = made(own, "model", "model.gguf")
        pids = processes_of("model.gguf")
        call_umount(point)
    for pid in pids:
        wait_for_end(pid)
    assert os.listdir(own) == ["model.gguf"]


def test_an_empty_directory_is_somebody_elses(own, sample):
    (own / "model.gguf").symlink_to(sample)
    (own / "model").mkdir()
    point = made(own, "model (1)", "model.gguf")
    unmount(point, "model.gguf")
    assert sorted(os.listdir(own)) == ["model", "model.gguf"]


@pytest.mark.parametrize("name,expected", [
    ("blob", "blob (1)"), (".gguf", ".gguf (1)"), ("a.gguf.gguf", "a.gguf"), ("x.GGUF", "x.GGUF (1)")])
def test_names_of_mount_points(own, sample, name, expected):
    (own / name).symlink_to(sample)
    point = made(own, expected, name)
    pids = processes_of(name)
    os.kill(supervisor_of(pids), signal.SIGTERM)
    for pid in pids:
        wait_for_end(pid)
    assert os.listdir(own) == [name] and not is_mounted(point)


def test_quietly(own, sample):
    (own / "m.gguf").symlink_to(sample)
    done = mount_gguf("-q", own / "m.gguf", cwd=own)
    assert done.returncode == 0 and done.stderr == ""
    unmount(own / "m", own / "m.gguf")
    assert os.listdir(own) == ["m.gguf"]


def test_no_mount_point_remains_of_a_failure(own):
    (own / "bad.gguf").write_bytes(b"GGUF nonsense")
    assert mount_gguf("bad.gguf", cwd=own).returncode == 32
    assert os.listdir(own) == ["bad.gguf"]


def test_what_others_put_there_stays(own, sample):
    """A mount point that is not empty after the unmount is not removed."""
    (own / "m.gguf").symlink_to(sample)
    assert mount_gguf("-q", own / "m.gguf", cwd=own).returncode == 0
    point = own / "m"
    pids = processes_of(str(own / "m.gguf"))
    supervisor = supervisor_of(pids)
    os.kill(supervisor, signal.SIGSTOP)
    assert run(*(["umount"] if IS_ROOT else ["fusermount3", "-u"]), point).returncode == 0
    (point / "mine").touch()
    os.kill(supervisor, signal.SIGCONT)
    for pid in pids:
        wait_for_end(pid)
    assert os.listdir(point) == ["mine"]


@pytest.mark.skipif(IS_ROOT, reason="root may write everywhere")
def test_no_place_for_a_mount_point(sample):
    done = mount_gguf(sample, cwd="/")
    assert done.returncode == 1 and "name another as DIR" in done.stderr


# ── The log ──


@pytest.mark.skipif(not IS_ROOT, reason="a /dev of one's own is root's to make")
def test_syslog_in_the_background(own, sample):
    """What happens after the start goes to /dev/log, with the file's or the mount's name."""
    if not installed.can_be_made(own):
        pytest.skip("mount namespaces or device files cannot be made here")
    point, copy, log = own / "point", own / "copy.gguf", own / "dev/log"
    point.mkdir()
    copy.write_bytes(sample.read_bytes())
    log.parent.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(log))
        listener.settimeout(20)
        script = (f"mknod {own}/dev/null c 1 3 && mknod {own}/dev/fuse c 10 229 && "
                  f"ln -s /proc/self/fd {own}/dev/fd && "
                  f"mount --bind {own}/dev /dev && {PROGRAM} -v {copy} {point} && "
                  f"echo x >> {copy} && cat {point}/{NAME} && umount {point}")
        with contextlib.ExitStack() as after:
            after.callback(clear_below, own)
            done = run("unshare", "-m", "--propagation", "private", "sh", "-c", script)
            assert done.returncode == 0, done.stderr
            line = listener.recv(4096).decode()
    assert done.stdout == "Sample Llama\n" and f"{copy} is mounted on {point}" in done.stderr
    priority, rest = line[1:].split(">", 1)
    assert int(priority) == 3 * 8 + 4  # daemon, warning
    assert re.search(r"mount\.gguf\[\d+\]: " + re.escape(f"{point}: {copy}") + ".* changed", rest)


def test_a_line_names_the_mount_in_the_foreground(mounted, sample, own):
    log = own / "log"
    with open(log, "w") as stderr:
        mount = mounted(sample, "-v", foreground=True, stderr=stderr)
        assert (mount / NAME).read_bytes()
        os.kill(mount.supervisor, signal.SIGHUP)
        os.kill(mount.supervisor, signal.SIGTERM)
        mount.wait_until_gone()
    lines = log.read_text().splitlines()
    assert len(lines) >= 2 and all(str(mount.point) in line for line in lines), lines
    assert mount.foreground.returncode == 0
    wait_for_mount(mount.point, False)

"""The life of a mount: start, unmounting, signals, deaths of its processes, its privileges."""

import contextlib
import errno
import os
import pathlib
import select
import signal
import struct
import subprocess
import time

import pytest

from mounting import (COMMAND, IS_ROOT, is_mounted, mount_gguf, mounts,
                      processes_of, run, supervisor_of, wait_for_end, wait_for_mount)

F32 = "tensors/f32/token_embd.weight"


def status(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


@pytest.fixture(params=[False, True], ids=["background", "foreground"])
def started(request, mounted, sample):
    return mounted(sample, foreground=request.param)


def test_shown_in_the_mount_table(started, sample):
    kind, source = next((kind, source) for where, kind, source in mounts()
                        if where == str(started.point))
    assert kind.startswith("fuse") and source == str(sample)


@pytest.mark.parametrize("command", [["umount"], ["fusermount3", "-u"]], ids="".join)
def test_unmount(started, command):
    assert (started / F32).read_bytes()
    if command == ["umount"] and not IS_ROOT:
        pytest.skip("umount needs root")
    started.unmount(*command)
    if started.foreground:
        assert started.foreground.returncode == 0


def test_unmount_while_busy(started):
    with open(started / F32, "rb") as file:
        command = ["umount"] if IS_ROOT else ["fusermount3", "-u"]
        assert run(*command, started.point).returncode != 0
        assert len(file.read()) == 295 * 256 * 4
    started.unmount()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
def test_signal_with_an_open_file(started, number):
    """Gone at once from the tree; the open file is read to its end; then the processes end."""
    expected = (started / F32).read_bytes()
    descriptor = os.open(started / F32, os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    assert os.read(descriptor, 5000) == expected[:5000]
    os.kill(started.supervisor, number)
    wait_for_mount(started.point, False)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    got = b""
    while part := os.read(descriptor, 70001):
        got += part
    assert got == expected[5000:]
    os.close(descriptor)
    started.wait_until_gone()


def test_signals_that_the_worker_ignores(started):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(started.worker, number)
    os.kill(started.supervisor, signal.SIGHUP)
    assert (started / F32).read_bytes()
    started.unmount()


def test_the_worker_killed(started):
    """No dead mount remains: open files get an error, the supervisor unmounts and says so."""
    descriptor = os.open(started / F32, os.O_RDONLY | os.O_DIRECT)
    os.kill(started.worker, signal.SIGKILL)
    with pytest.raises(OSError) as failure:
        while os.pread(descriptor, 4096, 0):
            pass
    assert failure.value.errno in (errno.ENOTCONN, errno.ECONNABORTED, errno.EIO)
    with contextlib.suppress(OSError):
        os.close(descriptor)  # closes, and says that the mount is gone
    started.wait_until_gone()
    if started.foreground:
        assert started.foreground.returncode != 0


def test_the_supervisor_killed(started):
    """The worker serves on until somebody unmounts, and then ends."""
    assert (started / F32).read_bytes()  # the mount is seen a little before the worker has it
    os.kill(started.supervisor, signal.SIGKILL)
    if started.foreground:
        started.foreground.wait(20)
    wait_for_end(started.supervisor)
    assert len((started / F32).read_bytes()) == 295 * 256 * 4
    started.unmount()


@pytest.fixture
def slow(own):
    """A file that takes a second to read: millions of empty keys."""
    count, path = 4_000_000, own / "slow.gguf"
    path.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 0, count))
    os.truncate(path, 24 + 13 * count + 100)
    return path


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL],
                         ids=["TERM", "INT", "KILL"])
def test_the_caller_killed(own, slow, number):
    """Who waited for the mount reports a failure: nothing is mounted, and no process stays."""
    point = own / "point"
    point.mkdir()
    with subprocess.Popen([*COMMAND, slow, point], stderr=subprocess.DEVNULL) as caller:
        deadline = time.monotonic() + 20
        while len(pids := processes_of(str(point))) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(pids) == 3
        caller.send_signal(number)
        assert caller.wait(20) == -number
    for pid in pids:
        wait_for_end(pid)
    assert not is_mounted(point)


def test_a_mount_on_top_is_left_alone(mounted, sample, own):
    """When the worker dies, what another mounted over ours is not unmounted."""
    if not IS_ROOT:
        pytest.skip("fusermount3 mounts nothing on top of another FUSE mount")
    below = mounted(sample)
    assert run("mount", "-t", "tmpfs", "tmpfs", below.point).returncode == 0
    try:
        os.kill(below.worker, signal.SIGKILL)
        wait_for_end(below.worker)
        wait_for_end(below.supervisor)
        kinds = [kind for where, kind, _ in mounts() if where == str(below.point)]
        assert kinds[-1] == "tmpfs"
    finally:
        run("umount", below.point)
        run("umount", "-l", below.point)


@pytest.mark.parametrize("victim", ["supervisor", "worker"])
def test_a_directory_above_renamed(own, sample, victim):
    """The mount is unmounted where it is now: on a signal, and when it is dead."""
    before, now = own / "before/point", own / "now/point"
    before.mkdir(parents=True)
    assert mount_gguf(sample, before).returncode == 0
    before.parent.rename(now.parent)
    try:
        assert is_mounted(now)
        pids = processes_of(str(before))
        supervisor = supervisor_of(pids)
        worker, = [pid for pid in pids if pid != supervisor]
        if victim == "worker":
            os.kill(worker, signal.SIGKILL)
        else:
            os.kill(supervisor, signal.SIGTERM)
        for pid in pids:
            wait_for_end(pid)
        assert not is_mounted(now) and not os.listdir(now)
    finally:
        if is_mounted(now):
            run("fusermount3", "-uz", now)


def test_two_mounts_of_one_file(mounted, sample):
    first, second = mounted(sample), mounted(sample)
    first.unmount()
    assert (second / F32).read_bytes()


def test_mounted_again_at_once(own, sample):
    """The end of one mount does no harm to the next, which the kernel gives the same numbers."""
    point = own / "point"
    point.mkdir()
    for _ in range(60):
        started = mount_gguf(sample, point)
        assert started.returncode == 0, started.stderr
        ended = run("umount", point) if IS_ROOT else run("fusermount3", "-u", point)
        assert ended.returncode == 0, ended.stderr


def test_several_at_once_on_one_directory(own, sample):
    """One of them mounts; the others say that something is mounted there."""
    point = own / "point"
    point.mkdir()
    for _ in range(5):
        callers = [subprocess.Popen([*COMMAND, sample, point], stderr=subprocess.PIPE, text=True)
                   for _ in range(8)]
        said = [caller.communicate(timeout=30)[1] for caller in callers]
        assert sorted(caller.returncode == 0 for caller in callers) == [False] * 7 + [True]
        assert sum("mounted there already" in words for words in said) == 7, said
        assert sum(where == str(point) for where, _, _ in mounts()) == 1
        pids = processes_of(str(point))
        run(*(["umount"] if IS_ROOT else ["fusermount3", "-u"]), point)
        for pid in pids:
            wait_for_end(pid)
    assert not is_mounted(point)


def test_started_in_a_pipe(own, sample):
    """The background process keeps nobody's stdout open, nor a descriptor it inherited."""
    point = own / "point"
    point.mkdir()
    reader, writer = os.pipe()
    command = " ".join([*COMMAND, str(sample), str(point), "| cat"])
    done = subprocess.run(command, shell=True, timeout=30,
                          pass_fds=[writer])
    os.close(writer)
    try:
        assert done.returncode == 0 and is_mounted(point)
        assert select.select([reader], [], [], 5)[0], "a descriptor was inherited"
        assert os.read(reader, 1) == b""
    finally:
        os.close(reader)
        run("umount", point) if IS_ROOT else run("fusermount3", "-u", point)


def test_relative_paths(own, sample):
    (own / "model.gguf").symlink_to(sample)
    (own / "point").mkdir()
    done = mount_gguf("model.gguf", "point", cwd=own)
    assert done.returncode == 0, done.stderr
    try:
        assert (own / "point" / F32).stat().st_size == 295 * 256 * 4
    finally:
        run("umount", own / "point") if IS_ROOT else run("fusermount3", "-u", own / "point")


def test_the_foreground_speaks_of_a_change(mounted, sample, own):
    """The log of the foreground is stderr; a line for what befalls the source."""
    copy, log = own / "copy.gguf", own / "log"
    copy.write_bytes(sample.read_bytes())
    with open(log, "w") as stderr:
        mount = mounted(copy, foreground=True, stderr=stderr)
    with open(copy, "ab") as file:
        file.write(b"x")
    for _ in range(3):
        assert (mount / F32).read_bytes()
    mount.unmount()
    lines = [line for line in log.read_text().splitlines() if "changed" in line]
    assert len(lines) == 1 and "copy.gguf" in lines[0]


@pytest.mark.skipif(not IS_ROOT, reason="only root has privileges to drop")
def test_the_worker_has_no_privileges(started):
    found = status(started.worker)
    assert set(found["Uid"].split()) != {"0"} and len(set(found["Uid"].split())) == 1
    assert len(set(found["Gid"].split())) == 1 and found["Gid"].split()[0] != "0"
    assert found["Groups"].split() == []
    assert found["NoNewPrivs"] == "1"
    for capabilities in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(found[capabilities], 16) == 0, capabilities


def test_the_worker_has_only_its_own_descriptors(mounted, sample, own):
    with open(own / "secret", "w+") as secret:
        os.set_inheritable(secret.fileno(), True)
        point = own / "point"
        point.mkdir()
        subprocess.run([*COMMAND, sample, point], close_fds=False, timeout=30,
                       check=True)
        try:
            for pid in processes_of(str(point)):
                targets = [os.readlink(f"/proc/{pid}/fd/{fd}")
                           for fd in os.listdir(f"/proc/{pid}/fd")]
                assert not any("secret" in target for target in targets), targets
        finally:
            run("umount", point) if IS_ROOT else run("fusermount3", "-u", point)


def test_memory_stays_small(mounted, sample):
    """Reading everything through every view leaves little anonymous memory behind."""
    mount = mounted(sample)
    for path in mount.files():
        (mount / path).read_bytes()
    rollup = pathlib.Path(f"/proc/{mount.worker}/smaps_rollup")
    if not os.access(rollup, os.R_OK):
        pytest.skip("another's smaps_rollup is root's to see")
    lines = dict(line.split(":") for line in rollup.read_text().splitlines()[1:])
    assert int(lines["Anonymous"].split()[0]) < 16 * 1024

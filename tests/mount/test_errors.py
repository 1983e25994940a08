"""Everything that a user can get wrong: one sentence that helps, an exit status, nothing mounted."""

import os
import signal

import pytest

from mounting import (DATA, IS_ROOT, is_mounted, mount_gguf, mounts, processes_of, run,
                      wait_for_end)


@pytest.fixture
def point(own):
    point = own / "point"
    point.mkdir()
    return point


def mounts_below(folder):
    return [mount for mount in mounts() if mount[0].startswith(f"{folder}/")]


def refused(source, point, *words):
    """Mounting is refused in one sentence that has the words; returns the exit status."""
    before = mounts_below(point.parent)
    done = mount_gguf(source, point)
    assert done.returncode != 0 and done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("mount.gguf: "), done.stderr
    for word in words:
        assert word.lower() in lines[0].lower(), lines[0]
    assert mounts_below(point.parent) == before
    assert not processes_of(str(point))
    return done.returncode


def test_no_such_file(own, point):
    refused(own / "none.gguf", point, "none.gguf", "no such file")


def test_the_file_is_a_directory(own, point):
    refused(own, point, str(own), "directory")


def test_the_file_is_no_regular_file(own, point):
    os.mkfifo(own / "pipe")
    refused(own / "pipe", point, "pipe")
    refused("/dev/null", point, "/dev/null")


@pytest.mark.parametrize("content,words", [
    (b"", ["empty"]),
    (b"<!DOCTYPE html>\n<html><body>Not found</body></html>", ["HTML"]),
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 1\n",
     ["git", "lfs"]),
    (b"tjgg" + bytes(100), ["GGJT"]),
    (b"\x40\0\0\0\0\0\0\0" + b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'.ljust(64)
     + bytes(4), ["safetensors"]),
    (b"PK\x03\x04" + bytes(100), ["GGUF"]),
    (b"\x7fELF" + bytes(100), ["GGUF"]),
], ids=["empty", "html", "lfs", "ggjt", "safetensors", "zip", "elf"])
def test_another_kind_of_file(own, point, content, words):
    (own / "model.gguf").write_bytes(content)
    refused(own / "model.gguf", point, "model.gguf", *words)


def test_every_prefix_of_a_header_is_refused(own, point):
    whole = (DATA / "cases/037_arr_all_types.gguf").read_bytes()
    for size in (4, 8, 23, 24, 25, 60, 100, 200, 300):
        (own / "part.gguf").write_bytes(whole[:size])
        refused(own / "part.gguf", point, "part.gguf")


def test_unreadable(own, point):
    path = own / "secret.gguf"
    path.write_bytes(b"GGUF")
    path.chmod(0)
    if IS_ROOT:
        pytest.skip("root may read everything")
    refused(path, point, "secret.gguf", "permission")


def test_no_mount_point(sample, own):
    refused(sample, own / "none", "none", "no such")


def test_the_mount_point_is_no_directory(sample, own):
    (own / "file").write_bytes(b"")
    refused(sample, own / "file", "file", "directory")


def test_the_mount_point_is_a_mount_already(shown, sample):
    before = mounts()
    done = mount_gguf(sample, shown.point)
    assert done.returncode != 0 and len(done.stderr.splitlines()) == 1, done.stderr
    assert str(shown.point) in done.stderr and "mounted" in done.stderr
    assert mounts() == before


def test_the_mount_point_is_not_empty(mounted, own, sample):
    """A warning, and the mount hides what is there."""
    point = own / "full"
    point.mkdir()
    (point / "hidden").write_bytes(b"")
    done = mount_gguf(sample, point)
    try:
        assert done.returncode == 0 and "not empty" in done.stderr
        assert not (point / "hidden").exists()
    finally:
        run("umount", point) if IS_ROOT else run("fusermount3", "-u", point)
    assert (point / "hidden").exists()


def test_the_mount_point_is_a_dead_mount(mounted, sample):
    """The sentence says the command that clears it."""
    dead = mounted(sample)
    for pid in (dead.supervisor, dead.worker):
        os.kill(pid, signal.SIGKILL)
        wait_for_end(pid)
    assert is_mounted(dead.point)
    done = mount_gguf(sample, dead.point)
    command = "umount" if IS_ROOT else "fusermount3 -u"
    run("umount", "-l", dead.point) if IS_ROOT else run("fusermount3", "-uz", dead.point)
    assert done.returncode != 0 and len(done.stderr.splitlines()) == 1, done.stderr
    assert command in done.stderr and str(dead.point) in done.stderr


@pytest.mark.parametrize("arguments,words", [
    ([], ["--help"]),
    (["FILE", "POINT", "third"], []),
    (["--nonsense", "FILE", "POINT"], ["--nonsense"]),
    (["-o", "nonsense", "FILE", "POINT"], ["nonsense"]),
    (["-o", "nonsense=3", "FILE", "POINT"], ["nonsense"]),
    (["-x", "FILE", "POINT"], ["-x"]),
    (["FILE", "POINT", "-o"], ["-o"]),
    (["--print", "nothing/there", "FILE"], ["nothing/there"]),
    (["--print", "README.txt", "nothing.gguf"], ["nothing.gguf"]),
], ids=lambda value: "_".join(map(str, value)) if isinstance(value, list) else None)
def test_a_wrong_command_line(sample, point, arguments, words):
    filled = [{"FILE": sample, "POINT": point}.get(word, word) for word in arguments]
    done = mount_gguf(*filled)
    assert done.returncode != 0 and done.stdout == ""
    assert 1 <= len(done.stderr.splitlines()) <= 2, done.stderr
    for word in words:
        assert word in done.stderr
    assert not is_mounted(point)


def test_help_and_version():
    shown = mount_gguf("--help")
    assert shown.returncode == 0 and not shown.stderr and "--print" in shown.stdout
    assert mount_gguf("-h").stdout == shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 100
    version = mount_gguf("-V")
    assert version.returncode == 0 and version.stdout.startswith("mount.gguf ")
    assert mount_gguf("--version").stdout == version.stdout


def test_output_that_nobody_takes(sample):
    """A full disk, or a reader that left, is an error too."""
    with open("/dev/full", "w") as full:
        done = mount_gguf("--print", "tensors.tsv", sample, stdout=full, stderr=-1,
                          capture_output=False)
    assert done.returncode != 0 and done.stderr

"""The worker's cage: what a worker gone wrong would try ends it, and nothing stays mounted."""

import os
import re

import pytest

from mounting import BUILD, IS_ROOT, is_mounted, run

PROGRAM = BUILD / "tests/sandbox/mount.gguf-forbidden"


@pytest.fixture
def point(own):
    point = own / "point"
    point.mkdir()
    return point


def start(sample, point, call, *options):
    return run(PROGRAM, "-f", *options, sample, point, env={**os.environ, "PN_TRY": call})


@pytest.mark.parametrize("call", ["open", "exec", "fork", "socket", "ptrace", "io_uring", "kill",
                                  "mmap", "mprotect", "mem", "prctl"])
def test_a_forbidden_call(sample, point, call):
    done = start(sample, point, call)
    assert done.returncode not in (0, None) and not is_mounted(point)
    said = done.stderr.splitlines()
    assert len(said) == 2, done.stderr
    assert re.search(r"forbidden system call \d+", said[0])
    assert "killed by signal 31" in said[1] and "unmounted" in said[1]


def test_the_same_program_serves(sample, point):
    done = run(PROGRAM, sample, point)
    assert done.returncode == 0 and done.stderr == ""
    assert (point / "metadata/general.name").read_text() == "Sample Llama\n"
    run("umount", point) if IS_ROOT else run("fusermount3", "-u", point)


def test_the_sandbox_can_be_left_out(own, sample, mounted):
    with_it, without = mounted(sample), mounted(sample, "-o", "sandbox=no")
    for mount, mode in (with_it, "2"), (without, "0"):
        status = (own / f"/proc/{mount.worker}/status").read_text()
        assert re.search(r"^Seccomp:\t(\d)", status, re.M)[1] == mode

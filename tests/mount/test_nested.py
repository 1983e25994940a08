"""A source that itself lies on a FUSE mount: of root alone, of a program that hangs or dies."""

import os
import signal
import struct

import pytest

from mounting import run

INNER = "tensors/raw/inner"
F32 = "tensors/f32/blk.0.attn_q.weight"


@pytest.fixture
def outer(own, sample, mounted):
    """A model whose only tensor is the sample's bytes, mounted: the sample as a file on FUSE."""
    data = sample.read_bytes()
    head = struct.pack("<4sIQQ", b"GGUF", 3, 1, 0)
    head += struct.pack("<Q5sIQIQ", 5, b"inner", 1, len(data), 24, 0)
    (own / "outer.gguf").write_bytes(head.ljust(-len(head) % 32 + len(head), b"\0") + data)
    return mounted(own / "outer.gguf")


def test_values(outer, mounted, sample):
    direct, nested = mounted(sample), mounted(outer / INNER)
    assert (outer / INNER).read_bytes() == sample.read_bytes()
    for path in (F32, "tensors/raw/output_norm.weight", "metadata.json", "problems.txt"):
        for _ in range(2):
            assert (nested / path).read_bytes() == (direct / path).read_bytes(), path


def test_the_outer_one_hangs(outer, mounted):
    """The readers of what is not there yet wait; others go on, and so does unmounting."""
    nested = mounted(outer / INNER)
    assert (nested / "README.txt").read_bytes()
    os.kill(outer.worker, signal.SIGSTOP)
    try:
        assert (nested / "README.txt").read_bytes()
        assert run("ls", nested / "tensors/raw").returncode == 0
        assert run("umount", "-l", nested.point).returncode == 0
    finally:
        os.kill(outer.worker, signal.SIGCONT)
    nested.wait_until_gone()


def test_the_outer_one_dies(outer, mounted):
    """Right bytes or an error, and the worker lives."""
    nested = mounted(outer / INNER)
    before = (nested / F32).read_bytes()
    os.kill(outer.worker, signal.SIGKILL)
    outer.wait_until_gone()
    try:
        assert (nested / F32).read_bytes() == before
    except OSError:
        pass
    assert (nested / "README.txt").read_bytes()

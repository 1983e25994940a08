"""The source changes under the mount: EIO for what cannot be read, never zeros, never old bytes
after a reopen, and everything else goes on."""

import errno
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import gguf_file
from mounting import SAMPLE_MAKER, run

RAW = "tensors/raw/blk.1.ffn_gate.weight"
F32 = "tensors/f32/blk.1.ffn_gate.weight"
HEADER_FILE = "metadata/general.description"


@pytest.fixture
def copy(own, sample):
    return shutil.copy(sample, own / "copy.gguf")


@pytest.fixture
def place(sample):
    """Offset and size of the tensor that the tests look at: 512 rows of a 144-byte block."""
    file = gguf_file.File(sample)
    tensor = next(t for t in file.tensors if t.name == b"blk.1.ffn_gate.weight")
    return tensor.offset, 512 * 144


def read_errno(path, offset, size, flags=0):
    """The bytes there, or the errno of opening or reading."""
    try:
        with open(path, "rb", buffering=0, opener=lambda p, f: os.open(p, f | flags)) as file:
            return os.pread(file.fileno(), size, offset)
    except OSError as error:
        return error.errno


def assert_alive(mount, sample):
    """The header is still there, so its texts are; the tables do not need the file."""
    assert (mount / HEADER_FILE).read_bytes().startswith(b"Random numbers")
    assert len(os.listdir(mount / "tensors/f32")) == 38
    assert (mount / "tensors.tsv").read_bytes()
    assert (mount / "tensors/f32/token_embd.weight").stat().st_size == 295 * 256 * 4


@pytest.mark.parametrize("inside", [0, 1, 100, 4095], ids="page+{}".format)
@pytest.mark.parametrize("flags", [0, os.O_DIRECT], ids=["buffered", "O_DIRECT"])
def test_truncated(mounted, sample, copy, place, inside, flags):
    offset, size = place
    cut = (offset + size // 2) // 4096 * 4096 + inside
    whole = open(sample, "rb").read()
    values = np.fromfile(mounted(sample) / F32, "<f4").tobytes()
    mount = mounted(copy)
    os.truncate(copy, cut)

    have = cut - offset
    safe = have // 4096 * 4096 - 4096
    assert read_errno(mount / RAW, 0, safe, flags) == whole[offset:offset + safe]
    assert read_errno(mount / RAW, have // 4096 * 4096 + 4096, 4096, flags) == errno.EIO
    assert read_errno(mount / RAW, size - 10, 10, flags) == errno.EIO

    blocks = have // 144
    safe = blocks * 1024 // 4096 * 4096 - 4096
    assert read_errno(mount / F32, 0, safe, flags) == values[:safe]
    after = -(-(blocks + 1) * 1024 // 4096) * 4096
    assert read_errno(mount / F32, after, 4096, flags) == errno.EIO
    assert read_errno(mount / F32, 512 * 1024 - 4, 4, flags) == errno.EIO
    assert read_errno(mount / "tensors/f32/output_norm.weight", 0, 1024, flags) == errno.EIO
    assert_alive(mount, sample)


def test_no_byte_past_the_cut_reads_as_zero(mounted, sample, copy, place):
    """Whatever a read gives after the source was cut inside a page, it is the file's."""
    offset, size = place
    whole = open(sample, "rb").read()[offset:offset + size]
    mount = mounted(copy)
    os.truncate(copy, offset + 50000)
    for start in range(49000, 51000, 50):
        got = read_errno(mount / RAW, start, 50, os.O_DIRECT)
        assert got == errno.EIO or got == whole[start:start + 50]
        assert start < 50000 or got == errno.EIO


def test_truncated_to_nothing(mounted, sample, copy):
    mount = mounted(copy)
    os.truncate(copy, 0)
    for path in (RAW, F32, HEADER_FILE):
        assert read_errno(mount / path, 0, 100) == errno.EIO, path
    assert "tensors" in os.listdir(mount.point) and os.statvfs(mount.point)
    assert (mount / "README.txt").read_bytes()


def test_an_mmap_past_the_cut_is_a_bus_error_of_the_reader_alone(mounted, sample, copy, place):
    mount = mounted(copy)
    code = ("import mmap,os,sys; f = open(sys.argv[1], 'rb');"
            "m = mmap.mmap(f.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ);"
            "os.truncate(sys.argv[2], 4096); m[300000]")
    done = subprocess.run([sys.executable, "-c", code, mount / F32, copy], timeout=30)
    assert done.returncode == -7
    assert os.listdir(mount.point)


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_fills_the_kernels_pages_sees_no_end_at_the_cut(mounted, copy, place, when):
    """sendfile, splice and private mappings: an error, and no zeros; the size stays."""
    offset, size = place
    end = offset + 60000
    whole = open(copy, "rb").read()[offset:offset + size]
    if when == "before":
        os.truncate(copy, end)
    mount = mounted(copy)
    if when == "after":
        os.truncate(copy, end)
    inside = 60000 // 4096 * 4096  # the page of the cut
    with open(mount / RAW, "rb") as file, open(os.devnull, "wb") as null:
        for at in (inside, 60000):
            with pytest.raises(OSError, match="Input/output"):
                os.sendfile(null.fileno(), file.fileno(), at, 10000)
        receiver, sender = os.pipe()
        with pytest.raises(OSError, match="Input/output"):
            os.splice(file.fileno(), sender, 10000, offset_src=60000)
        os.close(receiver)
        os.close(sender)
        assert os.pread(file.fileno(), 10000, inside) == whole[inside:60000]
        assert os.fstat(file.fileno()).st_size == size
    code = ("import mmap, sys; f = open(sys.argv[1], 'rb');"
            f"m = mmap.mmap(f.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ);"
            f"sys.stdout.buffer.write(m[:{inside}]); sys.stdout.flush(); m[{inside + 4095}]")
    done = subprocess.run([sys.executable, "-c", code, mount / RAW], timeout=30,
                          stdout=subprocess.PIPE)
    assert done.returncode == -7 and done.stdout == whole[:inside]


def test_restored(mounted, sample, copy):
    """Bytes that were gone and are back can be read again."""
    mount = mounted(copy)
    whole = open(sample, "rb").read()
    os.truncate(copy, 100)
    assert read_errno(mount / RAW, 0, 100) == errno.EIO
    with open(copy, "r+b") as file:
        file.write(whole)
    expected = (mounted(sample) / F32).read_bytes()
    assert (mount / F32).read_bytes() == expected


@pytest.mark.parametrize("change", ["replaced", "deleted"])
def test_the_mount_keeps_a_file_that_lost_its_name(mounted, sample, copy, own, change):
    mount = mounted(copy)
    expected = (mounted(sample) / F32).read_bytes()
    if change == "replaced":
        (own / "other").write_bytes(b"something else")
        os.rename(own / "other", copy)
    else:
        os.unlink(copy)
    assert (mount / F32).read_bytes() == expected
    assert_alive(mount, sample)


def test_appended_to(mounted, sample, copy):
    mount = mounted(copy)
    assert (mount / "problems.txt").read_bytes() == b""
    with open(copy, "ab") as file:
        file.write(b"more" * 10000)
    assert (mount / F32).read_bytes() == (mounted(sample) / F32).read_bytes()
    assert_alive(mount, sample)
    assert b"changed" in (mount / "problems.txt").read_bytes()


def test_rewritten_in_place(mounted, sample, copy, place):
    """After a reopen nobody sees old bytes; problems.txt says what happened."""
    offset, size = place
    mount = mounted(copy)
    old = (mount / RAW).read_bytes()
    new = bytes(reversed(old))
    with open(copy, "r+b") as file:
        file.seek(offset)
        file.write(new)
    assert (mount / RAW).read_bytes() == new != old
    assert b"changed" in (mount / "problems.txt").read_bytes()
    with open(copy, "r+b") as file:
        file.seek(offset)
        file.write(old)
    assert (mount / RAW).read_bytes() == old


@pytest.mark.parametrize("filler", [b"\0", b"\xff", b"\x01"], ids=["00", "ff", "01"])
def test_the_header_overwritten(mounted, sample, copy, filler):
    """The bounds stay those of the parse: odd names, odd values or errors, no crash, no hang."""
    mount = mounted(copy)
    with open(copy, "r+b") as file:
        file.write(filler * 8192)
    for path in mount.files():
        try:
            with open(mount / path, "rb") as file:
                while file.read(1 << 20):
                    pass
        except OSError as error:
            assert error.errno in (errno.EIO, errno.ENOENT), path
    assert os.listdir(mount / "tensors/f32")


@pytest.fixture
def another(own):
    """The sample with a key more, so that nothing stands where it did."""
    path = own / "another.gguf"
    assert run(SAMPLE_MAKER, "--keys=1", path).returncode == 0
    return path


def test_another_model_written_into_the_file(mounted, sample, copy, another):
    """Its bytes are not shown as the old model's tensors; with the old bytes all is well again."""
    mount = mounted(copy)
    old = (mount / F32).read_bytes()
    opened = [os.open(mount / path, os.O_RDONLY) for path in (RAW, F32, HEADER_FILE)]
    with open(copy, "r+b") as file:
        file.write(open(another, "rb").read())
    for descriptor in opened:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        with pytest.raises(OSError, match="Input/output"):
            os.pread(descriptor, 4096, 0)
        os.close(descriptor)
    for path in (RAW, F32, HEADER_FILE):  # the names are those of the other
        assert read_errno(mount / path, 0, 4096) in (errno.EIO, errno.ENOENT), path
    for path, offset in (("tensors.tsv", 0), ("metadata.json", 0), ("export/model.gguf", 100000),
                         ("export/model.f32.safetensors", 100000)):
        assert read_errno(mount / path, offset, 4096) == errno.EIO, path
    assert (mount / "README.txt").read_bytes()
    assert b"another model" in (mount / "problems.txt").read_bytes()
    shutil.copyfile(sample, copy)
    assert (mount / F32).read_bytes() == old
    assert (mount / "export/model.gguf").read_bytes() == open(sample, "rb").read()


def test_new_values_in_their_places(mounted, sample, copy):
    """A tool that sets a key in place, as gguf-py's does, makes no other model of it."""
    mount = mounted(copy)
    with open(copy, "r+b") as file:
        whole = file.read()
        file.seek(whole.index(b"Sample Llama"))
        file.write(b"Simple Llama")
    assert (mount / "metadata/general.name").read_bytes() == b"Simple Llama\n"
    assert (mount / F32).read_bytes() == (mounted(sample) / F32).read_bytes()


def test_names_seen_while_the_header_was_wrong_are_not_kept(mounted, sample, copy):
    mount = mounted(copy)
    whole = open(sample, "rb").read(8192)
    (mount / "README.txt").stat()
    with open(copy, "r+b", buffering=0) as file:
        file.write(b"\0" * 8192)
        wrong = os.listdir(mount / "metadata")
        assert not (mount / "metadata/general.name").exists()
        file.seek(0)
        file.write(whole)
    assert "general.name" not in wrong
    assert (mount / "metadata/general.name").read_bytes()
    assert sorted(os.listdir(mount / "metadata")) == sorted(os.listdir(mounted(sample) / "metadata"))

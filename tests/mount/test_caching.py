"""How much the kernel keeps, and how far it reads ahead: -o cache=, -o readahead=."""

import ctypes
import mmap
import os
import pathlib

import pytest

from mounting import IS_ROOT, mount_gguf

F32 = "tensors/f32/blk.0.attn_q.weight"


def kept(path):
    """Whether the kernel keeps the file's first page after a read of all of it."""
    with open(path, "rb") as file:
        while file.read(1 << 20):
            pass
        # writable, since ctypes takes the address of nothing else
        with mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE) as memory:
            in_core = ctypes.c_ubyte()
            page = ctypes.c_char.from_buffer(memory)
            done = ctypes.CDLL(None).mincore(ctypes.byref(page), ctypes.c_size_t(1),
                                             ctypes.byref(in_core))
            del page
    assert done == 0
    return bool(in_core.value & 1)


@pytest.mark.parametrize("word,is_kept", [("auto", True), ("always", True), ("never", False)])
def test_cache(mounted, sample, shown, word, is_kept):
    fresh = mounted(sample, "-o", f"cache={word}")
    assert kept(fresh / F32) == is_kept
    assert (fresh / F32).read_bytes() == (shown / F32).read_bytes()
    assert os.stat(fresh / F32).st_blksize == (1 << 20 if is_kept else 512 << 10)


def test_maps_without_cache(mounted, sample, shown):
    """A private mapping always works; a shared one where libfuse and the kernel can."""
    fresh = mounted(sample, "-o", "cache=never")
    expected = (shown / F32).read_bytes()
    with open(fresh / F32, "rb") as file:
        with mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ) as memory:
            assert memory[:] == expected
        try:
            with mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ) as memory:
                assert memory[:] == expected
        except OSError as refused:
            assert refused.strerror == "No such device"


def read_ahead(point):
    device = os.stat(point).st_dev
    name = f"{os.major(device)}:{os.minor(device)}"
    return int(pathlib.Path(f"/sys/class/bdi/{name}/read_ahead_kb").read_text())


@pytest.mark.skipif(not IS_ROOT, reason="only root can set the read-ahead")
@pytest.mark.parametrize("options,expected", [
    ([], 1024), (["-o", "readahead=4M"], 4096), (["-o", "readahead=262144"], 256),
    (["-o", "readahead=0"], 0),
])
def test_readahead(mounted, sample, options, expected):
    assert read_ahead(mounted(sample, *options).point) == expected


@pytest.mark.skipif(IS_ROOT, reason="root can set it")
def test_readahead_needs_root(mounted, sample):
    assert "only root" in mounted(sample, "-o", "readahead=4M").message
    assert "only root" in mounted(sample, "-v").message
    assert "only root" not in mounted(sample).message


@pytest.mark.parametrize("option", ["cache=", "cache=often", "readahead=", "readahead=x",
                                    "readahead=1T", "readahead=-1", "readahead=2G",
                                    "readahead=1KK", "readahead=99999999999999999999K"])
def test_refused(sample, own, option):
    done = mount_gguf(sample, own, "-o", option)
    assert done.returncode == 1 and option in done.stderr


@pytest.mark.parametrize("word,is_kept", [("auto", False), ("always", True)])
def test_a_source_whose_times_change(mounted, sample, own, word, is_kept):
    """Pages are made anew when the source changes, unless they are to stay always."""
    copy = own / "model.gguf"
    copy.write_bytes(sample.read_bytes())
    mount = mounted(copy, "-o", f"cache={word}")
    before = (mount / F32).read_bytes()
    with open(copy, "r+b") as file:
        file.seek(int(os.getxattr(mount / F32, "user.gguf.offset")))
        file.write(bytes(144))
    after = (mount / F32).read_bytes()
    assert (after == before) == is_kept
    assert is_kept or after[:1024] == bytes(1024)

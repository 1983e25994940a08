"""What the server makes before a reader asks for it: right, and never older than the source."""

import os
import random
import shutil

import numpy as np
import pytest

import gguf_file
import split_set
from mounting import mount_gguf

NAME = "blk.1.ffn_gate.weight"  # Q4_K: 512 rows of a block of 144 bytes
F32 = f"tensors/f32/{NAME}"
PART = 64 << 10
BLOCK, BLOCK_OUT = 144, 1024


@pytest.fixture
def copy(own, sample):
    return shutil.copy(sample, own / "copy.gguf")


@pytest.fixture
def offset(sample):
    return next(t.offset for t in gguf_file.File(sample).tensors if t.name == NAME.encode())


def printed(path, source):
    done = mount_gguf("--print", path, source, text=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def parts(path, size):
    """The file in order, in reads of this size."""
    file = os.open(path, os.O_RDONLY)
    try:
        at = 0
        while part := os.pread(file, size, at):
            yield part
            at += len(part)
    finally:
        os.close(file)


@pytest.mark.parametrize("cache", ["auto", "never"])
@pytest.mark.parametrize("size", [32 << 10, 100000, 128 << 10, 1 << 20])
@pytest.mark.parametrize("path", [F32, f"tensors/f16/{NAME}", f"tensors/npy/{NAME}.npy",
                                  "export/model.f16.safetensors", "export/model.f32.safetensors"])
def test_in_order(mounted, sample, cache, size, path):
    mount = mounted(sample, "-o", f"cache={cache}")
    assert b"".join(parts(mount / path, size)) == printed(path, sample)


def test_in_order_and_at_random_mixed(mounted, sample):
    """Two readers in order, of two files, and one that jumps: whatever was made for one of them, no
    other gets it."""
    mount = mounted(sample, "-o", "cache=never")
    paths = [F32, f"tensors/bf16/{NAME}"]
    whole = [np.frombuffer(printed(path, sample), np.uint8) for path in paths]
    files = [os.open(mount / path, os.O_RDONLY) for path in paths]
    dice, at = random.Random(1), [0, 0]
    for _ in range(300):
        i, size = dice.randrange(2), dice.choice([32 << 10, 40000, PART])
        if dice.randrange(4) == 0:
            at[i] = dice.randrange(len(whole[i]))
        got = np.frombuffer(os.pread(files[i], size, at[i]), np.uint8)
        assert np.array_equal(got, whole[i][at[i]:at[i] + size]), (paths[i], at[i], size)
        at[i] = (at[i] + size) % len(whole[i])
    for file in files:
        os.close(file)


def read_two_parts(mount):
    """Reads two parts in order, and comes back when the third is made: requests are served one
    after the other."""
    file = os.open(mount / F32, os.O_RDONLY)
    for at in (0, PART):
        assert len(os.pread(file, PART, at)) == PART
    os.stat(mount / "problems.txt")
    return file


def test_not_given_of_another_file(mounted, sample):
    mount = mounted(sample, "-o", "cache=never")
    other = f"tensors/npy/{NAME}.npy"
    file = read_two_parts(mount)
    with open(mount / other, "rb", buffering=0) as another:
        assert os.pread(another.fileno(), PART, 2 * PART) == printed(
            other, sample)[2 * PART:3 * PART]
    os.close(file)


def test_not_given_after_the_source_was_rewritten(mounted, copy, offset):
    mount = mounted(copy, "-o", "cache=never")
    old = printed(F32, copy)
    file = read_two_parts(mount)
    with open(copy, "r+b") as source:
        source.seek(offset)
        blocks = np.frombuffer(source.read(512 * BLOCK), np.uint8).reshape(512, BLOCK)
        source.seek(offset)
        source.write(blocks[::-1].tobytes())
    new = printed(F32, copy)
    assert os.pread(file, PART, 2 * PART) == new[2 * PART:3 * PART] != old[2 * PART:3 * PART]
    os.close(file)


def test_not_given_after_the_source_was_cut(mounted, copy, offset):
    mount = mounted(copy, "-o", "cache=never")
    file = read_two_parts(mount)
    os.truncate(copy, offset + 2 * PART // BLOCK_OUT * BLOCK)
    with pytest.raises(OSError):
        os.pread(file, PART, 2 * PART)
    os.close(file)


def test_not_given_of_many_sources_one_of_which_was_rewritten(mounted, own):
    """A part that depends on hundreds of files."""
    n, elements = 420, 512
    shards = [split_set.Shard(i, n, n, [split_set.Tensor(
        b"t%05d" % i, [elements], 0, np.full(elements, i + 1, np.float32).tobytes())])
        for i in range(n)]
    shards[0].pairs = [split_set.pair(b"general.architecture", split_set.STRING, b"llama")]
    paths = split_set.write(shards, own / "set")
    mount = mounted(paths[0], "-o", "cache=never")
    path, size = mount / "export/model.f16.safetensors", 2 * PART
    head = 8 + int.from_bytes(path.read_bytes()[:8], "little")
    file = os.open(path, os.O_RDONLY)
    for at in (0, size):
        assert len(os.pread(file, size, at)) == size
    os.stat(mount / "problems.txt")
    changed = (2 * size - head) // (2 * elements) + 2
    with open(paths[changed], "r+b") as source:
        source.seek(-4 * elements, os.SEEK_END)
        source.write(np.full(elements, -7, np.float32).tobytes())
    at = head + 2 * elements * changed - 2 * size
    part = os.pread(file, size, 2 * size)
    assert set(np.frombuffer(part[at:at + 2 * elements], np.float16)) == {-7}
    os.close(file)


def test_not_given_of_a_source_whose_times_do_not_tell(mounted, copy, offset):
    """Written through a mapping that was made before, as some programs do: what is given was made
    after the request, or shortly before."""
    mount = mounted(copy, "-o", "cache=never")
    with open(copy, "r+b") as source:
        times = os.fstat(source.fileno())
        source.seek(offset)
        blocks = np.frombuffer(source.read(512 * BLOCK), np.uint8).reshape(512, BLOCK)
    changed = np.memmap(copy, np.uint8, "r+", offset=0)
    file = read_two_parts(mount)
    changed[offset:offset + 512 * BLOCK] = blocks[::-1].ravel()
    os.utime(copy, ns=(times.st_atime_ns, times.st_mtime_ns))
    new = printed(F32, copy)
    assert os.pread(file, PART, 2 * PART) == new[2 * PART:3 * PART]
    os.close(file)

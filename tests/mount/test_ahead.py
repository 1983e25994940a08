"""What the server makes before a reader asks for it: right, and never older than the source."""

import mmap
import os
import pathlib
import random
import shutil
import tempfile
import time

import numpy as np
import pytest

import gguf_file
import split_set
from mounting import mount_gguf

NAME = "blk.1.ffn_gate.weight"  # Q4_K: 512 rows of a block of 144 bytes
F32 = f"tensors/f32/{NAME}"
PART = 64 << 10
MOST = 512 << 10  # that the kernel asks for at once
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


def read_whole(path, size, skip):
    """The file in order, in reads of this size into memory that begins skip bytes into a page: of
    more than MOST the kernel makes several."""
    room = memoryview(mmap.mmap(-1, skip + size))[skip:]
    file = os.open(path, os.O_RDONLY)
    whole = bytearray()
    while n := os.readv(file, [room]):
        whole += room[:n]
    os.close(file)
    return whole


@pytest.fixture(scope="module")
def numbers():
    dice = np.random.default_rng(1)
    return dice.standard_normal((5 << 20) // 2 - 1000, np.float32)  # 5 MiB of f16, and not quite


def write_model(folder, numbers):
    tensor = split_set.Tensor(b"t", [len(numbers)], 0, numbers.tobytes())
    pairs = [split_set.pair(b"general.architecture", split_set.STRING, b"llama")]
    return split_set.write([split_set.Shard(0, 1, 1, [tensor], pairs)], folder / "set")[0]


@pytest.mark.parametrize("skip", [0, 16, 4000])
@pytest.mark.parametrize("size", [MOST - 4096, MOST, 3 * MOST // 2, 2 * MOST, 2 * MOST + 30000,
                                  3 * MOST, 8 << 20])
def test_in_order_in_several_requests(mounted, own, numbers, size, skip):
    mount = mounted(write_model(own, numbers), "-o", "cache=never")
    assert read_whole(mount / "tensors/f16/t", size, skip) == numbers.astype(np.float16).tobytes()


def test_parts_of_all_sizes_in_order(mounted, own, numbers):
    """As asked for, less than what is made, and more."""
    mount = mounted(write_model(own, numbers), "-o", "cache=never")
    whole, dice, at = numbers.astype(np.float16).tobytes(), random.Random(2), 0
    file = os.open(mount / "tensors/f16/t", os.O_RDONLY)
    for i in range(2000):
        size = dice.choice([16, 1000, 20000, 32 << 10, 100000, PART, PART, PART])
        assert os.pread(file, size, at) == whole[at:at + size], (i, at, size)
        at = at + size if at < len(whole) else 0
        if dice.randrange(50) == 0:
            at = dice.randrange(len(whole))
    os.close(file)


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="needs files whose times do not change")
@pytest.mark.parametrize("skip", [0, 16])
def test_made_before_it_is_asked_for(mounted, skip):
    """The source changes before the third part is asked for, and nothing tells: it is the old one,
    but for what the kernel asks for apart."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        pathlib.Path(folder).chmod(0o755)
        numbers = np.ones(1 << 20, np.float32)
        path = write_model(pathlib.Path(folder), numbers)
        source = np.memmap(path, np.float32, "r+", os.path.getsize(path) - numbers.nbytes)
        source[:] = numbers  # the last that changes the file's times
        mount = mounted(path, "-o", "cache=never")
        file = os.open(mount / "tensors/f16/t", os.O_RDONLY)
        room = memoryview(mmap.mmap(-1, skip + MOST))[skip:]

        def is_old(before, seconds=0):
            for at in (0, MOST):
                assert os.preadv(file, [room], at) == MOST
            os.stat(mount / "problems.txt")  # requests are served one after the other
            source[:] = before + 1
            time.sleep(seconds)
            assert os.preadv(file, [room], 2 * MOST) == MOST
            got = set(np.frombuffer(room[:MOST - skip], np.float16))
            assert got <= {before, before + 1}
            return got == {before}

        assert any(map(is_old, range(1, 50)))  # on a busy machine what was made may be too old
        assert not is_old(source[0], seconds=0.1)
        os.close(file)


def read_two_parts(mount):
    """Reads two parts in order, and comes back when the third is made: requests are served one
    after the other."""
    file = os.open(mount / F32, os.O_RDONLY)
    for at in (0, PART):
        assert len(os.pread(file, PART, at)) == PART
    os.stat(mount / "problems.txt")
    return file


@pytest.mark.parametrize("first", [PART, 2 * PART])
def test_not_given_of_another_file(mounted, sample, first):
    mount = mounted(sample, "-o", "cache=never")
    other = f"tensors/npy/{NAME}.npy"
    file = read_two_parts(mount)
    whole = printed(other, sample)
    with open(mount / other, "rb", buffering=0) as another:
        for at in range(first, 4 * PART, PART):
            assert os.pread(another.fileno(), PART, at) == whole[at:at + PART]
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

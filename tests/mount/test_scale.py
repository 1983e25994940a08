"""Sizes that no demonstration has: files, tensors, keys, open files, readers, mounts."""

import concurrent.futures
import hashlib
import os
import re
import resource

import pytest

from mounting import SAMPLE_MAKER, mount_gguf, run, status

F32 = "tensors/f32/blk.0.attn_q.weight"


@pytest.fixture(scope="module")
def contents(sample):
    """The float32 of each tensor, without the kernel."""
    names = mount_gguf("--print", "tensors/f32", sample).stdout.split()
    return {f"tensors/f32/{name}": mount_gguf("--print", f"tensors/f32/{name}", sample,
                                              text=False).stdout for name in names}


def make(path, *options):
    assert run(SAMPLE_MAKER, *options, path).returncode == 0
    return path


def anonymous(mount):
    """Bytes of anonymous memory of the worker."""
    return int(re.match(r"\d+", status(mount.worker, "RssAnon"))[0]) * 1024


def test_4_tib(mounted, own):
    size = 4 << 40
    huge = mounted(make(own / "huge.gguf", f"--size={size}"))
    raw, f32 = huge / "tensors/raw/hole.weight", huge / "tensors/f32/hole.weight"
    assert os.stat(raw).st_size == size and os.stat(raw).st_blocks == size // 512
    assert os.stat(f32).st_size == 2 * size
    for path in (raw, f32):
        with open(path, "rb") as file:
            end = os.fstat(file.fileno()).st_size
            for at in (0, end // 2 + 1, end - 5000):
                assert os.pread(file.fileno(), 5000, at) == bytes(5000)
            assert os.pread(file.fileno(), 5000, end - 10) == bytes(10)
    assert anonymous(huge) < 16 << 20


def test_a_million_tensors(mounted, own):
    n_tensors, n_keys = 1_000_000, 100_000
    many = mounted(make(own / "many.gguf", f"--tensors={n_tensors}", f"--keys={n_keys}"))
    n_all = n_tensors + 38  # of the sample
    assert anonymous(many) <= 100 * n_all + 40 * n_keys + (2 << 20)
    names = os.listdir(many / "tensors/f32")
    assert len(names) == len(set(names)) == n_all
    assert len(os.listdir(many / "metadata")) > n_keys
    assert os.stat(many / "tensors/f32/more.9999.expert.99.weight").st_size == 32
    assert len((many / "tensors/f32/more.5000.expert.50.weight").read_bytes()) == 32
    assert (many / f"metadata/more.{n_keys - 1}.key").read_text() == f"{n_keys - 1}\n"
    assert not (many / f"tensors/f32/more.{n_tensors}.expert.0.weight").exists()


@pytest.fixture
def many_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 11_000
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"no more than {hard} open files are allowed here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_10000_open_files(mounted, own, many_descriptors):
    mount = mounted(make(own / "many.gguf", "--tensors=10000"))
    before = anonymous(mount)
    folder = mount / "tensors/f32"
    opened = [os.open(folder / name, os.O_RDONLY) for name in os.listdir(folder)[:10_000]]
    assert len(opened) == 10_000
    for descriptor in opened:
        assert len(os.pread(descriptor, 32, 0)) == 32
    assert anonymous(mount) - before < 8 << 20
    for descriptor in opened:
        os.close(descriptor)


def test_64_readers(mounted, sample, contents):
    fresh = mounted(sample)
    paths = list(contents)

    def read_in_pieces(path):
        whole = b""
        descriptor = os.open(fresh / path, os.O_RDONLY | os.O_DIRECT)
        while piece := os.pread(descriptor, 12288, len(whole)):
            whole += piece
        os.close(descriptor)
        return whole

    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        for path, got in zip(2 * paths, pool.map(read_in_pieces, 2 * paths), strict=True):
            assert got == contents[path], path
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        sums = set(pool.map(lambda _: hashlib.sha256(read_in_pieces(F32)).digest(), range(64)))
    assert sums == {hashlib.sha256(contents[F32]).digest()}
    assert anonymous(fresh) < 24 << 20


def test_two_mounts_of_one_file(mounted, sample, contents):
    first, second = mounted(sample), mounted(sample)
    assert (first / F32).read_bytes() == (second / F32).read_bytes() == contents[F32]
    with open(first / F32, "rb") as file:
        second.unmount()
        assert file.read() == contents[F32]
    assert os.listdir(second.point) == []
    last = list(contents)[-1]
    assert (first / last).read_bytes() == contents[last]

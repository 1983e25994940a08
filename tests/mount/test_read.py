"""Every way that programs read files gives the same bytes, and every stat is true."""

import collections
import concurrent.futures
import errno
import hashlib
import mmap
import os
import random
import subprocess
import tarfile

import numpy as np
import pytest

from mounting import SAMPLE_MAKER, mount_gguf, run

F32 = "tensors/f32/blk.0.attn_q.weight"
CHANGING = "problems.txt"


@pytest.fixture(scope="module")
def contents(shown):
    """What --print gives for each path: the files' contents, without the kernel."""
    found = {}
    for path in shown.files():
        done = mount_gguf("--print", path, shown.source, text=False)
        assert done.returncode == 0, done.stderr
        found[path] = done.stdout
    return found


def drop_cache(descriptor):
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def test_the_tree_is_whole(shown, contents):
    expected = {"README.txt", "summary.txt", "problems.txt", "metadata.json", "metadata",
                "metadata.raw", "tensors.tsv", "tensors.json", "tensors"}
    assert expected <= set(os.listdir(shown.point))
    assert {"raw", "f32"} <= set(os.listdir(shown / "tensors"))
    assert "metadata/general.name" in contents and F32 in contents
    assert contents["metadata/general.name"] == b"Sample Llama\n"


def test_read_whole(shown, contents):
    for path, expected in contents.items():
        assert (shown / path).read_bytes() == expected, path


def test_print_lists_directories(shown):
    for folder, folders, files in os.walk(shown.point):
        path = os.path.relpath(folder, shown.point)
        done = mount_gguf("--print", "/" if path == "." else path, shown.source)
        assert done.returncode == 0, done.stderr
        names = [name + "/" for name in folders] + files
        assert sorted(done.stdout.splitlines()) == sorted(names)


@pytest.mark.parametrize("piece", [511, 4097, 65537, 1000003])
@pytest.mark.parametrize("flags", [0, os.O_DIRECT], ids=["buffered", "O_DIRECT"])
def test_read_in_odd_pieces(shown, contents, piece, flags):
    for path, expected in contents.items():
        descriptor = os.open(shown / path, os.O_RDONLY | flags)
        drop_cache(descriptor)
        pieces = []
        while part := os.read(descriptor, piece):
            pieces.append(part)
        os.close(descriptor)
        assert b"".join(pieces) == expected, path


@pytest.mark.parametrize("flags", [0, os.O_DIRECT], ids=["buffered", "O_DIRECT"])
def test_read_anywhere(shown, contents, flags):
    dice = random.Random(1)
    for path, expected in contents.items():
        descriptor = os.open(shown / path, os.O_RDONLY | flags)
        drop_cache(descriptor)
        size = len(expected)
        for _ in range(20):
            start, length = dice.randrange(size + 9), dice.choice([1, 3, 100, 5000, 70000])
            assert os.pread(descriptor, length, start) == expected[start:start + length], path
        assert os.pread(descriptor, 10, size) == b""
        os.close(descriptor)


def test_cat_cp_and_dd(shown, contents, own):
    for path, expected in contents.items():
        source, copy, other = shown / path, own / "copy", own / "other"
        assert run("cat", source, text=False).stdout == expected, path
        assert run("cp", "--sparse=auto", "--remove-destination", source, copy).returncode == 0
        assert copy.read_bytes() == expected, path
        assert run("dd", f"if={source}", f"of={other}", "bs=777", "status=none").returncode == 0
        assert other.read_bytes() == expected, path


@pytest.mark.parametrize("flags", [mmap.MAP_SHARED, mmap.MAP_PRIVATE], ids=["shared", "private"])
def test_mmap(shown, contents, flags):
    for path, expected in contents.items():
        if not expected:
            continue
        with open(shown / path, "rb") as file:
            drop_cache(file.fileno())
            with mmap.mmap(file.fileno(), 0, flags, mmap.PROT_READ) as memory:
                assert memory[-1:] == expected[-1:], path
                assert memory[:] == expected, path


def test_numpy(shown, contents):
    expected = np.frombuffer(contents[F32], "<f4")
    assert expected.std() > 0
    assert np.array_equal(np.fromfile(shown / F32, "<f4"), expected)
    mapped = np.memmap(shown / F32, "<f4", "r", shape=(256, 256))
    assert np.array_equal(mapped[:, ::-1].ravel(), expected.reshape(256, 256)[:, ::-1].ravel())


def test_eight_readers_at_once(mounted, sample, contents):
    fresh = mounted(sample)
    paths = [path for path in contents if path != CHANGING]

    def read_all(seed):
        order = random.Random(seed).sample(paths, len(paths))
        done = run("sha256sum", *[fresh / path for path in order])
        assert done.returncode == 0, done.stderr
        sums = [line.split(" ")[0].lstrip("\\") for line in done.stdout.splitlines()]
        return dict(zip(order, sums, strict=True))

    expected = {path: hashlib.sha256(contents[path]).hexdigest() for path in paths}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for got in pool.map(read_all, range(8)):
            assert got == expected


def test_stat_is_true(shown, contents, sample):
    source, numbers = os.stat(sample), set()
    for path, expected in contents.items():
        found = os.lstat(shown / path)
        assert found.st_size == len(expected), path
        assert found.st_blocks == -(-found.st_size // 512), path
        assert found.st_mode == 0o100444 and found.st_nlink == 1
        assert (found.st_uid, found.st_gid) == (source.st_uid, source.st_gid)
        assert found.st_blksize == 1 << 20
        if path != CHANGING:
            assert found.st_mtime_ns == source.st_mtime_ns
        numbers.add(found.st_ino)
    for folder, folders, _ in os.walk(shown.point):
        found = os.lstat(folder)
        assert found.st_mode == 0o40555 and found.st_nlink == 2 + len(folders), folder
        numbers.add(found.st_ino)
    folders = sum(1 for _ in os.walk(shown.point))
    links = shown.links()
    numbers |= {os.lstat(shown / path).st_ino for path in links}
    assert len(numbers) == len(contents) + len(links) + folders, "inode numbers are not unique"


def test_entries_agree_with_stat(shown):
    for folder, _, _ in os.walk(shown.point):
        for entry in os.scandir(folder):
            assert entry.inode() == os.lstat(entry.path).st_ino
            assert entry.is_dir(follow_symlinks=False) == os.path.isdir(entry.path)


def test_find_ls_du_df(shown, contents):
    found = run("find", shown.point, "-type", "f", "-printf", "%P %s\n")
    assert found.returncode == 0 and not found.stderr
    sizes = {path: str(len(expected)) for path, expected in contents.items()}
    assert dict(line.rsplit(" ", 1) for line in found.stdout.splitlines()) == sizes

    listed = run("ls", "-lR", shown.point)
    assert listed.returncode == 0 and not listed.stderr
    folders = sum(1 for _ in os.walk(shown.point)) - 1
    lines = collections.Counter(line[0] for line in listed.stdout.splitlines() if line)
    assert lines["-"] == len(contents) and lines["d"] == folders
    assert lines["l"] == len(shown.links())

    used = run("du", "-s", "--apparent-size", "-B1", shown / "tensors/f32").stdout.split("\t")[0]
    f32 = sum(len(data) for path, data in contents.items() if path.startswith("tensors/f32/"))
    assert f32 <= int(used) <= f32 + 8192

    usage = run("df", "-B1", "--output=size,avail,itotal", shown.point).stdout.splitlines()[1]
    size, free, nodes = map(int, usage.split())
    source = os.stat(shown.source).st_size
    assert source <= size <= source + (1 << 20) and free == 0
    assert nodes >= len(contents) + folders


def test_tar(shown, contents):
    with subprocess.Popen(["tar", "-C", shown.point, "-cf", "-", "."], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE) as maker:
        with tarfile.open(fileobj=maker.stdout, mode="r|") as archive:
            got = {entry.name[2:]: archive.extractfile(entry).read()
                   for entry in archive if entry.isfile()}
    assert maker.returncode == 0 and got == contents


def test_layers(shown, contents):
    """A layer's folder has a link to each of its tensors, in every view."""
    views = os.listdir(shown / "tensors")
    assert sorted(os.listdir(shown / "layers")) == ["0", "1", "2", "3"]
    assert len(shown.links()) == 4 * 9 * len(views)
    for view in views:
        assert len(os.listdir(shown / "layers/2" / view)) == 9
    for link in shown.links():
        target = os.readlink(shown / link)
        assert os.lstat(shown / link).st_size == len(target), link
        path = os.path.normpath(os.path.join(os.path.dirname(link), target))
        assert (shown / link).read_bytes() == contents[path], link
    assert os.readlink(shown / "layers/0/f32/attn_q.weight") == \
        "../../../tensors/f32/blk.0.attn_q.weight"


def test_getfattr(shown):
    def attributes(path):
        done = run("getfattr", "--absolute-names", "-d", "-m", "-", shown / path)
        assert done.returncode == 0, done.stderr
        pairs = [line.split("=", 1) for line in done.stdout.splitlines() if "=" in line]
        return {name.removeprefix("user.gguf."): value.strip('"') for name, value in pairs}

    root = attributes(".")
    assert root == {"version": "3", "endian": "little", "alignment": "32", "architecture": "llama"}
    tensor = attributes(F32)
    assert tensor["name"] == "blk.0.attn_q.weight" and tensor["type"] == "Q4_K"
    assert tensor["nbytes"] == str(256 * 144) and "offset" in tensor and "file" in tensor
    matrix = attributes("tensors/raw/blk.0.attn_k.weight")
    assert (matrix["shape"], matrix["ne"]) == ("[128,256]", "[256,128]")
    key = attributes("metadata/tokenizer.ggml.tokens")
    assert key == {"name": "tokenizer.ggml.tokens", "type": "array[string]", "count": "295"}
    with pytest.raises(OSError) as failure:
        os.getxattr(shown / F32, "user.nothing")
    assert failure.value.errno == errno.ENODATA


@pytest.mark.parametrize("change", [
    lambda m: open(m / "new", "w"),
    lambda m: open(m / "README.txt", "r+"),
    lambda m: os.truncate(m / F32, 0),
    lambda m: os.unlink(m / "README.txt"),
    lambda m: os.mkdir(m / "new"),
    lambda m: os.rmdir(m / "metadata"),
    lambda m: os.rename(m / "README.txt", m / "new"),
    lambda m: os.symlink("x", m / "new"),
    lambda m: os.link(m / "README.txt", m / "new"),
    lambda m: os.chmod(m / "README.txt", 0o777),
    lambda m: os.utime(m / "README.txt"),
    lambda m: os.setxattr(m / "README.txt", "user.x", b""),
], ids=["create", "open", "truncate", "unlink", "mkdir", "rmdir", "rename", "symlink", "link",
        "chmod", "utime", "setxattr"])
def test_read_only(shown, change):
    with pytest.raises(OSError) as failure:
        change(shown)
    assert failure.value.errno in (errno.EROFS, errno.EACCES, errno.EPERM)


@pytest.mark.parametrize("path,expected", [
    ("nothing", errno.ENOENT), ("tensors/f32/nothing", errno.ENOENT),
    ("tensors/f32/blk.0.attn_q.weight.npy", errno.ENOENT), ("metadata/%", errno.ENOENT),
    ("metadata/general.name%~2", errno.ENOENT), ("metadata/general%2Ename", errno.ENOENT),
    ("README.txt/x", errno.ENOTDIR), ("n" * 256, errno.ENAMETOOLONG),
])
def test_paths_that_are_not_there(shown, path, expected):
    for _ in range(2):
        with pytest.raises(OSError) as failure:
            os.lstat(shown / path)
        assert failure.value.errno == expected


def test_a_directory_of_many(mounted, own):
    assert run(SAMPLE_MAKER, "--tensors", "20000", own / "many.gguf").returncode == 0
    many = mounted(own / "many.gguf")
    names = os.listdir(many / "tensors/raw")
    assert len(names) == len(set(names)) == 20038
    assert sorted(names) == sorted(os.listdir(many / "tensors/f32"))
    done = run("ls", "-l", many / "tensors/f32")
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 20039
    assert len((many / "tensors.tsv").read_bytes().splitlines()) == 20039


def test_seeking_in_a_directory(shown):
    """A directory that is read twice through one descriptor gives the same names."""
    descriptor = os.open(shown / "metadata", os.O_RDONLY)
    first, second = os.listdir(descriptor), os.listdir(descriptor)
    os.close(descriptor)
    assert first == second and len(first) == len(os.listdir(shown / "metadata.raw"))

"""Split sets: named by any file, beside each other or by links, in order and not. What is there is
shown as it is, under one root; what is wrong is named."""

import errno
import os
import shutil

import pytest

import gguf_file
import split_set
from mounting import PROGRAM, mount_gguf, run

N = 3
EXPORT = "export/model.gguf"


@pytest.fixture
def shards(sample):
    return split_set.shards_of(sample, N)


@pytest.fixture
def paths(shards, own):
    return split_set.write(shards, own / "set")


def refusal(path, *options):
    """The message with which the file is refused."""
    done = mount_gguf("--print", "summary.txt", *options, path)
    assert done.returncode == 32 and done.stdout == "", done.stderr
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


def table(root):
    """tensors.tsv: each tensor's line by its name."""
    header, *lines = (root / "tensors.tsv").read_text().splitlines()
    rows = [dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in lines]
    return {row["name"]: row for row in rows}


def check_tensors(root, shards, paths):
    """Each tensor has its bytes, and says which file it is from."""
    rows = table(root)
    assert list(rows) == [t.name.decode() for shard in shards for t in shard.tensors]
    for shard, path in zip(shards, paths, strict=True):
        for tensor in shard.tensors:
            name = tensor.name.decode()
            raw = root / "tensors/raw" / name
            assert raw.read_bytes() == tensor.data, name
            assert rows[name]["file"] == path.name
            assert os.getxattr(raw, "user.gguf.file") == os.fsencode(path.name)
            offset = int(os.getxattr(raw, "user.gguf.offset"))
            assert offset == int(rows[name]["offset"])
            assert path.read_bytes()[offset:offset + len(tensor.data)] == tensor.data
            assert f"\nfile: {path.name}\n" in (root / "tensors/info" / name).read_text()


@pytest.mark.parametrize("named", range(N))
def test_any_file_may_be_named(mounted, sample, shards, paths, named):
    root = mounted(paths[named])
    check_tensors(root, shards, paths)
    assert (root / EXPORT).read_bytes() == sample.read_bytes()
    assert (root / "problems.txt").read_text() == ""
    summary = (root / "summary.txt").read_text()
    assert f" in {N} files\n" in summary
    for shard, path in zip(shards, paths, strict=True):
        line, = (line for line in summary.splitlines() if line.endswith(f"  {path.name}"))
        assert line.split() == [str(len(shard.tensors)), f"{path.stat().st_size:,}", path.name]
    assert os.statvfs(root.point).f_blocks * os.statvfs(root.point).f_frsize >= sum(
        path.stat().st_size for path in paths)


def test_views_are_those_of_one_file(mounted, sample, paths):
    """Everything else is the same as of the file that was split."""
    one, many = mounted(sample), mounted(paths[0])
    files = [path for path in one.files() if path.startswith("tensors/")]
    assert len(files) > 100 and set(files) == {p for p in many.files() if p.startswith("tensors/")}
    for path in files:
        if not path.startswith("tensors/info/"):
            assert (many / path).read_bytes() == (one / path).read_bytes(), path
    keys = set(os.listdir(many / "metadata")) - set(os.listdir(one / "metadata"))
    assert keys == {"split.no", "split.count", "split.tensors.count"}
    assert set(many.links()) == set(one.links())


def test_different_alignments(mounted, sample, shards, own):
    shards[1].alignment, shards[2].alignment = 8, 4096
    paths = split_set.write(shards, own / "set")
    root = mounted(paths[1])
    check_tensors(root, shards, paths)
    assert (root / "problems.txt").read_text() == ""
    assert (root / EXPORT).read_bytes() == sample.read_bytes()


def test_links_to_blobs(mounted, sample, shards, own):
    """As a cache lays it out: the names are links into a folder of blobs. The siblings are beside
    the link that is named."""
    blobs, snapshot = own / "blobs", own / "snapshots" / "0123abcd"
    paths = split_set.write(shards, blobs)
    snapshot.mkdir(parents=True)
    for no, path in enumerate(paths):
        blob = path.rename(blobs / f"{no:02x}5891b5b522d5df086d0ff0b110fbd9d2")
        (snapshot / path.name).symlink_to(os.path.relpath(blob, snapshot))
    links = [snapshot / path.name for path in paths]
    for named in links:
        root = mounted(named)
        check_tensors(root, shards, links)
        assert (root / EXPORT).read_bytes() == sample.read_bytes()
    assert "name" in refusal(blobs / "005891b5b522d5df086d0ff0b110fbd9d2")


def test_relative_path(sample, paths):
    done = run(PROGRAM, "--print", EXPORT, paths[2].name, text=False, cwd=paths[2].parent)
    assert done.returncode == 0 and done.stdout == sample.read_bytes(), done.stderr


def test_names_that_differ_in_case(mounted, sample, shards, own):
    """Of files, and of tensors in different files."""
    other = split_set.shards_of(sample, N)
    for shard, letter in zip(other, (b"w", b"W", b"W"), strict=True):
        for no, tensor in enumerate(shard.tensors):
            tensor.name = b"%b%d" % (letter if shard.no < 2 else b"x", no)
    lower = split_set.write(shards, own / "set", "model")
    upper = split_set.write(other, own / "set", "Model")
    check_tensors(mounted(lower[1]), shards, lower)
    check_tensors(mounted(upper[1]), other, upper)


def test_unknown_type_in_the_middle(mounted, shards, own):
    tensor = shards[1].tensors[4]
    tensor.type_id, name = 139, tensor.name.decode()
    paths = split_set.write(shards, own / "set")
    root = mounted(paths[0])
    assert name not in os.listdir(root / "tensors/f32")
    assert (root / "tensors/raw" / name).read_bytes()[:len(tensor.data)] == tensor.data
    problem, = (root / "problems.txt").read_text().splitlines()
    assert name in problem and paths[1].name in problem and "139" in problem
    for shard in shards:
        for other in shard.tensors:
            if other is not tensor:
                assert (root / "tensors/raw" / other.name.decode()).read_bytes() == other.data
    written = gguf_file.File(root / EXPORT)
    assert [t.name for t in written.tensors] == [t.name for s in shards for t in s.tensors]
    for shard in shards:
        for other in shard.tensors:
            found, = (t for t in written.tensors if t.name == other.name)
            assert found.type_id == other.type_id
            assert written.data[found.offset:found.offset + len(other.data)] == other.data


def test_cut_off_data(mounted, shards, paths):
    """The last tensor of a shard in the middle is cut: only the bytes that are not there are missing,
    also in the one file."""
    tensor, lost = shards[1].tensors[-1], 1000
    end = gguf_file.File(paths[1]).tensors[-1].offset + len(tensor.data)
    os.truncate(paths[1], end - lost)
    root = mounted(paths[0])
    problem, = (root / "problems.txt").read_text().splitlines()
    assert tensor.name.decode() in problem and paths[1].name in problem and "cut off" in problem

    whole = gguf_file.File(own_whole(shards, paths[0].parent / "whole"))
    found, = (t for t in whole.tensors if t.name == tensor.name)
    first = found.offset + len(tensor.data) - lost
    descriptor = os.open(root / EXPORT, os.O_RDONLY)
    try:
        assert os.fstat(descriptor).st_size == len(whole.data)
        assert os.pread(descriptor, first, 0) == whole.data[:first]
        with pytest.raises(OSError) as error:
            os.pread(descriptor, 1, first)
        assert error.value.errno == errno.EIO
        after = first + lost
        rest = b""
        while part := os.pread(descriptor, 1 << 20, after + len(rest)):
            rest += part
        assert rest == whole.data[after:]
    finally:
        os.close(descriptor)


def own_whole(shards, path):
    """The set written as one file, by the tests' own writer."""
    one = split_set.Shard(0, 1, 0, [t for shard in shards for t in shard.tensors],
                          shards[0].pairs, is_split=False)
    path.write_bytes(one.file())
    return path


def test_another_file_written_over_one(mounted, shards, paths):
    """What that shard held is gone, and all else is there."""
    mount = mounted(paths[0])
    folder = mount / "tensors/raw"
    paths[1].write_bytes(shards[2].file())
    for tensor in shards[0].tensors + shards[2].tensors:
        assert (folder / tensor.name.decode()).read_bytes() == tensor.data
    for tensor in shards[1].tensors:
        with pytest.raises(OSError):
            (folder / tensor.name.decode()).read_bytes()
    paths[1].write_bytes(shards[1].file())
    for tensor in shards[1].tensors:
        assert (folder / tensor.name.decode()).read_bytes() == tensor.data


def test_missing(mounted, shards, paths):
    paths[1].unlink()
    message = refusal(paths[0])
    assert paths[1].name in message and "no such file" in message and "partial" in message

    root = mounted(paths[0], "-o", "partial")
    check_tensors(root, [shards[0], shards[2]], [paths[0], paths[2]])
    problem, = (root / "problems.txt").read_text().splitlines()
    assert paths[1].name in problem and "left out" in problem
    assert "left out  shard 2\n" in (root / "summary.txt").read_text()
    written = gguf_file.File(root / EXPORT)
    assert [t.name for t in written.tensors] == [t.name for s in (0, 2) for t in shards[s].tensors]
    assert b"split.no" not in dict(written.pairs)


def test_missing_first(mounted, shards, paths):
    """Without the first file there are no metadata but the set's own."""
    paths[0].unlink()
    assert paths[0].name in refusal(paths[2])
    root = mounted(paths[2], "-o", "partial")
    check_tensors(root, shards[1:], paths[1:])
    assert [t.name for t in gguf_file.File(root / EXPORT).tensors] == [
        t.name for shard in shards[1:] for t in shard.tensors]


def test_unreadable(shards, paths):
    paths[2].unlink()
    paths[2].mkdir()
    assert paths[2].name in refusal(paths[0])


def spoil_header(paths, shard, sample):
    os.truncate(paths[1], 60)


def spoil_magic(paths, shard, sample):
    paths[1].write_bytes(b"<!DOCTYPE html>" + bytes(100))


def spoil_foreign(paths, shard, sample):
    shard.pairs = [split_set.pair(b"general.architecture", 8, b"gemma3")]
    paths[1].write_bytes(shard.file())


def spoil_unsplit(paths, shard, sample):
    shutil.copy(sample, paths[1])


def spoil_duplicate(paths, shard, sample):
    shutil.copy(paths[0], paths[1])


def spoil_count(paths, shard, sample):
    shard.count = 4
    paths[1].write_bytes(shard.file())


def spoil_total(paths, shard, sample):
    shard.total += 1
    paths[1].write_bytes(shard.file())


SPOILED = {
    spoil_header: "unfinished download",
    spoil_magic: "HTML",
    spoil_foreign: "not of one set",
    spoil_unsplit: "no shard of a set",
    spoil_duplicate: "says it is shard 1",
    spoil_count: "one of 4 shards",
    spoil_total: "not of one set",
}


@pytest.mark.parametrize("spoil", SPOILED, ids=lambda spoil: spoil.__name__[6:])
def test_spoiled(mounted, sample, shards, paths, spoil):
    """One that does not belong is refused by its name, or left out."""
    spoil(paths, shards[1], sample)
    message = refusal(paths[0])
    assert paths[1].name in message and SPOILED[spoil] in message

    root = mounted(paths[0], "-o", "partial")
    check_tensors(root, [shards[0], shards[2]], [paths[0], paths[2]])
    problem, = (root / "problems.txt").read_text().splitlines()
    assert paths[1].name in problem and SPOILED[spoil] in problem


def test_total_that_no_file_has(mounted, shards, own):
    for shard in shards:
        shard.total += 1
    paths = split_set.write(shards, own / "set")
    assert f"says {shards[0].total}" in refusal(paths[0])
    root = mounted(paths[0], "-o", "partial")
    check_tensors(root, shards, paths)
    assert f"says {shards[0].total}" in (root / "problems.txt").read_text()


def test_name_that_is_none_of_a_set(shards, paths):
    other = paths[0].rename(paths[0].parent / "renamed.gguf")
    assert other.name in refusal(other)
    wrong = other.rename(other.parent / split_set.name("model", 0, 4))
    assert wrong.name in refusal(wrong)


def test_same_name_in_two_files(mounted, shards, own):
    """Refused; as far as it goes, the second of a name has a mark and is not in the one file."""
    twice = shards[2].tensors[0]
    twice.name = shards[0].tensors[0].name
    paths = split_set.write(shards, own / "set")
    name = twice.name.decode()
    assert name in refusal(paths[0])
    root = mounted(paths[0], "-o", "partial")
    assert (root / "tensors/raw" / name).read_bytes() == shards[0].tensors[0].data
    second = root / "tensors/raw" / f"{name}%~2"
    assert second.read_bytes() == twice.data
    assert os.getxattr(second, "user.gguf.file") == os.fsencode(paths[2].name)
    left_out = [line for line in (root / "problems.txt").read_text().splitlines()
                if EXPORT in line]
    assert len(left_out) == 1 and name in left_out[0]
    assert len(gguf_file.File(root / EXPORT).tensors) == shards[0].total - 1


def test_a_file_that_was_merged(mounted, sample, shards, own):
    """split.count of 0 or 1, or a name alone, make no set."""
    one = split_set.shards_of(sample, 1)
    paths = split_set.write(one, own / "set")
    assert (mounted(paths[0]) / EXPORT).read_bytes() == paths[0].read_bytes()
    alone = own / split_set.name("model", 1, 7)
    shutil.copy(sample, alone)
    assert (mounted(alone) / EXPORT).read_bytes() == sample.read_bytes()

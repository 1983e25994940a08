"""What the mount shows is what the file says: every key, every tensor, every small case."""

import csv
import errno
import json
import os

import gguf
import numpy as np
import pytest

import gguf_file
from checks import check_metadata, same_floats
from mounting import DATA, is_mounted, mount_gguf

CASES = DATA / "cases"
GOLDEN = DATA / "golden"
CUT = {"057_align_2p31.gguf", "065_past_eof.gguf", "066_offset_2p40.gguf", "067_offset_wrap.gguf",
       "070_no_data_section.gguf"}


def outcomes():
    with open(CASES / "expected.tsv", newline="") as table:
        return {row["file"]: row["outcome"] for row in csv.DictReader(table, delimiter="\t")}


MOUNTING = [name for name, outcome in outcomes().items() if outcome.startswith("mounts")]
REFUSED = [name for name, outcome in outcomes().items() if outcome == "refused"]


def stored_size(file, tensor):
    """The bytes of a tensor; of a type whose size is unknown, up to the next one or the end."""
    n = int(np.prod([int(dim) for dim in tensor.ne], dtype=object))
    row = tensor.ne[0] if tensor.ne else 1
    try:
        elems, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType(tensor.type_id)]
        if tensor.type_id == gguf.GGMLQuantizationType.Q8_1:
            size = 36  # gguf-py's 40 is from a time when the scales were float32
        if row % elems == 0:
            return n // elems * size
    except (ValueError, KeyError):
        pass
    later = [other.offset for other in file.tensors if other.offset > tensor.offset]
    return min(later, default=len(file.data)) - tensor.offset


def check_raw(root, file):
    """Returns tensor, file name and bytes of each; cut ones must say EIO past their end."""
    names = gguf_file.file_names([tensor.name for tensor in file.tensors])
    assert sorted(os.listdir(root / "tensors/raw")) == sorted(names)
    found = []
    for tensor, name in zip(file.tensors, names):
        size = stored_size(file, tensor)
        path = root / "tensors/raw" / name
        data = file.data[tensor.offset:tensor.offset + size]
        assert os.stat(path).st_size == size, name
        descriptor = os.open(path, os.O_RDONLY)
        got = b""
        while len(got) < len(data):
            got += os.pread(descriptor, len(data) - len(got), len(got))
        assert got == data, name
        if len(data) < size:
            with pytest.raises(OSError) as failure:
                os.pread(descriptor, 1, len(data))
            assert failure.value.errno == errno.EIO
        os.close(descriptor)
        assert os.getxattr(path, "user.gguf.name") == tensor.name
        found.append((tensor, name, data))
    return found


@pytest.mark.parametrize("name", MOUNTING)
def test_a_case_that_mounts(mounted, name):
    file = gguf_file.File(CASES / name)
    root = mounted(CASES / name)
    check_metadata(root, file.pairs)
    found = check_raw(root, file)
    problems = (root / "problems.txt").read_bytes()
    assert bool(problems) == outcomes()[name].endswith("problem"), problems
    for path in root.files():
        printed = mount_gguf("--print", path, root.source, text=False)
        is_text = path.endswith((".txt", ".tsv", ".json")) or path.startswith("tensors/info/")
        is_cut = path.startswith(("tensors/", "export/")) and path != "export/model.gguf"
        if name in CUT and is_cut and not is_text:  # export/model.gguf goes without what is cut
            assert (printed.returncode == 0) == (name == "065_past_eof.gguf" and
                                                 os.path.basename(path) in ("a", "a.npy"))
            continue
        content = (root / path).read_bytes()
        assert printed.returncode == 0 and printed.stdout == content, path
        if is_text:
            assert not any(byte < 32 and byte not in b"\t\n" for byte in content), path
    for tensor, stem, data in found:
        f32 = root / "tensors/f32" / stem
        if tensor.type_id == 0 and name not in CUT and f32.exists():
            order = np.dtype(file.order + "f4")
            assert np.array_equal(np.fromfile(f32, "<f4"), np.frombuffer(data, order))


@pytest.mark.parametrize("name", REFUSED)
def test_a_case_that_is_refused(own, name):
    done = mount_gguf(CASES / name, own)
    assert done.returncode != 0
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and name in lines[0] and lines[0].startswith("mount.gguf: "), done.stderr
    assert lines[0].isprintable()
    assert not is_mounted(own)


def test_the_sample(shown, sample):
    file = gguf_file.File(sample)
    check_metadata(shown, file.pairs)
    assert (shown / "problems.txt").read_bytes() == b""
    for tensor, name, data in check_raw(shown, file):
        values = gguf.dequantize(np.frombuffer(data, "u1"),
                                 gguf.GGMLQuantizationType(tensor.type_id))
        assert same_floats(np.fromfile(shown / "tensors/f32" / name, "<f4"),
                           values.astype("f4").ravel()), name


@pytest.mark.parametrize("name,golden,count", [
    ("types.gguf", "f32", 28), ("types-be.gguf", "f32", 11), ("types-extra.gguf", "f32-extra", 7)])
def test_golden_values(mounted, name, golden, count):
    root = mounted(GOLDEN / name)
    file = gguf_file.File(GOLDEN / name)
    check_metadata(root, file.pairs)
    check_raw(root, file)
    shown = os.listdir(root / "tensors/f32")
    assert len(shown) == count
    for tensor in shown:
        expected = np.fromfile(GOLDEN / golden / tensor, "<f4")
        assert same_floats(np.fromfile(root / "tensors/f32" / tensor, "<f4"), expected), tensor
        assert same_floats(np.memmap(root / "tensors/f32" / tensor, "<f4", "r"), expected), tensor


def test_half_precision(mounted):
    """f16 as NumPy rounds, bf16 by adding half of the last place: to nearest, ties to even."""
    root = mounted(GOLDEN / "types.gguf")
    for name in os.listdir(root / "tensors/f32"):
        values = np.fromfile(root / "tensors/f32" / name, "<f4")
        nan = np.isnan(values)
        with np.errstate(over="ignore"):
            expected = values.astype("<f2")
        got = np.fromfile(root / "tensors/f16" / name, "<f2")
        assert np.array_equal(np.isnan(got), nan), name
        assert np.array_equal(got[~nan].view("u2"), expected[~nan].view("u2")), name

        bits = values.view("u4").astype("u8")
        expected = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2")
        got = np.fromfile(root / "tensors/bf16" / name, "<u2")
        assert np.array_equal((got & 0x7FFF) > 0x7F80, nan), name
        assert np.array_equal(got[~nan], expected[~nan]), name


def test_tensor_tables(shown, sample):
    file = gguf_file.File(sample)
    header, *rows = (shown / "tensors.tsv").read_text().splitlines()
    assert "name" in header.split("\t")[0]
    assert [row.split("\t")[0].encode() for row in rows] == [t.name for t in file.tensors]
    with open(shown / "tensors.json", encoding="utf-8") as text:
        table = json.load(text)
    assert [entry["name"].encode() for entry in table] == [t.name for t in file.tensors]
    for entry, tensor in zip(table, file.tensors):
        assert entry["shape"] == tensor.ne[::-1]
        assert entry["type"] == gguf.GGMLQuantizationType(tensor.type_id).name
        assert entry["offset"] == tensor.offset

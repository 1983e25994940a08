"""export/model.*.safetensors against the safetensors package: each tensor, by name, type, shape and
bytes, loaded whole and one by one."""

import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

import gguf
import split_set
from test_npy import to_bf16

KEPT = {"F16", "BF16", "F64", "I8", "I16", "I32", "I64"}
CODES = {"F16": "<f2", "BF16": "<u2", "F32": "<f4", "F64": "<f8", "I8": "|i1", "I16": "<i2",
         "I32": "<i4", "I64": "<i8"}


def narrow(values, form):
    if form == "BF16":
        return to_bf16(values)
    with np.errstate(over="ignore"):
        return values.astype(CODES[form])


def header_of(path):
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        assert size <= 100_000_000 and (8 + size) % 4096 == 0
        return json.loads(file.read(size)), 8 + size


@pytest.mark.parametrize("form", ["F32", "F16", "BF16"])
def test_tensors(mounted, model, form, report):
    root = mounted(model)
    path = root / "export" / f"model.{form.lower()}.safetensors"
    tensors = gguf.GGUFReader(model).tensors
    header, start = header_of(path)
    data = np.memmap(path, "u1", "r", start) if tensors else np.zeros(0, "u1")

    with safe_open(path, "np") as file:
        assert file.metadata()["format"] == "pt"
        assert file.metadata() == header["__metadata__"]
        assert sorted(file.keys()) == sorted(tensor.name for tensor in tensors)
        for tensor in tensors:
            name, kind = tensor.name, tensor.tensor_type.name
            dtype = kind if kind in KEPT else form
            part = file.get_slice(name)
            assert part.get_dtype() == dtype, name
            assert part.get_shape() == [int(dim) for dim in tensor.shape[::-1]], name

            begin, end = header[name]["data_offsets"]
            assert begin % np.dtype(CODES[dtype]).itemsize == 0
            got = data[begin:end].view(CODES[dtype])
            if kind in KEPT:
                assert np.array_equal(got.view("u1"), tensor.data.ravel().view("u1")), name
                continue
            f32 = np.fromfile(root / "tensors/f32" / name, "<f4")
            nan, word = np.isnan(f32), f"<u{got.itemsize}"
            expected = narrow(f32, form)
            assert np.array_equal(got.view(word)[~nan], expected.view(word)[~nan]), name
            if dtype != "BF16":
                assert np.all(np.isnan(got[nan])), name
                assert np.array_equal(file.get_tensor(name).ravel().view(word), got.view(word))
    if form != "BF16" and not any(t.tensor_type.name == "BF16" for t in tensors):
        assert len(load_file(path)) == len(tensors)
    report(f"{model.name}: {len(tensors)} tensors of {path.name} compared by safetensors, "
           "0 differences")


@pytest.mark.parametrize("form", ["f32", "f16", "bf16"])
def test_split_set(mounted, sample, own, form, report):
    """A set gives what the file does that was split."""
    def tensors_of(root):
        path = root / "export" / f"model.{form}.safetensors"
        header, start = header_of(path)
        data = path.read_bytes()[start:]
        with safe_open(path, "np") as file:
            return {name: (file.get_slice(name).get_dtype(), file.get_slice(name).get_shape(),
                           data[slice(*header[name]["data_offsets"])]) for name in file.keys()}

    paths = split_set.write(split_set.shards_of(sample, 3), own / "set")
    expected = tensors_of(mounted(sample))
    assert len(expected) > 30 and tensors_of(mounted(paths[1])) == expected
    report(f"{sample.name}: {len(expected)} tensors of 3 files, by safetensors as {form}, "
           "0 differences from the original")

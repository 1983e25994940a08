"""tensors/npy against NumPy, and the half precisions against what NumPy makes of float32."""

import numpy as np
import pytest

import gguf
from checks import same_floats

KEPT = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I8": "|i1", "I16": "<i2", "I32": "<i4",
        "I64": "<i8"}


def to_bf16(values):
    """bfloat16 bits of float32, to nearest even; NaN stays NaN."""
    bits = values.view("u4").astype("u8")
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("u2")
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded)


def same_halves(got, expected, nan):
    return np.array_equal(got[~nan], expected[~nan])


def test_tensors(mounted, model, report):
    root = mounted(model)
    tensors = gguf.GGUFReader(model).tensors
    for tensor in tensors:
        path = root / "tensors/npy" / f"{tensor.name}.npy"
        shape = tuple(int(dim) for dim in tensor.shape[::-1])
        loaded, mapped = np.load(path), np.load(path, mmap_mode="r")
        kind = KEPT.get(tensor.tensor_type.name, "<f4")
        for array in (loaded, mapped):
            assert array.shape == shape and array.dtype == np.dtype(kind), tensor.name
        assert mapped.offset % 64 == 0
        assert np.array_equal(loaded.view("u1"), mapped.view("u1"))

        f32 = np.fromfile(root / "tensors/f32" / tensor.name, "<f4")
        nan = np.isnan(f32)
        if kind == "<f4":
            assert same_floats(loaded.ravel(), f32), tensor.name
        else:
            assert np.array_equal(loaded.ravel(), tensor.data.ravel().view(kind)), tensor.name
        with np.errstate(over="ignore"):
            f16 = f32.astype("<f2")
        got = np.fromfile(root / "tensors/f16" / tensor.name, "<f2")
        assert np.array_equal(np.isnan(got), nan)
        assert same_halves(got.view("u2"), f16.view("u2"), nan), tensor.name
        got = np.fromfile(root / "tensors/bf16" / tensor.name, "<u2")
        assert np.all((got[nan] & 0x7FFF) > 0x7F80)
        assert same_halves(got, to_bf16(f32), nan), tensor.name
    report(f"{model.name}: {len(tensors)} tensors loaded by NumPy from npy, f16 and bf16, "
           "0 differences")


@pytest.mark.parametrize("shape", [(), (5,), (3, 2), (0, 4), (7, 1, 2), (1, 2, 3, 1, 2, 1, 2, 3)],
                         ids=str)
def test_shapes(mounted, own, shape):
    """Every number of dimensions, by a file that is written here."""
    values = np.arange(np.prod(shape, dtype=int), dtype="<f4").reshape(shape)
    ne = b"".join(int(dim).to_bytes(8, "little") for dim in shape[::-1])
    header = (b"GGUF" + (3).to_bytes(4, "little") + (1).to_bytes(8, "little") + bytes(8)
              + (1).to_bytes(8, "little") + b"a" + len(shape).to_bytes(4, "little") + ne
              + bytes(4) + bytes(8))
    path = own / "shape.gguf"
    path.write_bytes(header + bytes(-len(header) % 32) + values.tobytes())
    root = mounted(path)
    for mode in (None, "r"):
        if mode and not values.size:
            continue  # NumPy does not map an empty array
        array = np.load(root / "tensors/npy/a.npy", mmap_mode=mode)
        assert array.shape == shape and np.array_equal(array, values)

"""Random models, written by our writer, mounted and read back: what is shown is what is in them, as
a reader of our own in another language understands the file."""

import os

import numpy as np
import pytest

import gguf_file
from checks import check_metadata, same_floats
from mounting import BUILD, run

F32, F16 = 0, 1


def check_tensors(root, file):
    """The bytes that are there of each tensor, and the floats of those that hold floats."""
    names = gguf_file.file_names([tensor.name for tensor in file.tensors])
    assert sorted(os.listdir(root / "tensors/raw")) == sorted(names)
    for tensor, name in zip(file.tensors, names):
        path = root / "tensors/raw" / name
        size = path.stat().st_size
        stored = file.data[tensor.offset:tensor.offset + size]
        if len(stored) < size:
            continue  # cut off by the end of the file
        assert path.read_bytes() == stored, name
        assert os.getxattr(path, "user.gguf.name") == tensor.name
        if tensor.type_id in (F32, F16):
            dtype = np.dtype(file.order + {F32: "f4", F16: "f2"}[tensor.type_id])
            expected = np.frombuffer(stored, dtype).astype("f4")
            assert same_floats(np.fromfile(root / "tensors/f32" / name, "<f4"), expected), name


@pytest.mark.parametrize("seed", range(40))
def test_a_random_model(mounted, own, seed):
    path = own / "random.gguf"
    assert run(BUILD / "tests/fuzz/gguf-random", seed, path).returncode == 0
    file = gguf_file.File(path)
    root = mounted(path)
    check_metadata(root, file.pairs)
    check_tensors(root, file)

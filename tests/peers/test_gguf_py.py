"""Every key and every tensor of real models, against gguf-py."""

import gguf
import numpy as np

from checks import check_metadata, same_floats
from gguf_file import ARRAY, Value

ROWS_AT_ONCE = 8192


def value_of(field):
    """A field of gguf-py as our tests' Value; None for arrays of arrays, which it flattens, and
    for empty arrays, whose type it does not keep."""
    kind, elem = int(field.types[0]), int(field.types[-1])
    if elem == ARRAY or len(field.types) > 2:
        return None
    if field.types[-1] == gguf.GGUFValueType.STRING:
        items = [bytes(field.parts[at]) for at in field.data]
    else:
        items = np.concatenate([field.parts[at] for at in field.data])
        items = items.astype(items.dtype.newbyteorder("=")).view("u1" if elem == 7 else items.dtype)
    return Value(kind, elem, items, None)


def test_keys(mounted, model, report):
    pairs = [(name.encode(), value_of(field))
             for name, field in gguf.GGUFReader(model).fields.items()
             if not name.startswith("GGUF.")]
    check_metadata(mounted(model), pairs)
    compared = sum(value is not None for _, value in pairs)
    report(f"{model.name}: {compared} of {len(pairs)} keys' values compared with gguf-py, "
           "0 differences")


def test_tensors(mounted, model, report):
    root, numbers = mounted(model), 0
    tensors = gguf.GGUFReader(model).tensors
    for tensor in tensors:
        stored = np.fromfile(root / "tensors/raw" / tensor.name, "u1")
        assert np.array_equal(stored, tensor.data.view("u1").ravel()), tensor.name

        shape = [int(dim) for dim in tensor.shape[::-1]]
        path = root / "tensors/f32" / tensor.name
        mapped = np.memmap(path, "<f4", "r").reshape(-1, shape[-1])
        rows = tensor.data.reshape(len(mapped), -1)
        with open(path, "rb") as file:
            for at in range(0, len(mapped), ROWS_AT_ONCE):
                expected = gguf.dequantize(rows[at:at + ROWS_AT_ONCE], tensor.tensor_type)
                expected = expected.astype("f4").ravel()
                read = np.fromfile(file, "<f4", expected.size)
                assert same_floats(read, expected), tensor.name
                assert same_floats(mapped[at:at + ROWS_AT_ONCE].ravel(), expected), tensor.name
            assert not file.read(1)
        numbers += tensor.n_elements
    report(f"{model.name}: {len(tensors)} tensors, {numbers} float32 values compared with gguf-py,"
           " 0 differences")
    if not tensors:
        assert not list((root / "tensors/raw").iterdir())


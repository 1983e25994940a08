"""A model that is not in memory: the mount against reading the same bytes of the file."""

import os

import gguf

import gguf_file
import model
from measure import RATE
from scale import Started
from setting import make_cold, read, seconds

CHUNK = 1 << 20


def read_range(path, offset, size):
    with open(path, "rb", buffering=0) as file:
        for at in range(offset, offset + size, CHUNK):
            os.pread(file.fileno(), min(CHUNK, offset + size - at), at)


def measure_disk(table, source, folder):
    """The rates are those of bytes of the file. Each side begins with none of them in memory: what
    is mapped cannot be dropped, so each time it is mounted anew."""
    file = gguf_file.File(source)
    for view, kind in (("raw", "F16"), ("f32", "Q4_K"), ("f32", "F16")):
        name = model.name_of(kind)
        offset = next(t.offset for t in file.tensors if t.name.decode() == name)
        elements, bytes_each = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]]
        size = model.MAIN_ELEMENTS // elements * bytes_each

        def ours():
            make_cold(source)
            started = Started(folder, source)
            path = started.point / "tensors" / view / name
            rate = read(path) * size / os.stat(path).st_size
            started.close()
            return rate

        def other():
            make_cold(source)
            return size / seconds(lambda: read_range(source, offset, size)) / 1e9

        table.pairs(f"{view} {kind}, source on disk", ours, other, RATE, "the file's own bytes",
                    n=max(3, table.n_pairs // 3))

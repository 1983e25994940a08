"""The model that is measured: tensors of every type, as large as it takes to measure."""

import math

import gguf
import numpy as np

import gguf_file
import mounting

MAIN = ("Q4_K", "Q6_K", "Q8_0", "F16")  # the types of most models
MAIN_ELEMENTS, OTHER_ELEMENTS = 1 << 26, 1 << 23
COLUMNS = 4096
MAIN_LAYERS = 3  # more of the main types, so that all is 1.2 GiB; layer 0 is what is measured


def name_of(type_name, layer=0):
    return f"blk.{layer}.{type_name.lower()}.weight"


def ordinary_blocks(kind, stored):
    """The blocks that hold numbers as models have them: no NaN, none huge or tiny. None of a type
    that gguf-py cannot dequantize."""
    size, bytes_each = gguf.GGML_QUANT_SIZES[kind]
    blocks = np.frombuffer(stored, np.uint8).reshape(-1, bytes_each)
    with np.errstate(all="ignore"):
        try:
            numbers = np.abs(gguf.dequantize(blocks, kind).reshape(-1, size))
        except NotImplementedError:
            return blocks[:0]
        good = np.all((numbers == 0) | ((numbers > 1e-18) & (numbers < 1e18)), axis=1)
    return blocks[good]


def make(path):
    """Blocks of tests/data/golden, repeated, of the types that gguf-py has too."""
    golden = gguf_file.File(mounting.DATA / "golden/types.gguf")
    known = {kind.value: kind for kind in gguf.GGMLQuantizationType}
    unfinished = path.with_suffix(".new")
    writer = gguf.GGUFWriter(unfinished, "llama")
    for tensor in golden.tensors:
        kind = known.get(tensor.type_id)
        if kind is None:
            continue
        size, bytes_each = gguf.GGML_QUANT_SIZES[kind]
        length = math.prod(tensor.ne) // size * bytes_each
        blocks = ordinary_blocks(kind, golden.data[tensor.offset:tensor.offset + length])
        if len(blocks) == 0:
            continue
        elements = MAIN_ELEMENTS if kind.name in (*MAIN, "F32") else OTHER_ELEMENTS
        rows = np.resize(blocks, (elements // size, bytes_each)).reshape(elements // COLUMNS, -1)
        for layer in range(MAIN_LAYERS if kind.name in MAIN else 1):
            writer.add_tensor(name_of(kind.name, layer), rows, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    unfinished.rename(path)

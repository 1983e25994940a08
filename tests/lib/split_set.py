"""Split sets for the tests: a file cut into shards as llama.cpp's splitter does it, with whatever
is to be wrong with them."""

import dataclasses
import math
import struct

import gguf

import gguf_file

U16, I32, U32, STRING = 2, 5, 4, 8
FORMATS = {U16: "<H", I32: "<i", U32: "<I"}


def text(data):
    return struct.pack("<Q", len(data)) + data


def pair(key, kind, value):
    stored = text(value) if kind == STRING else struct.pack(FORMATS[kind], value)
    return text(key) + struct.pack("<I", kind) + stored


@dataclasses.dataclass
class Tensor:
    name: bytes
    ne: list
    type_id: int
    data: bytes


@dataclasses.dataclass
class Shard:
    """One file. Fields may be changed until it is written."""
    no: int
    count: int
    total: int  # split.tensors.count
    tensors: list
    pairs: list = dataclasses.field(default_factory=list)  # as stored, without the set's own
    alignment: int = 32
    is_split: bool = True  # has the set's own

    def file(self):
        own = [pair(b"split.no", U16, self.no), pair(b"split.count", U16, self.count),
               pair(b"split.tensors.count", I32, self.total)]
        pairs = [*self.pairs, *(own if self.is_split else [])]
        if self.no > 0 and self.alignment != 32:
            pairs.append(pair(b"general.alignment", U32, self.alignment))
        infos, data, offset = b"", [], 0
        for tensor in self.tensors:
            infos += text(tensor.name) + struct.pack(f"<I{len(tensor.ne)}QIQ", len(tensor.ne),
                                                     *tensor.ne, tensor.type_id, offset)
            data += [tensor.data, bytes(-len(tensor.data) % self.alignment)]
            offset += len(data[-2]) + len(data[-1])
        header = struct.pack("<4sIQQ", b"GGUF", 3, len(self.tensors), len(pairs))
        header += b"".join(pairs) + infos
        return b"".join([header, bytes(-len(header) % self.alignment), *data])


def size_of(tensor):
    elements, bytes_each = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType(tensor.type_id)]
    return math.prod(tensor.ne) // elements * bytes_each


def shards_of(path, n):
    """The shards of a little-endian file of version 3, as equal as their tensors go; all metadata
    are in the first."""
    whole = gguf_file.File(path)
    tensors = [Tensor(t.name, t.ne, t.type_id, whole.data[t.offset:t.offset + size_of(t)])
               for t in whole.tensors]
    each = -(-len(tensors) // n)
    shards = [Shard(no, n, len(tensors), tensors[no * each:(no + 1) * each]) for no in range(n)]
    shards[0].pairs = [text(key) + struct.pack("<I", value.kind) + head(value) + value.stored
                       for key, value in whole.pairs]
    shards[0].alignment = whole.alignment
    return shards


def head(value):
    """Of an array, what stands before its elements."""
    if value.kind != gguf_file.ARRAY:
        return b""
    return struct.pack("<IQ", value.elem, len(value.items))


def name(prefix, no, count):
    return f"{prefix}-{no + 1:05d}-of-{count:05d}.gguf"


def write(shards, folder, prefix="model"):
    """Writes the files; their paths."""
    folder.mkdir(exist_ok=True)
    paths = [folder / name(prefix, no, len(shards)) for no in range(len(shards))]
    for path, shard in zip(paths, shards, strict=True):
        path.write_bytes(shard.file())
    return paths

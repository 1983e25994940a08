"""What a GGUF file holds and how the mount must show it, written anew from the format's text and
the rules of the tree: the tests compare the mount with this."""

import hashlib
import itertools
import math
import struct
import unicodedata

import numpy as np

NUMBERS = {0: "u1", 1: "i1", 2: "u2", 3: "i2", 4: "u4", 5: "i4", 6: "f4", 7: "u1",
           10: "u8", 11: "i8", 12: "f8"}
NAMES = {0: "uint8", 1: "int8", 2: "uint16", 3: "int16", 4: "uint32", 5: "int32", 6: "float32",
         7: "bool", 8: "string", 9: "array", 10: "uint64", 11: "int64", 12: "float64"}
BOOL, STRING, ARRAY = 7, 8, 9


class Value:
    """A value: `items` is a NumPy array in host order, a list of bytes, or a list of Values."""

    def __init__(self, kind, elem, items, stored):
        self.kind, self.elem, self.items, self.stored = kind, elem, items, stored

    @property
    def type_name(self):
        return f"array[{NAMES[self.elem]}]" if self.kind == ARRAY else NAMES[self.kind]

    def text(self):
        """As metadata/<key> shows it; not for arrays of arrays, whose lines are JSON."""
        if self.kind == STRING:
            return self.items[0] + b"\n"
        if self.elem == STRING:
            return b"".join(_escape_line(item) + b"\n" for item in self.items)
        return b"".join(_number_text(self.elem, item).encode() + b"\n" for item in self.items)

    def raw(self):
        """As metadata.raw/<key> holds it."""
        if self.kind == STRING:
            return self.items[0]
        if self.elem == STRING:
            return b"".join(item + b"\0" for item in self.items)
        if self.elem == ARRAY:
            return self.stored
        return self.items.tobytes()

    def plain(self):
        """As json.loads gives it; floats are left as NumPy's."""
        items = [_plain(self.elem, item) for item in self.items]
        return items if self.kind == ARRAY else items[0]


class Tensor:
    def __init__(self, name, ne, type_id, offset):
        self.name, self.ne, self.type_id, self.offset = name, ne, type_id, offset


class File:
    """Raises struct.error or ValueError for a file that this cannot read."""

    def __init__(self, path):
        self.data = path.read_bytes()
        self.order = "<"
        if struct.unpack_from("<I", self.data, 4)[0] & 0xFFFF == 0:
            self.order = ">"
        self.at = 4
        self.version = self._number("I")
        n_tensors, n_pairs = self._count(), self._count()
        self.pairs = [(self._string(), self._value()) for _ in range(n_pairs)]
        self.tensors = [self._tensor() for _ in range(n_tensors)]
        alignment = dict(reversed(self.pairs)).get(b"general.alignment")  # the first counts
        self.alignment = int(alignment.items[0]) if alignment else 32
        self.data_start = -(-self.at // self.alignment) * self.alignment
        for tensor in self.tensors:
            tensor.offset += self.data_start

    def _number(self, code):
        value, = struct.unpack_from(self.order + code, self.data, self.at)
        self.at += struct.calcsize(code)
        return value

    def _count(self):
        return self._number("I" if self.version == 1 else "Q")

    def _string(self):
        size = self._count()
        self.at += size
        return self.data[self.at - size:self.at]

    def _value(self):
        kind = self._number("I")
        return self._array() if kind == ARRAY else self._items(kind, kind, 1)

    def _array(self):
        elem = self._number("I")
        return self._items(ARRAY, elem, self._count())

    def _items(self, kind, elem, count):
        start = self.at
        if elem == STRING:
            items = [self._string() for _ in range(count)]
        elif elem == ARRAY:
            items = [self._array() for _ in range(count)]
        else:
            dtype = np.dtype(self.order + NUMBERS[elem])
            items = np.frombuffer(self.data, dtype, count, start).astype(dtype.newbyteorder("="))
            self.at += items.nbytes
        return Value(kind, elem, items, self.data[start:self.at])

    def _tensor(self):
        name = self._string()
        ne = [self._count() for _ in range(self._number("I"))]
        return Tensor(name, ne, self._number("I"), self._number("Q"))


def file_names(names, suffix=""):
    """The file name of each key or tensor."""
    seen, found = {}, []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(_file_name(name, seen[name]) + suffix)
    return found


def _file_name(name, nth):
    more = f"%~{nth}" if nth > 1 else ""
    pieces = _encode(name)
    if sum(map(_size, pieces)) + len(more) > 251:
        more = "%~" + hashlib.sha256(name).hexdigest()[:16] + more
        ends = itertools.accumulate(map(_size, pieces))
        pieces = [piece for piece, end in zip(pieces, ends) if end + len(more) <= 251]
    return "".join(pieces) + more


def _size(text):
    return len(text.encode())


def _encode(name):
    """The encoded name, in pieces that must not be cut."""
    special = {b"": "%", b".": "%2E", b"..": "%2E%2E"}
    if name in special:
        return [special[name]]
    pieces = []
    for character in name.decode("utf-8", "surrogateescape"):
        code = ord(character)
        if 0xDC80 <= code <= 0xDCFF:
            pieces.append(f"%{code - 0xDC00:02X}")
        elif character in "/%" or unicodedata.category(character) == "Cc":
            pieces.append("".join(f"%{byte:02X}" for byte in character.encode()))
        else:
            pieces.append(character)
    return pieces


def _escape_line(item):
    for byte, escape in ((b"\\", b"\\\\"), (b"\n", b"\\n"), (b"\r", b"\\r"), (b"\0", b"\\0")):
        item = item.replace(byte, escape)
    return item


def _number_text(kind, item):
    if kind == BOOL:
        return "true" if item else "false"
    return str(item)


def _plain(kind, item):
    if kind == STRING:
        return item.decode("utf-8", "replace")
    if kind == ARRAY:
        return item.plain()
    if kind == BOOL:
        return bool(item)
    if item.dtype.kind != "f":
        return int(item)
    if math.isfinite(item):
        return item
    return "NaN" if math.isnan(item) else "Infinity" if item > 0 else "-Infinity"


def same_json(got, expected):
    """Whether json.loads gave what is expected, floats to the bit."""
    if isinstance(expected, list):
        return (isinstance(got, list) and len(got) == len(expected)
                and all(map(same_json, got, expected)))
    if isinstance(expected, np.floating):
        return isinstance(got, (int, float)) and expected.dtype.type(got) == expected
    return type(got) is type(expected) and got == expected

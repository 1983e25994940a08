"""Tensors as NumPy arrays: the mount against gguf-py, and against a file converted beforehand."""

import os
import statistics

import gguf
import numpy as np

import measure
import model
from measure import RATE, TIME
from setting import make_cold, read, seconds

PLAIN = ("F32", "F16", "BF16")  # not quantized


def null_name(type_name):
    """The null filesystem's file of as many elements."""
    return f"f32-{type_name}" if type_name in model.MAIN else "f32-other"


def load(setting, name):
    path = setting.ours / f"tensors/npy/{name}.npy"
    make_cold(path)
    return seconds(lambda: np.load(path)) * 1e6


def load_null(setting, name):
    path = setting.null / name
    make_cold(path)
    return seconds(lambda: np.fromfile(path, "<f4")) * 1e6


def against_gguf_py(table, what, setting, reader, least, median):
    """Every quantized type; in each row the ratio says how many times faster the mount is. The last
    row is the same of the null filesystem, which has nothing to make."""
    found, limits = [], []
    for tensor in reader.tensors:
        kind = tensor.tensor_type
        name = f"npy {kind.name}, {what}, times as fast as gguf-py"
        if not table.wants(name) or kind.name in PLAIN or tensor.name != model.name_of(kind.name):
            continue
        load(setting, tensor.name)
        mount, null, peer = [], [], []
        for _ in range(max(3, table.n_pairs // 3)):
            mount.append(load(setting, tensor.name))
            peer.append(seconds(lambda: gguf.dequantize(tensor.data, kind)) * 1e6)
            null.append(load_null(setting, null_name(kind.name)))
        row = measure.Row(name, TIME, peer, mount, "the mount; first gguf-py", least)
        table.add(row)
        found.append(row.result)
        limits.append(measure.Row(name, TIME, peer, null).result)
    if found:
        n, unit = len(found), "times as fast"
        table.add(measure.Row(f"npy, {what}, median of {n} types", unit,
                              [statistics.median(found)], target=median))
        table.add(measure.Row(f"np.fromfile, {what}, null filesystem, median of {n} sizes", unit,
                              [statistics.median(limits)]))


def against_null(table, what, setting):
    """What an array of the same size takes when the bytes cost nothing to make."""
    for kind in (kind for kind in model.MAIN if kind not in PLAIN):
        table.pairs(f"npy {kind}, {what}", lambda: load(setting, model.name_of(kind)),
                    lambda: load_null(setting, f"f32-{kind}"), TIME, "null filesystem, np.fromfile")


def against_converted(table, setting, folder):
    """Views and the null filesystem read cold, the converted file from the page cache."""
    file = folder / "converted"
    for kind in model.MAIN:
        ours, null = setting.both(f"f32-{kind}")
        sides = {f"f32 {kind}": (ours, 0.3)}
        if kind == model.MAIN[0]:
            sides["null filesystem"] = (null, None)
        for name, (path, target) in sides.items():
            what = f"{name}, cold, against a converted file"
            if not table.wants(what):
                continue
            file.write_bytes(ours.read_bytes())
            table.pairs(what, lambda: read(path, "--cold"), lambda: read(file), RATE,
                        "the file, in the page cache", target=target)
    if file.exists():
        os.unlink(file)


def measure_arrays(table, cached, direct, source, folder):
    reader = gguf.GGUFReader(source)
    against_gguf_py(table, "cold", cached, reader, 2.5, 6)
    against_gguf_py(table, "direct_io", direct, reader, None, 10)
    against_null(table, "cold", cached)
    against_null(table, "direct_io", direct)
    against_converted(table, cached, folder)

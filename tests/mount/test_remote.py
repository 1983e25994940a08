"""A model on an HTTP server, mounted by rclone, and mount.gguf on top: what is read is fetched, and
little more. With the options that README.md gives.

The server is a thread of the test, so nothing here may touch a mapped file: a page fault keeps
Python's lock, and would wait for the server for ever."""

import errno
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import gguf
import numpy as np
import pytest

from mounting import IS_ROOT, Mount, run, wait_for_mount
from range_server import RangeServer

pytestmark = pytest.mark.skipif(not shutil.which("rclone"), reason="rclone is not installed")

README = pathlib.Path(__file__).parents[2] / "README.md"
MIB = 1 << 20
CHUNK = MIB  # --vfs-read-chunk-size
TENSOR = 4 * MIB
N_TENSORS = 12


def chunks(size, start_within=CHUNK):
    """What fetching so many bytes costs when whole chunks are fetched, wherever they start."""
    return (size + start_within + CHUNK - 1) // CHUNK * CHUNK


def options():
    """Those of the README's rclone, but for the server and the background."""
    command = re.search(r"^rclone mount :http: far (.*?[^\\])\n", README.read_text(),
                        re.DOTALL | re.MULTILINE)[1]
    words = shlex.split(command.replace("\\\n", " "))
    words.remove("--daemon")
    at = words.index("--http-url")
    return words[:at] + words[at + 2:]


@pytest.fixture(scope="module")
def remote(folder):
    """The server's folder, with one model of 50 MB; and its tensors."""
    place = folder / "served"
    place.mkdir()
    values = np.random.default_rng(1).standard_normal((1024, 1024), dtype=np.float32)
    tensors = {f"blk.{i}.w": values + np.float32(i) for i in range(N_TENSORS)}
    writer = gguf.GGUFWriter(str(place / "model.gguf"), "llama")
    writer.add_token_list([f"token {i}" for i in range(20000)])
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return place, tensors


@pytest.fixture
def server(remote):
    server = RangeServer(remote[0])
    yield server
    server.close()


@pytest.fixture
def far(server, own):
    """rclone's mount of the server."""
    point = own / "far"
    point.mkdir()
    command = ["rclone", "mount", ":http:", point, "--http-url", server.url, *options(), "--config",
               "/dev/null", "--cache-dir", own / "cache", "--low-level-retries", "1", "--retries", "1",
               "--contimeout", "2s", "--timeout", "5s"]
    rclone = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    wait_for_mount(point, True, rclone.pid)
    yield point
    rclone.terminate()
    try:
        rclone.wait(20)
    finally:
        rclone.kill()
        run(*(["umount", "-l"] if IS_ROOT else ["fusermount3", "-u", "-z"]), point)


@pytest.fixture
def mounted_far(far, own):
    (own / "m").mkdir()
    made = []

    def mount(*arguments):
        made.append(Mount(far / "model.gguf", own / "m", *arguments))
        return made[-1]

    yield mount
    for one in made:
        one.close()


# With a long read-ahead requests overtake each other, and rclone fetches some chunks twice.
@pytest.mark.parametrize("arguments,most", [
    ([], chunks(TENSOR) + CHUNK), (["-o", "readahead=0"], chunks(TENSOR) + CHUNK),
    (["-o", "readahead=128K"], chunks(TENSOR) + CHUNK), (["-o", "readahead=4M"], 3 * TENSOR)],
    ids=["default", "0", "128K", "4M"])
def test_what_is_fetched(server, mounted_far, remote, far, arguments, most):
    tensors = remote[1]
    assert (far / "model.gguf").stat().st_size > N_TENSORS * TENSOR
    server.reset()
    mount = mounted_far(*arguments)
    header = 2 * MIB  # is less than 0.5 MiB; the kernel reads ahead
    assert 0 < server.sent <= header
    server.reset()
    assert "Architecture" in (mount / "summary.txt").read_text()
    assert len((mount / "metadata/tokenizer.ggml.tokens").read_text().splitlines()) == 20000
    assert (mount / "tensors.json").read_bytes() and (mount / "metadata.json").read_bytes()
    assert server.sent == 0  # the header was fetched to mount
    got = np.fromfile(mount / "tensors/f32/blk.7.w", "<f4").reshape(1024, 1024)
    assert np.array_equal(got, tensors["blk.7.w"])
    print(f"readahead {arguments}: {server.sent} bytes for {TENSOR}")
    assert TENSOR <= server.sent <= most
    server.reset()
    assert (mount / "tensors/raw/blk.7.w").read_bytes() == tensors["blk.7.w"].tobytes()
    assert server.sent <= CHUNK  # it is in the caches


def test_a_few_numbers_of_a_tensor(server, mounted_far, remote):
    mount = mounted_far("-o", "readahead=0")
    server.reset()
    with open(mount / "tensors/f32/blk.3.w", "rb", buffering=0) as file:
        number = np.frombuffer(os.pread(file.fileno(), 4, 4 * (1000 * 1024 + 7)), "<f4")
    assert number == remote[1]["blk.3.w"][1000, 7]
    assert server.sent <= 2 * CHUNK


def test_the_server_goes_away(server, mounted_far, remote):
    """What is here already is served on, what is not is an I/O error, and unmounting works."""
    mount = mounted_far()
    assert (mount / "tensors/f32/blk.1.w").read_bytes() == remote[1]["blk.1.w"].tobytes()
    server.close()
    with pytest.raises(OSError) as failure:
        (mount / "tensors/f32/blk.9.w").read_bytes()
    assert failure.value.errno == errno.EIO
    assert (mount / "tensors/f32/blk.1.w").read_bytes() == remote[1]["blk.1.w"].tobytes()
    assert "Architecture" in (mount / "summary.txt").read_text()
    mount.unmount()

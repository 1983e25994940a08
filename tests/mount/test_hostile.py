"""The source fails under the mount: I/O errors, a file system that dies, one that hangs. What cannot
be read is EIO, exactly that and never zeros; everything else goes on."""

import concurrent.futures
import contextlib
import errno
import os
import random
import signal
import time

import pytest

import gguf_file
import mounting
from faulty import Faulty, Reader
from mounting import IS_ROOT, is_mounted, mount_gguf, run, wait_for_mount

PAGE = 4096
NAME = "blk.1.ffn_gate.weight"  # Q4_K: 512 rows of a block of 144 bytes
SIZE = 512 * 144
RAW, F32, F16 = (f"tensors/{view}/{NAME}" for view in ("raw", "f32", "f16"))
NPY = f"tensors/npy/{NAME}.npy"
OTHER = "tensors/f32/blk.3.ffn_down.weight"


@pytest.fixture
def faulty(own, sample):
    """The sample, where it can be made to fail. It outlives what is mounted from it."""
    made = Faulty(sample, own / "faulty")
    yield made
    made.close()


@pytest.fixture
def failing(faulty, mounted):
    """A mount of it."""
    return mounted(faulty.file)


@pytest.fixture(scope="module")
def good(shown):
    """The contents of a file, from a sound mount."""
    return lambda path: (shown / path).read_bytes()


@pytest.fixture(scope="module")
def offset(sample):
    """Where the tensor NAME stands in the file."""
    file = gguf_file.File(sample)
    return next(t.offset for t in file.tensors if t.name == NAME.encode())


def read_errno(path, offset=0, size=1 << 20, flags=0):
    """The bytes there, or the errno of opening or reading."""
    try:
        with open(path, "rb", buffering=0, opener=lambda p, f: os.open(p, f | flags)) as file:
            return os.pread(file.fileno(), size, offset)
    except OSError as error:
        return error.errno


def assert_exact(path, expected, step, is_lost, flags=0):
    """Pieces of `step` bytes: EIO where is_lost(offset) says so, else the bytes."""
    lost = 0
    for at in range(0, len(expected), step):
        got = read_errno(path, at, step, flags)
        if is_lost(at):
            lost += 1
            assert got == errno.EIO, (path, at)
        else:
            assert got == expected[at:at + step], (path, at)
    assert 0 < lost < len(expected) // step


def forget(faulty):
    """The kernel has nothing of the source any more."""
    faulty.tell("fail", 0, 0)


def overlaps(from_a, to_a, from_b, to_b):
    return from_a < to_b and from_b < to_a


@pytest.mark.parametrize("flags", [0, os.O_DIRECT], ids=["buffered", "O_DIRECT"])
def test_io_errors_are_exact(failing, faulty, good, offset, flags):
    """Two pages of the source cannot be read: what depends on them is EIO, the rest is right."""
    bad_from = (offset + SIZE // 2) // PAGE * PAGE
    bad_to = bad_from + 2 * PAGE
    raw, f32, f16, npy = map(good, (RAW, F32, F16, NPY))
    faulty.tell("fail", bad_from, bad_to)

    def raw_lost(at):
        return overlaps(offset + at, offset + at + PAGE, bad_from, bad_to)

    def lost_of(width, header=0):
        def is_lost(at):
            first = max(at - header, 0) // (256 * width)
            last = (at + PAGE - 1 - header) // (256 * width)
            return overlaps(offset + first * 144, offset + (last + 1) * 144, bad_from, bad_to)
        return is_lost

    assert_exact(failing / RAW, raw, PAGE, raw_lost, flags)
    assert_exact(failing / F32, f32, PAGE, lost_of(4), flags)
    assert_exact(failing / F16, f16, PAGE, lost_of(2), flags)
    assert_exact(failing / NPY, npy, PAGE, lost_of(4, len(npy) - len(f32)), flags)
    got = read_errno(failing / F32, 0, 1 << 20, flags)
    assert got == errno.EIO or (f32.startswith(got) and len(got) < len(f32))
    assert (failing / OTHER).read_bytes() == good(OTHER)
    for text in ("summary.txt", "metadata.json"):
        assert (failing / text).read_bytes() == good(text)

    faulty.tell("heal")
    for path, whole in ((RAW, raw), (F32, f32), (F16, f16), (NPY, npy)):
        assert (failing / path).read_bytes() == whole


def test_io_errors_in_the_header(failing, faulty, good):
    """The texts that tell of it are EIO; the tables and the tensors need it no more."""
    names = sorted(os.listdir(failing / "metadata"))
    faulty.tell("fail", 0, PAGE)
    assert read_errno(failing / "metadata/general.description") == errno.EIO
    assert read_errno(failing / "metadata.json") == errno.EIO
    assert (failing / OTHER).read_bytes() == good(OTHER)
    assert (failing / OTHER).stat().st_size == len(good(OTHER))
    faulty.tell("heal")
    assert sorted(os.listdir(failing / "metadata")) == names
    assert (failing / "metadata.json").read_bytes() == good("metadata.json")


@pytest.fixture
def disk(own, sample):
    """(the sample on ext4 on a disk, that which the disk is made of)"""
    if not IS_ROOT:
        pytest.skip("loop devices are root's to set up")
    image, content, point = own / "image", own / "content", own / "disk"
    content.mkdir()
    point.mkdir()
    (content / "model.gguf").write_bytes(sample.read_bytes())
    made = run("mkfs.ext4", "-q", "-d", content, image, "16M")
    assert made.returncode == 0, made.stderr
    with contextlib.ExitStack() as after:
        below = Faulty(image, own / "below")
        after.callback(below.close)
        found = run("losetup", "--find", "--show", "--read-only", below.file)
        if found.returncode != 0:
            pytest.skip(f"no loop device can be set up: {found.stderr.strip()}")
        after.callback(run, "losetup", "--detach", found.stdout.strip())
        done = run("mount", "-o", "ro,noload", found.stdout.strip(), point)
        assert done.returncode == 0, done.stderr
        after.callback(run, "umount", "-l", point)
        yield point / "model.gguf", below, image


def test_a_disk_that_fails(disk, mounted, good):
    """The real path of an error: a block device below ext4. Its blocks are what is lost."""
    source, below, image = disk
    place = image.read_bytes().index(good(RAW))
    below.tell("fail", place, place + 1)
    mount = mounted(source)
    for path in (RAW, F32):
        assert read_errno(mount / path) == errno.EIO
    assert (mount / "metadata.json").read_bytes() == good("metadata.json")
    assert (mount / OTHER).read_bytes() == good(OTHER)
    below.tell("heal")
    for path in (RAW, F32):
        assert (mount / path).read_bytes() == good(path)


@pytest.mark.parametrize("bad", [(0, 1), (PAGE, 2 * PAGE)], ids=["magic", "metadata"])
def test_io_errors_while_mounting(faulty, own, bad):
    (own / "point").mkdir()
    faulty.tell("fail", *bad)
    done = mount_gguf(faulty.file, own / "point")
    assert done.returncode == 32, done.stderr
    assert len(done.stderr.splitlines()) == 1 and str(faulty.file) in done.stderr
    assert not is_mounted(own / "point")
    faulty.tell("heal")
    assert mount_gguf("--print", "README.txt", faulty.file).returncode == 0


def test_the_file_system_of_the_source_dies(failing, faulty):
    kept = (failing / "README.txt").read_bytes()
    size = (failing / OTHER).stat().st_size
    forget(faulty)
    faulty.die()
    for path in (RAW, F32, "metadata/general.description", "metadata.json"):
        assert read_errno(failing / path) == errno.EIO, path
    assert (failing / OTHER).stat().st_size == size  # names that were asked for are known
    assert (failing / "README.txt").read_bytes() == kept
    failing.unmount()


@pytest.fixture
def hanging(failing, faulty, offset):
    """A mount of which one tensor hangs."""
    assert (failing / OTHER).stat().st_size
    faulty.tell("hang", offset + SIZE // 2, offset + SIZE // 2 + 1)
    return failing


def test_a_source_that_hangs(hanging, faulty, good):
    """Its own readers wait, and get the right bytes in the end; all others go on."""
    readers = [Reader(hanging / path) for path in (RAW, F32, F16, NPY)]
    assert all([reader.is_waiting() for reader in readers])
    assert (hanging / OTHER).read_bytes() == good(OTHER)
    assert (hanging / "metadata.json").read_bytes() == good("metadata.json")
    run("ls", "-lR", hanging.point, timeout=20)
    faulty.tell("heal")
    for reader, path in zip(readers, (RAW, F32, F16, NPY)):
        assert reader.finish() == good(path), path


def test_many_readers_of_a_source_that_hangs(hanging, faulty, good):
    readers = [Reader(hanging / path) for path in (RAW, F32, F16, NPY) for _ in range(10)]
    assert all([reader.is_waiting() for reader in readers[::10]])
    assert (hanging / OTHER).read_bytes() == good(OTHER)
    faulty.tell("heal")
    for reader in readers:
        assert reader.finish()


@pytest.mark.parametrize("n_readers", [1, 10])
@pytest.mark.parametrize("n_failures", [1, 2, 3, 4, 5])
def test_a_source_that_fails_and_then_hangs(failing, faulty, good, offset, n_failures, n_readers):
    """As a disk that dies. The kernel may then hold the memory map of the worker while it waits:
    nothing may have to change it."""
    faulty.tell("wear", offset + SIZE // 2, offset + SIZE // 2 + 1, n_failures)
    readers = [Reader(failing / path) for path in (RAW, F32, F16, NPY) for _ in range(n_readers)]
    assert any(reader.is_waiting() for reader in readers)
    others = [Reader(failing / OTHER), Reader(failing / "metadata.json")]
    assert [other.finish() for other in others] == [good(OTHER), good("metadata.json")]
    assert run("cat", f"/proc/{failing.worker}/cmdline", timeout=20).returncode == 0  # as ps does
    assert mounting.status(failing.worker, "THP_enabled") == "0"  # else the kernel changes it
    faulty.tell("heal")
    for reader in readers:
        reader.finish()
    assert (failing / F32).read_bytes() == good(F32)


@pytest.mark.parametrize("path", [F32, RAW])
@pytest.mark.parametrize("how", ["lazily", "SIGTERM"])
def test_unmounting_while_the_source_hangs(hanging, faulty, good, how, path):
    reader = Reader(hanging / path)
    assert reader.is_waiting()
    if how == "SIGTERM":
        os.kill(hanging.supervisor, signal.SIGTERM)
    else:
        command = ["umount", "-l"] if IS_ROOT else ["fusermount3", "-u", "-z"]
        assert run(*command, hanging.point).returncode == 0
    wait_for_mount(hanging.point, False)
    assert reader.is_waiting()
    faulty.tell("heal")
    assert reader.finish() == good(path)
    hanging.wait_until_gone()


@pytest.mark.parametrize("path", [F32, RAW])
@pytest.mark.parametrize("how", ["umount", "lazily", "SIGTERM"])
def test_unmounting_when_a_reader_that_hung_was_killed(hanging, faulty, how, path):
    """The request is still with us, but does not keep the kernel."""
    reader = Reader(hanging / path)
    assert reader.is_waiting()
    reader.process.kill()
    reader.process.communicate(timeout=20)
    if how == "SIGTERM":
        os.kill(hanging.supervisor, signal.SIGTERM)
    else:
        command = ["umount"] if IS_ROOT else ["fusermount3", "-u"]
        lazy = [] if how == "umount" else ["-l"] if IS_ROOT else ["-z"]
        assert run(*command, *lazy, hanging.point, timeout=20).returncode == 0
    wait_for_mount(hanging.point, False)
    faulty.tell("heal")
    hanging.wait_until_gone()


def test_a_reader_of_a_source_that_hangs_can_be_killed(hanging, faulty, good):
    reader = Reader(hanging / F32)
    assert reader.is_waiting()
    reader.process.kill()
    reader.process.communicate(timeout=10)
    assert (hanging / OTHER).read_bytes() == good(OTHER)
    faulty.tell("heal")
    assert (hanging / F32).read_bytes() == good(F32)


def test_the_worker_of_a_source_that_hangs_can_be_killed(hanging, faulty):
    reader = Reader(hanging / F32)
    assert reader.is_waiting()
    os.kill(hanging.worker, signal.SIGKILL)
    assert reader.finish() is None
    hanging.wait_until_gone()


def test_cut_and_made_whole_again_while_it_is_read(mounted, own, sample, good, offset):
    """A page that was cut holds zeros for a moment: nobody sees them, be the file whole by the
    time the reply is checked."""
    copy = own / "copy.gguf"
    whole = sample.read_bytes()
    copy.write_bytes(whole)
    mount = mounted(copy)
    dice, end = random.Random(1), time.monotonic() + 3

    def read_on(path):
        expected, n_good = good(path), 0
        while time.monotonic() < end:
            got = read_errno(mount / path, 0, len(expected), os.O_DIRECT)
            assert got == errno.EIO or expected.startswith(got), path
            n_good += got == expected
        return n_good

    with concurrent.futures.ThreadPoolExecutor() as pool, open(copy, "r+b", buffering=0) as file:
        readers = [pool.submit(read_on, path) for path in (RAW, F32, F16)]
        while time.monotonic() < end:
            cut = offset + dice.randrange(SIZE)
            file.truncate(cut)
            file.seek(cut)
            file.write(whole[cut:])
            time.sleep(dice.random() / 200)
        assert all(reader.result() for reader in readers)

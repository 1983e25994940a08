"""Deaths and shortages: signals, a worker that stands still, no descriptors, processes, address
space or memory. Either all goes on, or one sentence says what is missing; nothing is left over."""

import contextlib
import errno
import os
import resource
import signal

import pytest

import faulty
import installed
import split_set
from limits import ControlGroup
from mounting import (COMMAND, IS_ROOT, SAMPLE_MAKER, Mount, clear, is_mounted, mount_gguf, processes_of,
                      run, supervisor_of, wait_for_end, wait_for_mount)
from users import Namespace

F32, TEXT, NAME = "tensors/f32/token_embd.weight", "README.txt", "metadata/general.name"
HUNG = "tensors/f32/blk.1.ffn_gate.weight"
KIB, MIB = 1 << 10, 1 << 20
SYSTEM = 2  # mount(8)'s exit code for what the machine lacks
USER = 1  # any number will do


@pytest.fixture
def point(own):
    point = own / "point"
    point.mkdir()
    yield point
    clear(point)


@pytest.fixture(scope="module")
def contents(shown):
    """Some files of the sample, of all kinds."""
    return {path: (shown / path).read_bytes()
            for path in (TEXT, NAME, F32, "tensors.tsv", "tensors/f16/blk.0.attn_v.weight",
                         "export/model.f16.safetensors")}


def serves(point, contents):
    return all((point / path).read_bytes() == content for path, content in contents.items())


def is_refused(done, point, *words):
    """One sentence, nothing mounted, no process left; False when it is mounted instead."""
    if done.returncode == 0:
        assert is_mounted(point), done.stderr
        return False
    assert not is_mounted(point)
    for pid in processes_of(str(point)):
        wait_for_end(pid)
    said = done.stderr.splitlines()
    assert len(said) == 1 and not done.stdout, done.stderr
    # before there is a program of ours the dynamic loader speaks
    assert (said[0].startswith("mount.gguf: ") and any(word in said[0] for word in words)
            or "error while loading shared libraries" in said[0]), said
    return True


def unmount(point):
    pids = processes_of(str(point))
    done = run(*(["umount"] if IS_ROOT else ["fusermount3", "-u"]), point)
    assert done.returncode == 0, done.stderr
    for pid in pids:
        wait_for_end(pid)


def worker_of(point):
    pids = processes_of(str(point))
    supervisor = supervisor_of(pids)
    return next(pid for pid in pids if pid != supervisor)


def group(controller, limit):
    try:
        return ControlGroup(controller, limit)
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")


# ── The worker dies ──


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGSYS,
                                    signal.SIGABRT])
@pytest.mark.parametrize("foreground", [True, False], ids=["foreground", "background"])
def test_the_worker_dies(mounted, sample, own, contents, number, foreground):
    """Unmounted, and the log names the signal; then the place is as good as new."""
    log = own / "log"
    with open(log, "w") as stderr:
        mount = mounted(sample, foreground=foreground, stderr=stderr)
    assert serves(mount.point, contents)
    with open(mount / F32, "rb", buffering=0) as file, contextlib.suppress(OSError):
        os.kill(mount.worker, number)
        while file.read(MIB):
            file.seek(0)
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    mount.wait_until_gone()
    assert not os.listdir(mount.point)
    if foreground:
        line, = log.read_text().splitlines()
        assert f"the worker was killed by signal {number} (" in line, line
        assert str(sample) in line and line.endswith("; it is unmounted")
        assert mount.foreground.returncode == SYSTEM
    assert mount_gguf(sample, mount.point).returncode == 0
    assert serves(mount.point, contents)


# ── The worker stands still ──


@pytest.fixture
def stopped(mounted, sample):
    mount = mounted(sample, "-o", "idle_timeout=1")
    os.kill(mount.worker, signal.SIGSTOP)
    yield mount
    with contextlib.suppress(ProcessLookupError):
        os.kill(mount.worker, signal.SIGCONT)


def test_a_worker_that_stands_still_is_unmounted_on_a_signal(stopped):
    """At once; a second signal ends it."""
    os.kill(stopped.supervisor, signal.SIGTERM)
    wait_for_mount(stopped.point, False)
    os.kill(stopped.supervisor, signal.SIGTERM)
    stopped.wait_until_gone()


def test_a_worker_that_stands_still_is_unmounted_by_hand(stopped):
    """umount(8) asks the file system before it unmounts, unless lazily."""
    command = ["umount", "-l"] if IS_ROOT else ["fusermount3", "-u"]
    assert run(*command, stopped.point, timeout=20).returncode == 0
    os.kill(stopped.worker, signal.SIGCONT)
    stopped.wait_until_gone()


def test_a_worker_that_stands_still_is_unmounted_when_idle(stopped):
    wait_for_mount(stopped.point, False)
    os.kill(stopped.worker, signal.SIGCONT)
    stopped.wait_until_gone()


def test_mounting_where_a_mount_hangs(mounted, sample):
    """Looking at it would take for ever."""
    mount = mounted(sample)
    os.kill(mount.worker, signal.SIGSTOP)
    try:
        done = mount_gguf(sample, mount.point, timeout=20)
    finally:
        os.kill(mount.worker, signal.SIGCONT)
    assert done.returncode == 32 and "something is mounted there already" in done.stderr
    assert len(done.stderr.splitlines()) == 1


# ── Too few descriptors ──


@pytest.mark.parametrize("end", ["unmount", "death"])
def test_few_descriptors(sample, point, contents, end):
    """From none on: refused, until there are enough; and these are enough for the end too."""
    mounted = []
    for limit in range(31):
        done = run("prlimit", f"--nofile={limit}:{limit}", *COMMAND, sample, point)
        if is_refused(done, point, "Too many open files", "too many files are open"):
            assert not mounted, limit
            continue
        mounted.append(limit)
        assert serves(point, contents)
        if end == "unmount":
            unmount(point)
        else:
            pids = processes_of(str(point))
            os.kill(worker_of(point), signal.SIGKILL)
            for pid in pids:
                wait_for_end(pid)
            assert not is_mounted(point), limit
    assert 10 <= mounted[0] <= 16


def test_few_descriptors_for_a_set(sample, point, own):
    """One a file; which one is too many is said."""
    n_shards = 8
    paths = split_set.write(split_set.shards_of(sample, n_shards), own / "set")
    expected = None
    for limit in range(31):
        done = run("prlimit", f"--nofile={limit}:{limit}", *COMMAND, paths[0], point)
        if is_refused(done, point, "Too many open files", "too many files are open"):
            assert expected is None, limit
            continue
        if expected is None:
            assert limit > n_shards
            expected = run(*COMMAND, "--print", "export/model.gguf", paths[0], text=False).stdout
        assert (point / "export/model.gguf").read_bytes() == expected
        unmount(point)
    assert expected


# ── Too few processes ──

NO_PROCESS = "Resource temporarily unavailable", "no thread can be started"


def n_tasks(user):
    """Threads of a user, which are what RLIMIT_NPROC counts."""
    n = 0
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if entry.isdigit() and os.stat(f"/proc/{entry}").st_uid == user:
                n += len(os.listdir(f"/proc/{entry}/task"))
    return n


def limited_processes(limit):
    """(the beginning of a command, what is to be closed after it)"""
    if IS_ROOT:
        made = group("pids", limit)
        return made.prefix(), made
    limit += n_tasks(os.getuid())
    return ["prlimit", f"--nproc={limit}:{limit}"], contextlib.nullcontext()


def test_few_processes(sample, point, contents):
    """As root by a control group, which counts from nothing; else by RLIMIT_NPROC."""
    mounted = []
    for limit in range(1, 9):
        with contextlib.ExitStack() as after:
            before, made = limited_processes(limit)
            if IS_ROOT:
                after.callback(made.close)
            done = run(*before, *COMMAND, sample, point)
            if is_refused(done, point, *NO_PROCESS):
                assert not mounted or not IS_ROOT, limit
                continue
            mounted.append(limit)
            assert serves(point, contents)
            unmount(point)
    assert mounted and mounted[0] > 1


def forbid_threads(worker, after):
    """The worker of root's mount is another's, so that its limits are not root's to set everywhere."""
    if IS_ROOT:
        made = group("pids", 1)
        after.callback(made.close)
        made.enter(worker)
    else:
        resource.prlimit(worker, resource.RLIMIT_NPROC, (0, 0))


@pytest.mark.limit(30)
def test_no_further_threads(own, sample, shown, contents):
    """A reader hangs, and the worker cannot have another thread: all others are served."""
    with contextlib.ExitStack() as after:
        source = faulty.Faulty(sample, own / "faulty")
        after.callback(source.close)
        (own / "point").mkdir()
        mount = Mount(source.file, own / "point")
        after.callback(mount.close)
        forbid_threads(mount.worker, after)
        at = int(os.getxattr(mount / HUNG, "user.gguf.offset"))
        source.tell("hang", at, at + 1)
        reader = faulty.Reader(mount / HUNG)
        assert reader.is_waiting()
        others = {path: contents[path] for path in (TEXT, NAME, F32)}
        assert serves(mount.point, others)
        source.tell("heal")
        assert reader.finish() == (shown / HUNG).read_bytes()
        assert serves(mount.point, others)


# ── Too little address space ──


@pytest.mark.limit(180)
def test_little_address_space(sample, point, contents):
    mounted = 0
    for limit in [*range(8 * MIB, 216 * MIB, 8 * MIB), *range(216 * MIB, 230 * MIB, 300 * KIB),
                  *range(230 * MIB, 340 * MIB, 20 * MIB)]:
        done = run("prlimit", f"--as={limit}:{limit}", *COMMAND, sample, point)
        if is_refused(done, point, "memory", "no thread can be started"):
            assert not mounted, limit
            continue
        mounted += 1
        assert serves(point, contents), limit
        unmount(point)
    assert mounted


def test_little_address_space_for_a_large_file(large, point):
    refusals = set()
    for limit in range(100 * MIB, 355 * MIB, 15 * MIB):
        done = run("prlimit", f"--as={limit}:{limit}", *COMMAND, large, point)
        assert is_refused(done, point, "memory", "no thread can be started")
        refusals.add(done.stderr)
    assert len(refusals) > 3  # it came to different places


# ── Too little memory ──


@pytest.fixture(scope="module")
def large(folder):
    """A million tensors, of which each takes some memory."""
    path = folder / "large.gguf"
    done = run(SAMPLE_MAKER, "--tensors=1000000", path)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture
def memory():
    """memory(bytes): a control group with so much."""
    with contextlib.ExitStack() as after:
        def make(limit):
            made = group("memory", limit)
            made.forbid_swap()
            after.callback(made.close)
            return made
        yield make


def test_memory_runs_out_while_mounting(large, sample, point, memory, contents):
    done = run(*memory(24 * MIB).prefix(), *COMMAND, large, point)
    assert is_refused(done, point, "the worker was killed by signal 9 (Killed), as happens when "
                                   "memory runs out")
    assert done.returncode == SYSTEM
    assert mount_gguf(sample, point).returncode == 0
    assert serves(point, contents)
    unmount(point)


def test_memory_runs_out_while_serving(mounted, large, own, memory):
    made, log = memory(400 * MIB), own / "log"
    with open(log, "w") as stderr:
        mount = mounted(large, foreground=True, stderr=stderr, before=made.prefix())
    with open(mount / TEXT, "rb", buffering=0) as file:
        made.run_out()
        with pytest.raises(OSError) as failure:
            file.read()
    assert failure.value.errno in (errno.ENOTCONN, errno.ECONNABORTED)
    mount.wait_until_gone()
    line, = log.read_text().splitlines()
    assert "the worker was killed by signal 9" in line and line.endswith("; it is unmounted")
    assert mount.foreground.returncode == SYSTEM
    made.limit(400 * MIB)
    assert Mount(large, mount.point, before=made.prefix()).worker
    assert (mount / TEXT).read_bytes()
    unmount(mount.point)


def test_little_memory_that_suffices(mounted, sample, memory, shown):
    """Less than the files are large: all bytes are right."""
    mount = mounted(sample, "-o", "cache=never", before=memory(12 * MIB).prefix())
    for path in mount.files():
        with open(mount / path, "rb") as got, open(shown / path, "rb") as expected:
            while part := expected.read(MIB):
                assert got.read(MIB) == part, path
            assert got.read(1) == b""


@pytest.mark.skipif(not IS_ROOT, reason="becoming another user needs root")
def test_memory_runs_out_for_an_ordinary_user(large, own, point, memory):
    """It is fusermount3 that has to unmount then, under the same limit."""
    if not installed.can_be_made(own):
        pytest.skip("mount namespaces or device files cannot be made here")
    os.chown(point, USER, USER)
    there, made = Namespace(own), memory(400 * MIB)
    try:
        done = there.run(USER, there.program, large, point, before=made.prefix())
        assert done.returncode == 0, done.stderr
        pids = processes_of(str(point))
        made.run_out()
        for pid in pids:
            wait_for_end(pid)
        assert not there.is_mounted(point)
    finally:
        there.close()

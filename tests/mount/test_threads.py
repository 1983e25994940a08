"""How many threads serve: more when there is work for them, and nothing happens when there is none.
"""

import concurrent.futures
import os
import pathlib
import time

SPARES = 4  # threads that stand aside
MONITOR = 1


def n_threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def work(pid):
    """What each thread of a process has had of a processor, in ms."""
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return sorted(int((task / "schedstat").read_text().split()[0]) / 1e6 for task in tasks)


def switches(pid):
    """How often the threads of a process went to sleep or were put to it."""
    n = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for line in (task / "status").read_text().splitlines():
            if "ctxt_switches" in line:
                n += int(line.split()[1])
    return n


def wait_until(what, seconds=20):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_at_rest(mounted, sample):
    """After work there are few threads, and none of them wakes up."""
    mount = mounted(sample, "-o", "cache=never")
    files = mount.files()
    expected = {path: (mount / path).read_bytes() for path in files[:60]}
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        for path, content in zip(list(expected) * 4, pool.map(
                lambda path: (mount / path).read_bytes(), list(expected) * 4)):
            assert content == expected[path]

    def rests():
        before = switches(mount.worker)
        time.sleep(0.2)
        return switches(mount.worker) == before

    wait_until(rests)
    assert n_threads(mount.worker) <= MONITOR + SPARES + 16
    assert (mount / "tensors.tsv").read_bytes()


def test_reads_at_once_find_threads(mounted, sample):
    """Many readers: the work is done, by several threads if there are processors for them."""
    mount = mounted(sample, "-o", "cache=never")
    whole = (mount / "export/model.f32.safetensors").read_bytes()

    def read(_):
        return (mount / "export/model.f32.safetensors").read_bytes() == whole

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert all(pool.map(read, range(128)))
    times = work(mount.worker)
    if (os.cpu_count() or 1) > 1:
        assert times[-2] > times[-1] / 20, times

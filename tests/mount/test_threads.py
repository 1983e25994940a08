"""How many threads serve: more when there is work for them, and nothing happens when there is none.
"""

import concurrent.futures
import os
import pathlib
import time

KEPT = 8  # threads that stand aside, at most
MONITOR, SPARE = 1, 1


def n_threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


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
    assert n_threads(mount.worker) <= MONITOR + 1 + KEPT + (os.cpu_count() or 1)
    assert (mount / "tensors.tsv").read_bytes()


def test_one_reader_is_served_by_one_thread(mounted, sample):
    mount = mounted(sample, "-o", "cache=never")
    (mount / "tensors/f32/token_embd.weight").read_bytes()
    assert n_threads(mount.worker) <= MONITOR + 1 + SPARE + 1  # one may have been held up


def test_reads_at_once_find_threads(mounted, sample):
    """Many readers: the work is done, by several threads if there are processors for them."""
    mount = mounted(sample, "-o", "cache=never")
    whole = (mount / "export/model.f32.safetensors").read_bytes()
    most = 0

    def read(_):
        return (mount / "export/model.f32.safetensors").read_bytes() == whole

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        under_way = [pool.submit(read, i) for i in range(64)]
        while not all(future.done() for future in under_way):
            most = max(most, n_threads(mount.worker))
            time.sleep(0.002)
    assert all(future.result() for future in under_way)
    if (os.cpu_count() or 1) > 1:
        assert most > MONITOR + 1 + SPARE

"""What a mount costs: time until it is there, and memory. Reported, with bounds far off."""

import os
import pathlib
import statistics
import time

import pytest

from mounting import IS_ROOT, mount_gguf, run


def anonymous_kib(pid):
    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return int(dict(line.split(":") for line in lines)["Anonymous"].split()[0])


def seconds_to_mount(model, point):
    start = time.perf_counter()
    done = mount_gguf(model, point)
    seconds = time.perf_counter() - start
    assert done.returncode == 0, done.stderr
    assert run(*(["umount"] if IS_ROOT else ["fusermount3", "-u"]), point).returncode == 0
    return seconds


@pytest.mark.parametrize("name", ["tokens", "gemma"])
def test_time_and_memory(request, mounted, own, report, name):
    model = request.getfixturevalue(name)
    point = own / "point"
    point.mkdir()
    times = [seconds_to_mount(model, point) * 1000 for _ in range(11)]
    report(f"{model.name}: start to mounted {statistics.median(times):.1f} ms (median of 11, "
           f"{min(times):.1f} to {max(times):.1f})")
    assert statistics.median(times) < 1000

    mount = mounted(model)
    if not os.access(f"/proc/{mount.worker}/smaps_rollup", os.R_OK):
        pytest.skip("memory of the worker is root's to see")

    def memory():
        return anonymous_kib(mount.worker), anonymous_kib(mount.supervisor)

    report(f"{model.name}: anonymous memory after mounting: worker {memory()[0]} KiB, "
           f"supervisor {memory()[1]} KiB")
    for path in mount.files():
        with open(mount / path, "rb") as file:
            while file.read(1 << 20):
                pass
    report(f"{model.name}: anonymous memory after reading everything: worker {memory()[0]} KiB, "
           f"supervisor {memory()[1]} KiB")
    assert sum(memory()) < 16 * 1024

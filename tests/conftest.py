"""Fixtures: mounts that are always cleaned up, and a watchdog that ends a test that hangs."""

import pathlib
import tempfile
import threading

import pytest

import mounting

LIMIT = 90  # seconds a test may take; @pytest.mark.limit(SECONDS) for another number


@pytest.fixture(scope="session")
def folder():
    """A folder for everything; at the end nothing below it is mounted and nothing runs."""
    with tempfile.TemporaryDirectory(prefix="mnt-gguf-") as name:
        pathlib.Path(name).chmod(0o755)
        yield pathlib.Path(name)
        mounting.clear_below(name)


@pytest.fixture(scope="session")
def sample(folder):
    path = folder / "sample.gguf"
    done = mounting.run(mounting.SAMPLE_MAKER, path)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture
def own(folder):
    """A folder for one test."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        pathlib.Path(name).chmod(0o755)
        yield pathlib.Path(name)


def _maker(folder):
    made = []

    def mount(source, *options, **more):
        point = pathlib.Path(tempfile.mkdtemp(prefix="point-", dir=folder))
        made.append(mounting.Mount(source, point, *options, **more))
        return made[-1]

    yield mount
    failure = None
    for one in reversed(made):
        try:
            one.close()
        except AssertionError as error:
            failure = failure or error
    if failure:
        raise failure


@pytest.fixture
def mounted(own):
    """mounted(source, *options, foreground=False): a new mount, ended after the test."""
    yield from _maker(own)


@pytest.fixture(scope="session")
def lasting(folder):
    """As mounted, for mounts that several tests look at."""
    yield from _maker(folder)


@pytest.fixture(scope="session")
def shown(lasting, sample):
    """The sample, mounted for all tests that only read."""
    return lasting(sample)


@pytest.fixture(autouse=True)
def watchdog(request, folder):
    """Past the limit, every mount is killed: whoever waits for one wakes up with an error."""
    mark = request.node.get_closest_marker("limit")
    limit = (mark.args[0] if mark else LIMIT) * mounting.PATIENCE
    late = threading.Event()

    def bark():
        late.set()
        mounting.clear_below(folder)

    timer = threading.Timer(limit, bark)
    timer.start()
    yield
    timer.cancel()
    assert not late.is_set(), f"longer than {limit} s: its mounts were killed"

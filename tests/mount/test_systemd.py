"""The example of a unit, where there is a systemd to read or run it."""

import os
import shutil
import subprocess
import time

import pytest

from mounting import BUILD, IS_ROOT, PROGRAM, is_mounted, run

UNIT = BUILD / "src/mount/mount-gguf@.service"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_the_unit_is_well_formed(own):
    program = "/usr/local/bin/mount.gguf"
    text = UNIT.read_text()
    assert f"ExecStart={program} " in text
    path = own / "mount-gguf@test.service"
    path.write_text(text.replace(program, str(PROGRAM)).replace("man:mount.gguf(8)", "man:mount(8)"))
    done = run("systemd-analyze", "verify", "--man=no", path)
    said = [line for line in done.stderr.splitlines() if "mount-gguf" in line]
    assert not said, done.stderr


def systemd_runs():
    return IS_ROOT and os.path.isdir("/run/systemd/system") and \
        run("systemctl", "is-system-running").stdout.strip() in ("running", "degraded", "starting")


@pytest.mark.skipif(not systemd_runs(), reason="no systemd runs here")
class TestUnderSystemd:
    @pytest.fixture
    def unit(self, own, sample):
        """The example, with its places below a folder of the test's."""
        name = f"mount-gguf-test-{os.getpid()}@sample.service"
        template = f"/run/systemd/system/mount-gguf-test-{os.getpid()}@.service"
        text = UNIT.read_text().replace("/usr/local/bin/mount.gguf", str(PROGRAM))
        with open(template, "w") as file:
            file.write(text.replace("/srv/models", str(sample.parent)))
        run("systemctl", "daemon-reload")
        yield name
        run("systemctl", "stop", name)
        os.unlink(template)
        run("systemctl", "daemon-reload")

    def test_start_and_stop(self, unit):
        """Started means mounted; stopped means unmounted, and the directory gone."""
        point = "/run/models/sample"
        done = run("systemctl", "start", unit)
        assert done.returncode == 0, run("systemctl", "status", unit).stdout
        assert is_mounted(point)
        with open(f"{point}/metadata/general.name") as text:
            assert text.read() == "Sample Llama\n"
        assert run("systemctl", "is-active", unit).stdout == "active\n"
        assert run("systemctl", "stop", unit).returncode == 0
        assert not is_mounted(point) and not os.path.exists(point)
        assert run("systemctl", "is-failed", unit).stdout == "inactive\n"

    def test_an_unmount_ends_it(self, unit):
        assert run("systemctl", "start", unit).returncode == 0
        subprocess.run(["umount", "/run/models/sample"], check=True)
        end = time.monotonic() + 20
        while run("systemctl", "is-active", unit).stdout != "inactive\n":
            assert time.monotonic() < end
            time.sleep(0.1)

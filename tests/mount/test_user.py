"""An ordinary user mounts, through fusermount3."""

import os
import pathlib
import shutil

import pytest

from mounting import IS_ROOT, PROGRAM, run

USER = 1  # daemon: any user with a name will do

SCRIPT = r"""
set -eu
mknod "$1/fuse" c 10 229
chmod 666 "$1/fuse"
mount --bind "$1/fuse" /dev/fuse
exec setpriv --reuid "$2" --regid "$2" --clear-groups sh -euc '
  program=$1 sample=$2 point=$3
  "$program" "$sample" "$point"
  cat "$point/metadata/general.name"
  sha256sum < "$point/tensors/f32/blk.0.attn_q.weight"
  grep -c " $point .* - fuse.gguf " /proc/self/mountinfo
  fusermount3 -u "$point"
  ! grep " $point " /proc/self/mountinfo
' sh "$3" "$4" "$5"
"""


@pytest.mark.skipif(not IS_ROOT, reason="the tests run as an ordinary user already")
def test_an_ordinary_user(own, sample, shown):
    for path in (own, own / "bin", own / "point"):
        path.mkdir(exist_ok=True)
        os.chown(path, USER, USER)
    program = own / "bin/mount.gguf"
    shutil.copy(PROGRAM, program)
    probe = run("unshare", "-m", "sh", "-c",
                f"mknod {own}/probe c 10 229 && exec 3<>{own}/probe")
    if probe.returncode != 0:
        pytest.skip("device files cannot be made here")
    done = run("unshare", "-m", "sh", "-c", SCRIPT, "sh", own, USER, program, sample,
               own / "point")
    assert done.returncode == 0, done.stderr
    name, digest, count = done.stdout.splitlines()
    assert name == "Sample Llama" and count == "1"
    expected = run("sha256sum", shown / "tensors/f32/blk.0.attn_q.weight").stdout
    assert digest.split()[0] == expected.split()[0]
    assert not pathlib.Path(own / "point/README.txt").exists()

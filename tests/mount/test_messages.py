"""Sentences that say what to do, beyond those of test_errors.py."""

import os
import shutil

import pytest

import installed
from mounting import IS_ROOT, PROGRAM, clear_below, is_mounted, mount_gguf, run

USER = 1  # daemon: any user with a name will do


@pytest.fixture
def point(own):
    point = own / "point"
    point.mkdir()
    return point


def said(done, status):
    assert done.returncode == status and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr.removeprefix("mount.gguf: ").rstrip("\n")


def test_the_operands_swapped(own, sample, point):
    assert said(mount_gguf(point, sample), 1).endswith(f"did you mean: mount.gguf {sample} {point}")


def test_a_command_can_be_pasted(own, sample):
    """Paths in commands are quoted as a shell needs it."""
    for name in ("a b", "it's", "$HOME", "-x", "*"):
        missing = own / name
        command = said(mount_gguf(sample, missing), 32).split("make it with: ")[1]
        assert run("sh", "-c", command).returncode == 0
        assert missing.is_dir()


@pytest.mark.parametrize("words,missing", [(["", "POINT"], "FILE"), (["SAMPLE", ""], "DIR"), ([""], "FILE")])
def test_empty_words(sample, point, words, missing):
    words = [{"POINT": point, "SAMPLE": sample}.get(word, word) for word in words]
    assert said(mount_gguf(*words), 1).startswith(f"{missing} is an empty word")


def test_what_print_may_name(sample):
    sentence = said(mount_gguf("--print", "sumary.txt", sample), 1)
    assert str(sample) in sentence and "--print / lists it" in sentence


@pytest.mark.parametrize("limit", range(4, 16))
def test_few_descriptors(sample, point, limit):
    """Either it works, or a sentence says how to get more."""
    done = run("sh", "-c", 'ulimit -n "$1"; shift; exec "$@"', "sh", limit, PROGRAM, sample, point)
    if done.returncode == 0:
        assert is_mounted(point)
        run(*(["umount"] if IS_ROOT else ["fusermount3", "-u"]), point)
    elif "shared libraries" not in done.stderr:
        assert "Too many open files" in done.stderr or "too many files" in done.stderr, done.stderr
        assert not is_mounted(point)


@pytest.mark.skipif(not IS_ROOT, reason="becoming another user needs root")
class TestUsers:
    @pytest.fixture
    def program(self, own):
        """A program that everybody may run, and a /dev/fuse that everybody may open."""
        if not installed.can_be_made(own):
            pytest.skip("mount namespaces or device files cannot be made here")
        yield shutil.copy(PROGRAM, own / "mount.gguf")
        clear_below(own)

    SCRIPT = """
        mknod "$1/fuse" c 10 229 && chmod 666 "$1/fuse" && mount --bind "$1/fuse" /dev/fuse
        shift
        exec "$@"
    """

    def as_user(self, own, *command):
        return run("unshare", "-m", "sh", "-c", self.SCRIPT, "sh", own, "setpriv", "--reuid", USER,
                   "--regid", USER, "--clear-groups", *command)

    def test_a_file_that_may_not_be_read(self, own, program, point, sample):
        secret = shutil.copy(sample, own / "secret.gguf")
        os.chmod(secret, 0o600)
        os.chown(point, USER, USER)
        assert "no permission to read it" in said(self.as_user(own, program, secret, point), 1)

    def test_a_directory_that_may_not_be_written(self, own, program, point, sample):
        assert "may write to" in said(self.as_user(own, program, sample, point), 1)

    def test_no_place_to_make_a_mount_point(self, own, program, sample):
        sentence = said(self.as_user(own, "env", "-C", "/", program, sample), 1)
        assert sentence.startswith("sample: ") and "name another as DIR" in sentence

    def test_the_mount_of_another_user(self, own, program, point, sample):
        """Root cannot look into it, and is told that it is there."""
        os.chown(point, USER, USER)
        script = f"""
            setpriv --reuid {USER} --regid {USER} --clear-groups {program} {sample} {point} || exit 9
            {program} {sample} {point}
            status=$?
            umount {point}
            exit $status
        """
        done = run("unshare", "-m", "sh", "-c", self.SCRIPT, "sh", own, "sh", "-c", script)
        assert "something is mounted there already (fuse.gguf)" in said(done, 32)

    def test_root_of_a_container(self, own, program, point, sample):
        done = run("setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin", program,
                   sample, point)
        assert done.returncode == 32 and "--cap-add SYS_ADMIN" in done.stderr, done.stderr


def test_half_a_download(own, sample):
    """It is said in one sentence before each tensor is."""
    half = own / "half.gguf"
    half.write_bytes(sample.read_bytes()[:300000])
    done = mount_gguf("--print", "summary.txt", half)
    first, *others = done.stderr.splitlines()
    assert done.returncode == 0 and len(others) > 5
    assert first == (f"mount.gguf: {half}: 30 of its 38 tensors are not all there; "
                     "is it an unfinished download?")


@pytest.mark.skipif(not IS_ROOT, reason="takes /proc away")
def test_without_proc(sample, point):
    """Nothing is mounted that could not be unmounted again."""
    done = run("unshare", "-m", "sh", "-c", 'umount -l /proc && exec "$@"', "sh", PROGRAM, sample,
               point)
    assert said(done, 2).startswith("/proc is not there")
    assert not is_mounted(point)

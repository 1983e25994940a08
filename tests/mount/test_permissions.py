"""Who may read: the mounting user alone, or those whom the source's permissions let; with real
users, on real mounts."""

import os
import shutil
import stat

import pytest

import installed
from mounting import IS_ROOT, clear_below, processes_of, run, wait_for_end
from users import Namespace, become, denied

pytestmark = pytest.mark.skipif(not IS_ROOT, reason="becoming another user needs root")

ROOT, ALICE, BOB, STAFF = 0, 1, 2, 50  # any numbers will do
TEXT, F32, NAME = "README.txt", "tensors/f32/blk.0.attn_q.weight", "metadata/general.name"


def may(user, *command, groups=()):
    return not denied(run(*become(user, *groups), *command, env={**os.environ, "LC_ALL": "C"}))


def may_read(user, path, groups=()):
    return may(user, "cksum", path, groups=groups)


@pytest.fixture
def source(own, sample):
    """source(mode, owner, group): the sample, with these permissions."""
    def make(mode, owner=ROOT, group=ROOT):
        path = own / "model.gguf"
        shutil.copy(sample, path)
        os.chown(path, owner, group)
        path.chmod(mode)
        return path
    return make


# ── Nobody else ──


def test_others_cannot_look_in(mounted, source):
    mount = mounted(source(0o644))
    for path in (mount.point, mount / "tensors", mount / TEXT, mount / F32):
        for command in (["stat", path], ["ls", path]):
            assert not may(ALICE, *command)
            assert may(ROOT, *command)
    assert not may_read(ALICE, mount / TEXT) and may_read(ROOT, mount / TEXT)


# ── allow_other ──


@pytest.mark.parametrize("mode,owner,group,user,groups,allowed", [
    (0o644, ROOT, ROOT, ALICE, (), True),
    (0o600, ROOT, ROOT, ALICE, (), False),
    (0o600, ROOT, ROOT, ROOT, (), True),
    (0o000, ROOT, ROOT, ROOT, (), True),
    (0o600, ALICE, ROOT, ALICE, (), True),
    (0o600, ALICE, ROOT, BOB, (), False),
    (0o640, ROOT, STAFF, ALICE, (STAFF,), True),
    (0o640, ROOT, STAFF, ALICE, (STAFF + 1,), False),
    (0o640, ROOT, ALICE, ALICE, (), True),
    (0o604, ROOT, STAFF, ALICE, (STAFF,), False),
    (0o604, ROOT, STAFF, ALICE, (), True),
    (0o044, ALICE, ROOT, ALICE, (), False),
    (0o044, ALICE, ROOT, BOB, (), True),
])
def test_allow_other_obeys_the_source(mounted, source, mode, owner, group, user, groups, allowed):
    mount = mounted(source(mode, owner, group), "-o", "allow_other")
    readable = mode & 0o444
    for path in (TEXT, F32, NAME, "export/model.gguf"):
        seen = (mount / path).stat()
        assert (seen.st_uid, seen.st_gid, stat.S_IMODE(seen.st_mode)) == (owner, group, readable)
        assert may_read(user, mount / path, groups) == allowed, path
    for path in (mount.point, mount / "tensors", mount / "tensors/f32"):
        seen = path.stat()
        assert (seen.st_uid, seen.st_gid, stat.S_IMODE(seen.st_mode)) == (
            owner, group, readable | readable >> 2)
        assert may(user, "ls", path, groups=groups) == allowed, path
    # what lies in a directory can be looked at only by who may enter it
    assert may(user, "stat", mount / "tensors", groups=groups) == allowed
    assert may(user, "stat", "-L", mount / "layers/0/f32/attn_q.weight", groups=groups) == allowed


def test_nobody_writes(mounted, source):
    mount = mounted(source(0o666), "-o", "allow_other")
    for user in (ROOT, ALICE):
        for command in (["touch", mount / "new"], ["rm", mount / TEXT], ["chmod", "777", mount / TEXT]):
            done = run(*become(user), *command, env={**os.environ, "LC_ALL": "C"})
            assert done.returncode != 0, command
            assert "Read-only file system" in done.stderr or "Permission denied" in done.stderr
    assert stat.S_IMODE((mount / TEXT).stat().st_mode) == 0o444


# ── uid=, gid=, fmask=, dmask= ──


@pytest.mark.parametrize("options,owner,group,file_mode,dir_mode", [
    ("uid=1", ALICE, STAFF, 0o444, 0o555),
    ("gid=2", ROOT, BOB, 0o444, 0o555),
    ("uid=1,gid=2,fmask=077", ALICE, BOB, 0o400, 0o555),
    ("fmask=004,dmask=005", ROOT, STAFF, 0o440, 0o550),
    ("dmask=011", ROOT, STAFF, 0o444, 0o544),
    ("dmask=044", ROOT, STAFF, 0o444, 0o511),
    ("fmask=777,dmask=777", ROOT, STAFF, 0, 0),
    ("fmask=0,dmask=0", ROOT, STAFF, 0o444, 0o555),
])
def test_other_owners_and_modes(mounted, source, options, owner, group, file_mode, dir_mode):
    mount = mounted(source(0o644, ROOT, STAFF), "-o", f"allow_other,{options}")
    for path, mode in ((mount / TEXT, file_mode), (mount / F32, file_mode),
                       (mount.point, dir_mode), (mount / "tensors/f32", dir_mode)):
        seen = path.stat()
        assert (seen.st_uid, seen.st_gid) == (owner, group)
        assert stat.S_IMODE(seen.st_mode) == mode, path
    link = (mount / "layers/0/f32/attn_q.weight").lstat()
    assert (link.st_uid, link.st_gid, stat.S_IMODE(link.st_mode)) == (owner, group, 0o777)

    for user in (ALICE, BOB):
        shift = 6 if user == owner else 3 if user == group else 0
        can_read, can_list, can_enter = (bool(mode >> shift & bit) for mode, bit in (
            (file_mode, 4), (dir_mode, 4), (dir_mode, 1)))
        assert may_read(user, mount / F32) == (can_enter and can_read)
        assert may(user, "ls", "-f", mount.point) == can_list
        assert may(user, "stat", mount / F32) == can_enter
    assert may_read(ROOT, mount / F32)


def test_masks_take_away_only(mounted, source):
    """A file that only root may read does not open to others by uid=."""
    mount = mounted(source(0o600), "-o", "allow_other,gid=1,fmask=0,dmask=0")
    assert stat.S_IMODE((mount / TEXT).stat().st_mode) == 0o400
    assert not may_read(ALICE, mount / TEXT)


# ── What the kernel keeps ──


@pytest.mark.parametrize("option", ["cache=always", "cache=auto", "cache=never"])
def test_what_one_user_read_another_may_not(mounted, source, option):
    """Names, attributes, pages and listings that are in memory are guarded as well."""
    mount = mounted(source(0o640, ROOT, STAFF), "-o", f"allow_other,{option}")
    for user, groups, allowed in [(BOB, (), False), (ALICE, (STAFF,), True), (BOB, (), False),
                                  (ALICE, (), False), (BOB, (STAFF,), True), (ALICE, (), False)]:
        for path in (TEXT, F32):
            assert may_read(user, mount / path, groups) == allowed
        assert may(user, "ls", mount / "tensors/f32", groups=groups) == allowed
        assert may(user, "getfattr", "-d", mount / F32, groups=groups) == allowed


# ── An ordinary user mounts ──


@pytest.fixture
def namespace(own):
    """namespace(fuse_conf): where ordinary users may mount, on own/point."""
    if not installed.can_be_made(own):
        pytest.skip("mount namespaces or device files cannot be made here")
    made = []

    def make(fuse_conf=""):
        made.append(Namespace(own, fuse_conf))
        return made[-1]

    (own / "point").mkdir()
    os.chown(own / "point", ALICE, ALICE)
    yield make
    pids = processes_of(str(own / "point"))
    for one in made:
        one.close()
    clear_below(own)
    for pid in pids:
        wait_for_end(pid)


def test_a_user_s_mount_is_that_user_s_alone(namespace, own, source):
    there, point = namespace(), own / "point"
    done = there.mount(ALICE, source(0o644), point)
    assert done.returncode == 0, done.stderr
    assert there.run(ALICE, "cat", point / NAME).stdout == "Sample Llama\n"
    strangers = [BOB]
    with open("/sys/module/fuse/parameters/allow_sys_admin_access") as setting:
        if setting.read() == "N\n":
            strangers.append(ROOT)
    for user in strangers:
        for command in (["stat", point], ["ls", point], ["cat", point / NAME]):
            assert denied(there.run(user, *command))


@pytest.mark.parametrize("fuse_conf", ["", "#user_allow_other\n"])
def test_allow_other_without_leave(namespace, own, source, fuse_conf):
    there, point = namespace(fuse_conf), own / "point"
    done = there.mount(ALICE, source(0o644), point, "-o", "allow_other")
    assert done.returncode == 32 and done.stdout == ""
    assert done.stderr == (f"mount.gguf: {point}: it could not be mounted there: allow_other needs "
                           "root's leave: the line user_allow_other in /etc/fuse.conf\n")
    assert not there.is_mounted(point) and not processes_of(str(point))


@pytest.mark.parametrize("mode,allowed", [(0o644, True), (0o600, False)])
def test_allow_other_with_leave(namespace, own, source, mode, allowed):
    there, point = namespace("user_allow_other\n"), own / "point"
    done = there.mount(ALICE, source(mode, ALICE, ALICE), point, "-o", "allow_other")
    assert done.returncode == 0, done.stderr
    for path in (TEXT, F32):
        assert not denied(there.run(ALICE, "cksum", point / path))
        assert denied(there.run(BOB, "cksum", point / path)) == (not allowed)
        assert not denied(there.run(ROOT, "cksum", point / path))
    assert denied(there.run(BOB, "ls", point)) == (not allowed)
    assert there.run(ALICE, "fusermount3", "-u", point).returncode == 0


def test_what_fusermount_refuses_is_one_sentence(namespace, own, source):
    """A mount option that is root's, and a mount point that is not the user's."""
    there, point = namespace(), own / "point"
    done = there.mount(ALICE, source(0o644), point, "-o", "context=x")
    assert done.returncode == 32 and len(done.stderr.splitlines()) == 1
    assert str(point) in done.stderr and "context=x" in done.stderr
    assert not there.is_mounted(point)

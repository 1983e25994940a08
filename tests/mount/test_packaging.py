"""meson install puts everything in its place, what is installed can be built against, and meson dist
makes a whole source tree."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

import installed
from mounting import BUILD, run

ROOT = pathlib.Path(__file__).parents[2]
LIBRARY_PAGE = "usr/local/share/man/man3/pantheon-gguf.3"

PLACES = {
    "sbin/mount.gguf", "sbin/mount.fuse.gguf",
    "usr/local/bin/mount.gguf", "usr/local/bin/gguf-matvec",
    "usr/local/include/pantheon/gguf.h", "usr/local/include/pantheon/quant.h",
    "usr/local/include/pantheon/qmv.h",
    "usr/local/LIB/libpantheon-gguf.so", "usr/local/LIB/pkgconfig/pantheon-gguf.pc",
    "usr/local/share/man/man1/gguf-matvec.1", "usr/local/share/man/man8/mount.gguf.8", LIBRARY_PAGE,
    "usr/local/share/bash-completion/completions/mount.gguf",
    "usr/local/share/doc/mount.gguf/mount-gguf@.service",
}


@pytest.fixture(scope="module")
def dest(folder):
    folder = folder / "dest"
    installed.install(folder)
    return folder


@pytest.fixture(scope="module")
def libdir(dest):
    """lib, lib64, or lib/x86_64-linux-gnu: meson knows."""
    return next(dest.glob("usr/local/**/libpantheon-gguf.so")).parent


def test_places(dest, libdir):
    found = {os.path.relpath(os.path.join(folder, name), dest).replace(
        os.path.relpath(libdir, dest / "usr/local"), "LIB")
        for folder, _, names in os.walk(dest) for name in names}
    extra = found - PLACES
    assert PLACES <= found
    assert all(re.fullmatch(r"usr/local/LIB/libpantheon-gguf\.so\.[\d.]+", path) for path in extra), extra
    for link in ("sbin/mount.gguf", "sbin/mount.fuse.gguf"):
        assert os.readlink(dest / link) == "/usr/local/bin/mount.gguf"


def test_the_installed_program(dest):
    """Nothing but mount.gguf's own library and the system's is needed, and no path of the build."""
    done = run(dest / "usr/local/bin/mount.gguf", "--version", env={})
    assert done.returncode == 0 and done.stdout.startswith("mount.gguf ")
    assert os.fsencode(BUILD) not in run(
        "objdump", "-p", dest / "usr/local/bin/mount.gguf").stdout.encode()


def example():
    """The program in the library's manual page."""
    page = (BUILD / "src/gguf/pantheon-gguf.3").read_text()
    return re.search(r"\.Bd -literal\n(.*?)\.Ed", page, re.DOTALL)[1].replace("\\e", "\\")


@pytest.mark.parametrize("compiler", ["gcc", "g++", "clang"])
def test_the_manuals_example_is_built_against_it(dest, libdir, own, sample, compiler):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    package = (libdir / "pkgconfig/pantheon-gguf.pc").read_text()
    assert package.startswith("prefix=/usr/local\n")
    (own / "pantheon-gguf.pc").write_text(package.replace("prefix=/", f"prefix={dest}/", 1))
    flags = run("pkg-config", "--cflags", "--libs", "pantheon-gguf",
                env={**os.environ, "PKG_CONFIG_PATH": str(own)})
    assert flags.returncode == 0, flags.stderr
    source = own / ("example.cc" if compiler == "g++" else "example.c")
    source.write_text(example())
    done = run(compiler, "-Wall", "-Wextra", "-Werror", source, "-o", own / "example",
               *flags.stdout.split())
    assert done.returncode == 0, done.stderr
    done = run(own / "example", sample, env={"LD_LIBRARY_PATH": str(libdir)})
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[0] == "llama" and len(lines) == 39
    failed = run(own / "example", "/dev/null", env={"LD_LIBRARY_PATH": str(libdir)})
    assert failed.returncode == 1 and "/dev/null" in failed.stderr


def test_only_what_is_public_is_exported(libdir):
    symbols = run("nm", "-D", "--defined-only", libdir / "libpantheon-gguf.so").stdout
    names = {line.split()[-1] for line in symbols.splitlines()}
    assert {"pn_gguf_open", "pn_qmv", "pn_dequantize"} <= names
    assert all(name.startswith("pn_") for name in names), names


needs_dist = pytest.mark.skipif(
    not os.environ.get("PN_DIST") or not (ROOT / ".git").exists(),
    reason="builds everything again: set PN_DIST=1, in a clone without changes")


@needs_dist
def test_no_helpers_where_none_are_wanted(own):
    """An empty helperdir: nothing is put outside the prefix, as for a user's own ~/.local."""
    done = run("meson", "setup", own / "build", ROOT, "-Dhelperdir=", "-Dprefix=/home/me/.local")
    assert done.returncode == 0, done.stdout
    plan = run("meson", "introspect", "--install-plan", own / "build").stdout
    assert "mount.fuse.gguf" not in plan


@needs_dist
@pytest.mark.limit(3000)
def test_dist(own):
    """The archive builds. With PN_DIST=full its tests run too."""
    tests = [] if os.environ["PN_DIST"] == "full" else ["--no-tests"]
    build = own / "build"
    assert run("meson", "setup", build, ROOT).returncode == 0
    done = run("meson", "dist", "-C", build, "--formats", "xztar", *tests, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    archive = next((build / "meson-dist").glob("*.tar.xz"))
    subprocess.run(["tar", "-xf", archive, "-C", own], check=True)
    tree = own / archive.name.removesuffix(".tar.xz")
    assert (tree / "README.md").exists() and not (tree / ".git").exists()
    for command in (["meson", "setup", tree / "build", tree], ["ninja", "-C", tree / "build"]):
        done = run(*command, timeout=1200)
        assert done.returncode == 0, done.stdout

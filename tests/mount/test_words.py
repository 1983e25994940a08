"""--help, the manual pages and the completion say the same; none says what there is not."""

import os
import pathlib
import re
import shutil

import pytest

from mounting import BUILD, mount_gguf, run

ROOT = pathlib.Path(__file__).parents[2]
PAGE = BUILD / "src/mount/mount.gguf.8"
LIBRARY_PAGE = BUILD / "src/gguf/pantheon-gguf.3"
COMPLETION = ROOT / "src/mount/mount.gguf.bash"
LOADER = pathlib.Path("/usr/share/bash-completion/bash_completion")

ONLY_PASSED_ON = {"noexec", "noatime"}  # completed and in the manual, too many for --help


@pytest.fixture(scope="module")
def helped():
    return mount_gguf("--help").stdout


def help_options(text):
    """The options that --help lists, and the mount options, these without what follows a '='."""
    before, after = text.split("Mount options:\n")
    options = set(re.findall(r"(?:^  |, | {6})(--?[a-zA-Z]+)", before, re.MULTILINE))
    words = [line[:20] for line in after.split("\n\n")[0].splitlines()]
    mount_options = {word.strip().split("=")[0] for line in words for word in line.split(",")}
    return options, mount_options


def manual_options(source):
    options, mount_options = set(), set()
    part = None
    for line in source.splitlines():
        if line.startswith((".Sh", ".Ss")):
            part = line
        elif line.startswith(".It Fl"):
            words = line.removeprefix(".It Fl ").split(" Ar ")[0].split(" Ns")[0]
            options.update("-" + word for word in re.split(r" , ", words))
        elif line.startswith(".It Cm") and part == ".Ss Mount options":
            mount_options.update(re.findall(r"(?:Cm|,) (\w+)(?= |$)", line.replace(", Cm", ",")))
    return options, mount_options - {"no", "auto", "always", "never"}


def test_help_is_one_screen(helped):
    lines = helped.splitlines()
    assert len(lines) <= 36 and max(map(len, lines)) <= 80
    assert helped.count("\n  mount.gguf ") == 2  # examples


def test_the_manual_has_the_options_of_help(helped):
    options, mount_options = help_options(helped)
    assert {"-f", "-o", "--print", "--pidfile", "--help", "--version"} <= options
    assert {"strict", "views", "uid", "gid", "sandbox"} <= mount_options
    assert manual_options(PAGE.read_text()) == (options, mount_options)


def test_every_option_of_help_is_known(helped, sample, own):
    """They are told from ones that there are not."""
    for option in help_options(helped)[1]:
        done = mount_gguf("-o", option + "x", sample, own)
        assert done.returncode == 1 and option in done.stderr
        for word in (option, option + "=7"):  # one of them is right, but for cache and sandbox
            done = mount_gguf("-o", word, "--print", "README.txt", sample)
            assert "there is no mount option" not in done.stderr


@pytest.mark.parametrize("page", [PAGE, LIBRARY_PAGE, ROOT / "src/matvec/gguf-matvec.1"], ids=lambda page: page.name)
def test_manual_pages_are_well_formed(page):
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not installed")
    done = run("mandoc", "-T", "lint", "-W", "warning", page)
    assert done.returncode == 0, done.stdout
    assert "@" not in page.read_text()


def test_the_manual_of_gguf_matvec():
    """It has the options of its --help."""
    shown = run(BUILD / "src/matvec/gguf-matvec", "--help").stdout
    options = set(re.findall(r"(?<![\w-])--?[a-zA-Z]+", shown))
    page = (ROOT / "src/matvec/gguf-matvec.1").read_text()
    assert manual_options(page)[0] == options


def test_the_library_manual_names_every_function():
    declared = set()
    for header in (ROOT / "include/pantheon").glob("*.h"):
        code = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
        declared |= set(re.findall(r"\b(pn_\w+)\((?!\*)", code))
    declared.discard("pn_gguf_error_quark")
    assert set(re.findall(r"Fn (pn_\w+)", LIBRARY_PAGE.read_text())) == declared


def completed(line, cwd):
    """What bash offers at the end of the line."""
    words = re.findall(r"[=:]+|[^\s=:]+", line) + ([""] if line.endswith(" ") else [])
    script = f"""
        . {LOADER}
        . {COMPLETION}
        compopt() {{ :; }}  # it is for interactive shells
        COMP_LINE=$1 COMP_POINT=${{#1}}
        shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _mount_gguf
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = run("bash", "--norc", "-c", script, "bash", line, *words, cwd=cwd)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return set(done.stdout.split("\n")) - {""}


@pytest.fixture(scope="module")
def files(folder):
    folder = folder / "completion"
    (folder / "below").mkdir(parents=True)
    for name in ("a.gguf", "b.gguf", "c.txt"):
        (folder / name).touch()
    return folder


@pytest.mark.skipif(not LOADER.exists(), reason="bash-completion is not installed")
class TestCompletion:
    @pytest.mark.parametrize("line,offered", [
        ("mount.gguf ", {"a.gguf", "b.gguf", "below"}),
        ("mount.gguf a", {"a.gguf"}),
        ("mount.gguf -f a.gguf ", {"below"}),
        ("mount.gguf -o strict --pidfile x a.gguf ", {"below"}),
        ("mount.gguf a.gguf below ", set()),
        ("mount.gguf --pi", {"--pidfile"}),
        ("mount.gguf --pidfile c", {"c.txt"}),
        ("mount.gguf -o str", {"strict"}),
        ("mount.gguf -o strict,par", {"strict,partial"}),
        ("mount.gguf -o strict,ca", {"strict,cache="}),
        ("mount.gguf -o strict,cache=", {"auto", "always", "never"}),
        ("mount.gguf -o views=np", {"npy"}),
        ("mount.gguf -o uid=3,views=f32:np", {"npy"}),
        ("mount.gguf -o views=f32:npy,str", {"npy,strict"}),
        ("mount.gguf --print summ", {"summary.txt"}),
    ])
    def test_what_is_offered(self, files, line, offered):
        assert completed(line, files) == offered

    def test_every_option_is_offered(self, files, helped):
        options, mount_options = help_options(helped)
        assert completed("mount.gguf -", files) == options
        offered = {word.rstrip("=") for word in completed("mount.gguf -o ", files)}
        assert offered == mount_options | ONLY_PASSED_ON

    def test_every_view_is_offered(self, files, sample):
        listed = mount_gguf("-o", "views=nonsense", "--print", "/", sample).stderr
        views = set(re.search(r"the views are ([^(]*)", listed)[1].strip().split(", "))
        offered = completed("mount.gguf -o views=", files)
        assert views <= offered | {name for name in views if name.startswith("model.")}
        for view in offered:
            done = mount_gguf("-o", f"views={view}", "--print", "/", sample)
            assert done.returncode == 0, done.stderr


def test_nothing_but_words_of_ours(helped):
    """No trace of what the program is built with in what it says."""
    for text in (helped, PAGE.read_text(), LIBRARY_PAGE.read_text()):
        assert os.fspath(ROOT) not in text

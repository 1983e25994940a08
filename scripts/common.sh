# What the scripts here share: packages, /dev/fuse, building. To be sourced by bash.
# shellcheck shell=bash disable=SC2034

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

build_packages=(gcc libc6-dev meson ninja-build pkg-config libglib2.0-dev libfuse3-dev fuse3
  libseccomp-dev libsystemd-dev check libjson-glib-dev)
test_packages=(clang clang-format shellcheck python3-venv attr bash-completion jq mandoc rclone
  e2fsprogs)

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() {
  say "$*"
  exit 1
}

# Runs a command, whose output is shown only when it fails.
quietly() {
  local log
  log=$(mktemp)
  if "$@" >"$log" 2>&1; then
    rm -f "$log"
  else
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
}

# Runs a command as root, through sudo where needed.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    return 1
  fi
}

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Installs what is missing of the Debian packages named. Asks nobody where nothing is missing.
need_packages() {
  local package missing=()
  if ! command -v dpkg-query >/dev/null; then
    say "this is no Debian: install the counterparts of these packages yourself: $*"
    return 0
  fi
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0

  say "installing ${missing[*]}"
  quietly as_root apt-get update -qq || die "apt-get update failed: is there a network, and are you root or in sudo's list?"
  quietly as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" ||
    die "apt-get could not install ${missing[*]}"
}

# Whether something is mounted at DIR, be it dead.
is_mounted() { findmnt --mountpoint "$1" >/dev/null 2>&1; }

# Makes sure that /dev/fuse is there; returns 1 with a sentence when it cannot be had.
need_fuse() {
  if [ ! -e /dev/fuse ]; then
    as_root modprobe fuse 2>/dev/null || true
  fi
  if [ ! -e /dev/fuse ]; then
    as_root mknod -m 666 /dev/fuse c 10 229 2>/dev/null || true
  fi
  if [ ! -e /dev/fuse ]; then
    say "there is no /dev/fuse: load the module (modprobe fuse) or, in a container, pass the device (--device /dev/fuse --cap-add SYS_ADMIN)"
    return 1
  fi
  if ! { : <>/dev/fuse; } 2>/dev/null; then
    say "/dev/fuse cannot be opened: its mode, or this container, forbids it to you"
    return 1
  fi
}

configure_and_compile() {
  local dir=$1
  shift
  if ! [ -f "$dir/build.ninja" ]; then
    meson setup "$dir" "$root" "$@" || return 1
  fi
  ninja -C "$dir"
}

# build_in DIR MESON_ARGUMENT…: configures where needed, and builds; one at a time in a folder.
build_in() {
  local dir=$1
  mkdir -p "$dir" || return 1
  [ -w "$dir" ] || die "$dir cannot be written: build in a clone of your own"
  [ -f "$dir/build.ninja" ] || say "building, which takes a minute or two the first time"
  (
    flock 9
    quietly configure_and_compile "$@"
  ) 9>"$dir/.lock"
}

# The Python packages of tests/requirements.txt, in .venv.
make_venv() {
  local wanted=$root/tests/requirements.txt
  cmp -s "$wanted" "$root/.venv/requirements.txt" ||
    { python3 -m venv "$root/.venv" &&
      "$root/.venv/bin/pip" install -q --disable-pip-version-check -r "$wanted" &&
      cp "$wanted" "$root/.venv/requirements.txt"; }
}

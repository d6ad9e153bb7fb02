#!/bin/bash
# usage: roots_test.sh RELEASE   Installs what a release's folder holds into bare systems of Debian 12 and 13 and uses it
# there as a user, without network; runs the image; and sees Debian 11, whose glibc is 2.31, refuse all of it by name. As
# root; the systems are made once, in .cache/roots.
set -euo pipefail

# --- inside of a root

# As a user, with the commands on PATH: a bundle, its time, a study with its farm.
use() {
  setpriv --reuid=1000 --regid=1000 --clear-groups env -i HOME=/home/user PATH="$1:/usr/bin:/bin" LANG=C.UTF-8 \
    bash -euo pipefail -c 'cd "$(mktemp -d)"
      tuner --version | grep -q "^tuner '"$version"' " || { tuner --version; exit 1; }
      tuner compile --task dense:k=64,m=10 --out model.bundle > compile.txt
      tuner bench model.bundle --seconds 0.1 > bench.txt
      tuner submit --task dense:k=64,m=10 --trials 2 --out tuned.bundle > submit.txt 2>&1 || { cat submit.txt; exit 1; }
      tuner run tuned.bundle --info > info.txt
      burnish-tracker --version > tracker.txt && burnish-worker --version > worker.txt'
  echo "roots_test: $system: $2 works"
}

# refused TEXT COMMAND...: it fails, and says TEXT.
refused() {
  local text=$1 said
  shift
  ! said=$("$@" 2>&1) || { echo "roots_test: $system takes: $*" >&2; exit 1; }
  grep -qF -- "$text" <<< "$said" || { echo "roots_test: $system: $* says: $said" >&2; exit 1; }
  echo "roots_test: $system: $(grep -m 1 -F -- "$text" <<< "$said")"
}

unpack_tar() { mkdir -p "$1" && tar -xzf /release/burnish-*.tar.gz -C "$1" --strip-components=1; }

works_here() {
  local older
  # An older version first, which the packages take the place of.
  for older in /release/*.deb; do
    dpkg-deb -R "$older" /tmp/older
    sed -i 's/^Version: .*/Version: 0.0.1/; s/(= [^)]*)/(= 0.0.1)/' /tmp/older/DEBIAN/control
    dpkg-deb -Znone -b /tmp/older "/tmp/$(basename "$older")" > /tmp/log
    rm -r /tmp/older
  done
  apt-get install -y -qq /tmp/*.deb > /tmp/log 2>&1 || { cat /tmp/log; exit 1; }
  apt-get install -y -qq /release/*.deb > /tmp/log 2>&1 || { cat /tmp/log; exit 1; }
  [ "$(dpkg-query -W -f '${Version} ' burnish libburnish0 libburnish-dev)" = "$version $version $version " ]
  use /usr/bin "the packages, over an older version,"
  unpack_tar /home/user/burnish
  use /home/user/burnish/bin "the folder, beside the packages,"
  mv /home/user/burnish /home/user/moved
  apt-get remove -y -qq burnish libburnish-dev libburnish0 > /tmp/log 2>&1
  use /home/user/moved/bin "the folder, moved and alone,"
  python3 -m venv /home/user/venv
  /home/user/venv/bin/pip install -q --no-index --find-links /release --find-links /numpy burnish
  use /home/user/venv/bin "the wheels' commands"
  setpriv --reuid=1000 --regid=1000 --clear-groups env HOME=/home/user /home/user/venv/bin/python3 -c '
import burnish, numpy
model = burnish.compile(burnish.Task("dense:k=64,m=10"))
assert model(numpy.ones((1, 64), numpy.float32)).shape == (1, 10)'
  echo "roots_test: $system: the wheels work in $(python3 --version)"
}

refused_here() {
  refused "libc6 (>= 2.34)" apt-get install -y /release/burnish_*.deb /release/libburnish0_*.deb
  python3 -m venv /home/user/venv
  refused "is not a supported wheel" /home/user/venv/bin/pip install --no-index --no-deps /release/burnish-*.whl
  [ -z "$(dpkg-query -W -f '${Package}' 'burnish*' 'libburnish*' 2> /dev/null)" ]
  unpack_tar /home/user/burnish
  refused "GLIBC_2.34" /home/user/burnish/bin/tuner --version
}

# --- outside

# in_root ROOT WHAT: a function of the above in a copy of ROOT, in namespaces of its own, without network. Its
# memory is where all that it writes goes, and is gone afterwards.
in_root() {
  local root=$1 what=$2
  mount -t tmpfs tmpfs /mnt
  mkdir -p /mnt/upper /mnt/work /mnt/root
  mount -t overlay overlay -o "lowerdir=$root,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root
  mount -t proc proc /mnt/root/proc
  mount --rbind /dev /mnt/root/dev
  ip link set lo up 2> /dev/null || true  # A farm of one machine speaks on sockets; a port is nobody's.
  if [ "$what" = image ]; then image_works /mnt/root; return; fi
  mkdir -p /mnt/root/release /mnt/root/numpy /mnt/root/home/user
  mount --bind "$release" /mnt/root/release
  mount --bind "$numpy" /mnt/root/numpy
  chown 1000:1000 /mnt/root/home/user
  export system=$(basename "$root") version
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    system="$system" version="$version" \
    chroot /mnt/root bash -euo pipefail -c "$(declare -f use refused unpack_tar works_here refused_here); $what"
}

# As an engine starts it: its user, its environment; there is no shell inside.
image_works() {
  local arguments
  for arguments in --version "compile --task dense:k=64,m=10 --out /tmp/model.bundle" \
    "bench /tmp/model.bundle --seconds 0.1" "submit --task dense:k=64,m=10 --trials 2 --out /tmp/tuned.bundle"; do
    # shellcheck disable=SC2086
    env -i PATH=/usr/bin HOME=/home/burnish LANG=C.UTF-8 /usr/sbin/chroot --userspec=1000:1000 "$1" \
      /usr/bin/tuner $arguments > /mnt/log 2>&1 || { cat /mnt/log; exit 1; }
  done
  echo "roots_test: the image works"
}

if [ "${1-}" = --inside ]; then
  release=$2 numpy=$3 version=$4
  in_root "$5" "$6"
  exit
fi
[ "$#" = 1 ] || { echo "usage: roots_test.sh RELEASE" >&2; exit 64; }
[ "$(id -u)" = 0 ] || { echo "roots_test: run it as root, which may make such systems" >&2; exit 77; }
release=$(readlink -f "$1")
cd "$(dirname "$(readlink -f "$0")")/.."
roots=$PWD/.cache/roots numpy=$PWD/.cache/roots/numpy
version=$(dpkg-deb --field "$release"/burnish_*.deb Version)
mkdir -p "$numpy"
for suite in bookworm trixie bullseye; do
  [ ! -e "$roots/$suite/usr/bin/python3" ] || continue
  rm -rf "$roots/$suite" "$roots/.$suite"
  .ci/bootstrap.sh "$suite" "$roots/.$suite" --include=python3,python3-venv
  mv "$roots/.$suite" "$roots/$suite"
done
for python in 3.11 3.13; do
  compgen -G "$numpy/numpy-*-cp${python/./}-*" > /dev/null ||
    .venv/bin/python3 -m pip download -q --no-deps --only-binary=:all: --python-version "$python" \
      --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux2014_x86_64 -d "$numpy" "numpy>=1.26"
done
image=$(mktemp -d)
trap 'rm -rf --one-file-system "$image"' EXIT
tar -xzf "$(/usr/bin/python3 -B -c 'import sys; sys.path.insert(0, "deploy"); import oci
print(oci.check_layout(sys.argv[1]))' "$release"/burnish-*-oci)" -C "$image" --numeric-owner
for pair in "$roots/bookworm works_here" "$roots/trixie works_here" "$roots/bullseye refused_here" "$image image"; do
  # shellcheck disable=SC2086
  unshare --mount --pid --net --fork --kill-child "$0" --inside "$release" "$numpy" "$version" $pair
done

#!/bin/bash
# usage: debs.sh BUILT FOLDER   Makes Debian packages of what was built under BUILT (bazel-bin), in FOLDER.
set -euo pipefail
[ "$#" = 2 ] || { echo "usage: debs.sh BUILT FOLDER" >&2; exit 64; }
built=$(readlink -f "$1") out=$2
cd "$(dirname "$(readlink -f "$0")")/.."
mkdir -p "$out"
out=$(readlink -f "$out")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

readonly ARCHITECTURE=$(dpkg --print-architecture)
readonly LIB=lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
version=$("$built/tuner/tuner" --version | awk '{ print $2 }')

deploy/install.sh "$built" "$work/all" /usr "$LIB"
gzip -9n "$work"/all/usr/share/man/man1/*
mv "$work/all/usr/share/zsh/site-functions" "$work/all/usr/share/zsh/vendor-completions"
rm "$work/all/usr/share/doc/burnish/LICENSE"  # /usr/share/common-licenses has it.
maintainer=$(git log -1 --format='%an <%ae>')

# take PACKAGE PATH...: moves what the installation has at PATH into the package.
take() {
  local package=$1 path
  shift
  for path in "$@"; do
    mkdir -p "$work/$package/$(dirname "$path")"
    mv "$work/all/$path" "$work/$package/$path"
  done
}
mkdir -p "$work"/{libburnish0,libburnish-dev,burnish}/DEBIAN
for path in "$work/all/usr/$LIB"/libburnish.so.*; do take libburnish0 "${path#"$work/all/"}"; done
take libburnish-dev usr/include "usr/$LIB" usr/share/doc/burnish/examples
take burnish usr/bin usr/libexec usr/share
[ -z "$(find "$work/all" -type f -o -type l)" ] || { find "$work/all" -type f >&2; exit 70; }

# What programs of others are told to depend on, and the library's place in the loader's cache.
echo "libburnish 0 libburnish0 (>= $version)" > "$work/libburnish0/DEBIAN/shlibs"
echo "activate-noawait ldconfig" > "$work/libburnish0/DEBIAN/triggers"

# Libraries that lie beside the programs are no other package's.
excluded=()
for library in "$work"/burnish/usr/libexec/burnish/*.so.*; do
  [ ! -e "$library" ] || excluded+=("-x$(dpkg -S "*/${library##*/}" | cut -d: -f1)")
done

# depends PACKAGE: on the packages that its programs' and libraries' own libraries are in.
depends() {
  mkdir -p "$work/debian"
  printf 'Source: burnish\n\nPackage: %s\nArchitecture: any\n' "$1" > "$work/debian/control"
  find "$work/$1" -type f \( -perm -u+x -o -name '*.so.*' \) -not -path '*/DEBIAN/*' -print0 |
    xargs -0 grep -lZ $'^\x7fELF' |
    (cd "$work" && xargs -0 dpkg-shlibdeps --warnings=0 "${excluded[@]}" -O) | sed -n 's/^shlibs:Depends=//p'
}

# describe PACKAGE: what Debian's policy wants in every package's folder of documentation.
describe() {
  local doc=$work/$1/usr/share/doc/$1
  mkdir -p "$doc"
  cat > "$doc/copyright" << TEXT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Burnish

Files: *
Copyright: 2026 The Burnish maintainers
License: Apache-2.0
 The licence is in /usr/share/common-licenses/Apache-2.0.
TEXT
  printf 'burnish (%s) stable; urgency=medium\n\n  * The notes of this release say what changed.\n\n -- %s  %s\n' \
    "$version" "$maintainer" "$(git log -1 --format=%cD)" | gzip -9n > "$doc/changelog.gz"
}

# package NAME SECTION DEPENDS SUMMARY   The rest of the description comes on stdin.
package() {
  local name=$1
  describe "$name"
  {
    echo "Package: $name"
    echo "Version: $version"
    echo "Architecture: $ARCHITECTURE"
    echo "Section: $2"
    echo "Priority: optional"
    echo "Maintainer: $maintainer"
    echo "Installed-Size: $(du -sk --exclude=DEBIAN "$work/$name" | cut -f1)"
    echo "Depends: $3"
    [ "$name" != burnish ] || echo "Suggests: python3"
    echo "Description: $4"
    sed 's/^/ /'
  } > "$work/$name/DEBIAN/control"
  dpkg-deb --root-owner-group --build "$work/$name" "$out/${name}_${version}_$ARCHITECTURE.deb" > /dev/null
}
library_depends=$(depends libburnish0) programs_depend=$(depends burnish)
package libburnish0 libs "$library_depends" "runs models that Burnish compiled" << 'TEXT'
The library that opens a bundle, one file of code and parameters, and runs it
on the CPU. It needs libc and libstdc++ alone.
TEXT
package libburnish-dev libdevel "libburnish0 (= $version)" "headers to run models that Burnish compiled" << 'TEXT'
Headers for C and C++, the static library, and files for pkg-config and CMake.
TEXT
# One package serves several versions of Debian, because the programs hold their libraries.
install -D -m 644 /dev/stdin "$work/burnish/usr/share/lintian/overrides/burnish" << 'TEXT'
# Linked statically where made for several versions of Debian, whose libraries differ.
burnish: embedded-library zlib *
TEXT
package burnish science "$programs_depend" "compiles neural networks and tunes them on your machines" << 'TEXT'
Searches for the fastest program for every operator of a model on the CPU that
runs it, records what it measured, and writes one file that runs the model. The
commands are tuner, burnish-tracker and burnish-worker.
TEXT
ls "$out"/*.deb

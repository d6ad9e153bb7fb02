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

# depends PACKAGE: on the packages that its programs' and libraries' own libraries are in.
depends() {
  mkdir -p "$work/debian"
  printf 'Source: burnish\n\nPackage: %s\nArchitecture: any\n' "$1" > "$work/debian/control"
  find "$work/$1" -type f \( -perm -u+x -o -name '*.so.*' \) -not -path '*/DEBIAN/*' -print0 |
    (cd "$work" && xargs -0 dpkg-shlibdeps -O) | sed -n 's/^shlibs:Depends=//p'
}

# package NAME SECTION DEPENDS SUMMARY
package() {
  local name=$1
  install -D -m 644 LICENSE "$work/$name/usr/share/doc/$name/copyright"
  {
    echo "Package: $name"
    echo "Version: $version"
    echo "Architecture: $ARCHITECTURE"
    echo "Section: $2"
    echo "Priority: optional"
    echo "Maintainer: $(git log -1 --format='%an <%ae>')"
    echo "Installed-Size: $(du -sk --exclude=DEBIAN "$work/$name" | cut -f1)"
    echo "Depends: $3"
    echo "Description: $4"
  } > "$work/$name/DEBIAN/control"
  dpkg-deb --root-owner-group --build "$work/$name" "$out/${name}_${version}_$ARCHITECTURE.deb" > /dev/null
}
library_depends=$(depends libburnish0) programs_depend=$(depends burnish)
package libburnish0 libs "$library_depends" "Burnish: runs models that it compiled"
package libburnish-dev libdevel "libburnish0 (= $version)" "Burnish: to build programs that run models"
package burnish science "$programs_depend" "Burnish: compiles models and tunes them on your machines"
ls "$out"/*.deb

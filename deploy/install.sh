#!/bin/bash
# usage: install.sh BUILT ROOT PREFIX [LIB]   Installs what was built under BUILT (bazel-bin) below
# ROOT/PREFIX; LIB, "lib" if not said, is the folder of libraries below PREFIX. Called by ./dev.
set -euo pipefail
[ "$#" -ge 3 ] || { echo "usage: install.sh BUILT ROOT PREFIX [LIB]" >&2; exit 64; }
built=$(readlink -f "$1") prefix=$2/${3#/} lib=${4:-lib}
cd "$(dirname "$(readlink -f "$0")")/.."

version=$("$built/tuner/tuner" --version | awk '{ print $2 }')
[ -n "$version" ] || { echo "install.sh: tuner --version says nothing" >&2; exit 70; }

file() { install -D -m "$1" "$2" "$prefix/$3"; }              # MODE FROM TO
program() { install -D -m 755 -s "$built/$1" "$prefix/libexec/burnish/$2"; }  # FROM NAME
link() { mkdir -p "$(dirname "$prefix/$2")" && ln -sfn "$1" "$prefix/$2"; }   # TARGET NAME

# filled TEMPLATE TO: with the version, and the way from there to the headers.
filled() {
  mkdir -p "$(dirname "$prefix/$2")"
  local here
  here=$(dirname "$prefix/$2")
  sed -e "s|@VERSION@|$version|g" \
    -e "s|@PREFIX_FROM_HERE@|$(realpath -m --relative-to="$here" "$prefix")|g" \
    -e "s|@INCLUDE_FROM_HERE@|$(realpath -m --relative-to="$here" "$prefix/include")|g" \
    "deploy/$1" > "$prefix/$2"
}

# The library. The file has its whole version, programs ask for the SONAME, the linker for the name.
install -D -m 644 -s "$built/compiler/runtime/libburnish.so.0" "$prefix/$lib/libburnish.so.$version"
link "libburnish.so.$version" "$lib/libburnish.so.0"
link libburnish.so.0 "$lib/libburnish.so"
file 644 "$built/compiler/runtime/libburnish.a" "$lib/libburnish.a"
for header in burnish.h burnish.hpp; do
  file 644 "compiler/runtime/include/burnish/$header" "include/burnish/$header"
done
filled burnish.pc "$lib/pkgconfig/burnish.pc"
filled BurnishConfig.cmake "$lib/cmake/Burnish/BurnishConfig.cmake"
filled BurnishConfigVersion.cmake "$lib/cmake/Burnish/BurnishConfigVersion.cmake"

# All programs in one folder, in which they find each other, with links resolved.
program tuner/tuner tuner
program tracker/tracker tracker
program worker/worker worker
program worker/builder/builder builder
program worker/runner/runner runner
program worker/runner/checker checker
program worker/calibrate/calibrator calibrator
program base/burnish-launcher burnish-launcher
file 755 "$built/tuner/cli/engine_peer" libexec/burnish/engine_peer
# Linked by --config=static they look for libraries in their own folder: those that a system may lack.
bundled=()
if readelf -d "$built/tuner/tuner" | grep -qF '[$ORIGIN]'; then
  while read -r name path; do
    install -D -m 644 -s "$path" "$prefix/libexec/burnish/$name"
    bundled+=("$(dpkg -S "$(readlink -f "$path")" | cut -d: -f1)")
  done < <(ldd "$built/tuner/tuner" | sed -nE 's/^\s*(\S+) => (\S+) .*/\1 \2/p' |
    grep -vE '^(ld-linux-x86-64|libc|libm|libstdc\+\+|libgcc_s|libpthread|libdl|librt)\.so')
fi
link ../libexec/burnish/tuner bin/tuner
link ../libexec/burnish/tracker bin/burnish-tracker
link ../libexec/burnish/worker bin/burnish-worker

/usr/bin/python3 -B deploy/manual.py "$prefix/share" \
  tuner="$prefix/bin/tuner" burnish-tracker="$prefix/bin/burnish-tracker" \
  burnish-worker="$prefix/bin/burnish-worker"

# Ours, and those of what the programs are built on.
file 644 LICENSE share/doc/burnish/LICENSE
file 644 compiler/runtime/examples/run_model.c share/doc/burnish/examples/run_model.c
deploy/licences.sh "$prefix/share/doc/burnish/third-party" "${bundled[@]}"

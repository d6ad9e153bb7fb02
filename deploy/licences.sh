#!/bin/bash
# usage: licences.sh FOLDER [PACKAGE...]   Writes into FOLDER the licence of each Debian package that the
# programs are built on, those of the first table of docs/dependencies.md, and of each PACKAGE.
set -euo pipefail
[ "$#" -ge 1 ] || { echo "usage: licences.sh FOLDER [PACKAGE...]" >&2; exit 64; }
folder=$1
shift
built_on=$(sed -n '/^## In the programs/,/^## /p' "$(dirname "$0")/../docs/dependencies.md" |
  awk -F'|' '/^\|/ { print $3 }' | tr ', ' '\n\n' | grep -E '^lib|^llvm|^nlohmann|^zlib')
for package in $built_on "$@"; do
  copyright=/usr/share/doc/$package/copyright
  [ -f "$copyright" ] || { echo "licences.sh: no licence at $copyright" >&2; exit 66; }
  install -D -m 644 "$copyright" "$folder/$package"
done

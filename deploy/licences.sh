#!/bin/bash
# usage: licences.sh FOLDER   Writes into FOLDER the licence of each Debian package that the programs are
# built on: those of the first table of docs/dependencies.md.
set -euo pipefail
[ "$#" = 1 ] || { echo "usage: licences.sh FOLDER" >&2; exit 64; }
sed -n '/^## In the programs/,/^## /p' "$(dirname "$0")/../docs/dependencies.md" |
  awk -F'|' '/^\|/ { print $3 }' | tr ', ' '\n\n' | grep -E '^lib|^llvm|^nlohmann|^zlib' |
  while read -r package; do
    copyright=/usr/share/doc/$package/copyright
    [ -f "$copyright" ] || { echo "licences.sh: no licence at $copyright" >&2; exit 66; }
    install -D -m 644 "$copyright" "$1/$package"
  done

#!/bin/bash
# usage: bootstrap.sh SUITE ROOT [OPTIONS]   Debian's base system of a release, in the folder ROOT, from the
# mirror that apt uses here. As root; OPTIONS are debootstrap's.
set -euo pipefail
[ "$#" -ge 2 ] || { echo "usage: bootstrap.sh SUITE ROOT [OPTIONS]" >&2; exit 64; }
[ "$(id -u)" = 0 ] || { echo "bootstrap.sh: run it as root" >&2; exit 77; }
suite=$1 root=$2
shift 2
command -v debootstrap > /dev/null || apt-get install -y --no-install-recommends debootstrap
# In either of its two formats; else debootstrap's own default.
mirror=$(sed -nE 's/^URIs: *([^ ]+).*/\1/p; s/^deb (\[[^]]*\] )?([^ ]+) .*/\2/p' \
  /etc/apt/sources.list /etc/apt/sources.list.d/* 2> /dev/null | head -1 || true)
log=$(mktemp)
debootstrap --variant=minbase "$@" "$suite" "$root" ${mirror:+"$mirror"} > "$log" 2>&1 ||
  { tail -20 "$log" >&2; exit 69; }
rm -f "$log"

#!/bin/bash
# usage: bare.sh COMMAND...   Runs each COMMAND of the README in a Debian 12 that has nothing but its
# base system, on a clone of HEAD. As root; needs debootstrap, 8 GB in TMPDIR and the package mirrors
# that this machine uses. Nothing is left behind.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

if [ "${1-}" = --inside ]; then  # In a mount and a process namespace of its own, on the new root.
  root=$2
  shift 2
  for folder in proc sys dev; do mount --rbind "/$folder" "$root/$folder"; done
  mount -t proc proc "$root/proc"
  for command in "$@"; do
    echo "== bare: $command"
    start=$SECONDS
    # As a login would: pip's settings come along because a mirror may be set there.
    env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
      $(env | grep '^PIP_' || true) PIP_CERT=/ca.crt chroot "$root" /bin/bash -c "cd /burnish && $command"
    echo "== bare: $command: $(((SECONDS - start + 30) / 60)) minutes"
  done
  exit 0
fi

[ "$(id -u)" = 0 ] || { echo "bare.sh: run it as root" >&2; exit 77; }
[ "$#" -gt 0 ] || { echo "usage: bare.sh COMMAND..." >&2; exit 64; }
work=$(mktemp -d "${TMPDIR:-/tmp}/burnish-bare.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
.ci/bootstrap.sh bookworm "$work/root"
# How to reach the network, which is the machine's affair and not the repository's.
settings=()
for path in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/apt/sources.list \
  /etc/apt/sources.list.d /etc/apt/apt.conf.d /etc/ssl/certs; do
  [ ! -e "$path" ] || settings+=("${path#/}")
done
rm "$work/root/etc/apt/sources.list"  # debootstrap's own: the machine's take its place.
tar -C / -ch "${settings[@]}" | tar -C "$work/root" -x
# Out of the way of ca-certificates, which writes /etc/ssl/certs anew when it is installed.
cp -L "${PIP_CERT:-/etc/ssl/certs/ca-certificates.crt}" "$work/root/ca.crt"
git clone -q --no-hardlinks "file://$PWD" "$work/root/burnish"
unshare --mount --pid --fork --kill-child "$0" --inside "$work/root" "$@"

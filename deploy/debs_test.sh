#!/bin/bash
# usage: debs_test.sh FOLDER   What debs.sh made in FOLDER: unpacked over each other they are an
# installation that works, no file is in two, and what they depend on was found.
set -euo pipefail
[ "$#" = 1 ] || { echo "usage: debs_test.sh FOLDER" >&2; exit 64; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "debs_test: $1" >&2; exit 1; }

count=0
for deb in "$1"/*.deb; do
  dpkg-deb --extract "$deb" "$work/root"
  dpkg-deb --contents "$deb" | awk '$1 !~ /^d/ { print $6 }' >> "$work/files"
  count=$((count + 1))
done
[ "$count" = 3 ] || fail "got $count packages, want 3"
[ -z "$(sort "$work/files" | uniq -d)" ] || fail "files in two packages: $(sort "$work/files" | uniq -d)"

field() { dpkg-deb --field "$1"/"$2"_*.deb "$3"; }
field "$1" libburnish0 Depends | grep -q 'libc6 (>= .*libstdc++6 (>= ' ||
  fail "libburnish0 depends on: $(field "$1" libburnish0 Depends)"
! field "$1" libburnish0 Depends | grep -qE 'absl|grpc|llvm' ||
  fail "libburnish0 depends on: $(field "$1" libburnish0 Depends)"
# Programs that were linked statically hold LLVM, and have XGBoost beside them.
field "$1" burnish Depends | grep -q libllvm || [ -e "$work/root/usr/libexec/burnish/libxgboost.so.0" ] ||
  fail "burnish depends on: $(field "$1" burnish Depends)"
! command -v lintian > /dev/null || lintian --allow-root --fail-on error,warning "$1"/*.deb ||
  fail "lintian has something to say"
dpkg-deb --ctrl-tarfile "$1"/libburnish0_*.deb | tar -xO ./shlibs | grep -q '^libburnish 0 libburnish0 ' ||
  fail "libburnish0 has no shlibs"

cd "$work"
commands=$(root/usr/bin/tuner --help | sed -n '/^Subcommands:/,/^$/ s/^  \([a-z]*\) .*/\1/p')
[ "$(wc -w <<< "$commands")" -ge 10 ] || fail "tuner --help lists: $commands"
for command in $commands; do
  gzip -dc "root/usr/share/man/man1/tuner-$command.1.gz" | grep -q '^\.B tuner '"$command" ||
    fail "no man page of tuner $command"
done
completed=$(. root/usr/share/bash-completion/completions/tuner
  COMP_WORDS=(root/usr/bin/tuner compile --targ) COMP_CWORD=2
  _tuner && echo "${COMPREPLY[*]}")
[ "$completed" = --target ] || fail "bash completes --targ with: $completed"
export HOME=$work
root/usr/bin/tuner compile --task dense:k=64,m=10 --out model.bundle
cc -std=c99 root/usr/share/doc/burnish/examples/run_model.c -Iroot/usr/include \
  -L"$(dirname root/usr/lib/*/libburnish.so)" -lburnish -o run_model
LD_LIBRARY_PATH=$(dirname "$work"/root/usr/lib/*/libburnish.so.0) ./run_model model.bundle 0.01 |
  grep -q '^output .* f32\[1,10\]$' || fail "the example does not run"
echo "debs_test: $count packages work"

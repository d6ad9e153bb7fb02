#!/bin/bash
# Compares the binary interface of libburnish with testdata/burnish.abi, its interface as it was last
# agreed on. Fails on any difference: one that breaks programs needs a new SONAME, any other is
# looked at and then taken over with --update (`./dev golden compiler/runtime`).
set -euo pipefail
folder=compiler/runtime
library=$folder/libburnish_with_types.so
baseline=$folder/testdata/burnish.abi
public_types=$folder/testdata/public_types.abignore

# describe LIBRARY FILE: writes what a program can see of the library.
describe() {
  abidw --suppressions "$public_types" --exported-interfaces-only --no-corpus-path \
    --no-comp-dir-path --no-show-locs --no-elf-needed --out-file "$2" "$1"
}

if [ "${1-}" = --update ]; then
  describe "$library" "$(readlink -f "$baseline")"
  exit
fi
found=$TEST_TMPDIR/found.abi
describe "$library" "$found"
status=0
abidiff "$baseline" "$found" || status=$?
[ "$status" != 0 ] || exit 0
echo "abi_test: the interface differs from testdata/burnish.abi (abidiff: $status)." >&2
# abidiff's exit code is a sum of bits; 8 stands for a change that breaks programs.
[ $((status & 8)) = 0 ] || echo "abi_test: programs that were built before would break." >&2
exit 1

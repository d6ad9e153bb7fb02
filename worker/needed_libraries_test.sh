#!/bin/sh
# No daemon and no runner loads LLVM: an empty program that does takes 30 to 50 ms and 51 MB to
# start. The runner, of which one starts for each candidate, does without Protobuf, gRPC and Abseil.
set -u
failed=0
check() {  # PROGRAM, pattern of libraries that it must not need
  needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
  if [ -z "$needed" ]; then
    echo "$1: no dynamic section was read"
    failed=1
  fi
  if found=$(echo "$needed" | grep -E "$2"); then
    echo "$1 needs: $found"
    failed=1
  fi
}
check worker/worker 'LLVM|lld'
check worker/runner/checker 'LLVM|lld|grpc'
check worker/runner/runner 'LLVM|lld|grpc|protobuf|absl'
exit $failed

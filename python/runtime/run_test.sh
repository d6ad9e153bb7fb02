#!/bin/bash
# run_test.sh FILE ARGS...: a Python test over the package that was built. An extension with one of
# Clang's sanitizers wants its runtime to be the first library of the process, which Python's is not.
set -euo pipefail
readonly EXTENSION=python/runtime/burnish_runtime/_burnish_runtime.abi3.so
# PYTHONSAFEPATH: else Python puts the folder of FILE first, its links resolved, where there are
# sources alone.
export PYTHONSAFEPATH=1 PYTHONPATH=$PWD/python/runtime:$PWD/tests/e2e/models
if grep -q __asan_init "$EXTENSION"; then
  libraries=$(clang-19 -print-file-name=libclang_rt.asan-x86_64.so)
  # libstdc++, so that the sanitizer finds the __cxa_throw that it wraps. Python itself leaks, and
  # a large allocation that fails is an exception.
  export LD_PRELOAD="$libraries $(clang-19 -print-file-name=libstdc++.so.6)"
  export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
  # Objects of Python's each in memory of their own, which the sanitizer watches.
  export PYTHONMALLOC=malloc
elif grep -q __tsan_init "$EXTENSION"; then
  LD_PRELOAD=$(clang-19 -print-file-name=libclang_rt.tsan-x86_64.so)
  # Forked children start threads of their own. The sanitizer would refuse that; it goes on with a
  # child's one thread as well.
  export LD_PRELOAD TSAN_OPTIONS=${TSAN_OPTIONS-}:die_after_fork=0
fi
exec tests/e2e/models/run_python.sh "$@"

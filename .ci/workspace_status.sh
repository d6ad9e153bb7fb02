#!/bin/bash
# What `bazel build` stamps into programs; see tuner/cli/BUILD.bazel.
commit=$(git rev-parse --short=12 HEAD 2> /dev/null) || commit=unknown
echo "STABLE_GIT_COMMIT $commit"

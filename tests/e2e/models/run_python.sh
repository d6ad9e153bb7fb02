#!/bin/bash
# Runs a Python test with the interpreter that ./dev setup made: run_python.sh FILE ARGS...
set -euo pipefail
: "${BURNISH_PYTHON:?is not set: run tests by ./dev test, or give --test_env=BURNISH_PYTHON=.venv/bin/python3}"
export TMPDIR=${TEST_TMPDIR:-${TMPDIR:-/tmp}} PYTHONDONTWRITEBYTECODE=1
exec "$BURNISH_PYTHON" "$@"

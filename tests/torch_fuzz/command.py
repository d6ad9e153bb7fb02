"""usage: command.py TUNER LAUNCHER [--graphs N] [--seed S] [--keep NAME]   what ./dev torch-fuzz runs"""

import sys

sys.path[:0] = ["python/tests", "tests/torch_fuzz"]

import torch_harness  # noqa: E402

torch_harness.start(__file__)

import fuzz  # noqa: E402

sys.exit(fuzz.main(sys.argv[3:]))

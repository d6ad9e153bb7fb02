"""The model zoo: bundles of its graphs against ONNX Runtime on what the ONNX writer makes of them.

usage: zoo_models.py RUNNER [NAME...]
"""

import sys

import numpy as np

import reference
from case_runner import CaseRunner, summary
from compare import dull_outputs, model_differences
from test_report import Report, shard

# Small images keep the test short; resnet50 runs at the size that it is tuned for.
MODELS = {
    "resnet50": {"image_size": 224},
    "resnet18": {"image_size": 64, "batch": 2},
    "mobilenet_v2": {"image_size": 96},
    "vgg16": {"image_size": 64},
    "bert_base": {"sequence": 32},
}


def input_sets(name, options):
    rng = np.random.default_rng(len(name))
    batch = options.get("batch", 1)
    if name == "bert_base":
        return [[rng.integers(0, 30000, (batch, options["sequence"]))] for _ in range(2)]
    shape = (batch, 3, options["image_size"], options["image_size"])
    return [[rng.standard_normal(shape, np.float32)] for _ in range(2)]


def run_model(runner, name, options):
    """Returns the lines that say what is wrong, and a note."""
    sets = input_sets(name, options)
    reply, got, path = runner.run_zoo(dict(options, zoo=name), sets)
    if reply["error"]:
        return [f"{reply['stage']}: {reply['error']}"], ""
    want = reference.run(path, sets)
    worst, wrong = model_differences([o["name"] for o in reply["outputs"]], got, want)
    wrong += dull_outputs(want)
    if reply["rejected"]:
        wrong.append(f"default schedules refused: {reply['rejected']}")
    return wrong, f"error {worst:.2g}, {summary(reply)}"


def main(arguments):
    program, names = arguments[0], arguments[1:] or list(MODELS)
    report = Report("zoo_models")
    with CaseRunner(program, timeout_s=800) as runner:
        for name in shard(names):
            report.run(name, lambda name=name: run_model(runner, name, MODELS[name]))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

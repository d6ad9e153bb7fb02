"""The nine architectures that PyPI's onnx carries, with random weights, against ONNX Runtime.

usage: light_models.py RUNNER [NAME...]

Each model (light_weights.py) is built twice: as it is, and with every tenth intermediate value as an
output too.
"""

import sys

import numpy as np
import onnx

import light_weights
import reference
from case_runner import CaseRunner, summary
from compare import dull_outputs, model_differences
from test_report import Report, shard

INTERMEDIATE_STEP = 10


def add_intermediates(graph):
    """Every tenth value that depends on the model's input becomes an output."""
    live = {value.name for value in graph.input}
    names = []
    for node in graph.node:
        if live.intersection(node.input):
            live.update(node.output)
            names.append(node.output[0])
    for name in names[INTERMEDIATE_STEP - 1::INTERMEDIATE_STEP]:
        if name != graph.output[0].name:
            graph.output.add().name = name
            graph.output[-1].type.tensor_type.elem_type = onnx.TensorProto.FLOAT


def run_model(runner, name, seed):
    """Returns the lines that say what is wrong, and a note."""
    model = light_weights.seeded_model(name)
    rng = np.random.default_rng(seed + 1000)
    shapes = [[d.dim_value for d in value.type.tensor_type.shape.dim]
              for value in model.graph.input]
    input_sets = [[rng.standard_normal(shape, np.float32) for shape in shapes] for _ in range(2)]
    wrong, notes = [], [f"{len(model.graph.initializer)} weights"]
    for intermediates in (False, True):
        if intermediates:
            add_intermediates(model.graph)
        content = model.SerializeToString()
        reply, got = runner.run(content, input_sets)
        if reply["error"]:
            return wrong + [f"{reply['stage']}: {reply['error']}"], "; ".join(notes)
        if reply["rejected"]:
            wrong.append(f"default schedules refused: {reply['rejected']}")
        want = reference.run(content, input_sets)
        worst, lines = model_differences([v.name for v in model.graph.output], got, want)
        wrong += lines
        if not intermediates:
            wrong += dull_outputs(want)
        notes.append(f"{len(model.graph.output)} outputs, error {worst:.2g}, {summary(reply)}")
    return wrong, "; ".join(notes)


def main(arguments):
    program, wanted = arguments[0], arguments[1:]
    report = Report("light_models")
    with CaseRunner(program, timeout_s=800) as runner:
        for seed, name in shard(enumerate(light_weights.names())):
            if not wanted or name in wanted:
                report.run(name, lambda name=name, seed=seed: run_model(runner, name, seed))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Attention of any shape, for several instruction sets, against ONNX Runtime.

usage: attention_models.py RUNNER [NAME...]

Each model is one attention as exporters write it: heads of [batch, tokens, heads, size] turned to
the front, scaled scores, a mask, softmax, the product with the values, heads turned back. It must
become one kernel; but turning one head or one token is a reshape, which copies the model's inputs.
"""

import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

import reference
from case_runner import CaseRunner, summary
from compare import dull_outputs, model_differences
from test_report import Report

# Queries, keys, heads, head size, and what stands around the scores.
MODELS = {
    "vit_197": (197, 197, 3, 64, {"scale"}),
    "clip_77_causal": (77, 77, 2, 64, {"scale", "causal"}),
    "vit_50": (50, 50, 4, 64, {"scale"}),
    "vit_257_heads_of_80": (257, 257, 2, 80, {"scale"}),
    "cross_50_of_77": (50, 77, 2, 40, {"scale", "mask"}),
    "few_tokens": (5, 9, 3, 32, {"mask"}),
    "one_query": (1, 197, 4, 64, {"scale"}),
    "one_query_one_head": (1, 33, 1, 64, set()),
    "one_head": (197, 50, 1, 32, set()),
    "whole_vectors": (48, 64, 4, 64, {"scale", "mask"}),
}

# This machine's, and two that are less than most machines, each with the flags that it needs (as
# /proc/cpuinfo writes them): a machine without them leaves that target out.
TARGETS = {
    None: set(),
    "cpu:arch=haswell,threads=2": {"abm", "avx2", "bmi1", "bmi2", "f16c", "fma"},
    "cpu:arch=x86-64-v2,threads=2": set(),
}


def cpu_flags():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        lines = [line for line in file if line.startswith("flags")]
    return set(lines[0].split()) if lines else set()


def attention(queries, keys, heads, size, around):
    """Returns the model, and the shapes of its inputs."""
    shapes = {"q": [1, queries, heads, size], "k": [1, keys, heads, size],
              "v": [1, keys, heads, size]}
    constants = []
    nodes = [helper.make_node("Transpose", ["q"], ["qt"], perm=[0, 2, 1, 3]),
             helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 3, 1]),
             helper.make_node("Transpose", ["v"], ["vt"], perm=[0, 2, 1, 3]),
             helper.make_node("MatMul", ["qt", "kt"], ["scores"])]

    def follow(op, other):
        nodes.append(helper.make_node(op, [nodes[-1].output[0], other], [f"s{len(nodes)}"]))

    if "scale" in around:
        constants.append(numpy_helper.from_array(np.float32(size ** 0.5), "root"))
        follow("Div", "root")
    if "mask" in around:
        shapes["mask"] = [1, 1, 1, keys]
        follow("Add", "mask")
    if "causal" in around:
        later = np.triu(np.full((queries, keys), -np.inf, np.float32), 1)
        constants.append(numpy_helper.from_array(later, "later"))
        follow("Add", "later")
    nodes += [helper.make_node("Softmax", [nodes[-1].output[0]], ["weights"], axis=-1),
              helper.make_node("MatMul", ["weights", "vt"], ["heads"]),
              helper.make_node("Transpose", ["heads"], ["out"], perm=[0, 2, 1, 3])]
    kind = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes, "attention",
        [helper.make_tensor_value_info(name, kind, shape) for name, shape in shapes.items()],
        [helper.make_tensor_value_info("out", kind, shapes["q"])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model, list(shapes.values())


def run_model(runner, name):
    """Returns the lines that say what is wrong, and a note."""
    model, shapes = attention(*MODELS[name])
    rng = np.random.default_rng(len(name))
    # Scores far below zero in one set: a softmax that saw the zeros of a padding would lose them.
    sets = [[rng.standard_normal(shape, np.float32) for shape in shapes] for _ in range(2)]
    sets[1][0] = sets[1][0] + 4
    sets[1][1] = sets[1][1] - 4
    content = model.SerializeToString()
    want = reference.run(content, sets)
    wrong, notes = dull_outputs(want), []
    for target, needed in TARGETS.items():
        if not needed <= cpu_flags():
            notes.append(f"{target}: not on this machine")
            continue
        reply, got = runner.run(content, sets, target)
        where = target or "this machine"
        if reply["error"]:
            wrong.append(f"{where}: {reply['stage']}: {reply['error']}")
            continue
        if reply["rejected"]:
            wrong.append(f"{where}: default schedules refused: {reply['rejected']}")
        queries, _, heads = MODELS[name][:3]
        if min(queries, heads) > 1 and reply["kernels"] != 1:
            wrong.append(f"{where}: {reply['kernels']} kernels, want one")
        worst, lines = model_differences(["out"], got, want)
        wrong += [f"{where}: {line}" for line in lines]
        notes.append(f"{where}: error {worst:.2g}, {summary(reply)}")
    return wrong, "; ".join(notes)


def main(arguments):
    program, names = arguments[0], arguments[1:] or list(MODELS)
    report = Report("attention_models")
    with CaseRunner(program, timeout_s=300) as runner:
        for name in names:
            report.run(name, lambda name=name: run_model(runner, name))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

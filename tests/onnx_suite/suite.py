"""ONNX's node suite, every case, compiled and run as a bundle.

usage: suite.py RUNNER [--names NAME,..] [--states FILE] [--page FILE] [--write]

Prints, by class of case, how many are right, wrong or refused, and each refusal. A wrong case fails.
--states: a committed table of states; a case whose state differs fails. --page: a page with the
counts between two marks; other counts fail. --write: writes table and counts instead.

A case is right if every output is close to the suite's at the case's own tolerances. Shapes are
static: symbolic dimensions get the extents of the case's inputs (--shape), and inputs that must be
known when a model is read (axes, pads, sizes) are fixed to the case's values
(--value).
"""

import argparse
import collections
import os
import re
import sys
import time

import numpy as np
from onnx import ModelProto, TensorProto, numpy_helper

import suite_cases
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e/models"))
from case_runner import CaseRunner  # noqa: E402
from compare import close_difference  # noqa: E402
from test_report import Report, shard  # noqa: E402

STATES = ("right", "wrong", "refused")
MARKS = ("<!-- counts of ./dev onnx-suite -->", "<!-- end of counts -->")
# What an import says of an input that shapes depend on.
NEEDS_VALUE = re.compile(r"\(input (\d+)\) must be known when the model is read")
# Cases whose expected outputs are rounding themselves. Of test_dft_inverse the imaginary parts are 0;
# the case has 1.9e-7 for them, which NumPy's f32 transform leaves, and allows 1e-7.
ATOL = {"test_dft_inverse": 5e-7, "test_dft_inverse_opset19": 5e-7}
# More than any case has inputs.
FIXED_MAX = 16


def as_array(value):
    """None for what is no tensor."""
    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value) if not isinstance(value, (list, dict)) and value is not None else None


def value_text(array):
    return ",".join(repr(v) for v in np.ravel(array).tolist()).replace("True", "1").replace(
        "False", "0")


def inputs_to_fix(case, error, fixed):
    """Names of inputs that a refusal asks for; none where it asks for nothing that is an input."""
    match = NEEDS_VALUE.search(error)
    if not match:
        return set()
    names = [value.name for value in case.model.graph.input]
    label = re.search(r"node '([^']*)' \((\w+)\)", error)
    for node in case.model.graph.node:
        if label and node.op_type == label[2] and int(match[1]) < len(node.input) and (
                node.name or (node.output[0] if node.output else "")) == label[1]:
            if node.input[int(match[1])] in names:
                return {node.input[int(match[1])]} - fixed
    # Behind other nodes or in a function: all short lists of integers.
    return {value.name for value in case.model.graph.input
            if value.type.tensor_type.elem_type in (6, 7)} - fixed


def run_case(runner, case):
    """(state, reason, names of the inputs that were fixed)."""
    inputs, wanted = case.data_sets[0]
    names = [value.name for value in case.model.graph.input]
    arrays = {name: as_array(value) for name, value in zip(names, inputs)}
    if any(array is None or array.dtype == object for array in arrays.values()):
        return "refused", "a sequence, an optional or strings", ()
    model = ModelProto.FromString(case.model.SerializeToString())
    for value in model.graph.input:
        shape = value.type.tensor_type.shape
        del shape.dim[:]
        for extent in arrays[value.name].shape:
            shape.dim.add().dim_value = extent
    fixed = set()
    while True:
        values = {name: value_text(arrays[name]) for name in sorted(fixed)}
        reply, sets = runner.run(model.SerializeToString(),
                                 [[arrays[name] for name in names if name not in fixed]],
                                 values=values)
        more = inputs_to_fix(case, reply["error"], fixed) if reply["error"] else set()
        if not more or len(fixed) > FIXED_MAX:
            break
        fixed |= more
    if reply["error"]:
        # A child that died or hung has not refused.
        refused = reply["stage"] != "process" and "INTERNAL" not in reply["error"]
        return "refused" if refused else "wrong", reply["error"], sorted(fixed)
    if reply["rejected"]:
        return "wrong", f"default schedule refused: {reply['rejected']}", sorted(fixed)
    if len(sets[0]) != len(wanted):
        return "wrong", f"{len(sets[0])} outputs, want {len(wanted)}", sorted(fixed)
    for k, want in enumerate(wanted):
        difference = close_difference(sets[0][k], as_array(want), case.rtol,
                                      ATOL.get(case.name, case.atol))
        if difference:
            return "wrong", f"output {k}: {difference}", sorted(fixed)
    return "right", "", sorted(fixed)


def short(reason):
    """A refusal as a line: without the path of the case's file, and of one length at most."""
    reason = re.sub(r"'/[^']*model\.onnx': ", "", reason)
    reason = re.sub(r"\s+\[type\.googleapis.*|\s*\[burnish/.*", "", reason, flags=re.DOTALL)
    return " ".join(reason.split())[:220]


def counts_table(states, cases):
    """Markdown: a row a class."""
    rows = collections.defaultdict(collections.Counter)
    for name, (state, _, _) in states.items():
        rows[suite_cases.class_of(cases[name])][state] += 1
    lines = ["| cases | all | right | wrong | refused |", "|---|---|---|---|---|"]
    order = {element: i for i, element in enumerate(suite_cases.ELEMENTS)}
    for row in sorted(rows, key=lambda text: (order[text.split(",")[0]], "expanded" in text, text)):
        counts = rows[row]
        lines.append(f"| {row} | {sum(counts.values())} | "
                     + " | ".join(str(counts[state]) for state in STATES) + " |")
    return lines


def read_states(path):
    """Lines "STATE NAME[: REASON]"."""
    states = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                state, rest = line.rstrip("\n").split(" ", 1)
                name, _, reason = rest.partition(": ")
                states[name] = (state, reason)
    return states


def write_states(path, states):
    with open(path, "w", encoding="utf-8") as file:
        file.write("# ONNX's node cases by state, from suite.py --write; see README.md.\n")
        for name in sorted(states):
            state, reason, _ = states[name]
            file.write(f"{state} {name}" + (f": {short(reason)}" if reason else "") + "\n")


def counts_on(page):
    """What the page says before, between and behind its marks."""
    with open(page, encoding="utf-8") as file:
        before, begin, rest = file.read().partition(MARKS[0] + "\n")
        counts, end, behind = rest.partition(MARKS[1])
    if not begin or not end:
        raise ValueError(f"{page} has no {MARKS[0]} .. {MARKS[1]}")
    return before + begin, counts, end + behind


def counts_differ(page, table):
    if counts_on(page)[1].strip() == "\n".join(table):
        return []
    return ["the page has other counts; ./dev onnx-suite --write"]


def write_counts(page, table):
    before, _, behind = counts_on(page)
    with open(page, "w", encoding="utf-8") as file:
        file.write(before + "\n".join(["", *table, "", behind]))


def difference_from(known, name, state, reason):
    want = known.get(name, ("unknown", ""))[0]
    if state == want:
        return []
    return [f"is {state}, the table says {want}; {short(reason)}",
            "if that is meant: ./dev onnx-suite --write"]


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("runner")
    parser.add_argument("--names", default="")
    parser.add_argument("--states", default="")
    parser.add_argument("--page", default="")
    parser.add_argument("--write", action="store_true")
    flags = parser.parse_args(arguments)
    start = time.monotonic()
    cases = suite_cases.all_cases()
    wanted = set(filter(None, flags.names.split(",")))
    names = [name for name in cases if not wanted or name in wanted]
    if wanted - set(cases):
        print(f"no such case: {', '.join(sorted(wanted - set(cases)))}")
        return 64
    known = read_states(flags.states) if flags.states and not flags.write else {}
    states, report = {}, Report("onnx_suite")
    with CaseRunner(flags.runner) as runner:
        for name in shard(names):
            def case(name=name):
                states[name] = run_case(runner, cases[name])
                state, reason, fixed = states[name]
                note = state + (f", --value {' '.join(fixed)}" if fixed else "")
                wrong = difference_from(known, name, state, reason) if known else []
                return wrong, f"{note}; {short(reason)}" if reason else note
            report.run(name, case)
    table = counts_table(states, cases)
    if flags.write:
        write_states(flags.states, states)
        write_counts(flags.page, table)
    elif flags.page:
        report.run("the page's counts", lambda: (counts_differ(flags.page, table), flags.page))
    print(*table, sep="\n")
    print(f"{sum(1 for s in states.values() if s[2])} cases with inputs that --value fixes; "
          f"{time.monotonic() - start:.0f} s")
    status = report.finish()
    return status or int(any(state == "wrong" for state, _, _ in states.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

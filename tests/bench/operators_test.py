"""What `./dev bench operators` decides by itself: rows, models, ratios, means, what is kept."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile

import numpy as np

BENCH = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(BENCH), str(BENCH / "harness"), str(BENCH.parent / "e2e" / "models")]
import operator_models
import operator_table
import operators
import summary
from test_report import Report

# What the suite was made for: it may grow, and none of these may go.
CLASSES = {"convolution", "stem_batch_16", "few_channels", "grouped", "depthwise", "convolution_1d",
           "convolution_3d", "transposed", "product", "product_run_time", "matrix_vector_batched",
           "attention", "attention_one_query", "softmax", "reduction", "argmax", "pool", "global_pool",
           "normalization", "prologue", "resize", "movement", "elementwise", "recurrent"}
ROWS_MIN = 80
# Arrays of a row: what a machine of 16 GiB runs four engines on.
ROW_BYTES_MAX = 256 << 20


def expect(lines, got, want, what):
    if got != want:
        lines.append(f"{what}: got {got!r}, want {want!r}")


def every_row_is_a_model_with_a_source():
    wrong, rows = [], operator_models.entries()
    expect(wrong, len(rows) >= ROWS_MIN, True, f"{len(rows)} rows")
    expect(wrong, CLASSES - {row["class"] for row in rows}, set(), "classes without a row")
    for row in rows:
        if not any(year in row["source"] for year in ("20", "YOLOv8")):
            wrong.append(f"{row['name']}: {row['source']!r} names no paper")
        size = sum(array.nbytes for array in operator_models.inputs(row).values())
        if size > ROW_BYTES_MAX:
            wrong.append(f"{row['name']}: {size} bytes of inputs")
        sizes = [int(np.prod([int(each) for each in text.split()[0].split("x")]))
                 for text in row["weights"].values() if not text.startswith("scalar")]
        if 4 * sum(sizes) > ROW_BYTES_MAX:
            wrong.append(f"{row['name']}: {4 * sum(sizes)} bytes of weights")
        if len(row["nodes"]) > 6:
            wrong.append(f"{row['name']}: {len(row['nodes'])} nodes are no single operator")
    return wrong, f"{len(rows)} rows"


def each_small_row_has_a_checked_model_with_known_shapes():
    """The large ones are made by the bench; their nodes are of the same few forms."""
    wrong, count = [], 0
    for row in operator_models.entries():
        weights = sum(len(text) > 12 for text in row["weights"].values())
        if weights > 1 or row["name"] in ("gpt2_head", "tinyllama_up_decode", "tinyllama_up_batch8",
                                          "llama2_7b_4096"):
            continue
        count += 1
        graph = operator_models.model(row).graph
        expect(wrong, [value.name for value in graph.input], list(row["inputs"]), row["name"])
        shape = [each.dim_value for each in graph.output[0].type.tensor_type.shape.dim]
        expect(wrong, 0 in shape, False, f"{row['name']}: an extent without a number")
    return wrong, f"{count} models"


ROW = """[[argmax]]
name = "one"
source = "2015"
inputs = { x = "2x3" }
nodes = ['y = ArgMax<axis=1>(x)']
"""


def a_row_that_is_wrong_is_refused_by_name():
    wrong = []
    for what, text, words in (("an unknown key", ROW + 'wieght = "1"\n', "wieght"),
                              ("no source", ROW.replace("source", "origin"), "source"),
                              ("the same name twice", ROW + ROW, "one")):
        try:
            operator_models.parse(text)
            wrong.append(f"{what}: taken")
        except ValueError as error:
            expect(wrong, words in str(error), True, f"{what}: {error}")
    return wrong, ""


def models_and_inputs_are_the_same_each_time():
    wrong, rows = [], operator_models.entries()
    row = next(each for each in rows if each["name"] == "dncnn_first")
    first, second = (operator_models.model(row).SerializeToString(deterministic=True) for _ in range(2))
    expect(wrong, first == second, True, "the model")
    a, b = (operator_models.inputs(row)["x"] for _ in range(2))
    expect(wrong, np.array_equal(a, b), True, "the inputs")
    other = operator_models.model({**row, "name": "another"}).SerializeToString(deterministic=True)
    expect(wrong, first == other, False, "another row's weights")
    spread = float(np.std(np.frombuffer(operator_models.model(row).graph.initializer[0].raw_data,
                                        np.float32)))
    expect(wrong, 0.8 < spread * 3 < 1.2, True, f"9 products an output, scaled by {spread}")
    return wrong, ""


def rows_are_chosen_by_class_and_name():
    wrong, rows = [], operator_models.entries()
    names = [row["name"] for row in operator_models.chosen(rows, "^argmax/")]
    expect(wrong, "greedy_words" in names and len(names) >= 3, True, f"a class: {names}")
    expect(wrong, len(operator_models.chosen(rows, "")), len(rows), "all")
    for pattern in ("no_such_row", "("):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            try:
                operators.parse_arguments(["--rows", pattern])
                wrong.append(f"{pattern!r}: taken")
            except SystemExit as ended:
                expect(wrong, ended.code, 2, f"{pattern!r}: {said.getvalue()}")
    return wrong, ""


def the_better_peer_is_the_reference_and_rounds_pair():
    wrong = []
    # The machine is twice as slow in the second round; ONNX Runtime is the faster one.
    rounds = {"ours": [[10.0], [20.0], [10.0]], "again": [[10.0], [22.0], [10.0]],
              "ort": [[5.0], [10.0], [5.0]], "openvino": [[8.0], [8.0], [8.0]]}
    got = summary.paired(rounds)
    expect(wrong, (got["reference"], got["ratio"], got["a_a"]), ("ort", 2.0, 1.0), "ONNX Runtime")
    got = summary.paired({**rounds, "openvino": [[2.0], [4.0], [2.5]]})
    expect(wrong, (got["reference"], got["ratio"]), ("openvino", 5.0), "OpenVINO")
    del rounds["openvino"]
    expect(wrong, summary.paired(rounds)["reference"], "ort", "one peer")
    return wrong, ""


def row(name, ratio, kind="pool", state="right"):
    return {"name": name, "class": kind, "state": state, "ratio": ratio, "interval": [ratio, ratio]}


def means_count_right_rows_and_failures_are_named():
    wrong = []
    rows = [row("a", 0.5), row("b", 2.0), row("c", 1.2, "argmax"), row("d", 9.0, "argmax", "wrong")]
    before = {each["name"]: each for each in (row("a", 1.0), row("b", 4.0), row("gone", 100.0))}
    got = operator_table.summarize(rows, before)
    expect(wrong, got["by_class"], {"pool": 1.0, "argmax": 1.2}, "by class")
    expect(wrong, got["slower"], {"1.1": 2, "1.25": 1}, "slower")
    expect(wrong, list(got["worst"]), ["b", "c", "a"], "worst first")
    expect(wrong, got["failures"], {"d": "wrong"}, "failures")
    expect(wrong, got["before"], {"rows": 2, "geometric_mean": 2.0, "now": 1.0}, "before")
    for word in ("d wrong", "worst: b 2.00", "of the 2 rows measured before: 2.000 before, 1.000 now"):
        expect(wrong, word in operator_table.summary_text(got), True, word)
    columns = {line.count("|") for line in operator_table.table(rows, before).splitlines()}
    expect(wrong, columns, {len(operator_table.HEADER) + 1}, "columns")
    nothing = operator_table.summary_text(operator_table.summarize([], {}))
    expect(wrong, "geometric mean of 0 rows none" in nothing, True, nothing)
    return wrong, ""


def a_second_run_measures_what_was_not_measured_so():
    wrong = []
    options = operators.parse_arguments(["--threads", "1", "--cpu-time"])
    wanted = operators.how(options, "abc")
    rows = [{"name": "kept", "ratio": 1.0, **wanted}, {"name": "kept", "ratio": 2.0, **wanted},
            {"name": "older", **wanted, "commit": "abd"}, {"name": "tuned", **wanted, "trials": 64},
            {"name": "threads", **wanted, "threads": 2}, {"name": "latency", **wanted, "measure": "latency"}]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "rows.jsonl"
        expect(wrong, operators.read(out, wanted), {}, "no file")
        out.write_text("".join(json.dumps(each) + "\n" for each in rows))
        got = operators.read(out, wanted)
        expect(wrong, {name: each["ratio"] for name, each in got.items()}, {"kept": 2.0}, "the last")
    expect(wrong, operators.machine_name("AMD EPYC 9R45 (c)"), "amd_epyc_9r45_c", "a file's name")
    return wrong, ""


CASES = (every_row_is_a_model_with_a_source, each_small_row_has_a_checked_model_with_known_shapes,
         a_row_that_is_wrong_is_refused_by_name, models_and_inputs_are_the_same_each_time,
         rows_are_chosen_by_class_and_name, the_better_peer_is_the_reference_and_rounds_pair,
         means_count_right_rows_and_failures_are_named, a_second_run_measures_what_was_not_measured_so)


def main():
    report = Report("bench_operators")
    for case in CASES:
        report.run(case.__name__, case)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())

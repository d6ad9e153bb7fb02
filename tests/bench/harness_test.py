"""What the benchmarks' Python decides by itself: no engine runs here and nothing is timed."""

import contextlib
import io
import pathlib
import sys
import tempfile
from unittest import mock

import numpy as np
import onnx
from onnx import helper, numpy_helper

BENCH = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(BENCH / "harness"), str(BENCH.parent / "e2e" / "models")]
import memory
import model_table
import peer
import train_on_digits
import weight_distributions
from test_report import Report

MIB = 1 << 20


def expect(lines, got, want, what):
    if got != want:
        lines.append(f"{what}: got {got!r}, want {want!r}")


def result(model="small"):
    def engine(median_ms):
        return {"median_ms": median_ms, "tensor_error": 2e-6}

    def start(memory_mib, first_output_ms):
        return {"memory_mib": memory_mib, "first_output_ms": first_output_ms}

    return {"model": model,
            "engines": {"burnish": engine(3.0), "openvino": engine(4.0), "ort": engine(5.0)},
            "median_ratio": {"to": "openvino", "ratio": 0.75, "interval_95": [0.7, 0.8]},
            "footprint": {"burnish": start(150, 90), "openvino": start(300, 400),
                          "ort": start(200, 180)}}


def rows_compare_with_the_better_peer_of_each_column():
    wrong = []
    expect(wrong, model_table.row("small", result()),
           "| small | 3.00 ms | 4.00 ms (openvino) | 0.750 (0.700 to 0.800) | 2.0e-06 | 150 MiB "
           "| 0.75 | 90 ms | 0.50 |", "row")
    without = result()
    del without["footprint"]
    expect(wrong, model_table.row("small", without).count("| - "), 4, "columns without a value")
    return wrong, ""


def a_model_that_fails_is_a_row():
    wrong = []
    lines = model_table.table({"a": {"error": "B0301 | no"}, "b": result("b")}).splitlines()
    expect(wrong, lines[2].startswith("| a | failed: B0301 / no |"), True, lines[2])
    expect(wrong, {line.count("|") for line in lines}, {len(model_table.HEADER) + 1}, "columns")
    return wrong, ""


def a_second_run_measures_only_what_is_missing():
    wrong, asked = [], []
    options = mock.Mock(all="a,b", batch=1, threads=2, weights="gaussian", rounds=1, seconds=1.0,
                        starts=0, peers=["ort"], db=None, accuracy=None, precision="f32",
                        quantizer="ort", json=True)

    def measure(_script, _arguments, model):
        asked.append(model)
        return {"error": "no"} if len(asked) == 1 else result(model)

    with tempfile.TemporaryDirectory() as folder, \
            contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), \
            mock.patch.object(model_table, "_measure_one", measure):
        options.out = f"{folder}/results"
        expect(wrong, model_table.run("models.py", options), 1, "exit code with a failure")
        expect(wrong, model_table.run("models.py", options), 0, "exit code of the second run")
        options.precision = "int8"
        model_table.run("models.py", options)
    expect(wrong, asked, ["a", "b", "a", "a", "b"], "measured models")
    return wrong, ""


def conv_graph():
    rng = np.random.default_rng(5)
    weights = {"w": rng.standard_normal((64, 32, 3, 3), np.float32) * 0.1,
               "b": rng.standard_normal(64, np.float32)}
    return helper.make_graph(
        [helper.make_node("Conv", ["x", "w", "b"], ["y"])], "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 32, 8, 8])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 64, 6, 6])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()])


def redrawn_weights_keep_their_size_and_get_heavy_tails():
    wrong, notes = [], []
    old = {t.name: numpy_helper.to_array(t) for t in conv_graph().initializer}
    for name in weight_distributions.DISTRIBUTIONS:
        graph, again = conv_graph(), conv_graph()
        expect(wrong, weight_distributions.redraw(graph, name, seed=1), 1, f"{name}: weights")
        weight_distributions.redraw(again, name, seed=1)
        new = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        same = {t.name: numpy_helper.to_array(t) for t in again.initializer}
        expect(wrong, np.array_equal(new["w"], same["w"]), True, f"{name}: the same again")
        expect(wrong, np.array_equal(new["b"], old["b"]), True, f"{name}: bias as it was")
        size = np.sqrt(np.mean(new["w"] ** 2) / np.mean(old["w"] ** 2))
        expect(wrong, bool(abs(size - 1) < 1e-3), True, f"{name}: root mean square, {size}")
        scales = np.std(np.log(np.std(new["w"], axis=(1, 2, 3))))  # Of channels.
        kurtosis = np.mean(new["w"] ** 4) / np.mean(new["w"] ** 2) ** 2  # 3: normal.
        expect(wrong, bool(0.7 < scales < 1.3), name == "lognormal", f"{name}: scales {scales}")
        expect(wrong, bool(kurtosis > 4), name != "gaussian", f"{name}: kurtosis {kurtosis}")
        notes.append(f"{name}: channel scales {scales:.2f}, kurtosis {kurtosis:.1f}")
    return wrong, "; ".join(notes)


def memory_counts_what_was_added_and_the_peak_of_what_is_gone():
    wrong = []

    def left_resident():
        before = memory.proportional()
        memory.touch_free(64 * MIB)
        return (memory.proportional() - before) / MIB

    # The least of three: a process that ends leaves this one its share of the libraries that both had.
    left = min(left_resident() for _ in range(3))
    if left > 4:
        wrong.append(f"touching free memory left {left:.1f} MiB resident")
    grown = memory.Growth()
    passing = np.ones(64 * MIB, np.uint8)
    del passing
    kept = np.ones(32 * MIB, np.uint8)
    now, peak = grown.now() / MIB, grown.peak() / MIB
    # Meanwhile the interpreter itself may take or give back a little.
    if not 30 <= now < 36:
        wrong.append(f"got {now:.1f} MiB now, want {kept.size / MIB:.0f} or nearly so")
    if not 60 <= peak < 72:
        wrong.append(f"got a peak of {peak:.1f} MiB, want 64")
    return wrong, f"{now:.1f} MiB, peak {peak:.1f} MiB"


def digits_become_pictures_by_lines_between_their_pixels():
    wrong = []
    size, step = train_on_digits.SIZE, train_on_digits.SIZE // 8
    ramp = np.broadcast_to(np.arange(8, dtype=np.float32) / 7, (1, 1, 8, 8))
    for name, images in (("columns", ramp), ("rows", ramp.swapaxes(2, 3))):
        got = train_on_digits.pictures(images)
        expect(wrong, got.shape, (1, 3, size, size), f"{name}: shape")
        line = (got[0, 1, 5] if name == "columns" else got[0, 1, :, 5]) * 0.35 + 0.3
        # Between the middles of the first and the last pixel; flat outside of them.
        want = (np.arange(size) + 0.5) / step - 0.5
        want = np.clip(want, 0, 7) / 7
        expect(wrong, bool(np.allclose(line, want, atol=1e-6)), True, f"{name}: {line}")
    return wrong, ""


def a_turn_has_an_inference_even_if_it_is_over_before():
    got = peer.turn(lambda arrays: arrays, [], 0)
    wrong = [] if len(got["latency_ns"]) == 1 else [f"got {got['latency_ns']}, want one latency"]
    return wrong, ""


CASES = (a_turn_has_an_inference_even_if_it_is_over_before,
         rows_compare_with_the_better_peer_of_each_column, a_model_that_fails_is_a_row,
         a_second_run_measures_only_what_is_missing,
         redrawn_weights_keep_their_size_and_get_heavy_tails,
         memory_counts_what_was_added_and_the_peak_of_what_is_gone,
         digits_become_pictures_by_lines_between_their_pixels)


def main():
    report = Report("bench_harness")
    for case in CASES:
        report.run(case.__name__, case)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())

"""What `./dev bench real` decides by itself: what is right, what is a failure, what is counted."""

import pathlib
import sys
import tempfile
import types
from unittest import mock

import numpy as np
import onnx
from onnx import TensorProto, helper

BENCH = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(BENCH), str(BENCH / "harness"), str(BENCH.parent / "e2e" / "models")]
import limited
import real
import real_inputs
import real_judge
import real_models
import real_store
from test_report import Report

WANT = np.array([0.0, 1.0, 3.0], np.float32)  # A range of 3.


def expect(lines, got, want, what):
    if got != want:
        lines.append(f"{what}: got {got!r}, want {want!r}")


def state(got, want=WANT, optimised=None):
    return real_judge.judge([got], [want], [want if optimised is None else optimised])["state"]


def an_error_is_a_share_of_the_range():
    wrong = []
    expect(wrong, state(WANT + np.float32(0.0029)), "right", "below 1e-3 of 3")
    expect(wrong, state(WANT + np.float32(0.0031)), "wrong", "above 1e-3 of 3")
    far = WANT + 1000
    expect(wrong, state(far + np.float32(0.01), far), "wrong", "an offset is no range")
    same = np.full(3, 5.0)
    expect(wrong, state(same + 0.004, same), "right", "of equal values, their magnitude")
    expect(wrong, state(same + 0.006, same), "wrong", "of equal values, beyond it")
    return wrong, ""


def the_floor_is_the_spread_of_the_reference():
    wrong = []
    other = WANT + np.float32(0.03)
    expect(wrong, state(WANT - np.float32(0.02), optimised=other), "right", "within the spread")
    expect(wrong, state(WANT - np.float32(0.04), optimised=other), "wrong", "beyond it")
    expect(wrong, state(WANT + np.float32(1), optimised=WANT[:2]), "wrong", "a reference of two shapes")
    # The spread of one output is no floor of another.
    got = real_judge.judge([WANT, WANT + np.float32(0.02)], [WANT, WANT], [other, WANT])
    expect(wrong, got["state"], "wrong", "another output's spread")
    return wrong, ""


def shapes_and_values_that_are_not_finite_must_agree():
    wrong = []
    expect(wrong, state(WANT.reshape(1, 3)), "wrong", "another shape")
    expect(wrong, real_judge.judge([WANT], [WANT, WANT], [WANT, WANT])["state"], "wrong", "too few")
    infinite = np.array([0.0, np.inf, np.nan], np.float32)
    expect(wrong, state(infinite, infinite), "right", "the same ones")
    expect(wrong, state(WANT, infinite), "wrong", "finite for infinite")
    expect(wrong, state(infinite, WANT), "wrong", "infinite for finite")
    whole = np.array([1, 2, 3])
    expect(wrong, state(np.array([1, 2, 4]), whole), "wrong", "a class that differs")
    expect(wrong, state(np.zeros((0, 4)), np.zeros((0, 4))), "right", "nothing")
    return wrong, ""


def detections(scores, labels=(1, 2, 3), boxes=((0, 0, 9, 9), (10, 0, 99, 9), (0, 20, 9, 99))):
    return [np.array(boxes, np.float32), np.array(scores, np.float32), np.array(labels)]


def detections_are_a_list_by_score():
    def judged(got, want, optimised=None):
        return real_judge.judge(got, want, optimised or want)["state"]

    def at(outputs, *order):
        return [each[list(order)] for each in outputs]

    wrong = []
    tie, apart = detections((0.9, 0.50001, 0.5)), detections((0.9, 0.6, 0.5))
    swapped = at(detections((0.9, 0.5, 0.50001)), 0, 2, 1)
    expect(wrong, judged(swapped, tie), "right", "a tie in another order")
    expect(wrong, judged(at(apart, 0, 2, 1), apart), "wrong", "another order without a tie")
    expect(wrong, judged(at(tie, 0, 2, 1), apart), "wrong", "scores of others")
    expect(wrong, judged(detections((0.9, 0.50001, 0.5), (1, 3, 2)), tie), "wrong", "labels changed")
    expect(wrong, judged([swapped[0], swapped[1], tie[2]], tie), "wrong", "labels of other boxes")
    far = [swapped[0] + np.float32(0.2), *swapped[1:]]
    expect(wrong, judged(far, tie), "wrong", "boxes elsewhere")
    near = [tie[0] + np.float32(0.3), *tie[1:]]
    expect(wrong, judged(far, tie, near), "right", "within the reference's spread")
    twice = detections((0.9, 0.50001, 0.5), boxes=((0, 0, 9, 9), (10, 0, 99, 9), (10, 0, 99, 9)))
    expect(wrong, judged(twice, tie), "wrong", "one box twice, another one lost")
    expect(wrong, judged(at(tie, 0, 1), tie), "wrong", "one too few")
    expect(wrong, judged(at(apart, 0, 2, 1), apart, at(apart, 0, 1)), "wrong", "a reference of two lengths")
    none = [each[:0] for each in tie]
    expect(wrong, judged(none, none), "right", "nothing found")
    # No list of detections: rows have their places.
    rows = [tie[0], tie[1]]
    expect(wrong, judged(at(rows, 0, 2, 1), rows), "wrong", "no labels")
    return wrong, ""


def row(name, found, apart=False, ratio=None):
    return {"name": name, "kind": "text", "source": "p==1", "state": found, "apart": apart,
            "ratio": ratio, "interval": [ratio, ratio], "others_percent": 0.0, "stolen_percent": 0.0}


def failures_stay_in_the_denominator():
    wrong = []
    rows = [row("a", "right", ratio=0.5), row("b", "right", ratio=0.7), row("c", "right", ratio=1.2),
            *(row(each, each) for each in real_judge.FAILURES),
            row("i", "refused", apart=True), row("j", "right", apart=True, ratio=9.0),
            row("k", "not exported"), row("l", "no reference")]
    got = real_judge.summarize(rows)
    expect(wrong, (got["right"], got["models"]), (3, 8), "right of all")
    expect(wrong, got["failures"], {each: 1 for each in real_judge.FAILURES}, "failures")
    expect(wrong, got["median_ratio"], 0.7, "median over right models only")
    expect(wrong, got["slower"], {"c": 1.2}, "slower")
    expect(wrong, (got["apart"], got["no_model"]), (2, ["k", "l"]), "outside")
    expect(wrong, real_judge.summarize([])["right_share"], 0.0, "of nothing")
    return wrong, ""


def a_failure_is_a_row_with_its_reason():
    wrong = []
    failed = row("a", "refused") | {"detail": "B0302 | no\nsuch", "compile_seconds": 1.0}
    lines = real_judge.table([failed, row("b", "right", ratio=0.5)]).splitlines()
    expect(wrong, "refused: B0302 / no such" in lines[2], True, lines[2])
    expect(wrong, {line.count("|") for line in lines}, {len(real_judge.HEADER) + 1}, "columns")
    return wrong, ""


def eight_bits_are_apart_but_bytes_are_not():
    def model(nodes, kind=TensorProto.FLOAT):
        values = [helper.make_tensor("w", kind, [1], [1])]
        return helper.make_model(helper.make_graph(nodes, "g", [], [], values))

    branch = helper.make_graph([helper.make_node("MatMulInteger", ["x", "w"], ["y"])], "b", [], [])
    wrong = []
    for what, found, want in (
            ("float", model([]), False),
            ("bytes", model([helper.make_node("Cast", ["x"], ["y"], to=TensorProto.UINT8)],
                            TensorProto.INT64), False),
            ("f16 weights", model([], TensorProto.FLOAT16), True),
            ("a cast to f16", model([helper.make_node("Cast", ["x"], ["y"],
                                                      to=TensorProto.FLOAT16)]), True),
            ("in a branch", model([helper.make_node("If", ["c"], ["y"], then_branch=branch,
                                                    else_branch=branch)]), True)):
        expect(wrong, real_models.is_low_precision(found), want, what)
    return wrong, ""


def the_lists_can_be_read():
    wrong, entries = [], real_models.entries()
    names = [entry["name"] for entry in entries]
    expect(wrong, len(names), len(set(names)), "names")
    expect(wrong, len(entries) >= 50, True, f"{len(entries)} models")
    for entry in entries:
        for name, value in real_inputs.parse(entry).items():
            array = value.array(name, np.float32)
            if array.shape != tuple(value.shape) or value.how not in real_inputs.MAKERS:
                wrong.append(f"{entry['name']}: {name}")
        if "file" in entry and (len(entry["sha256"]) != 64 or "==" not in entry["package"]):
            wrong.append(f"{entry['name']}: is not pinned")
    first, second = (real_inputs.Input("2x3 normal").array("x", np.float32) for _ in range(2))
    expect(wrong, first.tolist(), second.tolist(), "the same seed")
    return wrong, f"{len(entries)} models"


def a_child_has_limits():
    wrong = []
    slow = limited.run([sys.executable, "-c", "import time; time.sleep(60)"], 0.5, 1 << 30)
    expect(wrong, slow.limit, "time", "a slow one")
    fill = "x = b'x' * (200 << 20)\nimport time; time.sleep(60)"
    expect(wrong, limited.run([sys.executable, "-c", fill], 30, 100 << 20).limit, "memory", "a large one")
    good = limited.run([sys.executable, "-c", "print(1); raise SystemExit(3)"], 30, 1 << 30)
    expect(wrong, (good.code, good.limit, good.out), (3, "", "1\n"), "a good one")
    return wrong, ""


def made(folder, state=None, got=WANT):
    """A folder as `real.measure` leaves it, of a model whose result is `got`."""
    real_store.write(folder / real_store.ROW, row("a", state) if state else
                     {"name": "a", "kind": "text", "source": "p==1", "apart": False})
    for part, engine, output in (("ours", real.OURS, got), ("theirs", real.PLAIN, WANT),
                                 ("theirs", real.OPTIMISED, WANT)):
        (folder / part).mkdir(exist_ok=True)
        np.savez(folder / part / f"{engine}.npz", **{"0": output})


def what_is_kept_is_judged_when_it_is_read():
    wrong = []
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place) / "a-2"
        expect(wrong, real.judged(folder), {}, "nothing kept")
        made(folder)
        expect(wrong, real.judged(folder)["state"], "right", "equal outputs")
        made(folder, got=WANT + 1)
        expect(wrong, real.judged(folder)["state"], "wrong", "other outputs")
        made(folder, "refused")
        expect(wrong, real.judged(folder)["state"], "refused", "no outputs")
        timing = {"ratio": 0.5, "interval": [0.4, 0.6], "a_a": 1.0, "others_percent": 1.0,
                  "stolen_percent": 0.0}
        made(folder)
        real_store.write(folder / real_store.TIMING, timing)
        expect(wrong, real_judge.is_timed(real.judged(folder)), True, "timed")
        real_store.write(folder / real_store.TIMING, timing | {"others_percent": 14.0,
                                                               "stolen_percent": 2.0})
        found = real.judged(folder)
        expect(wrong, real_judge.is_timed(found), False, "timed beside other work")
        expect(wrong, "disturbed" in real_judge.row_text(found), True, "and it says so")
        expect(wrong, real_judge.summarize([found])["disturbed"], ["a"], "and is named")
    return wrong, ""


def a_key_is_of_all_that_a_bundle_comes_from():
    inputs = types.SimpleNamespace(arrays={"x": np.ones(2)}, shapes=["x=2"], values={})
    wrong, keys = [], []
    with tempfile.TemporaryDirectory() as place, \
            mock.patch.object(real_store.machine, "output", lambda target: pathlib.Path(place) / target):
        def key(threads=2, said="0123456789ab", does="compiles", model=b"m"):
            real_store._program_hash.cache_clear()
            tuner = pathlib.Path(place) / "tuner"
            tuner.write_text(f"#!/bin/sh\necho tuner {said}\n# {does}\n")
            tuner.chmod(0o755)
            (pathlib.Path(place) / "model").write_bytes(model)
            return real_store.key("tuner", [], pathlib.Path(place) / "model", inputs, threads)

        first = key()
        expect(wrong, key(said="ba9876543210"), first, "another commit, the same program")
        keys = [first, key(does="compiles well"), key(threads=1), key(model=b"n")]
        inputs.shapes = ["x=3"]
        keys.append(key())
        inputs.arrays = {"x": np.zeros(2)}
        keys.append(key())
    expect(wrong, len(set(keys)), len(keys), "keys")
    return wrong, ""


CASES = (an_error_is_a_share_of_the_range, the_floor_is_the_spread_of_the_reference,
         shapes_and_values_that_are_not_finite_must_agree, detections_are_a_list_by_score,
         failures_stay_in_the_denominator,
         a_failure_is_a_row_with_its_reason, eight_bits_are_apart_but_bytes_are_not,
         the_lists_can_be_read, a_child_has_limits, what_is_kept_is_judged_when_it_is_read,
         a_key_is_of_all_that_a_bundle_comes_from)


def main():
    report = Report("bench_real")
    for case in CASES:
        report.run(case.__name__, case)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())

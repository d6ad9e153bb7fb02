"""Random programs of ATen's operators in torch.compile(backend="burnish"), against eager: a part by seed, what failed before,
and each operator that takes an index, or numbers that are infinite or none."""

import functools
import sys
from unittest import mock

sys.path[:0] = ["python/tests", "tests/torch_fuzz"]

import torch_harness  # noqa: E402

torch_harness.start(__file__)

import fuzz  # noqa: E402
import generator  # noqa: E402
import program  # noqa: E402
import rows  # noqa: E402
import torch  # noqa: E402
from burnish._torch import registry  # noqa: E402

GRAPHS, SEED = 300, 0


def test_goldens():
    wrong = fuzz.replay()
    assert not wrong, wrong


def test_walks_are_right_and_call_every_converter():
    """But those of which the table says why not."""
    called = set()

    def counted(name, convert):
        @functools.wraps(convert)  # Whose parameters the importer looks at.
        def call(*args, **kwargs):
            result = convert(*args, **kwargs)
            called.add(name)
            return result
        return call

    counting = {name: counted(name, convert) for name, convert in registry.CONVERTERS.items()}
    with mock.patch.dict(registry.CONVERTERS, counting):
        assert fuzz.run(fuzz.walks(("float32",)), "walk") == 0
    missing = {name for name in counting if name.startswith("aten.")} - called
    assert missing == set(rows.WITHOUT), (f"no row, nor a reason in rows.WITHOUT: {sorted(missing - set(rows.WITHOUT))}; "
                                          f"a reason beside a row: {sorted(set(rows.WITHOUT) - missing)}")


def test_random_programs():
    assert fuzz.run(fuzz.groups(GRAPHS, SEED), SEED) == 0


def test_a_difference_is_found_and_made_small():
    """The oracle can fail: of a program whose one step is computed as another."""
    one = program.Program([program.Input([1.0, -2.0, 3.0], [3], "float32")],
                          [program.Step("aten.neg.default", [program.Ref(0)], {}),
                           program.Step("aten.abs.default", [program.Ref(1)], {}),
                           program.Step("aten.relu.default", [program.Ref(0)], {})], [2, 3])

    class Wrong(fuzz.Judge):
        def _compiled(self, function, programs):
            run = super()._compiled(function, programs)
            calls = [any(step.op == "aten.abs.default" for step in one.steps) for one in programs]
            return (lambda *given: [value + 1 for value in run(*given)]) if any(calls) else run

    small, why = fuzz.reduced(Wrong(), one)
    assert "output 0 at [0]: got 2" in why and [step.op for step in small.steps] == ["aten.abs.default"], (why, small)
    want = program.answer(one)
    assert not program.difference([torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 0.0, 3.0]), one.inputs[0].tensor()], want)
    for got in (torch.tensor([1.0, 2.0, 4.0]), torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0, 3.0]).double()):
        assert program.difference([got, torch.tensor([1.0, 0.0, 3.0]), one.inputs[0].tensor()], want), got
    assert len(generator.beyond(3, "int64")) > len(generator.beyond(3, "int32"))


torch_harness.run_cases(__name__)

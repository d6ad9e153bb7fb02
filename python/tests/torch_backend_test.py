"""torch.compile(model, backend="burnish"): what is right, what stays in PyTorch, and what is said of it."""

import torch_harness

torch_harness.start(__file__)

import contextlib  # noqa: E402
import copy  # noqa: E402
import dataclasses  # noqa: E402
import glob  # noqa: E402
import math  # noqa: E402
import multiprocessing  # noqa: E402
import os  # noqa: E402
import pathlib  # noqa: E402
import pickle  # noqa: E402
import re  # noqa: E402
import resource  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import threading  # noqa: E402
from unittest import mock  # noqa: E402

import torch  # noqa: E402
from torch import nn  # noqa: E402

import burnish  # noqa: E402
from burnish import _programs  # noqa: E402
from burnish._torch import backend, pieces, reader, weights  # noqa: E402
from burnish._torch.options import Options, options_of  # noqa: E402
from torch_harness import close, raised, said  # noqa: E402


def compiled(model, **options):
    torch._dynamo.reset()
    for piece in pieces.live_pieces():
        piece.stale = True  # Of an earlier case: not this one's.
    return torch.compile(model, backend="burnish", options=options)


def live():
    return [piece for piece in pieces.live_pieces() if not hasattr(piece, "stale")]


def bundles():
    return [bundle for piece in live() for bundle in piece.bundles.values() if bundle.model is not None]


def check(function, *inputs, count=1, **options):
    """`function` compiled, whole unless `count` says that nothing is; results and inputs as in eager."""
    run = compiled(function, **options)
    for _ in range(2):
        given, expected = copy.deepcopy(inputs), copy.deepcopy(inputs)
        with torch.no_grad(), said() as lines:
            got, want = run(*given), function(*expected)
        assert not lines, lines
        for g, w in zip(got if isinstance(got, tuple) else (got,),
                        want if isinstance(want, tuple) else (want,), strict=True):
            if isinstance(w, torch.Tensor):
                close(g, w)
                assert g.stride() == w.stride(), (g.stride(), w.stride())
            else:
                assert g == w, (g, w)
        for g, w in zip(given, expected):
            if isinstance(w, torch.Tensor):
                assert torch.equal(g, w), "an input is not what eager leaves"
    assert len(bundles()) == count, (len(bundles()), count)
    return run


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4), nn.Softmax(-1)).eval()


def convolutions():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
                         nn.Conv2d(8, 4, 3)).eval()


# ---- How it is found, and its options.

def test_found_without_an_import_of_burnish():
    code = ("import sys, torch\n"
            "assert 'burnish' in torch._dynamo.list_backends(exclude_tags=()), 'not listed'\n"
            "assert 'burnish' not in sys.modules\n"
            "from torch._dynamo.backends.registry import lookup_backend\n"
            "assert lookup_backend('burnish').__module__ == 'burnish._torch.backend'")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_options():
    raised(lambda: compiled(mlp(), frezee="full")(torch.ones(1, 6)), Exception, "unknown option 'frezee'",
           "freeze")
    raised(lambda: compiled(mlp(), fallback="onnx")(torch.ones(1, 6)), Exception, "eager, inductor")
    os.environ["BURNISH_TORCH_SIZES"] = "many"
    try:
        raised(lambda: compiled(mlp())(torch.ones(1, 6)), Exception, "BURNISH_TORCH_SIZES", "many")
        os.environ["BURNISH_TORCH_SIZES"] = "3"
        assert options_of({}).sizes == 3 and options_of({"sizes": 5}).sizes == 5
    finally:
        del os.environ["BURNISH_TORCH_SIZES"]


# Of each option what it may be, and what not.
OPTION_VALUES = {
    "fallback": (["eager", "inductor", "error"], ["", "onnx", None, True]), "strict": ([True, False], [1, "yes", None]),
    "freeze": (["sample", "full", "none"], ["all", None]), "first": (["wait", "eager"], ["later", None]),
    "tune": (["off", "now", "background", "farm:host:7171", "farm:[::1]:1"],
             ["on", True, None, "farm:", "farm:host", "farm:host:", "farm::7171", "farm:host:port", "farm:host:0", "farm:host:65536"]),
    "trials": ([-1, 0, 500, None], [-2, 1.5, "7", True]), "time": (["90s", "1.5m", "1h30m", None], ["", "soon", "-1s", 90, "0s", "5"]),
    "scheduler": (["burnish", "templates", "generator", "auto_scheduler", "meta_schedule", None], ["foo", "", "default", 3]),
    "sizes": ([1, 8], [0, -1, None, 2.0, True]), "size_limit": ([0, 64, None], [-1, "64", False]),
    "threads": ([1, 4, None], [0, -1, 2.5, True]), "opt_level": ([0, 3, None], [-1, 4, "3", True]),
    "accuracy": ([1e-3, 1, "strict", None], [0, -1.0, math.inf, math.nan, "exact", True]),
    "precision": (["f32", "bf16", "f16", "auto"], ["int8", "f64", None]), "database": (["x.db", pathlib.Path("x.db"), None], [3, True]),
    "cache": ([True, False], [0, "no", None]), "dump": (["graphs", pathlib.Path("graphs"), None], [1, True])}


def test_each_option_takes_what_it_says():
    assert set(OPTION_VALUES) == {field.name for field in dataclasses.fields(Options)}
    for name, (right, wrong) in OPTION_VALUES.items():
        # What is of a study has no effect without one.
        beside = {"tune": "now"} if name in ("trials", "time", "scheduler") else {}
        for value in right:
            assert getattr(options_of({**beside, name: value}), name) == value, (name, value)
        for value in wrong:
            error = raised(lambda value=value: options_of({**beside, name: value}), ValueError, f"option {name}", repr(value))
            assert ", want " in str(error), error
    error = raised(lambda: options_of({"tune": "now", "scheduler": "foo"}), ValueError, "option scheduler")
    assert all(one in str(error) for one in OPTION_VALUES["scheduler"][0] if one), error


def test_options_without_an_effect_are_refused():
    """By an error that says what to set as well."""
    for given, *texts in (({"trials": 7}, "option trials", 'tune="now"'), ({"time": "30m"}, "option time", 'tune="background"'),
                          ({"scheduler": "burnish"}, "option scheduler", 'tune="farm:HOST:PORT"'),
                          ({"strict": True, "first": "eager"}, "option strict", 'first="wait"'),
                          ({"strict": True, "fallback": "inductor"}, "option strict", "inductor")):
        raised(lambda given=given: options_of(given), ValueError, *texts)
    with mock.patch.dict(os.environ, {"BURNISH_TORCH_TRIALS": "7"}):
        raised(lambda: options_of({}), ValueError, "option trials")


def test_options_are_refused_by_torch_compile():
    """By the first call where a backend of somebody else's calls ours."""
    raised(lambda: compiled(mlp(), scheduler="foo"), ValueError, "burnish, templates, generator")
    raised(lambda: compiled(mlp(), schedular="burnish"), ValueError, "unknown option 'schedular'", "scheduler")
    raised(lambda: torch.compile(mlp(), backend="burnish", mode="max-autotune"), ValueError, "no modes")
    raised(lambda: torch.compile(mlp(), backend="burnish", fullgraph=True, options={"tune": "no"}), ValueError, "option tune")
    for name, given, *texts in (("auto_scheduler", {}, 'tune="now"'), ("meta_schedule", {"scheduler": "burnish"}, "want backend burnish"),
                                ("nop", {"dump": "x"}, "no option 'dump'"), ("print", {"dump": "x"}, "no option 'dump'"),
                                ("check", {"trials": 7}, "no option 'trials'"), ("check", {"dump": 7}, "option dump")):
        raised(lambda: torch.compile(mlp(), backend=f"burnish_{name}", options=given), ValueError, *texts)
    with mock.patch.dict(os.environ, {"BURNISH_TORCH_TRIALS": "7"}):
        raised(lambda: compiled(mlp()), ValueError, "option trials")
    compiled(mlp(), tune="now", scheduler="templates")
    run = torch.compile(mlp(), backend=lambda module, inputs: backend.burnish(module, inputs, options={"scheduler": "foo"}))
    raised(lambda: run(torch.ones(1, 6)), Exception, "burnish, templates, generator")
    torch._dynamo.reset()


def test_each_option_from_the_environment():
    wanted = {"fallback": "error", "strict": True, "freeze": "full", "first": "wait", "tune": "farm:host:7171",
              "trials": 7, "time": "30m", "scheduler": "auto_scheduler", "sizes": 3, "size_limit": 64, "threads": 1,
              "opt_level": 2, "accuracy": 1e-3, "precision": "bf16", "database": "studies.db", "cache": False,
              "dump": "graphs"}
    assert set(wanted) == {field.name for field in dataclasses.fields(Options)}
    variables = {f"BURNISH_TORCH_{name.upper()}": str(int(value)) if isinstance(value, bool) else str(value)
                 for name, value in wanted.items()}
    with mock.patch.dict(os.environ, variables):
        assert options_of(None) == Options(**wanted)
        assert options_of({"accuracy": "strict"}).accuracy == "strict"
    with mock.patch.dict(os.environ, {"BURNISH_TORCH_FALLBACK": "error"}):
        raised(lambda: compiled(mlp())(torch.ones(1, 6)), Exception, "would stay in PyTorch", "gradients")


def test_dump_can_be_compiled():
    with tempfile.TemporaryDirectory() as folder:
        check(mlp(), torch.randn(2, 6), dump=folder)
        graphs, texts = glob.glob(folder + "/*.graph"), glob.glob(folder + "/*.txt")
        assert len(graphs) == 1 and len(texts) == 1, os.listdir(folder)
        assert burnish.compile(graphs[0]).outputs[0].shape == (2, 4)


def test_threads_and_levels():
    check(mlp(), torch.randn(2, 6), threads=1, opt_level=0, accuracy="strict")
    assert [bundle.model.thread_count for bundle in bundles()] == [1]


# ---- Inputs and outputs.

def test_network():
    check(convolutions(), torch.randn(2, 3, 9, 7))


def test_strided_and_channels_last():
    x = torch.randn(2, 3, 8, 8)
    check(convolutions(), x.to(memory_format=torch.channels_last))
    check(convolutions(), torch.randn(2, 3, 8, 16)[..., ::2])
    check(convolutions().to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last))
    check(lambda x: (x.t() * 2, x.expand(3, 4, 5) + 0), torch.randn(4, 5))


def test_scalars_bools_integers():
    check(lambda x, y: (x * y, x > y, x.sum()), torch.tensor(3.0), torch.tensor(2.0))
    check(lambda m, x: torch.where(m, x, -x), torch.tensor([True, False, True]), torch.arange(3))
    check(lambda x, n: x * n + 1, torch.randn(3), 4)


def test_empty_tensors_stay_in_pytorch():
    run = compiled(lambda x: (x * 2).relu() + 1)
    with torch.no_grad(), said():
        assert run(torch.empty(0, 3)).shape == (0, 3)
    assert not bundles()


def test_aliased_and_mutated_inputs():
    x = torch.randn(3, 4)
    check(lambda a, b: a * b + a, x, x)

    def adds(a, b):
        a.add_(b)
        return a * 2

    check(adds, x, torch.ones(3, 4))
    whole = torch.zeros(8)
    run = compiled(adds)
    with torch.no_grad():
        got = run(whole[:4], whole[4:])
        whole[4:] = 1
        got = run(whole[:4], whole[4:])
    assert torch.equal(got, torch.full((4,), 2.0)) and torch.equal(whole, torch.ones(8)), whole

    def doubles(a, b):
        a.mul_(2)
        return b + 1

    overlapping, expected = torch.arange(6.0), torch.arange(6.0)
    with torch.no_grad():
        close(compiled(doubles)(overlapping[:4], overlapping[2:]), doubles(expected[:4], expected[2:]))
    assert torch.equal(overlapping, expected)


def test_views_as_outputs():
    check(lambda x: (x * 2).reshape(2, 6).t(), torch.randn(3, 4))
    check(lambda x: (x[1:], x + 1), torch.randn(3, 4))

    def many(x):
        y = x * 2
        return y, y[0], y, x, 7, None

    run = check(many, torch.randn(3, 4))
    x = torch.randn(3, 4)
    with torch.no_grad():
        y, row, _, same, _, _ = run(x)
        assert same is x
        y += 1
        close(row, x[0] * 2 + 1)  # A view still.


def test_results_outlive_the_next_call():
    run = compiled(mlp())
    with torch.no_grad():
        a, b = torch.randn(2, 6), torch.randn(2, 6)
        first = run(a)
        kept = first.clone()
        run(b)
        assert torch.equal(first, kept)


def test_views_and_scalars_as_inputs():
    x = torch.randn(4, 6)
    check(lambda a, b: (a * 2 + b, a.sum()), x[1:3], x.t()[:, 2])
    check(lambda a, b: a * b - b, x[2, 3], x)
    check(lambda a: (a + 1).relu() * 2, x.as_strided((3, 4), (2, 1)))  # Rows overlap.
    check(lambda a, b: a * 2 + b, x.unsqueeze(0).expand(2, 4, 6), torch.ones(()))


def test_a_result_that_is_a_scalar_or_a_parameter():
    check(lambda x: (x.mean(), x.argmax(), (x > 0).all()), torch.randn(3, 5))
    model = nn.Linear(3, 3)
    run = compiled(lambda x: (model(x).relu() + 1, model.weight))
    with torch.no_grad():
        assert run(torch.randn(2, 3))[1] is model.weight


# ---- Modes.

def test_inference_mode():
    model, x = mlp(), torch.randn(2, 6)
    run = compiled(model)
    with torch.inference_mode():
        y = run(x)
        assert y.is_inference()
        close(y, model(x))
    assert len(bundles()) == 1
    run = compiled(model)
    with torch.inference_mode():
        inside = torch.randn(2, 6)
        close(run(inside), model(inside))


def test_gradients_are_pytorchs_and_named():
    model, x = mlp(), torch.randn(2, 6)
    run = compiled(model)
    with said() as lines:
        run(x).sum().backward()
    assert model[0].weight.grad is not None and not bundles()
    assert len(lines) == 1 and "gradients" in lines[0] and "eager" in lines[0], lines
    with torch.no_grad():
        close(run(x), model(x))  # The same model, where it needs none.
    assert len(bundles()) == 1
    raised(lambda: compiled(model, strict=True)(x), Exception, "gradients")
    raised(lambda: compiled(model, fallback="error")(x), Exception, "would stay in PyTorch", "gradients")
    with torch.no_grad():  # What is left out around pieces is no whole graph.
        run = compiled(lambda x: torch.linalg.det((x @ x).relu() * 2) * (x @ x).relu().sin(), fallback="error")
        run(torch.ones(3, 3))


def test_training_by_inductor():
    model, x = mlp(), torch.randn(2, 6)
    run = compiled(model, fallback="inductor")
    with said() as lines:
        run(x).sum().backward()
    assert "inductor" in lines[0], lines
    assert model[0].weight.grad is not None


def test_grad_mode_without_gradients():
    with said() as lines:
        close(compiled(lambda x: (x * 2).relu() + 1)(torch.ones(3)), torch.full((3,), 3.0))
    assert not lines and len(bundles()) == 1, lines


# ---- What stays in PyTorch.

def test_left_out_operators():
    def function(x):
        y = (x @ x).relu() * 2
        return torch.linalg.det(y + torch.eye(3)) * y.sigmoid().sin().cos()

    run = compiled(function)
    x = torch.randn(3, 3)
    with torch.no_grad(), said() as lines:
        close(run(x), function(x))
        close(run(2 * x), function(2 * x))
    assert len(bundles()) == 2, bundles()
    assert len(lines) == 1 and "aten._linalg_det.default" in lines[0] and "1 of " in lines[0], lines
    with torch.no_grad():
        raised(lambda: compiled(function, strict=True)(x), Exception, "aten._linalg_det.default")


def test_the_share_of_what_is_left_out_is_one_of_work():
    """And not of operators: one that has a hundredth of the elements is not a fourth of four."""
    x = torch.randn(64, 64)

    def little(x):
        return (x @ x).relu() + torch.special.bessel_j0(x[0])

    def most(x):
        return torch.special.bessel_j0(x.repeat(4, 4).exp()) * (x @ x).sum()

    for function, least, greatest in ((little, 0, 1), (most, 50, 90)):
        with torch.no_grad(), said() as lines:
            close(compiled(function)(x), function(x))
        share = float(re.search(r"some ([0-9.]+)% of the work", lines[0])[1])
        assert len(lines) == 1 and least < share < greatest, lines


def test_weights_of_pieces_are_constants_too():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            return self.second(torch.special.bessel_j0(self.first(x)))

    model, x = Model().eval(), torch.randn(2, 4)
    run = compiled(model)
    with torch.no_grad(), said():
        close(run(x), model(x))
        assert sorted(len(piece.frozen) for piece in live()) == [2, 2]
        model.second.weight.data *= -1
        close(run(x), model(x))


def test_small_pieces_are_not_worth_a_call():
    run, x = compiled(lambda x: torch.linalg.det(x.relu()) * 2), torch.eye(3)
    with torch.no_grad(), said() as lines:
        assert run(x) == 2
    assert not bundles() and len(lines) == 1 and "around 0 pieces" in lines[0], lines


def test_graphs_without_work_stay_eager():
    run = compiled(lambda x: x.reshape(2, 6).t())
    with torch.no_grad(), said() as lines:
        assert run(torch.randn(3, 4)).shape == (6, 2)
        compiled(lambda x: None)(torch.ones(2))
    assert not lines and not bundles()


def test_pytorch_says_what_is_wrong_with_an_index():
    table = torch.randn(4, 3)
    run = compiled(lambda i: table[i] * 2)
    with torch.no_grad(), said():
        close(run(torch.tensor([1, -1])), table[[1, 3]] * 2)
        raised(lambda: run(torch.tensor([1, 4])), IndexError, "out of")


def test_what_the_compiler_refuses_stays_in_pytorch():
    def wrong(graph, node, self):
        return graph.op("no_such_operator", self)

    from burnish._torch import registry
    kept = registry.CONVERTERS["aten.tanh.default"]
    registry.CONVERTERS["aten.tanh.default"] = wrong
    try:
        run, x = compiled(lambda x: x.tanh() * 2 + 1), torch.ones(3)
        with torch.no_grad(), said() as lines:
            close(run(x), x.tanh() * 2 + 1)
            close(run(x), x.tanh() * 2 + 1)
        assert len(lines) == 1 and "no_such_operator" in lines[0], lines
        with torch.no_grad():
            raised(lambda: compiled(lambda x: x.tanh() * 2 + 1, strict=True)(x), Exception, "no_such_operator")
    finally:
        registry.CONVERTERS["aten.tanh.default"] = kept


def test_explanations():
    def function(x):
        y = (x @ x).relu() * 2
        print(end="")  # A graph break.
        return torch.linalg.det(y + torch.eye(3)) * y.sigmoid().sin().cos()

    x = torch.randn(3, 3)
    with torch.no_grad(), said():
        torch._dynamo.reset()
        found = burnish.explain(function, x, seconds=0.1)
        whole = burnish.explain(torch.compile(mlp()), torch.randn(2, 6), seconds=0.1)
    assert found.graphs == 2 and len(found.pieces) == 3 and list(found.left) == ["aten._linalg_det.default"]
    assert found.left_count == 1 and found.operators == 11, (found.left_count, found.operators)
    (why, count), = found.breaks.items()
    assert count == 1 and "print" in why and "\n" not in why, found.breaks
    assert all(0 < piece.ms < found.ms for piece in found.pieces) and found.eager_ms > 0, found
    text = str(found)
    assert "2 graphs, 3 pieces, 1 of 11 operators in PyTorch" in text and "det" in text, text
    assert whole.graphs == 1 and len(whole.pieces) == 1 and not whole.left and not whole.breaks, whole
    steps = whole.pieces[0].steps
    assert steps and all(step.ms > 0 and step.least_ms >= 0 and step.name for step in steps), steps
    assert {step.schedule for step in steps} == {"default"}, steps
    assert abs(whole.tunable_ms - sum(step.ms for step in steps)) < 1e-9
    assert 0 <= whole.tuning_brings_at_most_ms <= whole.tunable_ms
    text = str(whole)
    assert steps[0].name in text and "tuning (estimate)" in text and "default schedules" in text, text
    with said():
        trains = burnish.explain(mlp(), torch.randn(2, 6), seconds=0.1)
    assert not trains.pieces and "gradients" in list(trains.whole.values())[0], trains


# ---- Sizes.

def test_sizes_are_bounded():
    model = mlp()
    run = compiled(model, sizes=3, size_limit=0)
    with torch.no_grad(), said() as lines:
        for batch in (1, 5, 2, 7, 3, 5, 2, 1, 9):
            x = torch.randn(batch, 6)
            close(run(x), model(x))
    # One of the first, static graph, and three of the dynamic one.
    assert len(bundles()) == 4, len(bundles())
    assert len(lines) == 1 and "3 bundles" in lines[0], lines
    run = compiled(model, sizes=1, size_limit=0, strict=True)
    with torch.no_grad():
        close(run(torch.ones(1, 6)), model(torch.ones(1, 6)))
        close(run(torch.ones(2, 6)), model(torch.ones(2, 6)))
        raised(lambda: run(torch.ones(3, 6)), Exception, "1 bundles")


def test_dynamic_from_the_start():
    model = convolutions()
    torch._dynamo.reset()
    x = torch.randn(2, 3, 8, 8)
    torch._dynamo.mark_dynamic(x, 0)
    run = compiled(model)
    with torch.no_grad(), said() as lines:
        close(run(x), model(x))
        y = torch.randn(4, 3, 8, 8)
        close(run(y), model(y))
    assert not lines and len(bundles()) == 1 and len(live()) == 1, lines


def test_results_that_are_sizes():
    def function(x):
        return x.reshape(-1) * x.shape[0], x.shape[0] * 2

    run = compiled(function)
    with torch.no_grad():
        for rows in (2, 3, 4):
            x = torch.randn(rows, 4)
            got, size = run(x)
            close(got, function(x)[0])
            assert size == 2 * rows


# ---- Weights.

def frozen_model(**options):
    model, x = convolutions(), torch.randn(1, 3, 6, 6)
    run = compiled(model, **options)
    with torch.no_grad():
        close(run(x), model(x))
    return model, run, x


def check_found(change, **options):
    """A change is found at the next call, whatever PyTorch counts of it."""
    model, run, x = frozen_model(**options)
    with torch.no_grad():
        before = run(x)
        change(model)
        want = model(x)
        assert not torch.allclose(before, want), "the change changes nothing"
        close(run(x), want)
        change(model)
        close(run(x), model(x))
    return live()[0]


def test_writes_that_pytorch_counts():
    other = convolutions()
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(1.5)

    def load_other(model):
        with torch.no_grad():
            for mine, its in zip(model.parameters(), other.parameters()):
                its.add_(0.1)
        model.load_state_dict(other.state_dict())

    piece = check_found(load_other)
    assert piece.rebuilds == 1 and piece.refits == 1, (piece.rebuilds, piece.refits)

    def step(model):
        with torch.enable_grad():
            optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
            model(torch.ones(1, 3, 6, 6)).square().sum().backward()
            optimizer.step()

    check_found(step)


def test_writes_that_pytorch_does_not_count():
    def data(model):
        model[0].weight.data += 1

    def array(model):
        model[3].weight.detach().numpy()[:] *= -2

    def replaced(model):
        model[3].weight.data = model[3].weight.data * 3

    for change in (data, array, replaced):
        check_found(change)


def test_new_statistics():
    def change(model):
        model[1].running_mean += 1
        model[1].num_batches_tracked += 1

    check_found(change)


def test_one_element_is_found_in_the_calls_that_the_page_says():
    model = nn.Linear(300, 200).eval()
    run, x = compiled(model), torch.randn(1, 300)
    with torch.no_grad():
        close(run(x), model(x))
        model.weight.detach().numpy()[123, 45] += 100
        size = sum(p.numel() * 4 for p in model.parameters())
        limit = sum(math.ceil(p.numel() * 4 / weights.CHUNK_BYTES) for p in model.parameters())
        assert size > 10 * weights.CHUNK_BYTES
        for _ in range(limit):
            got = run(x)
        close(got, model(x))


def test_full_and_refresh_find_one_element_at_once():
    def one(model):
        model[3].weight.detach().numpy()[1, 5, 1, 1] += 10

    check_found(one, freeze="full")
    model = nn.Linear(300, 200).eval()
    run, x = compiled(model), torch.randn(1, 300)
    with torch.no_grad():
        close(run(x), model(x))
        model.weight.detach().numpy()[123, 45] += 100
        burnish.refresh(nn.Linear(2, 2))  # Of another model.
        assert not torch.allclose(run(x), model(x)), "found by chance: the case says nothing"
        burnish.refresh(model)
        close(run(x), model(x))
        model.weight.detach().numpy()[123, 45] += 100
        burnish.refresh()
        close(run(x), model(x))


def test_equal_weights_elsewhere_compile_nothing():
    model, run, x = frozen_model()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.data = parameter.data.clone()
        close(run(x), model(x))
        model[0].weight.add_(0)
        close(run(x), model(x))
    assert live()[0].rebuilds == 0 and live()[0].refits == 0


def test_tensors_are_read_without_python():
    assert reader.reader() is not None, "this torch keeps pointers and versions elsewhere: see reader.py"


def test_what_a_call_takes_beyond_the_run():
    """CPU time, 6 times the bars: on a machine with other work times are longer, but not that much."""
    sys.path.insert(0, "tests/bench/harness")
    import call_overhead
    os.environ["BENCH_RUN_LOOP"] = os.path.abspath(sys.argv[3])
    for parameters, bar_us in ((4, 5), (270, 7)):
        with torch.no_grad():
            found = call_overhead.measured(call_overhead.LAYERS[parameters], calls=300, rounds=5)
        assert call_overhead.overhead(found) < 6 * bar_us, (parameters, found)


def test_files_of_old_weights_are_removed():
    model, run, x = frozen_model(cache=False)
    old = bundles()[0].model.path
    assert os.path.exists(old)
    with torch.no_grad():
        model[0].weight.add_(1)
        run(x)
    assert not os.path.exists(old) and os.path.exists(bundles()[0].model.path)


def test_memory_that_is_taken_away():
    model, run, x = frozen_model()
    kept = model[3].weight.data.clone()
    storage = model[3].weight.untyped_storage()
    size = storage.nbytes()
    storage.resize_(0)  # As sharded training does between calls.
    assert not weights.can_freeze(model[3].weight)
    assert not live()[0].weights.unchanged(
        tuple(p for p in (model[0].weight, model[0].bias) for _ in range(9)))
    storage.resize_(size)
    with torch.no_grad():
        model[3].weight.copy_(kept * 2)
        close(run(x), model(x))


def test_weights_that_never_rest_become_inputs():
    model, run, x = frozen_model()
    with torch.no_grad(), said() as lines:
        for _ in range(pieces.CHANGES_MAX + 2):
            model[0].weight.add_(0.01)
            close(run(x), model(x))
    assert len(lines) == 1 and "inputs from now on" in lines[0], lines
    assert live()[0].frozen == ()


def test_weights_as_inputs():
    model, run, x = frozen_model(freeze="none")
    piece = live()[0]
    with torch.no_grad():
        model[3].weight.detach().numpy()[1, 5, 1, 1] += 10
        close(run(x), model(x))
    assert piece.rebuilds == 0 and piece.refits == 0 and len(bundles()) == 1


def test_inference_tensors_are_no_constants():
    with torch.inference_mode(), said() as lines:
        model = mlp()
        run, x = compiled(model), torch.randn(2, 6)
        close(run(x), model(x))
        model[0].weight.mul_(2)
        close(run(x), model(x))
    assert live()[0].frozen == ()
    assert len(lines) == 1 and "4 of its 4 weights" in lines[0] and "inference mode" in lines[0], lines


def test_weights_with_gaps_are_no_constants():
    model, x = mlp(), torch.randn(2, 6)
    gapped = torch.randn(model[0].weight.shape[0], 12)[:, ::2]
    model[0].weight = nn.Parameter(gapped)
    run = compiled(model)
    with torch.no_grad(), said() as lines:
        close(run(x), model(x))
        gapped.mul_(2)
        close(run(x), model(x))
    assert len(live()[0].frozen) == 3
    assert len(lines) == 1 and "1 of its 4 weights" in lines[0] and "gaps" in lines[0], lines


def test_buffers_that_the_model_writes_are_no_constants():
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(1))
            self.layer = nn.Linear(4, 4)

        def forward(self, x):
            self.calls += 1
            return self.layer(x) * self.calls

    model, other, x = Counts().eval(), Counts().eval(), torch.randn(2, 4)
    other.load_state_dict(model.state_dict())
    run = compiled(model)
    with torch.no_grad(), said() as lines:
        for _ in range(6):
            close(run(x), other(x))
    assert model.calls == 6 and not lines, lines
    piece, = live()
    assert len(piece.frozen) == 2 and piece.rebuilds == 0 and piece.refits == 0, piece.frozen


def test_the_page():
    with open("docs/pytorch.md", encoding="utf-8") as file:
        blocks = re.findall(r"^```python\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5, len(blocks)
    torch._dynamo.reset()
    names = {}
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        for block in blocks:
            exec(block, names)  # pylint: disable=exec-used
    with torch.no_grad():
        close(names["y"], names["plain"](names["x"]))


def test_the_example():
    import io
    import runpy
    torch._dynamo.reset()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        runpy.run_path("python/examples/torch_compile.py", run_name="__main__")
    lines = printed.getvalue().splitlines()
    errors = [float(line.split(":")[1]) for line in lines[:2]]
    assert all(error < 1e-4 for error in errors), lines
    assert "1 graphs, 1 pieces, 0 of" in lines[2] and "eager" in lines[-2] and "tuning" in lines[-1], lines


def test_tied_weights():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(10, 4)
            self.head = nn.Linear(4, 10, bias=False)
            self.head.weight = self.table.weight

        def forward(self, ids):
            return self.head(self.table(ids))

    model, ids = Tied().eval(), torch.tensor([[1, 2]])
    run = compiled(model)
    with torch.no_grad():
        close(run(ids), model(ids))
        for _ in range(2):
            model.table.weight.mul_(2)
            close(run(ids), model(ids))
        model.head.weight = nn.Parameter(torch.randn(10, 4))
        close(run(ids), model(ids))


# ---- Processes and threads.

def test_fork():
    model, run, x = frozen_model()
    with torch.no_grad():
        want = model(x)
        child = os.fork()
        if child == 0:
            torch.set_num_threads(1)  # PyTorch's own threads do not survive a fork.
            os._exit(0 if torch.allclose(run(x), want, atol=1e-5) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        close(run(x), want)


def test_fork_with_threads_that_call():
    """Forked while other threads run the model: the child has the lock, whoever held it."""
    model, run, x = frozen_model(threads=2)
    piece = live()[0]
    seen, done = [], threading.Event()
    piece.__dict__["forward"] = lambda *args: seen.append(args) or type(piece).forward(piece, *args)
    with torch.no_grad():
        run(x)
        del piece.__dict__["forward"]
        want = model(x)

    def work():
        with torch.no_grad():
            while not done.is_set():
                piece.forward(*seen[0])

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                with torch.no_grad():
                    os._exit(0 if torch.allclose(piece.forward(*seen[0])[0], want, atol=1e-5) else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        done.set()
        for worker in workers:
            worker.join()


def test_memory_of_large_results_is_used_again():
    def scaled(x):
        return (x.transpose(1, 2) * 3).relu() + 1

    x = torch.randn(1, 512, 1024)  # 2 MiB.
    run = check(scaled, x)
    with torch.no_grad():
        first, second = run(x), run(-x)
        close(first, scaled(x))  # The second call has left it alone.
        assert first.data_ptr() != second.data_ptr() and first.stride() == scaled(x).stride()
        assert first._base is None and first.untyped_storage().nbytes() == 2 << 20
        freed = first.data_ptr()
        del first
        assert run(x).data_ptr() == freed
        before, result = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, second
        for _ in range(20):
            result = run(x)  # The one before lives until it is there.
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    close(result, scaled(x))
    assert faults < 20 * 512 / 8, f"{faults} of 20 times 512 pages were new"
    with torch.inference_mode():
        assert run(x).is_inference()
    result.add_(1)  # A tensor like any.
    close(copy.deepcopy(result), scaled(x) + 1)


def run_and_compare(model, x, want):
    with torch.no_grad():
        close(compiled(model)(x), want)


def test_spawn():
    model, x = convolutions(), torch.randn(1, 3, 6, 6)
    with torch.no_grad():
        want = model(x)
    child = multiprocessing.get_context("spawn").Process(target=run_and_compare, args=(model, x, want))
    child.start()
    child.join()
    assert child.exitcode == 0, child.exitcode


def test_runs_on_pytorchs_threads():
    """In a process of its own, whose threads can be counted."""
    code = """if True:
        import os, torch, burnish
        from burnish import _programs
        from burnish._torch import pieces, team
        _programs.FOLDER = {folder!r}
        assert team.team()[0] is not None, team.team()[1]
        count = lambda: len(os.listdir("/proc/self/task"))
        model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).eval()
        run, x = torch.compile(model, backend="burnish", options=dict(cache=False)), torch.randn(32, 64)
        with torch.no_grad():
            torch.randn(1 << 20).relu_()
            run(x)
            before = count()
            for _ in range(3):
                assert torch.allclose(run(x), model(x), atol=1e-5)
            torch.randn(1 << 20).relu_()
            print(burnish.explain(model, x, seconds=0.1))
            assert count() == before, (count(), before)
            team.team = lambda: (None, "PyTorch runs on libother.so, not on libgomp")
            pieces._pools.clear()
            print(burnish.explain(model, x, seconds=0.1))
            assert count() == before + 1, (count(), before)  # One of the two is the caller's.
    """.format(folder=_programs.FOLDER)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # NumPy's, which would start some as well.
    out = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True,
                         env=environment).stdout
    assert "PyTorch's 2 threads" in out, out
    assert "2 threads of their own: PyTorch runs on libother.so, not on libgomp" in out, out


def test_eight_threads():
    model = mlp()
    run = compiled(model)
    inputs = [torch.randn(2, 6) for _ in range(8)]
    with torch.no_grad():
        run(inputs[0])
    wrong = []

    def work(x):
        with torch.no_grad():
            want = model(x)
            for _ in range(50):
                if not torch.allclose(run(x), want, atol=1e-5):
                    wrong.append(x)

    workers = [threading.Thread(target=work, args=(x,)) for x in inputs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong and len(bundles()) == 1, (len(wrong), len(bundles()))


def test_a_piece_is_compiled_once_for_all_threads():
    _, run, x = frozen_model()
    piece = live()[0]
    piece._set({})
    built, compile_ = [], piece._compiled
    piece.__dict__["_compiled"] = lambda *args: built.append(1) or compile_(*args)

    def work():
        with torch.no_grad():
            run(x)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(built) == 1, built


def test_pickled_and_copied_models():
    model, run, x = frozen_model()
    with torch.no_grad():
        again = pickle.loads(pickle.dumps(model))
        again[3].weight.mul_(2)
        close(compiled(again)(x), again(x))
        close(run(x), model(x))


def test_pieces_end_with_their_model():
    import gc
    before = len(pieces.live_pieces())
    run = compiled(mlp())
    with torch.no_grad():
        run(torch.randn(2, 6))
    assert len(pieces.live_pieces()) > 0
    del run
    torch._dynamo.reset()
    gc.collect()
    assert len(pieces.live_pieces()) <= before, len(pieces.live_pieces())


torch_harness.run_cases(__name__)

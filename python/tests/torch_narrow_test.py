"""Floats of 16 bits by torch.compile(backend="burnish"): tensors, autocast, and the option `precision`.

The oracle is PyTorch in double: of what PyTorch makes in 16 bits, Burnish may be as far from that as PyTorch is, and half
a unit of the last place, by which its result is rounded.
"""

import torch_harness

torch_harness.start(__file__)

import copy  # noqa: E402

import numpy  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

import burnish  # noqa: E402
from burnish._torch import pieces  # noqa: E402
from torch_harness import close, raised, said  # noqa: E402

NARROW = (torch.bfloat16, torch.float16)
UNIT = {torch.bfloat16: 2.0 ** -8, torch.float16: 2.0 ** -11}  # Of rounding, at most.
PRECISION_ERROR_MAX = 2e-2  # docs/low-precision.md


def compiled(model, **options):
    torch._dynamo.reset()
    for piece in pieces.live_pieces():
        piece.stale = True
    return torch.compile(model, backend="burnish", fullgraph=True, options=options)


def live():
    return [piece for piece in pieces.live_pieces() if not hasattr(piece, "stale")]


def error(got, exact):
    return ((got.double() - exact).abs().max() / exact.abs().max()).item()


def check(function, *inputs, wide=None):
    """One piece and nothing said; types, strides and values as PyTorch's. `wide`: the same in double."""
    run = compiled(function)
    wide = function if wide is None else wide
    exact = wide(*(x.double() if torch.is_tensor(x) and x.is_floating_point() else x for x in inputs))
    for _ in range(2):
        with torch.no_grad(), said() as lines:
            got, want = run(*inputs), function(*inputs)
        assert not lines, lines
        results = [one if isinstance(one, tuple) else (one,) for one in (got, want, exact)]
        for g, w, e in zip(*results, strict=True):
            assert g.dtype == w.dtype and g.shape == w.shape and g.stride() == w.stride(), (g, w)
            if not w.is_floating_point():
                assert torch.equal(g, w), (g, w)
                continue
            allowed = error(w, e) + UNIT.get(w.dtype, 1e-4)
            assert error(g, e) <= allowed, f"{error(g, e):.2e}, PyTorch {error(w, e):.2e}"
    assert len(live()) == 1 and not live()[0].refused, live()


def network(dtype):
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(8, 8, 3, groups=2), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(8, 5), nn.Softmax(-1)).eval().to(dtype)


def double_of(model):
    return copy.deepcopy(model).double()


def test_networks_of_each_type():
    for dtype in NARROW:
        model = network(dtype)
        check(model, torch.randn(2, 3, 12, 12).to(dtype), wide=double_of(model))


class Block(nn.Module):
    def __init__(self, size=32, heads=4):
        super().__init__()
        self.heads, self.norm = heads, nn.LayerNorm(size)
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).flatten(2))


def test_attention():
    torch.manual_seed(0)
    for dtype in NARROW:
        model = Block().eval().to(dtype)
        check(model, torch.randn(2, 12, 32).to(dtype), wide=double_of(model))


def test_operators_of_several_steps_are_computed_in_float32():
    torch.manual_seed(0)
    x = torch.randn(4, 33)
    for dtype in NARROW:
        y = x.to(dtype)
        check(lambda x: (x.atan(), x.sinh(), torch.expm1(x), x.square().rsqrt(), torch.log2(x.abs() + 1)), y)
        check(lambda x: (x.var(-1), x.std(), torch.linalg.vector_norm(x, dim=1), x.logsumexp(-1)), y)
        check(lambda x: (x.cumsum(-1), x.topk(3).values, x.sort(-1).values, x.argmax(-1)), y)
        check(lambda x: (torch.remainder(x, 0.75), x.clamp(-0.5, 0.5), x > 0.25, torch.where(x > 0, x, -1.0)), y)


def test_moves_and_indices():
    torch.manual_seed(0)
    ids = torch.tensor([[2, 0], [1, 3]])
    for dtype in NARROW:
        table, x = torch.randn(4, 6).to(dtype), torch.randn(2, 6).to(dtype)
        check(lambda t: (t[ids] * 2, t.t().reshape(3, 8) + 1, torch.cat([t, t * 3], 1)[:, ::2]), table)
        check(lambda t, x: t.index_copy(0, torch.tensor([3, 1]), x) * 2 + t.scatter_add(
            0, torch.tensor([[0] * 6, [3] * 6]), x), table, x)
        check(lambda x: (x.to(torch.float32) * 2, x.to(torch.int64), x.float().to(dtype), x * torch.ones(6)), x)


def test_numbers_are_rounded_as_pytorch_does():
    x = torch.tensor([1.0, 3.0, 100.0], dtype=torch.bfloat16)
    run = compiled(lambda x: (x * 0.1, x + 1000.4, x > 99.9, torch.full((2,), 0.1, dtype=torch.bfloat16) * x[:2]))
    with torch.no_grad():
        for got, want in zip(run(x), (x * 0.1, x + 1000.4, x > 99.9, torch.full((2,), 0.1).bfloat16() * x[:2])):
            assert torch.equal(got, want), (got, want)


def test_autocast_is_whole():
    """Its casts are operators as all others."""
    torch.manual_seed(0)
    for model, x in ((network(torch.float32), torch.randn(2, 3, 12, 12)), (Block().eval(), torch.randn(2, 12, 32))):
        exact = double_of(model)(x.double())
        for dtype in NARROW:
            run = compiled(model)
            with torch.no_grad(), torch.autocast("cpu", dtype=dtype), said() as lines:
                got, want = run(x), model(x)
            assert not lines and len(live()) == 1 and got.dtype == want.dtype, (lines, got.dtype, want.dtype)
            assert error(got, exact) <= error(want, exact) + UNIT[dtype], (error(got, exact), error(want, exact))
    inside = compiled(lambda x: nested(x))
    with torch.no_grad(), said() as lines:
        got = inside(torch.randn(4, 4))
    assert got.dtype == torch.float32 and not lines, lines


def nested(x):
    """A region of a model in float32."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x
    return y.float() + x


def test_changed_weights():
    for dtype in NARROW:
        model, x = network(dtype), torch.randn(2, 3, 12, 12).to(dtype)
        run = compiled(model, cache=False)
        with torch.no_grad(), said() as lines:
            run(x)
            for _ in range(2):
                for parameter in model.parameters():
                    parameter.mul_(1.25)
                exact = double_of(model)(x.double())
                assert error(run(x), exact) <= error(model(x), exact) + UNIT[dtype]
                run(x)
        piece, = live()
        assert not lines and piece.rebuilds == 1 and piece.refits == 1, (lines, piece.rebuilds, piece.refits)


def test_the_cache_refits_other_weights():
    for dtype in NARROW:
        model, x = network(dtype), torch.randn(2, 3, 12, 12).to(dtype)
        run = compiled(model)
        with torch.no_grad():
            run(x)
            model[0].weight.mul_(1.5)
            run(x)  # Compiled so that it takes others.
            model[4].weight.mul_(1.5)
            exact = double_of(model)(x.double())
            again = compiled(model)
            got = again(x)
        assert error(got, exact) <= error(model(x), exact) + UNIT[dtype]
        assert [bundle.how for bundle in live()[0].bundles.values()] == ["refitted"]


def test_exported_programs():
    model, x = network(torch.bfloat16), torch.randn(2, 3, 12, 12).bfloat16()
    compiled_ = burnish.compile(torch.export.export(model, (x,)))
    got = torch.empty(2, 5, dtype=torch.bfloat16)
    compiled_.run(x, out=got)
    exact = double_of(model)(x.double())
    assert error(got, exact) <= error(model(x), exact) + UNIT[torch.bfloat16]


def test_graphs_of_bits():
    """Without PyTorch: bfloat16 as its bits, or as ml_dtypes' arrays."""
    import ml_dtypes
    values = numpy.array([[1.5, -2.0], [0.25, 3.0]], numpy.float32)
    for array, kind in ((values.view(numpy.uint32) >> 16).astype(numpy.uint16), "bfloat16"), (
            values.astype(ml_dtypes.bfloat16), None), (values.astype(numpy.float16), None):
        graph = burnish.Graph()
        x = graph.input("x", (2, 2))
        known = graph.node("cast", graph.constant(array, dtype=kind), to="f32")
        graph.output(graph.node("add", x, known))
        got = burnish.compile(graph)(numpy.ones((2, 2), numpy.float32))
        assert (got == values + 1).all(), got
    raised(lambda: burnish.Graph().constant(values, dtype="bfloat16"), TypeError, "uint16")


# ---- The option.

def wide_network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU(), nn.Flatten(),
                         nn.Linear(1600, 128)).eval()


def test_precision():
    model, x = wide_network(), torch.randn(1, 3, 12, 12)
    with torch.no_grad():
        want = model(x)
        sizes = {}
        for precision in ("f32", "bf16", "f16", "auto"):
            run = compiled(model, precision=precision, threads=1)
            with said() as lines:
                got = run(x)
            assert got.dtype == torch.float32 and not lines, (got.dtype, lines)
            close(got, want, 1e-4 if precision == "f32" else PRECISION_ERROR_MAX)
            bundle, = live()[0].bundles.values()
            with open(bundle.model.path, "rb") as file:
                sizes[precision] = len(file.read())
        # The last layer has 205,000 weights. Kernels of machines without the type are longer.
        assert max(sizes["bf16"], sizes["f16"]) < sizes["f32"] - 300_000, sizes
    raised(lambda: compiled(model, precision="fp8")(x), Exception, "f32, bf16, f16, auto")


def test_precision_is_proved_by_its_own_budget():
    """Behind the calls, where a bundle is compared with what runs."""
    model, x = wide_network(), torch.randn(1, 3, 12, 12)
    run = compiled(model, precision="bf16", first="eager", threads=1)
    with torch.no_grad(), said() as lines:
        run(x)
        assert burnish.wait(120)
        close(run(x), model(x), PRECISION_ERROR_MAX)
    assert not [line for line in lines if "differs" in line], lines


def test_precision_with_weights_that_change():
    """A bundle of rounded weights takes no others: it is compiled again."""
    model, x = wide_network(), torch.randn(1, 3, 12, 12)
    run = compiled(model, precision="bf16", cache=False)
    with torch.no_grad(), said() as lines:
        run(x)
        for _ in range(2):
            model[0].weight.mul_(2)
            close(run(x), model(x), PRECISION_ERROR_MAX)
            run(x)
    piece, = live()
    assert piece.rebuilds == 2 and piece.refits == 0 and not lines, (piece.rebuilds, piece.refits, lines)


torch_harness.run_cases(__name__)

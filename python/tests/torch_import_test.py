"""ATen graphs as Burnish's graphs: the table against torch's schemas, results against torch's."""

import torch_harness

torch_harness.start(__file__)

import json  # noqa: E402
import os  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402

import numpy  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

import burnish  # noqa: E402
from burnish import _programs  # noqa: E402
from burnish._torch import importer, registry  # noqa: E402
from torch_harness import close, raised  # noqa: E402


def overload(name):
    namespace, operator, variant = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), operator), variant)


def exported(model, *inputs):
    with torch.no_grad():
        return torch.export.export(model.eval(), inputs)


def check(model, *inputs, limit=1e-5):
    """The model by the importer against torch; returns the operators that it became."""
    graph = burnish.from_torch(exported(model, *inputs))
    got = burnish.compile(graph)(*inputs)
    with torch.no_grad():
        want = model(*inputs)
    wants = want if isinstance(want, tuple) else (want,)
    for g, w in zip(got if isinstance(got, tuple) else (got,), wants, strict=True):
        close(torch.from_numpy(numpy.array(g)), w, limit)
    return [node["op"] for node in graph._header["nodes"]]


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def test_each_overload_of_the_table_exists():
    missing = []
    for name in registry.CONVERTERS:
        try:
            overload(name)
        except AttributeError:
            missing.append(name)
    assert importer and len(registry.CONVERTERS) > 200 and not missing, missing


def test_converters_name_arguments_that_the_schema_has():
    wrong = []
    for name, convert in registry.CONVERTERS.items():
        names, _ = registry.parameters_of(convert)
        given = {argument.name for argument in overload(name)._schema.arguments}
        # Of overloads that share a converter one may lack what has a default in the converter.
        required = names - set((convert.__kwdefaults__ or {}).keys())
        defaults = convert.__defaults__ or ()
        positional = convert.__code__.co_varnames[:convert.__code__.co_argcount]
        required -= set(positional[len(positional) - len(defaults):] if defaults else ())
        if required - given:
            wrong.append((name, sorted(required - given)))
    assert not wrong, wrong


def test_import_of_burnish_loads_no_torch():
    code = "import sys, burnish; burnish.register_converter; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_convolutions_pools_norms():
    ops = check(nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU6(), nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, groups=4, dilation=2, padding=2), nn.Hardswish(), nn.AvgPool2d(2),
        nn.GroupNorm(2, 8), nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(72, 5),
        nn.LogSoftmax(-1)), torch.randn(2, 3, 16, 16))
    for whole in ("conv", "batch_norm", "max_pool", "average_pool", "group_norm", "hard_swish", "dense",
                  "log_softmax"):
        assert whole in ops, (whole, ops)


def test_transposed_and_one_dimensional_convolutions():
    check(nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2),
          torch.randn(1, 4, 5, 7))
    check(nn.Conv1d(4, 6, 3, stride=2), torch.randn(2, 4, 11))
    check(nn.Conv2d(4, 6, 3), torch.randn(4, 6, 6))  # Without a batch.


def test_attention():
    ops = check(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu"),
                torch.randn(2, 6, 16))
    for whole in ("layer_norm", "gelu", "softmax", "dense"):
        assert whole in ops, (whole, ops)
    sdpa = nn.functional.scaled_dot_product_attention
    q, k = torch.randn(2, 4, 5, 8), torch.randn(2, 4, 5, 8)
    check(Function(lambda q, k: sdpa(q, k, k, is_causal=True)), q, k)
    mask = torch.ones(2, 1, 5, 5, dtype=torch.bool).tril()
    mask[0, 0, 2] = False  # A query that may see nothing.
    check(Function(lambda q, k, m: sdpa(q, k, k, attn_mask=m)), q, k, mask)
    check(Function(lambda q, k: sdpa(q, k[:, :2], k[:, :2], enable_gqa=True)), q, k)


def test_products_of_rows_that_were_moved():
    """As PyTorch's attention moves the batch inside: a product takes the rows as they lay."""
    weight, bias = torch.randn(6, 4), torch.randn(6)

    def product(x):
        return torch.addmm(bias, x.reshape(-1, 4), weight.t())

    def way(function, x):
        """The operators from the result back to the input."""
        header = burnish.from_torch(exported(Function(function), x)).header()
        made, ops = {node["outputs"][0]: node for node in header["nodes"]}, []
        value = header["outputs"][0]["value"]
        while value in made:
            ops.append(made[value]["op"])
            value = made[value]["inputs"][0]
        return ops

    x = torch.randn(3, 5, 4)
    for function, ops in (
            # Moved and moved back: nothing is left of either.
            (lambda x: product(x.transpose(0, 1)).view(5, 3, 6).transpose(0, 1), ["reshape", "dense", "reshape"]),
            (lambda x: product(x.transpose(0, 1)).relu(), ["relu", "reshape", "transpose", "reshape", "dense", "reshape"]),
            (lambda x: product(x), ["dense", "reshape"])):
        assert way(function, x) == ops, way(function, x)
        check(Function(function), x)
    x = torch.randn(3, 5, 7, 4)
    check(Function(lambda x: product(x.permute(2, 0, 1, 3)).view(7, 3, 5, 6).permute(2, 1, 0, 3)), x)
    check(Function(lambda x: product(x.permute(2, 0, 1, 3)).view(7, 15, 6).transpose(0, 1)), x)
    check(Function(lambda x: product(x.permute(2, 0, 1, 3)).t()), x)
    # A row is of more than one axis, which were moved as well; and rows are of parts of what was moved.
    check(Function(lambda x: product(x.permute(2, 0, 3, 1)).view(7, 3, 6).transpose(0, 1)), torch.randn(3, 2, 7, 2))
    check(Function(lambda x: product(x.permute(1, 2, 0))), torch.randn(8, 3, 5))
    # Of squares shapes do not say what was moved.
    square = torch.randn(4, 4, 4)
    check(Function(lambda x: product(x.transpose(0, 1)).view(4, 4, 6).transpose(0, 1)), square)
    check(Function(lambda x: product(x.transpose(0, 1)).view(4, 4, 6)), square)
    check(Function(lambda x: product(x.transpose(1, 2)).view(4, 4, 6)), torch.randn(4, 4, 4))


def test_encoder_layers_that_pytorch_has_whole():
    for norm_first, activation in ((False, "relu"), (True, "gelu")):
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation=activation,
                                           norm_first=norm_first).eval()
        torch._dynamo.reset()
        run, x = torch.compile(layer, backend="burnish", options={"strict": True}), torch.randn(2, 6, 16)
        with torch.no_grad():
            close(run(x), layer(x))


def test_rolls():
    x = torch.randn(2, 5, 3)
    check(Function(lambda x: (x.roll(2, 1), x.roll((-1, 4), (0, 2)), x.roll(7), x.roll(0, 1), x.roll((1, 1), (1, 1)))), x)


def test_windows_of_a_dimension():
    check(Function(lambda x: (x.unfold(1, 3, 2) * 2, x.unfold(0, 2, 1).sum(-1))), torch.randn(4, 9))


def test_integers_and_bools():
    i = torch.tensor([[-7, 7, 5], [0, 3, -9]])
    check(Function(lambda x: (x // 4, x % 4, torch.div(x, 4, rounding_mode="trunc"), x / 2, x == 5,
                              ~(x > 2) & (x < 5), x.sum(), x.cumsum(1), x.to(torch.uint8), x.bool().any(1),
                              x.argmax(1), x.clamp(-2, 4), x.float().mean())), i)
    check(Function(lambda a, b: (a + b, a - b, a * 2 ** 33, torch.where(a > b, a, b.int()))), i, i.flip(0))


def test_sums_and_products_in_bool():
    x = torch.tensor([[0.0, 2.0, -1.0], [0.0, 0.0, 0.0], [1.0, 3.0, 0.5]])
    for function in (torch.sum, torch.prod):
        check(Function(lambda x, function=function: (
            function(x, dim=1, dtype=torch.bool), function(x, dim=0, keepdim=True, dtype=torch.bool),
            function(x, dtype=torch.bool), function(x != 0, dtype=torch.bool))), x)


def test_ranges_of_integers_with_fractions():
    """PyTorch rounds begin and step of a range of integers, and not its elements."""
    x = torch.zeros((), dtype=torch.int64)
    for begin, end, step in ((2.9, -2.5, -1), (-0.9, 2.0, 2), (0, 3, 0.5), (1.5, 9.0, 2.75)):
        for dtype in (torch.int64, torch.float32):
            check(Function(lambda x: x + torch.arange(begin, end, step, dtype=dtype)), x)


def test_mixed_types_are_promoted_as_torch_does():
    f, i, b = torch.randn(2, 3), torch.arange(6).reshape(2, 3), torch.tensor([[True], [False]])
    check(Function(lambda f, i, b: (f + i, i * b, b + b, b * f, i + 1.5, i.int() + i, f.double() + f,
                                    i > f, torch.cat([f, f * i]))), f, i, b)


def test_indices():
    x, at = torch.randn(4, 5, 6), torch.tensor([[0, -1], [2, 1]])
    check(Function(lambda x, at: (x[at], x[:, at], x[at, :, at], x[:, at, at], x[..., 1:5:2], x[1, :, -1],
                                  x.gather(2, at[None].expand(4, 2, 2) % 6), x.index_select(1, at[0] % 5),
                                  x.topk(3)[1], x.sort(1, descending=True)[0])), x, at)
    check(Function(lambda x, at: (x.scatter(1, at[None] % 5, 7.0), x.index_put((at,), x[at] * 2),
                                  torch.slice_scatter(x, x[:, ::2], 1, 0, 5, 2), x.flip(0, 2),
                                  x.masked_fill(x > 0, -1.0), x.tril(1), x.diagonal(1, 1, 2))), x, at)


def test_distances_windows_and_scattered_means():
    x, y, at = torch.randn(5, 4), torch.randn(3, 4), torch.tensor([[0, 2, 2, 1], [2, 0, 1, 1]])
    check(Function(lambda x, y, at: (
        torch.cdist(x, y), torch.cdist(x, y, 1.0), nn.functional.pdist(x), x.scatter_reduce(0, at, y, "mean"),
        x.scatter_reduce(0, at, y, "amin", include_self=False),
        (10 * x).int().scatter_reduce(0, at, (10 * y).int(), "mean", include_self=False))), x, y, at)
    image, grid = torch.randn(1, 2, 7, 7), torch.rand(1, 3, 4, 2) * 2 - 1
    check(Function(lambda x: (nn.functional.avg_pool2d(x, 3, 2, 1, ceil_mode=True, divisor_override=5),
                              nn.functional.avg_pool2d((9 * x).long(), 2, ceil_mode=True))), image)
    check(Function(lambda x, grid: nn.functional.grid_sample(x, grid, align_corners=False)), image, grid)
    check(Function(lambda x: (nn.functional.interpolate(x, scale_factor=2, mode="bilinear"),
                              nn.functional.interpolate(x, size=(5, 9)),
                              nn.functional.interpolate(x, size=3, mode="bilinear", align_corners=True))), image)


def test_bits_of_integers():
    a = torch.tensor([-7, 7, 5, 0, 2 ** 62 + 3, -2 ** 63, 123456789])
    b = torch.tensor([3, -1, 70, 63, 1 + 2 ** 40, -2 ** 31, 2 ** 63 - 1])
    for dtype in (torch.int64, torch.int32, torch.int8, torch.uint8):
        check(Function(lambda a, b: (a & b, a | b, a ^ b, a & 5, a ^ 9, ~a)), a.to(dtype), b.to(dtype))
    by = torch.tensor([0, 1, 5, 31, 62, 63, -1])
    for dtype in (torch.int64, torch.int32, torch.uint8):
        check(Function(lambda a, by: (torch.bitwise_left_shift(a, by), torch.bitwise_right_shift(a, by),
                                      torch.bitwise_right_shift(a, 3), torch.bitwise_left_shift(3, by))),
              a.to(dtype), by.clamp(max=127).to(dtype))


def test_masks_and_places_in_memory():
    x, y, mask = torch.randn(3, 4), torch.randn(12), torch.tensor([[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 0]]).bool()
    rows = torch.tensor([True, False, True])
    check(Function(lambda x, y, m, r: (
        x.masked_scatter(m, y), x.index_put((m,), y[:5]), x.index_put((m,), y[0]), x.index_put((r,), y[:8].view(2, 4)),
        x.index_put((r,), y[:4], accumulate=True), x.index_put((r,), y[:1]))), x, y, mask, rows)
    check(Function(lambda x: (x.t().as_strided((2, 3), (1, 2), 3), x.t().as_strided((3,), (5,)))), x)
    pad = nn.functional.pad
    check(Function(lambda x: (pad(x[None], (2, -1), "replicate"), pad(x[None, None], (-1, 1, 2, -1), "replicate"))), x)


def test_places_of_maxima():
    x, volume = torch.randn(2, 3, 9, 7), torch.randn(1, 2, 5, 6, 7)
    pools = nn.functional
    check(Function(lambda x: (*pools.max_pool2d(x, 3, 2, 1, return_indices=True),
                              *pools.max_pool2d(x, 2, 3, dilation=2, ceil_mode=True, return_indices=True),
                              *pools.max_pool2d(x[0], (1, 3), return_indices=True))), x)
    check(Function(lambda x: pools.max_pool3d(x, 2, 2, 1, return_indices=True)), volume)
    check(Function(lambda x: pools.max_pool2d(x, 2, return_indices=True)), (9 * x).long())


def test_tied_weights_are_stored_once():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(10, 4)
            self.head = nn.Linear(4, 10, bias=False)
            self.head.weight = self.table.weight

        def forward(self, ids):
            return self.head(self.table(ids))

    graph = burnish.from_torch(exported(Tied(), torch.tensor([[1, 2, 9]])))
    tables = [one for one in graph._header["constants"] if one["shape"] == [10, 4]]
    assert len(tables) == 1, tables
    check(Tied(), torch.tensor([[1, 2, 9]]))


def test_names_and_files():
    class Two(nn.Module):
        def forward(self, image, scale):
            return image * scale, image

    program = exported(Two(), torch.ones(2, 3), torch.ones(3))
    model = burnish.compile(program)
    assert [one.name for one in model.inputs] == ["image", "scale"], model.inputs
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "two.pt2")
        torch.export.save(program, path)
        y, image = burnish.compile(path)(image=torch.full((2, 3), 2.0), scale=torch.full((3,), 3.0))
    assert (y == 6).all() and (image == 2).all()


def test_a_module_and_an_example():
    module = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Dropout(0.5), nn.ReLU(), nn.Linear(16, 4))
    module[1].eval()
    modes = [each.training for each in module.modules()]
    x = torch.randn(3, 8)
    want = exported(module, x).module()(x)
    for each, training in zip(module.modules(), modes):
        each.training = training
    for model in (burnish.compile(module, x), burnish.compile(module, (x,)), burnish.compile(module, example=[x])):
        close(torch.from_numpy(model(x)), want, 1e-5)
    assert [each.training for each in module.modules()] == modes
    with tempfile.TemporaryDirectory() as folder:
        path = burnish.compile(module, os.path.join(folder, "module.bundle"), example=x)
        close(torch.from_numpy(burnish.load(path)(x)), want, 1e-5)
    both = Function(lambda a, b: (a @ b, a + 1))
    product, more = burnish.compile(both, (x, torch.ones(8, 2)))(x, torch.ones(8, 2))
    close(torch.from_numpy(product), x @ torch.ones(8, 2), 1e-5)
    close(torch.from_numpy(more), x + 1, 1e-5)
    raised(lambda: burnish.compile(module), TypeError, "burnish.compile(module, example)")
    raised(lambda: burnish.compile(b"bytes", x), TypeError, "comes with a torch.nn.Module", "bytes")


def test_a_file_for_programs_without_torch():
    from burnish import export
    model, x = nn.Sequential(nn.Linear(4, 3), nn.ReLU()).eval(), torch.randn(2, 4)
    with tempfile.TemporaryDirectory() as folder:
        source, out = os.path.join(folder, "m.pt2"), os.path.join(folder, "m.graph")
        torch.export.save(exported(model, x), source)
        assert export.main([source, out]) == 0
        close(torch.from_numpy(burnish.compile(out)(x)), model(x).detach())
        assert export.main([source]) == 64 and export.main(["m.onnx", out]) == 64
        assert export.main([os.path.join(folder, "none.pt2"), out]) == 65
        torch.export.save(exported(Missing(), torch.eye(3)), source)
        assert export.main([source, out]) == 65
        ended = subprocess.run([sys.executable, "-m", "burnish.export"], stderr=subprocess.PIPE, text=True,
                               check=False)
        assert ended.returncode == 64 and "MODEL.pt2 OUT.graph" in ended.stderr, ended


class Missing(nn.Module):
    def forward(self, x):
        return torch.linalg.det(x)


def tuner(*arguments):
    return subprocess.run([_programs.path("tuner"), *arguments, f"--python={sys.executable}", "--json"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def test_the_command_line_takes_files_of_torch_export():
    model, x = nn.Sequential(nn.Linear(4, 3), nn.ReLU()).eval(), torch.randn(2, 4)
    with tempfile.TemporaryDirectory() as folder:
        source, bundle = os.path.join(folder, "m.pt2"), os.path.join(folder, "m.bundle")
        torch.export.save(exported(model, x), source)
        ended = tuner("compile", f"--model={source}", f"--out={bundle}")
        assert ended.returncode == 0, ended
        close(torch.from_numpy(burnish.load(bundle)(x)), model(x).detach())
        ended = tuner("submit", f"--model={source}", "--dry-run")
        assert ended.returncode == 0 and json.loads(ended.stdout)["tasks"], ended
        torch.export.save(exported(Missing(), torch.eye(3)), source)
        ended = tuner("compile", f"--model={source}", f"--out={bundle}")
        error = json.loads(ended.stderr.splitlines()[-1])["error"]
        assert error["code"] == "B0302" and "_linalg_det" in error["message"], error
        with open(source, "wb") as file:
            file.write(b"no zip")
        ended = tuner("compile", f"--model={source}", f"--out={bundle}")
        assert json.loads(ended.stderr.splitlines()[-1])["error"]["code"] == "B0301", ended


def test_the_command_line_takes_dumps():
    from burnish.functorch import graph_dumper_aot
    model, x = nn.Sequential(nn.Linear(4, 3), nn.Tanh()), torch.randn(2, 4)
    with tempfile.TemporaryDirectory() as folder:
        torch._dynamo.reset()
        torch.compile(model, backend=graph_dumper_aot("net", folder))(x).sum().backward()
        ended = tuner("submit", f"--graph={folder}", "--dry-run")
        error = json.loads(ended.stderr.splitlines()[-1])["error"]
        assert error["code"] == "B0101" and "net_backward_0" in error["hint"], error
        ended = tuner("submit", f"--graph={folder}/net_forward_0", "--dry-run")
        assert ended.returncode == 0 and json.loads(ended.stdout)["tasks"], ended
        ended = tuner("submit", f"--graph={folder}/net_forward_0", "--model=m.onnx", "--dry-run")
        assert json.loads(ended.stderr.splitlines()[-1])["error"]["code"] == "B0101", ended


def test_tuned_programs_are_found_again():
    model, x = nn.Linear(16, 8), torch.randn(1, 16)
    with tempfile.TemporaryDirectory() as folder:
        database, bundle = os.path.join(folder, "studies.db"), os.path.join(folder, "tuned.bundle")
        result = burnish.tune(exported(model, x), bundle, trials=2, database=database)
        assert result.trials == 2, result
        record, = burnish.query(exported(model, x), database=database)  # The same bytes again.
        assert record.rank_ms > 0, record
        with torch.no_grad():
            close(torch.from_numpy(burnish.load(bundle)(x)), model(x))


def test_what_is_missing_is_named_at_once():
    model = Function(lambda x: torch.linalg.det(x @ x) + torch.fft.fft(x).real.sum() + torch.special.bessel_j0(x).sum())
    raised(lambda: burnish.from_torch(exported(model, torch.eye(3))), burnish.BurnishError,
           "aten._linalg_det.default", "aten.special_bessel_j0.default", "aten._fft_r2c.default")
    raised(lambda: burnish.from_torch(exported(Function(lambda x: x * 2), torch.ones(3, dtype=torch.complex64))),
           burnish.BurnishError, "complex64")
    n = torch.export.Dim("n", min=2, max=9)
    dynamic = torch.export.export(Function(lambda x: x * 2), (torch.ones(3),), dynamic_shapes=(({0: n},),))
    raised(lambda: burnish.from_torch(dynamic), burnish.BurnishError, "dynamic dimensions")

    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(1))

        def forward(self, x):
            self.calls += 1
            return x + self.calls

    raised(lambda: burnish.from_torch(exported(Counts(), torch.ones(3))), burnish.BurnishError,
           "writes", "calls")


def test_an_operator_of_ones_own():
    @torch.library.custom_op("burnish_test::twice", mutates_args=())
    def twice(x: torch.Tensor, times: int = 2) -> torch.Tensor:
        return x * times

    @twice.register_fake
    def _(x, times=2):
        return torch.empty_like(x)

    model = Function(lambda x: torch.ops.burnish_test.twice(x, 3))
    program = exported(model, torch.ones(3))
    raised(lambda: burnish.from_torch(program), burnish.BurnishError, "burnish_test.twice.default")
    name = "burnish_test.twice.default"
    try:
        @burnish.register_converter(name)
        def convert(graph, node, x, times):
            return graph.mul(x, times)

        check(model, torch.randn(3))

        @burnish.register_converter(name)
        def wrong(graph, node, x, times):
            return graph.reduce("reduce_sum", x, None)

        raised(lambda: burnish.from_torch(program), burnish.BurnishError, "its converter made float32[], want")

        @burnish.register_converter(name)
        def lacks(graph, node, x):
            return graph.add(x, x)

        raised(lambda: burnish.from_torch(program), burnish.BurnishError, "times=3")
    finally:
        registry.CONVERTERS.pop(name, None)
    raised(lambda: burnish.register_converter("relu")(lambda: None), ValueError, "full name")


torch_harness.run_cases(__name__)

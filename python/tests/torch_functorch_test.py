"""burnish.functorch: what each tool returns and writes."""

import torch_harness

torch_harness.start(__file__)

import contextlib  # noqa: E402
import copy  # noqa: E402
import glob  # noqa: E402
import io  # noqa: E402
import json  # noqa: E402
import logging  # noqa: E402
import os  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import xml.etree.ElementTree as ElementTree  # noqa: E402

import torch  # noqa: E402
from functorch.compile import aot_function  # noqa: E402
from torch import nn  # noqa: E402

import burnish  # noqa: E402
from burnish import _programs, functorch  # noqa: E402
from burnish._torch import importer, pieces  # noqa: E402
from burnish._torch.registry import CONVERTERS  # noqa: E402
from torch_harness import close, raised  # noqa: E402


def bundles_since(before):
    return sum(bundle.model is not None for piece in pieces.live_pieces() if piece not in before
               for bundle in piece.bundles.values())


def graph_of(function, *inputs):
    """The graph that AOTAutograd makes."""
    graphs = []

    def keep(module, given):
        graphs.append(module)
        return functorch.nop(module, given)

    with torch.no_grad():
        aot_function(function, fw_compiler=keep, decompositions=importer.decompositions())(*inputs)
    return graphs[0]


def cubic(x, w):
    return ((x @ w).tanh() * 3 - x.sum(1, keepdim=True)).relu()


X, W = torch.randn(4, 5, generator=torch.Generator().manual_seed(0)), torch.linspace(-1, 1, 15).reshape(5, 3)


def test_compile_fx_both_ways():
    before = pieces.live_pieces()
    fast = aot_function(cubic, fw_compiler=functorch.compile_fx, bw_compiler=functorch.compile_fx,
                        decompositions=importer.decompositions())
    grads = []
    for function in (fast, cubic):
        x, w = X.clone().requires_grad_(), W.clone().requires_grad_()
        y = function(x, w)
        y.square().sum().backward()
        grads.append((y, x.grad, w.grad))
    for got, want in zip(*grads):
        close(got.detach(), want.detach())
    assert bundles_since(before) == 2


def network():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(5, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 3))


def test_memory_efficient_fusion_step_by_step():
    before = pieces.live_pieces()
    eager = network()
    fused = copy.deepcopy(eager)
    run = functorch.memory_efficient_fusion(fused)
    target = torch.randn(4, 3)
    for step in range(5):
        for model, call in ((eager, eager), (fused, run)):
            loss = (call(X) - target).square().mean()
            model.zero_grad()
            loss.backward()
        for (name, want), got in zip(eager.named_parameters(), fused.parameters()):
            close(got.grad, want.grad)
        with torch.no_grad():  # From equal weights at each step.
            for want, got in zip(eager.parameters(), fused.parameters()):
                want -= 0.1 * want.grad
                got.copy_(want)
    assert bundles_since(before) == 2, bundles_since(before)
    close(functorch.memory_efficient_fusion(cubic)(X, W), cubic(X, W))


def test_nop_and_print():
    close(aot_function(cubic, fw_compiler=functorch.nop)(X, W), cubic(X, W))
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        close(aot_function(cubic, fw_compiler=functorch.print_compile)(X, W), cubic(X, W))
    assert "aten.tanh" in printed.getvalue() and "f32[4, 5]" in printed.getvalue()


def test_draw_graph():
    module = graph_of(cubic, X, W)
    with tempfile.NamedTemporaryFile(suffix=".svg") as file:
        functorch.draw_graph(module, file.name)
        root = ElementTree.parse(file.name).getroot()
    space = "{http://www.w3.org/2000/svg}"
    texts = [one.text for one in root.iter(space + "text")]
    nodes = list(module.graph.nodes)
    assert len(list(root.iter(space + "rect"))) == len(nodes)
    assert len(list(root.iter(space + "line"))) == sum(len(node.all_input_nodes) for node in nodes)
    assert "aten.mm" in texts and "float32 [4, 3]" in texts, texts
    boxes = [(float(one.get("x")), float(one.get("y"))) for one in root.iter(space + "rect")]
    assert len(set(boxes)) == len(boxes), "two nodes at one place"
    for line in root.iter(space + "line"):
        assert float(line.get("y1")) < float(line.get("y2")), "a node above one that it reads"


@contextlib.contextmanager
def wrong_converter(name, converter):
    right = CONVERTERS[name]
    CONVERTERS[name] = converter
    try:
        yield
    finally:
        CONVERTERS[name] = right


def test_debug_compile_finds_the_first_wrong_step():
    """tanh is made wrong; all after it is wrong, too."""
    said = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    logging.getLogger("burnish.torch").addHandler(handler)

    def wrong(graph, node, self):
        return graph.mul(graph.op("tanh", self), 1.01)

    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        def compiler(module, inputs):
            return functorch.debug_compile(module, inputs, folder=folder)

        close(aot_function(cubic, fw_compiler=compiler)(X, W), cubic(X, W))
        assert not os.listdir(folder) and not said, said
        with wrong_converter("aten.tanh.default", wrong):
            close(aot_function(cubic, fw_compiler=compiler)(X, W), cubic(X, W))
        assert len(said) == 1 and "aten.tanh.default" in said[0] and "aten.mm" not in said[0], said
        assert "9." in said[0] or "1.0" in said[0], said
        files = sorted(os.listdir(folder))
        assert files == ["graph.txt", "inputs.npz", "metadata.json", "model.graph", "repro.py", "wanted.npz"], files
        code = ("import sys; from burnish import _programs; _programs.FOLDER = sys.argv[1]; import runpy; "
                "runpy.run_path(sys.argv[2]); assert 'torch' not in sys.modules")
        out = subprocess.run([sys.executable, "-c", code, _programs.FOLDER, os.path.join(folder, "repro.py")],
                             check=True, stdout=subprocess.PIPE, text=True).stdout
        name, _, error = out.split()
        assert name == "output_0" and 0.005 < float(error) < 0.02, out
    logging.getLogger("burnish.torch").removeHandler(handler)


def test_debug_compile_names_a_refusal():
    def refuses(graph, node, self):
        return graph.op("no_such_operator", self)

    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        with wrong_converter("aten.relu.default", refuses):
            from burnish._torch import bisecting
            step, _, _, why = bisecting.first_wrong(graph_of(cubic, X, W), [X, W])
        assert bisecting.step_name(step) == "aten.relu.default" and "no_such_operator" in why, why


def test_steps_of_several_results():
    def function(x):
        return x.var(1), torch.nn.functional.layer_norm(x, (5,)) * 2, torch.split(x, 2, 1)[1] + 1

    from burnish._torch import bisecting
    with torch.no_grad():
        assert bisecting.first_wrong(graph_of(function, X), [X]) is None
        with wrong_converter("aten.add.Tensor", lambda graph, node, self, other: graph.add(self, 2 * other)):
            step, inputs, wanted, why = bisecting.first_wrong(graph_of(function, X), [X])
    assert "aten.add.Tensor" in bisecting.step_name(step) and "error" in why, why


def test_backends_by_other_names():
    listed = torch._dynamo.list_backends(exclude_tags=())
    names = [f"burnish_{name}" for name in ("auto_scheduler", "check", "meta_schedule", "nop", "print")]
    assert not set(names) - set(listed), listed
    model, given = network().eval(), []

    def seen(module, inputs, *, options=None, **unused):
        given.append(options)
        return module.forward

    from burnish._torch import named
    before, named.burnish = named.burnish, seen
    try:
        for name in ("burnish_auto_scheduler", "burnish_meta_schedule"):
            torch._dynamo.reset()
            with torch.no_grad():
                torch.compile(model, backend=name, options={"tune": "now", "trials": 3})(X)
                torch._dynamo.reset()
                raised(lambda name=name: torch.compile(model, backend=name, options={"scheduler": "burnish"})(X), Exception,
                       f"backend {name} has scheduler=")
    finally:
        named.burnish = before
    assert given == [{"tune": "now", "trials": 3, "scheduler": name} for name in ("auto_scheduler", "meta_schedule")], given
    for name in ("burnish_auto_scheduler", "burnish_meta_schedule"):  # Without a word on where to measure they tune nothing.
        torch._dynamo.reset()
        raised(lambda name=name: torch.compile(model, backend=name)(X), Exception, "option scheduler", 'tune="now"')
    with torch.no_grad():
        want = model(X)
    for name in ("burnish_nop", "burnish_print", "burnish_check"):
        torch._dynamo.reset()
        raised(lambda name=name: torch.compile(model, backend=name, options={"threads": 1})(X), Exception,
               f"backend {name} has no option 'threads'")
        raised(lambda name=name: torch.compile(model, backend=name, mode="max-autotune")(X), Exception, "no modes")
    for name in ("burnish_nop", "burnish_print"):
        torch._dynamo.reset()
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            run = torch.compile(model, backend=name)
            with torch.no_grad():
                close(run(X), want)
            run(X).sum().backward()  # Graphs with gradients are looked at, too.
        # Without gradients, forward, backward.
        assert text.getvalue().count("def forward(") == (3 if name == "burnish_print" else 0), text.getvalue()


def test_the_check_finds_a_wrong_step():
    with tempfile.TemporaryDirectory() as folder, torch.no_grad(), wrong_converter(
            "aten.tanh.default", lambda graph, node, self: graph.op("sigmoid", self)):
        torch._dynamo.reset()
        run = torch.compile(lambda x: x.sin().tanh().cos(), backend="burnish_check", options={"dump": folder})
        close(run(X), X.sin().tanh().cos())
        with open(os.path.join(folder, "graph.txt"), encoding="utf-8") as file:
            text = file.read()
        assert "aten.tanh" in text and "aten.sin" not in text, text


def test_graph_dumper():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.head = nn.Embedding(7, 4), nn.Linear(4, 2)

        def forward(self, ids):
            return self.head(self.table(ids)).tanh()

    torch._dynamo.reset()
    with tempfile.TemporaryDirectory() as folder:
        model, ids = Model(), torch.tensor([[3, 5, 2]])
        run = torch.compile(model, backend=functorch.graph_dumper_aot("net", folder, dump_example_input=True))
        run(ids).sum().backward()
        assert model.head.weight.grad is not None
        names = sorted(os.listdir(folder))
        assert names == ["net_backward_0", "net_forward_0", "net_joint_0"], names
        forward = os.path.join(folder, "net_forward_0")
        with open(os.path.join(forward, "metadata.json"), encoding="utf-8") as file:
            entries = json.load(file)["inputs"]
        integers = [entry for entry in entries if entry["dtype"] == "int64"]
        assert len(integers) == 1 and integers[0]["least"] == 2 and integers[0]["greatest"] == 5, entries
        assert len(glob.glob(forward + "/*.npy")) == len(entries)
        inputs = functorch.random_inputs(forward)
        for entry, value in zip(entries, inputs):
            assert list(value.shape) == entry["shape"] and list(value.stride()) == entry["stride"]
            if entry["dtype"] == "int64":
                assert value.min() >= 2 and value.max() <= 5
        for name in names:
            assert "aten.tanh" in open(os.path.join(folder, name, "graph.txt"), encoding="utf-8").read() or (
                "backward" in name)
        assert burnish.compile(os.path.join(forward, "model.graph")).outputs
        run = torch.compile(network().eval(), backend=functorch.graph_dumper_aot("whole", folder))
        with torch.no_grad():
            run(X)
        assert os.path.exists(os.path.join(folder, "whole_forward_0", "model.graph"))
        assert not glob.glob(folder + "/whole_forward_0/*.npy")


def test_metadata_of_another_format():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "metadata.json"), "w", encoding="utf-8") as file:
            file.write('{"format": 2}')
        torch_harness.raised(lambda: functorch.random_inputs(folder), ValueError, "format 2")


torch_harness.run_cases(__name__)

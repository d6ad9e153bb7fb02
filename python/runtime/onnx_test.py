"""Models as the compiler makes them, called from Python, against ONNX Runtime.

usage: onnx_test.py TUNER
"""

import os
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnx.helper
import onnx.numpy_helper
import onnxruntime
from onnx import TensorProto

import burnish_runtime
import harness

ERROR_MAX = 1e-4  # max|got - want| / max|want|, as docs/contracts.md counts it.
_folder = tempfile.TemporaryDirectory()
_random = numpy.random.default_rng(13)


def value(name, type_, shape):
    return onnx.helper.make_tensor_value_info(name, type_, shape)


def floats(*shape):
    return _random.standard_normal(shape).astype(numpy.float32)


class Compiled:
    """A bundle, and the session of ONNX Runtime that it is compared with."""

    def __init__(self, nodes, inputs, outputs, *, flags=(), **weights):
        self.nodes, self.inputs, self.outputs = nodes, inputs, outputs
        self.path = os.path.join(_folder.name, f"{len(os.listdir(_folder.name))}.bundle")
        file = self.save(weights)
        subprocess.run([sys.argv[1], "compile", "--model", file, "--out", self.path, "--db",
                        os.path.join(_folder.name, "empty.db"), *flags], check=True, capture_output=True)

    def save(self, weights):
        graph = onnx.helper.make_graph(
            self.nodes, "graph", self.inputs, self.outputs,
            [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)],
                                       ir_version=8)
        onnx.checker.check_model(model)
        file = self.path + ".onnx"
        onnx.save(model, file)
        self.session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
        return file

    def want(self, tensors):
        return self.session.run(None, tensors)

    def check(self, model, tensors):
        want = self.want(tensors)
        for got in (model(**tensors), model(*tensors.values())):
            got = got if isinstance(got, tuple) else (got,)
            assert len(got) == len(want)
            for name, g, w in zip(self.session.get_outputs(), got, want):
                assert g.dtype == w.dtype and g.shape == w.shape, (name.name, g.dtype, g.shape)
                if w.dtype.kind != "f":
                    assert (g == w).all(), name.name
                else:
                    error = numpy.abs(g - w).max() / max(numpy.abs(w).max(), 1e-30)
                    assert error <= ERROR_MAX, (name.name, error)


def test_a_convolutional_network():
    node = onnx.helper.make_node
    compiled = Compiled(
        [node("Conv", ["image", "w"], ["c"], pads=[1, 1, 1, 1]), node("Relu", ["c"], ["r"]),
         node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
         node("Flatten", ["p"], ["f"]), node("Gemm", ["f", "v", "b"], ["logits"])],
        [value("image", TensorProto.FLOAT, [2, 3, 8, 8])],
        [value("logits", TensorProto.FLOAT, [2, 10])],
        w=floats(8, 3, 3, 3), v=floats(8 * 16, 10), b=floats(10))
    model = burnish_runtime.load(compiled.path)
    image = floats(2, 3, 8, 8)
    compiled.check(model, {"image": image})
    # The same values, channels last in memory.
    compiled.check(model, {"image": image.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2)})
    logits = numpy.empty((2, 10), numpy.float32)
    assert model.run(image, out=logits) is logits
    numpy.testing.assert_allclose(logits, compiled.want({"image": image})[0], rtol=1e-3, atol=1e-4)


def test_integers_booleans_and_scalars():
    node = onnx.helper.make_node
    compiled = Compiled(
        [node("Gather", ["table", "index"], ["picked"], axis=0),
         node("Greater", ["picked", "limit"], ["above"]),
         node("ReduceSum", ["picked"], ["total"], keepdims=0),
         node("Add", ["number", "number"], ["twice"])],
        [value("index", TensorProto.INT64, [2, 3]), value("limit", TensorProto.FLOAT, []),
         value("number", TensorProto.INT32, [4])],
        [value("above", TensorProto.BOOL, [2, 3, 5]), value("total", TensorProto.FLOAT, []),
         value("twice", TensorProto.INT32, [4])],
        table=floats(7, 5))
    model = burnish_runtime.load(compiled.path)
    tensors = {"index": numpy.array([[0, 6, 3], [2, 2, 1]]), "limit": numpy.float32(0.1),
               "number": numpy.array([1, -5, 1 << 20, 0], numpy.int32)}
    compiled.check(model, {**tensors, "limit": numpy.array(0.1, numpy.float32)})
    assert model(**tensors)[1].shape == ()
    harness.refusal(lambda: model(**{**tensors, "index": tensors["index"] + 1}), "out of bounds",
                    code="B0406")
    harness.refusal(lambda: model(**{**tensors, "index": tensors["index"].astype(numpy.int32)}),
                    "got i32[2,3]", "want i64[2,3]", code="B0404")


def test_an_initializer_that_is_an_input_is_its_default():
    node = onnx.helper.make_node
    compiled = Compiled(
        [node("Mul", ["x", "scale"], ["m"]), node("MatMul", ["m", "w"], ["p"]),
         node("If", ["negates"], ["q"], then_branch=onnx.helper.make_graph(
             [node("Neg", ["p"], ["n"])], "then", [], [value("n", TensorProto.FLOAT, [2, 4])]),
             else_branch=onnx.helper.make_graph(
                 [node("Identity", ["p"], ["i"])], "else", [], [value("i", TensorProto.FLOAT, [2, 4])])),
         node("Reshape", ["q", "shape"], ["y"])],
        [value("scale", TensorProto.FLOAT, []), value("x", TensorProto.FLOAT, [2, 3]),
         value("w", TensorProto.FLOAT, [3, 4]), value("negates", TensorProto.BOOL, []),
         value("shape", TensorProto.INT64, [2])],
        [value("y", TensorProto.FLOAT, [4, 2])],
        scale=numpy.array(2, numpy.float32), w=floats(3, 4), negates=numpy.array(True),
        shape=numpy.array([4, 2]))
    model = burnish_runtime.load(compiled.path)
    others = {"scale": numpy.array(-0.5, numpy.float32), "w": floats(3, 4), "negates": numpy.array(False)}
    for chosen in range(1 << len(others)):
        tensors = {"x": floats(2, 3), **{name: array for k, (name, array) in enumerate(others.items())
                                         if chosen >> k & 1}}
        got, want = model(**tensors), compiled.want(tensors)[0]
        assert numpy.abs(got - want).max() <= ERROR_MAX * numpy.abs(want).max(), sorted(tensors)
    harness.refusal(lambda: model(scale=others["scale"]), 'input "x" is missing', code="B0404")
    # A shape is known when the model is compiled.
    harness.refusal(lambda: model(x=floats(2, 3), shape=numpy.array([4, 2])), '"shape"', code="B0405")
    # The same of files, and of the numbers of a command line.
    x, y = os.path.join(_folder.name, "x.npy"), os.path.join(_folder.name, "y.npy")
    tensors = {"x": floats(2, 3)}
    numpy.save(x, tensors["x"])
    for flags, given in (((), {}), (("--value", "scale=-0.5"), {"scale": others["scale"]})):
        subprocess.run([sys.argv[1], "run", compiled.path, "--input", f"x={x}", "--output", f"y={y}", *flags],
                       check=True, capture_output=True)
        numpy.testing.assert_allclose(numpy.load(y), compiled.want({**tensors, **given})[0], rtol=1e-4, atol=1e-5)


def test_a_shape_without_elements():
    node = onnx.helper.make_node
    compiled = Compiled([node("Relu", ["x"], ["r"]), node("ReduceSum", ["x"], ["s"], keepdims=0)],
                        [value("x", TensorProto.FLOAT, ["n", 3])],
                        [value("r", TensorProto.FLOAT, ["n", 3]), value("s", TensorProto.FLOAT, [])],
                        flags=("--shape", "x=0x3"))
    r, s = burnish_runtime.load(compiled.path)(numpy.empty((0, 3), numpy.float32))
    assert r.shape == (0, 3) and s == 0


def test_a_loop_has_a_limit():
    node, number = onnx.helper.make_node, lambda name: value(name, TensorProto.INT64, [])
    body = onnx.helper.make_graph(
        [node("Sub", ["v", "one"], ["w"]), node("Greater", ["w", "zero"], ["go"])], "body",
        [number("i"), value("c", TensorProto.BOOL, []), number("v")],
        [value("go", TensorProto.BOOL, []), number("w")])
    compiled = Compiled([node("Loop", ["", "yes", "n"], ["left"], body=body)], [number("n")],
                        [number("left")], one=numpy.array(1), zero=numpy.array(0), yes=numpy.array(True))
    nine = numpy.array(9)
    model = burnish_runtime.load(compiled.path, loop_limit=9)
    assert model(nine) == burnish_runtime.load(compiled.path)(nine) == 0
    limited = burnish_runtime.load(compiled.path, loop_limit=8)
    for each in (limited, limited.refit({})):
        harness.refusal(lambda: each(nine), "goes on after 8 iterations", code="B0406")
    for limit, kind in ((0, ValueError), (-1, ValueError), ("9", TypeError), (9.0, TypeError),
                        (1 << 70, OverflowError)):
        harness.refusal(lambda: burnish_runtime.load(compiled.path, loop_limit=limit), kind=kind)


def test_values_of_a_run_that_cannot_be():
    """Each is an error with the node's name, and the model goes on."""
    node = onnx.helper.make_node
    x = numpy.array([3, 1, 2, 6, 5, 4], numpy.float32)

    def refused(compiled, good, *bad):
        model = burnish_runtime.load(compiled.path)
        for tensors in bad:
            try:
                compiled.want(tensors)
            except Exception:  # Its classes have no other base.
                pass
            else:
                raise AssertionError(f"ONNX Runtime takes {tensors}")
            harness.refusal(lambda: model(**tensors), "the node", "out of bounds", code="B0406")
            compiled.check(model, good)

    top = Compiled([node("TopK", ["x", "k"], ["values", "places"], name="the node")],
                   [value("x", TensorProto.FLOAT, [6]), value("k", TensorProto.INT64, [1])],
                   [value("values", TensorProto.FLOAT, [None]),
                    value("places", TensorProto.INT64, [None])])
    refused(top, {"x": x, "k": numpy.array([2])}, {"x": x, "k": numpy.array([7])},
            {"x": x, "k": numpy.array([-1])})
    places = [value("x", TensorProto.FLOAT, [6]), value("places", TensorProto.INT64, [2])]
    for op, inputs in (("Gather", ["x", "places"]), ("GatherElements", ["x", "places"]),
                       ("ScatterElements", ["x", "places", "new"])):
        compiled = Compiled([node(op, inputs, ["y"], name="the node")], places,
                            [value("y", TensorProto.FLOAT, [None])], new=floats(2))
        refused(compiled, {"x": x, "places": numpy.array([-6, 5])},
                *({"x": x, "places": numpy.array([0, at])} for at in (6, -7, 1 << 40)))


def first_along(x, axis, count, largest):
    """Values and places by NumPy: equal elements in the order of their places, NaN the greatest."""
    turned = numpy.flip(x, axis) if largest else x
    order = numpy.argsort(turned, axis=axis, kind="stable")
    if largest:
        order = x.shape[axis] - 1 - numpy.flip(order, axis)
    places = numpy.take(order, range(count), axis)
    return numpy.take_along_axis(x, places, axis), places


def test_the_first_along_an_axis():
    kinds = {numpy.float32: TensorProto.FLOAT, numpy.float64: TensorProto.DOUBLE,
             numpy.int32: TensorProto.INT32, numpy.int64: TensorProto.INT64}
    cases = [((7,), 0, 1), ((7,), 0, 7), ((3, 400), 1, 5), ((3, 400), -1, 399), ((130, 6), 0, 9),
             ((2, 90, 33), 1, 64), ((5000,), 0, 1000), ((1, 1), 1, 1)]
    nodes, inputs, outputs, counts, want = [], [], [], {}, []
    for i, (shape, axis, count) in enumerate(cases):
        for dtype, type_ in kinds.items():
            for largest in (0, 1):
                name = f"{i}_{dtype.__name__}_{largest}"
                nodes.append(onnx.helper.make_node(
                    "TopK", [f"x_{name}", f"k_{i}"], [f"values_{name}", f"places_{name}"], axis=axis,
                    largest=largest, sorted=i % 2))
                inputs.append(value(f"x_{name}", type_, shape))
                got = [count if d == axis % len(shape) else n for d, n in enumerate(shape)]
                outputs += [value(f"values_{name}", type_, got),
                            value(f"places_{name}", TensorProto.INT64, got)]
                counts[f"k_{i}"] = numpy.array([count])
                want.append((f"x_{name}", shape, axis, count, dtype, largest))
    model = burnish_runtime.load(Compiled(nodes, inputs, outputs, **counts).path)
    special = [0.0, -0.0, numpy.nan, -numpy.nan, numpy.inf, -numpy.inf, 1.0, -1.0, 1e-40]
    for draw in (lambda shape: _random.standard_normal(shape) * 1000,
                 lambda shape: numpy.sort(_random.standard_normal(shape) * 1000, axis=0),
                 lambda shape: _random.integers(-2, 3, shape), lambda shape: numpy.zeros(shape),
                 lambda shape: _random.choice(special, shape)):
        tensors = {}
        for name, shape, _, _, dtype, _ in want:
            drawn = draw(shape)
            tensors[name] = (drawn if dtype in (numpy.float32, numpy.float64)
                             else numpy.nan_to_num(drawn, posinf=9, neginf=-9)).astype(dtype)
        got = model(**tensors)
        for i, (name, _, axis, count, _, largest) in enumerate(want):
            values, places = first_along(tensors[name], axis, count, largest)
            assert (got[2 * i + 1] == places).all(), name
            assert got[2 * i].tobytes() == numpy.ascontiguousarray(values).tobytes(), name


def test_new_parameters():
    node = onnx.helper.make_node
    weights = {"w": floats(64, 10), "b": floats(10)}
    compiled = Compiled([node("MatMul", ["x", "w"], ["m"]), node("Add", ["m", "b"], ["y"])],
                        [value("x", TensorProto.FLOAT, [4, 64])],
                        [value("y", TensorProto.FLOAT, [4, 10])], **weights)
    before = burnish_runtime.load(compiled.path, threads=2)
    assert ({(p.name, p.dtype, p.shape) for p in before.parameters} ==
            {(name, weight.dtype, weight.shape) for name, weight in weights.items()})
    x = {"x": floats(4, 64)}
    compiled.check(before, x)
    old = before(**x)
    for replaced in ({"w": floats(64, 10), "b": floats(10)},
                     {"w": floats(10, 64).T, "b": floats(20)[::2]}):
        after = before.refit(replaced)
        assert after.path == before.path and after.thread_count == before.thread_count
        compiled.save({**weights, **replaced})
        compiled.check(after, x)
        assert (before(**x) == old).all() and not (after(**x) == old).all()
        # A model that shares the new ones.
        compiled.check(burnish_runtime.load(compiled.path, share_with=after), x)
    harness.refusal(lambda: before.refit({"v": weights["w"]}), 'parameter "v"', code="B0405")
    # The compiler has put them into one buffer.
    harness.refusal(lambda: before.refit({"w": weights["w"]}), '"w" and "b"', "replace both",
                    code="B0404")
    harness.refusal(lambda: before.refit({"w": weights["w"][:1]}), "f32[1,10]", "f32[64,10]",
                    code="B0404")
    harness.refusal(lambda: before.refit({"w": weights["w"].astype(float)}), "f64", "f32",
                    code="B0404")


def test_all_parameters_are_new():
    """Weights that passes fold, and one that the importer does, before any pass."""
    node = onnx.helper.make_node

    def weights():
        return {"w": floats(8, 3, 3, 3), "gamma": floats(8), "beta": floats(8), "mean": floats(8),
                "variance": numpy.abs(floats(8)) + 0.5, "one": floats(8, 1, 1),
                "other": floats(8, 1, 1)}

    old = weights()
    compiled = Compiled(
        [node("Conv", ["image", "w"], ["c"], pads=[1, 1, 1, 1]),
         node("BatchNormalization", ["c", "gamma", "beta", "mean", "variance"], ["n"]),
         node("Relu", ["n"], ["r"]), node("Sub", ["one", "other"], ["folded"]),
         node("Mul", ["r", "folded"], ["y"])],
        [value("image", TensorProto.FLOAT, [1, 3, 8, 8])],
        [value("y", TensorProto.FLOAT, [1, 8, 8, 8])], flags=["--refit"], **old)
    before = burnish_runtime.load(compiled.path)
    assert {p.name for p in before.parameters} == set(old)
    image = {"image": floats(1, 3, 8, 8)}
    compiled.check(before, image)
    new = weights()
    after = before.refit(new)
    compiled.save(new)
    compiled.check(after, image)
    # What is folded or packed together is replaced together.
    harness.refusal(lambda: before.refit({"w": new["w"]}), '"w"', '"gamma"', '"variance"', '"one"',
                    code="B0404")


def test_a_matrix_may_be_multiplied_in_place():
    node = onnx.helper.make_node
    compiled = Compiled([node("MatMul", ["x", "w"], ["y"])],
                        [value("x", TensorProto.FLOAT, [16, 16])],
                        [value("y", TensorProto.FLOAT, [16, 16])], w=floats(16, 16))
    model = burnish_runtime.load(compiled.path)
    for make in (numpy.empty, burnish_runtime.empty):
        x = make((16, 16), numpy.float32)
        x[...] = floats(16, 16)
        want = compiled.want({"x": x.copy()})[0]
        assert model.run(x, out=x) is x
        numpy.testing.assert_allclose(x, want, rtol=1e-3, atol=1e-4)


harness.run_cases(__name__)

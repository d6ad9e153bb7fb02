"""`burnish.InferenceSession` beside ONNX Runtime's: the same script with either module. usage: session_test.py TUNER LAUNCHER"""

import os
import sys
import tempfile
import warnings

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

sys.path[:0] = ["python", "python/runtime", "tests/e2e/models"]

import burnish  # noqa: E402
from burnish import _onnx_file, _programs, _session  # noqa: E402
import test_report  # noqa: E402

folder = tempfile.TemporaryDirectory()
FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
random = numpy.random.default_rng(0)


def value(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def save(name, nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="a test")
    model.doc_string = "two outputs"
    helper.set_model_props(model, {"key": "what it says"})
    onnx.checker.check_model(model)
    path = os.path.join(folder.name, name + ".onnx")
    onnx.save(model, path)
    return path


def weights(name, *shape):
    return numpy_helper.from_array((0.1 * random.standard_normal(shape)).astype(numpy.float32), name)


def two_outputs(name, batch):
    """Inputs x f32[batch,8] and pick i64[2]; outputs dense f32[batch,4] and picked f32[batch,2]."""
    return save(name, [helper.make_node("MatMul", ["x", "w"], ["dense"]),
                       helper.make_node("Gather", ["dense", "pick"], ["picked"], axis=1)],
                [value("x", FLOAT, [batch, 8]), value("pick", INT64, [2])],
                [value("dense", FLOAT, [batch, 4]), value("picked", FLOAT, [batch, 2])], [weights("w", 8, 4)])


FIXED, OPEN = two_outputs("fixed", 3), two_outputs("open", "n")
X = random.standard_normal((3, 8)).astype(numpy.float32)
PICK = numpy.array([3, 0])
BOTH = (onnxruntime, burnish)


def same(got, want):
    assert isinstance(got, list) and len(got) == len(want), got
    for one, other in zip(got, want):
        assert one.shape == other.shape and one.dtype == other.dtype, (one.shape, one.dtype, other.shape, other.dtype)
        numpy.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def both_refuse(call, *texts, code=None, kind=None):
    """Each module's own exception, or `kind`; ours says `texts`."""
    errors = []
    for module in BOTH:
        try:
            got = call(module)
        except Exception as error:  # pylint: disable=broad-except
            errors.append(error)
        else:
            raise AssertionError(f"{module.__name__} refuses nothing: {got!r}")
    theirs, ours = errors
    assert isinstance(ours, kind or burnish.BurnishError), repr(ours)
    assert kind is None or isinstance(theirs, kind), repr(theirs)
    assert all(text in str(ours) for text in texts), ours
    assert kind or ours.code == code, (ours.code, ours)
    return theirs, ours


def test_the_same_script():
    def script(ort):
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        session = ort.InferenceSession(FIXED, options, providers=["CPUExecutionProvider"])
        feed = {"x": X, "pick": PICK}
        assert session.get_providers() == ["CPUExecutionProvider"] and ort.get_device() == "CPU"
        assert "CPUExecutionProvider" in ort.get_available_providers()
        about = session.get_modelmeta()
        told = [(each.name, each.type, each.shape) for each in session.get_inputs() + session.get_outputs()]
        return (session.run(None, feed), session.run(["picked"], feed), session.run([], feed, ort.RunOptions()),
                session.run(["picked", "dense"], feed),
                [told, about.producer_name, about.graph_name, about.description, about.custom_metadata_map])

    theirs, ours = script(onnxruntime), script(burnish)
    for got, want in zip(ours[:-1], theirs[:-1]):
        same(got, want)
    assert ours[-1] == theirs[-1], (ours[-1], theirs[-1])


def test_sizes_that_the_model_leaves_open():
    for source in (OPEN, open(OPEN, "rb").read()):
        sessions = [module.InferenceSession(source, providers=["CPUExecutionProvider"]) for module in BOTH]
        shapes = [[each.shape for each in session.get_inputs()] for session in sessions]
        assert shapes[0] == shapes[1] == [["n", 8], [2]], shapes
        for rows in (1, 3, 1):
            feed = {"x": numpy.resize(X, (rows, 8)), "pick": PICK}
            theirs, ours = [session.run(None, feed) for session in sessions]
            same(ours, theirs)
        assert len(sessions[1]._models) == 2
    ranged = burnish.InferenceSession(OPEN, dims={"n": (1, 4)})
    fixed = burnish.SessionOptions()
    fixed.add_free_dimension_override_by_name("n", 2)
    for session, sizes in ((ranged, (1, 4, 3)), (burnish.InferenceSession(OPEN, fixed), (2,))):
        for rows in sizes:
            feed = {"x": numpy.resize(X, (rows, 8)), "pick": PICK}
            same(session.run(None, feed), sessions[0].run(None, feed))
        assert not session._models


def test_many_sizes_are_said_and_bounded():
    class Stub:
        def __call__(self, x, pick):
            return x[:, :4], x[:, :2]

    compiled, before = [], _session._compile.compile
    _session._compile.compile = lambda *_, shapes, **__: compiled.append(shapes["x"]) or Stub()
    try:
        session = burnish.InferenceSession(OPEN)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for rows in range(1, 21):
                session.run(None, {"x": numpy.zeros((rows, 8), numpy.float32), "pick": PICK})
        assert len(said) == 1 and "dims={'n': (1, 512)}" in str(said[0].message), [str(each.message) for each in said]
        assert len(compiled) == 20 and len(session._models) == _session._MODELS_MAX
        session.run(None, {"x": numpy.zeros((20, 8), numpy.float32), "pick": PICK})
        assert len(compiled) == 20
        session.run(None, {"x": numpy.zeros((1, 8), numpy.float32), "pick": PICK})
        assert len(compiled) == 21
    finally:
        _session._compile.compile = before


def test_bindings():
    def script(ort):
        session = ort.InferenceSession(FIXED, providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        binding.bind_cpu_input("x", X)
        binding.bind_ortvalue_input("pick", ort.OrtValue.ortvalue_from_numpy(PICK))
        binding.bind_output("picked")
        session.run_with_iobinding(binding)
        first = binding.copy_outputs_to_cpu()
        into = numpy.zeros((3, 4), numpy.float32)
        x = X.copy()
        binding.clear_binding_outputs()
        binding.bind_input("x", "cpu", 0, numpy.float32, x.shape, x.ctypes.data)
        binding.bind_output("dense", "cpu", 0, numpy.float32, into.shape, into.ctypes.data)
        binding.bind_output("picked", "cpu")
        binding.synchronize_inputs()
        session.run_with_iobinding(binding)
        values = binding.get_outputs()
        assert values[0].data_ptr() == into.ctypes.data and values[0].shape() == [3, 4]
        assert values[1].data_type() == "tensor(float)" and values[1].device_name().lower() == "cpu"
        return [*first, *(each.numpy() for each in values), into]

    same(script(burnish), script(onnxruntime))


def test_names_types_and_shapes_that_are_wrong():
    def running(feed, names=None, path=FIXED):
        return lambda ort: ort.InferenceSession(path, providers=["CPUExecutionProvider"]).run(names, feed)

    theirs, ours = both_refuse(running({"pick": PICK}), "['x']", kind=ValueError)
    assert str(ours) == str(theirs), (ours, theirs)
    both_refuse(running({"x": X, "pick": PICK, "z": X}), "Invalid input name: z", "x, pick", code="B0405")
    both_refuse(running({"x": X, "pick": PICK}, ["no"]), "Invalid output name: no", "dense, picked", code="B0405")
    for path in (FIXED, OPEN):
        both_refuse(running({"x": X.astype(numpy.float64), "pick": PICK}, path=path), "x", "f", "64", code="B0404")
        both_refuse(running({"x": X[:, :7].copy(), "pick": PICK}, path=path), "x", "7", "8", code="B0404")
        both_refuse(running({"x": X[0], "pick": PICK}, path=path), "x", code="B0404")


def test_files_that_are_none():
    def opening(source):
        return lambda ort: ort.InferenceSession(source, providers=["CPUExecutionProvider"])

    both_refuse(opening(os.path.join(folder.name, "missing.onnx")), "No such file", code="B0201")
    both_refuse(opening(b"no model"), "is no ONNX model", code="B0301")
    path = os.path.join(folder.name, "broken.onnx")
    with open(FIXED, "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(data[:len(data) // 2])
    both_refuse(opening(path), "is no ONNX model", code="B0301")
    for end in range(len(data)):  # Each is an answer or one kind of error, and no place outside is read.
        try:
            _onnx_file.read(data[:end], "cut")
        except burnish.BurnishError as error:
            assert error.code == "B0301"


def test_what_has_no_counterpart_says_what_to_do():
    def refused(call, text, kind=burnish.BurnishError):
        try:
            call()
        except kind as error:
            said = str(error) + " ".join(getattr(error, "__notes__", ()))
            assert text in said, said
            return
        raise AssertionError("nothing refused")

    session = burnish.InferenceSession(FIXED)
    options = burnish.SessionOptions()
    options.enable_profiling = True
    refused(lambda: burnish.InferenceSession(FIXED, options), "--profile")
    refused(session.end_profiling, "--profile")
    refused(lambda: options.register_custom_ops_library("x.so"), "ONNX function")
    refused(lambda: session.io_binding().bind_output("dense", "cuda"), "device_type='cpu'")
    refused(lambda: session.run_with_iobinding(session.io_binding()), "bind_output")
    refused(lambda: setattr(options, "intra_op_threads", 2), "intra_op_num_threads", AttributeError)
    refused(lambda: burnish.InferenceSession(FIXED, dim={"n": 1}), "dims", TypeError)
    theirs = onnxruntime.SessionOptions()  # ONNX Runtime's own settings are taken, too.
    theirs.intra_op_num_threads = 1
    assert burnish.InferenceSession(FIXED, theirs, [("CUDAExecutionProvider", {})])._fixed.thread_count == 1


def test_a_bundle():
    path = burnish.compile(FIXED, os.path.join(folder.name, "fixed.bundle"))
    session = burnish.InferenceSession(path)
    theirs = onnxruntime.InferenceSession(FIXED, providers=["CPUExecutionProvider"])
    told = [[(each.name, each.type, each.shape) for each in one.get_inputs() + one.get_outputs()] for one in (session, theirs)]
    assert told[0] == told[1], told
    same(session.run(None, {"x": X, "pick": PICK}), theirs.run(None, {"x": X, "pick": PICK}))


def main():
    programs = tempfile.TemporaryDirectory()
    for path in sys.argv[1:3]:
        os.symlink(os.path.abspath(path), os.path.join(programs.name, os.path.basename(path)))
    _programs.FOLDER = programs.name
    os.environ.update(XDG_CACHE_HOME=folder.name, XDG_DATA_HOME=folder.name, HOME=folder.name)
    return test_report.run_functions("session_test", test_report.functions_of(globals()))


if __name__ == "__main__":
    sys.exit(main())

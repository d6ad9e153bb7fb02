"""What is refused, and whether the refusal says what came and what was wanted."""

import copy
import os
import pickle
import tempfile

import numpy

import burnish_runtime
import harness

MODEL = harness.load()
X, INDEX, IMAGE = harness.inputs()
WANT_X = "f32[2,500]"


def refused_x(x, *texts, code="B0404", **options):
    return harness.refusal(lambda: MODEL(x, INDEX, IMAGE), *texts, code=code, **options)


def refused_out(out, *texts):
    return harness.refusal(lambda: MODEL.run(X, INDEX, IMAGE, out=out), *texts, code="B0404")


def test_wrong_count():
    harness.refusal(lambda: MODEL(X), '"index" is missing', code="B0404")
    harness.refusal(MODEL, '"x" is missing', code="B0404")
    harness.refusal(lambda: MODEL(X, INDEX, IMAGE, X), "input number 3", '"x", "index", "image"',
                    code="B0405")


def test_wrong_name():
    harness.refusal(lambda: MODEL(X, INDEX, picture=IMAGE), 'input "picture"', '"image"',
                    code="B0405")
    harness.refusal(lambda: MODEL(X, INDEX, IMAGE, x=X), 'input "x" twice', code="B0404")
    harness.refusal(lambda: MODEL(INDEX, IMAGE, **{"x\0": X}), "'x\\x00'", kind=ValueError)
    harness.refusal(lambda: MODEL(INDEX, IMAGE, **{"\udcff": X}), kind=UnicodeEncodeError)
    harness.refusal(lambda: MODEL(X, INDEX, **{"größe": IMAGE}), 'input "größe"', code="B0405")
    # `out` is an argument of run alone.
    harness.refusal(lambda: MODEL(X, INDEX, IMAGE, out=X), 'input "out"', code="B0405")


def test_wrong_dtype():
    for dtype, name in ((float, "f64"), (numpy.float16, "f16"), (numpy.int32, "i32"),
                        (bool, "bool"), (numpy.uint64, "u64")):
        refused_x(X.astype(dtype), 'input "x"', f"got {name}[2,500]", "want " + WANT_X)


def test_dtypes_that_no_tensor_has():
    for tensor, text in ((X.astype(complex), "Zd"), (numpy.full((2, 500), "a"), "w"),
                         (X.astype(numpy.longdouble), "'g'"),
                         (numpy.zeros((2, 500), [("a", "f4")]), "T{")):
        refused_x(tensor, 'input "x"', text, "want " + WANT_X)
    refused_x(numpy.zeros((2, 500), "M8[s]"), "datetime64", "want " + WANT_X)
    refused_x(X.astype(object), "format 'O'", "want " + WANT_X)


def test_wrong_shape():
    refused_x(X.reshape(500, 2), "got f32[500,2]", "want " + WANT_X)
    refused_x(X.reshape(-1), "got f32[1000]", "want " + WANT_X)
    refused_x(X[:1], "got f32[1,500]", "want " + WANT_X)
    refused_x(X[:0], "got f32[0,500]", "want " + WANT_X)
    # A scalar has no extents; those of the model must not be put in their place.
    refused_x(numpy.array(1, numpy.float32), "got f32[]", "want " + WANT_X)
    refused_x(numpy.float32(1), "got f32[]", "want " + WANT_X)
    refused_x(numpy.zeros((1,) * 20 + (2, 500), numpy.float32), "rank 22", "want " + WANT_X)


def test_other_byte_order():
    refused_x(X.astype(">f4"), "byte order", "newbyteorder", "want " + WANT_X)


def test_stride_that_splits_elements():
    packed = numpy.zeros((2, 500), [("pad", "u1"), ("value", "f4")])["value"]
    assert packed.strides == (2500, 5)
    refused_x(packed, "stride of 5 bytes", "axis 1", "want " + WANT_X)


def test_objects_that_are_no_tensors():
    for value in ([1.0], 1.0, None, "x", object()):
        refused_x(value, 'input "x"', type(value).__name__, "want " + WANT_X, kind=TypeError)
    harness.refusal(lambda: MODEL(X, INDEX, IMAGE, [1]), "input number 3", "list", kind=TypeError)
    harness.refusal(lambda: MODEL(X, INDEX, y=[1]), 'input "y"', "list", kind=TypeError)


def test_dead_tensors():
    released = memoryview(X)
    released.release()
    error = refused_x(released, "released memoryview", "want " + WANT_X)
    assert isinstance(error.__cause__, ValueError), error.__cause__


def test_outputs_that_cannot_be_written():
    read_only = numpy.zeros(1000, numpy.float32)
    read_only.flags.writeable = False
    refused_out((read_only, None, None), 'output "sum"', "must not be written", "want f32[1000]")
    assert (read_only == 0).all()
    refused_out((bytes(4000), None, None), 'output "sum"', "got u8[4000]", "want f32[1000]")
    overlapping = numpy.lib.stride_tricks.as_strided(numpy.zeros(1, numpy.float32), (1000,), (0,))
    refused_out((overlapping, None, None), 'output "sum"', "share a place")
    backwards = numpy.zeros(1000, numpy.float32)[::-1]
    refused_out((backwards, None, None), 'output "sum"', "stride of -4 bytes", "not negative")


def test_wrong_outputs():
    out = tuple(numpy.empty(each.shape, each.dtype) for each in MODEL.outputs)
    refused_out(out[0], "got 1 tensor", "tuple of 3")
    refused_out(out[:2], "got 2 tensors", "tuple of 3")
    refused_out((out[0].astype(float), None, None), 'output "sum"', "got f64[1000]",
                "want f32[1000]")
    refused_out((out[0][:999], None, None), "got f32[999]", "want f32[1000]")
    refused_out((None, None, out[2].reshape(1)), 'output "total"', "got f32[1]", "want f32[]")
    both = numpy.empty(1000, numpy.float32)
    refused_out((both, both[:4], None), '"sum" and "picked" share memory')
    harness.refusal(lambda: MODEL.run(X, INDEX, IMAGE, out=(None, "x", None)), 'output "picked"',
                    "str", kind=TypeError)


def test_values_that_the_model_refuses():
    harness.refusal(lambda: MODEL(X, numpy.array([0, 1, 2, 1000], numpy.int32), IMAGE), "gather",
                    "out of bounds", code="B0406")
    harness.check_outputs(MODEL(X, INDEX, IMAGE), harness.expected(X, INDEX, IMAGE))


def test_files_that_are_no_bundles():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.bundle")
        assert harness.refusal(lambda: burnish_runtime.load(path), path,
                               code="B0201").status == "NOT_FOUND"
        with open(path, "wb") as file:
            file.write(b"no bundle")
        assert harness.refusal(lambda: burnish_runtime.load(path), path,
                               code="B0401").status == "INVALID_ARGUMENT"
        with open(harness.MODEL_PATH, "rb") as bundle, open(path, "wb") as file:
            file.write(bundle.read()[:-100])
        assert harness.refusal(lambda: burnish_runtime.load(path), path,
                               code="B0402").status == "DATA_LOSS"
    harness.refusal(lambda: burnish_runtime.load(3), "int", kind=TypeError)
    # Any bytes but a zero are a path.
    harness.refusal(lambda: burnish_runtime.load(os.fsdecode(b"/\xff.bundle")), "/\\xff.bundle",
                    code="B0201")
    harness.refusal(lambda: burnish_runtime.load(harness.MODEL_PATH + "\0.bundle"), "null",
                    kind=ValueError)


def test_wrong_options():
    harness.refusal(lambda: harness.load(threads=0), "got 0", kind=ValueError)
    harness.refusal(lambda: harness.load(threads="2"), "threads", "'2'", kind=TypeError)
    harness.refusal(lambda: harness.load(share_with=3), "share_with", kind=TypeError)
    harness.refusal(lambda: harness.load(threads=1 << 20), "1048576 threads")
    harness.refusal(lambda: burnish_runtime.Threads(-1), "-1", kind=ValueError)
    harness.refusal(lambda: burnish_runtime.Threads(2, cpus=[0]), "1 CPUs", "2 threads",
                    kind=ValueError)
    harness.refusal(lambda: burnish_runtime.Threads(cpus=[]), "no CPUs", kind=ValueError)
    harness.refusal(lambda: burnish_runtime.Threads(cpus=[-1]), "-1", kind=ValueError)
    harness.refusal(lambda: burnish_runtime.Threads("2"), kind=TypeError)
    for openmp in (3, (1, 2), (1, 2, 0), ("a", 2, 3)):
        harness.refusal(lambda: burnish_runtime.Threads(2, openmp=openmp), "three addresses", kind=ValueError)
    harness.refusal(lambda: burnish_runtime.Threads(cpus=[0], openmp=(1, 2, 3)), "CPUs to pin")


def test_parameters_that_cannot_be_replaced():
    harness.refusal(lambda: MODEL.refit({"w": X}), '"w"', code="B0405")
    harness.refusal(lambda: MODEL.refit({"w": [1]}), 'parameter "w"', "list", kind=TypeError)
    harness.refusal(lambda: MODEL.refit({1: X}), kind=TypeError)
    harness.refusal(lambda: MODEL.refit({"w\0": X}), "'w\\x00'", kind=ValueError)
    for wrong in (3, [X], None):
        harness.refusal(lambda wrong=wrong: MODEL.refit(wrong), "want a mapping", kind=TypeError)

    class Pairs:
        def items(self):
            return [["w", X]]
    harness.refusal(lambda: MODEL.refit(Pairs()), "want a mapping", kind=TypeError)


def test_models_are_made_by_load_alone():
    harness.refusal(burnish_runtime.Model, "Model", kind=TypeError)
    for copy_of in (pickle.dumps, copy.copy, copy.deepcopy):
        harness.refusal(lambda copy_of=copy_of: copy_of(MODEL), "path", kind=TypeError)


def test_errors_and_descriptions_cross_processes():
    assert pickle.loads(pickle.dumps(MODEL.inputs)) == MODEL.inputs
    error = burnish_runtime.BurnishError("text", code="B0404", status="INVALID_ARGUMENT")
    again = pickle.loads(pickle.dumps(error))
    assert (again.message, again.code, again.status, str(again)) == (
        "text", "B0404", "INVALID_ARGUMENT", "text")


harness.run_cases(__name__)

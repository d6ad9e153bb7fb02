"""Each element type, scalars, tensors without elements: copied by a model, and the same."""

import subprocess
import sys

import ml_dtypes
import numpy

import burnish_runtime
import harness

NUMPY_NAMES = {"f32": "float32", "f64": "float64", "f16": "float16", "i8": "int8", "u8": "uint8",
               "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32", "i64": "int64",
               "u64": "uint64", "bool": "bool", "bf16": "bfloat16"}


def values(dtype, shape=(2, 3)):
    if dtype == numpy.bool_:
        return numpy.array([[True, False, True], [False, False, True]])
    if dtype.kind in "iu":
        limits = numpy.iinfo(dtype)
        return numpy.array([[limits.min, limits.max, 0], [1, 2, 3]], dtype)
    return numpy.array([[0.5, -1.25, 3], [0, 96, -0.0]]).astype(dtype)


def test_each_type_comes_out_as_it_went_in():
    for name, numpy_name in NUMPY_NAMES.items():
        model = harness.copy_model(name)
        dtype = numpy.dtype(ml_dtypes.bfloat16 if name == "bf16" else numpy_name)
        assert model.inputs[0].dtype == dtype == model.outputs[0].dtype, (name, model.inputs)
        x = values(dtype)
        want = x.copy()
        out = numpy.zeros_like(x)
        for got in (model(x), model(x.T.copy().T), model.run(x, out=out)):
            assert got.dtype == dtype and got.tobytes() == want.tobytes(), (name, got)
        assert burnish_runtime.empty((2, 3), dtype).dtype == dtype


def test_each_type_is_told_from_the_others():
    # The same bytes under another name are still refused.
    for name, other in (("u8", "int8"), ("bool", "uint8"), ("u64", "int64"), ("f16", "uint16"),
                        ("bf16", "uint16"), ("bf16", "float16"), ("i32", "float32")):
        x = numpy.zeros((2, 3), other)
        harness.refusal(lambda name=name, x=x: harness.copy_model(name)(x), f"want {name}[2,3]",
                        code="B0404")


def test_long_and_long_long_are_the_same():
    model = harness.copy_model("i64")
    for kind in (numpy.long, numpy.longlong, numpy.intp):
        x = numpy.arange(6, dtype=kind).reshape(2, 3)
        assert (model(x) == x).all()


def test_bfloat16_without_ml_dtypes():
    harness.copy_model("bf16")
    script = """
import sys
sys.modules["ml_dtypes"] = None
import numpy
import burnish_runtime
import fake_dlpack
model = burnish_runtime.load(sys.argv[1])
assert model.outputs[0].dtype == "bf16", model.outputs
bits = numpy.arange(6, dtype=numpy.uint16).reshape(2, 3)
out = numpy.zeros((2, 3), numpy.uint16)
def bfloat16(array):
    return fake_dlpack.WithCapsule(array, lambda tensor: setattr(tensor.type, "code", 4))
try:
    model(bfloat16(bits))
except burnish_runtime.BurnishError as error:
    assert "ml_dtypes" in str(error) and "out" in str(error), error
else:
    raise AssertionError("an array of a type that is not there")
model.run(bfloat16(bits), out=bfloat16(out))
assert (out == bits).all()
"""
    subprocess.run([sys.executable, "-c", script, harness.copy_model("bf16").path], check=True)


def test_scalars():
    model = harness.copy_model("scalar")
    for x in (numpy.array(2.5, numpy.float32), numpy.float32(2.5)):
        got = model(x)
        assert got.shape == () and got == 2.5
    out = numpy.zeros((), numpy.float32)
    assert model.run(x, out=out) is out and out == 2.5
    harness.refusal(lambda: model(numpy.zeros(1, numpy.float32)), "got f32[1]", "want f32[]",
                    code="B0404")


def test_no_elements():
    model = harness.copy_model("empty")
    got = model(numpy.zeros((0, 3), numpy.float32))
    assert got.shape == (0, 3) and got.dtype == numpy.float32
    out = numpy.zeros((0, 3), numpy.float32)
    assert model.run(numpy.zeros((3, 0), numpy.float32).T, out=out) is out
    harness.refusal(lambda: model(numpy.zeros((3, 0), numpy.float32)), "got f32[3,0]",
                    "want f32[0,3]", code="B0404")


def test_the_highest_rank():
    model = harness.copy_model("rank16")
    x = numpy.full((1,) * 16, 7, numpy.float32)
    assert model(x).shape == x.shape and model(x).item() == 7
    harness.refusal(lambda: model(numpy.zeros((1,) * 17, numpy.float32)), "rank 17", code="B0404")


def test_an_input_called_out():
    model = harness.copy_model("out")
    x = numpy.arange(4, dtype=numpy.float32)
    out = numpy.zeros(4, numpy.float32)
    assert (model(out=x) == x).all() and (model.__call__(out=x) == x).all()
    assert model.run(x, out=out) is out and (out == x).all()
    harness.refusal(lambda: model.run(out=x), '"out" is missing', code="B0404")


def test_one_output_may_be_a_tuple_of_one():
    model = harness.copy_model("f32")
    x = values(numpy.dtype("float32"))
    out = numpy.zeros_like(x)
    assert model.run(x, out=(out,)) is out and (out == x).all()
    assert (model.run(x, out=(None,)) == x).all()


harness.run_cases(__name__)

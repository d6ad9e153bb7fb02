"""Tensors of other libraries, by DLPack. NumPy's own arrays come by the buffer protocol."""

import ctypes

import ml_dtypes
import numpy

import fake_dlpack
import harness

MODEL = harness.load()
X, INDEX, IMAGE = harness.inputs()
WANT = harness.expected(X, INDEX, IMAGE)
PRODUCERS = (fake_dlpack.WithCapsule, fake_dlpack.Old, fake_dlpack.WithTable,
             fake_dlpack.WithNewerTable)


def setting(**fields):
    def change(tensor):
        for name, value in fields.items():
            setattr(tensor, name, value)
    return change


def refused_x(x, *texts):
    return harness.refusal(lambda: MODEL(x, INDEX, IMAGE), 'input "x"', "want f32[2,500]", *texts,
                           code="B0404")


def freed_by(call):
    del fake_dlpack.FREED[:]
    call()
    return len(fake_dlpack.FREED)


def test_inputs_and_outputs_of_each_kind():
    for producer in PRODUCERS:
        out = numpy.zeros(1000, numpy.float32)
        given = producer(out)
        got = MODEL.run(producer(X), producer(INDEX), producer(IMAGE), out=(given, None, None))
        assert got[0] is given
        harness.check_outputs((out,) + got[1:], WANT)


def test_each_tensor_is_freed_once_after_the_call():
    for producer in PRODUCERS:
        assert freed_by(lambda: MODEL(producer(X), producer(INDEX), IMAGE)) == 2, producer
        # Also when another one is refused.
        assert freed_by(lambda: refused_x(producer(X[:1]))) == 1, producer


def test_strides_and_offsets():
    wide = numpy.zeros((4, 1500), numpy.float32)
    wide[::2, ::3] = X
    moved = numpy.concatenate([numpy.zeros(5, numpy.float32), X.reshape(-1)])
    for producer in PRODUCERS:
        harness.check_outputs(MODEL(producer(wide[::2, ::3]), INDEX, IMAGE), WANT)
        dense = producer(X, setting(strides=None))
        harness.check_outputs(MODEL(dense, INDEX, IMAGE), WANT)
        shifted = producer(moved[5:].reshape(2, 500),
                           setting(data=moved.ctypes.data, offset_bytes=20))
        harness.check_outputs(MODEL(shifted, INDEX, IMAGE), WANT)


def test_other_devices():
    for producer in PRODUCERS:
        cuda = producer(X, setting(device=fake_dlpack.Device(2, 1)))
        refused_x(cuda, "another device", "type 2", "number 1")
        pinned = producer(X, setting(device=fake_dlpack.Device(3, 0)))  # Host memory, for a GPU.
        harness.check_outputs(MODEL(pinned, INDEX, IMAGE), WANT)


def test_other_types():
    for producer in PRODUCERS:
        refused_x(producer(X.astype(float)), "got f64[2,500]")
        refused_x(producer(X, setting(type=fake_dlpack.DataType(5, 64, 1))), "type 5, 64 bits")
        refused_x(producer(X, setting(type=fake_dlpack.DataType(2, 32, 4))), "4 lanes")
        refused_x(producer(X, setting(type=fake_dlpack.DataType(4, 16, 1))), "got bf16[2,500]")


def test_shapes_that_cannot_be():
    for producer in PRODUCERS:
        refused_x(producer(X.reshape(-1)), "got f32[1000]")
        refused_x(producer(X, setting(rank=0)), "got f32[]")
        refused_x(producer(X, setting(shape=None)), "without a shape")
        refused_x(producer(X, setting(rank=-1)), "got rank -1")
        refused_x(producer(X, setting(rank=40)), "got rank 40")


def test_strides_that_lead_out_of_any_memory():
    for first in (1 << 62, -(1 << 63), 1 << 45):
        far = (ctypes.c_int64 * 2)(first, 1)
        for producer in PRODUCERS:
            given = producer(X, setting(strides=ctypes.addressof(far)))
            harness.refusal(lambda given=given: MODEL(given, INDEX, IMAGE), 'input "x"',
                            "beyond any memory", code="B0404")


def test_a_list_of_outputs_that_changes_meanwhile():
    out = numpy.zeros(1000, numpy.float32)

    class Emptying(fake_dlpack.WithCapsule):
        def __dlpack__(self, **_):
            given.clear()
            return self.capsule()
    given = [Emptying(out), numpy.zeros(4, numpy.float32), None]
    got = MODEL.run(X, INDEX, IMAGE, out=given)
    assert not given
    harness.check_outputs((out,) + got[1:], WANT)


def test_dead_tensors():
    for producer in PRODUCERS:
        refused = harness.refusal(lambda: MODEL(producer(X, setting(data=None)), INDEX, IMAGE),
                                  'input "x"', "no memory", code="B0404")
        assert refused.status == "INVALID_ARGUMENT"
        # An output without memory is none that is not wanted.
        dead = producer(numpy.zeros(1000, numpy.float32), setting(data=None))
        harness.refusal(lambda: MODEL.run(X, INDEX, IMAGE, out=(dead, None, None)),
                        'output "sum"', "no memory", "want f32[1000]", code="B0404")
    refused_x(fake_dlpack.WithCapsule(X, name=b"used_dltensor_versioned"), "taken out")
    refused_x(fake_dlpack.WithCapsule(X, version=(2, 0)), "DLPack 2")
    error = refused_x(fake_dlpack.Refusing(), "(has no memory here)")
    assert isinstance(error.__cause__, BufferError) and "frame #0" in str(error.__cause__)


def test_a_buffer_that_refuses_leaves_dlpack():
    """As JAX's arrays of bfloat16: they have the buffer protocol, which has no such type."""
    class LikeJax(numpy.ndarray):
        def __dlpack__(self, **_):
            return self.producer.capsule()
    bits = numpy.arange(6, dtype=numpy.uint16).reshape(2, 3)
    x = numpy.zeros((2, 3), ml_dtypes.bfloat16).view(LikeJax)
    harness.refusal(lambda: memoryview(x), kind=ValueError)
    x.producer = fake_dlpack.WithCapsule(bits, setting(type=fake_dlpack.DataType(4, 16, 1)))
    got = harness.copy_model("bf16")(x)
    assert got.tobytes() == bits.tobytes()


def test_memory_that_must_not_be_written():
    out = numpy.zeros(1000, numpy.float32)
    for producer in (fake_dlpack.WithCapsule, fake_dlpack.WithTable):
        read_only = producer(out, read_only=True)
        harness.refusal(lambda: MODEL.run(X, INDEX, IMAGE, out=(read_only, None, None)),
                        'output "sum"', "must not be written", code="B0404")
        harness.check_outputs(MODEL(producer(X, read_only=True), INDEX, IMAGE), WANT)
    assert (out == 0).all()


def test_numpy_can_read_what_the_fakes_write():
    """The fakes' structs are those that NumPy knows."""
    read = numpy.from_dlpack(type("Whole", (fake_dlpack.WithCapsule,), {
        "__dlpack_device__": lambda self: (1, 0),
        "__dlpack__": lambda self, **_: self.capsule()})(X))
    assert (read == X).all() and ctypes.sizeof(fake_dlpack.Tensor) == 48


harness.run_cases(__name__)

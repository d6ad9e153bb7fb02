"""Inferences on NumPy arrays, against NumPy."""

import array
import collections
import ctypes
import gc
import os
import pathlib
import sys
import weakref

import numpy

import burnish_runtime
import harness


def test_model_describes_its_tensors():
    model = harness.load(threads=2)
    assert [tuple(each) for each in model.inputs] == [
        ("x", numpy.dtype("float32"), (2, 500)), ("index", numpy.dtype("int32"), (4,)),
        ("image", numpy.dtype("float32"), (3, 3))], model.inputs
    assert [each.name for each in model.outputs] == ["sum", "picked", "total"]
    assert model.outputs[2].shape == () and model.thread_count == 2
    assert model.target.startswith("cpu:") and model.path == harness.MODEL_PATH
    assert "x f32[2,500]" in repr(model) and "total f32[]" in repr(model), repr(model)


SIZES_PATH = os.path.join(os.path.dirname(harness.MODEL_PATH), "format_4.bundle")


def test_outputs_have_the_shape_of_the_run():
    """The places of what is not 0: compiler/runtime/test_bundle.h."""
    model = burnish_runtime.load(SIZES_PATH)
    assert model.outputs[0].shape == (2, 8), "the greatest"
    earlier = []
    for count in (0, 1, 5, 8):
        x = numpy.zeros(8, numpy.float32)
        x[:count] = 3
        numpy.random.default_rng(count).shuffle(x)
        want = numpy.array(numpy.nonzero(x.reshape(2, 4)))
        got = model(x.reshape(2, 4))
        assert got.shape == (2, count) and got.dtype == numpy.int64
        earlier.append((got, want))
    for got, want in earlier:
        numpy.testing.assert_array_equal(got, want)


def test_out_is_cut_to_the_shape_of_the_run():
    model = burnish_runtime.load(SIZES_PATH)
    x = numpy.float32([[0, 2, 0, 2], [2, 0, 0, 0]])
    for out in (numpy.full((2, 8), -1), burnish_runtime.empty((2, 8), numpy.int64),
                numpy.full((4, 16), -1)[::2, ::2]):
        got = model.run(x, out=out)
        numpy.testing.assert_array_equal(got, [[0, 0, 1], [1, 3, 0]])
        numpy.testing.assert_array_equal(out[:, :3], got)
        assert numpy.shares_memory(got, out)
    harness.refusal(lambda: model.run(x, out=numpy.zeros((2, 3), numpy.int64)), "i64[2,8]", code="B0404")


def test_path_may_be_of_any_type_and_relative():
    relative = pathlib.Path(harness.MODEL_PATH).relative_to(pathlib.Path.cwd())
    for path in (relative, str(relative), os.fsencode(relative)):
        assert burnish_runtime.load(path).path == harness.MODEL_PATH


def test_positional_named_and_mixed_inputs_are_the_same():
    model = harness.load()
    x, index, image = harness.inputs()
    want = harness.expected(x, index, image)
    harness.check_outputs(model(x, index, image), want)
    harness.check_outputs(model(image=image, x=x, index=index), want)
    harness.check_outputs(model(x, image=image, index=index), want)
    harness.check_outputs(model.run(x, image=image, index=index), want)
    harness.check_outputs(model.__call__(x, index, image=image), want)
    harness.check_outputs(model(*(), **{"x": x, "index": index, "image": image}), want)


def test_outputs_go_into_given_memory():
    model = harness.load()
    tensors = harness.inputs(1)
    out = tuple(numpy.full(each.shape, 9, each.dtype) for each in model.outputs)
    got = model.run(*tensors, out=out)
    assert all(g is o for g, o in zip(got, out))
    harness.check_outputs(out, harness.expected(*tensors))
    # None: made; a list is fine too.
    picked = numpy.empty(4, numpy.float32)
    got = model.run(*tensors, out=[None, picked, None])
    assert got[1] is picked
    harness.check_outputs(got, harness.expected(*tensors))
    harness.check_outputs(model.run(*tensors, out=None), harness.expected(*tensors))


def test_made_outputs_are_aligned_writable_and_apart():
    model = harness.load()
    tensors = harness.inputs()
    first, second = model(*tensors), model(*tensors)
    for a, b in zip(first, second):
        assert a.ctypes.data % 64 == 0 and a.flags.writeable and a.flags.c_contiguous
        assert not numpy.shares_memory(a, b)
        a[...] = -1
    harness.check_outputs(second, harness.expected(*tensors))


def test_any_strides_are_read():
    model = harness.load()
    x, index, image = harness.inputs(2)
    want = harness.expected(x, index, image)
    wide = numpy.zeros((4, 1500), numpy.float32)
    wide[::2, ::3] = x
    backwards = numpy.ascontiguousarray(x[::-1, ::-1])
    fields = numpy.zeros((2, 500), [("pad", "u4"), ("value", "f4")])  # A stride of 8 bytes.
    fields["value"] = x
    repeated = numpy.broadcast_to(image[:1], (3, 3))
    for view in (wide[::2, ::3], backwards[::-1, ::-1], numpy.asfortranarray(x), fields["value"]):
        assert not view.flags.c_contiguous and (view == x).all()
        harness.check_outputs(model(view, index, image), want)
    harness.check_outputs(model(x, index, repeated), harness.expected(x, index, repeated))


def random_view(random, shape, dtype, may_go_back):
    """An array of `shape` somewhere in a larger one: any order of axes, steps and first element."""
    order = random.permutation(len(shape))
    steps = [int(random.integers(1, 4)) * (-1 if may_go_back and random.random() < 0.3 else 1)
             for _ in shape]
    extents = [(extent - 1) * abs(step) + 1 + int(random.integers(0, 3))
               for extent, step in zip(shape, steps)]
    memory = numpy.zeros([extents[axis] for axis in order], dtype)
    view = memory.transpose(numpy.argsort(order))
    view = view[(*(slice(None, None, step) for step in steps), ...)]
    return view[(*(slice(0, extent) for extent in shape), ...)]  # "...": a scalar stays an array.


def test_random_views_are_read_and_written():
    model = harness.load(threads=1)
    random = numpy.random.default_rng(5)
    for seed in range(100):
        tensors = harness.inputs(seed)
        views = [random_view(random, each.shape, each.dtype, True) for each in tensors]
        for view, tensor in zip(views, tensors):
            view[...] = tensor
        out = tuple(random_view(random, each.shape, each.dtype, False) for each in model.outputs)
        around = [view.base.copy() if view.base is not None else None for view in out]
        got = model.run(*views, out=out)
        harness.check_outputs(got, harness.expected(*tensors))
        for view, before in zip(out, around):
            if before is not None:  # Nothing beside the elements was written.
                view[...] = 0
                assert (view.base == before).all(), seed


def test_memory_that_is_not_aligned_to_its_elements_is_read_and_written():
    model = harness.load()
    x, index, image = harness.inputs(3)
    memory = numpy.zeros(x.nbytes + 1, numpy.uint8)
    odd = memory[1:].view(numpy.float32).reshape(x.shape)
    odd[...] = x
    assert not odd.flags.aligned
    out = numpy.zeros(4001, numpy.uint8)[1:].view(numpy.float32)
    got = model.run(odd, index, image, out=(out, None, None))
    assert got[0] is out
    harness.check_outputs(got, harness.expected(x, index, image))


def test_strided_output_gets_its_elements_and_nothing_else():
    model = harness.load()
    tensors = harness.inputs(4)
    memory = numpy.full(3000, 5, numpy.float32)
    got = model.run(*tensors, out=(memory[::3], None, None))
    harness.check_outputs(got, harness.expected(*tensors))
    assert (memory[1::3] == 5).all() and (memory[2::3] == 5).all()


def test_output_may_be_an_input():
    model = harness.load()
    for make in (numpy.empty, burnish_runtime.empty):  # Copied inside, and in place.
        x, index, image = harness.inputs(5)
        memory = make((2, 500), numpy.float32)
        memory[...] = x
        flat = memory.reshape(-1)
        got = model.run(memory, index, image, out=(flat, None, None))
        harness.check_outputs(got, harness.expected(x, index, image))
        assert got[0] is flat and (memory.reshape(-1) == flat).all()


def test_outputs_of_rank_0_are_arrays():
    total = harness.load()(*harness.inputs())[2]
    assert isinstance(total, numpy.ndarray) and total.shape == () and float(total) < 0


def test_other_buffers_are_tensors():
    model = harness.load()
    x, index, image = harness.inputs(6)
    want = harness.expected(x, index, image)
    harness.check_outputs(model(memoryview(x), array.array("i", index.tolist()), image), want)
    read_only = x.copy()
    read_only.flags.writeable = False
    harness.check_outputs(model(read_only, index, image), want)


class Interface:
    """Only __array_interface__."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.__array_interface__ = tensor.__array_interface__


def test_array_interface_is_read_and_written_in_place():
    model = harness.load()
    x, index, image = harness.inputs(7)
    out = numpy.zeros(1000, numpy.float32)
    holder = Interface(out)
    got = model.run(Interface(x), index, image, out=(holder, None, None))
    assert got[0] is holder
    harness.check_outputs((out,) + got[1:], harness.expected(x, index, image))


def test_nothing_is_kept_after_a_call():
    model = harness.load()
    tensors = [each.copy() for each in harness.inputs()]
    out = tuple(numpy.empty(each.shape, each.dtype) for each in model.outputs)
    before = [sys.getrefcount(each) for each in (*tensors, *out)]
    for _ in range(100):
        model.run(*tensors, out=out)
        model(*tensors)
        harness.refusal(lambda: model.run(*tensors, tensors[0], out=out), code="B0405")
    assert before == [sys.getrefcount(each) for each in (*tensors, *out)]
    watched = [weakref.ref(each) for each in (*tensors, *out)]
    del tensors, out
    gc.collect()
    assert not any(each() is not None for each in watched)
    harness.check_outputs(model(*harness.inputs()), harness.expected(*harness.inputs()))


def test_calls_leave_no_objects_behind():
    model = harness.load()
    tensors = harness.inputs()
    out = tuple(numpy.empty(each.shape, each.dtype) for each in model.outputs)
    wrong = [1.0]

    def use():
        model(*tensors)
        model.run(x=tensors[0], index=tensors[1], image=tensors[2], out=out)
        model.run(*(memoryview(each) for each in tensors))
        model(tensors[0].T.copy().T, Interface(tensors[1]), tensors[2])
        harness.refusal(lambda: model(*tensors, tensors[0]), code="B0405")
        harness.refusal(lambda: model(tensors[2]), code="B0404")
        harness.refusal(lambda: model(wrong), kind=TypeError)
        harness.refusal(lambda: model.refit({"w": out[0]}), code="B0405")
        harness.refusal(lambda: harness.load(share_with=1), kind=TypeError)
        burnish_runtime.empty((2, 2), "int8")
        burnish_runtime.Threads(1)
        repr(harness.load(threads=1, share_with=model))

    def blocks_after(times):
        for _ in range(times):
            use()
        gc.collect()
        return sys.getallocatedblocks()
    counts = [blocks_after(200) for _ in range(7)]
    # An object a call would be 200 each time. Python's own caches fill more and more slowly. With
    # PYTHONMALLOC=malloc all are 0.
    assert min(b - a for a, b in zip(counts, counts[1:])) < 120, counts


def test_models_and_outputs_are_freed():
    model = harness.load()
    outputs = model(*harness.inputs())
    base = outputs[0].base
    assert sys.getrefcount(base) == 3, sys.getrefcount(base)  # The array, the name, the argument.
    harness.check_outputs(outputs, harness.expected(*harness.inputs()))
    del model, outputs
    assert sys.getrefcount(base) == 2, sys.getrefcount(base)


class Mallinfo(ctypes.Structure):
    """What glibc's mallinfo2 returns; `arena` is the heap, `hblkhd` what is mapped beside it."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
        "fordblks", "keepcost")]


def test_arrays_of_one_size_take_the_memory_of_those_that_are_gone():
    """Among arrays of other sizes, which live longer: the heap stays as large as it was."""
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = Mallinfo
    rng = numpy.random.default_rng(7)
    others, sizes = collections.deque(maxlen=40), []
    for number in range(2000):
        array = burnish_runtime.empty((1 << 18,), numpy.float32)
        others.append(numpy.empty(rng.integers(1, 1 << 17), numpy.uint8))
        del array
        others.append(numpy.empty(rng.integers(1, 1 << 12), numpy.uint8))
        if number in (300, 1999):
            info = mallinfo2()
            sizes.append(info.arena + info.hblkhd)
    assert sizes[1] < sizes[0] + (4 << 20), sizes


def test_empty_makes_aligned_arrays():
    for shape, dtype in (((2, 3), "float32"), (5, bool), ((), numpy.int64), ((0, 7), "float16")):
        made = burnish_runtime.empty(shape, dtype)
        like = numpy.empty(shape, dtype)
        assert made.shape == like.shape and made.dtype == like.dtype
        assert made.ctypes.data % 64 == 0 and made.flags.c_contiguous and made.flags.writeable
    harness.refusal(lambda: burnish_runtime.empty(3, "complex64"), "complex64", kind=TypeError)
    harness.refusal(lambda: burnish_runtime.empty(-1, "float32"), "-1", kind=ValueError)
    harness.refusal(lambda: burnish_runtime.empty((1 << 40, 1 << 40), "float32"), kind=MemoryError)
    harness.refusal(lambda: burnish_runtime.empty("x", "float32"), kind=TypeError)


harness.run_cases(__name__)

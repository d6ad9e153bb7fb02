"""TensorGuard: what it finds, and what it refuses."""

import ctypes
import math

import numpy

from burnish_runtime._burnish_runtime import TensorGuard
import harness

CHUNK = 64


class Tensor:
    """What the guard asks of PyTorch's, over an array."""

    def __init__(self, array):
        self.array, self._version = array, 0

    def data_ptr(self):
        return self.array.ctypes.data


class Uncounted(Tensor):
    @property
    def _version(self):
        raise RuntimeError("writes are not counted")

    @_version.setter
    def _version(self, value):
        pass


def tensors(*sizes):
    random = numpy.random.default_rng(0)
    return tuple(Tensor(random.random(size, numpy.float32)) for size in sizes)


def guard_of(args, indices=None, chunk=CHUNK):
    indices = range(len(args)) if indices is None else indices
    return TensorGuard(None, [(i, args[i], args[i].array.nbytes) for i in indices], chunk)


def looks_until_found(guard, args, most):
    for look in range(1, most + 1):
        if not guard.unchanged(args):
            return look
    raise AssertionError(f"not found in {most} looks")


def test_nothing_changes():
    args = tensors(1, 2, 3, 17, 1000)
    guard = guard_of(args)
    assert all(guard.unchanged(args) for _ in range(500))
    assert guard.pointers == [tensor.data_ptr() for tensor in args]


def test_a_pointer_a_version_a_type():
    args = tensors(5, 9)
    guard = guard_of(args)
    args[1]._version += 1
    assert not guard.unchanged(args)
    args[1]._version -= 1
    assert guard.unchanged(args)
    moved = (args[0], Tensor(args[1].array.copy()))
    assert not guard.unchanged(moved)
    assert not guard.unchanged((args[0], Uncounted(args[1].array)))
    assert not guard.unchanged((args[0], None))


def test_places_are_arguments():
    args = tensors(4, 4, 4)
    guard = guard_of(args, [2, 0])
    assert guard.unchanged((args[0], None, args[2]))
    assert not guard.unchanged((args[2], None, args[0]))


def test_a_write_to_all_elements_is_found_at_once():
    for size in (1, 2, 3, 16, 17, 10000):
        for before in range(4):
            args = tensors(7, size)
            guard = guard_of(args)
            assert all(guard.unchanged(args) for _ in range(before))
            args[1].array += 1
            assert not guard.unchanged(args), (size, before)


def test_any_write_is_found_within_the_number_of_chunks():
    sizes = (1, 50, 333)
    chunks = sum(math.ceil(size * 4 / CHUNK) for size in sizes)
    for which, size in enumerate(sizes):
        for element in {0, size // 2, size - 1}:
            args = tensors(*sizes)
            guard = guard_of(args)
            guard.unchanged(args)
            args[which].array[element] += 1e-3
            looks_until_found(guard, args, chunks)


def test_each_byte_of_a_chunk_counts():
    for size in range(1, 200):
        args = (Tensor(numpy.zeros(size, numpy.uint8)),)
        guard = guard_of(args, chunk=256)
        for place in range(size):
            args[0].array[place] = 128
            assert not guard.same(0, args[0], size), (size, place)
            args[0].array[place] = 0
        assert guard.same(0, args[0], size)


def test_content_that_moved_is_known_there():
    args = tensors(40, 50)
    guard = guard_of(args)
    moved = (args[0], Tensor(args[1].array.copy()))
    moved[1]._version = 7
    assert not guard.unchanged(moved)
    assert guard.same(1, moved[1], 200)
    assert guard.unchanged(moved) and not guard.unchanged(args)
    other = Tensor(args[1].array + 1)
    assert not guard.same(1, other, 200) and not guard.same(1, moved[1], 196)
    assert guard.unchanged(moved)


def test_a_reader_reads_without_python():
    pointer, version = numpy.zeros(10, numpy.float32), ctypes.c_int64(3)

    @ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
    def read_version(handle):
        return version.value

    @ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
    def read_data(handle, out):
        if failing:
            return 1
        out[0] = pointer.ctypes.data
        return 0

    failing = False
    addresses = [ctypes.cast(function, ctypes.c_void_p).value for function in (read_version, read_data)]
    tensor = object()
    guard = TensorGuard((16, *addresses), [(0, tensor, 40)], CHUNK)
    assert guard.unchanged((tensor,))
    version.value += 1
    assert not guard.unchanged((tensor,))
    version.value -= 1
    failing = True
    assert not guard.unchanged((tensor,))
    failing = False
    assert guard.unchanged((tensor,))
    pointer += 1
    assert not guard.unchanged((tensor,))


def test_what_is_wrong():
    args = tensors(4)
    harness.refusal(lambda: guard_of(args).unchanged(list(args)), "tuple", kind=TypeError)
    harness.refusal(lambda: guard_of(args).unchanged(()), "0 arguments", kind=IndexError)
    harness.refusal(lambda: guard_of(args).same(1, args[0], 16), "no tensor 1", kind=IndexError)
    harness.refusal(lambda: guard_of(args, chunk=0), "chunk_bytes", kind=ValueError)
    harness.refusal(lambda: TensorGuard(None, [(0, args[0], 0)], 1), "where its 0 bytes", kind=ValueError)
    harness.refusal(lambda: TensorGuard(None, [(0, None, 4)], 1), "where its 4 bytes", kind=ValueError)
    harness.refusal(lambda: TensorGuard((0, 1, 1), [], 1), "above 0", kind=ValueError)
    harness.refusal(lambda: TensorGuard(None, [3], 1), "", kind=TypeError)
    assert TensorGuard(None, [], 1).unchanged(())


harness.run_cases(__name__)

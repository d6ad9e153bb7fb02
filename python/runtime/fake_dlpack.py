"""Tensors as other libraries hand them out by DLPack: any device, type, version and shape."""

import ctypes


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("rank", ctypes.c_int32),
                ("type", DataType), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("offset_bytes", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]


class ExchangeApi(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("previous", ctypes.c_void_p), ("allocate", ctypes.c_void_p),
                ("from_object", ctypes.c_void_p), ("to_object", ctypes.c_void_p),
                ("borrow", ctypes.c_void_p), ("stream", ctypes.c_void_p)]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
FREED = []  # The addresses of tensors that their consumer is done with.


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _free_capsule(capsule):
    FREED.append(capsule)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _delete(tensor):
    FREED.append(tensor)


class Producer:
    """`array`, whose memory it hands out, with what `change` makes of the description."""

    def __init__(self, array, change=None, version=(1, 0), read_only=False, name=None):
        self.array = array
        self.name = name or (b"dltensor_versioned" if version else b"dltensor")
        self.shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
        self.strides = (ctypes.c_int64 * max(array.ndim, 1))(
            *(stride // array.itemsize for stride in array.strides))
        self.held = Versioned() if version else Managed()
        tensor = self.held.tensor
        tensor.data = array.ctypes.data
        tensor.device.type = 1
        tensor.rank = array.ndim
        tensor.type = DataType(CODES[array.dtype.kind], 8 * array.itemsize, 1)
        tensor.shape = ctypes.addressof(self.shape)
        tensor.strides = ctypes.addressof(self.strides)
        self.held.deleter = ctypes.cast(_delete, ctypes.c_void_p).value
        if version:
            self.held.major, self.held.minor = version
            self.held.flags = 1 if read_only else 0
        if change:
            change(tensor)


class WithCapsule(Producer):
    """By __dlpack__, as since DLPack 1.0."""

    def __dlpack__(self, *, max_version=None, **_):
        assert max_version == (1, 0), max_version
        return self.capsule()

    def capsule(self):
        return _new_capsule(ctypes.addressof(self.held), self.name,
                            ctypes.cast(_free_capsule, ctypes.c_void_p))


class Old(WithCapsule):
    """From before DLPack 1.0: __dlpack__ takes a stream alone."""

    def __init__(self, array, change=None):
        super().__init__(array, change, version=None)

    def __dlpack__(self, stream=None):
        return self.capsule()


class Refusing:
    """As torch's tensors without memory do, with a trace behind the first line."""

    def __dlpack__(self, **_):
        raise BufferError("has no memory here\nframe #0")


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
def _from_object(producer, out):
    out[0] = ctypes.addressof(producer.held)
    return 0


def _exchange(major, previous=None):
    return ExchangeApi(major=major, previous=previous,
                       from_object=ctypes.cast(_from_object, ctypes.c_void_p).value)


_EXCHANGE = b"dlpack_exchange_api"  # A capsule keeps the address of its name.
_API = _exchange(1)
_NEWER_API = _exchange(2, ctypes.addressof(_API))


class WithTable(Producer):
    """By the table of C functions of DLPack 1.3; it has no other way."""

    __dlpack_c_exchange_api__ = _new_capsule(ctypes.addressof(_API), _EXCHANGE, None)


class WithNewerTable(Producer):
    """A table of a version to come, which leads to one that is known."""

    __dlpack_c_exchange_api__ = _new_capsule(ctypes.addressof(_NEWER_API), _EXCHANGE, None)

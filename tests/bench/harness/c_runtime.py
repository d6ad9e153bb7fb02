"""A bundle through the C API (compiler/runtime/include/burnish/burnish.h), by ctypes."""

import collections
import ctypes

import numpy as np

# BurnishDtype.
DTYPES = {1: np.float32, 2: np.float64, 3: np.float16, 5: np.int8, 6: np.uint8, 7: np.int16,
          8: np.uint16, 9: np.int32, 10: np.uint32, 11: np.int64, 12: np.uint64, 13: np.bool_}
RANK_MAX = 16
ALIGNMENT = 64  # The largest bind_alignment, and what peers' tensors have.


class Sized(ctypes.Structure):
    """A struct of the C API, which begins with its size."""

    def __init__(self, **fields):
        super().__init__(struct_size=ctypes.sizeof(self), **fields)


class Options(Sized):
    _fields_ = [("struct_size", ctypes.c_uint32), ("thread_count", ctypes.c_int32),
                ("cpus", ctypes.POINTER(ctypes.c_int32)), ("spin_ns", ctypes.c_int64),
                ("threads", ctypes.c_void_p), ("share_with", ctypes.c_void_p),
                ("parameter_memory", ctypes.c_void_p),
                ("parameter_memory_bytes", ctypes.c_uint64),
                ("parameters_are_filled", ctypes.c_int32), ("trust_parameters", ctypes.c_int32),
                ("replacements", ctypes.c_void_p), ("replacement_count", ctypes.c_int32),
                ("reserved", ctypes.c_int32)]


class TensorInfo(Sized):
    _fields_ = [("struct_size", ctypes.c_uint32), ("dtype", ctypes.c_int),
                ("name", ctypes.c_char_p), ("rank", ctypes.c_int32),
                ("bind_alignment", ctypes.c_uint32), ("size_bytes", ctypes.c_uint64),
                ("shape", ctypes.c_int64 * RANK_MAX)]


class Input(Sized):
    _fields_ = [("struct_size", ctypes.c_uint32), ("dtype", ctypes.c_int32),
                ("name", ctypes.c_char_p), ("data", ctypes.c_void_p),
                ("size_bytes", ctypes.c_uint64), ("shape", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("rank", ctypes.c_int32),
                ("reserved", ctypes.c_int32)]


class Output(Sized):
    _fields_ = [("struct_size", ctypes.c_uint32), ("dtype", ctypes.c_int32),
                ("name", ctypes.c_char_p), ("data", ctypes.c_void_p),
                ("capacity_bytes", ctypes.c_uint64), ("allocate", ctypes.c_void_p),
                ("allocate_arg", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("size_bytes", ctypes.c_uint64), ("rank", ctypes.c_int32),
                ("reserved", ctypes.c_int32), ("shape", ctypes.c_int64 * RANK_MAX)]


class StepInfo(Sized):
    _fields_ = [("struct_size", ctypes.c_uint32), ("output_count", ctypes.c_int32),
                ("name", ctypes.c_char_p), ("schedule_origin", ctypes.c_char_p),
                ("workload_id", ctypes.c_char_p), ("flop_count", ctypes.c_uint64),
                ("moved_bytes", ctypes.c_uint64)]


class Latency(Sized):
    """Nanoseconds per inference."""

    _fields_ = [("struct_size", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("run_count", ctypes.c_int64), ("min_ns", ctypes.c_int64),
                ("median_ns", ctypes.c_int64), ("p90_ns", ctypes.c_int64),
                ("p99_ns", ctypes.c_int64), ("mean_ns", ctypes.c_double)]


def aligned_empty(shape, dtype):
    """As np.empty, at an address that the runtime and its peers use in place."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start:start + size].view(dtype).reshape(shape)


def aligned_copy(array):
    copy = aligned_empty(array.shape, array.dtype)
    np.copyto(copy, array)
    return copy


def load_library(path):
    library = ctypes.CDLL(path)
    library.burnish_last_error.restype = ctypes.c_char_p
    library.burnish_target.restype = ctypes.c_char_p
    return library


class Model:
    """One opened bundle. A call that fails raises RuntimeError with the runtime's text. `library`:
    of load_library; `cpus`: one for each thread, or None for each, which are not pinned."""

    def __init__(self, library, bundle_path, cpus):
        self._library = library
        self._handle = ctypes.c_void_p()
        numbers = None if None in cpus else (ctypes.c_int32 * len(cpus))(*cpus)
        options = Options(thread_count=len(cpus), cpus=numbers)
        self._call("open", str(bundle_path).encode(), ctypes.byref(options),
                   ctypes.byref(self._handle))
        self.inputs = self._infos("input")
        self._outputs = [np.empty(info.shape[:info.rank], DTYPES[info.dtype])
                         for info in self._infos("output")]

    def close(self):
        self._library.burnish_close(self._handle)

    def _call(self, name, *arguments):
        if getattr(self._library, "burnish_" + name)(*arguments) != 0:
            raise RuntimeError(f"burnish_{name}: {self._library.burnish_last_error().decode()}")

    def _infos(self, kind):
        infos = []
        for i in range(getattr(self._library, f"burnish_{kind}_count")(self._handle)):
            infos.append(TensorInfo())
            self._call(kind + "_info", self._handle, i, ctypes.byref(infos[-1]))
        return infos

    @property
    def target(self):
        return self._library.burnish_target(self._handle).decode()

    def steps(self):
        """A StepInfo for each step; its texts live as long as the model is open."""
        infos = []
        for step in range(self._library.burnish_step_count(self._handle)):
            infos.append(StepInfo())
            self._call("step_info", self._handle, step, ctypes.byref(infos[-1]))
        return infos

    def step_origins(self):
        """How many steps have a schedule of which origin: {"default": 55}."""
        return dict(collections.Counter(step.schedule_origin.decode() for step in self.steps()))

    def step_output(self, step, output):
        """An intermediate result, on the inputs as they are: runs all steps up to this one."""
        info = TensorInfo()
        self._call("debug_output_info", self._handle, step, output, ctypes.byref(info))
        array = np.empty(info.shape[:info.rank], DTYPES[info.dtype])
        self._call("debug_output", self._handle, step, output, ctypes.c_void_p(array.ctypes.data),
                   ctypes.c_uint64(array.nbytes))
        return array

    def set_inputs(self, arrays):
        """C-contiguous arrays, copied."""
        for i, array in enumerate(arrays):
            self._call("set_input", self._handle, i, ctypes.c_void_p(array.ctypes.data),
                       ctypes.c_uint64(array.nbytes))

    def benchmark(self, seconds):
        """A Latency: inferences one after the other, on the inputs as they are, without copies."""
        latency = Latency()
        self._call("benchmark", self._handle, ctypes.c_double(seconds), ctypes.byref(latency))
        return latency

    def run(self, arrays):
        """One inference: copies C-contiguous arrays in and results out, as the peers do. The
        returned arrays are written again by the next call."""
        self.set_inputs(arrays)
        self._call("run", self._handle)
        return [self._output(i, array) for i, array in enumerate(self._outputs)]

    def bind(self, arrays):
        """A function that runs once on these arrays and returns arrays of fixed shape that the next
        call writes again: in place, where the arrays are aligned."""
        codes = {np.dtype(kind): code for code, kind in DTYPES.items()}
        outputs = [aligned_empty(array.shape, array.dtype) for array in self._outputs]
        ins, outs = (Input * len(arrays))(), (Output * len(outputs))()
        for place, array in zip(ins, arrays):
            place.struct_size, place.dtype = ctypes.sizeof(Input), codes[array.dtype]
            place.data, place.size_bytes = array.ctypes.data, array.nbytes
        for place, array in zip(outs, outputs):
            place.struct_size = ctypes.sizeof(Output)
            place.data, place.capacity_bytes = array.ctypes.data, array.nbytes

        # Looked up and converted once: in each call that took 0.25 us, which no peer's binding does.
        call = self._library.burnish_run_tensors
        given = (self._handle, ctypes.byref(ins), len(ins), ctypes.byref(outs), len(outs), None)

        def run():
            if call(*given) != 0:
                raise RuntimeError(f"burnish_run_tensors: {self._library.burnish_last_error().decode()}")
            return outputs

        run.keeps = arrays
        return run

    def _output(self, i, array):
        """Into `array`, which has the greatest shape. Asks for the run's only where it is another
        one: most outputs have one shape, and a call more would be timed."""
        get = self._library.burnish_get_output
        if get(self._handle, i, ctypes.c_void_p(array.ctypes.data), ctypes.c_uint64(array.nbytes)) == 0:
            return array
        info = TensorInfo()
        self._call("output_shape", self._handle, i, ctypes.byref(info))
        part = np.empty(info.shape[:info.rank], array.dtype)
        self._call("get_output", self._handle, i, ctypes.c_void_p(part.ctypes.data),
                   ctypes.c_uint64(part.nbytes))
        return part

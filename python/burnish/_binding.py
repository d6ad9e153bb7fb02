"""ONNX Runtime's values and bindings over memory of the CPU."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from burnish_runtime import BurnishError, empty

from ._onnx_file import NAME_OF_KIND, TYPES
from ._session_options import unsupported

if TYPE_CHECKING:
    from ._session import InferenceSession

_TENSOR_CODE = "B0404"


def check_device(device_type: str) -> None:
    if device_type not in ("cpu", "Cpu"):
        raise unsupported(f"memory of the device {device_type!r}", "bind memory of the CPU: device_type='cpu'")


def _numpy_type(element_type: Any) -> numpy.dtype[Any]:
    if isinstance(element_type, int) and element_type in TYPES:  # A number of onnx.TensorProto.
        element_type = TYPES[element_type][1]
    return numpy.dtype(element_type)


def _at(pointer: int, element_type: Any, shape: Sequence[int]) -> numpy.ndarray[Any, Any]:
    dtype = _numpy_type(element_type)
    size = int(numpy.prod(shape, dtype=numpy.int64)) * dtype.itemsize
    if pointer == 0 or size < 0:
        raise BurnishError(f"buffer_ptr {pointer} is no memory of shape {tuple(shape)}", code=_TENSOR_CODE)
    return numpy.frombuffer((ctypes.c_char * size).from_address(pointer), dtype).reshape(shape)


class OrtValue:
    """A tensor in the CPU's memory."""

    def __init__(self, array: numpy.ndarray[Any, Any]):
        self._array = array

    @staticmethod
    def ortvalue_from_numpy(array: numpy.ndarray[Any, Any], device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """Of an array, whose memory it shares."""
        check_device(device_type)
        return OrtValue(array)

    @staticmethod
    def ortvalue_from_shape_and_type(shape: Sequence[int], element_type: Any, device_type: str = "cpu",
                                     device_id: int = 0) -> OrtValue:
        """Uninitialized."""
        check_device(device_type)
        return OrtValue(empty(tuple(shape), _numpy_type(element_type)))

    def numpy(self) -> numpy.ndarray[Any, Any]:
        """The array; nothing is copied."""
        return self._array

    def data_ptr(self) -> int:
        """The address of its first element."""
        return int(self._array.ctypes.data)

    def shape(self) -> list[int]:
        """Its sizes."""
        return list(self._array.shape)

    def data_type(self) -> str:
        """Such as ``"tensor(float)"``."""
        return NAME_OF_KIND.get(self._array.dtype.name, "tensor(undefined)")

    def device_name(self) -> str:
        """Where it is."""
        return "cpu"

    def is_tensor(self) -> bool:
        """True."""
        return True

    def has_value(self) -> bool:
        """True."""
        return True

    def update_inplace(self, array: numpy.ndarray[Any, Any]) -> None:
        """Copy the values of an array of the same type and shape."""
        if array.shape != self._array.shape or array.dtype != self._array.dtype:
            raise BurnishError(f"update_inplace: got {array.dtype}{list(array.shape)}, want "
                               f"{self._array.dtype}{list(self._array.shape)}", code=_TENSOR_CODE)
        self._array[...] = array


class IOBinding:
    """Inputs and outputs of runs, bound by name."""

    def __init__(self, session: InferenceSession):
        self._session = session
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, Any] = {}  # None: to be made by the run.
        self._results: list[OrtValue] = []

    def bind_cpu_input(self, name: str, array: Any) -> None:
        """Read this array, as it is at the time of each run."""
        self._session._check_input(name)
        self._inputs[name] = array

    def bind_input(self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int],
                   buffer_ptr: int) -> None:
        """Read this memory, which has to stay."""
        check_device(device_type)
        self.bind_cpu_input(name, _at(buffer_ptr, element_type, shape))

    def bind_ortvalue_input(self, name: str, value: OrtValue) -> None:
        """Read this value."""
        self.bind_cpu_input(name, value.numpy())

    def bind_output(self, name: str, device_type: str = "cpu", device_id: int = 0, element_type: Any = None,
                    shape: Sequence[int] | None = None, buffer_ptr: int | None = None) -> None:
        """Have a run make the output, or write it into this memory, which has to stay."""
        check_device(device_type)
        self._session._check_output(name)
        self._outputs[name] = None if buffer_ptr is None else _at(buffer_ptr, element_type, shape or ())

    def bind_ortvalue_output(self, name: str, value: OrtValue) -> None:
        """Write into this value."""
        self._session._check_output(name)
        self._outputs[name] = value.numpy()

    def get_outputs(self) -> list[OrtValue]:
        """Of the last run, in the order in which they were bound."""
        return list(self._results)

    def copy_outputs_to_cpu(self) -> list[numpy.ndarray[Any, Any]]:
        """As arrays."""
        return [value.numpy() for value in self._results]

    def clear_binding_inputs(self) -> None:
        """Forget the inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forget the outputs."""
        self._outputs.clear()
        self._results = []

    def synchronize_inputs(self) -> None:
        """Nothing is on its way."""

    def synchronize_outputs(self) -> None:
        """Nothing is on its way."""

    def _run(self) -> None:
        if not self._outputs:
            raise BurnishError("no output is bound: bind_output(name) has a run make it", code=_TENSOR_CODE)
        arrays = self._session._run(list(self._outputs), self._inputs, self._outputs)
        self._results = [OrtValue(array) for array in arrays]


def outputs_of(names: Sequence[str], given: Mapping[str, Any] | None) -> tuple[Any, ...] | None:
    """What `Model.run` takes as `out`; None: all are made."""
    found = tuple((given or {}).get(name) for name in names)
    return found if any(each is not None for each in found) else None

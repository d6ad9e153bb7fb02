"""Types of the extension module; what each does, its docstrings say."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn, SupportsIndex, TypeAlias, final

from _typeshed import structseq

import numpy
import numpy.typing

__version__: str

# What has a buffer, __dlpack__ or __array_interface__. No protocol of `typing` says that.
_Tensor: TypeAlias = Any
_Type: TypeAlias = numpy.dtype[Any] | str

@final
class TensorInfo(structseq[Any], tuple[str, _Type, tuple[int, ...]]):
    __match_args__: Final = ("name", "dtype", "shape")
    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> _Type: ...
    @property
    def shape(self) -> tuple[int, ...]: ...

@final
class Threads:
    def __new__(cls, count: int = 0, *, cpus: Sequence[int] | None = None,
                spin_us: int = 0) -> Threads: ...
    @property
    def count(self) -> int: ...

@final
class Model:
    @property
    def inputs(self) -> tuple[TensorInfo, ...]: ...
    @property
    def outputs(self) -> tuple[TensorInfo, ...]: ...
    @property
    def parameters(self) -> tuple[TensorInfo, ...]: ...
    @property
    def path(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def thread_count(self) -> int: ...
    def __call__(self, *inputs: _Tensor, **named_inputs: _Tensor) -> Any: ...
    def run(self, *inputs: _Tensor, out: _Tensor | tuple[_Tensor | None, ...] | None = None,
            **named_inputs: _Tensor) -> Any: ...
    def refit(self, parameters: Mapping[str, _Tensor], /) -> Model: ...
    def __reduce__(self) -> NoReturn: ...

def empty(shape: SupportsIndex | Sequence[SupportsIndex],
          dtype: numpy.typing.DTypeLike) -> numpy.ndarray[Any, Any]: ...
def open_bundle(path: str, threads: int | Threads | None, share_with: Model | None,
                trust_parameters: bool, loop_limit: int | None, /) -> Model: ...

"""Types of the extension module; what each does, its docstrings say."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, SupportsIndex, final

import numpy
import numpy.typing

__version__: str

# What has a buffer, __dlpack__ or __array_interface__. No protocol of `typing` says that.
Tensor = Any

class TensorInfo(NamedTuple):
    name: str
    dtype: numpy.dtype[Any] | str
    shape: tuple[int, ...]

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
    def path(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def thread_count(self) -> int: ...
    def __call__(self, *inputs: Tensor, **named_inputs: Tensor) -> Any: ...
    def run(self, *inputs: Tensor, out: Tensor | tuple[Tensor | None, ...] | None = None,
            **named_inputs: Tensor) -> Any: ...
    def refit(self, parameters: Mapping[str, Tensor], /) -> Model: ...
    def __reduce__(self) -> NoReturn: ...

def empty(shape: SupportsIndex | Sequence[SupportsIndex],
          dtype: numpy.typing.DTypeLike) -> numpy.ndarray[Any, Any]: ...
def open_bundle(path: str, threads: int | Threads | None, share_with: Model | None,
                trust_parameters: bool, /) -> Model: ...

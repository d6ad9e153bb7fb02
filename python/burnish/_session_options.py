"""ONNX Runtime's settings, as far as they mean something here. What would change a result or be lost is refused."""

from __future__ import annotations

import enum
from typing import Any

from burnish_runtime import BurnishError

_UNSUPPORTED_CODE = "B0103"
# What has no counterpart: allocators, logs, patterns of memory. No result depends on it.
_WITHOUT_EFFECT = {"enable_cpu_mem_arena": True, "enable_mem_pattern": True, "enable_mem_reuse": True,
                   "execution_order": None, "inter_op_num_threads": 0, "log_severity_level": 2, "log_verbosity_level": 0,
                   "logid": "", "profile_file_prefix": "", "use_deterministic_compute": False,
                   "use_per_session_threads": True}


def unsupported(what: str, instead: str) -> BurnishError:
    error = BurnishError(f"{what} is not supported", code=_UNSUPPORTED_CODE)
    error.add_note(f"hint: {instead}")
    return error


class GraphOptimizationLevel(enum.IntEnum):
    """How much of a graph is rewritten: ``opt_level`` 0 to 3 of `burnish.compile`."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """Operators run one after the other, each on all threads."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class SessionOptions:
    """Settings of an `InferenceSession`.

    Attributes
    ----------
    intra_op_num_threads : int
        0: as `burnish.compile` chooses.
    graph_optimization_level : GraphOptimizationLevel
    enable_profiling : bool
        Refused: ``tuner bench --profile`` has the time of each step.
    optimized_model_filepath : str
        Refused: ``burnish.compile(model, path)`` writes a bundle, which a session opens.
    execution_mode, inter_op_num_threads, log_severity_level and others of ONNX Runtime
        Without effect.
    """

    def __init__(self) -> None:
        fields = {**_WITHOUT_EFFECT, "intra_op_num_threads": 0, "execution_mode": ExecutionMode.ORT_SEQUENTIAL,
                  "graph_optimization_level": GraphOptimizationLevel.ORT_ENABLE_ALL, "enable_profiling": False,
                  "optimized_model_filepath": "", "_sizes": {}, "_entries": {}}
        self.__dict__.update(fields)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:  # A mistyped name would do nothing.
            raise AttributeError(f"SessionOptions has no {name}; it has "
                                 + ", ".join(sorted(each for each in self.__dict__ if not each.startswith("_"))))
        self.__dict__[name] = value

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Keep an entry; none has an effect."""
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        """An entry that was added."""
        return self._entries[key]

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Fix a dimension that the model names."""
        self._sizes[name] = int(size)

    def register_custom_ops_library(self, path: str) -> None:
        """Refused."""
        raise unsupported("register_custom_ops_library", "write the operator as an ONNX function of standard operators")


class RunOptions:
    """Settings of one run, none of which has an effect."""

    def __init__(self) -> None:
        self.log_severity_level, self.log_verbosity_level, self.logid = 2, 0, ""
        self.only_execute_path_to_fetches, self.terminate = False, False

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Without effect."""


def compile_settings(options: Any) -> dict[str, Any]:
    """What of `SessionOptions`, ours or ONNX Runtime's own, `burnish.compile` takes."""
    if options is None:
        return {}
    if getattr(options, "enable_profiling", False):
        raise unsupported("enable_profiling", "`tuner bench BUNDLE --profile` has the time of each step")
    if getattr(options, "optimized_model_filepath", ""):
        raise unsupported("optimized_model_filepath", "burnish.compile(model, path) writes a bundle, which a session opens")
    found: dict[str, Any] = {}
    if threads := int(getattr(options, "intra_op_num_threads", 0)):
        found["threads"] = threads
    level = int(getattr(options, "graph_optimization_level", GraphOptimizationLevel.ORT_ENABLE_ALL))
    if level < GraphOptimizationLevel.ORT_ENABLE_LAYOUT:
        found["opt_level"] = level
    if sizes := getattr(options, "_sizes", None):
        found["dims"] = dict(sizes)
    return found

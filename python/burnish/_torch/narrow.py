"""Floats of 16 bits: what is converted as it is, and what by way of float32.

Burnish's operators read such tensors, compute in float32 and round each result once, as PyTorch's do. A converter that
takes several steps would round between them, and its constants with them; functions of the runtime (orders, running
sums, scattering) know no 16 bits. So what is not listed here is converted in float32 and rounded at its end.
"""

from __future__ import annotations

from typing import Any

import torch

from .builder import NARROW, GraphBuilder, Tensor
from .types import name_of

# By the operator's name without its overload: one step of Burnish's, or moves of elements.
_AS_THEY_ARE = frozenset((
    # Moves, parts, known values.
    "alias", "as_strided", "cat", "clone", "constant_pad_nd", "copy", "detach", "diagonal", "embedding", "empty",
    "empty_like", "empty_strided", "expand", "fill", "flip", "full", "full_like", "gather", "index", "index_select",
    "lift_fresh_copy", "masked_fill", "narrow", "native_dropout", "new_empty", "new_full", "new_ones", "new_zeros", "ones",
    "ones_like", "permute", "pixel_shuffle", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "repeat",
    "replication_pad1d", "replication_pad2d", "replication_pad3d", "reshape", "scalar_tensor", "select",
    "select_scatter", "slice", "slice_scatter", "split", "split_with_sizes", "squeeze", "stack", "t", "_to_copy", "transpose",
    "tril", "triu", "unbind", "unfold", "_unsafe_index", "_unsafe_view", "unsqueeze", "view", "where", "zeros", "zeros_like",
    # One step, element for element.
    "abs", "add", "ceil", "clamp", "clamp_max", "clamp_min", "cos", "div", "eq", "erf", "exp", "floor", "ge", "gelu", "gt",
    "hardswish", "hardtanh", "le", "leaky_relu", "log", "lt", "maximum", "minimum", "mish", "mul", "ne", "neg", "pow",
    "_prelu_kernel", "reciprocal", "relu", "round", "rsub", "sigmoid", "sign", "silu", "sin", "sqrt", "sub", "tanh",
    "true_divide",
    # Products, windows, norms, attention; sums are float32 until they are whole.
    "addmm", "addmv", "amax", "amin", "baddbmm", "batch_norm", "bmm", "convolution", "dot", "group_norm", "layer_norm",
    "linear", "_log_softmax", "log_softmax", "matmul", "max_pool1d", "max_pool2d", "max_pool3d",
    "max_pool2d_with_indices", "max_pool3d_with_indices", "mean", "mm", "mv", "_native_batch_norm_legit_no_training",
    "native_group_norm", "native_layer_norm", "_safe_softmax", "_scaled_dot_product_flash_attention_for_cpu",
    "scaled_dot_product_attention", "_softmax", "softmax", "sum", "_transformer_encoder_layer_fwd"))


def is_narrow(dtype: torch.dtype) -> bool:
    return str(dtype).removeprefix("torch.") in NARROW


def _each(value: Any) -> tuple[Any, ...] | list[Any]:
    return value if isinstance(value, (tuple, list)) else (value,)


def wants_float32(node: torch.fx.Node, full_name: str) -> bool:
    """Whether a node of ATen's reads or makes 16-bit floats, and is not converted as it is."""
    namespace, name, _ = full_name.split(".")
    return namespace == "aten" and name not in _AS_THEY_ARE and any(
        _has_narrow(source) for source in (*node.all_input_nodes, node))


def is_in(module: torch.fx.GraphModule) -> bool:
    """Whether a graph has tensors of 16-bit floats."""
    return any(_has_narrow(node) for node in module.graph.nodes)


def _has_narrow(node: torch.fx.Node) -> bool:
    return any(isinstance(one, torch.Tensor) and is_narrow(one.dtype) for one in _each(node.meta.get("val")))


class InFloat32:
    """A node as its converter sees it: results of 16 bits are float32."""

    def __init__(self, node: torch.fx.Node):
        self._node = node
        value = node.meta["val"]
        widened = [_widened(one) for one in _each(value)]
        self.meta = {**node.meta, "val": type(value)(widened) if isinstance(value, (tuple, list)) else widened[0]}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)


def _widened(value: Any) -> Any:
    if not isinstance(value, torch.Tensor) or not is_narrow(value.dtype):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=torch.float32, device="meta")


def in_float32(builder: GraphBuilder, value: Any) -> Any:
    """Arguments of a converter, or lists of them."""
    if isinstance(value, Tensor) and value.dtype in NARROW:
        return builder.cast(value, "float32")
    if isinstance(value, (tuple, list)):
        return type(value)(in_float32(builder, one) for one in value)
    return value


def rounded(builder: GraphBuilder, result: Any, wanted: Any) -> Any:
    """A converter's results in the types that the node has."""
    results = [builder.cast(got, name_of(want.dtype)) if isinstance(got, Tensor) and isinstance(want, torch.Tensor) and
               is_narrow(want.dtype) else got for got, want in zip(_each(result), _each(wanted), strict=True)]
    return tuple(results) if isinstance(result, (tuple, list)) else results[0]

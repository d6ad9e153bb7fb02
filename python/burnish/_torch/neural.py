"""Converters of what networks are made of: products, convolutions, pools, norms, attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy
import torch

from .builder import GraphBuilder, Tensor
from .registry import Unsupported, register_converter
from .types import refuse_reading, results_read, shape_of
from .windows import batched, each

# ---- Products.

# Of a product of integers, which has no kernel of its own: all its terms at once.
_INTEGER_TERMS_MAX = 1 << 22


def _float(x: Tensor) -> Tensor:
    if not x.is_float:
        raise Unsupported(f"a product of {x.dtype}")
    return x


def _product(g: GraphBuilder, a: Tensor, b: Tensor) -> Tensor:
    if not a.is_float and a.rank > 1:
        if a.size * b.shape[-1] > _INTEGER_TERMS_MAX:
            raise Unsupported(f"a large product of {a.dtype}")
        terms = g.mul(g.reshape(a, (*a.shape, 1)), g.reshape(b, (*b.shape[:-2], 1, *b.shape[-2:])))
        return g.reduce("reduce_sum", terms, [-2])
    _float(a)
    weight = b.transposed
    if a.rank == 2 and weight is not None:
        return g.by_rows(a, lambda rows: g.op("dense", rows, weight, shape=(a.shape[0], b.shape[1])))
    return g.matmul(a, b)


@register_converter("aten.mm.default", "aten.bmm.default")
def matmul(g: GraphBuilder, node: torch.fx.Node, self: Tensor, mat2: Tensor) -> Tensor:
    return _product(g, self, mat2)


@register_converter("aten.linear.default")
def linear(g: GraphBuilder, node: torch.fx.Node, input: Tensor, weight: Tensor,
           bias: Tensor | None) -> Tensor:
    if weight.rank != 2:
        raise Unsupported("a weight that is no matrix")
    return g.op("dense", _float(input), weight, *([] if bias is None else [bias]),
                shape=(*input.shape[:-1], weight.shape[0]))


def _added(g: GraphBuilder, term: Tensor, product: Tensor, beta: float, alpha: float) -> Tensor:
    product = product if alpha == 1 else g.mul(product, alpha)
    if beta == 0:
        return product
    return g.add(term if beta == 1 else g.mul(term, beta), product)


@register_converter("aten.addmm.default")
def addmm(g: GraphBuilder, node: torch.fx.Node, self: Tensor, mat1: Tensor, mat2: Tensor,
          beta: float, alpha: float) -> Tensor:
    if mat1.is_float and beta == 1 and alpha == 1 and self.shape == (mat2.shape[1],):
        weight = mat2.transposed
        if weight is not None:
            return g.by_rows(mat1, lambda rows: g.op("dense", rows, weight, self, shape=shape_of(node)))
        return g.op("gemm", mat1, mat2, self, shape=shape_of(node))
    return _added(g, self, _product(g, mat1, mat2), beta, alpha)


@register_converter("aten.baddbmm.default")
def baddbmm(g: GraphBuilder, node: torch.fx.Node, self: Tensor, batch1: Tensor, batch2: Tensor,
            beta: float, alpha: float) -> Tensor:
    return _added(g, self, _product(g, batch1, batch2), beta, alpha)


@register_converter("aten.matmul.default")
def general_matmul(g: GraphBuilder, node: torch.fx.Node, self: Tensor, other: Tensor) -> Tensor:
    return g.op("matmul", _float(self), other, shape=shape_of(node))


@register_converter("aten.mv.default", "aten.dot.default")
def vector_product(g: GraphBuilder, node: torch.fx.Node, self: Tensor, **other: Tensor) -> Tensor:
    return g.op("matmul", _float(self), *other.values(), shape=shape_of(node))


@register_converter("aten.addmv.default")
def addmv(g: GraphBuilder, node: torch.fx.Node, self: Tensor, mat: Tensor, vec: Tensor,
          beta: float, alpha: float) -> Tensor:
    return _added(g, self, g.op("matmul", _float(mat), vec, shape=shape_of(node)), beta, alpha)


# ---- Convolutions.

@register_converter("aten.convolution.default")
def convolution(g: GraphBuilder, node: torch.fx.Node, input: Tensor, weight: Tensor,
                bias: Tensor | None, stride: Sequence[int], padding: Sequence[int],
                dilation: Sequence[int], transposed: bool, output_padding: Sequence[int],
                groups: int) -> Tensor:
    dims = weight.rank - 2
    x = batched(g, _float(input), dims)
    attributes = {"strides": each(stride, dims), "dilations": each(dilation, dims),
                  "pads": each(padding, dims) * 2}
    if groups != 1:
        attributes["group"] = groups
    if transposed and any(output_padding):
        attributes["output_padding"] = each(output_padding, dims)
    if min(attributes["pads"]) < 0:
        raise Unsupported("a pad below 0")
    shape = shape_of(node)
    inputs = [x, weight] if bias is None else [x, weight, bias]
    y = g.op("conv_transpose" if transposed else "conv", *inputs,
             shape=shape if input.rank == dims + 2 else (1, *shape), **attributes)
    return g.reshape(y, shape)


def _resized(g: GraphBuilder, node: torch.fx.Node, x: Tensor, scales: Sequence[float] | None,
             **attributes: Any) -> Tensor:
    shape = shape_of(node)
    if scales:
        # As the operator computes the extent: where it would differ by rounding, sizes say it.
        factors = [1.0, 1.0, *map(float, scales)]
        extents = [int(numpy.float32(f) * numpy.float32(n)) for f, n in zip(factors, x.shape)]
        if tuple(extents) != shape:
            raise Unsupported(f"scale_factors={list(scales)}")
        return g.op("resize", x, shape=shape, scales=factors, **attributes)
    return g.op("resize", x, shape=shape, sizes=shape, **attributes)


@register_converter("aten.upsample_nearest1d.vec", "aten.upsample_nearest2d.vec",
                    "aten.upsample_nearest3d.vec")
def upsample_nearest(g: GraphBuilder, node: torch.fx.Node, input: Tensor,
                     scale_factors: Sequence[float] | None, **ignored: Any) -> Tensor:
    return _resized(g, node, input, scale_factors, mode="nearest", nearest_mode="floor",
                    coordinate_transformation_mode="asymmetric")


@register_converter("aten.upsample_nearest2d.default")
def upsample_nearest2d(g: GraphBuilder, node: torch.fx.Node, self: Tensor,
                       scales_h: float | None, scales_w: float | None, **ignored: Any) -> Tensor:
    scales = None if scales_h is None or scales_w is None else [scales_h, scales_w]
    return upsample_nearest(g, node, self, scales)


@register_converter("aten.upsample_bilinear2d.default")
def upsample_bilinear2d(g: GraphBuilder, node: torch.fx.Node, self: Tensor, align_corners: bool,
                        scales_h: float | None, scales_w: float | None,
                        **ignored: Any) -> Tensor:
    scales = None if scales_h is None or scales_w is None else [scales_h, scales_w]
    return upsample_bilinear(g, node, self, align_corners, scales)


@register_converter("aten.upsample_bilinear2d.vec")
def upsample_bilinear(g: GraphBuilder, node: torch.fx.Node, input: Tensor, align_corners: bool,
                      scale_factors: Sequence[float] | None, **ignored: Any) -> Tensor:
    mode = "align_corners" if align_corners else "half_pixel"
    return _resized(g, node, _float(input), None if align_corners else scale_factors,
                    mode="linear", coordinate_transformation_mode=mode)


# ---- Normalization.

def _or_all(g: GraphBuilder, x: Tensor | None, value: float, shape: Sequence[int],
            dtype: str) -> Tensor:
    return g.filled(shape, value, dtype) if x is None else x


@register_converter("aten._native_batch_norm_legit_no_training.default")
def batch_norm(g: GraphBuilder, node: torch.fx.Node, input: Tensor, weight: Tensor | None,
               bias: Tensor | None, running_mean: Tensor, running_var: Tensor, eps: float,
               **ignored: Any) -> tuple[Tensor | None, ...]:
    refuse_reading(node, 1, 2)
    channels = (input.shape[1],)
    return g.op("batch_norm", input, _or_all(g, weight, 1, channels, input.dtype),
                _or_all(g, bias, 0, channels, input.dtype), running_mean, running_var,
                shape=input.shape, epsilon=float(eps)), None, None


@register_converter("aten.batch_norm.default")
def batch_norm_whole(g: GraphBuilder, node: torch.fx.Node, input: Tensor, weight: Tensor | None,
                     bias: Tensor | None, running_mean: Tensor | None,
                     running_var: Tensor | None, training: bool, eps: float,
                     **ignored: Any) -> Tensor:
    if training or running_mean is None or running_var is None:
        raise Unsupported("training")
    y = batch_norm(g, node, input, weight, bias, running_mean, running_var, eps)[0]
    assert y is not None
    return y


def _inverse_deviation(g: GraphBuilder, x: Tensor, dims: Sequence[int],
                       eps: float) -> tuple[Tensor, Tensor]:
    mean = g.reduce("reduce_mean", x, dims, True)
    difference = g.sub(x, mean)
    variance = g.reduce("reduce_mean", g.mul(difference, difference), dims, True)
    return mean, g.op("reciprocal", g.op("sqrt", g.add(variance, float(eps))))


@register_converter("aten.native_layer_norm.default")
def layer_norm(g: GraphBuilder, node: torch.fx.Node, input: Tensor,
               normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None,
               eps: float) -> tuple[Tensor | None, ...]:
    y = layer_norm_whole(g, node, input, normalized_shape, weight, bias, eps)
    if not results_read(node) & {1, 2}:
        return y, None, None
    dims = list(range(input.rank - len(normalized_shape), input.rank))
    return y, *_inverse_deviation(g, input, dims, eps)


@register_converter("aten.layer_norm.default")
def layer_norm_whole(g: GraphBuilder, node: torch.fx.Node, input: Tensor,
                     normalized_shape: Sequence[int], weight: Tensor | None,
                     bias: Tensor | None, eps: float, **ignored: Any) -> Tensor:
    scale = _or_all(g, weight, 1, tuple(normalized_shape), input.dtype)
    return g.op("layer_norm", input, scale, *([] if bias is None else [bias]), shape=input.shape,
                axis=-len(normalized_shape), epsilon=float(eps))


@register_converter("aten.native_group_norm.default")
def group_norm(g: GraphBuilder, node: torch.fx.Node, input: Tensor, weight: Tensor | None,
               bias: Tensor | None, C: int, group: int, eps: float,
               **ignored: Any) -> tuple[Tensor | None, ...]:
    y = group_norm_whole(g, node, input, group, weight, bias, eps)
    if not results_read(node) & {1, 2}:
        return y, None, None
    rows = g.reshape(input, (input.shape[0], group, input.size // input.shape[0] // group))
    return y, *(g.reshape(x, (input.shape[0], group))
                for x in _inverse_deviation(g, rows, [2], eps))


@register_converter("aten.group_norm.default")
def group_norm_whole(g: GraphBuilder, node: torch.fx.Node, input: Tensor, num_groups: int,
                     weight: Tensor | None, bias: Tensor | None, eps: float,
                     **ignored: Any) -> Tensor:
    channels = (input.shape[1],)
    x = g.reshape(input, (*input.shape, 1)) if input.rank < 3 else input
    y = g.op("group_norm", x, _or_all(g, weight, 1, channels, input.dtype),
             _or_all(g, bias, 0, channels, input.dtype), shape=x.shape, num_groups=num_groups,
             epsilon=float(eps))
    return g.reshape(y, input.shape)


# ---- Distances.

def _lengths(g: GraphBuilder, difference: Tensor, p: float) -> Tensor:
    """Norms over the last dimension."""
    if p == 2:
        return g.reduce("reduce_l2", difference, [-1])
    size = g.op("abs", difference)
    if p == math.inf:
        return g.reduce("reduce_max", size, [-1])
    if p == 0:
        unequal = g.where(g.op("is_nan", size, dtype="bool"), size,
                          g.cast(g.logical_not(g.compare("equal", size, 0.0)), size.dtype))
        return g.reduce("reduce_sum", unequal, [-1])
    if p == 1:
        return g.reduce("reduce_sum", size, [-1])
    total = g.reduce("reduce_sum", g.op("pow", size, g.number(float(p), size.dtype)), [-1])
    return g.op("pow", total, g.number(1 / p, size.dtype))


@register_converter("aten._cdist_forward.default")
def cdist(g: GraphBuilder, node: torch.fx.Node, x1: Tensor, x2: Tensor, p: float,
          **ignored: Any) -> Tensor:
    rows = g.reshape(x1, (*x1.shape[:-1], 1, x1.shape[-1]))
    difference = g.sub(rows, g.reshape(x2, (*x2.shape[:-2], 1, *x2.shape[-2:])))
    if p == math.inf:  # PyTorch's greatest distance passes NaN over here, and not in `pdist`.
        difference = g.where(g.op("is_nan", difference, dtype="bool"), g.number(0.0, difference.dtype), difference)
    return _lengths(g, difference, p)


@register_converter("aten._pdist_forward.default")
def pdist(g: GraphBuilder, node: torch.fx.Node, self: Tensor, p: float) -> Tensor:
    first, second = numpy.triu_indices(self.shape[0], 1)
    return _lengths(g, g.sub(g.gather(self, g.constant(first), 0),
                             g.gather(self, g.constant(second), 0)), p)


# ---- Attention.

def _attention(g: GraphBuilder, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None,
               causal: bool, scale: float | None) -> Tensor:
    *batch, queries, size = _float(query).shape
    keys = key.shape[-2]
    swapped = [*range(key.rank - 2), key.rank - 1, key.rank - 2]
    # Queries that share a key are rows of one product: no key is repeated.
    group = batch[-1] // key.shape[-3] if len(batch) > 1 else 1
    rows = (*batch[:-1], key.shape[-3], group * queries) if len(batch) > 1 else (*batch, queries)
    scores = g.matmul(g.reshape(query, (*rows, size)), g.transpose(key, swapped))
    scores = g.mul(g.reshape(scores, (*batch, queries, keys)),
                   1 / math.sqrt(size) if scale is None else float(scale))
    nothing = g.number(-math.inf, query.dtype)
    empty = None
    if causal:
        allowed = g.constant(numpy.tril(numpy.ones((queries, keys), bool)))
        scores = g.where(allowed, scores, nothing)
    if mask is not None:
        zero = g.number(0.0, query.dtype)
        bias = g.where(mask, zero, nothing) if mask.dtype == "bool" else g.cast(mask, query.dtype)
        # Of queries that may see no key the result is 0, not NaN.
        empty = g.compare("equal", g.reduce("reduce_max", bias, [-1], True), -math.inf)
        scores = g.where(mask, scores, nothing) if mask.dtype == "bool" else g.add(scores, bias)
        scores = g.where(empty, zero, scores)
    weights = g.op("softmax", scores, axis=scores.rank - 1)
    result = g.matmul(g.reshape(weights, (*rows, keys)), value)
    result = g.reshape(result, (*batch, queries, value.shape[-1]))
    return result if empty is None else g.where(empty, g.number(0.0, query.dtype), result)


@register_converter("aten.scaled_dot_product_attention.default")
def attention(g: GraphBuilder, node: torch.fx.Node, query: Tensor, key: Tensor, value: Tensor,
              attn_mask: Tensor | None, dropout_p: float, is_causal: bool,
              scale: float | None, **ignored: Any) -> Tensor:
    if dropout_p:
        raise Unsupported("dropout")
    return _attention(g, query, key, value, attn_mask, is_causal, scale)


@register_converter("aten._scaled_dot_product_flash_attention_for_cpu.default")
def flash_attention(g: GraphBuilder, node: torch.fx.Node, query: Tensor, key: Tensor,
                    value: Tensor, dropout_p: float, is_causal: bool, attn_mask: Tensor | None,
                    scale: float | None) -> tuple[Tensor | None, ...]:
    refuse_reading(node, 1)
    return attention(g, node, query, key, value, attn_mask, dropout_p, is_causal, scale), None


def _heads(g: GraphBuilder, x: Tensor, heads: int) -> Tensor:
    """[batch, places, size] to [batch, heads, places, size of a head]."""
    batch, places, size = x.shape
    return g.transpose(g.reshape(x, (batch, places, heads, size // heads)), [0, 2, 1, 3])


@register_converter("aten._transformer_encoder_layer_fwd.default")
def encoder_layer(g: GraphBuilder, node: torch.fx.Node, src: Tensor, num_heads: int,
                  qkv_weight: Tensor, qkv_bias: Tensor, proj_weight: Tensor, proj_bias: Tensor,
                  use_gelu: bool, norm_first: bool, eps: float, norm_weight_1: Tensor,
                  norm_bias_1: Tensor, norm_weight_2: Tensor, norm_bias_2: Tensor,
                  ffn_weight_1: Tensor, ffn_bias_1: Tensor, ffn_weight_2: Tensor,
                  ffn_bias_2: Tensor, mask: Tensor | None, embed_dim: int,
                  mask_type: int | None) -> Tensor:
    """What nn.TransformerEncoderLayer becomes in inference, where PyTorch has it whole."""
    if mask is not None:
        raise Unsupported("a mask")

    def dense(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return g.op("dense", x, weight, bias, shape=(*x.shape[:-1], weight.shape[0]))

    def norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return g.op("layer_norm", x, weight, bias, shape=x.shape, axis=-1, epsilon=float(eps))

    def attend(x: Tensor) -> Tensor:
        parts = g.split(dense(x, qkv_weight, qkv_bias), 2, [embed_dim] * 3)
        query, key, value = (_heads(g, part, num_heads) for part in parts)
        result = g.transpose(_attention(g, query, key, value, None, False, None), [0, 2, 1, 3])
        return dense(g.reshape(result, x.shape), proj_weight, proj_bias)

    def feed(x: Tensor) -> Tensor:
        return dense(g.op("gelu" if use_gelu else "relu", dense(x, ffn_weight_1, ffn_bias_1)),
                     ffn_weight_2, ffn_bias_2)

    if norm_first:
        x = g.add(src, attend(norm(_float(src), norm_weight_1, norm_bias_1)))
        return g.add(x, feed(norm(x, norm_weight_2, norm_bias_2)))
    x = norm(g.add(_float(src), attend(src)), norm_weight_1, norm_bias_1)
    return norm(g.add(x, feed(x)), norm_weight_2, norm_bias_2)

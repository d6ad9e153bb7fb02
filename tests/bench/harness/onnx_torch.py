"""An ONNX model as a torch.fx.GraphModule: one call for each node, weights as parameters.

Covers the operators of the zoo and of the light models, float32, fixed shapes; for any other load()
raises NotImplementedError. Semantics: the ONNX operator specification.
"""

import functools
import operator

import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper

# Inputs that say a shape, axes or a bound, by position: constants, passed on under the name that
# the attribute has in older operator sets.
STATIC_INPUTS = {
    "Clip": {1: "min", 2: "max"},
    "ReduceMean": {1: "axes"},
    "Reshape": {1: "shape"},
    "Slice": {1: "starts", 2: "ends", 3: "axes", 4: "steps"},
    "Squeeze": {1: "axes"},
    "Unsqueeze": {1: "axes"},
    "Dropout": {1: "ratio", 2: "training_mode"},
}


def torch_pads(pads):
    """ONNX: begins, then ends. F.pad: (begin, end) from the last dimension on."""
    half = len(pads) // 2
    return [pads[i] for d in reversed(range(half)) for i in (d, d + half)]


def split_pads(x, pads, rank, value=0.0):
    """(x, symmetric pads): what is not symmetric is padded here."""
    pads = pads or [0] * (2 * rank)
    if pads[:rank] == pads[rank:]:
        return x, pads[:rank]
    return F.pad(x, torch_pads(pads), value=value), [0] * rank


def conv(x, weight, bias=None, *, kernel_shape=None, strides=1, pads=None, dilations=1, group=1):
    rank = x.dim() - 2
    x, padding = split_pads(x, pads, rank)
    function = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[rank]
    return function(x, weight, bias, strides, padding, dilations, group)


def max_pool(x, *, kernel_shape, strides=1, pads=None, dilations=1, ceil_mode=0, storage_order=0):
    x, padding = split_pads(x, pads, 2, float("-inf"))
    return F.max_pool2d(x, kernel_shape, strides, padding, dilations, bool(ceil_mode))


def average_pool(x, *, kernel_shape, strides=1, pads=None, ceil_mode=0, count_include_pad=0):
    padded, padding = split_pads(x, pads, 2)
    pool = functools.partial(F.avg_pool2d, kernel_size=kernel_shape, stride=strides,
                             padding=padding, ceil_mode=bool(ceil_mode),
                             count_include_pad=bool(count_include_pad))
    if padded is x or count_include_pad:
        return pool(padded)
    inside = F.pad(torch.ones_like(x[:1, :1]), torch_pads(pads))
    return pool(padded) / pool(inside)  # The mean over what is not padding.


def batch_norm(x, scale, bias, mean, variance, *, epsilon=1e-5, momentum=0.9, spatial=1):
    return F.batch_norm(x, mean, variance, scale, bias, False, 0.0, epsilon)


def layer_norm(x, scale, bias=None, *, axis=-1, epsilon=1e-5, stash_type=1):
    return F.layer_norm(x, x.shape[axis:], scale, bias, epsilon)


def lrn(x, *, size, alpha=1e-4, beta=0.75, bias=1.0):
    return F.local_response_norm(x, size, alpha, beta, bias)


def gemm(a, b, c=None, *, alpha=1.0, beta=1.0, transA=0, transB=0):
    a = a.t() if transA else a
    if alpha == 1 and transB and (c is None or beta == 1 and c.dim() == 1):
        return F.linear(a, b, c)
    product = alpha * (a @ (b.t() if transB else b))
    return product if c is None else product + beta * c


def clip(x, *, min=None, max=None):
    return torch.clamp(x, min, max)


def reduce_mean(x, *, axes=None, keepdims=1):
    return torch.mean(x, axes, bool(keepdims))


def reshape(x, *, shape, allowzero=0):
    return x.reshape([x.shape[i] if extent == 0 else extent for i, extent in enumerate(shape)])


def slice_(x, *, starts, ends, axes=None, steps=None):
    index = [slice(None)] * x.dim()
    for i, axis in enumerate(axes or range(len(starts))):
        index[axis] = slice(starts[i], ends[i], (steps or [1] * len(starts))[i])
    return x[tuple(index)]


def unsqueeze(x, *, axes):
    rank = x.dim() + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        x = x.unsqueeze(axis)
    return x


def squeeze(x, *, axes):
    return torch.squeeze(x, tuple(axes))


def gather(table, indices, *, axis=0):
    if axis == 0 and table.dim() == 2:
        return F.embedding(indices, table)
    taken = torch.index_select(table, axis, indices.reshape(-1))
    axis %= table.dim()
    return taken.reshape(table.shape[:axis] + indices.shape + table.shape[axis + 1:])


def flatten(x, *, axis=1):
    return x.reshape(x.shape[:axis].numel(), -1)


def softmax(x, *, axis=-1):
    return torch.softmax(x, axis)


def gelu(x, *, approximate="none"):
    return F.gelu(x, approximate=approximate)


def transpose(x, *, perm=None):
    return x.permute(perm or list(reversed(range(x.dim()))))


def concat(*tensors, axis):
    return torch.cat(tensors, axis)


def sum_(*tensors):
    return functools.reduce(operator.add, tensors)


def global_average_pool(x):
    return x.mean(list(range(2, x.dim())), True)


def identity(x, **_):
    return x


FUNCTIONS = {
    "Add": operator.add, "AveragePool": average_pool, "BatchNormalization": batch_norm,
    "Clip": clip, "Concat": concat, "Conv": conv, "Div": operator.truediv, "Dropout": identity,
    "Erf": torch.erf, "Flatten": flatten, "Gather": gather, "Gelu": gelu, "Gemm": gemm,
    "GlobalAveragePool": global_average_pool, "Identity": identity, "LRN": lrn,
    "LayerNormalization": layer_norm, "MatMul": torch.matmul, "MaxPool": max_pool,
    "Mul": operator.mul, "ReduceMean": reduce_mean, "Relu": F.relu, "Reshape": reshape,
    "Sigmoid": torch.sigmoid, "Slice": slice_, "Softmax": softmax, "Sqrt": torch.sqrt,
    "Squeeze": squeeze, "Sub": operator.sub, "Sum": sum_, "Tanh": torch.tanh,
    "Transpose": transpose, "Unsqueeze": unsqueeze,
}


class Converter:
    def __init__(self, graph):
        self._onnx = graph
        self._fx = torch.fx.Graph()
        self._root = torch.nn.Module()
        self._constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        self._values = {}  # fx nodes by ONNX name.

    def _value(self, name):
        if name not in self._values:
            weight = torch.nn.Parameter(torch.from_numpy(self._constants[name].copy()), False)
            target = f"weight{len(list(self._root.parameters()))}"
            self._root.register_parameter(target, weight)
            self._values[name] = self._fx.get_attr(target)
        return self._values[name]

    def _add(self, node):
        if node.op_type == "Constant":
            value = onnx.helper.get_attribute_value(node.attribute[0])
            self._constants[node.output[0]] = numpy_helper.to_array(value)
            return
        if node.op_type not in FUNCTIONS:
            raise NotImplementedError(f"the ONNX operator {node.op_type} has no form in torch here")
        arguments, options = [], {each.name: onnx.helper.get_attribute_value(each)
                                  for each in node.attribute}
        options = {name: value.decode() if isinstance(value, bytes) else value
                   for name, value in options.items()}
        static = STATIC_INPUTS.get(node.op_type, {})
        for i, name in enumerate(node.input):
            if i in static:
                if name:
                    options[static[i]] = self._constants[name].tolist()
            else:
                arguments.append(self._value(name) if name else None)
        self._values[node.output[0]] = self._fx.call_function(
            FUNCTIONS[node.op_type], tuple(arguments), options)

    def module(self):
        for value in self._onnx.input:
            if value.name not in self._constants:
                self._values[value.name] = self._fx.placeholder(f"input{len(self._values)}")
        for node in self._onnx.node:
            self._add(node)
        self._fx.output(tuple(self._value(value.name) for value in self._onnx.output))
        return torch.fx.GraphModule(self._root, self._fx).eval()


def load(path):
    return Converter(onnx.load(path).graph).module()

"""Weights as trained networks have them: other distributions in the place of the normal one.

The weights of convolutions and products are drawn again with the root mean square that they had,
so that activations keep their scale on average. Biases and the parameters of norms stay.
"""

import numpy as np
from onnx import numpy_helper

AS_THEY_ARE = "gaussian"  # The zoo's weights are close to normal.
STUDENT_FREEDOM = 3       # Degrees of freedom: the smallest integer with a finite variance.
# Which axis of the weight is the output channel, by the operator that reads it as input 1.
CHANNEL_AXIS = {"Conv": 0, "MatMul": -1}  # Of Gemm it depends.


def _draw_gaussian(rng, shape, axis):
    return rng.standard_normal(shape, np.float32)


def _draw_lognormal(rng, shape, axis):
    """Normal, times a log-normal scale (sigma 1) for each output channel."""
    extents = [1] * len(shape)
    extents[axis] = shape[axis]
    return rng.standard_normal(shape, np.float32) * rng.lognormal(0, 1, extents)


def _draw_student(rng, shape, axis):
    return rng.standard_t(STUDENT_FREEDOM, shape)


DISTRIBUTIONS = {AS_THEY_ARE: _draw_gaussian, "lognormal": _draw_lognormal,
                 "student": _draw_student}


def _channel_axis(node):
    if node.op_type == "Gemm":
        return 0 if any(a.name == "transB" and a.i for a in node.attribute) else 1
    return CHANNEL_AXIS[node.op_type]


def redraw(graph, distribution, seed):
    """Replaces the weights in `graph`; the same for the same seed. Returns how many."""
    rng = np.random.default_rng(seed)
    axes = {node.input[1]: _channel_axis(node) for node in graph.node
            if node.op_type in CHANNEL_AXIS}
    count = 0
    for tensor in graph.initializer:
        if tensor.name not in axes:
            continue
        old = numpy_helper.to_array(tensor)
        new = DISTRIBUTIONS[distribution](rng, old.shape, axes[tensor.name])
        new *= np.sqrt(np.mean(np.square(old, dtype=np.float64)) / np.mean(np.square(new)))
        tensor.CopyFrom(numpy_helper.from_array(new.astype(np.float32), tensor.name))
        count += 1
    return count

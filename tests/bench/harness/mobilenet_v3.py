"""MobileNetV3-Small as ONNX, with seeded weights: an inference of a millisecond in some 60 steps.

Source: Howard et al., "Searching for MobileNetV3", ICCV 2019, table 2. Normalizations are folded into the
convolutions, as exporters leave them.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Kernel, expanded channels, channels, squeeze and excite, hard swish (else ReLU), stride.
BLOCKS = ((3, 16, 16, True, False, 2), (3, 72, 24, False, False, 2), (3, 88, 24, False, False, 1),
          (5, 96, 40, True, True, 2), (5, 240, 40, True, True, 1), (5, 240, 40, True, True, 1),
          (5, 120, 48, True, True, 1), (5, 144, 48, True, True, 1), (5, 288, 96, True, True, 2),
          (5, 576, 96, True, True, 1), (5, 576, 96, True, True, 1))


class Builder:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.weights = [], []

    def add(self, op, *inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def weight(self, *shape):
        name = f"w{len(self.weights)}"
        scale = np.sqrt(2 / max(1, np.prod(shape[1:])))
        values = (self.rng.standard_normal(shape) * scale).astype(np.float32)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def convolution(self, x, channels_in, channels, kernel=1, stride=1, group=1):
        pad = kernel // 2
        return self.add("Conv", x, self.weight(channels, channels_in // group, kernel, kernel),
                        self.weight(channels), kernel_shape=[kernel] * 2, strides=[stride] * 2,
                        pads=[pad] * 4, group=group)

    def excite(self, x, channels):
        squeezed = max(8, (channels // 4 + 4) // 8 * 8)
        y = self.add("GlobalAveragePool", x)
        y = self.add("Relu", self.convolution(y, channels, squeezed))
        y = self.convolution(y, squeezed, channels)
        return self.add("Mul", x, self.add("HardSigmoid", y, alpha=1 / 6, beta=0.5))

    def block(self, x, channels_in, kernel, expanded, channels, excited, swish, stride):
        activation = "HardSwish" if swish else "Relu"
        y = x
        if expanded != channels_in:
            y = self.add(activation, self.convolution(y, channels_in, expanded))
        y = self.add(activation, self.convolution(y, expanded, expanded, kernel, stride, expanded))
        if excited:
            y = self.excite(y, expanded)
        y = self.convolution(y, expanded, channels)
        return self.add("Add", x, y) if stride == 1 and channels == channels_in else y


def save(path, seed=0):
    builder = Builder(seed)
    x = builder.add("HardSwish", builder.convolution("image", 3, 16, kernel=3, stride=2))
    channels = 16
    for kernel, expanded, channels_out, excited, swish, stride in BLOCKS:
        x = builder.block(x, channels, kernel, expanded, channels_out, excited, swish, stride)
        channels = channels_out
    x = builder.add("HardSwish", builder.convolution(x, channels, 576))
    x = builder.add("GlobalAveragePool", x)
    x = builder.add("HardSwish", builder.convolution(x, 576, 1024))
    scores = builder.add("Flatten", builder.convolution(x, 1024, 1000))
    info = helper.make_tensor_value_info
    graph = helper.make_graph(builder.nodes, "mobilenet_v3_small",
                              [info("image", TensorProto.FLOAT, [1, 3, 224, 224])],
                              [info(scores, TensorProto.FLOAT, [1, 1000])], builder.weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              path)

"""usage: run_model.py MODEL.onnx [NAME=1x3x224x224...]   Compiles a model for this CPU and times it.

The second part of each argument is the shape of an input whose shape the model leaves open.
"""

import sys
import time

import numpy as np

import burnish


def main(path, *shape_texts):
    shapes = {name: tuple(map(int, shape.split("x")))
              for name, shape in (text.rsplit("=", 1) for text in shape_texts)}
    model = burnish.compile(path, shapes=shapes)
    random = np.random.default_rng(0)
    inputs = [random.random(info.shape).astype(info.dtype) for info in model.inputs]
    outputs = [burnish.empty(info.shape, info.dtype) for info in model.outputs]
    times = []
    for _ in range(100):
        start = time.perf_counter()
        model.run(*inputs, out=tuple(outputs))
        times.append(time.perf_counter() - start)
    for info in model.outputs:
        print(info.name, info.dtype, info.shape)
    print(f"median {1e3 * sorted(times)[len(times) // 2]:.3f} ms, {model.thread_count} threads")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])

"""Float models that `tuner quantize` makes quantized ones of, run by three runtimes.

Errors are measured against the spread of the outputs between inputs, which the models have: the
networks of quantized_models, and one that was trained on images (digits.py), which must still say the
same of those that it has never seen.

usage: quantize_models.py TUNER RUNNER [NAME...]
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import digits  # noqa: E402
import quantized_models  # noqa: E402
from case_runner import CaseRunner  # noqa: E402
from test_report import Report  # noqa: E402

try:
    import openvino
except ImportError:  # ./dev bench installs it; tests do without.
    openvino = None

# The root mean square of the error, of the spread.
ERROR_MAX = 0.10
# From the file as it is written, on floats: a sum that ends near a half is rounded to another number
# here and there. OpenVINO moves scales through its graph and rounds in other places.
BETWEEN_MAX = 0.02
OPENVINO_BETWEEN_MAX = 0.06
AGREEMENT_MIN = 0.99
EXAMPLES, HELD_OUT = 48, 16
DIGITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "testdata", "digits.onnx")


def onnxruntime_outputs(model, inputs, optimized=True):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return np.stack([session.run(None, {name: x})[0] for x in inputs])


def openvino_outputs(model, inputs):
    compiled = openvino.Core().compile_model(openvino.Core().read_model(model), "CPU")
    return np.stack([compiled([x])[0] for x in inputs])


class Tests:
    def __init__(self, tuner, runner, folder):
        self.tuner, self.runner, self.folder = os.path.realpath(tuner), runner, folder

    def quantize(self, path, name, examples, *flags):
        """The model's bytes, and what the command says."""
        data = tempfile.mkdtemp(dir=self.folder)
        np.save(os.path.join(data, f"{name}.npy"), np.stack(examples))
        out = os.path.join(data, "out.onnx")
        done = subprocess.run(
            [self.tuner, "quantize", "--model", path, "--data", data, "--out", out, "--json", *flags],
            capture_output=True, text=True, check=False,
            env={**os.environ, "XDG_CACHE_HOME": self.folder})
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        with open(out, "rb") as file:
            return file.read(), json.loads(done.stdout)

    def compared(self, model, inputs, real):
        """Complaints about the file in each runtime, and the errors in words; outputs of ours."""
        spread = np.sqrt(np.mean((real - real.mean(axis=0)) ** 2))
        if not spread > 0.3 * np.sqrt(np.mean(real ** 2)):
            return [f"the outputs hardly depend on the inputs: spread {spread}"], "", real
        reply, sets = self.runner.run(model, [[x] for x in inputs])
        if reply["error"]:
            return [f"{reply['stage']}: {reply['error'][:600]}"], "", real
        outputs = {"ours": np.stack([one[0] for one in sets]),
                   "ONNX Runtime": onnxruntime_outputs(model, inputs),
                   "ONNX Runtime as written": onnxruntime_outputs(model, inputs, optimized=False)}
        if openvino is not None:
            outputs["OpenVINO"] = openvino_outputs(model, inputs)
        wrong, notes = [], []
        written = outputs["ONNX Runtime as written"]
        for runtime, got in outputs.items():
            error = np.sqrt(np.mean((got - real) ** 2)) / spread
            between = np.sqrt(np.mean((got - written) ** 2)) / spread
            notes.append(f"{runtime} {error:.4f}")
            if not error <= ERROR_MAX:
                wrong.append(f"{runtime}: error {error:.4f} of the spread")
            if not between <= (OPENVINO_BETWEEN_MAX if runtime == "OpenVINO" else BETWEEN_MAX):
                wrong.append(f"{runtime}: {between:.4f} from the file as it is written")
        return wrong, ", ".join(notes), outputs["ours"]

    def network(self, make, *flags):
        model = make()
        path = os.path.join(self.folder, "model.onnx")
        onnx.save(model, path)
        shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
        random = np.random.default_rng(7)
        apart = [*shape[:2], *[1] * (len(shape) - 2)]
        inputs = [(random.normal(size=shape) + 2 * random.normal(size=apart)).astype(np.float32)
                  for _ in range(EXAMPLES + HELD_OUT)]
        int8, told = self.quantize(path, "x", inputs[:EXAMPLES], *flags)
        held_out = inputs[EXAMPLES:]
        wrong, note, _ = self.compared(int8, held_out, onnxruntime_outputs(path, held_out))
        if told["examples"] != EXAMPLES or told["products"] < 11:
            wrong.append(f"quantized {told}")
        if make is not quantized_models.transformer and told["float_products"] != 0:
            wrong.append(f"products stay float: {told}")
        # What the command measured on the examples is what they show.
        real = onnxruntime_outputs(path, inputs[:EXAMPLES])
        got = onnxruntime_outputs(int8, inputs[:EXAMPLES], optimized=False)
        error = np.sqrt(np.mean((got - real) ** 2) / np.mean((real - real.mean(axis=0)) ** 2))
        if not abs(told["errors"][0]["error"] - error) <= 0.1 * error:
            wrong.append(f"told error {told['errors']}, {error:.4f} by ONNX Runtime")
        return wrong, note

    def trained(self, *flags):
        (examples, _), (held_out, labels) = digits.load()
        int8, told = self.quantize(DIGITS, "image", list(examples[:, None]), "--shape",
                                   "image=1x1x8x8", *flags)
        inputs = list(held_out[:, None])
        real = onnxruntime_outputs(DIGITS, inputs)
        wrong, note, got = self.compared(int8, inputs, real)
        chosen, want = got[:, 0].argmax(1), real[:, 0].argmax(1)
        agreement = float(np.mean(chosen == want))
        right, right_before = np.mean(chosen == labels), np.mean(want == labels)
        if len(inputs) < 1000 or told["float_products"] != 0:
            wrong.append(f"{len(inputs)} inputs, quantized {told}")
        if right_before < 0.98 or agreement < AGREEMENT_MIN:
            wrong.append(f"agrees on {agreement:.4f}; right {right:.4f}, in f32 {right_before:.4f}")
        return wrong, f"agrees on {agreement:.4f} of {len(inputs)}, right {right:.4f}; {note}"


    # ---- Weights alone

    def weights_bytes(self, path, *flags):
        done = subprocess.run(
            [self.tuner, "compile", "--model", path, "--out", os.path.join(self.folder, "w.bundle"),
             "--json", *flags], capture_output=True, text=True, check=False,
            env={**os.environ, "XDG_CACHE_HOME": self.folder, "XDG_DATA_HOME": self.folder})
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return json.loads(done.stdout)["weights_bytes"]

    def weights(self, rows, group):
        """Two layers with weights of 8 bits, against NumPy in double and the runtimes."""
        random = np.random.default_rng(3)
        model = perceptron(random)
        path = os.path.join(self.folder, "floats.onnx")
        onnx.save(model, path)
        shape = ("--shape", f"x={rows}x{WIDTH}")
        inputs = [random.normal(size=(rows, WIDTH)).astype(np.float32) for _ in range(4)]
        int8, told = self.quantize(path, "x", inputs, "--method", "weights", "--group", str(group),
                                   *shape)
        exact = [perceptron_in_double(onnx.load_from_string(int8), x) for x in inputs]
        greatest = np.abs(exact).max()
        reply, sets = self.runner.run(int8, [[x] for x in inputs])
        if reply["error"] or reply["rejected"]:
            return [f"{reply['stage']}: {reply['error'][:600]} {reply['rejected']}"], ""
        written = onnxruntime_outputs(int8, inputs, optimized=False)
        wrong = []
        for runtime, got in (("ours", [one[0] for one in sets]), ("ONNX Runtime", written)):
            difference = np.abs(np.stack(got) - exact).max() / greatest
            if not difference <= 1e-5:
                wrong.append(f"{runtime}: {difference:.2g} from NumPy's result")
        # These may round the other factor, too.
        others = {"ONNX Runtime": onnxruntime_outputs(int8, inputs)}
        if openvino is not None:
            others["OpenVINO"] = openvino_outputs(int8, inputs)
        for runtime, got in others.items():
            difference = np.abs(got - exact).max() / greatest
            if not difference <= BETWEEN_MAX:
                wrong.append(f"{runtime}: {difference:.2g} from NumPy's result")
        real = onnxruntime_outputs(path, inputs)
        error = np.sqrt(np.mean((np.stack(exact) - real) ** 2) / np.mean(
            (real - real.mean(axis=0)) ** 2))
        if not error <= 0.02 or not abs(told["errors"][0]["error"] - error) <= 0.1 * error:
            wrong.append(f"error {error:.4f}, told {told}")
        with open(os.path.join(self.folder, "w8.onnx"), "wb") as file:
            file.write(int8)
        before = self.weights_bytes(path, *shape)
        after = self.weights_bytes(os.path.join(self.folder, "w8.onnx"))
        # 8 bits of 32, and 32 for each group; of whole panels, whose width the default schedule
        # chooses: up to a twentieth is padding of these widths.
        if not after <= (0.25 + 1 / group + 0.05) * before:
            wrong.append(f"{after} bytes of weights, {before} in f32")
        return wrong, f"error {error:.4f} of the spread, weights {after / before:.3f} of those in f32"


WIDTH, HIDDEN, OUTPUTS = 256, 512, 64


def perceptron(random):
    w = quantized_models.Writer(5)
    w.random = random
    x = w.op("MatMul", "x", w.weights(WIDTH, HIDDEN, fan=WIDTH))
    x = w.op("Relu", w.op("Add", x, w.vector(HIDDEN)))
    return w.model(["n", WIDTH], w.op("Gemm", x, w.weights(OUTPUTS, HIDDEN), w.vector(OUTPUTS),
                                      transB=1))


def perceptron_in_double(model, x):
    """By the numbers and scales in the file."""
    constants = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    matrices = []
    for node in model.graph.node:
        if node.op_type != "DequantizeLinear":
            continue
        numbers, scale = (constants[name].astype(np.float64) for name in node.input[:2])
        assert constants[node.input[0]].dtype == np.int8 and len(node.input) == 2
        matrices.append(numbers * np.repeat(scale, len(numbers) // len(scale), axis=0))
    vectors = [c.astype(np.float64) for c in constants.values()
               if c.dtype == np.float32 and c.ndim == 1]
    first, second = sorted(vectors, key=len, reverse=True)
    return np.maximum(x @ matrices[0] + first, 0) @ matrices[1] + second


def main(arguments):
    tuner, runner, *names = arguments
    report = Report("quantize_models")
    if openvino is None:
        report.skip("OpenVINO", "not installed: files are held against ONNX Runtime alone; "
                                "./dev bench models installs it")
    with CaseRunner(runner) as cases, tempfile.TemporaryDirectory() as folder:
        tests = Tests(tuner, cases, folder)
        methods = {"": (), " by percentiles": ("--method", "percentile")}
        for method, flags in methods.items():
            for make in (quantized_models.residual_network, quantized_models.mobile_network,
                         quantized_models.transformer):
                name = f"{make.__name__}{method}"
                if not names or name in names:
                    report.run(name, lambda m=make, f=flags: tests.network(m, *f))
            name = f"digits{method}"
            if not names or name in names:
                report.run(name, lambda f=flags: tests.trained(*f))
        for rows, group in ((1, 32), (1, 128), (7, 64)):
            name = f"weights of {rows} rows by {group}"
            if not names or name in names:
                report.run(name, lambda r=rows, g=group: tests.weights(r, g))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

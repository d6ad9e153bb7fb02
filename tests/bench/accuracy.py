"""What fewer bits cost: models whose weights have a signal, in bf16, f16 and int8, beside the peers.

./dev bench accuracy [--models resnet50,mobilenet_v2,resnet50_digits,vit_digits] [--precisions bf16,int8] [--json]
How to read it: tests/bench/README.md.
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).parent / "harness"))
import machine
import model_files
import peer_engines
import torch_libraries
import train_on_digits
from c_runtime import Model, load_library
from engine import RUNTIME
from weight_distributions import AS_THEY_ARE

# Of random weights: images that batch norms have their statistics from, and int8 its ranges; others are
# measured. Of trained ones: images of those that trained them for int8's ranges; all others are measured.
EXAMPLES, HELD_OUT = 32, 16
TRAINED_EXAMPLES = 128
TRAINED = "_digits"  # Ends the names of architectures that are trained first.
CACHE = machine.ROOT / ".cache" / "accuracy"
SPREAD_MIN = 0.3


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench accuracy",
                                     description=__doc__.split("\n")[0])
    parser.add_argument("--models", default="resnet50,mobilenet_v2,resnet50_digits,vit_digits",
                        help="of the zoo with random weights, or vit or an architecture of torchvision and "
                             f"'{TRAINED}': trained on digits first (%(default)s)")
    parser.add_argument("--precisions", default="bf16,int8", help="%(default)s")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    return parser.parse_args()


def image(shape, rng):
    """Coarse patches of colour with noise on them, bright or dark: images differ by much."""
    *lead, height, width = shape
    coarse = rng.normal(size=(*lead, 8, 8)) + 2 * rng.normal(size=(*lead, 1, 1))
    rows, columns = (np.arange(n) * 8 // n for n in (height, width))
    fine = rng.normal(size=shape)
    light = np.exp(0.5 * rng.normal())
    return (light * (coarse[..., rows[:, None], columns] + 0.5 * fine)).astype(np.float32)


def make_inputs(path, count):
    """By example and input."""
    examples = [model_files.make_inputs(path, seed) for seed in range(count)]
    for seed, example in enumerate(examples):
        rng = np.random.default_rng(seed)
        for name, array in example.items():
            if array.ndim == 4 and array.dtype == np.float32:
                example[name] = image(array.shape, rng)
    return examples


def settle_batch_norms(path, folder, name, examples):
    """Each batch norm gets the mean and variance of what passes it: with those of the random weights
    outputs would not depend on inputs. All in one run of many images, as in training."""
    model = onnx.load(path)
    norms = [node for node in model.graph.node if node.op_type == "BatchNormalization"]
    if not norms:
        return
    many = str(folder / "many.onnx")
    model_files.write_onnx(name, many, len(examples), AS_THEY_ARE)
    training = onnx.load(many)
    wanted = []
    for node in training.graph.node:
        if node.op_type != "BatchNormalization":
            continue
        del node.attribute[:]
        node.attribute.extend([onnx.helper.make_attribute("training_mode", 1),
                               onnx.helper.make_attribute("momentum", 0.0)])
        for what in (3, 4):  # Mean and variance.
            node.output.append(f"{node.output[0]}_{what}")
            wanted.append((node.input[what], node.output[-1]))
    training.graph.output.extend(
        onnx.helper.make_tensor_value_info(output, onnx.TensorProto.FLOAT, None)
        for _, output in wanted)
    session = onnxruntime.InferenceSession(training.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    inputs = {name: np.concatenate([each[name] for each in examples]) for name in examples[0]}
    seen = dict(zip((constant for constant, _ in wanted),
                    session.run([output for _, output in wanted], inputs)))
    for tensor in model.graph.initializer:
        if tensor.name in seen:
            tensor.CopyFrom(onnx.numpy_helper.from_array(seen[tensor.name], tensor.name))
    onnx.save(model, path)


def outputs_of(engine, path, inputs):
    run, _ = peer_engines.ENGINES[engine]({"model": str(path), "cpus": machine.pick_cpus(2)})()
    return np.stack([np.array(run(list(each.values()))[0]) for each in inputs])


def our_outputs(library, path, inputs):
    model = Model(library, path, machine.pick_cpus(2))
    got = np.stack([np.array(model.run(list(each.values()))[0]) for each in inputs])
    model.close()
    return got


def random_model(name, folder):
    """(path, examples, inputs that are held out, None: nobody knows what is right)."""
    path = folder / "model.onnx"
    model_files.write_onnx(name, path, 1, AS_THEY_ARE)
    everything = make_inputs(path, EXAMPLES + HELD_OUT)
    examples, inputs = everything[:EXAMPLES], everything[EXAMPLES:]
    settle_batch_norms(path, folder, name, examples)
    return path, examples, inputs, None


def trained_model(name, folder):
    """(path, examples, inputs that are held out, what they show). Trained once a checkout."""
    source = pathlib.Path(train_on_digits.__file__)
    path = CACHE / f"{name}-{hashlib.sha256(source.read_bytes()).hexdigest()[:12]}.onnx"
    if not path.exists():
        if not torch_libraries.folder_of_torch():
            raise RuntimeError(f"{name} is trained by torch, which is not installed")
        CACHE.mkdir(parents=True, exist_ok=True)
        print(f"accuracy: training {name}, some minutes", file=sys.stderr)
        unfinished = folder / "trained.onnx"
        (folder / "torch").mkdir()
        environment = {**os.environ, **torch_libraries.environment(folder / "torch")}
        subprocess.run([sys.executable, source, name.removesuffix(TRAINED), unfinished], check=True,
                       env=environment)
        path.write_bytes(unfinished.read_bytes())
    (shown, _), (images, labels) = train_on_digits.digits.load()
    examples, inputs = ([{"image": picture[None]} for picture in train_on_digits.pictures(each)]
                        for each in (shown[:TRAINED_EXAMPLES], images))
    return path, examples, inputs, labels


def measure(name, precisions, folder):
    """Errors by precision and engine: rms(got - want) over the spread of want between inputs."""
    path, examples, inputs, labels = (
        trained_model if name.endswith(TRAINED) else random_model)(name, folder)
    data = folder / "data"
    data.mkdir()
    for key in examples[0]:
        np.save(data / f"{key.replace('/', '_')}.npy", np.stack([each[key] for each in examples]))
    want = outputs_of("ort", path, inputs)
    spread = float(np.sqrt(np.mean((want - want.mean(axis=0)) ** 2)))
    share = spread / float(np.sqrt(np.mean(want ** 2)))
    if not share >= SPREAD_MIN:
        raise RuntimeError(f"{name}: outputs differ between inputs by {share:.2g} of their rms, "
                           f"want at least {SPREAD_MIN}")
    library = load_library(str(machine.output(RUNTIME)))

    def error(got):
        return float(np.sqrt(np.mean((got - want) ** 2)) / spread)

    row = {"model": name, "spread": share, "inputs": len(inputs), "precisions": {}}
    if labels is not None:
        row["right"] = float(np.mean(want.argmax(axis=-1).ravel() == labels))
    for precision in precisions:
        bundle = folder / f"{precision}.bundle"
        built = json.loads(model_files.tuner(
            "compile", "--model", path, "--precision", precision, "--data", data, "--accuracy",
            "1", "--threads", "2", "--json", "--out", bundle))
        types = [layer["type"] for layer in built["layers"]]
        got = our_outputs(library, bundle, inputs)
        errors = {"burnish": error(got)}
        if precision == "int8":
            written = folder / "int8.onnx"
            model_files.tuner("quantize", "--model", path, "--data", data, "--out", written)
            os.environ["OPENVINO_PRECISION"] = "f32"
            errors |= {engine: error(outputs_of(engine, written, inputs))
                       for engine in ("ort", "openvino")}
        elif precision in ("bf16", "f16"):
            os.environ["OPENVINO_PRECISION"] = precision
            errors["openvino"] = error(outputs_of("openvino", path, inputs))
        row["precisions"][precision] = {
            "layers": {kind: types.count(kind) for kind in sorted(set(types))}, "errors": errors,
            "agreement": float(np.mean(got.argmax(axis=-1) == want.argmax(axis=-1))),
            "measured_error": built["measured_error"]}
    return row


def print_table(rows):
    print("\nroot mean square of got - want, in that of what outputs differ by between inputs; "
          "inputs held out. Agreement: of them, what burnish ranks first as float32 does\n")
    print("| model | inputs | spread | precision | layers | burnish | OpenVINO | ONNX Runtime | agreement |")
    print("|" + "---|" * 9)
    for row in rows:
        for precision, each in row["precisions"].items():
            errors = [f"{each['errors'][engine]:.2e}" if engine in each["errors"] else ""
                      for engine in ("burnish", "openvino", "ort")]
            layers = ", ".join(f"{count} {kind}" for kind, count in each["layers"].items())
            print(f"| {row['model']} | {row['inputs']} | {row['spread']:.2f} | {precision} | {layers} | "
                  f"{' | '.join(errors)} | {100 * each['agreement']:.1f} % |")


def main():
    options = parse_arguments()
    rows = []
    try:
        machine.build(RUNTIME, model_files.TUNER)
        for name in options.models.split(","):
            with tempfile.TemporaryDirectory(prefix="burnish-accuracy-") as folder:
                rows.append(measure(name, options.precisions.split(","), pathlib.Path(folder)))
                print(json.dumps(rows[-1]), file=sys.stderr)
    except (RuntimeError, ValueError) as error:
        sys.exit(f"accuracy: {error}")
    if options.json:
        print(json.dumps({"schema": 1, "benchmark": "accuracy", "machine": machine.describe(),
                          "models": rows}))
    else:
        print(machine.headline(machine.describe()))
        print_table(rows)


if __name__ == "__main__":
    main()

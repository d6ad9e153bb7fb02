"""Whole models: ours against OpenVINO, ONNX Runtime and TorchInductor, in turn, in one run.

./dev bench models [--model resnet50] [--threads 2] [--rounds N] [--seconds S] [--bundle FILE]
./dev bench models --all [--out FILE]     # a table of all models
How it measures and how to read it: tests/bench/README.md.
"""

import argparse
import json
import pathlib
import shutil
import signal
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent / "harness"))
import footprint
import machine
import model_files
import model_table
import quantized
import summary
import torch_libraries
import weight_distributions
from engine import Engine, take_turns

OURS, ORACLE, INDUCTOR = "burnish", "ort", "inductor"
PEERS = ("openvino", ORACLE, INDUCTOR)
# max|got - want| / max|want|. In f32 as docs/contracts.md has it for models; in 16 bits the seeded
# weights say little about accuracy (docs/low-precision.md), and what is far beyond them is a mistake.
# In 8 bits all run the same numbers, which networks of such weights amplify.
TENSOR_ERROR_MAX = {"f32": 1e-4, "bf16": 0.2, "f16": 0.05, "int8": 0.4}


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(prog="./dev bench models", description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="resnet50", metavar="NAME|FILE.onnx",
                        help="a model of the zoo, a light one (light_NAME), or an ONNX file of "
                        "fixed shapes (%(default)s)")
    parser.add_argument("--all", nargs="?", const=",".join(model_files.ZOO + model_files.LIGHT),
                        metavar="NAME,NAME", help="one table of these models; without a list of "
                        "all of the zoo and all light ones")
    parser.add_argument("--out", metavar="FILE", help="of --all: keeps each model's result, a line "
                        "of JSON, and skips models that it has already")
    parser.add_argument("--threads", type=int, default=2, help="%(default)s")
    parser.add_argument("--batch", type=int, default=1, help="of the zoo's models (%(default)s)")
    parser.add_argument("--weights", choices=weight_distributions.DISTRIBUTIONS,
                        default=weight_distributions.AS_THEY_ARE, help="(%(default)s)")
    parser.add_argument("--rounds", type=int, default=20, help="turns of each engine (%(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0, help="of a turn (%(default)s)")
    parser.add_argument("--starts", type=int, default=5, help="fresh processes of each engine that "
                        "memory and loading are measured in (%(default)s)")
    parser.add_argument("--peers", default=",".join(PEERS), help="%(default)s")
    parser.add_argument("--bundle", help="ours; else `tuner compile` makes one")
    parser.add_argument("--db", help="the records that `tuner compile` takes schedules from")
    parser.add_argument("--accuracy", help="of `tuner compile`: a bound, or strict (1e-4)")
    parser.add_argument("--precision", choices=TENSOR_ERROR_MAX, default="f32",
                        help="of `tuner compile` and of OpenVINO; the others stay f32. int8: all "
                        "have one quantized file (%(default)s)")
    parser.add_argument("--quantizer", choices=quantized.QUANTIZERS, default=quantized.ORT,
                        help="who writes the file of int8: ONNX Runtime's static tool, or `tuner "
                        "quantize` (%(default)s)")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args(arguments)
    options.peers = [name for name in options.peers.split(",") if name]
    for name in options.peers:
        if name not in PEERS:
            parser.error(f"got the peer {name!r}, want one of {', '.join(PEERS)}")
    if (min(options.threads, options.batch, options.rounds, options.seconds) <= 0 or
            options.starts < 0 or not options.peers):
        parser.error("want at least one thread, one round, a second and a peer")
    if options.bundle and (options.db or options.accuracy or options.all):
        parser.error("--db, --accuracy and --all have no meaning with --bundle: none is built")
    if options.out and not options.all:
        parser.error("--out belongs to --all")
    if INDUCTOR in options.peers and not torch_libraries.folder_of_torch():
        parser.error("torch is not installed (./dev said why): --peers openvino,ort goes on "
                     "without TorchInductor")
    return options


def tensor_error(got, want):
    """Over all outputs; infinite where shapes differ or a value is not finite."""
    if len(got) != len(want):
        return float("inf")
    error = 0.0
    for one, other in zip(got, want):
        if one.shape != other.shape or not np.isfinite(one).all():
            return float("inf")
        scale = np.abs(other.astype(np.float64)).max()
        error = max(error, float(np.abs(one.astype(np.float64) - other).max() / scale))
    return error


def start_engines(options, files, folder, cpus):
    """Ours, the peers and the oracle, each having run once."""
    engines = []
    try:
        for name in dict.fromkeys([OURS, *options.peers, ORACLE]):
            environment = {}
            if name == "openvino":
                # What a file leaves real stays f32 in int8.
                environment = {"OPENVINO_PRECISION":
                               "f32" if options.precision == "int8" else options.precision}
            if name == INDUCTOR:
                (folder / "torch").mkdir()
                environment = torch_libraries.environment(folder / "torch")
            engines.append(Engine(name, files[name], folder, cpus, environment))
    except RuntimeError:
        for engine in engines:
            engine.close()
        raise
    return engines


def check_outputs(engines, precision):
    """Errors by engine. RuntimeError if one is too large."""
    want = next(engine.outputs() for engine in engines if engine.name == ORACLE)
    errors = {engine.name: tensor_error(engine.outputs(), want) for engine in engines}
    bound = TENSOR_ERROR_MAX[precision]
    wrong = {name: error for name, error in errors.items() if not error <= bound}
    if wrong:
        raise RuntimeError(f"outputs differ from ONNX Runtime's by more than {bound}: "
                           f"{wrong}")
    return errors


def report(options, cpus, engines, errors, load):
    result = {"schema": 2, "benchmark": "models", "model": options.model,
              "machine": machine.describe(), "threads": options.threads, "cpus": cpus,
              "batch": options.batch, "weights": options.weights,
              "accuracy": options.accuracy, "precision": options.precision,
              "quantizer": options.quantizer if options.precision == "int8" else None,
              "seconds_per_turn": options.seconds, "load": load, "engines": {}}
    for engine in engines:
        times = summary.summarize(engine.rounds)
        result["engines"][engine.name] = {**engine.about, **times,
                                          "cpu_ms": engine.cpu_seconds * 1e3 / times["n"],
                                          "tensor_error": errors[engine.name],
                                          "involuntary_switches": engine.switches}
    by_name = {engine.name: engine for engine in engines}
    peers = [by_name[name] for name in options.peers]
    for key in ("median", "min"):
        times = {engine.name: result["engines"][engine.name][f"{key}_ms"] for engine in engines}
        best = min(options.peers, key=times.get)
        result[f"{key}_ratio"] = {"to": best, "ratio": times[OURS] / times[best]}
    result["median_ratio"]["interval_95"] = summary.ratio_interval(
        by_name[OURS].rounds, [peer.rounds for peer in peers])
    return result


def measure(options):
    """The result of one model, as --json prints it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="burnish-models-"))
    engines = []
    try:
        cpus = machine.pick_cpus(options.threads)
        model_files.build()
        model = model_files.write_onnx(options.model, folder / "model.onnx", options.batch,
                                       options.weights)
        precision = options.precision
        if precision == "int8":  # The file says what is computed in 8 bits; the rest stays f32.
            examples = [model_files.make_inputs(model, 1 + i) for i in range(quantized.EXAMPLES)]
            model = quantized.write(model, folder / "int8.onnx", options.quantizer, examples,
                                    model_files.tuner)
            precision = "f32"
        files = {name: model for name in PEERS}
        files[OURS] = options.bundle or folder / "model.bundle"
        if not options.bundle:
            accuracy = options.accuracy or str(TENSOR_ERROR_MAX[precision])
            model_files.write_bundle(model, files[OURS], options.threads, accuracy, options.db,
                                     precision)
        np.savez(folder / "inputs.npz", **model_files.make_inputs(model))
        engines = start_engines(options, files, folder, cpus)
        errors = check_outputs(engines, options.precision)
        timed = [engine for engine in engines if engine.name in (OURS, *options.peers)]
        load = take_turns(timed, options.rounds, options.seconds)
        result = report(options, cpus, timed, errors, load)
        while engines:  # Mappings that two processes share count half in each.
            engines.pop().close()
        if options.starts > 0:
            starters = {name: files[name] for name in (OURS, *options.peers)
                        if name in footprint.ENGINES}
            result["footprint"] = footprint.measure(starters, folder, cpus, options.starts)
        return result
    finally:
        for engine in engines:
            engine.close()
        shutil.rmtree(folder)


def print_result(result):
    engines = result["engines"]
    print(machine.headline(result["machine"]))
    origins = ", ".join(f"{count} {name}" for name, count in engines[OURS]["step_origins"].items())
    print(f"{result['model']}, batch {result['batch']}, {result['weights']} weights, "
          f"{result['threads']} threads on CPUs {result['cpus']}, {result['precision']}"
          f"{' by ' + result['quantizer'] if result['quantizer'] else ''}; "
          f"schedules of the steps: {origins}")
    print(f"{'':10} {'version':24} {'n':>6} {'min ms':>8} {'median':>8} {'p90':>8}  "
          f"{'medians of rounds':>19}  {'CPU ms':>7}  {'error':>7}  {'switches':>8}")
    for name, engine in engines.items():
        version = engine.get("version", "this commit").split("-")[0]
        medians = engine["round_medians_ms"]
        print(f"{name:10} {version:24} {engine['n']:6} {engine['min_ms']:8.2f} "
              f"{engine['median_ms']:8.2f} {engine['p90_ms']:8.2f}  "
              f"{min(medians):8.2f} - {max(medians):8.2f}  {engine['cpu_ms']:7.2f}  "
              f"{engine['tensor_error']:7.1e}  {engine['involuntary_switches']:8}")
    for name, start in result.get("footprint", {}).items():
        low, high = start["first_output_range_ms"]
        print(f"{name:10} memory {start['memory_mib']:7.1f} MiB (peak of the start "
              f"{start['peak_mib']:7.1f}); to the first output {start['first_output_ms']:7.1f} ms "
              f"({low:.1f} to {high:.1f}, {start['n']} processes; CPU {start['cpu_ms']:.1f}), of that "
              f"loading {start['load_ms']:.1f}; library {start['import_ms']:.1f} ms")
    median, least = result["median_ratio"], result["min_ratio"]
    low, high = median["interval_95"]
    print(f"median {median['ratio']:.3f} of {median['to']}'s (95 % interval {low:.3f} to "
          f"{high:.3f}, {engines[OURS]['rounds']} rounds); min {least['ratio']:.3f} of "
          f"{least['to']}'s")
    load = result["load"]
    print(f"CPU time of other processes {load['others_percent']:.1f} %, stolen "
          f"{load['stolen_percent']:.1f} %"
          f"{': compare minima only' if sum(load.values()) > 5 else ''}")


def main():
    options = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # So that the folder is removed.
    if options.all:
        return model_table.run(__file__, options)
    try:
        result = measure(options)
    except (ValueError, RuntimeError) as error:
        sys.exit(f"models: {error}")
    if options.json:
        print(json.dumps(result))
    else:
        print_result(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Whole models: ours against OpenVINO and ONNX Runtime, in turn, in one run.

./dev bench models [--model resnet50] [--threads 2] [--rounds N] [--seconds S] [--bundle FILE]
How it measures and how to read it: tests/bench/README.md.
"""

import argparse
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import numpy as np
import onnx

sys.path.insert(0, str(pathlib.Path(__file__).parent / "harness"))
import machine
import summary
from engine import RUNTIME, Engine

OURS, ORACLE = "burnish", "ort"
PEERS = ("openvino", ORACLE)
TENSOR_ERROR_MAX = 1e-4  # max|got - want| / max|want|, as docs/contracts.md has it for models.
GRAPH_TOOL = "//compiler/frontend:graph_main"
TUNER = "//tuner:tuner"


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench models", description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="resnet50", metavar="NAME|FILE.onnx",
                        help="a model of the zoo, or an ONNX file of fixed shapes (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="%(default)s")
    parser.add_argument("--rounds", type=int, default=20, help="turns of each engine (%(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0, help="of a turn (%(default)s)")
    parser.add_argument("--peers", default=",".join(PEERS), help="%(default)s")
    parser.add_argument("--bundle", help="ours; else `tuner compile` makes one")
    parser.add_argument("--db", help="the records that `tuner compile` takes schedules from")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args()
    options.peers = [name for name in options.peers.split(",") if name]
    for name in options.peers:
        if name not in PEERS:
            parser.error(f"got the peer {name!r}, want one of {', '.join(PEERS)}")
    if min(options.threads, options.rounds, options.seconds) <= 0 or not options.peers:
        parser.error("want at least one thread, one round, a second and a peer")
    if options.bundle and options.db:
        parser.error("--db has no meaning with --bundle: no bundle is built")
    return options


def prepare(options, folder):
    """(ONNX file, bundle) of the model, in `folder` where they are not given."""
    is_file = options.model.endswith(".onnx")
    machine.build(RUNTIME, *([] if is_file else [GRAPH_TOOL]), *([] if options.bundle else [TUNER]))
    model_path, bundle_path = options.model, options.bundle
    if not is_file:
        model_path = str(folder / "model.onnx")
        subprocess.run([machine.output(GRAPH_TOOL), options.model,
                        "--stage=imported", f"--emit={model_path}"], check=True, stdout=sys.stderr)
    if not bundle_path:
        bundle_path = str(folder / "model.bundle")
        target = ["--model", model_path] if is_file else ["--task", options.model]
        records = ["--db", options.db or str(folder / "empty.db")]
        subprocess.run([machine.output(TUNER), "compile", *target, *records,
                        "--out", bundle_path], check=True, stdout=sys.stderr)
    return model_path, bundle_path


def index_bound(graph, name):
    """The extent that an integer input indexes: rows of the table that a Gather takes from."""
    tables = {tensor.name: tensor.dims for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Gather" and node.input[1] == name and node.input[0] in tables:
            axis = next((each.i for each in node.attribute if each.name == "axis"), 0)
            return tables[node.input[0]][axis]
    return 2  # A mask.


def make_inputs(model_path, seed=0):
    """Normal floats, and integers uniform over what they index: zeros run at another speed."""
    rng = np.random.default_rng(seed)
    graph = onnx.load(model_path, load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    inputs = {}
    for value in graph.input:
        if value.name in constants:
            continue
        shape = [each.dim_value for each in value.type.tensor_type.shape.dim]
        if 0 in shape:
            sys.exit(f"models: input {value.name!r} has no fixed shape")
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        if np.issubdtype(dtype, np.floating):
            inputs[value.name] = rng.standard_normal(shape).astype(dtype)
        else:
            inputs[value.name] = rng.integers(0, index_bound(graph, value.name), shape, dtype)
    return inputs


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


def measure(engines, rounds, seconds):
    """Turns A B C A B C ...; returns which share of the CPUs' time others took, and the share that
    the hypervisor stole, in percent."""
    used, stolen = machine.cpu_seconds()
    ours = sum(engine.turn(seconds) for _ in range(rounds) for engine in engines)
    used, stolen = (after - before for after, before in zip(machine.cpu_seconds(), (used, stolen)))
    return {"others_percent": 100 * max(0.0, used - ours) / (used + stolen),
            "stolen_percent": 100 * stolen / (used + stolen)}


def report(options, model_path, cpus, engines, errors, load):
    result = {"schema": 1, "benchmark": "models", "model": options.model,
              "machine": machine.describe(), "threads": options.threads, "cpus": cpus,
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


def print_table(result):
    engines = result["engines"]
    print(machine.headline(result["machine"]))
    origins = ", ".join(f"{count} {name}" for name, count in engines[OURS]["step_origins"].items())
    print(f"{result['model']}, {result['threads']} threads on CPUs {result['cpus']}, f32; "
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
    folder = pathlib.Path(tempfile.mkdtemp(prefix="burnish-models-"))
    engines = []
    try:
        cpus = machine.pick_cpus(options.threads)
        model_path, bundle_path = prepare(options, folder)
        np.savez(folder / "inputs.npz", **make_inputs(model_path))
        for name in dict.fromkeys([OURS, *options.peers, ORACLE]):
            model = bundle_path if name == OURS else model_path
            engines.append(Engine(name, model, folder, cpus))
        want = engines[-1].outputs() if ORACLE not in options.peers else next(
            engine.outputs() for engine in engines if engine.name == ORACLE)
        errors = {engine.name: tensor_error(engine.outputs(), want) for engine in engines}
        wrong = {name: error for name, error in errors.items() if not error <= TENSOR_ERROR_MAX}
        if wrong:
            sys.exit(f"models: outputs differ from ONNX Runtime's by more than {TENSOR_ERROR_MAX}: "
                     + ", ".join(f"{name} by {error:.2e}" for name, error in wrong.items()))
        timed = [engine for engine in engines if engine.name in (OURS, *options.peers)]
        load = measure(timed, options.rounds, options.seconds)
        result = report(options, model_path, cpus, timed, errors, load)
    except ValueError as error:
        sys.exit(f"models: {error}")
    finally:
        for engine in engines:
            engine.close()
        shutil.rmtree(folder)
    if options.json:
        print(json.dumps(result))
    else:
        print_table(result)


if __name__ == "__main__":
    main()

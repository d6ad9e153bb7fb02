"""Models as people have them: shipped by packages, or freshly exported; against ONNX Runtime.

./dev bench real [--only NAME,NAME] [--no-timing] [--out FILE]
Which models, by which rule, and what counts: tests/bench/README.md.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "harness"))
import limited
import machine
import numpy as np
import onnx
import real_judge
import real_models
import summary
from engine import RUNTIME, Engine

TUNER = "//tuner:tuner"
COMPILE_SECONDS_MAX = 600
COMPILE_BYTES_MAX = 8 << 30
RUN_SECONDS_MAX = 120
RUN_BYTES_MAX = 12 << 30
REFUSED_EXIT_CODE = 65  # EX_DATAERR: the model is at fault, as tuner compile sees it.
PLAIN, OPTIMISED, OURS = "ort_plain", "ort", "burnish"


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(prog="./dev bench real", description=__doc__.split("\n")[0])
    parser.add_argument("--only", metavar="NAME,NAME", help="these models, measured again")
    parser.add_argument("--no-timing", action="store_true", help="only whether they are right; a "
                        "busy machine is as good")
    parser.add_argument("--out", metavar="FILE", default=str(real_models.CACHE / "results.jsonl"),
                        help="keeps each model's result, a line of JSON; what has one of this commit "
                        "is not measured again (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="%(default)s")
    parser.add_argument("--rounds", type=int, default=11, help="turns of each (%(default)s)")
    parser.add_argument("--seconds", type=float, default=0.3, help="of a turn (%(default)s)")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args(arguments)
    if min(options.threads, options.rounds, options.seconds) <= 0:
        parser.error("want at least one thread, one round and some time")
    names = [entry["name"] for entry in real_models.entries()]
    options.only = options.only.split(",") if options.only else []
    for name in options.only:
        if name not in names:
            parser.error(f"got the model {name!r}, want one of {', '.join(names)}")
    return options


def run_once(engine, model, folder, cpus):
    """The outputs of one inference in a process of its own, or the RuntimeError of it."""
    outputs = folder / f"{engine}.npz"
    job = {"engine": engine, "model": str(model), "library": str(machine.output(RUNTIME)),
           "inputs": str(folder / "inputs.npz"), "outputs": str(outputs), "cpus": cpus,
           "touch_bytes": 0}
    peer = pathlib.Path(__file__).parent / "harness" / "peer.py"
    done = limited.run([sys.executable, peer, json.dumps(job)], RUN_SECONDS_MAX, RUN_BYTES_MAX)
    if done.limit or done.code != 0:
        said = [line for line in done.out.splitlines() if line.startswith('{"error"')]
        raise RuntimeError(done.limit or (json.loads(said[0])["error"] if said
                                          else f"ended with code {done.code}"))
    with np.load(outputs) as file:
        return [file[name] for name in file.files]


def compile_bundle(path, bundle, threads, database="memory:", more=()):
    """What to add to the row: times, and a "state" where there is no bundle. `more`: arguments."""
    command = [machine.output(TUNER), "compile", "--model", path, "--threads", threads, "--json",
               "--cache", "none", "--db", database, "--out", bundle, *more]
    done = limited.run(command, COMPILE_SECONDS_MAX, COMPILE_BYTES_MAX)
    row = {"compile_seconds": done.seconds, "compile_peak_mib": done.peak_bytes / (1 << 20)}
    if done.limit:
        row |= {"state": {"time": real_judge.SLOW, "memory": real_judge.LARGE}[done.limit],
                "detail": f"more than {COMPILE_SECONDS_MAX} s or {COMPILE_BYTES_MAX >> 30} GiB"}
    elif done.code != 0:
        try:
            detail = json.loads(done.err.strip().splitlines()[-1])["error"]["message"]
        except (ValueError, KeyError, IndexError):
            detail = done.err.strip()[-300:] or f"ended with code {done.code}"
        row |= {"state": real_judge.REFUSED if done.code == REFUSED_EXIT_CODE
                else real_judge.CRASHED, "detail": detail.replace(str(path), path.name)}
    return row


def compile_model(path, inputs, bundle, threads):
    more = []
    for shape in inputs.shapes:
        more += ["--shape", shape]
    for name, value in inputs.values.items():
        more += ["--value", f"{name}={value}"]
    return compile_bundle(path, bundle, threads, more=more)


def take_turns(options, folders, files, cpus):
    """Medians and the paired ratio of ours to ONNX Runtime, in turn."""
    engines = []
    try:
        for name in (OURS, OPTIMISED):
            engines.append(Engine(name, files[name], folders[name], cpus))
        for _ in range(options.rounds):
            for engine in engines:
                engine.turn(options.seconds)
        ours, ort = engines
        pairs = [(float(np.median(a)), float(np.median(b))) for a, b in zip(ours.rounds, ort.rounds)]
        medians = {engine.name: summary.summarize(engine.rounds)["median_ms"] for engine in engines}
        cpu = [engine.cpu_seconds / sum(map(len, engine.rounds)) for engine in engines]
        return {"ratio": statistics.median(a / b for a, b in pairs), "cpu_ratio": cpu[0] / cpu[1],
                "interval": summary.ratio_interval(ours.rounds, [ort.rounds]),
                "ours_ms": medians[OURS], "ort_ms": medians[OPTIMISED]}
    finally:
        for engine in engines:
            engine.close()


def measure(entry, options, folder, cpus):
    """The row of one model."""
    row = {"name": entry["name"], "kind": entry["kind"], "source": entry["from"], "apart": False}
    try:
        path = real_models.onnx_file(entry)
    except real_models.Unavailable as error:
        return row | {"state": real_judge.NOT_EXPORTED, "detail": str(error)}
    model = onnx.load(path, load_external_data=False)
    row["apart"] = real_models.is_low_precision(model)
    inputs = real_models.Inputs(entry, model.graph)
    del model
    folders = {OURS: folder / "ours", OPTIMISED: folder / "theirs"}
    for name, part in folders.items():
        part.mkdir()
        inputs.save(part / "inputs.npz", with_fixed=name != OURS)
    try:
        plain, optimised = (run_once(engine, path, folders[OPTIMISED], cpus)
                            for engine in (PLAIN, OPTIMISED))
    except RuntimeError as error:
        return row | {"state": real_judge.NO_REFERENCE, "detail": str(error)}
    files = {OURS: folder / "model.bundle", OPTIMISED: path}
    row |= compile_model(path, inputs, files[OURS], options.threads)
    if "state" in row:
        return row
    try:
        got = run_once(OURS, files[OURS], folders[OURS], cpus)
    except RuntimeError as error:
        return row | {"state": real_judge.CRASHED, "detail": str(error)}
    row |= real_judge.judge(got, plain, optimised)
    if row["state"] == real_judge.RIGHT and not options.no_timing:
        row |= take_turns(options, folders, files, cpus)
    return row


def read(options):
    """Rows of an earlier run of this commit, by name."""
    path = pathlib.Path(options.out)
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text().splitlines() if line]
    commit = machine.describe()["commit"]
    return {row["name"]: row for row in rows
            if row["commit"] == commit and row["threads"] == options.threads
            and (options.no_timing or row["timed"])}


def main():
    options = parse_arguments()
    machine.build(TUNER, RUNTIME, "//worker/builder")
    cpus = machine.pick_cpus(options.threads)
    described = machine.describe()
    rows = {} if options.only else read(options)
    pathlib.Path(options.out).parent.mkdir(parents=True, exist_ok=True)
    chosen = [entry for entry in real_models.entries()
              if not options.only or entry["name"] in options.only]
    for entry in chosen:
        if entry["name"] in rows:
            continue
        folder = pathlib.Path(tempfile.mkdtemp(prefix="burnish-real-"))
        try:
            row = measure(entry, options, folder, cpus)
        finally:
            shutil.rmtree(folder)
        row |= {"commit": described["commit"], "threads": options.threads,
                "timed": not options.no_timing}
        rows[entry["name"]] = row
        print(real_judge.row_text(row), file=sys.stderr, flush=True)
        with open(options.out, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    listed = [rows[entry["name"]] for entry in chosen]
    result = real_judge.summarize(listed)
    if options.json:
        print(json.dumps({"schema": 1, "benchmark": "real", "machine": described, **result,
                          "rows": listed}))
    else:
        print(f"{machine.headline(described)}\n\n{real_judge.table(listed)}\n\n"
              f"{real_judge.summary_text(result)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Models as people have them: shipped by packages, or freshly exported; against ONNX Runtime.

./dev bench real [--only NAME,NAME] [--no-timing | --only-timing]
Which models, by which rule, what counts, and what is kept: tests/bench/README.md.
"""

import argparse
import json
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "harness"))
import limited
import machine
import numpy as np
import onnx
import real_judge
import real_models
import real_store
import summary
from engine import RUNTIME, Engine, take_turns

TUNER = "//tuner:tuner"
COMPILE_SECONDS_MAX = 600
COMPILE_BYTES_MAX = 8 << 30
RUN_SECONDS_MAX = 120
RUN_BYTES_MAX = 12 << 30
REFUSED_EXIT_CODE = 65  # EX_DATAERR: the model is at fault, as tuner compile sees it.
PLAIN, OPTIMISED, OURS = "ort_plain", "ort", "burnish"
BUNDLE = "model.bundle"


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(prog="./dev bench real", description=__doc__.split("\n")[0])
    parser.add_argument("--only", metavar="NAME,NAME", help="these models alone")
    parser.add_argument("--no-timing", action="store_true", help="only compiles and judges; a busy "
                        "machine is as good")
    parser.add_argument("--only-timing", action="store_true", help="times what was judged before, and "
                        "builds nothing; started again, goes on with what was not timed quietly")
    parser.add_argument("--again", action="store_true", help="also what has a result")
    parser.add_argument("--threads", type=int, default=2, help="%(default)s")
    parser.add_argument("--rounds", type=int, default=11, help="turns of each (%(default)s)")
    parser.add_argument("--seconds", type=float, default=0.2, help="of a turn (%(default)s)")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args(arguments)
    if min(options.threads, options.rounds, options.seconds) <= 0:
        parser.error("want at least one thread, one round and some time")
    if options.no_timing and options.only_timing:
        parser.error("--no-timing and --only-timing leave nothing to do")
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


def load_outputs(path):
    with np.load(path) as file:
        return [file[name] for name in file.files]


def compile_and_run(path, inputs, threads, folder, cpus):
    """What to add to the row: of the compiler, and a "state" where there are no outputs. `folder` gets
    the bundle, and both engines' inputs and outputs."""
    parts = {OURS: folder / "ours", OPTIMISED: folder / "theirs"}
    for name, part in parts.items():
        part.mkdir(parents=True)
        inputs.save(part / "inputs.npz", with_fixed=name != OURS)
    try:
        for engine in (PLAIN, OPTIMISED):
            run_once(engine, path, parts[OPTIMISED], cpus)
    except RuntimeError as error:
        return {"state": real_judge.NO_REFERENCE, "detail": str(error)}
    row = compile_model(path, inputs, folder / BUNDLE, threads)
    if "state" not in row:
        try:
            run_once(OURS, folder / BUNDLE, parts[OURS], cpus)
        except RuntimeError as error:
            row |= {"state": real_judge.CRASHED, "detail": str(error)}
    return row


def measure(entry, threads, folder, cpus, again=False):
    """The row of one model. What is in `folder` is kept if it was made from the same programs, model
    and inputs; else it is made anew."""
    row = {"name": entry["name"], "kind": entry["kind"], "source": entry["from"], "apart": False,
           "commit": machine.describe()["commit"]}
    try:
        path = real_models.onnx_file(entry)
    except real_models.Unavailable as error:
        real_store.write(folder / real_store.ROW,
                         row | {"state": real_judge.NOT_EXPORTED, "detail": str(error)})
        return judged(folder)
    model = onnx.load(path, load_external_data=False)
    inputs = real_models.Inputs(entry, model.graph)
    key = real_store.key(TUNER, (real_store.BUILDER, RUNTIME), path, inputs, threads)
    if again or real_store.read(folder / real_store.ROW).get("key") != key:
        row |= {"apart": real_models.is_low_precision(model), "key": key}
        del model
        shutil.rmtree(folder, ignore_errors=True)
        row |= compile_and_run(path, inputs, threads, folder, cpus)
        real_store.write(folder / real_store.ROW, row)
    return judged(folder)


def judged(folder):
    """The row that `measure` kept, judged by the outputs beside it, with its timing; {} if none is."""
    row = real_store.read(folder / real_store.ROW)
    if row and "state" not in row:
        row |= real_judge.judge(*(load_outputs(folder / part / f"{engine}.npz") for part, engine in
                                  (("ours", OURS), ("theirs", PLAIN), ("theirs", OPTIMISED))))
        row |= real_store.read(folder / real_store.TIMING)
    return row


def time_bundle(path, options, folder, cpus):
    """Ours, ours again and ONNX Runtime, in turn: what `folder` keeps of it."""
    engines = {}
    with tempfile.TemporaryDirectory(prefix="burnish-real-") as scratch:
        try:
            for name, kind, part, file in ((summary.OURS, OURS, "ours", folder / BUNDLE),
                                           (summary.AGAIN, OURS, "ours", folder / BUNDLE),
                                           (OPTIMISED, OPTIMISED, "theirs", path)):
                place = pathlib.Path(scratch) / name
                place.mkdir()
                (place / "inputs.npz").symlink_to(folder / part / "inputs.npz")
                engines[name] = Engine(kind, file, place, cpus)
            load = take_turns(list(engines.values()), options.rounds, options.seconds)
        finally:
            for engine in engines.values():
                engine.close()
    cpu = summary.paired({name: engine.cpu_rounds for name, engine in engines.items()})
    timing = {**summary.paired({name: engine.rounds for name, engine in engines.items()}), **load,
              "cpu_ratio": cpu["ratio"], "timed_on": machine.describe()}
    real_store.write(folder / real_store.TIMING, timing)
    return timing


def main():
    options = parse_arguments()
    if not options.only_timing:
        machine.build(TUNER, RUNTIME, real_store.BUILDER)
    cpus = machine.pick_cpus(options.threads)
    chosen = [entry for entry in real_models.entries()
              if not options.only or entry["name"] in options.only]
    rows = {}
    for entry in chosen:
        folder = real_store.folder(entry["name"], options.threads)
        if options.only_timing:
            row = judged(folder)
        else:
            row = measure(entry, options.threads, folder, cpus, options.again)
            print(real_judge.row_text(row), file=sys.stderr, flush=True)
        if row:
            rows[entry["name"]] = row
    for entry in chosen:
        row = rows.get(entry["name"], {})
        if options.no_timing or row.get("state") != real_judge.RIGHT or (
                real_judge.is_timed(row) and not options.again):
            continue
        try:
            row |= time_bundle(real_models.onnx_file(entry), options,
                               real_store.folder(entry["name"], options.threads), cpus)
        except RuntimeError as error:
            row |= {"state": real_judge.CRASHED, "detail": str(error)}
        print(real_judge.row_text(row), file=sys.stderr, flush=True)
    listed = list(rows.values())
    described = machine.describe()
    result = real_judge.summarize(listed)
    result["not_judged"] = [entry["name"] for entry in chosen if entry["name"] not in rows]
    if options.json:
        print(json.dumps({"schema": 2, "benchmark": "real", "machine": described,
                          "threads": options.threads, **result, "rows": listed}))
    else:
        print(f"{machine.headline(described)}\n{options.threads} threads\n\n"
              f"{real_judge.table(listed)}\n\n{real_judge.summary_text(result)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

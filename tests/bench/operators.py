"""Single operators against the better of ONNX Runtime and OpenVINO, with an A/A control.

./dev bench operators [--rows REGEX] [--threads N] [--trials N] [--cpu-time] [--out FILE]
Which rows, by which rule: operators.toml. How it measures and how to read it: tests/bench/README.md.
"""

import argparse
import json
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "harness"))
import limited
import machine
import numpy as np
import onnx
import operator_models
import operator_table
import real
import real_judge
import summary
from engine import RUNTIME, Engine, take_turns
from summary import AGAIN, OURS

CACHE = machine.ROOT / ".cache" / "operators"
BUILDER = "//worker/builder"
PEERS = ("ort", "openvino")
ENGINES = {OURS: "burnish_bound", AGAIN: "burnish_bound", "ort": "ort_bound",
           "openvino": "openvino_bound"}
TUNE_SECONDS_MAX = 3600


def machine_name(brand):
    """A file's name for the machine, so that rows of two machines never share a file."""
    return re.sub(r"[^a-z0-9]+", "_", brand.lower()).strip("_")


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(prog="./dev bench operators",
                                     description=__doc__.split("\n")[0])
    parser.add_argument("--rows", metavar="REGEX", default="", help="rows whose class/name it finds")
    parser.add_argument("--threads", type=int, default=2, help="%(default)s")
    parser.add_argument("--trials", type=int, default=0, help="tune each row so long first; 0: what "
                        "compile ships (%(default)s)")
    parser.add_argument("--cpu-time", action="store_true", help="ratios of CPU time, for a machine "
                        "that does other work; waiting threads spin, so --threads 1 says most")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each (%(default)s)")
    parser.add_argument("--seconds", type=float, default=0.08, help="of a turn (%(default)s)")
    parser.add_argument("--out", metavar="FILE",
                        default=str(CACHE / f"{machine_name(machine.cpu_brand())}.jsonl"),
                        help="keeps each row, a line of JSON; a row of this commit that was measured "
                        "in the same way is not measured again (%(default)s)")
    parser.add_argument("--before", metavar="FILE", help="rows of an earlier --out to show beside")
    parser.add_argument("--again", action="store_true", help="measures the chosen rows again")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args(arguments)
    if min(options.threads, options.rounds, options.seconds) <= 0 or options.trials < 0:
        parser.error("want at least one thread, one round and some time, and no negative trials")
    try:
        options.chosen = operator_models.chosen(operator_models.entries(), options.rows)
    except re.error as error:
        parser.error(f"--rows: {options.rows!r} is no regular expression: {error}")
    if not options.chosen:
        parser.error(f"--rows: no class/name has a match of {options.rows!r}; operators.toml lists them")
    return options


def how(options, commit):
    """What two rows must share to be comparable."""
    return {"commit": commit, "threads": options.threads, "trials": options.trials,
            "measure": "cpu" if options.cpu_time else "latency"}


def read(path, wanted):
    """Rows of an earlier run by name, those that have all of `wanted`; a later line counts."""
    if not pathlib.Path(path).exists():
        return {}
    rows = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines() if line]
    return {row["name"]: row for row in rows
            if all(row.get(key) == value for key, value in wanted.items())}


def tune(path, database, options):
    """Text of what went wrong, or nothing."""
    done = limited.run([machine.output(real.TUNER), "submit", "--model", path, "--trials",
                        options.trials, "--threads", options.threads, "--db", database],
                       TUNE_SECONDS_MAX, real.COMPILE_BYTES_MAX)
    if done.limit or done.code != 0:
        return f"tuner submit: {done.limit or done.err.strip()[-300:]}"
    return ""


def compare(options, folder, files, cpus):
    """{"ratio", ...} of `summary.paired`; a peer that does not run the model is left out, and named."""
    engines, left_out = {}, {}
    try:
        for name, kind in ENGINES.items():
            part = folder / name
            part.mkdir()
            (part / "inputs.npz").symlink_to(folder / "inputs.npz")
            try:
                engines[name] = Engine(kind, files["burnish" if "burnish" in kind else "ort"], part, cpus)
            except RuntimeError as error:
                if name not in PEERS:
                    raise
                left_out[name] = str(error)[:200]
        take_turns(list(engines.values()), options.rounds, options.seconds)
        rounds = {name: engine.cpu_rounds if options.cpu_time else engine.rounds
                  for name, engine in engines.items()}
        return summary.paired(rounds) | ({"left_out": left_out} if left_out else {})
    finally:
        for engine in engines.values():
            engine.close()


def measure(entry, options, folder, cpus):
    """The row of one entry: right or not, and its ratio."""
    row = {"name": entry["name"], "class": entry["class"]}
    files = {"ort": folder / "model.onnx", "burnish": folder / "model.bundle"}
    onnx.save(operator_models.model(entry), files["ort"])
    np.savez(folder / "inputs.npz", **operator_models.inputs(entry))
    plain, optimised = (real.run_once(engine, files["ort"], folder, cpus)
                        for engine in (real.PLAIN, real.OPTIMISED))
    database = folder / "tuned.db" if options.trials else "memory:"
    wrong = tune(files["ort"], database, options) if options.trials else ""
    if wrong:
        return row | {"state": real_judge.CRASHED, "detail": wrong}
    row |= real.compile_bundle(files["ort"], files["burnish"], options.threads, database)
    if "state" in row:
        return row
    try:
        got = real.run_once(ENGINES[OURS], files["burnish"], folder, cpus)
        row |= real_judge.judge(got, plain, optimised)
        return row | compare(options, folder, files, cpus)
    except RuntimeError as error:
        return row | {"state": real_judge.CRASHED, "detail": str(error)}


def main():
    options = parse_arguments()
    cpus = machine.pick_cpus(options.threads)
    machine.build(real.TUNER, RUNTIME, BUILDER)
    described = machine.describe()
    wanted = how(options, described["commit"])
    before = read(options.before, {key: wanted[key] for key in ("threads", "measure")}) \
        if options.before else {}
    rows = {} if options.again else read(options.out, wanted)
    pathlib.Path(options.out).parent.mkdir(parents=True, exist_ok=True)
    for entry in options.chosen:
        if entry["name"] in rows:
            continue
        with tempfile.TemporaryDirectory(prefix="burnish-operators-") as folder:
            row = measure(entry, options, pathlib.Path(folder), cpus) | wanted
        rows[entry["name"]] = row
        print(operator_table.row_text(row, before), file=sys.stderr, flush=True)
        with open(options.out, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    listed = [rows[entry["name"]] for entry in options.chosen]
    result = operator_table.summarize(listed, before)
    if options.json:
        print(json.dumps({"schema": 1, "benchmark": "operators", "machine": described, **wanted,
                          **result, "rows": listed}))
    else:
        print(f"{machine.headline(described)}\n{operator_table.conditions(wanted)}\n\n"
              f"{operator_table.table(listed, before)}\n\n{operator_table.summary_text(result)}")
    return 0 if not result["failures"] else 1


if __name__ == "__main__":
    sys.exit(main())

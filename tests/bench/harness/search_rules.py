"""The generator's sketches beside the templates, against the templates alone: studies of operators.

./dev bench search rules [--rows REGEX] [--trials 300] [--minutes M] [--out FILE] [--json]
How it measures and how to read it: tests/bench/search/README.md.
"""

import argparse
import json
import pathlib
import re
import statistics
import sys
import tempfile
import time

import limited
import machine
import numpy as np
import operator_models
import summary
from engine import RUNTIME, Engine, take_turns

TUNER, WORKERS = "//tuner:tuner", "//worker/..."
CASES = 40
# A space of templates with as many points is a large one: there the generator must do no harm, elsewhere it must help.
LARGE_POINTS = 200
LARGE_MEAN_MAX, WORST_MAX, SMALL_MEAN_MAX = 1 / 1.00, 1 / 0.97, 1 / 1.3
SCHEDULERS = {"templates": "templates", "both": "burnish"}
STUDY_SECONDS_MAX, STUDY_BYTES_MAX = 600, 8 << 30


def cases(rows, count=CASES):
    """The first row of each class in the order of the suite, then the second of each, up to `count`."""
    by_class = {}
    for row in rows:
        by_class.setdefault(row["class"], []).append(row)
    longest = max(map(len, by_class.values()))
    turns = [each[i] for i in range(longest) for each in by_class.values() if i < len(each)]
    return turns[:count]


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench search rules",
                                     description=__doc__.split("\n")[0])
    parser.add_argument("--rows", metavar="REGEX", default="", help="cases whose class/name it finds")
    parser.add_argument("--trials", type=int, default=300, help="of each study (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="%(default)s")
    parser.add_argument("--minutes", type=float, default=60,
                        help="no case is begun later; started again, it goes on (%(default)s)")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each (%(default)s)")
    parser.add_argument("--seconds", type=float, default=0.08, help="of a turn (%(default)s)")
    parser.add_argument("--out", metavar="FILE",
                        default=str(machine.ROOT / ".cache" / "search_rules.jsonl"),
                        help="keeps each case, a line of JSON (%(default)s)")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    return parser.parse_args(arguments)


def submit(options, model, scheduler, *more):
    command = [machine.output(TUNER), "submit", "--model", model, "--scheduler", scheduler, "--json",
               "--threads", options.threads, "--db", "memory:", "--cache", "none", *more]
    done = limited.run(command, STUDY_SECONDS_MAX, STUDY_BYTES_MAX)
    if done.limit or done.code != 0:
        raise RuntimeError(f"tuner submit: {done.limit or done.err.strip()[-300:]}")
    return [json.loads(line) for line in done.out.splitlines()]


def points_of(options, model, scheduler):
    """Valid points of the task that has most."""
    (listed,) = submit(options, model, scheduler, "--dry-run")
    return max(sum(sketch["points"] for sketch in task["space"]) for task in listed["tasks"])


def measure(row, options, folder, cpus):
    import onnx
    model = folder / "model.onnx"
    onnx.save(operator_models.model(row), model)
    np.savez(folder / "inputs.npz", **operator_models.inputs(row))
    result = {"points": points_of(options, model, SCHEDULERS["templates"])}
    engines = {}
    try:
        for name, scheduler in SCHEDULERS.items():
            submit(options, model, scheduler, "--trials", options.trials, "--out",
                   folder / f"{name}.bundle")
        for name, bundle in ((summary.OURS, "both"), (summary.AGAIN, "both"),
                             ("templates", "templates")):
            part = folder / name
            part.mkdir()
            (part / "inputs.npz").symlink_to(folder / "inputs.npz")
            engines[name] = Engine("burnish_bound", folder / f"{bundle}.bundle", part, cpus)
        take_turns(list(engines.values()), options.rounds, options.seconds)
        found = summary.paired({name: engine.rounds for name, engine in engines.items()})
        return result | {key: found[key] for key in ("ratio", "a_a", "interval", "microseconds")}
    finally:
        for engine in engines.values():
            engine.close()


def beyond(row):
    """Of its ratio what the difference of two runs of one bundle does not explain."""
    noise = max(row["a_a"], 1 / row["a_a"])
    return row["ratio"] / noise


def summarize(rows):
    """Ratios are times: both over the templates alone, below 1 where the generator helps."""
    groups = {"large": [row for row in rows if row["points"] >= LARGE_POINTS],
              "small": [row for row in rows if row["points"] < LARGE_POINTS]}
    result = {name: {"cases": len(each), "mean": statistics.geometric_mean(r["ratio"] for r in each),
                     "worst": max(each, key=beyond)["name"], "worst_beyond": max(map(beyond, each))}
              for name, each in groups.items() if each}
    if "large" in result:
        result["large"]["holds"] = (result["large"]["mean"] <= LARGE_MEAN_MAX
                                    and result["large"]["worst_beyond"] <= WORST_MAX)
    if "small" in result:
        result["small"]["holds"] = result["small"]["mean"] <= SMALL_MEAN_MAX
    return result


def row_text(row):
    low, high = row["interval"]
    times = row["microseconds"]
    return (f"{row['class']:22}{row['name']:28}{row['points']:7} {times['templates']:9.1f} us "
            f"{times[summary.OURS]:9.1f} us {row['ratio']:6.2f} ({low:.2f} to {high:.2f}) a/a {row['a_a']:.2f}")


def text(rows, found):
    lines = [row_text(row) for row in sorted(rows, key=lambda row: row["ratio"])]
    bars = {"large": f"mean at most {LARGE_MEAN_MAX:.2f}, none above {WORST_MAX:.2f} beyond a/a",
            "small": f"mean at most {SMALL_MEAN_MAX:.2f}"}
    for name, group in found.items():
        of = f"{'at least' if name == 'large' else 'less than'} {LARGE_POINTS} points of templates"
        lines.append(f"{group['cases']} cases of {of}: geometric mean {group['mean']:.3f}, worst "
                     f"{group['worst_beyond']:.2f} beyond a/a ({group['worst']}); {bars[name]}: "
                     f"{'yes' if group['holds'] else 'NO'}")
    return "\n".join(lines)


def kept(path, how):
    """Rows of an earlier run by name, measured in the same way."""
    if not pathlib.Path(path).exists():
        return {}
    rows = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines() if line]
    return {row["name"]: row for row in rows if all(row.get(key) == how[key] for key in how)}


def main(arguments):
    options = parse_arguments(arguments)
    end = time.monotonic() + 60 * options.minutes
    chosen = [row for row in cases(operator_models.entries())
              if re.search(options.rows, f"{row['class']}/{row['name']}")]
    if not chosen:
        sys.exit(f"search: no case's class/name has a match of {options.rows!r}")
    machine.build(TUNER, WORKERS, RUNTIME)
    described = machine.describe()
    how = {"commit": described["commit"], "trials": options.trials, "threads": options.threads}
    rows = kept(options.out, how)
    pathlib.Path(options.out).parent.mkdir(parents=True, exist_ok=True)
    cpus = machine.pick_cpus(options.threads)
    for case in chosen:
        if case["name"] in rows or time.monotonic() > end:
            continue
        row = {"name": case["name"], "class": case["class"], **how}
        with tempfile.TemporaryDirectory(prefix="burnish-rules-") as folder:
            try:
                row |= measure(case, options, pathlib.Path(folder), cpus)
            except RuntimeError as error:
                print(f"{case['name']}: {error}", file=sys.stderr, flush=True)
                continue
        rows[case["name"]] = row
        print(row_text(row), file=sys.stderr, flush=True)
        with open(options.out, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    done = [rows[case["name"]] for case in chosen if case["name"] in rows]
    found = summarize(done)
    missing = len(chosen) - len(done)
    if options.json:
        print(json.dumps({"schema": 1, "machine": described, **how, "missing": missing, **found,
                          "rows": done}))
    else:
        print(f"{machine.headline(described)}\n{options.trials} trials, {len(done)} cases of {len(chosen)}")
        print(text(done, found))
    sys.exit(0 if done and not missing else 1)

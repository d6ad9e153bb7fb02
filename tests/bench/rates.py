"""What the machinery around the kernels can do a second, as one table.

./dev bench rates [--records N] [--only NAME,...] [--json]
What each row means: tests/bench/README.md.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "harness"))
import machine

TUNER = "//tuner:tuner"
NUMBER = r"([\d.]+)"


def program(target, *arguments):
    """Everything that a benchmark program, a Bazel target, prints."""
    done = subprocess.run([machine.output(target), *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"rates: {target} ended with {done.returncode} after:\n{done.stdout}")
    return done.stdout


def wall_ms(count, target, *arguments):
    """Sorted times of `count` calls of a program, from its start to its end."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        program(target, *arguments)
        times.append((time.perf_counter() - start) * 1e3)
    return sorted(times)


def numbers(pattern, text):
    match = re.search(pattern, text)
    if not match:
        sys.exit(f"rates: no {pattern!r} in:\n{text}")
    return [float(group) for group in match.groups()]


def row(name, n, low, median, high, unit, goal=""):
    return {"name": name, "n": int(n), "low": low, "median": median, "high": high, "unit": unit,
            "goal": goal}


def dispatch_rows(options):
    text = program("//tracker:dispatch_benchmark", "--workers", 100, "--jobs", 5000, "--rounds", 5)
    rounds, median, low, high = numbers(
        rf"{NUMBER} rounds .*: {NUMBER} jobs/s \(median; {NUMBER} to {NUMBER}\)", text)
    return [row("tracker: jobs to 100 workers and back", rounds, low, median, high, "jobs/s",
                ">= 500")]


def query_rows(options):
    with tempfile.TemporaryDirectory(prefix="burnish-rates-") as folder:
        path = f"{folder}/records.db"
        text = program("//db:query_benchmark", path, options.records)
        commands = wall_ms(21, TUNER, "query", "--db", path)
    records, append_rate = numbers(rf"filled {NUMBER} records in .* s, {NUMBER} records/s", text)
    rows = [row("database: records made up and appended", 1, append_rate, append_rate, append_rate,
                "records/s")]
    first, = numbers(rf"open and first best: {NUMBER} us", text)
    rows.append(row(f"database: open, first best of {records:,.0f}", 1, first, first, first, "us",
                    "< 50000"))
    for label in ("best", "best, which only the same anchor can answer",
                  "best that no record satisfies"):
        n, median, high = numbers(
            rf"(?m)^{re.escape(label)} +n={NUMBER} first .* median +{NUMBER} .* max +{NUMBER} us",
            text)
        rows.append(row(f"database: {label}", n, None, median, high, "us", "< 50000"))
    rows.append(row("tuner query: the process, 100 tasks", len(commands), commands[0],
                    commands[len(commands) // 2], commands[-1], "ms", "< 50"))
    return rows


def candidate_rows(options):
    repeats = [numbers(rf"(?m)^all +\d+ +\d+.* {NUMBER}$",
                       program("//tests/bench:candidate_rate", options.points))[0]
               for _ in range(3)]
    low, median, high = sorted(repeats)
    return [row("search: candidates of one core, to a score", 3, low, median, high, "1/s",
                ">= 1000")]


def barrier_rows(options):
    text = program("//compiler/runtime:barrier_benchmark", options.threads)
    rows = []
    for label in ("barrier", "region, workers spinning", "region, workers asleep"):
        low, median, high, n = numbers(
            rf"(?m)^{label} +min +{NUMBER} ns +median +{NUMBER} ns +p90 +{NUMBER} ns +\(n = (\d+)\)",
            text)
        rows.append(row(f"runtime: {label}, {options.threads} threads", n, low, median, high, "ns"))
    return rows


PARTS = {
    "dispatch": (dispatch_rows, ["//tracker:dispatch_benchmark"]),
    "query": (query_rows, ["//db:query_benchmark", TUNER]),
    "candidates": (candidate_rows, ["//tests/bench:candidate_rate"]),
    "barrier": (barrier_rows, ["//compiler/runtime:barrier_benchmark"]),
}


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench rates", description=__doc__.split("\n")[0])
    parser.add_argument("--records", type=int, default=500_000,
                        help="in the database; a million takes minutes to fill (%(default)s)")
    parser.add_argument("--points", type=int, default=50,
                        help="of each sketch, for the candidates (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="of the barrier (%(default)s)")
    parser.add_argument("--only", default=",".join(PARTS), help="%(default)s")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args()
    options.only = options.only.split(",")
    for name in options.only:
        if name not in PARTS:
            parser.error(f"got {name!r}, want some of {', '.join(PARTS)}")
    return options


def print_table(result):
    print(machine.headline(result["machine"]))
    width = max(len(each["name"]) for each in result["rows"])
    print(f"{'':{width}}  {'n':>6} {'low':>12} {'median':>12} {'high':>12}  unit       goal")
    for each in result["rows"]:
        values = " ".join(f"{each[key]:12,.1f}" if each[key] is not None else f"{'-':>12}"
                          for key in ("low", "median", "high"))
        print(f"{each['name']:{width}}  {each['n']:6} {values}  {each['unit']:9}  {each['goal']}"
              .rstrip())


def main():
    options = parse_arguments()
    machine.build(*(target for name in options.only for target in PARTS[name][1]))
    result = {"schema": 1, "benchmark": "rates", "machine": machine.describe(), "rows": []}
    for name in options.only:
        result["rows"] += PARTS[name][0](options)
    if options.json:
        print(json.dumps(result))
    else:
        print_table(result)


if __name__ == "__main__":
    main()
